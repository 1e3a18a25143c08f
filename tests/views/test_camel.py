"""The camel view: a context, three kinds of message, four kinds of block."""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.errors import ReadError
from interlingua.model.base import same
from interlingua.model.blocks import (
    ImageBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.exchange import Options, Request
from interlingua.model.message import Message, Role
from interlingua.model.metadata import (
    StopReason,
)
from interlingua.model.tools import SideEffects, ToolDefinition
from interlingua.views import camel
from interlingua.views.camel import BLOCKS, PLACEMENT, STOP_REASONS
from interlingua.views.openai_ui import message_from_param
from tests.laws.strategies import conversations, requests
from tests.views.comparing import Comparison, few
from tests.views.wires import Wire, base64_texts, json_objects, objects, some, texts, words

INSTRUCTIONS = (Role.SYSTEM, Role.DEVELOPER)
IMAGE = ImageBlock(Source("base64", "AAAA"), "image/png")


def one(wire: Wire) -> Message:
    [message] = camel.read([wire])
    return message


def out(message: Message) -> Wire:
    [wire] = camel.write([message]).wire["messages"]
    result: Wire = wire
    return result


def assistant(*blocks: Wire, **fields: Any) -> Wire:
    return {"role": "assistant", "content": list(blocks), **fields}


def losses(*messages: Message) -> list[tuple[str, str]]:
    return [(loss.kind, loss.path) for loss in camel.write(messages).report.entries]


# The laws


def normal(messages: Sequence[Message]) -> list[Message]:
    """With the tool's name on each result, and an ending that goes with the status."""
    names: dict[str, str] = {}
    result = []
    for message in messages:
        names |= {b.id: b.name for b in message.content if isinstance(b, ToolUseBlock)}
        content = [_named(block, names) for block in message.content]
        known = message.metadata
        if known.stop_reason is None and known.status in ("error", "cancelled"):
            known = known.replace(stop_reason=StopReason(known.status.value))
        result.append(message.replace(content=tuple(content), metadata=known))
    return result


def _named(block: Any, names: dict[str, str]) -> Any:
    if not isinstance(block, ToolResultBlock):
        return block
    return block.replace(tool_name=block.tool_name or names.get(block.tool_use_id))


@few
@given(
    st.tuples(st.booleans(), st.booleans()).flatmap(lambda how: conversations(*how, failures=True))
)
def test_what_reading_back_misses_is_what_the_report_lists(messages: tuple[Message, ...]) -> None:
    wire, report = camel.write(messages)
    back = camel.read(wire)
    items = [number for number, message in enumerate(messages) if message.role in INSTRUCTIONS]
    joined = len(items) > 1 or (items and items[0] > 0)
    if joined:  # they are one prompt now, which the report says of each
        assert {f"$[{number}]" for number in items} <= {loss.path for loss in report.entries}
        assert wire["systemPrompt"] == "\n\n".join([messages[number].text for number in items])
        back = tuple([message for message in back if message.role not in INSTRUCTIONS])
    comparison = Comparison("camel", report, aside=items if joined else ())
    comparison.check(normal(messages), normal(back))


def camel_blocks(*kinds: str) -> st.SearchStrategy[Wire]:
    signature = words()
    blocks = {
        "text": objects({"text": texts()}, {"textSignature": signature}),
        "image": objects({"data": base64_texts(), "mimeType": st.just("image/png")}, {}),
        "thinking": objects(
            {"thinking": texts()}, {"thinkingSignature": signature, "redacted": st.booleans()}
        ),
        "toolCall": objects(
            {"id": words(), "name": words(), "arguments": json_objects()},
            {"thoughtSignature": signature},
        ),
    }
    return st.one_of([_typed(kind, blocks[kind]) for kind in kinds])


def _typed(kind: str, block: st.SearchStrategy[Wire]) -> st.SearchStrategy[Wire]:
    return block.map(lambda fields: {**fields, "type": kind})


def usages() -> st.SearchStrategy[Wire]:
    count, money = st.integers(0, 10**6), st.floats(0, 10**6) | st.integers(0, 9)
    parts = ("input", "output", "cacheRead", "cacheWrite")
    cost = objects({**dict.fromkeys(parts, money), "total": money}, {})
    return objects({}, {**dict.fromkeys((*parts, "totalTokens"), count), "cost": cost})


def camel_messages() -> st.SearchStrategy[Wire]:
    content = st.sampled_from(("", "anthropic", "a:b"))
    times = st.integers(-(10**12), 10**13)
    diagnostic = objects({"type": words()}, {}).flatmap(
        lambda known: st.fixed_dictionaries(
            {}, optional={"message": texts(), "timestamp": times, "details": json_objects()}
        ).map(lambda more: {**known, **more})
    )
    user = {"role": st.just("user"), "content": texts() | some(camel_blocks("text", "image"))}
    result = {
        "role": st.just("toolResult"),
        "toolCallId": words(),
        "content": some(camel_blocks("text", "image")),
    }
    answer = {
        "role": st.just("assistant"),
        "content": some(camel_blocks("text", "thinking", "toolCall"), 3),
    }
    facts = {
        **dict.fromkeys(("protocol", "provider", "model", "responseModel", "responseId"), content),
        "usage": usages(),
        "stopReason": st.sampled_from(tuple(STOP_REASONS)),
        "errorMessage": texts(),
        "diagnostics": some(diagnostic),
        "timestamp": times,
    }
    return st.one_of(
        objects(user, {}),
        objects(result, {"toolName": texts(), "isError": st.booleans()}),
        objects(answer, facts),
    )


def contexts() -> st.SearchStrategy[Wire]:
    tool = objects({"name": words()}, {"description": texts(), "parameters": json_objects()})
    return objects(
        {"messages": some(camel_messages(), 3)}, {"systemPrompt": texts(), "tools": some(tool)}
    )


@given(contexts())
def test_contexts_come_home_unchanged(wire: Wire) -> None:
    before = deepcopy(wire)
    home, report = camel.write_context(camel.read_context(wire))
    assert same(home, before)
    assert same(wire, before)
    assert not report.entries


@few
@given(requests(with_raw=True))
def test_a_request_is_a_context_and_a_report(request: Request) -> None:
    wire, report = camel.write_context(request)
    back = camel.read_context(wire)
    lost = {loss.path for loss in report.entries}
    for number, (tool, read) in enumerate(zip(request.tools, back.tools, strict=True)):
        for name in tool.__struct_fields__:
            if name != "raw" and getattr(tool, name) != getattr(read, name):
                assert f"$.tools[{number}].{name}" in lost
    fields = {name for name in Options.__struct_fields__ if name != "raw"}
    fields = {name for name in fields if getattr(request.options, name) is not None}
    assert {path for path in lost if path.startswith("$.options.") and ".raw." not in path} == {
        f"$.options.{name}" for name in fields
    }
    assert "$.model" in lost


# Context and messages


@pytest.mark.requirement("S003-1")
def test_a_context_has_prompt_messages_and_tools() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    wire = {
        "systemPrompt": "Be brief.",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
        "tools": [{"name": "add", "description": "Adds.", "parameters": schema}],
    }
    request = camel.read_context(wire)
    assert request.messages == (Message.system("Be brief."), Message.user("hi"))
    assert request.tools == (ToolDefinition("add", "Adds.", schema),)
    assert camel.write_context(request).wire == wire
    assert camel.read(wire) == request.messages


@pytest.mark.requirement("S003-1")
def test_a_list_is_a_context_without_prompt_and_tools() -> None:
    wire = [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]
    assert camel.read(wire) == (Message.user("hi"),)
    assert camel.write(camel.read(wire)).wire == {"messages": wire}


@pytest.mark.requirement("S003-1")
@pytest.mark.parametrize("prompt", [None, "", "x"])
def test_an_empty_prompt_is_not_a_missing_one(prompt: str | None) -> None:
    wire: Wire = {"messages": []} if prompt is None else {"systemPrompt": prompt, "messages": []}
    assert len(camel.read(wire)) == (prompt is not None)
    assert camel.write(camel.read(wire)).wire == wire


def test_several_instructions_are_joined_and_each_is_reported() -> None:
    messages = [Message.system("a"), Message.user("hi"), Message.developer("b")]
    wire, report = camel.write(messages)
    assert wire["systemPrompt"] == "a\n\nb"
    assert [(loss.kind, loss.path) for loss in report.entries] == [
        ("approximated", "$[0]"),
        ("moved", "$[2]"),
    ]


@pytest.mark.requirement("S003-2", "S003-23")
def test_three_kinds_of_message() -> None:
    assert set(camel.ROLES) == {"user", "assistant", "toolResult"}
    wire = [
        {"role": "user", "content": []},
        assistant(),
        {"role": "toolResult", "toolCallId": "c", "toolName": "f", "content": [], "isError": False},
    ]
    assert [message.role for message in camel.read(wire)] == [Role.USER, Role.ASSISTANT, Role.TOOL]
    assert camel.write(camel.read(wire)).wire["messages"] == wire


@pytest.mark.requirement("S003-2")
@pytest.mark.parametrize(
    "message", [None, {"role": "system", "content": []}, {"content": []}, "hi"]
)
def test_any_other_message_is_an_error_that_names_its_index(message: Any) -> None:
    with pytest.raises(ReadError) as error:
        camel.read({"messages": [{"role": "user", "content": []}, message]})
    assert error.value.path.startswith("$.messages[1]")


@pytest.mark.requirement("S003-3", "S003-23")
@pytest.mark.parametrize("block", [None, {"type": "audio"}, {"text": "hi"}, "hi"])
def test_any_other_block_is_an_error_that_names_its_index(block: Any) -> None:
    assert set(BLOCKS) == {"text", "image", "thinking", "toolCall"}
    with pytest.raises(ReadError) as error:
        camel.read([assistant({"type": "text", "text": "hi"}, block)])
    assert error.value.path.startswith("$[0].content[1]")


SAMPLES: dict[str, Wire] = {
    "text": {"type": "text", "text": "hi"},
    "image": {"type": "image", "data": "AAAA", "mimeType": "image/png"},
    "thinking": {"type": "thinking", "thinking": "hm"},
    "toolCall": {"type": "toolCall", "id": "c", "name": "f", "arguments": {}},
}


@pytest.mark.requirement("S003-4")
@pytest.mark.parametrize("role", list(camel.ROLES))
@pytest.mark.parametrize("kind", list(SAMPLES))
def test_each_message_holds_its_own_blocks(role: str, kind: str) -> None:
    allowed = {
        "user": "text image",
        "toolResult": "text image",
        "assistant": "text thinking toolCall",
    }
    assert PLACEMENT[camel.ROLES[role]] == set(allowed[role].split())
    wire = {"role": role, "content": [SAMPLES[kind]], "toolCallId": "c"}
    if kind in allowed[role].split():
        assert camel.read([wire])
    else:
        with pytest.raises(ReadError) as error:
            camel.read([wire])
        assert error.value.path == "$[0].content[0].type"


# Blocks


@pytest.mark.requirement("S003-5", "S003-12")
def test_text_and_its_signature() -> None:
    message = Message.assistant([TextBlock("a", "sig"), TextBlock("b")])
    assert out(message)["content"] == [
        {"type": "text", "text": "a", "textSignature": "sig"},
        {"type": "text", "text": "b"},
    ]
    assert one(out(message)).content == message.content
    assert losses(Message.assistant(TextBlock("a", ""))) == [
        ("dropped", "$[0].content[0].signature")
    ]


@pytest.mark.requirement("S003-6")
def test_an_image_is_inline() -> None:
    assert out(Message.user(IMAGE))["content"] == [SAMPLES["image"]]
    assert one({"role": "user", "content": [SAMPLES["image"]]}).content == (IMAGE,)
    elsewhere = ImageBlock(Source("url", "https://e.com/i"))
    assert losses(Message.user(["x", elsewhere])) == [("dropped", "$[0].content[1]")]


@pytest.mark.requirement("S003-7", "S003-12")
def test_thinking_and_its_signature() -> None:
    message = Message.assistant([ThinkingBlock("hm", "sig"), ThinkingBlock("")])
    assert out(message)["content"] == [
        {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"},
        {"type": "thinking", "thinking": ""},
    ]
    assert one(out(message)).content == message.content


@pytest.mark.requirement("S003-7", "S003-11")
def test_redacted_thinking_has_its_payload_for_a_signature() -> None:
    message = Message.assistant(RedactedThinkingBlock("opaque"))
    block = {"type": "thinking", "thinking": "", "thinkingSignature": "opaque", "redacted": True}
    assert out(message)["content"] == [block]
    assert one(out(message)).content == message.content
    placeholder = assistant({**block, "thinking": "[redacted]"})
    assert one(placeholder).content == message.content
    assert out(one(placeholder)) == placeholder


@pytest.mark.requirement("S003-8", "S003-12")
def test_a_call_with_its_signature() -> None:
    call = ToolUseBlock("c", "add", {"a": [1]}, signature="sig")
    [wire] = out(Message.assistant(call))["content"]
    assert wire == {
        "type": "toolCall",
        "id": "c",
        "name": "add",
        "arguments": {"a": [1]},
        "thoughtSignature": "sig",
    }
    assert one(assistant(wire)).content == (call,)


@pytest.mark.requirement("S003-8")
def test_missing_arguments_are_an_empty_object() -> None:
    message = one(assistant({"type": "toolCall", "id": "c", "name": "f"}))
    assert message.content == (ToolUseBlock("c", "f", {}),)
    assert out(message)["content"][0]["arguments"] == {}


@pytest.mark.requirement("S003-9", "S003-14")
def test_a_result_echoes_the_call_and_names_the_tool() -> None:
    call = Message.assistant(ToolUseBlock("c", "add", {}))
    answer = Message.tool_result("c", ["3", IMAGE], is_error=True)
    wire = camel.write([call, answer]).wire["messages"][1]
    assert wire == {
        "role": "toolResult",
        "toolCallId": "c",
        "toolName": "add",
        "content": [SAMPLES["text"] | {"text": "3"}, SAMPLES["image"]],
        "isError": True,
    }
    named = Message.tool_result("c", ["3", IMAGE], is_error=True, tool_name="add")
    assert one(wire) == named


@pytest.mark.requirement("S003-10")
@pytest.mark.parametrize("text", ["", "{}", '{"a": [1, {"b": "cu', "[1]", "nonsense"])
def test_text_that_was_collected_always_gives_an_object(text: str) -> None:
    function = {"name": "f", "arguments": text}
    call = {"id": "c", "type": "function", "function": function}
    message = message_from_param({"role": "assistant", "tool_calls": [call]})
    assert isinstance(out(message)["content"][0]["arguments"], dict)


def test_arguments_are_an_object_and_text_is_not() -> None:
    with pytest.raises(ReadError) as error:
        one(assistant({"type": "toolCall", "id": "c", "name": "f", "arguments": "{}"}))
    assert error.value.path == "$[0].content[0].arguments"
    spaced = ToolUseBlock("c", "f", {"a": 1}, raw_arguments='{"a": 1}')
    cut = ToolUseBlock("d", "f", {"a": "b"}, raw_arguments='{"a": "b')
    report = camel.write([Message.assistant([spaced, cut])]).report
    assert [(loss.path, loss.severity) for loss in report.entries] == [
        ("$[0].content[0].raw_arguments", "info"),
        ("$[0].content[1].raw_arguments", "warning"),
    ]


@pytest.mark.requirement("S003-13")
def test_a_user_message_is_content_only() -> None:
    stored = Message(Role.USER, (TextBlock("hi"),), id="m", created_at=datetime.now(UTC))
    assert out(stored) == {"role": "user", "content": [SAMPLES["text"]]}
    assert losses(stored) == [("dropped", "$[0].id"), ("dropped", "$[0].created_at")]
    assert one({"role": "user", "content": "hi"}) == Message.user("hi")
    assert out(one({"role": "user", "content": "hi"})) == {"role": "user", "content": "hi"}


# A whole answer

WHOLE = assistant(
    {"type": "text", "text": "hi"},
    protocol="anthropic",
    provider="anthropic",
    model="claude-sonnet-4-5",
    responseModel="claude-sonnet-4-5-20250929",
    responseId="msg_1",
    usage={
        "input": 8,
        "output": 42,
        "cacheRead": 100,
        "cacheWrite": 5,
        "totalTokens": 155,
        "cost": {
            "input": 0.000024,
            "output": 0.00063,
            "cacheRead": 0,
            "cacheWrite": 0,
            "total": 0.000654,
        },
    },
    stopReason="error",
    errorMessage="the connection was lost",
    diagnostics=[{"type": "retried", "message": "once", "timestamp": 5, "details": {"n": 1}}],
    timestamp=1_700_000_000_123,
)


@pytest.mark.requirement("S003-20", "S003-21")
def test_text_and_calls_of_a_message() -> None:
    call = {"type": "toolCall", "id": "c", "name": "f", "arguments": {"a": [1]}}
    message = one(assistant(SAMPLES["text"], SAMPLES["thinking"], call, SAMPLES["text"]))
    assert message.text == "hihi"
    message.tool_calls[0].input["a"].append(2)
    assert message.tool_calls[0].input == {"a": [1]}
    assert Message.assistant("hi").tool_calls == []


@pytest.mark.requirement("S003-22")
def test_a_tool_schema_passes_untouched() -> None:
    schema = '{"type":"object","$defs":{"z":{},"a":{"const":1.0}},"x-own":[null],"properties":{}}'
    wire = {"messages": [], "tools": [{"name": "f", "parameters": json.loads(schema)}]}
    home = camel.write_context(camel.read_context(wire)).wire
    assert json.dumps(home["tools"][0]["parameters"], separators=(",", ":")) == schema


def test_a_context_reports_what_it_has_no_place_for() -> None:
    tool = ToolDefinition("f", "F.", {}, side_effects=SideEffects.READ, strict=True)
    request = Request((Message.user("hi", "ada"),), "gpt-5", (tool,), Options(temperature=0.5))
    report = camel.write_context(request).report
    assert [loss.path for loss in report.entries] == [
        "$.messages[0].name",
        "$.model",
        "$.options.temperature",
        "$.tools[0].side_effects",
        "$.tools[0].strict",
    ]


def test_what_the_provider_ran_has_no_place() -> None:
    call = ToolUseBlock("c", "web_search", {}, executor="provider")
    ran = Message.assistant([call, ToolResultBlock("c"), RefusalBlock("no")])
    assert losses(ran) == [
        ("dropped", "$[0].content[0]"),
        ("dropped", "$[0].content[1]"),
        ("downgraded", "$[0].content[2]"),
    ]
