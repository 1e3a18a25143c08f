"""Tool calls, whose arguments are text, and their results, which are messages of their own."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.cohere.tables import NAME
from interlingua.dialects.kernel import words
from interlingua.dialects.kernel.calls import (
    UNSIGNED,
    arguments_field,
    is_named,
    read_arguments,
    read_named,
    write_arguments,
)
from interlingua.dialects.kernel.errors import want
from interlingua.dialects.kernel.fields import Reading, Table, constant, inside, plain
from interlingua.dialects.kernel.kept import Kept, form_of
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.ids import synthetic_tool_id
from interlingua.model.blocks import ToolUseBlock, UnknownBlock
from interlingua.model.metadata import Diagnostic

UNREAD = "tool_call"
"""Under this key an unknown block has a call that we do not know: it goes home among the calls."""


def _read_arguments(given: Any) -> Reading:
    input, raw, _ = read_arguments(want(given, str))
    return {"input": input} | ({} if raw is None else {"raw_arguments": raw})


CALL = Table(
    ToolUseBlock,
    plain("id", "id", str, blank=True),
    constant("type", "function"),
    inside(
        "function",
        plain("name", "name", str),
        arguments_field("arguments", _read_arguments, lambda call, _: write_arguments(call)),
    ),
    *UNSIGNED,
    silent=("executor",),
)


def read_call(
    wire: Any, place: Any, ordinal: int, found: list[Diagnostic]
) -> ToolUseBlock | UnknownBlock:
    """One of `tool_calls`; `place` makes the id of a call that has none."""
    if not is_named(want(wire, dict)):
        return UnknownBlock({NAME: {UNREAD: wire}})
    kept = Kept()
    made = synthetic_tool_id(place, ordinal, wire["function"]["name"])
    attrs = read_named(wire, CALL, kept, made, found)
    if not wire.get("id"):
        kept.form["made"] = made  # reading again cannot tell that the wire had none
    return ToolUseBlock(**attrs, raw=kept.raw(NAME))


def write_call(call: ToolUseBlock, recorder: LossRecorder) -> Wire | None:
    if call.executor != "client":
        recorder.dropped(call, "the service runs no tools")
        return None
    out = CALL.write_value(call, recorder)
    if form_of(NAME, call.raw).get("made") == call.id:
        del out["id"]
    return out


def write_unknown(block: UnknownBlock, recorder: LossRecorder) -> Any:
    """What stood among the parts or the calls, and was none that we know."""
    part = words.write_unknown(block, recorder)
    return part[UNREAD] if part is not None and is_unread_call(block) else part


def is_unread_call(block: UnknownBlock) -> bool:
    """Whether it stood among the calls."""
    part = block.raw.get(NAME)
    return type(part) is dict and part.keys() == {UNREAD}
