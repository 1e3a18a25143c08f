"""Each shortcut gives what the long way gives: the same value to the last byte, and the same
losses."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import interlingua as il
from interlingua.dialects.kernel.preserved import Preserved
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.openai_chat import (
    calls,
    messages,
    options,
    request,
    response,
    text,
    thinking,
)
from interlingua.dialects.openai_chat.tables import (
    ANSWER_TABLES,
    HOSTS,
    TABLES,
    Tables,
    WriteContext,
    at_host,
)
from interlingua.dialects.openrouter.tables import ANSWERED, ROUTED
from interlingua.errors import InterlinguaError
from interlingua.model.exchange import Options
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, StopReason
from interlingua.model.tools import ToolDefinition

ASKED = (TABLES, ROUTED, at_host(TABLES, HOSTS["mistral"]), at_host(TABLES, HOSTS["deepseek"]))
ANSWERS = (ANSWER_TABLES, ANSWERED)
TEXTS = st.sampled_from(["", "a", "[tool error] b", "null", None, 5])
STRINGS = st.sampled_from(["", "a", "[tool error] b"])
ARGUMENTS = st.sampled_from(['{"a":1}', '{"a": 1}', "{}", "", "{a", "[1]", '{"a":{"b":[]}}', 5, {}])
CALLS = st.fixed_dictionaries(
    {
        "function": st.fixed_dictionaries(
            {"name": st.sampled_from(["f", 5])}, optional={"arguments": ARGUMENTS, "x": st.none()}
        )
    },
    optional={
        "id": st.sampled_from(["c1", "il_0123456789abcdef", "", None]),
        "type": st.sampled_from(["function", "custom", None]),
        "index": st.just(0),
    },
)
THOUGHTS = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["thinking", "other"]), "thinking": TEXTS},
        optional={"signature": TEXTS, "x": st.none()},
    ),
    max_size=2,
)
ROLES = st.sampled_from(["system", "developer", "user", "assistant", "tool", "function"])
PARTS = st.lists(
    st.fixed_dictionaries({"type": st.just("text"), "text": TEXTS}, optional={"x": st.just(1)}),
    max_size=2,
)
IDS = st.sampled_from(["c1", "c1", "", None])
PLAIN_CALL = st.fixed_dictionaries(
    {
        "id": st.just("c1"),
        "type": st.just("function"),
        "function": st.fixed_dictionaries({"name": st.just("f"), "arguments": ARGUMENTS}),
    }
)
USUAL_MESSAGES = st.one_of(
    st.fixed_dictionaries({"role": st.just("tool"), "content": TEXTS, "tool_call_id": IDS}),
    st.fixed_dictionaries(
        {
            "role": st.just("assistant"),
            "content": TEXTS,
            "tool_calls": st.lists(PLAIN_CALL, max_size=2),
        },
        optional={
            "thinking_blocks": st.just([{"type": "thinking", "thinking": "a", "signature": "s"}])
        },
    ),
)
MESSAGES = USUAL_MESSAGES | st.fixed_dictionaries(
    {"role": ROLES},
    optional={
        "content": TEXTS | PARTS,
        "tool_calls": st.lists(CALLS, max_size=2),
        "thinking_blocks": THOUGHTS,
        "tool_call_id": st.sampled_from(["c1", "", None]),
        "name": st.sampled_from(["n", "", None]),
    },
)


def outcome(way: Any, *args: Any) -> Any:
    """What a way gives: a value, to the last byte, or the error with its place."""
    try:
        found = way(*args)
    except InterlinguaError as error:
        return str(error)
    except Exception as error:  # a ShapeError, which only the whole reader makes a ReadError
        return (type(error).__name__, getattr(error, "path", None), getattr(error, "found", None))
    return msgspec.json.encode(found)


def written(way: Any, value: Any, *args: Any) -> Any:
    """What is written of a value, and what is reported of it."""
    report = Report("x")
    reported = way(value, *args, LossRecorder(args[-1].name, None, report))
    return reported, report.entries


# -- reading --------------------------------------------------------------------------------------


@settings(max_examples=300)
@given(st.lists(MESSAGES, min_size=1, max_size=2), st.sampled_from(ASKED))
def test_messages_that_are_read_at_once(wires: Any, t: Tables) -> None:
    assert outcome(messages.read_messages, wires, t) == outcome(read_slowly, wires, t)


LONG = '日本 \n "<b>" ça ' * 100
"""A text that is long enough for its JSON to be used again."""
SPELLINGS: dict[str, Any] = {
    "as we write it": msgspec.json.encode,
    "escaped": lambda body: json.dumps(body).encode(),
    "with blanks": lambda body: json.dumps(body, ensure_ascii=False, indent=1).encode(),
}
BODIES = st.fixed_dictionaries(
    {"messages": st.lists(MESSAGES, min_size=1, max_size=4)},
    optional={
        "model": st.sampled_from(["m", None, 5]),
        "max_tokens": st.sampled_from([5, None]),
        "temperature": st.sampled_from([0.5, 1]),
        "tools": st.sampled_from([[], [{"type": "function", "function": {"name": "f"}}]]),
        "top_k": st.just(4),
    },
)


@settings(max_examples=300)
@given(BODIES, st.sampled_from(sorted(SPELLINGS)))
def test_bodies_that_are_read_straight_from_their_bytes(body: Any, spelling: str) -> None:
    data = SPELLINGS[spelling](body)
    straight = request.read_straight(data)
    if straight is not None:
        assert msgspec.to_builtins(straight[0]) == msgspec.to_builtins(request.read_request(body))


def talk(result: Any = LONG, **more: Any) -> dict[str, Any]:
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    function = {"name": "f", "arguments": '{"a": 1}'}
    call = {"id": "c1", "type": "function", "function": function}
    fields = {"content": "So.", "thinking_blocks": [thought], "tool_calls": [call]}
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": LONG}]},
        {"role": "assistant", **fields},
        {"role": "tool", "tool_call_id": "c1", "content": result},
        {"role": "user", "content": LONG * 3},
    ]
    return {"model": "m", "messages": messages, "max_tokens": 9, "stream": True, **more}


@pytest.mark.parametrize("spelling", sorted(SPELLINGS))
@pytest.mark.parametrize(
    "result",
    [LONG, "short", "", "[tool error] " + LONG, [{"type": "text", "text": LONG}], LONG * 50],
)
@pytest.mark.parametrize("target", ["anthropic", "gemini", "openai-responses", "bedrock"])
def test_a_usual_body_is_read_straight(result: Any, spelling: str, target: Any) -> None:
    body = talk(result, temperature=0.5)
    data = SPELLINGS[spelling](body)
    assert request.read_straight(data) is not None
    for how in ("pass", "auto"):
        short = il.convert(data, "openai-chat", target, caching=how)  # type: ignore[arg-type]
        long = il.convert(body, "openai-chat", target, caching=how)  # type: ignore[arg-type]
        assert short.report.entries == long.report.entries
        assert json.loads(short.json()) == long.wire
        assert short.wire == long.wire
        assert short == long or short.report.entries
        assert short.json() == short.json() == long.json()


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.replace("ça".encode(), b"\xff"),
        lambda data: data.replace("ça".encode(), b"\\ud800"),
        lambda data: data.replace(b'"tool_call_id": "c1"', b'"tool_call_id": 5'),
        lambda data: data.replace(b'"role": "tool"', b'"role": "nobody"'),
        lambda data: data[:-1],
    ],
)
def test_a_broken_body_is_refused_with_the_reason(change: Any) -> None:
    data = change(json.dumps(talk(), ensure_ascii=False).encode())
    assert request.read_straight(data) is None
    with pytest.raises(il.ReadError):
        il.convert(data, "openai-chat", "anthropic", "request")


def test_a_text_goes_on_as_it_was_spelled_unless_it_is_edited() -> None:
    data = json.dumps(talk(), ensure_ascii=False).encode().replace(b"<", b"\\u003c")
    written = il.convert(data, "openai-chat", "anthropic")
    assert written.json().count(b"\\u003c") == 100
    assert written.json() == written.json()
    part = written.wire["messages"][2]["content"][0]["content"][0]
    assert part == {"type": "text", "text": LONG}
    part["text"] = "edited"
    assert json.loads(written.json()) == written.wire
    assert b"edited" in written.json()


def read_slowly(wires: Any, t: Tables) -> tuple[Message, ...]:
    """Every message by the long way."""
    read: list[Message] = []
    reader = messages._Reader(t, read)
    for number, wire in enumerate(wires):
        try:
            read.append(_slowly(wire, reader, read, t))
        except messages.ShapeError as error:
            raise error.inside(f".messages[{number}]") from None
    return tuple(read)


def _slowly(wire: Any, reader: Any, read: list[Message], t: Tables) -> Message:
    role = messages.ROLES[wire["role"]]
    if role is Role.TOOL:
        return Message.of_result(calls.read_result(wire, t, read, reader.calls))
    if role is not Role.ASSISTANT:
        return messages._read_turn(wire, wire["role"], role, t)
    content = messages.read_assistant(wire, t, len(read))
    metadata = MessageMetadata(
        protocol=content.protocol,
        diagnostics=content.diagnostics,
        provider_raw=content.preserved.raw(t.name),
    )
    return Message(Role.ASSISTANT, content.content, content.name, metadata=metadata)


@given(CALLS, st.sampled_from(ASKED))
def test_a_call_that_is_read_at_once(wire: Any, t: Tables) -> None:
    plain = calls.read_plain_call(wire)
    if plain is not None:
        reader = calls.CallReader(t, 0)
        assert msgspec.json.encode(plain) == outcome(reader._read_slowly, wire)
        assert not reader.diagnostics


@given(THOUGHTS)
def test_signed_thinking_that_is_read_at_once(wires: Any) -> None:
    for wire in wires:
        plain = thinking.read_signed(wire, thinking.signed_by_anthropic("openai-chat"))
        if plain is not None:
            stored, table = Preserved(form={"issuer": "anthropic"}), thinking._ITEMS["thinking"]
            long = table.read_value(il.ThinkingBlock, wire, "openai-chat", stored)
            assert msgspec.json.encode(plain) == msgspec.json.encode(long)


@given(PARTS, st.sampled_from([frozenset({"text"}), frozenset()]))
def test_a_part_that_is_read_at_once(wires: Any, granted: Any) -> None:
    for wire in wires:
        long = outcome(text._read_part, wire, wire["type"], granted, TABLES)
        assert outcome(text.read_part, wire, granted, TABLES) == long


@given(
    st.fixed_dictionaries(
        {
            "function": st.fixed_dictionaries(
                {"name": st.just("f")},
                optional={
                    "description": TEXTS,
                    "parameters": st.sampled_from([{}, {"type": "object"}, None, 5]),
                    "strict": st.sampled_from([True, False, None, 5]),
                    "x": st.just(1),
                },
            )
        },
        optional={"type": st.sampled_from(["function", "", None]), "y": st.just(1)},
    ),
    st.sampled_from(ASKED),
)
def test_a_tool_that_is_read_at_once(wire: Any, t: Tables) -> None:
    long = outcome(request._read_function, wire, "function", t)
    assert outcome(request.read_tool, wire, t) == long


@given(st.sampled_from([4096, 0, 1.5, "5", None, True]), st.sampled_from(ASKED[:2]))
def test_a_body_of_no_more_than_a_limit(limit: Any, t: Tables) -> None:
    wire = {"model": "m", "messages": [], "max_tokens": limit}
    long = outcome(lambda: request_by_table(wire, t))
    short = outcome(request.read_request, wire, None, None, t)
    assert type(limit) is not int or short == long


def request_by_table(wire: Any, t: Tables) -> Any:
    preserved = Preserved()
    attrs = options.read_options(wire, t, preserved)
    return il.Request((), "m", options=Options(**attrs), raw=preserved.raw(t.name))


# -- writing --------------------------------------------------------------------------------------


RARELY = st.sampled_from([None, None, None, "s"])
"""What a block seldom has, so that most are plain."""
SPOKEN = st.builds(
    il.TextBlock,
    STRINGS,
    signature=RARELY,
    cache=st.sampled_from([None, None, None, il.Cache()]),
    citations=st.sampled_from([(), (), (), (il.Citation(url="https://a.b"),)]),
)
CALLED = st.builds(
    il.ToolUseBlock,
    id=st.sampled_from(["c1", "il_0123456789abcdef"]),
    name=st.just("f"),
    input=st.sampled_from([{}, {"a": 1}, {"input": "x"}]),
    raw_arguments=st.sampled_from([None, '{"a": 1}']),
    signature=RARELY,
    executor=st.sampled_from(["client", "client", "client", "provider"]),
    call_type=st.sampled_from([None, None, None, "custom"]),
)
THOUGHT = st.builds(il.ThinkingBlock, STRINGS, signature=RARELY, id=RARELY)
BLOCKS = st.one_of(SPOKEN, CALLED, THOUGHT, st.builds(il.RefusalBlock, STRINGS))
USUAL = st.tuples(
    st.lists(THOUGHT, max_size=2), st.lists(SPOKEN, max_size=1), st.lists(CALLED, max_size=2)
).map(lambda found: (*found[0], *found[1], *found[2]))
"""Thinking, then a text, then calls."""
TURNS = st.builds(
    Message,
    st.just(Role.ASSISTANT),
    USUAL | st.lists(BLOCKS, max_size=3).map(tuple),
    metadata=st.builds(
        MessageMetadata,
        protocol=st.sampled_from([None, "openai-chat", "anthropic"]),
        stop_reason=st.sampled_from([None, *StopReason]),
        raw_stop_reason=st.sampled_from([None, "stop", "end_turn"]),
    ),
)


@given(TURNS, st.sampled_from([*ASKED, *ANSWERS]))
def test_a_turn_that_is_written_at_once(message: Message, t: Tables) -> None:
    report = Report("x")
    plain = messages.write_plainly(message, target(t, report))
    if plain is not None:
        long = Report("x")
        assert plain == messages.AssistantWriter(message, target(t, long)).write()
        assert report.entries == long.losses


@given(TURNS, st.sampled_from(ANSWERS))
def test_a_choice_that_is_written_at_once(message: Message, t: Tables) -> None:
    report, long = Report("x"), Report("x")
    plain = response._write_plain_choice(message, target(t, report))
    if plain is not None:
        content = response._write_choice(0, message, target(t, long))
        assert plain == content
        assert _sorted(report) == _sorted(long)


def target(t: Tables, report: Report) -> WriteContext:
    return WriteContext(t, LossRecorder(t.name, None, report))


def _sorted(report: Report) -> list[str]:
    return sorted([str(loss) for loss in report.entries])


@given(CALLED, st.sampled_from([*ASKED, *ANSWERS]))
def test_a_call_that_is_written_at_once(block: il.ToolUseBlock, t: Tables) -> None:
    spelled = block.replace(raw={t.name: {}})
    short, long = Report("x"), Report("x")
    content = calls.write_call(block, target(t, short), False)
    slowly = calls.write_call(spelled, target(t, long), False)
    assert content == slowly
    assert short.losses == long.losses


@given(
    st.sampled_from(["user", "system", "developer"]),
    st.lists(SPOKEN, max_size=1) | st.lists(BLOCKS, max_size=2),
    RARELY,
    st.sampled_from(ASKED),
)
def test_a_message_that_is_written_at_once(
    role: str, content: list[Any], name: str | None, t: Tables
) -> None:
    message = Message(Role(role), tuple(content), name)
    short, long = Report("x"), Report("x")
    said = messages._write_turn(message, target(t, short))
    slowly = messages._write_any_turn(message, role, target(t, long))
    assert said == slowly
    assert short.losses == long.losses


@given(STRINGS, st.booleans(), st.none() | st.just("f"), st.sampled_from(ASKED))
def test_a_result_that_is_written_at_once(
    said: str, failed: bool, name: str | None, t: Tables
) -> None:
    block = il.ToolResultBlock("c1", (il.TextBlock(said),), failed, name)
    id = "c1" if t.host.ids is None else t.host.ids.fit("c1")
    short, long = Report("x"), Report("x")
    plain = calls.write_result(block, target(t, short))
    slowly = calls._write_result(block, id, target(t, long))
    assert plain == slowly
    assert short.losses == long.losses


@given(
    st.builds(
        ToolDefinition,
        name=st.just("f"),
        description=st.none() | STRINGS,
        input_schema=st.sampled_from([None, {}, {"type": "object"}]),
        strict=st.sampled_from([None, True, False]),
        deferred=st.sampled_from([None, True]),
        requires_workspace=st.booleans(),
    ),
    st.sampled_from(ASKED),
)
def test_a_tool_that_is_written_at_once(tool: ToolDefinition, t: Tables) -> None:
    short, long = Report("x"), Report("x")
    content = request.write_tools((tool,), target(t, short))
    slowly = request.write_tool(tool, target(t, long))
    assert content == {"tools": [slowly]}
    assert short.losses == long.losses


@pytest.mark.parametrize("t", [*ASKED, *ANSWERS])
@given(content=st.lists(BLOCKS, max_size=3))
def test_parts_that_are_written_at_once(t: Tables, content: list[Any]) -> None:
    granted = t.parts["user"]
    short, long = Report("x"), Report("x")
    said = text.write_parts(content, granted, target(t, short))
    slowly = [
        part for block in content for part in text.write_part(block, granted, target(t, long))
    ]
    assert said == slowly
    assert short.losses == long.losses
