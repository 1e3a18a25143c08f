"""Answers that were asked for in another way, as they were wanted: whole and streamed."""

from __future__ import annotations

import json
from typing import Any

import pytest

import interlingua as il
from interlingua.adapt.fit.answers import AnswerAdapter
from interlingua.model.blocks import TextBlock, ToolUseBlock
from interlingua.model.exchange import Response
from interlingua.model.metadata import StopReason

BACK = AnswerAdapter({"_1st_ab": "1st"}, "answer")
BLOCKS: list[dict[str, Any]] = [
    {"type": "tool_use", "id": "t1", "name": "answer", "input": {"n": 1}},
    {"type": "tool_use", "id": "t2", "name": "_1st_ab", "input": {}},
    {"type": "text", "text": "so"},
]


def whole(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": list(blocks),
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 2},
    }


def frames(answer: dict[str, Any]) -> list[il.Frame]:
    """The same as a stream, arguments in two pieces."""
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**answer, "content": [], "stop_reason": None}}
    ]
    for index, block in enumerate(answer["content"]):
        if block["type"] == "text":
            pieces = [{"type": "text_delta", "text": block["text"]}]
            start = {**block, "text": ""}
        else:
            text = json.dumps(block["input"])
            pieces = [{"type": "input_json_delta", "partial_json": p} for p in (text[:2], text[2:])]
            start = {**block, "input": {}}
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        events += [{"type": "content_block_delta", "index": index, "delta": p} for p in pieces]
        events.append({"type": "content_block_stop", "index": index})
    ending = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": ending, "usage": {"output_tokens": 2}})
    events.append({"type": "message_stop"})
    return [il.Frame(event["type"], json.dumps(event)) for event in events]


def streamed(answer: dict[str, Any], back: AnswerAdapter = BACK) -> Response:
    reader = back.reader(il.dialect("anthropic").stream_reader())
    events = [event for frame in frames(answer) for event in reader.feed(frame)]
    return il.fold([*events, *reader.close()])


@pytest.mark.parametrize("stream", [False, True])
def test_a_call_that_stood_for_the_answer_is_the_answer(stream: bool) -> None:
    answer = whole(BLOCKS[0])
    response = streamed(answer) if stream else BACK.response(_read(answer))
    assert json.loads(response.message.text) == {"n": 1}
    assert response.message.metadata.stop_reason is StopReason.END_TURN


@pytest.mark.parametrize("stream", [False, True])
def test_a_tool_has_its_own_name_again(stream: bool) -> None:
    answer = whole(BLOCKS[2], BLOCKS[1])
    response = streamed(answer) if stream else BACK.response(_read(answer))
    text, call = response.message.content
    assert isinstance(text, TextBlock)
    assert text.text == "so"
    assert isinstance(call, ToolUseBlock)
    assert call.name == "1st"
    assert response.message.metadata.stop_reason is StopReason.TOOL_USE


CUSTOM = AnswerAdapter(custom=frozenset({"patch"}))
CALLED: dict[str, Any] = {
    "type": "tool_use",
    "id": "t1",
    "name": "patch",
    "input": {"input": "*** Begin"},
}


@pytest.mark.parametrize("stream", [False, True])
def test_a_tool_for_free_text_is_called_with_free_text(stream: bool) -> None:
    answer = whole(CALLED)
    response = streamed(answer, CUSTOM) if stream else CUSTOM.response(_read(answer))
    (call,) = response.message.content
    assert isinstance(call, ToolUseBlock)
    assert (call.call_type, call.input) == ("custom", {"input": "*** Begin"})
    content = il.dialect("openai-responses").write_response(response).wire["output"][0]
    assert (content["type"], content["input"]) == ("custom_tool_call", "*** Begin")


def test_a_custom_tool_asked_of_others_comes_back_as_one() -> None:
    body = {
        "model": "m",
        "input": "patch it",
        "max_output_tokens": 9,
        "tools": [{"type": "custom", "name": "patch"}],
    }
    for model in ("anthropic:claude-opus-4-8", "gemini:gemini-2.5-flash", "bedrock:nobody"):
        result = il.convert(body, "openai-responses", model.partition(":")[0], model=model)
        assert result.answer_adapter == CUSTOM
    chat = il.convert(body, "openai-responses", "openai-chat", model="openai:gpt-5")
    assert chat.answer_adapter is None


def test_a_stream_and_the_whole_say_the_same() -> None:
    answer = whole(*BLOCKS)
    one, two = streamed(answer).message, BACK.response(_read(answer)).message
    assert [type(block) for block in one.content] == [type(block) for block in two.content]
    assert json.loads(one.content[0].text) == json.loads(two.content[0].text)  # type: ignore[union-attr]  # text


def _read(answer: dict[str, Any]) -> Response:
    return il.dialect("anthropic").read_response(answer)


# -- groups ---------------------------------------------------------------------------------------


def grouped(group: str = "agents") -> dict[str, Any]:
    """A request with a group of tools, one of which was called."""
    schema = {"type": "object", "properties": {"who": {"type": "string"}}}
    tools = [
        {"type": "function", "name": "spawn", "description": "Spawns.", "parameters": schema},
        {"type": "custom", "name": "tell"},
    ]
    call = {"type": "function_call", "call_id": "c1", "name": "spawn", "namespace": group}
    return {
        "model": "m",
        "max_output_tokens": 9,
        "input": [
            {"role": "user", "content": "hi"},
            {**call, "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "ok"},
        ],
        "tools": [{"type": "namespace", "name": group, "description": "", "tools": tools}],
    }


@pytest.mark.parametrize(
    "model", ["anthropic:claude-opus-4-8", "gemini:gemini-2.5-flash", "bedrock:nobody"]
)
def test_tools_of_a_group_are_said_on_their_own_in_history_too(model: str) -> None:
    result = il.convert(grouped(), "openai-responses", model.partition(":")[0], model=model)
    assert result.answer_adapter is not None
    assert result.answer_adapter.groups == {
        "agents__spawn": ("agents", "spawn"),
        "agents__tell": ("agents", "tell"),
    }
    assert result.answer_adapter.custom == {"agents__tell"}
    assert str(result.wire).count("'agents__spawn'") >= 2
    reported = [each for each in result.report.entries if each.path.startswith("$.tools")]
    assert ("approximated", "info", "$.tools[0]") in {
        (each.kind, each.severity, each.path) for each in reported
    }
    assert not [each for each in result.report.entries if each.severity == "error"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("group", ["agents", "a" * 130])
def test_a_call_of_such_a_tool_comes_back_inside_its_group(group: str, stream: bool) -> None:
    model = "anthropic:claude-opus-4-8"
    result = il.convert(grouped(group), "openai-responses", "anthropic", model=model)
    assert result.answer_adapter is not None
    names = [tool["name"] for tool in result.wire["tools"]]
    assert all(len(name) <= 128 for name in names)
    answer = whole({"type": "tool_use", "id": "t1", "name": names[0], "input": {"who": "x"}})
    back = result.answer_adapter
    read = il.dialect("anthropic").read_response(answer)
    response = streamed(answer, back) if stream else back.response(read)
    (item,) = il.dialect("openai-responses").write_response(response).wire["output"]
    assert (item["type"], item["name"], item["namespace"]) == ("function_call", "spawn", group)


def test_at_home_a_group_stays_one() -> None:
    result = il.convert(
        il.dumps(il.dialect("openai-responses").read_request(grouped())),
        "canonical",
        "openai-responses",
        model="openai:gpt-5.6",
    )
    assert result.wire["tools"] == grouped()["tools"]
    assert result.wire["input"][1]["namespace"] == "agents"
