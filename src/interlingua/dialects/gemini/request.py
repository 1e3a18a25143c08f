"""The body of a request. Model and stream are in the URL; a body that names the model all the same
has `model` in its spelling."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.gemini.messages import read_contents, read_system, write_messages
from interlingua.dialects.gemini.options import OPTIONS, read_options, write_options
from interlingua.dialects.gemini.tables import NAME
from interlingua.dialects.gemini.tools import read_tools, write_tools
from interlingua.dialects.kernel.errors import below, read_whole
from interlingua.dialects.kernel.kept import Kept, did_without, form_in, mine_of, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.exchange import Continues, Options, Request
from interlingua.model.message import Message
from interlingua.model.tools import ToolDefinition

_NO_OPTIONS = Request().options
_TOKEN = frozenset({"token"})

# -- reading --------------------------------------------------------------------------------------


def read_request(wire: Any, model: str | None = None, stream: bool | None = None) -> Request:
    return read_whole(f"{NAME} request", _read, wire, model, stream)


def _read(wire: Wire, model: str | None, stream: bool | None) -> Request:
    kept = Kept()
    body = OPTIONS.usual(wire, kept)
    messages = _read_messages(body, kept)
    tools = _read_tools(body, kept) if "tools" in body else ()
    attrs = read_options(body, kept)
    if stream is not None:
        attrs["stream"] = stream
    options = Options(**attrs) if attrs else _NO_OPTIONS
    token = kept.may_take(body, "continuationToken", str)
    continues = None if token is None else Continues(token=token)
    name = _read_model(body, model, kept)
    return Request(tuple(messages), name, tools, options, continues, kept.raw(NAME))


def _read_messages(body: Wire, kept: Kept) -> list[Message]:
    messages: list[Message] = []
    system = body.get("systemInstruction")
    if type(system) is not str:
        system = kept.may_take(body, "systemInstruction", dict)
    if system is not None:
        messages.append(below(".systemInstruction", read_system, system))
    if type(contents := body.get("contents")) is dict:
        kept.form["one"] = True
        return messages + read_contents([contents])
    return messages + read_contents(kept.may_take(body, "contents", list, filled=True) or [])


def _read_tools(body: Wire, kept: Kept) -> tuple[ToolDefinition, ...]:
    if type(entries := body["tools"]) is dict:
        kept.form["tool"] = True
        entries = [entries]
    elif not kept.take(body, "tools", list):
        return ()
    tools, hollow = read_tools(entries)
    if hollow:
        kept.form["hollow"] = hollow
    return tools


def _read_model(body: Wire, model: str | None, kept: Kept) -> str | None:
    """The URL's model, or else the body's; another one in the body stays there."""
    named = body.get("model")
    if type(named) is not str or model not in (None, named):
        if "model" in body:
            kept.add("model", named)
        return model
    kept.form["model"] = True
    return named


# -- writing --------------------------------------------------------------------------------------


def write_request(request: Request, recorder: LossRecorder) -> Wire:
    mine = mine_of(NAME, request.raw)
    form = form_in(mine)
    system, contents = write_messages(request.messages, recorder)
    body: Wire = {}
    if contents or not did_without(mine, "contents"):
        body["contents"] = contents[0] if form.get("one") and len(contents) == 1 else contents
    if system is not None:
        body["systemInstruction"] = system
    if request.tools or form:
        entries = write_tools(request.tools, form.get("hollow") or {}, recorder)
        if entries:
            body["tools"] = entries[0] if form.get("tool") and len(entries) == 1 else entries
    if request.options is not _NO_OPTIONS:
        write_options(request.options, body, mine, request.raw, recorder)
    if request.continues is not None:
        _write_continues(body, request, request.continues, recorder)
    if form.get("model") is True and request.model is not None:
        body["model"] = request.model
    return body if request.raw is None else put_back(body, request, request.raw, recorder)


def _write_continues(
    body: Wire, request: Request, continues: Continues, recorder: LossRecorder
) -> None:
    if continues.token is not None:
        body["continuationToken"] = continues.token
    if continues != Continues(token=continues.token):
        recorder.unwritten(continues, _TOKEN)
        reason = "only a token goes on from here"
        recorder.lost(request, "continues", reason, kind="approximated")
