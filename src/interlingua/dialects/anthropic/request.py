"""Requests: wire to canonical and back."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.anthropic.body import Reading, put_extra
from interlingua.dialects.anthropic.changes import Writing
from interlingua.dialects.anthropic.joined import write_messages
from interlingua.dialects.anthropic.kept import form_of, is_foreign, mine_of, pack
from interlingua.dialects.anthropic.options import OPTIONS, read_options, tell_limit, write_options
from interlingua.dialects.anthropic.tables import NAME
from interlingua.dialects.anthropic.tools import read_tools, write_tools
from interlingua.dialects.anthropic.turns import read_system, read_turns
from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.shape import ShapeError, respell
from interlingua.model.exchange import Continues, Request
from interlingua.model.message import Message
from interlingua.model.tools import ToolDefinition

_KNOWN = frozenset(
    {"model", "messages", "system", "tools", "thinking", "output_config", "output_format"}
    | {"anthropic_version", "thread", *OPTIONS}
)


def read_request(wire: Any, model: str | None = None, stream: bool | None = None) -> Request:
    try:
        return _read(wire, model, stream)
    except ShapeError as odd:
        raise odd.error(f"{NAME} request") from None


def _read(wire: Any, model: str | None, stream: bool | None) -> Request:
    if type(wire) is not dict:
        raise ShapeError("", "an object", wire)
    reading = Reading()
    tools = list(_read_tools(wire, reading)) if "tools" in wire else []
    messages = _read_messages(wire, reading, tools)
    read_options(wire, reading)
    continues = _read_thread(wire["thread"], reading) if "thread" in wire else None
    name = _read_model(wire, model, stream, reading)
    for key, value in wire.items():
        if key not in _KNOWN:
            _keep(key, value, reading)
    raw = pack(reading.rest, reading.spelled, reading.form)
    return Request(tuple(messages), name, tuple(tools), reading.options(), continues, raw)


def _keep(key: str, value: Any, reading: Reading) -> None:
    if value is None:
        reading.spelled[key] = None
    elif key == "$form":
        reading.form["$form"] = value
    else:
        reading.rest[key] = value


def _read_messages(wire: Wire, reading: Reading, tools: list[ToolDefinition]) -> list[Message]:
    turns = wire.get("messages")
    if type(turns) is not list:
        raise ShapeError(".messages", "a list", turns)
    leading = read_system(wire["system"], reading.spelled) if "system" in wire else []
    try:
        return leading + read_turns(turns, tools)
    except ShapeError as odd:
        raise odd.inside(".messages") from None


def _read_tools(wire: Wire, reading: Reading) -> tuple[ToolDefinition, ...]:
    tools = wire["tools"]
    if type(tools) is list and tools:
        return read_tools(tools)
    if tools is not None and tools != []:
        raise ShapeError(".tools", "a list", tools)
    reading.spelled["tools"] = tools
    return ()


def _read_model(wire: Wire, model: str | None, stream: bool | None, reading: Reading) -> str | None:
    """Hosts other than Anthropic say model and streaming in the URL, the version in the body."""
    in_url = []
    if "anthropic_version" in wire:
        reading.form["anthropic_version"] = wire["anthropic_version"]
    name = wire.get("model")
    if name is None:
        if "model" in wire:
            reading.spelled["model"] = None
        elif model is not None or "anthropic_version" in wire:
            in_url.append("model")
        name = model
    elif type(name) is not str:
        raise ShapeError(".model", "a string", name)
    if stream is not None and "stream" not in wire:
        in_url.append("stream")
        reading.fields["stream"] = stream
    if in_url:
        reading.form["url"] = in_url
    return name


def _read_thread(thread: Any, reading: Reading) -> Continues | None:
    """A conversation that the service keeps, and the message to go on from."""
    if thread is None:
        reading.spelled["thread"] = None
        return None
    if type(thread) is not dict or type(thread.get("type")) is not str:
        raise ShapeError(".thread", "an object with a type", thread)
    before = thread.get("previous_message_id")
    if thread["type"] != "continue" or type(before) is not str:
        reading.rest["thread"] = thread
        return None
    reading.form["thread"] = True
    reading.keep("thread", thread, ("type", "previous_message_id"))
    return Continues(response_id=before)


def write_request(request: Request, scribe: Scribe) -> Wire:
    raw = request.raw
    at_home = raw is not None and NAME in raw
    mine, form = (mine_of(raw), form_of(raw)) if at_home else (_NOTHING, _NOTHING)
    out: Wire = {}
    model, options = request.model, request.options
    if model is not None and (not at_home or "model" not in form.get("url", ())):
        out["model"] = model
    changes = Writing(request.tools, scribe)
    write_messages(request.messages, out, changes)
    if request.tools:
        tools = write_tools(changes.others(), scribe)
        if tools:
            out["tools"] = tools
    write_options(options, out, form, mine, scribe)
    if request.continues is not None:
        _put_thread(request.continues, request, out, form, scribe)
    if options.raw is not None:
        put_extra(out, _but_cache(mine_of(options.raw)), {})
    if at_home:
        put_extra(out, mine, form)
        if "anthropic_version" in form:
            out["anthropic_version"] = form["anthropic_version"]
        respell(out, form)
    if raw is not None and is_foreign(raw):
        scribe.unsaid_raw(request, raw)
    if options.max_output_tokens is None and "max_tokens" not in form.get("spelled", _NOTHING):
        tell_limit(options, out, scribe)
    return out


_NOTHING: Wire = {}


def _but_cache(mine: Wire) -> Wire:
    return {key: item for key, item in mine.items() if key != "cache_control"}


def _put_thread(
    continues: Continues, request: Request, out: Wire, form: Wire, scribe: Scribe
) -> None:
    before = continues.response_id
    if not form.get("thread") or before is None:
        scribe.lost(request, "continues", severity="error")
        return
    out["thread"] = {"type": "continue", "previous_message_id": before}
    scribe.unsaid(continues, frozenset({"response_id"}))
