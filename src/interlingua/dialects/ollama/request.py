"""Chat requests: a flat list of messages, and the body around them."""

from __future__ import annotations

from interlingua.dialects.kernel.errors import each, read_whole
from interlingua.dialects.kernel.kept import Kept, did_without, mine_of, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.ollama.messages import read_messages, write_messages
from interlingua.dialects.ollama.options import OPTIONS
from interlingua.dialects.ollama.tables import NAME
from interlingua.dialects.ollama.tools import read_tool, write_tool
from interlingua.model.exchange import Options, Request


def read_request(wire: Wire, model: str | None = None, stream: bool | None = None) -> Request:
    """The body says model and stream itself; `model` is for one that does not."""
    return read_whole(f"{NAME} request", _read, wire, model)


def _read(wire: Wire, model: str | None) -> Request:
    kept = Kept()
    named = kept.take(wire, "model", str)
    messages = read_messages(kept.take(wire, "messages", list) or [])
    listed = kept.take(wire, "tools", list) if "tools" in wire else None
    tools = tuple(each(listed, ".tools", read_tool)) if listed else ()
    options = Options(**OPTIONS.read(wire, kept))
    return Request(messages, named or model, tools, options, raw=kept.raw(NAME))


def write_request(request: Request, recorder: LossRecorder) -> Wire:
    mine = mine_of(NAME, request.raw)
    out: Wire = {}
    if request.model is not None and not did_without(mine, "model"):
        out["model"] = request.model
    messages = write_messages(request.messages, recorder)
    if messages or not did_without(mine, "messages"):
        out["messages"] = messages
    written = [write_tool(tool, recorder) for tool in request.tools]
    if tools := [tool for tool in written if tool is not None]:
        out["tools"] = tools
    OPTIONS.write(request.options, out, mine, recorder)
    if request.options.raw is not None:
        put_back(out, request.options, request.options.raw, recorder)
    if request.continues is not None:
        recorder.lost(request, "continues", severity="error")
    return out if request.raw is None else put_back(out, request, request.raw, recorder)
