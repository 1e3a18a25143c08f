"""Two programs with one session: neither writes over what the other has said."""

from __future__ import annotations

from datetime import timedelta

import pytest

import interlingua as il
from interlingua.sessions import holding
from interlingua.sessions.session import Session
from interlingua.store.base import Store
from interlingua.store.errors import ConflictError
from tests.sessions.talk import new_session, opened, results_of, take_turn
from tests.sessions.test_call import until
from tests.sessions.wires import answer, stream

WHOLE = "Once upon a time there was a bridge."


def said(session: Session) -> list[tuple[str, str]]:
    return [(m.text, m.metadata.status.value) for m in session.store.messages(session.id)]


def halves(number: int) -> tuple[list[bytes], list[bytes]]:
    """A streamed answer, cut behind its first words."""
    pieces = list(stream("anthropic", answer("anthropic", number, text=WHOLE)))
    first = list(until(pieces, b"Once upon"))
    return first, pieces[len(first) :]


def test_a_whole_answer_stays_when_another_program_saw_its_beginning(store: Store) -> None:
    session = new_session(store)
    call = session.begin("Tell me a story").call()
    beginning, rest = halves(1)
    for piece in beginning:
        call.feed(piece)
    other = opened(store, session.id)
    assert other.messages()[-1].metadata.status is il.MessageStatus.PARTIAL
    for piece in rest:
        call.feed(piece)
    call.close()
    with pytest.raises(ConflictError):
        other.begin("And then?")
    assert said(session) == [("Tell me a story", "complete"), (WHOLE, "complete")]
    other.reload()
    take_turn(other, "And then?", 2)
    assert said(session)[1] == (WHOLE, "complete")
    assert len(said(session)) == 4


def test_who_comes_in_the_middle_of_a_turn_is_told_so(store: Store) -> None:
    session = new_session(store)
    turn = session.begin("Tell me a story")
    other = opened(store, session.id)
    with pytest.raises(ConflictError, match="turn"):
        other.begin("Me first")
    call = turn.call()
    beginning, rest = halves(1)
    for piece in beginning:
        call.feed(piece)
    with pytest.raises(ConflictError, match="turn"):
        opened(store, session.id).begin("Me first")
    with pytest.raises(ConflictError, match="turn"):
        opened(store, session.id).resume()
    for piece in rest:
        call.feed(piece)
    call.close()
    assert [text for text, _ in said(session)] == ["Tell me a story", WHOLE]


def test_a_turn_is_under_way_while_its_tools_run(store: Store) -> None:
    session = new_session(store)
    turn = session.begin("hi")
    turn.call().complete(answer("anthropic", 1, calls=True))
    with pytest.raises(ConflictError, match="turn"):
        opened(store, session.id).begin("Me first")
    turn.results(*results_of(turn))
    turn.call().complete(answer("anthropic", 2))
    take_turn(opened(store, session.id), "Now me", 3)


def test_a_turn_that_nobody_holds_any_more_stops_nobody(store: Store) -> None:
    """As a handler does that raised: its turn was neither ended nor cancelled."""
    session = new_session(store)
    session.begin("hi").call()
    take_turn(opened(store, session.id), "And now?", 2)


@pytest.mark.parametrize("how", ["cancel", "end"])
def test_a_turn_that_was_ended_stops_nobody(store: Store, how: str) -> None:
    session = new_session(store)
    turn = session.begin("hi")
    getattr(turn, how)()
    take_turn(opened(store, session.id), "And now?", 2)


def test_a_failed_call_lets_others_go_on_and_the_turn_may_try_again(store: Store) -> None:
    session = new_session(store)
    turn = session.begin("hi")
    turn.call().fail(il.ProviderError(il.ErrorKind.NETWORK, "gone"))
    turn.call().fail(il.ProviderError(il.ErrorKind.NETWORK, "gone again"))
    take_turn(opened(store, session.id), "And now?", 2)
    with pytest.raises(ConflictError):
        turn.call()


def test_one_who_is_silent_for_long_is_not_waited_for(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = new_session(store)
    turn = session.begin("Tell me a story")
    call = turn.call()
    beginning, rest = halves(1)
    for piece in beginning:
        call.feed(piece)
    other = opened(store, session.id)
    monkeypatch.setattr(holding, "SILENCE", timedelta(0))
    take_turn(other, "Are you there?", 2)
    assert said(session)[1][1] == "error", "interrupted, as far as anybody can tell"
    for piece in rest:
        call.feed(piece)
    call.close()
    assert said(session)[1] == (WHOLE, "complete"), "it was alive: what it was told is kept"
    assert len(said(session)) == 4


def test_who_was_given_up_cannot_go_on_with_the_turn(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = new_session(store)
    turn = session.begin("hi")
    turn.call().complete(answer("anthropic", 1, calls=True))
    monkeypatch.setattr(holding, "SILENCE", timedelta(0))
    other = opened(store, session.id)
    theirs = other.resume()
    theirs.results(*results_of(theirs))
    with pytest.raises(ConflictError):
        turn.results(*results_of(turn))
    theirs.call().complete(answer("anthropic", 2))
    assert il.validate(other.messages()) == []


def test_the_claim_of_a_process_that_is_gone_is_void() -> None:
    own = holding.holder()
    machine, pid, _ = own.rsplit(":", 2)
    assert not holding.is_gone(own)
    assert holding.is_gone(f"{machine}:{pid}:another run of this pid")
    assert holding.is_gone(f"{machine}:{2**22 + 1}:x"), "no process has this number"
    assert not holding.is_gone(f"elsewhere:{2**22 + 1}:x"), "nobody here can tell"


def test_instructions_are_not_written_over_either(store: Store) -> None:
    session = new_session(store, system="Be short.")
    other = opened(store, session.id)
    other.messages()
    session.compose({"base": "Be long."})
    with pytest.raises(ConflictError):
        other.compose({"base": "Be kind."})
    assert store.messages(session.id)[0].text == "Be long."


def test_a_store_saves_only_over_the_expected_version(store: Store) -> None:
    row = store.create_session("/w")
    (first,) = store.append(row.id, [il.Message.user("one")]).messages
    second = first.replace(content=(il.TextBlock("two"),))
    store.save(second, instead_of=first)
    with pytest.raises(ConflictError):
        store.save(first.replace(content=(il.TextBlock("three"),)), instead_of=first)
    metadata = second.metadata.replace(status=il.MessageStatus.PARTIAL)
    marked = second.replace(metadata=metadata)
    store.save(marked, instead_of=second)
    assert store.messages(row.id) == [marked]
