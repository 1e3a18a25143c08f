"""Requests of Chat Completions, two ways, and tool definitions, also the legacy `functions`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, lru_cache, partial
from typing import Any

import msgspec
from msgspec import UNSET
from msgspec.structs import astuple

from interlingua.dialects.kernel import fields
from interlingua.dialects.kernel.calls import TEXT_SCHEMA
from interlingua.dialects.kernel.errors import (
    ShapeError,
    optional,
    read_each,
    read_whole,
    require,
)
from interlingua.dialects.kernel.fields import Table, plain
from interlingua.dialects.kernel.preserved import (
    Preserved,
    raw_of,
    restore_raw,
    spelling_in,
    spelling_of,
)
from interlingua.dialects.kernel.recorder import BOOKKEEPING, LossRecorder
from interlingua.dialects.kernel.wire import SpelledTexts, Wire
from interlingua.dialects.openai import FORMAT_KEYS, grammar_field
from interlingua.dialects.openai_chat import options as how
from interlingua.dialects.openai_chat import tables
from interlingua.dialects.openai_chat.messages import (
    UsualMessage,
    read_following,
    read_messages,
    read_usual,
    write_messages,
)
from interlingua.dialects.openai_chat.tables import (
    LIMITS,
    MARKS,
    TABLES,
    Host,
    Tables,
    WriteContext,
)
from interlingua.dialects.openai_chat.text import read_marks, write_cache
from interlingua.model.base import Raw, unchecked
from interlingua.model.exchange import NO_OPTIONS, Options, Request, limit_alone
from interlingua.model.message import Message
from interlingua.model.reasons import because, not_at
from interlingua.model.spelled_numbers import usual_float
from interlingua.model.tools import ToolDefinition

# -- tools ----------------------------------------------------------------------------------------


_NAMED = (plain("name", "name", str), plain("description", "description", str))
_FUNCTION = (*_NAMED, plain("parameters", "input_schema", dict), plain("strict", "strict", bool))
_CUSTOM = (*_NAMED, grammar_field(inside=True))
_SILENT = ("kind", "executor", "cache")
_DEFERRED = plain("defer_loading", "deferred", bool)
LEGACY = Table(ToolDefinition, *_FUNCTION, fields.lost("cache"), silent=_SILENT)
SERVER = Table(ToolDefinition, beside=("type", *MARKS), silent=("name", *_SILENT))


@cache
def _table(kind: str, can_defer: bool) -> Table:
    deferred = _DEFERRED if can_defer else _DEFERRED._replace(write=_not_deferred, kind=None)
    inner = fields.inside(kind, *(_FUNCTION if kind == "function" else _CUSTOM))
    key = fields.constant("type", kind)
    return Table(ToolDefinition, key, inner, deferred, beside=MARKS, silent=_SILENT)


def _not_deferred(tool: Any, recorder: LossRecorder) -> None:
    recorder.lost(tool, "deferred")


# -- reading --------------------------------------------------------------------------------------


def read_tool(wire: Any, t: Tables) -> ToolDefinition:
    kind = require(wire, dict).get("type") or "function"
    inner = wire.get(kind) if kind == "function" or kind == "custom" else None
    if len(wire) == 2 and type(inner) is dict and wire.get("type") == "function":
        plain = _read_plainly(inner)
        if plain is not None:
            return plain
    if kind == "function" or kind == "custom":
        require(require(inner, dict, f".{kind}").get("name"), str, f".{kind}.name")
        return _read_function(wire, kind, t)
    return _read_server_tool(wire, require(kind, str, ".type"), t)


def _read_plainly(inner: Wire) -> ToolDefinition | None:
    """A function with the common members only; None for others."""
    name, text = inner.get("name"), inner.get("description")
    schema, strict = inner.get("parameters"), inner.get("strict")
    if len(inner) != 3 + (strict is not None) or type(name) is not str or type(text) is not str:
        return None
    if type(schema) is not dict or (strict is not None and type(strict) is not bool):
        return None
    return unchecked(ToolDefinition, name, text, schema, strict=strict)


def _read_function(wire: Wire, kind: str, t: Tables) -> ToolDefinition:
    preserved = Preserved(
        spelling={"stood": True} if kind == "custom" and not t.custom_tools else {}
    )
    attrs = _table(kind, t.deferred_tools).read(wire, preserved)
    cache = read_marks(wire, t, "tool", preserved)
    return unchecked(ToolDefinition, kind=kind, cache=cache, raw=preserved.raw(t.name), **attrs)


def read_legacy_tool(wire: Any, t: Tables) -> ToolDefinition:
    """One of `functions`."""
    require(require(wire, dict).get("name"), str, ".name")
    preserved = Preserved(spelling={"legacy": True})
    return unchecked(ToolDefinition, **LEGACY.read(wire, preserved), raw=preserved.raw(t.name))


def _read_server_tool(wire: Wire, kind: str, t: Tables) -> ToolDefinition:
    """A tool that the service runs; all its members are the service's own."""
    stood = not (t.server_tools and kind.startswith(t.server_tools))
    preserved = Preserved(spelling={"stood": True} if stood else {})
    cache = read_marks(wire, t, "tool", preserved)
    SERVER.read(wire, preserved)
    return ToolDefinition(
        kind, executor="provider", kind=kind, cache=cache, raw=preserved.raw(t.name)
    )


# -- writing --------------------------------------------------------------------------------------


def write_tools(tools: tuple[ToolDefinition, ...], to: WriteContext) -> Wire:
    """Writes `tools`, or `functions` for those that were read from there."""
    wire: Wire = {}
    for tool in tools:
        written, key = _write_plainly(tool), "tools"
        if (
            written is None
            and tool.kind == "function"
            and "functions" not in to.t.host.lacks
            and spelling_of(to.t.name, tool.raw).get("legacy")
        ):
            written, key = LEGACY.write_value(tool, to.recorder), "functions"
        elif written is None:
            written = write_tool(tool, to)
        if written is not None:
            wire.setdefault(key, []).append(written)
    return wire


def _write_plainly(tool: ToolDefinition) -> Wire | None:
    """A function with only a name, a purpose and a schema."""
    if astuple(tool)[3:] != _NO_MORE or tool.input_schema is None or tool.description is None:
        return None
    inner = {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}
    return {"type": "function", "function": inner}


_NO_MORE = astuple(ToolDefinition("a"))[3:]


def write_tool(tool: ToolDefinition, to: WriteContext) -> Wire | None:
    if tool.executor == "provider" or tool.kind not in ("function", "custom"):
        return _write_server_tool(tool, to)
    t, kind = to.t, tool.kind
    wire: Wire = {"type": kind} if tool.raw is None else {}
    if kind == "custom" and not (t.custom_tools or spelling_of(t.name, tool.raw).get("stood")):
        to.recorder.lost(tool, "kind", because("custom_tool_as_function"), kind="downgraded")
        wire = _written(_table("function", t.deferred_tools), {"type": "function"}, tool, to)
        wire["function"].setdefault("parameters", TEXT_SCHEMA)
        return wire
    return _written(_table(kind, t.deferred_tools), wire, tool, to)


def _written(table: Table, wire: Wire, tool: ToolDefinition, to: WriteContext) -> Wire:
    write_cache(wire, tool, to, "tool", spelling_of(to.t.name, tool.raw))
    return table.write_value(tool, to.recorder, wire)


def _write_server_tool(tool: ToolDefinition, to: WriteContext) -> Wire | None:
    own = to.t.server_tools is not None and tool.kind.startswith(to.t.server_tools)
    if tool.executor != "provider" or not (own or spelling_of(to.t.name, tool.raw).get("stood")):
        to.recorder.lost(tool, None, because("vendor_tool_unknown"))
        return None
    if tool.name != tool.kind:
        to.recorder.lost(tool, "name")
    return _written(SERVER, {"type": tool.kind}, tool, to)


def read_request(
    wire: Any, model: str | None = None, stream: bool | None = None, t: Tables = TABLES
) -> Request:
    """`t` are the tables of this dialect, or of a neighbour."""
    if type(wire) is dict:
        try:
            return _read(wire, t)
        except ShapeError as error:
            raise error.error(f"{t.name} request") from None
    return read_whole(f"{t.name} request", _read, wire, t)


def read_more(
    wires: list[Any], messages: list[Message], _: Any, t: Tables = TABLES
) -> Iterator[Any]:
    """Appends messages that follow others, which contain all that their reading depends on."""
    return read_following(wires, messages, t)


_USUAL = (
    *("model", "max_tokens", "max_completion_tokens", "temperature", "top_p", "stream", "stop"),
    *("stream_options", "tools", "tool_choice", "parallel_tool_calls", "reasoning_effort"),
    *("response_format", "user", "seed", "n", "presence_penalty", "frequency_penalty"),
    *("metadata", "store", "service_tier", "prompt_cache_key", "verbosity", "logprobs"),
)
"""Members of usual bodies, beside the messages."""


@cache
def _usual_body() -> Callable[[bytes], Any]:
    members: list[Any] = [("messages", list[UsualMessage]), *[(key, Any, UNSET) for key in _USUAL]]
    body = msgspec.defstruct("Body", members, forbid_unknown_fields=True)
    return msgspec.json.Decoder(body, float_hook=usual_float).decode


def read_straight(data: bytes, t: Tables = TABLES) -> tuple[Request, SpelledTexts] | None:
    """Implements `ReadStraight`."""
    spelled = SpelledTexts()
    try:
        body = _usual_body()(data)
        messages = read_usual(body.messages, t, spelled)
        rest = zip(_USUAL, astuple(body)[1:], strict=True)
        wire = {key: value for key, value in rest if value is not UNSET}
        return _read({**wire, "messages": []}, t, messages), spelled
    except (msgspec.DecodeError, ShapeError, ValueError, RecursionError):
        return None  # which is read in the usual way, or refused with the reason


def _read(wire: Wire, t: Tables, messages: tuple[Message, ...] | None = None) -> Request:
    model = wire.get("model")
    if type(model) is not str:
        model = optional(wire, "model", str)
    messages = read_messages(wire.get("messages"), t) if messages is None else messages
    if len(wire) == 1 + (model is not None):
        return unchecked(Request, messages, model)
    limit = wire.get("max_tokens")
    if len(wire) == 3 and model is not None and type(limit) is int:
        return unchecked(Request, messages, model, (), limit_alone(limit), None, _limited(t))
    preserved = Preserved()
    if model is None and "model" in wire:
        preserved.keep_spelling("model", None)
    tools = _read_tools(wire, t, preserved) if "tools" in wire or "functions" in wire else ()
    attrs = how.read_options(wire, t, preserved)
    options = unchecked(Options, **attrs) if attrs else NO_OPTIONS
    return unchecked(Request, messages, model, tools, options, None, preserved.raw(t.name))


@cache
def _limited(t: Tables) -> Raw | None:
    """The spelling of a body whose only option is a limit."""
    own = t.host.max_tokens
    return None if own == "max_tokens" else {t.name: {"$form": {"named": {own: "max_tokens"}}}}


def _read_tools(wire: Wire, t: Tables, preserved: Preserved) -> tuple[ToolDefinition, ...]:
    tools: list[ToolDefinition] = []
    for key, read in (("tools", read_tool), ("functions", read_legacy_tool)):
        listed = wire.get(key)
        if listed:
            tools += read_each(listed, f".{key}", partial(read, t=t))
        elif key in wire:
            preserved.add_others({key: listed}, (), (key,))
    return tuple(tools)


def write_request(request: Request, recorder: LossRecorder, host: str | Host | None = None) -> Wire:
    """`host` is one of `HOSTS`, or its name; without one nothing is known of it."""
    t = TABLES if host is None else _tables_at(host)
    wire = write_body(request, t, recorder)
    _settle(wire, request, t.host, recorder)
    return wire


@lru_cache(256)
def _tables_at(host: str | Host) -> Tables:
    known = tables.HOSTS.get(host) if isinstance(host, str) else host
    return TABLES if known is None else tables.at_host(TABLES, known)


def _settle(wire: Wire, request: Request, host: Host, recorder: LossRecorder) -> None:
    """Adapts a written body to its host: the host's key for the limit of output, and the request
    for token counts. The same number under another key is no loss; another number is."""
    if host.exact_limit_key:
        limits = [wire.pop(word) for word in LIMITS & wire.keys()]
        limit = request.options.max_output_tokens
        if limits:
            wire[host.max_tokens] = limits[0] if limit is None else limit
    rest = (request.raw or {}).get(recorder.dialect) or {}
    for word in sorted(LIMITS & rest.keys()):  # limits beside the one that was read
        if wire.get(word, wire.get(host.max_tokens)) != rest[word]:
            recorder.lost(request, f"raw.{recorder.dialect}.{word}", because("one_limit"))
    if host.lacks:
        _leave_others(wire, request, host, recorder)
    if host.stream_usage and request.options.stream:
        wire["stream_options"] = {"include_usage": True, **(wire.get("stream_options") or {})}


def _leave_others(wire: Wire, request: Request, host: Host, recorder: LossRecorder) -> None:
    """Keys that only other hosts have: under the host's own name for them, else a loss."""
    options, lost = request.options, set()
    for key in [key for key in wire if key in host.lacks]:
        own, attr, value = how.own_name(key, host), how.ATTRS.get(key, key), wire.pop(key)
        if own is not None and wire.setdefault(own, value) == value:
            continue
        if own is None and getattr(options, attr, None) is not None:
            if attr not in lost:
                recorder.lost(options, attr, not_at(host.name, key, attr in BOOKKEEPING))
            lost.add(attr)
        elif value is not None:
            field = f"raw.{recorder.dialect}.{key}"
            recorder.lost(request, field, not_at(host.name, key))


def write_body(request: Request, t: Tables, recorder: LossRecorder) -> Wire:
    wire: Wire = {}
    to, options, own_raw = WriteContext(t, recorder), request.options, raw_of(t.name, request.raw)
    if request.model is not None:
        wire["model"] = request.model
    wire["messages"] = write_messages(request.messages, to)
    if request.tools:
        wire.update(write_tools(request.tools, to))
    if options is not NO_OPTIONS:
        how.write_options(options, wire, own_raw, to)
        if options.tool_choice is not None:
            _choose(request, wire, own_raw, t)
        restore_raw(wire, options, options.raw, recorder)
    if request.continues is not None:
        recorder.lost(request, "continues", severity="error")
    if request.raw is None:
        return wire
    response_format = wire.get("response_format", {})
    restore_raw(wire, request, request.raw, recorder)
    if "type" in response_format and "json_schema" not in response_format:
        _drop_schema_rest(wire["response_format"])
    return wire


def _drop_schema_rest(response_format: Wire) -> None:
    """A format that no longer has a schema does without the unknown keys of that schema, too."""
    rest = response_format.get("json_schema")
    if type(rest) is dict and all(rest.get(name) is None for name in FORMAT_KEYS):
        del response_format["json_schema"]


def _choose(request: Request, wire: Wire, own_raw: Wire, t: Tables) -> None:
    custom = frozenset([tool.name for tool in request.tools if tool.kind == "custom"])
    if custom and t.custom_tools and "tool_choice" not in spelling_in(own_raw).get("as", ()):
        how.choose_custom(wire, custom)
    if "function_call" not in t.host.lacks:
        how.choose_function(wire, own_raw)
