"""Tool calls (functions, custom tools, the legacy `function_call`), their results (messages of role
`tool`, or of the legacy role `function`), and tools that the service itself ran: one item of the
wire is then a call and its result, two blocks of the same assistant message."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from interlingua.dialects.kernel import calls as kernel
from interlingua.dialects.kernel import fields
from interlingua.dialects.kernel import preserved as keeping
from interlingua.dialects.kernel.calls import read_arguments, write_arguments
from interlingua.dialects.kernel.errors import at_path, require
from interlingua.dialects.kernel.fields import NOT_OURS, Attrs, Field, Reading, Table, plain
from interlingua.dialects.kernel.preserved import (
    Preserved,
    raw_of,
    restore,
    restore_raw,
    spelling_in,
    was_absent,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import ERROR_MARK, take_mark
from interlingua.dialects.openai import text_of
from interlingua.dialects.openai_chat import text as content
from interlingua.dialects.openai_chat.tables import MARKS, HostedKeys, Tables, WriteContext
from interlingua.model.blocks import Block, TextBlock, ToolResultBlock, ToolUseBlock
from interlingua.model.ids import is_synthetic_tool_id, synthetic_tool_id
from interlingua.model.message import Message
from interlingua.model.metadata import Diagnostic
from interlingua.model.reasons import because

# -- calls, as tables -----------------------------------------------------------------------------


def _read_arguments(value: Any) -> Reading:
    """Arguments as text, or as the object that some hosts send."""
    if type(value) is dict:
        return {"input": value}
    input, raw, _ = read_arguments(require(value, str))
    return {"input": input, "raw_arguments": raw}


_NAME = plain("name", "name", str)
_ARGUMENTS = kernel.arguments_field(
    "arguments", _read_arguments, lambda call, _: write_arguments(call)
)
_INPUT = Field(
    "input",
    ("input",),
    lambda value: {"input": {"input": require(value, str)}},
    lambda call, _: call.input["input"],
    missing={"input": {}},
)
_BESIDE = ("extra_content", *MARKS)
_SILENT = ("executor", "signature", "cache")


def _call(kind: str, *inner: Field, more: tuple[Field, ...] = (), silent: tuple[str, ...]) -> Table:
    id, type = plain("id", "id", str, blank=True), fields.constant("type", kind)
    known = (id, type, fields.spelling("index"), fields.inside(kind, _NAME, *inner), *more)
    return Table(ToolUseBlock, *known, beside=_BESIDE, silent=(*_SILENT, *silent), blank=True)


_AS_FUNCTION = fields.lost("call_type", because("custom_call_as_function"), kind="downgraded")
_CALLS = {
    "function": _call("function", _ARGUMENTS, more=(_AS_FUNCTION,), silent=()),
    "custom": _call("custom", _INPUT, silent=("call_type", "raw_arguments")),
}
_LEGACY = Table(ToolUseBlock, _NAME, _ARGUMENTS, silent=("id", "executor"))


# -- reading calls --------------------------------------------------------------------------------


def read_plain_call(call: Any) -> ToolUseBlock | None:
    """A valid function call in the usual form; None for anything else."""
    if type(call) is not dict or len(call) != 3 or call.get("type") != "function":
        return None
    function, id = call.get("function"), call.get("id")
    if type(function) is not dict or len(function) != 2 or type(id) is not str or not id:
        return None
    name, text = function.get("name"), function.get("arguments")
    if type(name) is not str or type(text) is not str:
        return None
    input, raw, mode = read_arguments(text)
    return ToolUseBlock(id, name, input, raw) if mode == "strict" else None


class CallReader:
    """Reads the calls of one message; `origin` (a position or a response id) is used for ids of
    calls without one."""

    __slots__ = ("count", "diagnostics", "origin", "signed", "t")

    def __init__(self, t: Tables, origin: int | str | None) -> None:
        self.t = t
        self.origin = origin
        self.count = 0
        self.signed = False  # a call carries Google's signature
        self.diagnostics: list[Diagnostic] = []

    def read(self, call: Any) -> Block:
        """One item of `tool_calls`."""
        plain = read_plain_call(call)
        block = self._read_slowly(require(call, dict)) if plain is None else plain
        self.count += 1
        return block

    def _read_slowly(self, call: Wire) -> Block:
        kind = "custom" if call.get("type") == "custom" else "function"
        inner = call.get(kind)
        if inner is None:
            return content.keep_unknown(call, self.t, **{"in": "tool_calls"})
        preserved = Preserved()
        attrs = self._read(
            call, require(inner, dict, f".{kind}"), f".{kind}", _CALLS[kind], preserved
        )
        signature = read_google(call, preserved)
        if signature is not None:
            self.signed = True
        elif "extra_content" in call:
            preserved.add_others({"extra_content": call["extra_content"]}, (), _BESIDE)
        cache = content.read_marks(call, self.t, "call", preserved)
        attrs |= {"signature": signature, "cache": cache}
        attrs["call_type"] = None if kind == "function" else kind
        return ToolUseBlock(**attrs, raw=preserved.raw(self.t.name))

    def _read(
        self, call: Wire, inner: Wire, path: str, table: Table, preserved: Preserved
    ) -> Attrs:
        name = require(inner.get("name"), str, f"{path}.name")
        new_id = synthetic_tool_id(self.origin, self.count, name)
        preserved.mark_any_absent(call, ("id",))
        return kernel.read_named(call, table, preserved, new_id, self.diagnostics)

    def read_legacy(self, call: Any) -> Block:
        """The message's `function_call`: one call, without an id."""
        path, preserved = ".function_call", Preserved(spelling={"legacy": True})
        attrs = at_path(path, self._read, require(call, dict, path), call, "", _LEGACY, preserved)
        self.count += 1
        return ToolUseBlock(**attrs, raw=preserved.raw(self.t.name))


def read_google(wire: Wire, preserved: Preserved) -> str | None:
    """Google's signature on a call or a message; the members around it are preserved."""
    extra: Any = wire.get("extra_content")
    match extra:
        case {"google": {"thought_signature": str(signature)}}:
            preserved.spelling["signature"] = "google"
            inner = Preserved()
            inner.add_others(extra, ("google",))
            inner.add_inside(extra, "google", ("thought_signature",))
            preserved.absorb("extra_content", inner)
            return signature
    return None


def signed(signature: str) -> Wire:
    return {"extra_content": {"google": {"thought_signature": signature}}}


# -- writing calls --------------------------------------------------------------------------------


def write_plain_call(block: ToolUseBlock) -> Wire:
    """A function call with nothing special about it."""
    function = {"name": block.name, "arguments": write_arguments(block)}
    return {"id": block.id, "type": "function", "function": function}


def write_call(block: ToolUseBlock, to: WriteContext, signs: bool) -> Wire:
    """One item of `tool_calls`; `signs` allows Google's signatures."""
    ids = to.t.host.ids
    id = block.id if ids is None else ids.fit(block.id)
    if (block.raw or block.call_type or block.signature or block.cache or block.caller) is None:
        return {**write_plain_call(block), "id": id}
    own_raw = raw_of(to.t.name, block.raw)
    spelling = spelling_in(own_raw)
    wire = _write(
        block, _CALLS["custom" if _is_text(block, to.t, own_raw) else "function"], own_raw, to
    )
    wire.update({"id": id} if "id" in wire else {})
    if block.signature is not None:
        if signs or spelling.get("signature") == "google":
            wire.update(signed(block.signature))
        else:
            to.recorder.lost(block, "signature")
    content.write_cache(wire, block, to, "call", spelling)
    return wire if block.raw is None else restore_raw(wire, block, block.raw, to.recorder)


def _write(
    block: ToolUseBlock, table: Table, own_raw: Wire, to: WriteContext, key: str = "id"
) -> Wire:
    """A call by its table; `key` has its id, which is not written if it was made for a call
    without one."""
    wire: Wire = {}
    table.write(block, wire, own_raw, to.recorder)
    is_optional = "function_call" not in to.t.host.lacks
    if is_optional and is_synthetic_tool_id(block.id) and was_absent(own_raw, key):
        wire.pop(key, None)
    return wire


def _is_text(block: ToolUseBlock, t: Tables, own_raw: Wire) -> bool:
    """Whether it is written as a call with free text."""
    input = block.input
    if block.call_type != "custom" or not t.custom_tools:
        return False
    if not input:
        return was_absent(keeping.raw_inside(own_raw, "custom"), "input")
    return input.keys() == {"input"} and type(input["input"]) is str


def write_legacy(block: ToolUseBlock, to: WriteContext) -> Wire:
    """The message's `function_call`."""
    return _LEGACY.write_value(block, to.recorder)


def is_legacy(block: ToolUseBlock, t: Tables) -> bool:
    """Read from a `function_call`, and still without an id of its own."""
    legacy = spelling_in(raw_of(t.name, block.raw)).get("legacy")
    if "function_call" in t.host.lacks:
        return False
    return bool(legacy) and is_synthetic_tool_id(block.id) and block.call_type is None


# -- results --------------------------------------------------------------------------------------

_FILLED = {"content": ""}
_WRITTEN_RESULT = frozenset({"tool_use_id", "content", "is_error", "cache"})


class Unanswered:
    """The calls that wait for a result; only used for results without an id."""

    def __init__(self) -> None:
        self._seen = 0
        self._calls = kernel.OpenCalls()

    def first(self, messages: Sequence[Message], name: str | None) -> str:
        """The id of the first open call of this name (of any, without a name)."""
        for message in messages[self._seen :]:
            for block in message.content:
                if type(block) is ToolUseBlock:
                    self._calls.add(block.id, block.name)
                elif type(block) is ToolResultBlock:
                    self._calls.close(block.tool_use_id)
        self._seen = len(messages)
        return self._calls.first(name) or synthetic_tool_id(len(messages), 0, name)


def read_result(
    wire: Wire, t: Tables, before: Sequence[Message], calls: Unanswered
) -> ToolResultBlock:
    preserved, taken = Preserved(), {"role"}
    if wire["role"] == "function":
        preserved.spelling["role"] = "function"
    name, id = wire.get("name") or None, wire.get("tool_call_id")
    if name is not None:
        require(name, str, ".name")
        taken.add("name")
        preserved.spelling["name"] = True
    if id is None or id == "":
        id = preserved.spelling["answers"] = calls.first(before, name)
    else:
        require(id, str, ".tool_call_id")
        taken.add("tool_call_id")
    value = wire.get("content")
    blocks = content.read_content(value, t.parts["tool"], t, preserved)
    if blocks or value == "":
        taken.add("content")
    failed = take_mark(blocks)
    preserved.spelling.update({"marked": True} if failed else {})
    cache = content.read_cache(wire, t, "message", preserved, taken)
    preserved.add_others(wire, taken, ("content", "name", "tool_call_id"))
    preserved.mark_any_absent(wire, _FILLED)
    return ToolResultBlock(id, tuple(blocks), failed, name, cache, preserved.raw(t.name))  # type: ignore[arg-type]  # a misplaced block is for validate() to name


def write_result(block: ToolResultBlock, to: WriteContext) -> Wire:
    ids = to.t.host.ids
    id = block.tool_use_id if ids is None else ids.fit(block.tool_use_id)
    if block.raw is None and len(block.content) == 1 and not block.is_error and not block.cache:
        only = block.content[0]
        if type(only) is TextBlock and only.text and only.raw is None and only.cache is None:
            if only.citations or only.signature or only.phase or block.tool_name:
                to.recorder.unwritten(only, frozenset({"text"}))
                to.recorder.unwritten(block, _written_fields(block, to.recorder))
            return {"role": "tool", "tool_call_id": id, "content": only.text}
    return _write_result(block, id, to)


def _written_fields(block: ToolResultBlock, recorder: LossRecorder) -> frozenset[str]:
    """A tool's name is written with its call."""
    named = block.tool_name is not None and block.tool_name == recorder.called(block)
    return _WRITTEN_RESULT | {"tool_name"} if named else _WRITTEN_RESULT


def _write_result(block: ToolResultBlock, id: str, to: WriteContext) -> Wire:
    own_raw = raw_of(to.t.name, block.raw)
    spelling = spelling_in(own_raw)
    is_current = "function_call" in to.t.host.lacks
    wire: Wire = {"role": "tool" if is_current else spelling.get("role", "tool")}
    if is_current or spelling.get("answers") != block.tool_use_id:
        wire["tool_call_id"] = id
    written = content.write_content(block.content, to.t.parts["tool"], to, spelling)
    if block.is_error:
        if not spelling.get("marked"):
            to.recorder.lost(block, "is_error", because("error_marked"), "downgraded")
        written = _marked(written, spelling)
    if written is not None:
        wire["content"] = written
    fields = _written_fields(block, to.recorder)
    if block.tool_name is not None and spelling.get("name"):
        wire["name"] = block.tool_name
        fields = fields | {"tool_name"}
    if block.cache is not None:
        _write_result_cache(wire, block, to, spelling)
    to.recorder.unwritten(block, fields)
    return restore(wire, own_raw, _FILLED)


def _marked(written: Any, spelling: Wire) -> Any:
    """The content of a failed result, with the mark before it."""
    if written is None:
        as_list = spelling.get("content") == "list"
        return [{"type": "text", "text": ERROR_MARK}] if as_list else ERROR_MARK
    if isinstance(written, str):
        return ERROR_MARK + written
    first = written[0]
    if isinstance(first, dict) and first.get("type") == "text" and first["text"]:
        return [{**first, "text": ERROR_MARK + first["text"]}, *written[1:]]
    if isinstance(first, str) and first:
        return [ERROR_MARK + first, *written[1:]]
    return [{"type": "text", "text": ERROR_MARK}, *written]


def _write_result_cache(
    wire: Wire, block: ToolResultBlock, to: WriteContext, spelling: Wire
) -> None:
    """A mark beside the content where it was read there; else on the last part."""
    if "cache" in spelling:
        content.write_cache(wire, block, to, "message", spelling)
        return
    parts = wire.get("content", "")
    if isinstance(parts, str):
        parts = [{"type": "text", "text": parts}]
    last = dict(parts[-1]) if parts and isinstance(parts[-1], dict) else None
    if last is None or "part" not in to.t.cache.positions or any(key in last for key in MARKS):
        to.recorder.lost(block, "cache")
        return
    to.recorder.lost(block, "cache", because("cache_on_part"), "moved")
    content.write_cache(last, block, to, "part", spelling)
    wire["content"] = [*parts[:-1], last]


# -- tools that the service ran: Groq's `executed_tools`, OpenRouter's `server_tool_call` ---------


_ANY_ARGUMENTS = _ARGUMENTS._replace(
    read=lambda value: _read_arguments(value) if type(value) in (str, dict) else NOT_OURS
)


@cache
def _hosted(keys: HostedKeys) -> Table:
    id = (plain(keys.id, "id", str, blank=True),) if keys.id else ()
    type = (fields.constant("type", keys.type),) if keys.type else ()
    name, index = plain(keys.name, "name", str), fields.spelling("index")
    known = (name, *type, *id, _ANY_ARGUMENTS, index)
    silent = ("id", "executor")
    return Table(ToolUseBlock, *known, beside=(keys.result,), silent=silent, blank=True)


def read_hosted(
    item: Any, ordinal: int, keys: HostedKeys, t: Tables, origin: int | str | None
) -> list[Block]:
    """The call and the result of one item."""
    name = require(require(item, dict).get(keys.name), str, f".{keys.name}")
    preserved, spelling = Preserved(spelling={"in": keys.position}), {"in": keys.position}
    new_id = synthetic_tool_id(origin, keys.position, ordinal, name)
    attrs = {"id": new_id, "input": {}, **_hosted(keys).read(item, preserved)}
    preserved.mark_any_absent(item, (keys.id,) if keys.id else ())
    output = item.get(keys.result)
    texts = (TextBlock(output),) if type(output) is str and output else ()
    if keys.result in item and not texts:
        preserved.add_others({keys.result: output}, (), (keys.result,))
    return [
        ToolUseBlock(**attrs, executor="provider", raw=preserved.raw(t.name)),
        ToolResultBlock(attrs["id"], texts, raw={t.name: {"$form": spelling}}),
    ]


def write_hosted(
    call: ToolUseBlock, result: ToolResultBlock | None, keys: HostedKeys, to: WriteContext
) -> Wire:
    own_raw = raw_of(to.t.name, call.raw)
    item = _write(call, _hosted(keys), own_raw, to, keys.id or "")
    if result is not None and result.content:
        item[keys.result] = text_of(result, to.recorder)
        to.recorder.unwritten(result, frozenset({"tool_use_id", "content"}))
    return item if call.raw is None else restore_raw(item, call, call.raw, to.recorder)


def pairs(
    blocks: Sequence[Block], recorder: LossRecorder
) -> list[tuple[ToolUseBlock, ToolResultBlock | None]]:
    """Each call with its result; a result without a call is dropped."""
    results = {b.tool_use_id: b for b in blocks if type(b) is ToolResultBlock}
    calls = [block for block in blocks if type(block) is ToolUseBlock]
    found = [(call, results.pop(call.id, None)) for call in calls]
    for stray in results.values():
        recorder.dropped(stray, because("result_without_call_dropped"))
    return found
