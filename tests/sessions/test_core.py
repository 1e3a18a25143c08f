"""A session: its messages, its parts, its forks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua.sessions import Session, SessionError
from interlingua.store.base import Store
from interlingua.store.errors import ConflictError, NotFoundError
from interlingua.store.open import open_store
from interlingua.tools.handlers import WorkspaceError
from tests.laws.acceptable import problems
from tests.sessions.talk import dumped, new_session, opened, take_turn, trace, types
from tests.sessions.wires import MODELS

ROOT = Path(__file__).parents[2]

DIALECTS = sorted(MODELS)


def test_a_fork_has_ids_of_its_own_and_goes_its_own_way(store: Store) -> None:
    session = new_session(store, system="Be brief.")
    take_turn(session, "One", 1, calls=True)
    at = session.messages()[-1]
    take_turn(session, "Two", 2)
    before = dumped(session)
    fork = session.fork(at.id, name="another way")
    row = store.session(fork.id)
    assert (row.parent_id, row.parent_message_id, row.name) == (session.id, at.id, "another way")
    copies, originals = fork.messages(), session.messages()
    assert len(copies) == 6
    assert [m.text for m in copies] == [m.text for m in originals[:6]]
    assert {m.session_id for m in copies} == {fork.id}
    assert not {m.id for m in copies} & {m.id for m in originals}
    theirs = [(r.provider, r.provider_id) for r in store.tool_calls(fork.id)]
    assert theirs == [(r.provider, r.provider_id) for r in store.tool_calls(session.id)][:4]
    assert not {r.id for r in store.tool_calls(fork.id)} & {
        r.id for r in store.tool_calls(session.id)
    }
    assert il.validate(copies) == []
    one = take_turn(session, "Left", 3, calls=True)[0]
    two = take_turn(fork, "Right", 4, calls=True)[0]
    assert dumped(session)[: len(before)] == before
    assert len(fork.messages()) == 11
    turns = len(two.wire["messages"]) - 1
    assert two.wire["messages"][:turns] == one.wire["messages"][:turns], "with the providers' ids"
    assert types(store, fork)[0] == "session.created"


def test_a_fork_keeps_the_model_and_takes_what_is_asked_for(store: Store) -> None:
    session = new_session(store)
    take_turn(session, "One", 1)
    session.swap("openai:gpt-5")
    fork = session.fork()
    assert fork.model == "openai:gpt-5"
    fork.swap("gemini:gemini-2.5-pro")
    assert session.model == "openai:gpt-5"
    with pytest.raises(NotFoundError):
        session.fork("01NOBODY")


def test_the_canonical_export_is_the_history(store: Store) -> None:
    session = new_session(store, system="Be brief.")
    take_turn(session, "One", 1, calls=True)
    data, report = session.export()
    assert il.loads(data, list[il.Message]) == session.messages()
    assert not report.entries


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_export_to_a_dialect_is_a_request_that_says_what_it_could_not(
    store: Store, dialect: str
) -> None:
    session = new_session(store, system="Be brief.")
    take_turn(session, "One", 1, calls=True)
    take_turn(session, "Two", 2)
    before = dumped(session)
    data, report = session.export(dialect, MODELS[dialect])
    dialect_name = il.dialect(dialect)
    content = dialect_name.read_request(data, MODELS[dialect].partition(":")[2])
    assert [m.text for m in content.messages if m.role is il.Role.USER] == ["One", "Two"]
    texts = [m.text for m in content.messages if m.role is il.Role.ASSISTANT]
    assert texts == ["It is so."] * 3
    lost = {loss.block_type for loss in report.entries}
    # Bedrock has the same model, and may read what it sealed.
    assert ("redacted_thinking" in lost) is (dialect not in ("anthropic", "bedrock"))
    assert dumped(session) == before
    if dialect != "bedrock":  # which wants tools to be named where there were calls
        assert problems(dialect, "request", _parsed(data)) == []


def _parsed(data: bytes) -> Any:
    import msgspec

    return msgspec.json.decode(data)


def test_parts_are_written_in_their_order_before_anybody_has_spoken(store: Store) -> None:
    session = new_session(store, system={"workspace": "In /w.", "base": "Be brief."})
    session.compose({"memory": "Ada likes tea.", "house": "No smoking."})
    session.compose({"workspace": "In /x."})
    (message,) = store.messages(session.id)
    assert message.role is il.Role.SYSTEM
    texts = [block.text for block in message.content if isinstance(block, il.TextBlock)]
    assert texts == ["Be brief.", "Ada likes tea.", "In /x.", "No smoking."]
    session.compose({"memory": None})
    texts = [b.text for b in session.messages()[0].content if isinstance(b, il.TextBlock)]
    assert texts == ["Be brief.", "In /x.", "No smoking."]
    call = session.begin("hi").call()
    assert [part["text"] for part in call.wire["system"]] == texts


def test_later_a_new_message_says_what_changed_and_the_rest_stays(store: Store) -> None:
    session = new_session(store, system={"base": "Be brief.", "memory": "Tea."})
    first = take_turn(session, "One", 1)[0].wire
    before = dumped(session)
    session.compose({"base": "Be brief.", "memory": "Coffee."})
    assert dumped(session)[: len(before)] == before
    added = session.messages()[len(before) :]
    assert [(m.role.value, m.text) for m in added] == [("system", "Coffee.")]
    session.compose({"memory": "Coffee."})
    assert len(session.messages()) == len(before) + 1, "what was said already is not said again"
    later = take_turn(session, "Two", 2)[0].wire
    assert later["system"] == first["system"]
    assert later["messages"][: len(first["messages"])] == first["messages"]


def test_parts_that_come_after_the_first_words_are_said_once(store: Store) -> None:
    session = new_session(store)
    take_turn(session, "One", 1)
    session.compose({"base": "Be brief."})
    session.compose({"base": "Be brief."})
    assert [m.role.value for m in session.messages()] == ["user", "assistant", "system"]


@pytest.mark.requirement("S002-48")
def test_a_prompt_without_parts_is_an_empty_placeholder(store: Store) -> None:
    session = new_session(store, system={})
    (message,) = session.messages()
    assert message.content == ()
    assert il.validate(session.messages()) == []
    take_turn(session, "hi", 1)


def transcript() -> tuple[il.Message, ...]:
    calls = [
        {"id": f"call_{n}", "type": "function", "function": {"name": "add", "arguments": "{}"}}
        for n in (1, 2)
    ]
    wire = {
        "model": "gpt-4.1",
        "messages": [
            {"role": "user", "content": "Add twice"},
            {"role": "assistant", "content": None, "tool_calls": calls},
            {"role": "tool", "tool_call_id": "call_2", "content": "two"},
            {"role": "tool", "tool_call_id": "call_1", "content": "one"},
            {"role": "assistant", "content": "Done."},
        ],
    }
    return il.dialect("openai-chat").read_request(wire).messages


@pytest.mark.requirement("S002-52", "S002-53", "S002-54")
def test_a_foreign_transcript_gets_ids_of_ours_and_results_follow(store: Store) -> None:
    session = new_session(store, "openai-chat")
    added = session.append(*transcript())
    assert [m.session_id for m in added] == [session.id] * 5
    called = [call.id for call in added[1].tool_calls]
    assert all(id.startswith("tu_") for id in called)
    answered = [m.metadata.parent_tool_use_id for m in added if m.role is il.Role.TOOL]
    assert answered == called[::-1]
    rows = store.tool_calls(session.id)
    assert [(r.id, r.provider_id, r.status) for r in rows] == [
        (called[0], "call_1", "succeeded"),
        (called[1], "call_2", "succeeded"),
    ]
    assert session.unanswered() == {}
    for dialect in DIALECTS:
        session.swap(MODELS[dialect])
        turn = session.begin("and?")
        call = turn.call()
        assert problems(dialect, "request", call.wire) == []
        turn.cancel()


def test_a_transcript_may_come_in_pieces_and_after_a_restart(store: Store) -> None:
    session = new_session(store)
    question, called, *rest = transcript()
    session.append(question, called)
    assert len(session.unanswered()) == 2
    again = opened(store, session.id)
    again.append(*rest)
    assert again.unanswered() == {}
    assert il.validate(again.messages()) == [] or all(
        "metadata" in str(found) or "model" in str(found) for found in il.validate(again.messages())
    )


@pytest.mark.requirement("S002-53", "S002-54")
def test_results_without_a_call_and_second_answers_are_refused(store: Store) -> None:
    session = new_session(store)
    with pytest.raises(SessionError, match="call_9"):
        session.append(il.Message.tool_result("call_9", "what?"))
    question, called, result, other, end = transcript()
    session.append(question, called, result)
    before = dumped(session)
    with pytest.raises(SessionError):
        session.append(result)
    with pytest.raises(SessionError):
        session.append(other, other)
    with pytest.raises(SessionError):
        session.append(end, il.Message.tool_result("call_9", "what?"))
    assert dumped(session) == before, "all or nothing"
    session.append(other, end)
    assert session.unanswered() == {}


def test_a_result_stands_after_its_call(store: Store) -> None:
    session = new_session(store)
    call = il.ToolUseBlock("tu_01ARZ3NDEKTSV4RRFFQ69G5FAV", "add", {})
    result = il.Message.tool_result(call.id, "two")
    with pytest.raises(SessionError):
        session.append(il.Message.user("hi"), result, il.Message.assistant([call]))
    assert session.messages() == []


@pytest.mark.requirement("S002-53")
def test_messages_of_another_session_are_refused(store: Store) -> None:
    one, two = new_session(store), new_session(store)
    take_turn(one, "hi", 1, calls=True)
    with pytest.raises(SessionError, match=one.id):
        two.append(*one.messages())
    assert two.messages() == []
    result = next(m for m in one.messages() if m.role is il.Role.TOOL)
    stray = il.Message.tool_result(result.metadata.parent_tool_use_id or "", "stolen")
    with pytest.raises(SessionError):
        two.append(stray)


@pytest.mark.requirement("S002-53", "S002-52")
def test_calls_that_have_ids_of_another_session_get_new_ones(store: Store) -> None:
    one, two = new_session(store), new_session(store)
    take_turn(one, "hi", 1, calls=True)
    copies = [m.replace(id=None, session_id=None) for m in one.messages()]
    two.append(*copies)
    ours = {row.id for row in store.tool_calls(one.id)}
    theirs = {row.id for row in store.tool_calls(two.id)}
    assert len(theirs) == len(ours) == 4
    assert not ours & theirs
    assert two.unanswered() == {}
    take_turn(two, "go on", 2)


@pytest.mark.requirement("S002-47")
def test_a_message_that_breaks_the_rules_is_refused_and_the_rule_named(store: Store) -> None:
    session = new_session(store)
    with pytest.raises(SessionError, match=session.id):
        session.append(il.Message(il.Role.USER))
    with pytest.raises(SessionError):
        session.begin(il.Message(il.Role.USER))
    with pytest.raises(SessionError):
        session.append(il.Message(il.Role.SYSTEM, (il.ThinkingBlock("hm"),)))
    assert session.messages() == []
    take_turn(session, "hi", 1)


def test_a_second_program_is_noticed_and_heard_after_reloading(address: str) -> None:
    with open_store(address) as store:
        session = new_session(store)
        take_turn(session, "One", 1)
        code = (
            "import sys, interlingua as il\n"
            "from interlingua.sessions import Session\n"
            "from interlingua.store.open import open_store\n"
            "with open_store(sys.argv[1]) as store:\n"
            "    Session.open(store, sys.argv[2]).append(il.Message.user('Me too'))\n"
        )
        command = [sys.executable, "-c", code, address, session.id]
        subprocess.run(command, check=True, timeout=60, cwd=ROOT)
        with pytest.raises(ConflictError):
            session.begin("Two")
        assert not session.in_turn
        assert [m.text for m in store.messages(session.id)][-1] == "Me too"
        assert [m.text for m in session.reload()][-1] == "Me too"
        call = take_turn(session, "Two", 2)[0]
        assert b"Me too" in il.dumps(call.wire)
        assert [m.text for m in store.messages(session.id)][-3:] == ["Me too", "Two", "It is so."]


def test_a_session_that_is_not_there_is_not_found(store: Store) -> None:
    with pytest.raises(NotFoundError):
        opened(store, "01NOBODY")


def test_a_session_may_be_read_by_its_end_alone(store: Store) -> None:
    session = new_session(store)
    for number in range(3):
        take_turn(session, f"Question {number}", number)
    again = opened(store, session.id)
    assert [m.text for m in again.tail(2)] == ["Question 2", "It is so."]
    assert again.tail(0) == []
    assert [hit.message_id for hit in again.search("Question 1")]
    assert trace(store, again)[-1].type == "session.resumed"
    assert trace(store, again)[-1].payload["message_count"] == 6


def test_the_end_of_a_session_is_told_and_it_can_be_opened_again(store: Store) -> None:
    session = new_session(store)
    take_turn(session, "One", 1)
    session.end("abandoned")
    result = trace(store, session)[-1]
    assert result.type == "session.ended"
    assert (result.payload["disposition"], result.payload["turn_count"]) == ("abandoned", 1)
    take_turn(opened(store, session.id), "Two", 2)


def test_without_a_model_a_session_says_that_there_is_none(store: Store) -> None:
    session = Session.create(store)
    assert session.model is None
    with pytest.raises(SessionError, match="no model"):
        session.adapter()
    turn = session.begin("hi")
    assert turn.model.startswith("local:"), "the one that is always there"


def test_a_file_that_has_gone_since_an_older_turn_is_a_loss_and_no_dead_end(
    store: Store, tmp_path: Path
) -> None:
    picture = tmp_path / "a.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n")
    session = Session.create(store, str(tmp_path), model="anthropic:claude-sonnet-4-6")
    image = il.ImageBlock(il.Source("file_ref", "a.png"))
    turn = session.begin(il.Message.user(["look", image]))
    assert "iVBORw0KGgo=" in il.dumps(turn.call().request).decode()
    turn.end()
    picture.unlink()
    call = session.begin("and now?").call()
    assert "iVBORw0KGgo=" not in il.dumps(call.request).decode()
    assert [loss.block_type for loss in call.report.of_history()] == ["image"]
    with pytest.raises(WorkspaceError, match=r"a\.png"):
        session.fork().begin(il.Message.user(["again", image])).call()


def test_the_users_own_prices_count(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERLINGUA_HOME", str(tmp_path))
    (tmp_path / "prices.toml").write_text(
        'pricing_version = "mine"\n[models."anthropic:claude-sonnet-4-6"]\n'
        "input_per_mtok_usd = 1000000\noutput_per_mtok_usd = 0\n"
    )
    session = Session.create(store, model="anthropic:claude-sonnet-4-6")
    usage = il.Usage(input_tokens=8, output_tokens=42)
    content = il.Message.assistant("ok", il.MessageMetadata(usage=usage))
    session.begin("hi").call().answer(il.Response(content))
    assert session.cost() == 8
