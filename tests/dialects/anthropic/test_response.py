"""Responses: how they ended, what they used, and errors."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.dialects.anthropic import DIALECT, response
from interlingua.errors import ReadError
from interlingua.model.blocks import AudioBlock, Source, TextBlock, ThinkingBlock
from interlingua.model.exchange import ErrorKind
from interlingua.model.message import Message
from interlingua.model.metadata import MessageMetadata, MessageStatus, StopReason, Usage
from tests.dialects.anthropic.answers import said, write
from tests.dialects.anthropic.wires import answer, read_answer, text


def test_an_answer_is_a_message_and_how_it_came_about() -> None:
    metadata = read_answer(answer()).message.metadata
    assert metadata == MessageMetadata(
        protocol="anthropic",
        response_model="claude-sonnet-5",
        response_id="msg_1",
        usage=Usage(10, 3),
        stop_reason=StopReason.END_TURN,
        raw_stop_reason="end_turn",
    )


@pytest.mark.parametrize(
    "more",
    [
        {"stop_details": None},
        {"container": {"id": "container_1"}, "context_management": {"applied_edits": []}},
        {"stop_reason": "stop_sequence", "stop_sequence": "END"},
        {"stop_reason": "refusal", "stop_details": {"type": "refusal", "category": "bio"}},
        {"stop_reason": None, "usage": None},
        {"type": "completion", "role": "model"},
        {"content": []},
    ],
)
def test_all_that_a_body_says_goes_home(more: dict[str, Any]) -> None:
    read_answer(answer(**more))


@pytest.mark.parametrize("key", ["id", "type", "role", "model", "stop_reason", "stop_sequence"])
def test_a_key_that_is_missing_stays_missing(key: str) -> None:
    wire = answer()
    del wire[key]
    read_answer(wire)


# Usage

COUNTS = {
    "input_tokens": 5,
    "output_tokens": 9,
    "cache_read_input_tokens": 100,
    "cache_creation_input_tokens": 30,
}
MORE: dict[str, Any] = {
    "cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20},
    "output_tokens_details": {"thinking_tokens": 4},
    "server_tool_use": {"web_search_requests": 1, "web_fetch_requests": 0},
    "service_tier": "standard",
    "inference_geo": None,
}


def usage_of(counts: Any) -> Usage:
    usage = read_answer(answer(usage=counts)).message.metadata.usage
    assert usage is not None
    return usage


@pytest.mark.requirement("P36", "P37")
def test_input_counts_are_disjoint_and_add_up_to_the_prompt() -> None:
    usage = usage_of(COUNTS)
    assert (usage.input_tokens, usage.cached_input_tokens) == (5, 100)
    assert (usage.cache_creation_input_tokens, usage.prompt_tokens) == (30, 135)


def test_thinking_is_a_part_of_output() -> None:
    usage = usage_of({**COUNTS, **MORE})
    assert (usage.output_tokens, usage.reasoning_tokens) == (9, 4)


def test_writes_to_the_cache_by_lifetime_tools_and_the_tier_are_fields() -> None:
    tools = {"web_search_requests": 2, "web_fetch_requests": 0}
    split = {"ephemeral_5m_input_tokens": 20, "ephemeral_1h_input_tokens": 10}
    wire = {**COUNTS, "cache_creation": split, "server_tool_use": tools, "service_tier": "batch"}
    usage = usage_of(wire)
    assert usage.cache_writes == {"5m": 20, "1h": 10}
    assert usage.tool_uses == {"web_search": 2, "web_fetch": 0}
    assert (usage.service_tier, usage.raw) == ("batch", None)
    changed = usage.replace(cache_writes={"30m": 3, "5m": 4}, tool_uses=None)
    written, report = write(said(usage=changed))
    assert written["usage"]["cache_creation"] == {
        "ephemeral_5m_input_tokens": 4,
        "ephemeral_1h_input_tokens": 0,
    }
    assert "server_tool_use" not in written["usage"]
    (loss,) = report.entries
    assert (loss.code, loss.path) == ("kinds_uncounted", "$.message.metadata.usage.cache_writes")
    assert loss.reason.endswith("does not count 30m")


@pytest.mark.parametrize(
    "counts",
    [
        {"input_tokens": -1, "output_tokens": 3},
        {**COUNTS, "output_tokens_details": {"thinking_tokens": 10}},
    ],
)
def test_counts_that_contradict_each_other_are_clamped(counts: dict[str, Any]) -> None:
    metadata = read_answer(answer(usage=counts)).message.metadata
    assert [diagnostic.type for diagnostic in metadata.diagnostics] == ["usage_contradicts"]
    assert metadata.usage is not None
    assert (metadata.usage.reasoning_tokens or 0) <= (metadata.usage.output_tokens or 0)


@pytest.mark.parametrize("counts", [{}, {"input_tokens": None}, {"input_tokens": "5"}])
def test_unknown_counts_are_unknown(counts: dict[str, Any]) -> None:
    assert usage_of(counts).input_tokens is None


ALL = {**COUNTS, **MORE, "iterations": [], "speed": "standard", "fallback_credit": None}


@pytest.mark.parametrize(
    ("usual", "changes"),
    [
        (True, {}),
        (True, {"inference_geo": "us", "fallback_credit": {"left": 1}}),
        (True, {"iterations": None, "output_tokens": 2**70}),
        (True, {"server_tool_use": dict(reversed(MORE["server_tool_use"].items()))}),
        (False, {"service_tier": "batch"}),
        (False, {"input_tokens": True}),
        (False, {"input_tokens": -1}),
        (False, {"cache_creation": {"ephemeral_5m_input_tokens": 10}}),
        (False, {"cache_creation": None}),
        (False, {"server_tool_use": {"web_search_requests": 1, "other_requests": 0}}),
        (False, {"server_tool_use": None}),
        (False, {"output_tokens_details": {"thinking_tokens": 10}}),
        (False, {"output_tokens_details": {"other_tokens": 1}}),
        (False, {"output_tokens_details": None}),
    ],
)
def test_all_members_at_once_are_read_as_each_by_itself(
    usual: bool, changes: dict[str, Any]
) -> None:
    wire = {**ALL, **changes}
    for spelled in (wire, dict(reversed(wire.items()))):
        quickly, slowly = response._read_all(spelled), response._read_usage(spelled)
        assert repr((quickly, ())) == repr(slowly) if usual else quickly is None
        assert repr(response.read_usage(spelled)) == repr(slowly)


# Answers of others


def test_what_the_wire_demands_is_filled_in() -> None:
    wire, report = write(said(stop_reason=StopReason.END_TURN))
    assert wire["usage"] == {"input_tokens": 0, "output_tokens": 0}
    assert not report.entries


def test_a_client_sees_unsigned_thinking() -> None:
    metadata = MessageMetadata(stop_reason=StopReason.END_TURN)
    wire, report = write(Message.assistant((ThinkingBlock("Hm."), TextBlock("Hi")), metadata))
    assert wire["content"][0] == {"type": "thinking", "thinking": "Hm.", "signature": ""}
    assert not report.entries
    assert DIALECT.read_response(wire).message.content[0] == ThinkingBlock("Hm.")


def test_what_an_answer_cannot_hold_is_in_the_report() -> None:
    sound = AudioBlock(Source("base64", "UklGRg=="), "audio/wav")
    message = Message.assistant(sound, MessageMetadata(status=MessageStatus.PARTIAL))
    wire, report = write(message, alternatives=(said(),))
    assert wire["content"] == []
    paths = ["$.alternatives[0]", "$.message.content[0]", "$.message.metadata.status"]
    assert [loss.path for loss in report.entries] == paths


# Errors


def failed(kind: str, message: str = "No.") -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


@pytest.mark.parametrize(
    ("wire", "kind"),
    [
        (failed("rate_limit_error"), ErrorKind.RATE_LIMIT),
        (failed("overloaded_error"), ErrorKind.RATE_LIMIT),
        (failed("authentication_error"), ErrorKind.AUTH),
        (failed("permission_error"), ErrorKind.AUTH),
        (failed("api_error"), ErrorKind.SERVER_ERROR),
        (failed("invalid_request_error"), ErrorKind.INVALID_REQUEST),
        (failed("invalid_request_error", "max_tokens: too large"), ErrorKind.INVALID_REQUEST),
        (failed("invalid_request_error", "9 tokens > 8 maximum"), ErrorKind.CONTEXT_OVERFLOW),
        (failed("request_too_large"), ErrorKind.CONTEXT_OVERFLOW),
        (failed("not_found_error"), ErrorKind.INVALID_REQUEST),
        (failed("later_error"), ErrorKind.OTHER),
        ({"message": "No."}, ErrorKind.OTHER),
        ({"error": {"message": "No."}}, ErrorKind.OTHER),
        ({"error": "No."}, ErrorKind.OTHER),
        ({"type": "error", "error": {"type": "api_error", "details": {"a": 1}}}, None),
    ],
)
def test_errors_of_every_shape_are_read_and_go_home(
    wire: dict[str, Any], kind: ErrorKind | None
) -> None:
    response = read_answer(wire)
    assert response.error is not None
    assert kind in (None, response.error.kind)
    metadata = response.message.metadata
    assert (metadata.status, metadata.stop_reason) == (MessageStatus.ERROR, StopReason.ERROR)
    assert metadata.error_message == response.error.message


@pytest.mark.parametrize(
    ("wire", "path"),
    [
        ([], "$"),
        ({}, "$.content"),
        (answer(5), "$.content[0]"),
        (answer(text("a"), {"type": "tool_use", "id": 7}), "$.content[1].id"),
        (answer(usage=[]), "$.usage"),
        (answer(stop_reason={}), "$.stop_reason"),
        ({"type": "error", "error": 7}, "$.error"),
    ],
)
def test_a_wrong_shape_is_an_error_that_names_the_place(wire: Any, path: str) -> None:
    with pytest.raises(ReadError) as caught:
        DIALECT.read_response(wire)
    assert caught.value.path == path
