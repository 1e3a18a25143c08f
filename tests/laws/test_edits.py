"""L2 over every field of every canonical type: an edit is on the wire or in the report, in every
dialect, and no field is left out of the test."""

from __future__ import annotations

import pytest

import interlingua as il
from interlingua.model import blocks, exchange, message, metadata, tools
from interlingua.model.base import Value
from interlingua.model.events import Event
from tests.laws import filled, laws

VALUES = [*filled.requests(), *filled.responses()]

NOT_ON_A_WIRE = {
    "Message": {"id", "session_id", "created_at", "schema_version", "role", "metadata", "content"},
    "MessageMetadata": {
        *("model", "provider", "protocol", "routing", "status", "parent_tool_use_id", "user_id"),
        *("team_id", "critical", "diagnostics", "usage", "error_message", "raw_stop_reason"),
        *("response_id", "response_model", "logprobs"),
    },
    "RoutingRecord": set(metadata.RoutingRecord.__struct_fields__),
    "CostBreakdown": set(metadata.CostBreakdown.__struct_fields__),
    "CacheDiagnosis": {"since"},
    "Diagnostic": set(metadata.Diagnostic.__struct_fields__),
    "UnknownBlock": set(blocks.UnknownBlock.__struct_fields__),
    "Response": {"message", "alternatives", "error"},
    "Request": {"messages", "tools", "options", "continues"},
}
"""What a session fills in, what only holds others, and what another field decides."""
FIXED = laws._FIXED | {"raw", "provider_raw", "extra", "raw_arguments", "call_type"}


def all_fields() -> set[str]:
    found = set()
    for module in (blocks, exchange, message, metadata, tools):
        for cls in vars(module).values():
            if isinstance(cls, type) and issubclass(cls, Value) and cls is not Value:
                apart = NOT_ON_A_WIRE.get(cls.__name__, set()) | FIXED
                found |= {f"{cls.__name__}.{n}" for n in cls.__struct_fields__ if n not in apart}
    return found


def leaves(name: str) -> bool:
    """Fields that hold values of ours are touched through those."""
    cls, field = name.split(".")
    kind = next(
        getattr(m, cls) for m in (blocks, exchange, message, metadata, tools) if hasattr(m, cls)
    )
    return not any(
        isinstance(part, type) and issubclass(part, Value) for part in laws.parts_of(kind, field)
    )


@pytest.mark.parametrize("name", il.dialects())
@pytest.mark.parametrize("number", range(len(VALUES)))
def test_an_edit_of_any_field_is_on_the_wire_or_in_the_report(name: str, number: int) -> None:
    value = VALUES[number]
    problems = []
    for _, path, changed in laws.edits(value):
        problems += laws.edited(il.dialect(name), value, path, changed)
    assert problems == []


def test_no_field_is_left_out() -> None:
    touched = {field for value in VALUES for field, _, _ in laws.edits(value)}
    assert {name for name in all_fields() if leaves(name)} - touched == set()


def test_the_kinds_of_events_are_not_forgotten() -> None:
    assert len(Event.__args__) == 14  # streams have laws of their own
