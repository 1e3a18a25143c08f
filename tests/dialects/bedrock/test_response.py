"""Responses: the answer, how it ended, what it cost; and errors."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il
from interlingua.dialects.bedrock import DIALECT
from interlingua.dialects.bedrock.tables import ERRORS
from interlingua.errors import ReadError
from interlingua.model.blocks import TextBlock, ThinkingBlock, ToolUseBlock
from interlingua.model.exchange import ErrorKind, ProviderError
from interlingua.model.message import Message
from interlingua.model.metadata import MessageStatus, StopReason, Usage
from tests.dialects.bedrock.answers import made, written
from tests.dialects.bedrock.wires import CALL, answer, read_answer, text


def test_an_answer_is_a_message_with_metadata() -> None:
    response = read_answer(answer(text("Hello"), CALL, stopReason="tool_use"))
    message, metadata = response.message, response.message.metadata
    assert [type(block) for block in message.content] == [TextBlock, ToolUseBlock]
    assert (metadata.protocol, metadata.status) == ("bedrock", MessageStatus.COMPLETE)
    assert (metadata.stop_reason, metadata.raw_stop_reason) == (StopReason.TOOL_USE, "tool_use")
    assert metadata.usage == Usage(10, 3)


@pytest.mark.requirement("P36", "P37")
def test_fresh_input_is_apart_from_what_the_cache_gave_and_took() -> None:
    counts = {"inputTokens": 5, "outputTokens": 3, "totalTokens": 38}
    cached = {"cacheReadInputTokens": 10, "cacheWriteInputTokens": 20, "cacheDetails": []}
    usage = read_answer(answer(usage={**counts, **cached})).message.metadata.usage
    assert usage == Usage(5, 3, 10, 20)
    assert usage.total_tokens == 38
    wire, lost = written(made(usage=usage.replace(raw=None), stop_reason=StopReason.END_TURN))
    del cached["cacheDetails"]
    assert (wire["usage"], lost) == ({**counts, **cached}, [])


@pytest.mark.parametrize(
    "usage",
    [
        {"inputTokens": 5, "outputTokens": 3, "totalTokens": 9},
        {"inputTokens": 5, "outputTokens": None, "serverToolUsage": {}},
        {"inputTokens": 0, "outputTokens": 3, "totalTokens": 7, "cacheReadInputTokens": 4}
        | {"cacheReadInputTokenCount": 4, "cacheWriteInputTokenCount": 0},
        {"inputTokens": -5, "outputTokens": 3, "totalTokens": -2},
    ],
)
def test_odd_counts_go_home(usage: dict[str, Any]) -> None:
    read_answer(answer(usage=usage))


def test_counts_that_contradict_are_clamped_and_reported() -> None:
    usage = {"inputTokens": -5, "outputTokens": 3, "totalTokens": -2}
    metadata = read_answer(answer(usage=usage)).message.metadata
    assert metadata.usage == Usage(0, 3)
    assert [each.type for each in metadata.diagnostics] == ["usage_contradicts"]


def test_a_changed_count_changes_the_total_and_the_twin() -> None:
    usage = {"inputTokens": 5, "outputTokens": 3, "totalTokens": 12, "cacheReadInputTokens": 4}
    response = read_answer(answer(usage={**usage, "cacheReadInputTokenCount": 4}))
    metadata = response.message.metadata
    assert metadata.usage is not None
    more = metadata.replace(usage=metadata.usage.replace(cached_input_tokens=6))
    wire = DIALECT.write_response(response.replace(message=response.message.replace(metadata=more)))
    content = wire.wire["usage"]
    assert (content["cacheReadInputTokens"], content["cacheReadInputTokenCount"]) == (6, 6)
    assert content["totalTokens"] == 14


def test_what_the_wire_demands_is_filled_in() -> None:
    wire, lost = written(made(stop_reason=StopReason.END_TURN))
    assert wire["usage"] == {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}
    assert (wire["metrics"], lost) == ({"latencyMs": 0}, [])


@pytest.mark.parametrize(
    "more",
    [
        {"$metadata": {"attempts": 1}, "trace": {"guardrail": {}}, "serviceTier": {"type": "flex"}},
        {"additionalModelResponseFields": {"stop_sequence": None}},
        {"output": {}},
        {"output": {"message": None, "more": 1}},
        {"output": {"message": {"content": [], "id": "m"}}},
        {"stopReason": None, "usage": None, "metrics": None},
    ],
)
def test_whatever_the_body_says_besides_goes_home(more: dict[str, Any]) -> None:
    read_answer(answer(**more))
    read_answer({"output": answer()["output"], **more})


def test_an_answer_may_hold_what_a_request_may_not() -> None:
    wire, lost = written(
        made([ThinkingBlock("Hm."), TextBlock("")], stop_reason=StopReason.END_TURN)
    )
    parts = wire["output"]["message"]["content"]
    assert parts == [{"reasoningContent": {"reasoningText": {"text": "Hm."}}}, text("")]
    assert lost == []


def test_other_answers_are_reported() -> None:
    response = made(stop_reason=StopReason.END_TURN)
    more = response.replace(alternatives=(Message.assistant("Hi"),))
    assert written(more)[1] == [("dropped", "$.alternatives[0]")]


# -- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wire", "kind"),
    [
        ({"message": "The security token in the request is expired"}, ErrorKind.AUTH),
        ({"message": "Number of input tokens exceeds maximum"}, ErrorKind.CONTEXT_OVERFLOW),
        ({"Message": "Too many requests, please wait."}, ErrorKind.RATE_LIMIT),
        ({"message": "Something is wrong."}, ErrorKind.OTHER),
        ({"__type": "ThrottlingException", "message": "Wait."}, ErrorKind.RATE_LIMIT),
        ({"__type": "com.amazon.coral.validate#ValidationException"}, ErrorKind.INVALID_REQUEST),
        ({"code": "ModelErrorException", "message": "", "originalStatusCode": 500}, "server_error"),
    ],
)
def test_every_shape_of_an_error_goes_home(wire: dict[str, Any], kind: Any) -> None:
    response = read_answer(wire)
    assert response.error is not None
    assert response.error.kind == kind
    assert response.message.metadata.status is MessageStatus.ERROR
    assert response.message.metadata.stop_reason is StopReason.ERROR
    assert response.message.content == ()


@pytest.mark.parametrize("kind", list(ErrorKind))
def test_an_error_of_others_keeps_its_kind_or_reports_it(kind: ErrorKind) -> None:
    error = ProviderError(kind, "Something is wrong.")
    response = made((), stop_reason=StopReason.ERROR).replace(error=error)
    wire, lost = written(response)
    again = DIALECT.read_response(wire).error
    assert again is not None
    assert (again.kind is kind) is (lost == [])
    assert wire["__type"] in ERRORS.words


@pytest.mark.parametrize(
    ("kind", "status", "word"),
    [
        (ErrorKind.INVALID_REQUEST, 404, "ResourceNotFoundException"),
        (ErrorKind.INVALID_REQUEST, 501, "ValidationException"),
        (ErrorKind.SERVER_ERROR, 503, "ServiceUnavailableException"),
    ],
)
def test_an_error_from_elsewhere_gets_the_word_of_its_status(
    kind: ErrorKind, status: int, word: str
) -> None:
    error = ProviderError(kind, "No.", "own", status)
    wire, _ = written(made((), stop_reason=StopReason.ERROR).replace(error=error))
    assert wire == {"message": "No.", "__type": word}
    again = DIALECT.read_response(wire).error
    assert again is not None
    assert again.kind is kind


def test_the_code_and_status_of_others_are_reported() -> None:
    error = ProviderError(ErrorKind.RATE_LIMIT, "Wait.", "rate_limit_error", 429)
    wire, lost = written(made((), stop_reason=StopReason.ERROR).replace(error=error))
    assert wire == {"message": "Wait.", "__type": "ThrottlingException"}
    assert sorted(lost) == [("approximated", "$.error.code"), ("dropped", "$.error.status")]


@pytest.mark.parametrize(
    ("wire", "path"),
    [
        ([], "$"),
        ({}, "$"),
        (answer(output=5), "$.output"),
        (answer(5), "$.output.message.content[0]"),
        (answer(usage={"inputTokens": "many"}), "$.usage.inputTokens"),
        (answer(stopReason=[]), "$.stopReason"),
    ],
)
def test_a_wrong_shape_is_an_error_that_names_the_place(wire: Any, path: str) -> None:
    with pytest.raises(ReadError) as caught:
        DIALECT.read_response(wire)
    assert caught.value.path == path


def test_the_model_that_a_prompt_router_chose_is_the_one_that_answered() -> None:
    arn = "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-sonnet-4-5-v1:0"
    wire = answer(text("Hello"), trace={"promptRouter": {"invokedModelId": arn}})
    response = read_answer(wire)
    assert response.message.metadata.response_model == "anthropic.claude-sonnet-4-5-v1:0"
    assert DIALECT.write_response(response).wire == wire
    assert read_answer(answer(text("Hello"))).message.metadata.response_model is None
    assert not any("trace" in str(entry) for entry in il.convert(wire, to="anthropic").report)
    metadata = response.message.metadata.replace(response_model="anthropic.claude-opus-5")
    edited = response.replace(message=response.message.replace(metadata=metadata))
    chosen = {"promptRouter": {"invokedModelId": "anthropic.claude-opus-5"}}
    assert DIALECT.write_response(edited).wire == {**wire, "trace": chosen}


def test_the_rest_of_a_trace_stays_raw() -> None:
    found = {"guardrail": {"modelOutput": ["x"]}}
    router = {"invokedModelId": "arn:aws:bedrock:us-east-1::foundation-model/m", "more": 1}
    wire = answer(text("Hello"), trace={**found, "promptRouter": router})
    response = read_answer(wire)
    assert response.raw is not None
    assert response.raw["bedrock"]["trace"] == {**found, "promptRouter": {"more": 1}}
    assert DIALECT.write_response(response).wire == wire
    for odd in (None, [], {"promptRouter": 3}, {"promptRouter": {"invokedModelId": "a/"}}):
        wire = answer(text("Hello"), trace=odd)
        assert DIALECT.write_response(read_answer(wire)).wire == wire


def test_writes_to_the_cache_by_lifetime_and_the_tier() -> None:
    counts = {"inputTokens": 5, "outputTokens": 3, "totalTokens": 28, "cacheWriteInputTokens": 20}
    details = [{"ttl": "5m", "inputTokens": 12}, {"ttl": "1h", "inputTokens": 8}]
    wire = answer(
        text("Hi"), usage={**counts, "cacheDetails": details}, serviceTier={"type": "flex"}
    )
    usage = read_answer(wire).message.metadata.usage
    assert usage == Usage(5, 3, None, 20, service_tier="flex", cache_writes={"5m": 12, "1h": 8})
    sent, lost = written(made(usage=usage, stop_reason=StopReason.END_TURN))
    assert (sent["usage"], sent["serviceTier"]) == (wire["usage"], {"type": "flex"})
    assert lost == []
