"""Requests of Chat Completions, two ways."""

from __future__ import annotations

from functools import partial
from typing import Any

from interlingua.dialects.kernel.errors import each, maybe, read_whole
from interlingua.dialects.kernel.kept import NOTHING, Kept, form_in, mine_of, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.openai_chat.messages import read_messages, write_messages
from interlingua.dialects.openai_chat.options import (
    choose_custom,
    choose_function,
    read_options,
    write_options,
)
from interlingua.dialects.openai_chat.tables import HOSTS, TABLES, Tables, at_host
from interlingua.dialects.openai_chat.tools import read_legacy_tool, read_tool, write_tools
from interlingua.model.exchange import Options, Request
from interlingua.model.tools import ToolDefinition

_AT_HOSTS = {name: at_host(TABLES, host) for name, host in HOSTS.items()}
_NO_OPTIONS = Options()


def read_request(
    wire: Any, model: str | None = None, stream: bool | None = None, t: Tables = TABLES
) -> Request:
    """`t` are the tables of this dialect, or of a neighbour."""
    return read_whole(f"{t.name} request", _read, wire, t)


def _read(wire: Wire, t: Tables) -> Request:
    kept = Kept()
    model = maybe(wire, "model", str)
    messages = read_messages(wire.get("messages"), t)
    if len(wire) == 1 + (model is not None):
        return Request(messages, model)
    if model is None and "model" in wire:
        kept.spell("model", None)
    tools = _read_tools(wire, t, kept) if "tools" in wire or "functions" in wire else ()
    attrs = read_options(wire, t, kept)
    options = Options(**attrs) if attrs else _NO_OPTIONS
    return Request(messages, model, tools, options, raw=kept.raw(t.name))


def _read_tools(wire: Wire, t: Tables, kept: Kept) -> tuple[ToolDefinition, ...]:
    tools: list[ToolDefinition] = []
    for key, read in (("tools", read_tool), ("functions", read_legacy_tool)):
        listed = wire.get(key)
        if listed:
            tools += each(listed, f".{key}", partial(read, t=t))
        elif key in wire:
            kept.add_others({key: listed}, (), (key,))
    return tuple(tools)


def write_request(request: Request, recorder: LossRecorder, host: str | None = None) -> Wire:
    """`host` is one of `HOSTS`; without one it is for a host of which nothing is known."""
    return write_body(request, _AT_HOSTS.get(host, TABLES) if host else TABLES, recorder)


def write_body(request: Request, t: Tables, recorder: LossRecorder) -> Wire:
    wire: Wire = {}
    options, mine = request.options, mine_of(t.name, request.raw)
    if request.model is not None:
        wire["model"] = request.model
    wire["messages"] = write_messages(request.messages, t, recorder)
    if request.tools:
        wire.update(write_tools(request.tools, t, recorder))
    if options is not _NO_OPTIONS:
        write_options(options, wire, mine, t, recorder)
        if options.tool_choice is not None and request.tools:
            _choose(request, wire, mine, t)
        if options.raw is not None:
            put_back(wire, options, options.raw, recorder)
    if request.continues is not None:
        recorder.lost(request, "continues", severity="error")
    if request.raw is None:
        return wire
    wanted = wire.get("response_format", NOTHING)
    put_back(wire, request, request.raw, recorder)
    if "json_schema" not in wanted and "type" in wanted:
        wire["response_format"] = wanted  # what was kept beside an output schema goes with it
    return wire


def _choose(request: Request, wire: Wire, mine: Wire, t: Tables) -> None:
    custom = frozenset([tool.name for tool in request.tools if tool.kind == "custom"])
    if custom and t.custom_tools and "tool_choice" not in form_in(mine).get("as", ()):
        choose_custom(wire, custom)
    choose_function(wire, mine)
