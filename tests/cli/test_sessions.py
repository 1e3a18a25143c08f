"""Sessions from the command line."""

from __future__ import annotations

import json

import msgspec
import pytest

from interlingua.model.blocks import ThinkingBlock, ToolUseBlock
from interlingua.model.codec import dumps, loads
from interlingua.model.message import Message
from interlingua.model.metadata import (
    CacheDiagnosis,
    MessageMetadata,
    MessageStatus,
    StopReason,
    Usage,
)
from interlingua.store.base import Store
from interlingua.store.errors import NotFoundError
from tests.cli.running import ok, process, run, told
from tests.store.places import TU_1

CANCELLED = MessageMetadata(status=MessageStatus.CANCELLED, stop_reason=StopReason.CANCELLED)
EVIL = "red \x1b[31m alert \x9b \u202e\x07"


def talk(store: Store, *texts: str, name: str | None = None, id: str | None = None) -> str:
    session = store.create_session("/w", name=name, id=id, active_model="anthropic:claude-opus-5-5")
    store.append(session.id, [Message.user(text) for text in texts])
    return session.id


# List


def test_the_last_changed_session_is_listed_first(store: Store) -> None:
    first, second = talk(store, "one", name="First"), talk(store, "two", name="Second")
    store.append(first, [Message.user("again")])
    lines = ok("sessions", "list").splitlines()
    assert lines[0].split()[:3] == ["id", "name", "messages"]
    assert lines[1].split()[:3] == [first, "First", "2"]
    assert lines[2].split()[:4] == [second, "Second", "1", "anthropic:claude-opus-5-5"]


def test_the_list_as_json_has_every_field(store: Store) -> None:
    id = talk(store, "one", name="First")
    assert told("sessions", "list") == [msgspec.to_builtins(store.session(id))]


def test_a_longer_list_says_that_there_is_more(store: Store) -> None:
    for number in range(3):
        talk(store, f"{number}")
    result = run("sessions", "list", "--limit", "2")
    assert len(result.stdout.splitlines()) == 3
    assert "more" in result.stderr
    assert "more" not in run("sessions", "list", "--limit", "3").stderr


def test_an_empty_store_is_no_error() -> None:
    result = run("sessions", "list")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "no sessions" in result.stderr
    assert told("sessions", "list") == []


# Show


def test_show_tells_why_the_cache_was_missed(store: Store) -> None:
    id = talk(store, "hi")
    found = CacheDiagnosis("miss", "tools_changed", 2000, changed=("tools",))
    answer = Message.assistant("ho", MessageMetadata(usage=Usage(3000, 5), cache_diagnosis=found))
    store.append(id, [answer])
    shown = ok("sessions", "show", id)
    assert "    cache miss: tools_changed (tools); 2,000 tokens" in shown.splitlines()


def test_show_tells_who_said_what(store: Store) -> None:
    id = talk(store, "What is\nthe weather?", name="Weather")
    call = ToolUseBlock(TU_1, "look", {"city": "Paris"})
    store.append(
        id,
        [
            Message.assistant([ThinkingBlock("let me look"), "One moment.", call]),
            Message.tool_result(TU_1, "no network", is_error=True),
            Message.assistant("Cut", CANCELLED),
        ],
    )
    lines = ok("sessions", "show", id).splitlines()
    assert lines[0] == "Weather"
    assert f"{id} · 4 messages · anthropic:claude-opus-5-5" in lines[1]
    assert lines[4].startswith("[1] user · ")
    assert lines[5:7] == ["    What is", "    the weather?"]
    assert "    [thinking] let me look" in lines
    assert '    [calls look] {"city":"Paris"}' in lines
    assert "    [result: an error] no network" in lines
    assert lines[-2].startswith("[4] assistant · ")
    assert lines[-2].endswith(" · stopped")


def test_long_texts_are_cut_unless_all_is_asked_for(store: Store) -> None:
    id = talk(store, "x" * 5000)
    assert "… (5,000 characters)" in ok("sessions", "show", id)
    assert "x" * 5000 in ok("sessions", "show", id, "--full")


def test_the_last_messages_are_shown_with_their_numbers(store: Store) -> None:
    id = talk(store, *[f"text {number}" for number in range(1, 8)])
    output = ok("sessions", "show", id, "--limit", "2")
    assert "[6] user" in output
    assert "[7] user" in output
    assert "text 5" not in output
    assert "5 earlier messages" in output


def test_numbers_stay_right_where_a_message_cannot_be_read(store: Store) -> None:
    id = talk(store, *[f"text {number}" for number in range(1, 5)])
    make_unreadable(store, id, 3)
    output = ok("sessions", "show", id)
    assert [number for number in "1234" if f"[{number}] user" in output] == ["1", "2", "4"]
    fork = told("sessions", "fork", id, "--at", "4")
    assert fork["message_count"] == 4


def make_unreadable(store: Store, session: str, seq: int) -> None:
    """A message as a newer version may have written it."""
    from interlingua.store.statements import Step

    def change():  # type: ignore[no-untyped-def]  # a statement, as an engine runs it
        sql = "UPDATE messages SET role = 'oracle' WHERE session_id = ? AND seq = ?"
        yield Step(sql, (session, seq))

    store._write(change)


def test_raw_and_json_are_what_is_stored(store: Store) -> None:
    id = talk(store, "one", EVIL)
    stored = [dumps(message).decode() for message in store.messages(id)]
    assert ok("sessions", "show", id, "--raw").splitlines() == stored
    assert told("sessions", "show", id)["messages"] == [json.loads(text) for text in stored]


def test_control_characters_in_content_reach_no_terminal(store: Store) -> None:
    id = talk(store, f"word {EVIL}", name=EVIL)
    store.append(id, [Message.user(f"{EVIL}\n{EVIL}", name=EVIL)])
    outputs = [
        ok("sessions", "list"),
        ok("sessions", "show", id),
        ok("sessions", "search", "word"),
        run("sessions", "delete", id, "--yes").stderr,
    ]
    for output in outputs:
        assert "alert" in output
        assert not set(output) & set("\x1b\x9b\u202e\x07")


# Search


@pytest.mark.requirement("S002-100")
def test_search_finds_messages_with_all_words(store: Store) -> None:
    first = talk(store, "green apples and pears", "only apples")
    second = talk(store, "apples and oranges")
    hits = told("sessions", "search", "apples", "and")
    assert {(hit["session_id"], hit["seq"]) for hit in hits} == {(first, 1), (second, 1)}
    inside = told("sessions", "search", "apple*", "--session", first[:24])
    assert {hit["seq"] for hit in inside} == {1, 2}
    lines = ok("sessions", "search", "pears").splitlines()
    assert [line.split()[0] for line in lines] == ["session", first]
    assert "green apples and pears" in lines[1]


def test_a_search_without_a_result_is_no_error(store: Store) -> None:
    talk(store, "something")
    result = run("sessions", "search", "nothing")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "No message" in result.stderr


# Fork, delete


@pytest.mark.parametrize("by", ["number", "id", "beginning"])
def test_fork_copies_up_to_a_message(store: Store, by: str) -> None:
    id = talk(store, "one", "two", "three")
    message = store.messages(id)[1].id or ""
    at = {"number": "2", "id": message, "beginning": message[:-1].lower()}[by]
    fork = told("sessions", "fork", id, "--at", at, "--name", "half")
    assert (fork["parent_id"], fork["parent_message_id"]) == (id, message)
    copied = store.messages(fork["id"])
    assert [each.text for each in copied] == ["one", "two"]
    assert store.session(fork["id"]).name == "half"


def test_fork_without_a_place_copies_all_and_prints_the_new_id(store: Store) -> None:
    id = talk(store, "one", "two")
    new = ok("sessions", "fork", id).strip()
    assert new != id
    assert store.session(new).message_count == 2


@pytest.mark.parametrize("at", ["0", "3", "nothing"])
def test_fork_at_a_message_that_is_not_there_changes_nothing(store: Store, at: str) -> None:
    id = talk(store, "one", "two")
    result = run("sessions", "fork", id, "--at", at)
    assert result.exit_code == 1
    assert "no message" in result.stderr
    assert len(store.sessions()) == 1


def test_delete_asks_first(store: Store) -> None:
    id = talk(store, "one", name="Dear")
    for answer in ("n\n", "\n", ""):
        result = run("sessions", "delete", id, stdin=answer)
        assert result.exit_code == 1
        assert "Dear" in result.stderr
        assert store.session(id).message_count == 1
    assert run("sessions", "delete", id, stdin="y\n").exit_code == 0
    with pytest.raises(NotFoundError):
        store.session(id)


def test_delete_can_be_told_not_to_ask(store: Store) -> None:
    ids = [talk(store, "one"), talk(store, "two")]
    stored = talk(store, "three")
    assert told("sessions", "delete", *ids, "--yes") == {"deleted": ids}
    assert [row.id for row in store.sessions()] == [stored]


def test_delete_removes_nothing_if_one_of_several_is_not_there(store: Store) -> None:
    id = talk(store, "one")
    assert run("sessions", "delete", id, "nothing", "--yes").exit_code == 1
    assert store.session(id).message_count == 1


def test_the_real_command_lists_shows_and_searches(store: Store) -> None:
    id = talk(store, "hello there", name="Greeting")
    for arguments in (["list"], ["show", "last"], ["search", "hello"]):
        done = process("sessions", *arguments)
        assert done.returncode == 0, done.stderr
        assert id in done.stdout.decode()
    raw = process("sessions", "show", id, "--raw").stdout
    assert loads(raw, Message).text == "hello there"
