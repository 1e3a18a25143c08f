"""Tool calls, whose arguments are text, and their results, which are messages of their own."""

from __future__ import annotations

from typing import Any

from interlingua import arguments
from interlingua.dialects.cohere.tables import NAME
from interlingua.dialects.kernel.calls import read_arguments, recovery, write_arguments
from interlingua.dialects.kernel.errors import want
from interlingua.dialects.kernel.fields import Field, Reading, Table, constant, inside, lost, plain
from interlingua.dialects.kernel.kept import Kept, form_in, mine_of, put_back
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
        Field(
            "arguments",
            ("input", "raw_arguments"),
            _read_arguments,
            lambda call, _: write_arguments(call),
            missing={"input": {}},
        ),
    ),
    lost("signature", "signs no call here"),
    lost("call_type", "an object with the text", kind="downgraded"),
    silent=("executor",),
)


def read_call(
    wire: Any, place: Any, ordinal: int, found: list[Diagnostic]
) -> ToolUseBlock | UnknownBlock:
    """One of `tool_calls`; `place` makes the id of a call that has none."""
    function = want(wire, dict).get("function")
    if type(function) is not dict or type(function.get("name")) is not str:
        return UnknownBlock({NAME: {UNREAD: wire}})
    kept = Kept()
    attrs = CALL.read(wire, kept)
    if "id" not in attrs:
        # Reading again cannot tell that the wire had none.
        kept.form["made"] = attrs["id"] = synthetic_tool_id(place, ordinal, attrs["name"])
    text = attrs.get("raw_arguments")
    if text is not None and (mode := arguments.recover(text).mode) != "strict":
        found.append(recovery(mode, attrs["id"]))
    return ToolUseBlock(**attrs, raw=kept.raw(NAME))


def write_call(call: ToolUseBlock, recorder: LossRecorder) -> Wire | None:
    if call.executor != "client":
        recorder.dropped(call, "the service runs no tools")
        return None
    out: Wire = {}
    mine = mine_of(NAME, call.raw)
    CALL.write(call, out, mine, recorder)
    if form_in(mine).get("made") == call.id:
        del out["id"]
    return out if call.raw is None else put_back(out, call, call.raw, recorder)


def write_unknown(block: UnknownBlock, recorder: LossRecorder) -> Any:
    """What stood among the parts or the calls, and was none that we know."""
    part = block.raw.get(NAME)
    if type(part) is not dict:
        recorder.dropped(block, "another dialect's")
        return None
    recorder.unwritten(block, frozenset())
    return part[UNREAD] if is_unread_call(block) else part


def is_unread_call(block: UnknownBlock) -> bool:
    """Whether it stood among the calls."""
    part = block.raw.get(NAME)
    return type(part) is dict and part.keys() == {UNREAD}
