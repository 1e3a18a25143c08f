"""Tool calls. An id may be missing, and arguments are an object; some proxies make them a text."""

from __future__ import annotations

from typing import Any

from interlingua import arguments
from interlingua.dialects.kernel.calls import UNSIGNED, arguments_field, is_named, read_named
from interlingua.dialects.kernel.errors import want
from interlingua.dialects.kernel.fields import Field, Reading, Table, inside, plain, spelling
from interlingua.dialects.kernel.kept import Kept
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.ollama.tables import NAME
from interlingua.ids import is_synthetic_tool_id, synthetic_tool_id
from interlingua.model.blocks import ToolUseBlock, UnknownBlock
from interlingua.model.metadata import Diagnostic


def written_id(id: str) -> str | None:
    """An id that was made for a call without one is not written."""
    return None if is_synthetic_tool_id(id) else id


def _read_arguments(given: Any) -> Reading:
    if type(given) is str:
        return {"input": arguments.recover(given).input, "raw_arguments": given}
    return {"input": want(given, dict)}


CALL = Table(
    ToolUseBlock,
    Field(
        "id",
        ("id",),
        lambda given: {"id": want(given, str)} if given else {},
        lambda call, _: written_id(call.id),
    ),
    spelling("type"),
    inside(
        "function",
        plain("name", "name", str),
        arguments_field("arguments", _read_arguments),
        spelling("index"),
    ),
    *UNSIGNED,
    silent=("executor",),
)


def read_call(wire: Any, place: Any, ordinal: int, found: list[Diagnostic]) -> Any:
    """One of `tool_calls`; `place` makes the id of a call that has none."""
    if not is_named(want(wire, dict)):
        return UnknownBlock({NAME: wire})
    function = wire["function"]
    if len(wire) == 2 and len(function) == 2:  # the usual call
        id, given = wire.get("id"), function.get("arguments")
        if type(id) is str and id and type(given) is dict and not id.startswith("il_"):
            return ToolUseBlock(id, function["name"], given)
    return _read_call(wire, place, ordinal, found)


def _read_call(wire: Wire, place: Any, ordinal: int, found: list[Diagnostic]) -> ToolUseBlock:
    kept = Kept()
    made = synthetic_tool_id(place, ordinal, wire["function"]["name"])
    return ToolUseBlock(**read_named(wire, CALL, kept, made, found), raw=kept.raw(NAME))


def write_call(call: ToolUseBlock, recorder: LossRecorder) -> Wire | None:
    if call.executor != "client":
        recorder.dropped(call, "the server runs no tools")
        return None
    if call.raw is None and _is_usual(call):
        return {"id": call.id, "function": {"name": call.name, "arguments": call.input}}
    return CALL.write_value(call, recorder)


def _is_usual(call: ToolUseBlock) -> bool:
    beside = call.raw_arguments or call.signature or call.call_type or call.cache
    return not beside and not call.id.startswith("il_")
