"""Requests: wire to canonical and back, and the betas that a body needs."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.anthropic.messages import read_messages, write_messages
from interlingua.dialects.anthropic.options import finish_options, read_options, write_options
from interlingua.dialects.anthropic.tables import BETAS, CHANGES, NAME
from interlingua.dialects.anthropic.tools import Writing, read_tools, write_tools
from interlingua.dialects.kernel.errors import below, read_whole, take, want
from interlingua.dialects.kernel.kept import NOTHING, Kept, form_in, mine_of, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.exchange import Continues, Options, Request

_NO_OPTIONS = Options()


def read_request(wire: Any, model: str | None = None, stream: bool | None = None) -> Request:
    return read_whole(f"{NAME} request", _read, wire, model, stream)


def _read(wire: Wire, model: str | None, stream: bool | None) -> Request:
    kept = Kept()
    listed = wire.get("tools")
    tools = list(read_tools(want(listed, list, ".tools"))) if listed is not None else []
    if not tools and "tools" in wire:
        kept.spell("tools", listed)
    messages = read_messages(wire, tools, kept)
    continues = _read_thread(wire, kept)
    attrs = read_options(wire, kept)
    name = _read_model(wire, model, stream, attrs, kept)
    options = Options(**attrs) if attrs else _NO_OPTIONS
    return Request(tuple(messages), name, tuple(tools), options, continues, kept.raw(NAME))


def _read_model(
    wire: Wire, model: str | None, stream: bool | None, attrs: Wire, kept: Kept
) -> str | None:
    """Hosts other than Anthropic say model and streaming in the URL, the version in the body. Where
    a body has them not, nothing tells that they are not to be written (`$form.url`)."""
    name, in_url = kept.may_take(wire, "model", str), []
    if "model" not in wire and (model is not None or "anthropic_version" in wire):
        in_url.append("model")
    if stream is not None and "stream" not in wire:
        in_url.append("stream")
        attrs["stream"] = stream
    if in_url:
        kept.form["url"] = in_url
    return model if name is None else name


def _read_thread(wire: Wire, kept: Kept) -> Continues | None:
    """A conversation that the service keeps, and the message to go on from. That it is this
    service's message only the wire tells (`$form.thread`)."""
    thread = kept.may_take(wire, "thread", dict)
    if thread is None:
        return None
    kind, before = below(".thread", take, thread, "type", str), thread.get("previous_message_id")
    if kind != "continue" or type(before) is not str:
        kept.hold("thread", thread)
        return None
    kept.form["thread"] = True
    extra = {key: thread[key] for key in thread.keys() - {"type", "previous_message_id"}}
    kept.complete("thread", extra, {})
    return Continues(response_id=before)


def write_request(request: Request, recorder: LossRecorder) -> Wire:
    raw, options = request.raw, request.options
    mine = NOTHING if raw is None else mine_of(NAME, raw)
    form = form_in(mine)
    out: Wire = {}
    if request.model is not None and "model" not in form.get("url", ()):
        out["model"] = request.model
    changes = Writing(request.tools, recorder)
    write_messages(request.messages, out, changes)
    if request.tools and (tools := write_tools(changes.others(), recorder)):
        out["tools"] = tools
    write_options(options, out, mine, recorder)
    if request.continues is not None:
        _put_thread(request.continues, request, out, form, recorder)
    put_back(out, options, options.raw, recorder)
    put_back(out, request, raw, recorder)
    finish_options(options, out, form, recorder)
    return out


def _put_thread(
    continues: Continues, request: Request, out: Wire, form: Wire, recorder: LossRecorder
) -> None:
    before = continues.response_id
    if not form.get("thread") or before is None:
        recorder.lost(request, "continues", severity="error")
        return
    out["thread"] = {"type": "continue", "previous_message_id": before}
    recorder.unwritten(continues, frozenset({"response_id"}))


# -- what the service takes only from those who ask for it in a header ----------------------------


def betas_of(wire: Wire) -> list[str]:
    """The names of the betas that a request needs, each once."""
    found: dict[str, None] = {}
    thinking = wire.get("thinking")
    if type(thinking) is dict and "block_binding" in thinking:
        found[BETAS["binding"]] = None
    for tool in wire.get("tools") or ():
        kind = tool.get("type") if type(tool) is dict else None
        if type(kind) is str and kind in BETAS:
            found[BETAS[kind]] = None
    for turn in wire.get("messages") or ():
        if type(turn) is dict and turn.get("role") != "user":
            found.update(dict.fromkeys(_betas(turn)))
    return list(found)


def _betas(turn: Wire) -> list[str]:
    found = [BETAS[key] for key in ("output_config", "clear_at") if key in turn]
    content: Any = turn.get("content")
    for part in content if type(content) is list else ():
        match part:
            case {"type": "compaction"}:
                found.append(BETAS["signed" if "signature" in part else "compaction"])
            case {"type": str(kind)} if kind in CHANGES:
                found.append(BETAS["changes"])
                match part:
                    case {"tool": {"type": "tool_definition"}}:
                        found.append(BETAS["inline"])
    return found
