"""Transcripts out of a store and into another."""

from __future__ import annotations

import json
import os
import re
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

import interlingua as il
from interlingua.cli.demo import example
from interlingua.model.base import same
from interlingua.model.blocks import ToolResultBlock, ToolUseBlock
from interlingua.model.codec import dumps
from interlingua.model.exchange import Request
from interlingua.model.ids import is_ulid
from interlingua.model.message import Message
from interlingua.store.base import Store
from interlingua.store.open import open_store
from interlingua.store.rows import EventRow
from tests.cli.running import ok, process, run, told
from tests.cli.test_sessions import make_unreadable, talk
from tests.effort import examples
from tests.laws import strategies
from tests.laws.corpus import corpus_or_skip, records
from tests.store.conftest import drop_schema, in_schema, new_schema
from tests.store.conftest import postgres as postgres
from tests.store.places import TU_1

REQUEST: dict[str, Any] = {
    "model": "claude-sonnet-4-6",
    "max_tokens": 50,
    "system": "Be brief.",
    "messages": [
        {"role": "user", "content": "How warm is it?"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "c2lnbmVk"},
                {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"city": "Paris"}},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "21"}],
        },
    ],
}
RESPONSE: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-4-6",
    "content": [{"type": "text", "text": "21 degrees."}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 8, "output_tokens": 42},
}


def lines_of(*values: Any) -> str:
    return "".join(f"{json.dumps(value)}\n" for value in values)


@contextmanager
def fresh(tmp_path: Path, name: str = "fresh.db") -> Iterator[tuple[str, Store]]:
    path = tmp_path / name
    with open_store(path) as store:
        yield str(path), store


def without_ids(text: str) -> str:
    """Each id as the number of its first occurrence, so that other ids make no difference."""
    seen: dict[str, str] = {}
    pattern = r"\b(?:tu_)?[0-9A-HJKMNP-TV-Z]{26}\b"
    return re.sub(pattern, lambda found: seen.setdefault(found[0], f"id {len(seen)}"), text)


# Out and in again


@given(messages=strategies.conversations(stored=True, with_raw=True, failures=True))
@settings(
    max_examples=examples(40),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
def test_what_is_exported_and_imported_is_exported_alike(
    store: Store, tmp_path: Path, messages: tuple[Message, ...]
) -> None:
    session = messages[0].session_id
    assert session is not None
    file, new = tmp_path / "all.jsonl", tmp_path / "new.db"
    store.create_session("/w", id=session, name="säge", active_model="p:m", routing_policy={"a": 1})
    try:
        calls = [block.id for message in messages for block in message.tool_calls]
        given_ids = {id: f"theirs {number}" for number, id in enumerate(calls[::2])}
        store.append(session, messages, provider_ids=given_ids)
        exported = ok("export", session)
        file.write_text(exported, encoding="utf-8")
        ok("import", file, "--store", new)
        assert ok("export", "--store", new) == exported
    finally:
        store.delete_session(session)
        for leftover in tmp_path.glob("new.db*"):
            leftover.unlink()


def test_all_sessions_with_forks_come_back_in_their_order(store: Store, tmp_path: Path) -> None:
    first = talk(store, "one", "two", name="First")
    talk(store, *[f"text {number}" for number in range(1203)], name="Long")
    store.fork(first, store.messages(first)[0].id)
    store.create_session("/empty")
    store.append(first, [Message.user("three")])
    file, new = tmp_path / "all.jsonl", tmp_path / "new.db"
    ok("export", "-o", file)
    result = run("import", file, "--store", new)
    assert "4 sessions, 1,207 messages imported" in result.stderr
    assert ok("export", "--store", new) == file.read_text(encoding="utf-8")
    with open_store(new) as other:
        assert other.session(first).created_at == store.session(first).created_at
        assert [row.id for row in other.sessions()] == [row.id for row in store.sessions()]


def test_sessions_move_to_postgresql_and_back_unchanged(
    store: Store, tmp_path: Path, postgres: str
) -> None:
    first = talk(store, "one", "zebra \x00", name="First")
    il.Session.open(store, first).append(*example())
    store.fork(first)
    name = new_schema(postgres)
    there = in_schema(postgres, name)
    try:
        file, again = tmp_path / "all.jsonl", tmp_path / "again.jsonl"
        ok("export", "-o", file)
        ok("import", file, "--store", there)
        ok("export", "--store", there, "-o", again)
        assert again.read_bytes() == file.read_bytes()
        assert told("sessions", "search", "zebra", "--store", there)[0]["seq"] == 2
        assert told("sessions", "list", "--store", there)[0]["parent_id"] == first
        assert told("reprice", "--store", there)["total"] == told("reprice")["total"]
    finally:
        drop_schema(postgres, name)


def test_new_ids_make_a_copy_that_differs_in_ids_alone(store: Store, tmp_path: Path) -> None:
    id = talk(store, "look", name="Once")
    call = ToolUseBlock("tu_01M7H8B79PDDMWBB9PVK6GPP0P", "look", {})
    result = Message.tool_result(call.id, "seen")
    messages = [Message.assistant([call]), result]
    store.append(id, messages, provider_ids={call.id: "toolu_9"})
    file = tmp_path / "one.jsonl"
    file.write_text(ok("export", id), encoding="utf-8")
    ok("import", file, "--new-ids")
    copy = store.sessions(1)[0].id
    assert copy != id
    known = without_ids(file.read_text(encoding="utf-8"))
    again = without_ids(ok("export", copy))
    begun = r'"created_at":"[^"]+",'
    assert re.sub(begun, "", again, count=1) == re.sub(begun, "", known, count=1)
    assert [call.provider_id for call in store.tool_calls(copy)] == ["toolu_9"]


def test_importing_twice_imports_once(store: Store, tmp_path: Path) -> None:
    id = talk(store, "one", "two")
    file = tmp_path / "all.jsonl"
    ok("export", "-o", file)
    result = run("import", file)
    assert result.exit_code == 0
    assert "0 sessions" in result.stderr
    assert "already imported: 1 session" in result.stderr
    assert store.session(id).message_count == 2


def test_a_session_that_went_on_meanwhile_is_left_alone(store: Store, tmp_path: Path) -> None:
    id = talk(store, "one")
    file = tmp_path / "all.jsonl"
    ok("export", "-o", file)
    store.append(id, [Message.user("two")])
    result = run("import", file)
    assert result.exit_code == 1
    assert "line 1" in result.stderr
    assert "2 messages instead of 1" in result.stderr
    assert [message.text for message in store.messages(id)] == ["one", "two"]


def test_a_session_whose_ids_are_taken_is_not_imported_in_part(
    store: Store, tmp_path: Path
) -> None:
    id = talk(store, "one", "two")
    file = tmp_path / "all.jsonl"
    file.write_text(ok("export", id).replace(f'"{id}"', '"OTHER"'), encoding="utf-8")
    result = run("import", file)
    assert result.exit_code == 1
    assert "already exists" in result.stderr
    assert [row.id for row in store.sessions()] == [id]
    assert told_counts(result.stderr) == (0, 0, 1)


def test_a_session_that_is_refused_does_not_spoil_the_next(store: Store, tmp_path: Path) -> None:
    taken = talk(store, "one", "two")
    with fresh(tmp_path) as (address, other):
        first = ok("export", taken).replace(f'"{taken}"', '"OTHER"')
        second = talk(other, "three", name="Kept")
        file = tmp_path / "both.jsonl"
        file.write_text(first + ok("export", second, "--store", address), encoding="utf-8")
    result = run("import", file)
    assert told_counts(result.stderr) == (1, 1, 1)
    assert {row.id for row in store.sessions()} == {taken, second}
    assert store.session(second).name == "Kept"


def told_counts(stderr: str) -> tuple[int, int, int]:
    """Sessions, messages, and what could not be read."""
    found = re.search(
        r"([\d,]+) sessions?, ([\d,]+) messages? imported, ([\d,]+) unreadable", stderr
    )
    assert found is not None, stderr
    sessions, messages, failed = (int(text.replace(",", "")) for text in found.groups())
    return sessions, messages, failed


def test_the_trace_goes_along_when_asked_for(store: Store, tmp_path: Path) -> None:
    id = talk(store, "one")
    at = datetime(2026, 11, 16, tzinfo=UTC)
    events = [EventRow(f"E{n}", id, "turn.started", at, "user", "low", {"n": n}) for n in range(3)]
    store.append_events(events)
    file, new = tmp_path / "all.jsonl", tmp_path / "new.db"
    assert '"event"' not in ok("export")
    ok("export", "--trace", "-o", file)
    ok("import", file, "--store", new)
    with open_store(new) as other:
        assert other.events(id) == store.events(id)
    assert run("export", "--trace", "--to", "markdown").exit_code == 2


def test_messages_that_cannot_be_read_are_reported(store: Store) -> None:
    id = talk(store, "one", "two")
    make_unreadable(store, id, 1)
    for target in ("jsonl", "canonical", "markdown", "anthropic"):
        result = run("export", "--to", target, "--strict")
        assert result.exit_code == 3, target
        assert "1 messages have an unknown role" in result.stderr


def test_an_export_is_for_its_owner_alone(store: Store, tmp_path: Path) -> None:
    talk(store, "private")
    file = tmp_path / "all.jsonl"
    ok("export", "-o", file)
    assert os.stat(file).st_mode & 0o077 == 0


def test_a_file_that_cannot_be_written_is_one_line(store: Store, tmp_path: Path) -> None:
    talk(store, "one")
    result = run("export", "-o", tmp_path / "missing" / "all.jsonl")
    assert result.exit_code == 1
    assert "No such file" in result.stderr


# Requests and responses


def test_requests_and_responses_become_sessions(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "traffic.jsonl"
    file.write_text(lines_of(REQUEST, RESPONSE, {"request": REQUEST, "response": RESPONSE}))
    assert told_counts(run("import", file).stderr) == (3, 10, 0)
    pair, answer, request = store.sessions()
    assert request.name == "How warm is it?"
    assert request.active_model == "anthropic:claude-sonnet-4-6"
    assert (request.message_count, answer.message_count, pair.message_count) == (4, 1, 5)
    last = store.tail(pair.id, 1)[0].metadata
    assert (last.model, last.provider) == ("anthropic:claude-sonnet-4-6", "anthropic")
    assert last.protocol == "anthropic"


def test_calls_of_two_sessions_with_one_id_do_not_meet(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "traffic.jsonl"
    file.write_text(lines_of(REQUEST, REQUEST))
    ok("import", file)
    ids = [store.tool_calls(row.id)[0] for row in store.sessions()]
    assert ids[0].id != ids[1].id
    assert [call.provider_id for call in ids] == ["toolu_1", "toolu_1"]
    assert [call.status for call in ids] == ["succeeded", "succeeded"]


@pytest.mark.parametrize("name", il.dialects())
def test_a_request_that_is_imported_goes_home_as_it_came(
    store: Store, tmp_path: Path, name: str
) -> None:
    told_first = il.retell(Request(tuple(example()), "some-model"), name).value
    wire = il.dialect(name).write_request(told_first).wire
    file = tmp_path / "request.json"
    file.write_text(json.dumps(wire, indent=2))
    ok("import", file, "--from", name, "--model", "some-model")
    back = json.loads(ok("sessions", "export", "last", "--to", name))
    assert same(back, wire)


@pytest.mark.parametrize("name", il.dialects())
def test_recorded_conversations_go_home_as_they_came(
    store: Store, tmp_path: Path, name: str
) -> None:
    corpus_or_skip()
    reader = il.dialect(name)
    found = (
        record
        for record in records(name)
        if record.status == 200 and isinstance(record.request, dict) and record.request
    )
    count = 0
    for record in islice(found, 0, 60, 6):
        file = tmp_path / "request.json"
        file.write_text(json.dumps(record.request))
        ok("import", file, "--from", name, "--model", record.model or "m")
        expected = reader.read_request(record.request, model="m").messages
        stored = store.messages(store.sessions(1)[0].id)
        assert [plain(each) for each in stored] == [plain(each) for each in expected], record.id
        wire = json.loads(ok("sessions", "export", "last", "--to", name))
        back = reader.read_request(wire, model="m").messages
        assert [dumps(each) for each in back] == [dumps(each) for each in expected], record.id
        count += 1
    assert count


def plain(message: Message) -> bytes:
    """What is said, without ids."""
    content = []
    for block in message.content:
        if isinstance(block, ToolUseBlock):
            block = block.replace(id="")
        elif isinstance(block, ToolResultBlock):
            block = block.replace(tool_use_id="")
        content.append(block)
    return dumps(Message(message.role, tuple(content), message.name))


def test_losses_of_an_export_are_told_and_may_be_fatal(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "request.json"
    file.write_text(json.dumps(REQUEST))
    ok("import", file)
    result = run("sessions", "export", "last", "--to", "openai-chat", "--model", "gpt-5")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["model"] == "gpt-5"
    assert "$.messages[2].content[0]: thinking dropped" in result.stderr
    assert run("export", "last", "--to", "openai-chat", "--strict").exit_code == 3
    assert run("export", "last", "--to", "anthropic", "--strict").exit_code == 0


def test_losses_can_be_had_as_json(store: Store, tmp_path: Path) -> None:
    file, report = tmp_path / "traffic.jsonl", tmp_path / "report.jsonl"
    file.write_text(lines_of(RESPONSE, REQUEST))
    ok("import", file)
    ok("export", "--to", "openai-chat", "--report", report)
    [line] = report.read_text().splitlines()
    found = json.loads(line)
    assert found["session"] == store.sessions(1)[0].id
    assert [loss["path"] for loss in found["losses"]] == ["$.messages[2].content[0]"]


def test_export_to_a_dialect_is_a_line_for_each_session(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "traffic.jsonl"
    file.write_text(lines_of(REQUEST, REQUEST))
    ok("import", file)
    lines = ok("export", "--to", "gemini").splitlines()
    assert [len(json.loads(line)["contents"]) for line in lines] == [3, 3]


def test_what_a_session_has_no_place_for_is_reported(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "request.json"
    tools = [{"name": "look", "input_schema": {"type": "object"}}]
    file.write_text(json.dumps({**REQUEST, "tools": tools}))
    result = run("import", file)
    assert "not imported: the tools of 1 request" in result.stderr
    assert "not imported: the options of 1 request" in result.stderr


# Shapes of files


def test_a_bad_line_is_told_by_its_number_and_the_rest_imported(
    store: Store, tmp_path: Path
) -> None:
    file = tmp_path / "traffic.jsonl"
    bad = '{"role": \n\n[1, 2\n"text"\n{"what": "\\u001b[2J"}\n'
    file.write_text(f"{bad}{lines_of(REQUEST)}\x00\n{lines_of(RESPONSE)}")
    result = run("import", file)
    assert result.exit_code == 1
    assert [int(n) for n in re.findall(r"line (\d+):", result.stderr)] == [1, 3, 4, 5, 7]
    assert told_counts(result.stderr) == (2, 5, 5)
    assert "\x1b" not in result.stderr
    assert told("sessions", "list")[0]["message_count"] == 1


def test_a_bad_message_inside_a_session_leaves_the_others(store: Store, tmp_path: Path) -> None:
    talk(store, "one", "two", "three")
    lines = ok("export").splitlines()
    lines[2] = lines[2][:-5]
    file = tmp_path / "damaged.jsonl"
    file.write_text("\n".join(lines))
    with fresh(tmp_path) as (address, other):
        result = run("import", file, "--store", address)
        assert "line 3" in result.stderr
        assert [each.text for each in other.messages(other.sessions()[0].id)] == ["one", "three"]


@pytest.mark.parametrize(
    ("name", "text", "sessions", "messages"),
    [
        ("pretty.json", json.dumps(REQUEST, indent=2), 1, 4),
        ("one-line.json", json.dumps(REQUEST), 1, 4),
        ("mark.json", "\ufeff" + json.dumps(REQUEST, indent=2), 1, 4),
        ("list.json", json.dumps([REQUEST, RESPONSE], indent=1), 2, 5),
        ("lines.txt", lines_of(REQUEST, RESPONSE), 2, 5),
        ("blank.jsonl", f"\n\n{lines_of(REQUEST)}\n   \n", 1, 4),
        ("empty.jsonl", "", 0, 0),
        ("unended.jsonl", json.dumps(RESPONSE), 1, 1),
    ],
)
def test_json_and_json_lines_are_distinguished(
    store: Store, tmp_path: Path, name: str, text: str, sessions: int, messages: int
) -> None:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    assert told_counts(run("import", file).stderr) == (sessions, messages, 0)


@pytest.mark.parametrize(
    "text", [lines_of(REQUEST, RESPONSE), json.dumps([REQUEST, RESPONSE], indent=2)]
)
def test_standard_input_is_a_file_too(store: Store, text: str) -> None:
    assert told_counts(run("import", "-", stdin=text).stderr) == (2, 5, 0)


def test_canonical_values_are_recognised(store: Store, tmp_path: Path) -> None:
    messages = example()
    response = il.Response(messages[-1])
    values = [
        json.loads(dumps(messages)),
        json.loads(dumps(Request(tuple(messages)))),
        json.loads(dumps(response)),
    ]
    file = tmp_path / "canonical.jsonl"
    file.write_text(lines_of(*values))
    assert told_counts(run("import", file).stderr) == (3, 11, 0)
    separate = tmp_path / "messages.jsonl"
    separate.write_bytes(b"".join(dumps(message) + b"\n" for message in messages))
    assert told_counts(run("import", separate).stderr) == (1, 5, 0)
    stored = store.messages(store.sessions(1)[0].id)
    assert [plain(each) for each in stored] == [plain(each) for each in messages]


@pytest.mark.parametrize("named", [(), ("--from", "flat")])
def test_views_are_read(named: tuple[str, ...], store: Store, tmp_path: Path) -> None:
    file = tmp_path / "flat.json"
    file.write_text('[{"role": "user", "content": "hi"}]')
    ok("import", file, *named)
    assert store.tail(store.sessions(1)[0].id)[0].text == "hi"


def test_what_is_nobodys_has_to_be_named(tmp_path: Path) -> None:
    file = tmp_path / "odd.json"
    file.write_text('[{"role": "cook", "content": "hi"}]')
    assert run("import", file).exit_code == 1
    assert "--from" in run("import", file).stderr


def test_a_json_file_that_is_damaged_is_one_error(tmp_path: Path) -> None:
    file = tmp_path / "pretty.json"
    file.write_text(json.dumps(REQUEST, indent=2)[:-2])
    result = run("import", file)
    assert result.exit_code == 1
    assert told_counts(result.stderr) == (0, 0, 1)


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    def peak(count: int) -> int:
        file, new = tmp_path / f"{count}.jsonl", tmp_path / f"{count}.db"
        with file.open("wb") as out:
            out.write(b'{"session":{"id":"S","workspace_path":"/w",')
            out.write(b'"created_at":"2026-11-16T00:00:00Z"}}\n')
            for number in range(count):
                message = Message.user(f"{number} {'x' * 500}").replace(session_id="S")
                out.write(dumps(message) + b"\n")
        tracemalloc.start()
        ok("import", file, "--store", new)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(100)
    assert peak(8000) < 2 * peak(2000)


# Other targets


def test_markdown_can_be_read_by_people(store: Store) -> None:
    id = talk(store, "a *question*\nof two lines", name="A\ntitle")
    fenced = ToolUseBlock(TU_1, "run", {"code": "```x```"})
    store.append(id, [Message.assistant([fenced])])
    text = ok("sessions", "export", id, "--to", "markdown")
    assert text.startswith(f"# A title\n\nsession `{id}`, 2 messages, ")
    assert "\n## user\n" in text
    assert "\na *question*\nof two lines\n" in text
    assert '\n**calls run**\n\n````\n{"code":"```x```"}\n````\n' in text


def test_html_is_one_session_as_a_page(store: Store) -> None:
    id = talk(store, "</script>", "two")
    text = ok("sessions", "export", id, "--to", "html")
    assert text.startswith("<!doctype html>")
    assert '"text":"\\u003c/script>"' in text
    talk(store, "other")
    assert run("export", "--to", "html").exit_code == 2


def test_canonical_is_a_list_of_messages(store: Store) -> None:
    id = talk(store, "one", "two")
    text = ok("sessions", "export", id, "--to", "canonical")
    assert il.loads(text, list[Message]) == store.messages(id)


def test_a_format_that_does_not_exist_is_wrong_usage(store: Store, tmp_path: Path) -> None:
    talk(store, "one")
    file = tmp_path / "x.json"
    file.write_text("{}")
    assert run("export", "--to", "nothing").exit_code == 2
    assert run("sessions", "export", "last", "--to", "nothing").exit_code == 2
    assert run("import", file, "--from", "nothing").exit_code == 2
    assert run("import", tmp_path / "missing.json").exit_code == 2


def test_the_real_commands_export_and_import(store: Store, tmp_path: Path) -> None:
    talk(store, "one")
    exported = process("export")
    file = tmp_path / "all.jsonl"
    file.write_bytes(exported.stdout)
    done = process("import", file, "--json", INTERLINGUA_HOME=str(tmp_path / "other"))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["messages"] == 1
    assert process("export", INTERLINGUA_HOME=str(tmp_path / "other")).stdout == exported.stdout


@pytest.mark.parametrize(
    "id",
    ["../../EVIL", "/etc/passwd", "a\nb", "\x1b[2J", "\x00", "", "a" * 201, "\u202egnp.exe", "a b"],
)
def test_a_session_with_a_hostile_id_is_refused_and_copied_under_a_new_one(
    id: str, store: Store, tmp_path: Path
) -> None:
    talk(store, "one")
    file = tmp_path / "all.jsonl"
    ok("export", "-o", file)
    known = store.sessions(1)[0].id
    file.write_text(file.read_text().replace(known, json.dumps(id)[1:-1]))
    new = tmp_path / "new.db"
    result = run("import", file, "--store", new)
    assert result.exit_code == 1
    assert "--new-ids imports a copy" in result.stderr
    assert "0 sessions, 0 messages imported, 1 unreadable" in result.stderr
    assert (
        "1 session, 1 message imported" in run("import", file, "--store", new, "--new-ids").stderr
    )
    with open_store(new) as other:
        [row] = other.sessions()
        assert is_ulid(row.id)
