"""Tool calls. An id may be missing, and arguments are an object; some proxies make them a text."""

from __future__ import annotations

from typing import Any

from interlingua import arguments
from interlingua.dialects.kernel.calls import recovery, tell_recovered
from interlingua.dialects.kernel.errors import want
from interlingua.dialects.kernel.fields import Field, Reading, Table, inside, lost, plain, spelling
from interlingua.dialects.kernel.kept import Kept, mine_of, put_back
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


def _write_arguments(call: Any, recorder: LossRecorder) -> Wire:
    if call.raw_arguments is not None:
        tell_recovered(call, recorder)
    input: Wire = call.input
    return input


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
        Field(
            "arguments",
            ("input", "raw_arguments"),
            _read_arguments,
            _write_arguments,
            missing={"input": {}},
        ),
        spelling("index"),
    ),
    lost("signature", "signs no call here"),
    lost("call_type", "an object with the text", kind="downgraded"),
    silent=("executor",),
)


def read_call(wire: Any, place: Any, ordinal: int, found: list[Diagnostic]) -> Any:
    """One of `tool_calls`; `place` makes the id of a call that has none."""
    function = want(wire, dict).get("function")
    if type(function) is not dict or type(function.get("name")) is not str:
        return UnknownBlock({NAME: wire})
    if len(wire) == 2 and len(function) == 2:  # the usual call
        id, given = wire.get("id"), function.get("arguments")
        if type(id) is str and id and type(given) is dict and not id.startswith("il_"):
            return ToolUseBlock(id, function["name"], given)
    return _read_call(wire, place, ordinal, found)


def _read_call(wire: Wire, place: Any, ordinal: int, found: list[Diagnostic]) -> ToolUseBlock:
    kept = Kept()
    attrs = CALL.read(wire, kept)
    if "id" not in attrs:
        attrs["id"] = synthetic_tool_id(place, ordinal, attrs["name"])
    text = attrs.get("raw_arguments")
    if text is not None and (mode := arguments.recover(text).mode) != "strict":
        found.append(recovery(mode, attrs["id"]))
    return ToolUseBlock(**attrs, raw=kept.raw(NAME))


def write_call(call: ToolUseBlock, recorder: LossRecorder) -> Wire | None:
    if call.executor != "client":
        recorder.dropped(call, "the server runs no tools")
        return None
    if call.raw is None and _is_usual(call):
        return {"id": call.id, "function": {"name": call.name, "arguments": call.input}}
    return _write_call(call, recorder)


def _is_usual(call: ToolUseBlock) -> bool:
    beside = call.raw_arguments or call.signature or call.call_type or call.cache
    return not beside and not call.id.startswith("il_")


def _write_call(call: ToolUseBlock, recorder: LossRecorder) -> Wire:
    out: Wire = {}
    CALL.write(call, out, mine_of(NAME, call.raw), recorder)
    return out if call.raw is None else put_back(out, call, call.raw, recorder)


def write_unknown(block: UnknownBlock, recorder: LossRecorder) -> Wire | None:
    """What stood among the calls, and was none that we know."""
    part = block.raw.get(NAME)
    if type(part) is not dict:
        recorder.dropped(block, "another dialect's")
        return None
    recorder.unwritten(block, frozenset())
    return part
