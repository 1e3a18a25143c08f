"""Requests: what is said, and the body around it."""

from __future__ import annotations

from interlingua.dialects.gemini_interactions.messages import read_input, write_messages
from interlingua.dialects.gemini_interactions.options import OPTIONS, read_labels
from interlingua.dialects.gemini_interactions.tables import NAME
from interlingua.dialects.gemini_interactions.tools import read_tool, write_tool
from interlingua.dialects.google import write_labels
from interlingua.dialects.kernel.errors import each, read_whole
from interlingua.dialects.kernel.kept import Kept, form_in, mine_of, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.blocks import TextBlock
from interlingua.model.exchange import Continues, Options, Request
from interlingua.model.message import Message, Role

_CONTINUES = {"previous_interaction_id": "response_id", "continuation_token": "token"}


def read_request(wire: Wire, model: str | None = None, stream: bool | None = None) -> Request:
    """The body says model and stream itself; `model` is for one that does not."""
    return read_whole(f"{NAME} request", _read, wire, model)


def _read(wire: Wire, model: str | None) -> Request:
    kept = Kept()
    named = kept.take(wire, "model", str) if "model" in wire else None
    messages = _read_messages(wire, kept)
    listed = kept.take(wire, "tools", list) if "tools" in wire else None
    tools = tuple(each(listed, ".tools", read_tool)) if listed else ()
    continues = _read_continues(wire, kept)
    options = Options(**OPTIONS.read(wire, kept), **read_labels(wire, kept))
    if named is None and "model" not in wire and model is None:
        kept.miss("model")
    return Request(messages, named or model, tools, options, continues, kept.raw(NAME))


def _read_messages(wire: Wire, kept: Kept) -> tuple[Message, ...]:
    leading: list[Message] = []
    if "system_instruction" in wire:
        text = kept.take(wire, "system_instruction", str)
        leading = [Message(Role.SYSTEM, (TextBlock(text),))] if text else []
    if wire.get("input") is None:
        kept.take(wire, "input", list)
        return tuple(leading)
    return (*leading, *read_input(wire["input"], kept))


def _read_continues(wire: Wire, kept: Kept) -> Continues | None:
    said: Wire = {}
    for key, attr in _CONTINUES.items():
        if key in wire and (item := kept.take(wire, key, str)) is not None:
            said[attr] = item
    return Continues(**said) if said else None


def write_request(request: Request, recorder: LossRecorder) -> Wire:
    mine = mine_of(NAME, request.raw)
    out: Wire = {}
    if request.model is not None:
        out["model"] = request.model
    write_messages(request.messages, out, form_in(mine).get("input"), mine, recorder)
    written = [write_tool(tool, recorder) for tool in request.tools]
    if tools := [tool for tool in written if tool is not None]:
        out["tools"] = tools
    OPTIONS.write(request.options, out, mine, recorder)
    if request.options.metadata is not None:
        write_labels(request.options, request.raw, out, recorder)
    if request.options.raw is not None:
        put_back(out, request.options, request.options.raw, recorder)
    if request.continues is not None:
        _write_continues(request.continues, out, recorder)
    return out if request.raw is None else put_back(out, request, request.raw, recorder)


def _write_continues(continues: Continues, out: Wire, recorder: LossRecorder) -> None:
    for key, attr in _CONTINUES.items():
        item = getattr(continues, attr)
        if item is not None:
            out[key] = item
    for name in ("conversation_id", "prompt", "items"):
        if getattr(continues, name):
            recorder.lost(continues, name, severity="error")
