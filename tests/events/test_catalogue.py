"""The list of types is closed, complete, and does not meet the names of the live stream."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import msgspec
import pytest

import interlingua as il
from interlingua.events import CATALOGUE, EventType, Sensitivity, catalogue
from interlingua.events.catalogue import ALIASES, DOMAINS, LIVE_PREFIXES, TYPES, problems_of
from interlingua.events.payloads import TraceSwept, TurnStarted

EVERY_TYPE = """
session.created session.resumed session.ended turn.started turn.completed turn.cancelled
llm.call_started llm.call_completed llm.call_failed
tool.called tool.completed tool.failed tool.input_invalid
tool.confirmation_requested tool.confirmation_resolved
route.decided route.overridden routing.policy_invalid routing.provider_unavailable
routing.provider_recovered routing.constraint_failure
pattern.recorded pattern.matched pattern.evicted pattern.override_dismissed
delegate.started delegate.completed delegate.failed feedback.explicit feedback.implicit
bus.subscriber_registered bus.subscriber_unregistered bus.gap_detected provider.degraded
gateway.key_issued gateway.key_revoked gateway.key_rotated gateway.auth_failed
gateway.quota_exceeded quota.alert trace.swept
"""

FIELDS = {
    "session.created": "workspace_path workspace_hash initial_active_model routing_policy_version",
    "session.ended": "disposition turn_count total_cost_usd duration_ms",
    "turn.started": "message_hash redacted_text estimated_input_tokens has_images"
    " has_tool_calls_in_history",
    "turn.completed": "stop_reason llm_call_count tool_call_count input_tokens output_tokens"
    " cost_usd wall_time_ms user_id team_id",
    "turn.cancelled": "reason llm_call_count tool_call_count",
    "llm.call_started": "model provider estimated_input_tokens request_id is_worker",
    "llm.call_completed": "model provider input_tokens output_tokens cached_input_tokens"
    " cache_creation_input_tokens cost_usd pricing_version latency_ms stop_reason"
    " produced_tool_calls produced_thinking_blocks gateway_key_id inbound_shape user_id team_id",
    "llm.call_failed": "error_class redacted_message retry_count latency_ms",
    "tool.called": "tool_use_id name input_hash input_size side_effects",
    "tool.completed": "success output_size latency_ms files_modified command",
    "tool.failed": "error_class",
    "tool.input_invalid": "tool_name validation_errors",
    "route.decided": "chosen_model winner_index elapsed_ms chain",
}


def fields_of(type: str) -> set[str]:
    return {field.name for field in msgspec.structs.fields(CATALOGUE[type].payload)}


def test_the_catalogue_has_these_types_and_no_others() -> None:
    assert sorted(CATALOGUE) == sorted(EVERY_TYPE.split())


@pytest.mark.parametrize("type", FIELDS)
def test_payloads_have_the_fields_that_readers_of_a_trace_rely_on(type: str) -> None:
    assert set(FIELDS[type].split()) <= fields_of(type)


def test_the_catalogue_breaks_none_of_its_own_rules() -> None:
    assert problems_of(TYPES) == []
    assert len({each.payload for each in TYPES}) == len(TYPES)
    assert set(ALIASES.values()) <= set(CATALOGUE)


@pytest.mark.parametrize("prefix", LIVE_PREFIXES)
def test_a_type_that_begins_like_the_live_stream_is_found(prefix: str) -> None:
    problems = problems_of([EventType(prefix + "x", TraceSwept, "")])
    assert any("live stream" in problem for problem in problems)


def test_a_type_outside_the_domains_or_twice_is_found() -> None:
    assert "none of the domains" in problems_of([EventType("weather.changed", TraceSwept, "")])[0]
    assert "none of the domains" in problems_of([EventType("turn.", TraceSwept, "")])[0]
    assert "twice" in problems_of([TYPES[0], TYPES[0]])[0]
    assert {each.name.split(".")[0] for each in TYPES} | {"skill", "memory", "eval"} == set(DOMAINS)


def test_a_new_type_is_private_until_somebody_decides_otherwise() -> None:
    assert EventType("turn.new", TraceSwept, "").floor is Sensitivity.PRIVATE


def test_no_payload_has_a_place_for_what_was_said() -> None:
    content = {"text", "content", "message", "input", "output", "arguments", "prompt", "email"}
    for name in CATALOGUE:
        assert not fields_of(name) & content, name


def test_types_with_paths_commands_or_redacted_text_are_private() -> None:
    for name, each in CATALOGUE.items():
        sensitive = {"workspace_path", "path", "command", "files_modified"}
        redacted = any(field.startswith("redacted_") for field in fields_of(name))
        if redacted or fields_of(name) & sensitive:
            assert each.floor is Sensitivity.PRIVATE, name


@pytest.mark.requirement("S002-28")
def test_dropped_blocks_full_queues_and_failing_handlers_have_no_type(
    caplog: pytest.LogCaptureFixture,
) -> None:
    words = ("drop", "overflow", "full", "handler", "lossy", "loss", "block")
    assert not [name for name in CATALOGUE if any(word in name for word in words)]
    caplog.set_level(logging.WARNING)
    request = {
        "model": "m",
        "max_tokens": 5,
        "messages": [
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "sig"},
                    {"type": "text", "text": "hello"},
                ],
            },
            {"role": "user", "content": "go on"},
        ],
    }
    il.convert(request, source="anthropic", target="openai-chat", kind="request")
    assert [record.levelno for record in caplog.records].count(logging.WARNING) == 1


@pytest.mark.requirement("S002-55")
def test_the_documents_spelling_of_invalid_tool_input_means_the_catalogues() -> None:
    assert ALIASES["tool_input_invalid"] in CATALOGUE


def test_a_message_text_never_reaches_the_start_of_a_turn() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"message_hash": "x", "text": "hello"}, TurnStarted)


def test_the_printed_page_is_what_the_catalogue_says() -> None:
    page = Path(__file__).parents[2] / "docs" / "events.md"
    text = page.read_text(encoding="utf-8")
    assert catalogue.table() in text, "make docs"


def test_the_program_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = Path(__file__).parents[2] / "docs" / "events.md"
    (code,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(code, "events.md", "exec"), {})
    assert capsys.readouterr().out == "session.resumed s1\n"
