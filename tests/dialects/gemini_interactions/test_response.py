"""Responses: how an interaction went, what it cost, what it cites, and what it failed of."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il
from interlingua.dialects.gemini_interactions import DIALECT
from tests.dialects.gemini_interactions.wires import (
    CALL,
    NAME,
    RESULT,
    SEARCH,
    USAGE,
    answer,
    output,
    read_answer,
    text,
    thought,
    user,
)


def test_an_answer_has_its_fields() -> None:
    response = read_answer(
        answer(
            thought(signature="c2ln"),
            output(text("Eight.")),
            usage=USAGE,
            created="2026-05-15T18:52:14Z",
            service_tier="standard",
        )
    )
    message, metadata = response.message, response.message.metadata
    assert message.content == (il.ThinkingBlock("", "c2ln"), il.TextBlock("Eight."))
    assert (metadata.response_id, metadata.response_model) == ("v1_a", "m")
    assert metadata.stop_reason is il.StopReason.END_TURN
    assert metadata.protocol == NAME
    usage = metadata.usage
    assert usage is not None
    assert (usage.input_tokens, usage.cached_input_tokens) == (10, 4)
    assert (usage.output_tokens, usage.reasoning_tokens) == (56, 22)


@pytest.mark.parametrize(
    "usage",
    [
        {},
        None,
        {"total_tokens": 3},
        {"total_tokens": 0},
        {"total_input_tokens": 3},
        {"total_output_tokens": 3, "total_tokens": 9},
        {"total_thought_tokens": 3},
        {"total_cached_tokens": 3},
        {"total_input_tokens": -1, "total_output_tokens": 1.0, "total_tokens": 0},
        {"total_input_tokens": 1, "total_cached_tokens": 5, "total_tokens": 1},
        {"total_input_tokens": [1], "total_cached_tokens": 7, "total_output_tokens": None},
        {**USAGE, "raw_prompt_token": 90, "grounding_tool_count": [{"count": 1}]},
    ],
    ids=str,
)
def test_odd_counts_go_home(usage: Any) -> None:
    read_answer(answer(output(text("a")), usage=usage))


def test_a_changed_count_is_in_the_sum_as_well() -> None:
    response = read_answer(answer(output(text("a")), usage=USAGE))
    usage = response.message.metadata.usage
    assert usage is not None
    metadata = response.message.metadata.replace(usage=usage.replace(output_tokens=57))
    changed = response.replace(message=response.message.replace(metadata=metadata))
    wire = DIALECT.write_response(changed).wire["usage"]
    assert (wire["total_output_tokens"], wire["total_tokens"]) == (35, 76)


@pytest.mark.parametrize(
    "wire",
    [
        {"status": "in_progress", "id": "v1_a", "agent": "deep-research"},
        {"status": "completed", "steps": None},
        answer(id="", model=None, object="interaction"),
        {"steps": [output(text("a"))]},
        answer(user(text("q")), output(text("a")), CALL, RESULT, *SEARCH),
        answer(output(text("a")), errors=[{"code": "x", "message": "a note"}]),
        answer(status="failed"),
    ],
    ids=str,
)
def test_odd_answers_go_home(wire: Any) -> None:
    read_answer(wire)


@pytest.mark.parametrize(
    ("wire", "kind"),
    [
        ({"error": {"code": "invalid_request", "message": "no"}}, "invalid_request"),
        ({"error": {"message": "slow", "code": "resource_exhausted"}}, "rate_limit"),
        (
            {"error": {"code": 403, "message": "no", "status": "PERMISSION_DENIED", "details": []}},
            "auth",
        ),
        ({"error": {"code": 503, "message": "busy"}}, "server_error"),
        (
            {
                "error": {
                    "code": "invalid_request",
                    "message": "it exceeds the maximum number of tokens",
                }
            },
            "context_overflow",
        ),
        ({"error": {"code": "odd_thing", "message": "x", "more": 1}, "beside": 2}, "other"),
        ({"error": "plain words"}, "other"),
        ({"error": {}}, "other"),
    ],
    ids=str,
)
def test_errors_go_home_and_have_a_kind(wire: Any, kind: str) -> None:
    response = read_answer(wire)
    assert response.error is not None
    assert response.error.kind == kind
    assert response.message.metadata.status is il.MessageStatus.ERROR


def test_an_interaction_that_failed_says_what_of() -> None:
    errors = [{"code": "internal", "message": "oops"}, {"code": "unknown", "message": "more"}]
    response = read_answer(answer(output(text("a")), status="failed", errors=errors))
    assert response.error is not None
    assert (response.error.kind, response.error.message) == ("server_error", "oops")
    assert response.message.text == "a"


@pytest.mark.parametrize(("word", "tier"), [("priority", "priority"), ("standard", "default")])
def test_the_tier_that_served_is_a_part_of_the_usage(word: str, tier: str) -> None:
    wire = {
        "id": "v1_1",
        "object": "interaction",
        "model": "gemini-3.5-flash",
        "status": "completed",
        "steps": [],
        "service_tier": word,
        "usage": {"total_input_tokens": 3, "total_output_tokens": 2, "total_tokens": 5},
    }
    response = il.dialect("gemini-interactions").read_response(wire)
    assert response.message.metadata.usage is not None
    assert response.message.metadata.usage.service_tier == tier
    assert il.dialect("gemini-interactions").write_response(response).wire == wire
    there = il.convert(wire, "gemini-interactions", "openai-responses", "response").wire
    assert there["service_tier"] == tier
    unknown = {**wire, "service_tier": "some new one"}
    read = il.dialect("gemini-interactions").read_response(unknown)
    assert il.dialect("gemini-interactions").write_response(read).wire == unknown
