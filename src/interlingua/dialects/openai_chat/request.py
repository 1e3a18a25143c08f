"""Requests of Chat Completions, two ways."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.kernel.errors import ShapeError, each
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.openai_chat.messages import read_messages, write_messages
from interlingua.dialects.openai_chat.options import KNOWN, read_options, write_options
from interlingua.dialects.openai_chat.shape import NOTHING, Note, form_in, mine_of, put_back
from interlingua.dialects.openai_chat.tables import HOSTS, TABLES, Tables, at_host
from interlingua.dialects.openai_chat.tools import read_legacy_tool, read_tool, write_tools
from interlingua.model.exchange import Options, Request
from interlingua.model.tools import ToolDefinition

_AT_HOSTS = {name: at_host(TABLES, host) for name, host in HOSTS.items()}


def read_request(
    wire: Any, model: str | None = None, stream: bool | None = None, t: Tables = TABLES
) -> Request:
    """`t` are the tables of this dialect, or of a neighbour."""
    try:
        if type(wire) is not dict:
            raise ShapeError("", "an object", wire)
        note, taken = Note(), {"messages"}
        model = wire.get("model")
        if model is not None:
            if type(model) is not str:
                raise ShapeError(".model", "a string", model)
            taken.add("model")
        messages = read_messages(wire.get("messages"), t)
        tools: tuple[ToolDefinition, ...] = ()
        if "tools" in wire or "functions" in wire:
            tools = _read_tools(wire, t, taken)
        options = _NO_OPTIONS
        if len(wire) > len(taken):
            options = read_options(wire, t, note, taken)
            if len(wire) > len(taken):
                note.leave(wire, taken, KNOWN)
        raw = note.raw(t.name) if note.form or note.rest else None
        return Request(messages, model, tools, options, raw=raw)
    except ShapeError as odd:
        raise odd.error(f"{t.name} request") from None


def write_request(request: Request, recorder: LossRecorder, host: str | None = None) -> Wire:
    """`host` is one of `HOSTS`; without one it is for a host of which nothing is known."""
    return write_body(request, _AT_HOSTS.get(host, TABLES) if host else TABLES, recorder)


_NO_OPTIONS = Options()


def _read_tools(wire: Wire, t: Tables, taken: set[str]) -> tuple[ToolDefinition, ...]:
    tools: list[ToolDefinition] = []
    if wire.get("tools"):
        tools = each(wire["tools"], ".tools", lambda tool: read_tool(tool, t))
        taken.add("tools")
    if wire.get("functions"):
        tools += each(wire["functions"], ".functions", lambda tool: read_legacy_tool(tool, t))
        taken.add("functions")
    return tuple(tools)


def write_body(request: Request, t: Tables, recorder: LossRecorder) -> Wire:
    wire: Wire = {}
    if request.model is not None:
        wire["model"] = request.model
    wire["messages"] = write_messages(request.messages, t, recorder)
    if request.tools:
        wire.update(write_tools(request.tools, t, recorder))
    mine = mine_of(t.name, request.raw)
    options = request.options
    if options is not _NO_OPTIONS:
        custom = frozenset([tool.name for tool in request.tools if tool.kind == "custom"])
        wire.update(write_options(options, custom, t, recorder, form_in(mine)))
        if options.raw is not None:
            put_back(wire, mine_of(t.name, options.raw))
    if request.continues is not None:
        recorder.lost(request, "continues", severity="error")
    if request.raw is not None:
        recorder.unwritten_raw(request, request.raw)
    return put_back(wire, _without_stale(mine, options))


def _without_stale(mine: Wire, options: Options) -> Wire:
    """What was kept beside an output schema goes with it."""
    wanted = options.response_format
    if wanted is None or wanted.kind == "json_schema":
        return mine
    form = form_in(mine)
    empty = {k: v for k, v in form.get("empty", NOTHING).items() if k != "response_format"}
    rest = {key: value for key, value in mine.items() if key != "response_format"}
    return {**rest, "$form": {**form, "empty": empty}} if mine else mine
