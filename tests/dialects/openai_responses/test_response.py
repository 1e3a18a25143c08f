"""Responses: what came back, how it ended, what it cost, and errors."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il
from interlingua.dialects.openai_responses import DIALECT
from interlingua.errors import ReadError
from interlingua.model.blocks import RefusalBlock, TextBlock, ToolUseBlock
from interlingua.model.exchange import ErrorKind, ProviderError
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, MessageStatus, StopReason, Usage
from tests.dialects.openai_responses.wires import (
    CALL,
    SECRET,
    USAGE,
    Wire,
    answer,
    read_whole,
    said,
    user,
    whole,
    write_whole,
)

NO = {"type": "refusal", "refusal": "No"}


def test_the_output_is_one_message() -> None:
    response = read_whole(whole(SECRET, answer(said("Hi")), usage=USAGE))
    metadata = response.message.metadata
    assert response.message.text == "Hi"
    assert (metadata.protocol, metadata.response_model) == ("openai-responses", "gpt-5")
    assert (metadata.response_id, metadata.raw_stop_reason) == ("resp_1", "completed")


@pytest.mark.requirement("P32")
@pytest.mark.parametrize(
    ("wire", "stop_reason", "status"),
    [
        (whole(answer(said("Hi"))), StopReason.END_TURN, MessageStatus.COMPLETE),
        (whole(CALL), StopReason.TOOL_USE, MessageStatus.COMPLETE),
        (whole(answer(NO)), StopReason.REFUSAL, MessageStatus.COMPLETE),
        (
            whole(CALL, status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
            StopReason.MAX_TOKENS,
            MessageStatus.COMPLETE,
        ),
        (
            whole(status="incomplete", incomplete_details={"reason": "content_filter"}),
            StopReason.CONTENT_FILTER,
            MessageStatus.COMPLETE,
        ),
        (
            whole(status="incomplete", incomplete_details={"reason": "new", "x": 1}),
            StopReason.OTHER,
            MessageStatus.COMPLETE,
        ),
        (whole(status="incomplete"), StopReason.OTHER, MessageStatus.COMPLETE),
        (whole(status="cancelled"), StopReason.CANCELLED, MessageStatus.CANCELLED),
        (whole(status="queued"), StopReason.PAUSE, MessageStatus.PARTIAL),
        (whole(status="in_progress"), StopReason.PAUSE, MessageStatus.PARTIAL),
        (whole(status="of the future"), StopReason.OTHER, MessageStatus.COMPLETE),
        (whole(status=None), None, MessageStatus.COMPLETE),
    ],
)
def test_how_it_ended(wire: Wire, stop_reason: Any, status: MessageStatus) -> None:
    metadata = read_whole(wire).message.metadata
    assert (metadata.stop_reason, metadata.status) == (stop_reason, status)


def test_a_call_for_the_client_decides_the_ending() -> None:
    metadata = MessageMetadata(stop_reason=StopReason.END_TURN, response_id="r")
    call = ToolUseBlock("call_1", "add", {})
    _, losses = write_whole(Message.assistant([call], metadata))
    assert losses == [("approximated", "$.message.metadata.stop_reason")]


@pytest.mark.requirement("P36", "P37")
def test_counts_are_disjoint() -> None:
    usage = read_whole(whole(usage=USAGE)).message.metadata.usage
    assert usage == Usage(6, 12, 20, 4, 5)
    assert usage is not None
    assert (usage.prompt_tokens, usage.total_tokens) == (30, 42)


@pytest.mark.parametrize(
    "usage",
    [
        {"input_tokens": 3, "output_tokens": 4},
        {**USAGE, "total_tokens": 50},
        {**USAGE, "total_tokens": None, "input_tokens": None},
        {**USAGE, "input_tokens_details": {"cached_tokens": 1, "more": 2}, "cost": 0.5},
        {**USAGE, "input_tokens_details": None, "output_tokens_details": "none"},
        {**USAGE, "output_tokens": "12"},
        {**USAGE, "input_tokens": 30.0},
        {},
    ],
)
def test_counts_go_home_in_their_own_spelling(usage: Any) -> None:
    read_whole(whole(usage=usage))


@pytest.mark.requirement("P36", "P37")
def test_edited_counts_are_summed_again() -> None:
    response = read_whole(whole(usage=USAGE))
    metadata = response.message.metadata
    assert metadata.usage is not None
    edited = metadata.replace(usage=metadata.usage.replace(cached_input_tokens=21))
    message = response.message.replace(metadata=edited)
    usage = DIALECT.write_response(response.replace(message=message)).wire["usage"]
    assert usage["input_tokens_details"]["cached_tokens"] == 21
    assert (usage["input_tokens"], usage["total_tokens"]) == (31, 43)


@pytest.mark.parametrize(
    "usage",
    [
        {**USAGE, "input_tokens": 10},
        {**USAGE, "output_tokens": 1},
        {**USAGE, "input_tokens": -1},
    ],
)
def test_counts_that_contradict_are_clamped_and_noted(usage: Wire) -> None:
    metadata = read_whole(whole(usage=usage)).message.metadata
    assert [each.type for each in metadata.diagnostics] == ["usage_contradicts"]
    assert metadata.usage is not None
    assert (metadata.usage.input_tokens or 0) >= 0


def test_counts_that_are_not_known_are_written_as_none() -> None:
    metadata = MessageMetadata(stop_reason=StopReason.END_TURN, usage=Usage(3, 4))
    wire, losses = write_whole(Message.assistant("Hi", metadata))
    assert wire["usage"] == {
        "input_tokens": 3,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 4,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 7,
    }
    assert losses == []


def test_echoes_of_the_request_go_home() -> None:
    echoes = {
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "user": None,
        "metadata": {},
    }
    read_whole(whole(answer(said("Hi")), **echoes))
    read_whole({"id": "resp_1", "status": "in_progress"})
    read_whole({"output": [], "object": "response"})


def test_repeated_text_is_written_again() -> None:
    response = read_whole(whole(answer(said("Hi")), output_text="Hi"))
    block: Any = response.message.content[0]
    message = response.message.replace(content=(block.replace(text="Ho"),))
    assert DIALECT.write_response(response.replace(message=message)).wire["output_text"] == "Ho"
    read_whole(whole(answer(said("Hi")), output_text="Something else"))


def test_a_message_from_elsewhere_has_all_that_the_wire_demands() -> None:
    from openai.types.responses import Response

    metadata = MessageMetadata(stop_reason=StopReason.TOOL_USE, usage=Usage(1, 1))
    blocks = [TextBlock("Hi"), TextBlock("there"), ToolUseBlock("call_1", "add", {})]
    wire, losses = write_whole(Message.assistant(blocks, metadata))
    Response.model_validate(wire)
    assert [item["type"] for item in wire["output"]] == ["message", "function_call"]
    assert len({item["id"] for item in wire["output"]}) == 2
    assert losses == []


def test_one_answer_only() -> None:
    _, losses = write_whole(Message.assistant("a"), alternatives=(Message.assistant("b"),))
    assert losses == [("dropped", "$.alternatives[0]")]


@pytest.mark.parametrize(
    ("wire", "kind", "code"),
    [
        (
            {
                "error": {
                    "message": "m",
                    "type": "invalid_request_error",
                    "param": None,
                    "code": None,
                }
            },
            ErrorKind.INVALID_REQUEST,
            None,
        ),
        (
            {"error": {"message": "m", "type": "invalid_request_error", "code": "invalid_api_key"}},
            ErrorKind.AUTH,
            "invalid_api_key",
        ),
        (
            {
                "error": {
                    "message": "m",
                    "type": "invalid_request_error",
                    "param": "input",
                    "code": "context_length_exceeded",
                }
            },
            ErrorKind.CONTEXT_OVERFLOW,
            "context_length_exceeded",
        ),
        (
            {
                "error": {"message": "m", "type": "tokens", "code": "rate_limit_exceeded"},
                "status": 429,
            },
            ErrorKind.RATE_LIMIT,
            "rate_limit_exceeded",
        ),
        ({"error": {"message": "m", "code": 503}}, ErrorKind.SERVER_ERROR, None),
        ({"error": {"message": "m", "type": "brand_new"}}, ErrorKind.OTHER, None),
        ({"error": {"code": "x"}}, ErrorKind.OTHER, "x"),
        ({"error": {"message": "m", "code": 0}}, ErrorKind.OTHER, None),
        ({"error": {"message": "m"}, "status": 0}, ErrorKind.OTHER, None),
        ({"code": "invalid-argument", "error": "m"}, ErrorKind.INVALID_REQUEST, "invalid-argument"),
        ({"detail": "m"}, ErrorKind.OTHER, None),
        ({"statusCode": 401, "message": "m"}, ErrorKind.AUTH, None),
        ({"error": {"message": None, "type": None}, "request_id": "r"}, ErrorKind.OTHER, None),
    ],
)
def test_an_error_body_of_any_shape(wire: Wire, kind: ErrorKind, code: str | None) -> None:
    response = read_whole(wire)
    assert response.error is not None
    assert (response.error.kind, response.error.code) == (kind, code)
    assert response.message.role is Role.ASSISTANT
    assert response.message.content == ()
    metadata = response.message.metadata
    assert (metadata.status, metadata.stop_reason) == (MessageStatus.ERROR, StopReason.ERROR)
    assert metadata.error_message == response.error.message


def test_a_failed_response_is_an_error_with_what_was_said() -> None:
    error = {"code": "server_error", "message": "m"}
    response = read_whole(whole(answer(said("Hi")), status="failed", error=error))
    assert response.error is not None
    assert (response.error.kind, response.error.message) == (ErrorKind.SERVER_ERROR, "m")
    assert response.message.text == "Hi"
    assert response.message.metadata.status is MessageStatus.ERROR
    assert read_whole(whole(status="failed", error=error)).error is not None


def test_an_error_with_content_is_a_failed_response() -> None:
    from openai.types.responses import Response

    metadata = MessageMetadata(
        status=MessageStatus.ERROR, stop_reason=StopReason.ERROR, response_id="r"
    )
    error = ProviderError(ErrorKind.RATE_LIMIT, "m", "overloaded")
    wire, losses = write_whole(Message.assistant("Hi", metadata), error=error)
    Response.model_validate(wire)
    assert wire["status"] == "failed"
    assert losses == [("dropped", "$.error.code")]
    assert DIALECT.read_response(wire).error == error.replace(code="server_error") or losses


def test_edits_of_an_error_win() -> None:
    response = read_whole({"error": {"message": "m", "type": "tokens", "code": None}})
    assert response.error is not None
    edited = response.error.replace(kind=ErrorKind.AUTH, message="n")
    metadata = response.message.metadata.replace(error_message="n")
    message = response.message.replace(metadata=metadata)
    wire = DIALECT.write_response(response.replace(error=edited, message=message)).wire
    assert wire == {"error": {"message": "n", "type": "authentication_error", "code": None}}


@pytest.mark.parametrize(
    ("wire", "path"),
    [
        ("x", "$"),
        ({}, "$.output"),
        (whole(**{"output": 1}), "$.output"),
        (whole(1), "$.output[0]"),  # type: ignore[arg-type]  # the point of it
        (whole(answer(said(1))), "$.output[0].content[0].text"),  # type: ignore[arg-type]
        (whole(id=1), "$.id"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_place(wire: Any, path: str) -> None:
    import json

    with pytest.raises(ReadError) as caught:
        DIALECT.read_response(json.dumps(wire) if wire == "x" else wire)
    assert caught.value.path == path


def test_a_message_of_another_role_in_the_output_is_unknown() -> None:
    assert read_whole(whole(user())).message.metadata.stop_reason is StopReason.END_TURN


def test_a_refusal_from_elsewhere_ends_the_turn() -> None:
    metadata = MessageMetadata(stop_reason=StopReason.REFUSAL)
    wire, losses = write_whole(Message.assistant([RefusalBlock("No")], metadata))
    assert wire["output"][0]["content"] == [NO]
    assert losses == []


def test_counts_that_contradict_go_home_with_the_tier_beside_them() -> None:
    details = {"input_tokens_details": {"cached_tokens": 9}, "output_tokens_details": {}}
    usage = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3, **details}
    wire: dict[str, Any] = {"id": "r", "object": "response", "created_at": 1}
    wire |= {"status": "completed", "model": "m", "output": [], "usage": usage}
    wire |= {"service_tier": "flex", "tools": [], "tool_choice": "auto"}
    read = il.dialect("openai-responses").read_response(wire)
    counted = read.message.metadata.usage
    assert counted is not None
    assert counted.service_tier == "flex"
    assert il.dialect("openai-responses").write_response(read).wire == wire


def test_what_agents_of_an_answer_did_are_calls_of_the_provider() -> None:
    beside = {"action": "spawn_agent", "agent": {"agent_name": "root"}}
    call = {"type": "multi_agent_call", "id": "mac_1", "call_id": "c1", "arguments": "{}"}
    said = {"type": "output_text", "text": "done", "annotations": [], "logprobs": []}
    result = {"type": "multi_agent_call_output", "id": "mao_1", "call_id": "c1", "output": [said]}
    wire: dict[str, Any] = {"id": "r", "object": "response", "created_at": 1, "model": "m"}
    wire |= {"status": "completed", "output": [{**call, **beside}, {**result, **beside}]}
    read = il.dialect("openai-responses").read_response(wire)
    asked, answered = read.message.content
    assert isinstance(asked, il.ToolUseBlock)
    assert isinstance(answered, il.ToolResultBlock)
    assert (asked.name, asked.executor, asked.input["action"]) == (
        *("multi_agent", "provider"),
        "spawn_agent",
    )
    assert (answered.tool_use_id, answered.text) == (asked.id, "done")
    assert il.dialect("openai-responses").write_response(read).wire == wire


@pytest.mark.parametrize("target", ["anthropic", "openai-chat", "gemini"])
def test_the_agent_that_wrote_a_message_is_in_the_report(target: str) -> None:
    said = {"type": "output_text", "text": "Hi", "annotations": []}
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
    wire = whole({**item, "content": [said], "agent": {"agent_name": "/root"}})
    lines = str(il.convert(wire, to=target).report).splitlines()
    (line,) = [each for each in lines if "agent" in each]
    assert line.endswith("agent dropped: only OpenAI Responses has it")


def test_a_message_of_one_agent_to_another_is_a_call() -> None:
    said = [{"type": "input_text", "text": "Go on."}]
    item = {"type": "agent_message", "id": "am_1", "author": "a", "recipient": "b"}
    response = read_whole(whole({**item, "content": said, "agent": {"agent_name": "a"}}))
    (block,) = response.message.content
    assert isinstance(block, ToolUseBlock)
    assert (block.name, block.executor) == ("agent_message", "provider")
    assert block.input == {"author": "a", "recipient": "b", "content": said}
