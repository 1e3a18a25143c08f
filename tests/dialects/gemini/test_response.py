"""Responses: candidates, how they ended, tokens, errors."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.dialects.gemini import DIALECT
from interlingua.errors import ReadError
from interlingua.model.blocks import ImageBlock, RefusalBlock, Source, TextBlock, ToolUseBlock
from interlingua.model.exchange import ErrorKind, ProviderError
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, MessageStatus, StopReason, Usage
from tests.dialects.gemini.answers import ended, written
from tests.dialects.gemini.wires import PNG, Wire, answer, call, model, read_answer, text

COUNTS = {"promptTokenCount": 10, "candidatesTokenCount": 4, "totalTokenCount": 14}


def usage_of(**counts: Any) -> Usage:
    usage = read_answer({**answer(text("Hi")), "usageMetadata": counts}).message.metadata.usage
    assert usage is not None
    return usage


def test_an_answer_is_a_message_and_what_is_known_about_it() -> None:
    wire = {**answer(text("Hi"), avgLogprobs=-0.5, safetyRatings=[]), "createTime": "now"}
    response = read_answer(wire)
    metadata = response.message.metadata
    assert response.message.text == "Hi"
    assert (metadata.protocol, metadata.response_model) == ("gemini", "gemini-2.5-pro")
    assert (metadata.response_id, metadata.status) == ("r1", MessageStatus.COMPLETE)
    assert (metadata.stop_reason, metadata.raw_stop_reason) == (StopReason.END_TURN, "STOP")
    assert response.raw == {"gemini": {"createTime": "now"}}


def test_more_candidates_are_alternatives() -> None:
    wire = answer(text("a"))
    second = {"content": model(text("b")), "finishReason": "MAX_TOKENS", "index": 1}
    wire["candidates"].append(second)
    response = read_answer(wire)
    assert [m.text for m in response.alternatives] == ["b"]
    assert response.alternatives[0].metadata.stop_reason is StopReason.MAX_TOKENS
    read_answer({"candidates": [{"content": model(text("a")), "index": 3}, second]})


def test_a_generated_image_is_a_block() -> None:
    response = read_answer(answer({"inlineData": {"mimeType": "image/png", "data": PNG}}))
    assert response.message.content == (ImageBlock(Source("base64", PNG), "image/png"),)


@pytest.mark.parametrize(
    "candidate",
    [
        {},
        {"content": {}},
        {"content": None, "finishReason": None},
        {"content": {"role": "model"}, "finishReason": "MAX_TOKENS", "index": 0},
        {"content": {"parts": [{"text": "a"}], "extra": 1}, "finish_reason": "STOP"},
        {"content": {"parts": {"text": "a"}, "role": "assistant"}, "index": None},
    ],
)
def test_odd_candidates_go_home(candidate: Wire) -> None:
    assert read_answer({"candidates": [candidate]}).message.role is Role.ASSISTANT


# -- how it ended ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("STOP", StopReason.TOOL_USE),
        ("MAX_TOKENS", StopReason.MAX_TOKENS),
        ("SAFETY", StopReason.CONTENT_FILTER),
    ],
)
@pytest.mark.requirement("P32")
def test_calls_decide_the_ending_but_limits_and_filters_win(word: str, reason: StopReason) -> None:
    metadata = read_answer(answer(call(), text("Hi"), finishReason=word)).message.metadata
    assert metadata.stop_reason is reason


def test_code_that_google_ran_is_no_call_to_answer() -> None:
    wire = answer({"executableCode": {"language": "PYTHON", "code": "1"}}, text("One."))
    assert read_answer(wire).message.metadata.stop_reason is StopReason.END_TURN


@pytest.mark.parametrize(
    "wire",
    [
        {"promptFeedback": {"blockReason": "SAFETY", "safetyRatings": []}},
        {"promptFeedback": {"blockReason": "OTHER"}, "candidates": []},
        {"candidates": None, "promptFeedback": {}},
        {"usageMetadata": {"promptTokenCount": 6}},
        {},
    ],
)
def test_a_blocked_prompt_is_an_empty_message(wire: Wire) -> None:
    message = read_answer(wire).message
    assert message.content == ()
    assert message.metadata.stop_reason is StopReason.CONTENT_FILTER


def test_a_refusal_is_written_as_text() -> None:
    wire, lost = written(ended(StopReason.REFUSAL, RefusalBlock("No.")))
    assert wire["candidates"][0]["content"] == model(text("No."))
    assert wire["candidates"][0]["finishReason"] == "SAFETY"
    assert [kind for kind, _ in lost] == ["downgraded", "approximated"]


@pytest.mark.requirement("P19")
def test_calls_of_an_answer_get_ids_of_the_response() -> None:
    one, two = read_answer(answer(call(), call())).message.content
    other = read_answer({**answer(call()), "responseId": "r2"}).message.content[0]
    assert isinstance(one, ToolUseBlock)
    assert isinstance(two, ToolUseBlock)
    assert isinstance(other, ToolUseBlock)
    assert len({one.id, two.id, other.id}) == 3


# -- tokens ---------------------------------------------------------------------------------------


@pytest.mark.requirement("P37")
def test_thoughts_are_output_and_cached_tokens_are_no_fresh_input() -> None:
    usage = usage_of(
        promptTokenCount=100,
        cachedContentTokenCount=60,
        candidatesTokenCount=5,
        thoughtsTokenCount=20,
        toolUsePromptTokenCount=7,
        totalTokenCount=132,
        promptTokensDetails=[{"modality": "TEXT", "tokenCount": 100}],
    )
    assert (usage.input_tokens, usage.cached_input_tokens) == (40, 60)
    assert (usage.output_tokens, usage.reasoning_tokens) == (25, 20)
    assert usage.raw is not None
    assert usage.raw["gemini"]["toolUsePromptTokenCount"] == 7


@pytest.mark.parametrize(
    "counts",
    [
        {},
        {"promptTokenCount": 6},
        {"promptTokenCount": 263, "candidatesTokenCount": 35, "totalTokenCount": 35},
        {"promptTokenCount": 5, "thoughtsTokenCount": 3, "totalTokenCount": 8},
        {"cachedContentTokenCount": 5},
        {"totalTokenCount": 0, "trafficType": 1},
        {"prompt_token_count": 5.0, "candidatesTokenCount": None, "total_token_count": 5},
        {"promptTokenCount": "5", "totalTokenCount": [], "candidatesTokenCount": True},
    ],
)
def test_odd_counts_go_home(counts: Any) -> None:
    assert usage_of(**counts).estimated is False


def test_counts_that_contradict_each_other_are_clamped_and_reported() -> None:
    wire = {**answer(text("Hi")), "usageMetadata": {**COUNTS, "cachedContentTokenCount": 12}}
    metadata = read_answer(wire).message.metadata
    assert metadata.usage is not None
    assert (metadata.usage.input_tokens, metadata.usage.cached_input_tokens) == (0, 12)
    assert [each.type for each in metadata.diagnostics] == ["usage_contradicts"]
    usage_of(promptTokenCount=-1, candidatesTokenCount=2, totalTokenCount=1)


def test_an_edited_count_is_in_the_sum_again() -> None:
    response = read_answer({**answer(text("Hi")), "usageMetadata": COUNTS})
    usage = response.message.metadata.usage
    assert usage is not None
    metadata = response.message.metadata.replace(usage=usage.replace(input_tokens=20))
    wire, _ = written(response.message.replace(metadata=metadata))
    assert wire["usageMetadata"] == {**COUNTS, "promptTokenCount": 20, "totalTokenCount": 24}


def test_tokens_written_to_a_cache_are_counted_and_reported() -> None:
    usage = Usage(1, 2, cached_input_tokens=3, cache_creation_input_tokens=4)
    wire, lost = written(Message.assistant("Hi", MessageMetadata(usage=usage)))
    assert wire["usageMetadata"]["promptTokenCount"] == 8
    places = [path.rpartition(".")[2] for _, path in lost]
    assert places == ["cache_creation_input_tokens", "input_tokens"]


# -- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "status", "message", "kind"),
    [
        (400, "INVALID_ARGUMENT", "No.", ErrorKind.INVALID_REQUEST),
        (400, "INVALID_ARGUMENT", "API key not valid. Pass another.", ErrorKind.AUTH),
        (400, "INVALID_ARGUMENT", "It exceeds the maximum number of tokens", "context_overflow"),
        (403, "PERMISSION_DENIED", "No.", ErrorKind.AUTH),
        (429, "RESOURCE_EXHAUSTED", "Later.", ErrorKind.RATE_LIMIT),
        (503, "UNAVAILABLE", "Later.", ErrorKind.SERVER_ERROR),
        (500, "SOMETHING", "Odd.", ErrorKind.SERVER_ERROR),
    ],
)
def test_an_error_body_is_an_empty_message_with_an_error(
    code: int, status: str, message: str, kind: ErrorKind
) -> None:
    error = {"code": code, "message": message, "status": status, "details": [{"@type": "x"}]}
    for wire in ({"error": error}, [{"error": error}]):
        response = read_answer(wire)
        assert response.error == ProviderError(ErrorKind(kind), message, status, code)
        assert response.message.content == ()
        assert response.message.metadata.status is MessageStatus.ERROR
        assert response.message.metadata.error_message == message


@pytest.mark.parametrize("error", ["No.", {}, {"code": "x", "message": None}, {"status": 5}])
def test_odd_errors_go_home(error: Any) -> None:
    assert read_answer({"error": error, "extra": 1}).error is not None


@pytest.mark.parametrize(
    ("kind", "status", "word"),
    [
        (ErrorKind.AUTH, 403, "PERMISSION_DENIED"),
        (ErrorKind.INVALID_REQUEST, 404, "NOT_FOUND"),
        (ErrorKind.INVALID_REQUEST, 422, "INVALID_ARGUMENT"),
        (ErrorKind.INVALID_REQUEST, 501, "UNIMPLEMENTED"),
        (ErrorKind.SERVER_ERROR, 503, "UNAVAILABLE"),
        (ErrorKind.SERVER_ERROR, 529, "INTERNAL"),
    ],
)
def test_an_error_from_elsewhere_gets_the_word_of_its_status(
    kind: ErrorKind, status: int, word: str
) -> None:
    wire, _ = written(Message.assistant([]), error=ProviderError(kind, "No.", "own", status))
    assert wire == {"error": {"code": status, "message": "No.", "status": word}}
    assert read_answer(wire).error == ProviderError(kind, "No.", word, status)


def test_an_error_from_elsewhere_gets_googles_words() -> None:
    error = ProviderError(ErrorKind.RATE_LIMIT, "Later.", "rate_limit_error")
    wire, lost = written(Message.assistant([TextBlock("x")]), error=error)
    assert wire == {"error": {"code": 429, "message": "Later.", "status": "RESOURCE_EXHAUSTED"}}
    assert lost == [("dropped", "$.message.content[0]"), ("approximated", "$.error.code")]


@pytest.mark.parametrize(
    ("wire", "path"),
    [
        (5, "$"),
        ({"candidates": {}}, "$.candidates"),
        ({"candidates": [5]}, "$.candidates[0]"),
        (answer({"inlineData": []}), "$.candidates[0].content.parts[0].inlineData"),
        ({"candidates": [], "modelVersion": 5}, "$.modelVersion"),
    ],
)
def test_a_wrong_shape_is_an_error_with_its_place(wire: Any, path: str) -> None:
    with pytest.raises(ReadError) as caught:
        DIALECT.read_response(wire)
    assert caught.value.path == path
