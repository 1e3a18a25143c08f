"""Converse requests: instructions, turns, and the body around them."""

from __future__ import annotations

from interlingua.dialects.bedrock.messages import read_system, read_turns, write_messages
from interlingua.dialects.bedrock.options import read_options, write_options
from interlingua.dialects.bedrock.tables import NAME
from interlingua.dialects.bedrock.tools import CONFIG, read_tools, stand_ins, write_tools
from interlingua.dialects.kernel.errors import read_whole, take
from interlingua.dialects.kernel.kept import Kept, did_without, form_in, kept, mine_of, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.exchange import Options, Request

_NO_OPTIONS = Options()
_ONLY = {"messages"}


def read_request(wire: Wire, model: str | None = None, stream: bool | None = None) -> Request:
    """`model` and `stream` are what the URL says; a `modelId` in the body comes first."""
    return read_whole(f"{NAME} request", _read, wire, model, stream)


def _read(wire: Wire, model: str | None, stream: bool | None) -> Request:
    kept = Kept()
    messages = read_system(wire, kept) if "system" in wire else []
    tools, choice = read_tools(wire, kept) if CONFIG in wire else ((), None)
    messages += read_turns(wire, kept, frozenset([tool.name for tool in tools]))
    attrs = read_options(wire, kept) if wire.keys() != _ONLY else {}
    if choice is not None:
        attrs["tool_choice"] = choice
    if stream is not None:
        attrs["stream"] = stream
    if wire.get("modelId") is not None:
        model = take(wire, "modelId", str)
        kept.form["model"] = "body"
    elif "modelId" in wire:
        kept.spell("modelId", None)
    if CONFIG not in wire and stand_ins(messages):
        kept.miss(CONFIG)
    options = Options(**attrs) if attrs else _NO_OPTIONS
    return Request(tuple(messages), model, tools, options, raw=kept.raw(NAME))


def write_request(request: Request, recorder: LossRecorder) -> Wire:
    mine, options = mine_of(NAME, request.raw), request.options
    out: Wire = {}
    tools = frozenset([tool.name for tool in request.tools])
    system, turns = write_messages(request.messages, tools, recorder)
    if system:
        out["system"] = system
    if turns or not did_without(mine, "messages"):
        out["messages"] = turns
    write_tools(out, request, mine, recorder)
    if options is not _NO_OPTIONS:
        write_options(out, options, mine, recorder)
        for key, item in kept(NAME, options.raw).items():
            out.setdefault(key, item)
    if request.continues is not None:
        recorder.lost(request, "continues", severity="error")
    if form_in(mine).get("model") == "body" and request.model is not None:
        out["modelId"] = request.model
    return put_back(out, request, request.raw, recorder)
