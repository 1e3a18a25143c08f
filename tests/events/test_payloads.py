"""What each type of event says."""

from __future__ import annotations

import msgspec
import pytest

from interlingua.events import CATALOGUE
from interlingua.events.payloads import TurnStarted
from tests.events.kinds import fields_of

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


@pytest.mark.parametrize("type", FIELDS)
def test_payloads_have_the_fields_that_readers_of_a_trace_rely_on(type: str) -> None:
    assert set(FIELDS[type].split()) <= fields_of(type)


def test_no_payload_has_a_place_for_what_was_said() -> None:
    content = {"text", "content", "message", "input", "output", "arguments", "prompt", "email"}
    for name in CATALOGUE:
        assert not fields_of(name) & content, name


def test_a_message_text_never_reaches_the_start_of_a_turn() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"message_hash": "x", "text": "hello"}, TurnStarted)
