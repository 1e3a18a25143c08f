"""Tools that the service itself ran: Groq's `executed_tools`, OpenRouter's `server_tool_call`.

One wire item is a call and its result, two blocks of the same assistant message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from interlingua import arguments
from interlingua.arguments import to_text
from interlingua.dialects.kernel.errors import ShapeError
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import ERROR_MARK
from interlingua.dialects.openai_chat.shape import (
    Note,
    form_in,
    keep_whole,
    maybe,
    mine_of,
    put_back,
    want,
)
from interlingua.dialects.openai_chat.tables import MARKS, Tables
from interlingua.dialects.openai_chat.text import (
    read_cache,
    read_content,
    write_cache,
    write_content,
)
from interlingua.ids import is_synthetic_tool_id, synthetic_tool_id
from interlingua.model.base import JsonObject
from interlingua.model.blocks import Block, TextBlock, ToolResultBlock, ToolUseBlock, UnknownBlock
from interlingua.model.message import Message
from interlingua.model.metadata import Diagnostic

# -- calls ----------------------------------------------------------------------------------------

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode

KNOWN = frozenset({"id", "type", "function", "custom", "index", "extra_content", *MARKS})
FILLERS = {"type": "function"}
NO_BLANK_AFTER = frozenset("\\:,[{")


# Arguments


class Spoken(NamedTuple):
    """Arguments that came as text: the text is kept where the input alone does not give it."""

    input: JsonObject
    text: str | None
    mode: arguments.Mode


def read_arguments(text: str) -> Spoken:
    try:
        value = _decode(text)
    except (msgspec.DecodeError, ValueError, RecursionError):
        value = None
    if type(value) is not dict or text.count("{") + text.count("[") > arguments.MAX_DEPTH:
        found = arguments.recover(text)
        return Spoken(found.input, text, found.mode)
    return Spoken(value, None if _is_compact(text, value) else text, "strict")


def _is_compact(text: str, value: JsonObject) -> bool:
    """Whether `value` is written as this text. A blank after a key is told without writing it."""
    blank = text.find('": ')
    if blank > 0 and text[blank - 1] not in NO_BLANK_AFTER:
        return False
    return bool(_encode(value).decode() == text)


def write_arguments(block: ToolUseBlock) -> str:
    """The text that was read while it still says the input; else the input as compact JSON."""
    given, text = block.input, block.raw_arguments
    if text is not None and _says(text, given):
        return text
    return write_input(given)


def write_input(given: JsonObject) -> str:
    """The input as compact JSON. For a short text it is quicker to look at what was written than at
    each value; numbers that JSON cannot hold are written as null."""
    try:
        data = _encode(given)
    except (TypeError, ValueError, RecursionError):
        return to_text(given)  # which says what is wrong
    text = data.decode()
    size = len(text)
    if size > _LONG or b"null" in data:
        return to_text(given)
    if size > _SHALLOW:
        for item in given.values():
            if type(item) is str and size - len(item) < _SHALLOW:
                break  # the rest is too short to be deep
        else:
            if data.count(b"{") + data.count(b"[") > arguments.MAX_DEPTH:
                return to_text(given)
    return text


_LONG = 1024
_SHALLOW = 2 * arguments.MAX_DEPTH
"""So many brackets it takes to be too deep."""


def _says(text: str, input: JsonObject) -> bool:
    found = read_arguments(text).input
    try:
        return bool(_encode(found) == _encode(input)) or arguments.same(found, input)
    except (TypeError, ValueError, RecursionError):
        return arguments.same(found, input)


def recovered(mode: arguments.Mode, id: str) -> Diagnostic:
    details = {"mode": mode, "tool_use_id": id}
    return Diagnostic("tool_arguments_recovered", details=details)


# Reading


def read_plain_call(call: Any) -> Any:
    """A function call of which all is well, as it usually is; None for anything else."""
    if type(call) is not dict or len(call) != 3 or call.get("type") != "function":
        return None
    function, id = call.get("function"), call.get("id")
    if type(function) is not dict or len(function) != 2 or type(id) is not str or not id:
        return None
    name, text = function.get("name"), function.get("arguments")
    if type(name) is not str or type(text) is not str:
        return None
    try:
        input = _decode(text)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    if type(input) is not dict or text.count("{") + text.count("[") > arguments.MAX_DEPTH:
        return None
    return ToolUseBlock(id, name, input, None if _is_compact(text, input) else text)


class CallReader:
    """Reads the calls of one message; `origin` (a position or a response id) names those that came
    without an id."""

    __slots__ = ("count", "diagnostics", "origin", "signed", "t")

    def __init__(self, t: Tables, origin: int | str | None) -> None:
        self.t = t
        self.origin = origin
        self.count = 0
        self.signed = False  # a call carries Google's signature
        self.diagnostics: tuple[Diagnostic, ...] = ()

    def read(self, call: Any) -> Block:
        """One item of `tool_calls`."""
        self.count += 1
        if type(call) is not dict:
            raise ShapeError("", "an object", call)
        function = call.get("function")
        if (
            len(call) == 3
            and type(function) is dict
            and len(function) == 2
            and call.get("type") == "function"
        ):
            id, name, text = call.get("id"), function.get("name"), function.get("arguments")
            if type(id) is str and id and type(name) is str and type(text) is str:
                input, raw, mode = read_arguments(text)
                if mode != "strict":
                    self.diagnostics += (recovered(mode, id),)
                return ToolUseBlock(id, name, input, raw)
        return self._read_slowly(call)

    def _read_slowly(self, call: Wire) -> Block:
        kind = "custom" if call.get("type") == "custom" else "function"
        inner = call.get(kind)
        if inner is None:
            return UnknownBlock(keep_whole(self.t.name, call, {"in": "tool_calls"}))
        note, taken = Note(), {kind}
        name = want(want(inner, dict, f".{kind}").get("name"), str, f".{kind}.name")
        id = self._id(call, name, note)
        if call.get("id"):
            taken.add("id")
        if call.get("type") == kind:
            taken.add("type")
        self._read_index(call, note, taken)
        fields: dict[str, Any] = self._input(inner, kind, f".{kind}", id, note)
        note.leave_inner(call, kind, {"name", *fields.pop("taken")})
        signature = read_google(call, note)
        if signature is not None:
            self.signed = True
            taken.add("extra_content")
        fields["cache"] = read_cache(call, self.t, "call", note.form, taken)
        note.leave(call, taken, KNOWN)
        note.absent(call, ("type",))
        return ToolUseBlock(id, name, signature=signature, raw=note.raw(self.t.name), **fields)

    def _id(self, call: Wire, name: str, note: Note) -> str:
        id = call.get("id")
        if id:
            return want(id, str, ".id")
        if id is not None and id != "":
            raise ShapeError(".id", "a string", id)
        if "id" not in call:
            note.form["no_id"] = True
        return synthetic_tool_id(self.origin, self.count - 1, name)

    def _read_index(self, call: Wire, note: Note, taken: set[str]) -> None:
        if type(call.get("index")) is int:
            taken.add("index")
            index = call["index"]
            note.form["index"] = True if index == self.count - 1 else index

    def _input(self, inner: Wire, kind: str, path: str, id: str, note: Note) -> dict[str, Any]:
        """The fields that hold what was given to the tool."""
        key = "input" if kind == "custom" else "arguments"
        given = inner.get(key)
        if given is None:
            note.form["no_input"] = True
            call_type = "custom" if kind == "custom" else None
            return {"input": {}, "call_type": call_type, "taken": ()}
        if kind == "custom":
            text = want(given, str, f"{path}.input")
            return {"input": {"input": text}, "call_type": "custom", "taken": (key,)}
        if type(given) is dict:
            note.form["arguments"] = "object"
            return {"input": given, "taken": (key,)}
        input, raw, mode = read_arguments(want(given, str, f"{path}.arguments"))
        if mode != "strict":
            self.diagnostics += (recovered(mode, id),)
        return {"input": input, "raw_arguments": raw, "taken": (key,)}

    def read_legacy(self, call: Any) -> Block:
        """The message's `function_call`: one call, without an id."""
        self.count += 1
        name = want(want(call, dict, ".function_call").get("name"), str, ".function_call.name")
        note = Note()
        note.form["legacy"] = True
        id = synthetic_tool_id(self.origin, self.count - 1, name)
        fields = self._input(call, "function", ".function_call", id, note)
        note.leave(call, {"name", *fields.pop("taken")}, ("arguments",))
        return ToolUseBlock(id, name, raw=note.raw(self.t.name), **fields)


def read_google(wire: Wire, note: Note) -> str | None:
    """Google's signature on a call or a message; what else stands around it is kept."""
    extra = wire.get("extra_content")
    google = extra.get("google") if type(extra) is dict else None
    signature = google.get("thought_signature") if type(google) is dict else None
    if type(extra) is not dict or type(google) is not dict or type(signature) is not str:
        return None
    note.form["signature"] = "google"
    beside = {key: value for key, value in google.items() if key != "thought_signature"}
    around = {key: value for key, value in extra.items() if key != "google"}
    if beside:
        around["google"] = beside
    if around:
        note.rest["extra_content"] = around
    return signature


# Writing


def write_plain_call(block: ToolUseBlock) -> Wire:
    """A function call with nothing special about it."""
    text = write_arguments(block) if block.raw_arguments is not None else write_input(block.input)
    function = {"name": block.name, "arguments": text}
    return {"id": block.id, "type": "function", "function": function}


def write_call(
    block: ToolUseBlock, ordinal: int, t: Tables, recorder: LossRecorder, signs: bool
) -> Wire:
    """One item of `tool_calls`; `signs` says that Google's signatures may be written."""
    ids = t.host.ids
    id = block.id if ids is None else ids.fit(block.id)
    if block.raw is None and block.call_type is None and block.signature is None:
        function = {"name": block.name, "arguments": write_arguments(block)}
        wire: Wire = {"id": id, "type": "function", "function": function}
        if block.cache is not None:
            write_cache(wire, block, block.cache, t, recorder, "call", {})
        return wire
    mine = mine_of(t.name, block.raw)
    form = form_in(mine)
    wire = _body(block, t, recorder, form)
    if not (is_synthetic_tool_id(block.id) and ("no_id" in form or "id" in form.get("empty", {}))):
        wire["id"] = id
    if "index" in form:
        wire["index"] = ordinal if form["index"] is True else form["index"]
    said = _SAID
    if block.signature is not None and (signs or form.get("signature") == "google"):
        wire["extra_content"] = {"google": {"thought_signature": block.signature}}
        said = _SAID_SIGNED
    write_cache(wire, block, block.cache, t, recorder, "call", form)
    recorder.unwritten(block, said)
    return put_back(wire, mine, FILLERS)


def _body(block: ToolUseBlock, t: Tables, recorder: LossRecorder, form: Wire) -> Wire:
    """The call without its id."""
    given = block.input
    if block.call_type is not None:
        is_text = given.keys() == {"input"} and type(given["input"]) is str
        if block.call_type == "custom" and t.custom_tools:
            if is_text:
                custom = {"name": block.name, "input": given["input"]}
                return {"type": "custom", "custom": custom}
            if not given and form.get("no_input"):
                return {"type": "custom", "custom": {"name": block.name}}
        recorder.lost(block, "call_type", "sent as a function call", "downgraded")
    function: Wire = {"name": block.name}
    if form.get("arguments") == "object":
        function["arguments"] = given
    elif given or not form.get("no_input"):
        function["arguments"] = write_arguments(block)
    return {"type": "function", "function": function}


def write_legacy(block: ToolUseBlock, t: Tables, recorder: LossRecorder) -> Wire:
    """The message's `function_call`."""
    mine = mine_of(t.name, block.raw)
    form = form_in(mine)
    function: Wire = _body(block, t, recorder, form)["function"]
    recorder.unwritten(block, _SAID)
    return put_back(function, mine)


def is_legacy(block: ToolUseBlock, t: Tables) -> bool:
    """Read from a `function_call`, and still without an id of its own."""
    form = form_in(mine_of(t.name, block.raw))
    return bool(form.get("legacy")) and is_synthetic_tool_id(block.id) and block.call_type is None


_SAID = frozenset({"id", "name", "input", "raw_arguments", "call_type", "executor", "cache"})
_SAID_SIGNED = _SAID | {"signature"}

# -- results --------------------------------------------------------------------------------------

RESULT_FILLERS = {"content": ""}
RESULT_KNOWN = frozenset({"content", "name", "tool_call_id", *MARKS})


class OpenCalls:
    """The calls that wait for a result; looked up only for results that came without an id."""

    def __init__(self) -> None:
        self._seen = 0
        self._open: list[ToolUseBlock] = []

    def answer(self, messages: Sequence[Message], name: str | None) -> str:
        """The id of the first open call of this name (of any, without a name)."""
        for message in messages[self._seen :]:
            for block in message.content:
                if isinstance(block, ToolUseBlock):
                    self._open.append(block)
                elif isinstance(block, ToolResultBlock):
                    self._close(block.tool_use_id)
        self._seen = len(messages)
        for call in self._open:
            if name is None or call.name == name:
                return call.id
        return synthetic_tool_id(len(messages), 0, name)

    def _close(self, id: str) -> None:
        for index, call in enumerate(self._open):
            if call.id == id:
                del self._open[index]
                return


# Reading


def read_result(
    wire: Wire, t: Tables, before: Sequence[Message], calls: OpenCalls
) -> ToolResultBlock:
    note, taken = Note(), {"role"}
    if wire["role"] == "function":
        note.form["role"] = "function"
    name, id = wire.get("name"), wire.get("tool_call_id")
    if name:
        want(name, str, ".name")
        taken.add("name")
        note.form["name"] = True
    if id:
        want(id, str, ".tool_call_id")
        taken.add("tool_call_id")
    else:
        if id is not None and id != "":
            raise ShapeError(".tool_call_id", "a string", id)
        id = note.form["answers"] = calls.answer(before, name or None)
    content = wire.get("content")
    blocks = read_content(content, t.parts["tool"], t, note)
    if blocks or content == "":
        taken.add("content")
    failed = _take_mark(blocks, note)
    cache = read_cache(wire, t, "message", note.form, taken)
    note.leave(wire, taken, RESULT_KNOWN)
    note.absent(wire, RESULT_FILLERS)
    return ToolResultBlock(id, tuple(blocks), failed, name or None, cache, note.raw(t.name))  # type: ignore[arg-type]  # a misplaced block is for validate() to name


def _take_mark(blocks: list[Block], note: Note) -> bool:
    """Whether the text begins with the mark of a failed result, which is taken off."""
    first = blocks[0] if blocks else None
    if not isinstance(first, TextBlock) or not first.text.startswith(ERROR_MARK):
        return False
    text = first.text[len(ERROR_MARK) :]
    if text:
        blocks[0] = first.replace(text=text)
    elif first.cache is None and first.raw is None:
        del blocks[0]
    else:
        return False
    note.form["marked"] = True
    return True


# Writing


def write_result(block: ToolResultBlock, t: Tables, recorder: LossRecorder) -> Wire:
    content = block.content
    ids = t.host.ids
    id = block.tool_use_id if ids is None else ids.fit(block.tool_use_id)
    if block.raw is None and len(content) == 1 and not block.is_error and block.cache is None:
        only = content[0]
        if type(only) is TextBlock and only.text and only.raw is None and only.cache is None:
            if only.citations or only.signature or block.tool_name:
                recorder.unwritten(only, _SAID_TEXT)
                recorder.unwritten(block, _said(block, recorder))
            return {"role": "tool", "tool_call_id": id, "content": only.text}
    return _write_slowly(block, id, t, recorder)


def _said(block: ToolResultBlock, recorder: LossRecorder) -> frozenset[str]:
    """A tool's name is said by its call."""
    named = block.tool_name is not None and block.tool_name == recorder.called(block)
    return _RESULT_SAID | {"tool_name"} if named else _RESULT_SAID


def _write_slowly(block: ToolResultBlock, id: str, t: Tables, recorder: LossRecorder) -> Wire:
    mine = mine_of(t.name, block.raw)
    form = form_in(mine)
    wire: Wire = {"role": form.get("role", "tool")}
    if form.get("answers") != block.tool_use_id:
        wire["tool_call_id"] = id
    wire["content"] = _write_said(block, t, recorder, form)
    said = _said(block, recorder)
    if block.tool_name is not None and form.get("name"):
        wire["name"] = block.tool_name
        said = said | {"tool_name"}
    if block.cache is not None:
        _write_result_cache(wire, block, t, recorder, form)
    recorder.unwritten(block, said)
    return put_back(wire, mine, RESULT_FILLERS)


def _write_said(block: ToolResultBlock, t: Tables, recorder: LossRecorder, form: Wire) -> object:
    said = write_content(block.content, t.parts["tool"], t, recorder, form)
    if not block.is_error:
        return said if said is not None else ""
    if not form.get("marked"):
        recorder.lost(block, "is_error", "said by a mark before the text", "downgraded")
    if said is None and form.get("content") == "list":
        return [{"type": "text", "text": ERROR_MARK}]
    if said is None:
        return ERROR_MARK
    if isinstance(said, str):
        return ERROR_MARK + said
    first = said[0]
    if isinstance(first, dict) and first.get("type") == "text" and first["text"]:
        return [{**first, "text": ERROR_MARK + first["text"]}, *said[1:]]
    if isinstance(first, str) and first:
        return [ERROR_MARK + first, *said[1:]]
    return [{"type": "text", "text": ERROR_MARK}, *said]


def _write_result_cache(
    wire: Wire, block: ToolResultBlock, t: Tables, recorder: LossRecorder, form: Wire
) -> None:
    """A mark beside the content where it was read there; else on the last part."""
    if "cache" in form:
        write_cache(wire, block, block.cache, t, recorder, "message", form)
        return
    parts = wire["content"]
    if isinstance(parts, str):
        parts = [{"type": "text", "text": parts}]
    last = dict(parts[-1]) if parts and isinstance(parts[-1], dict) else None
    if last is None or "part" not in t.cache.places or not _is_unmarked(last):
        recorder.lost(block, "cache")
        return
    recorder.lost(block, "cache", "set on its last part", "moved", "info")
    write_cache(last, block, block.cache, t, recorder, "part", form)
    wire["content"] = [*parts[:-1], last]


def _is_unmarked(part: Wire) -> bool:
    return not any(key in part for key in MARKS)


_RESULT_SAID = frozenset({"tool_use_id", "content", "is_error", "cache"})
_SAID_TEXT = frozenset({"text"})

# -- tools that the service ran -------------------------------------------------------------------


class Keys(NamedTuple):
    """Where a kind of item has its parts; `place` is what `$form.in` says of its blocks."""

    place: str
    type: str | None
    name: str
    id: str | None
    result: str


EXECUTED = Keys("executed_tools", None, "type", None, "output")
SERVER_CALL = Keys("thinking", "reasoning.server_tool_call", "tool_name", "tool_call_id", "result")


def read_hosted(
    item: Any, ordinal: int, keys: Keys, t: Tables, origin: int | str | None
) -> list[Block]:
    """The call and the result of one item."""
    if type(item) is not dict:
        raise ShapeError("", "an object", item)
    note, taken = Note(), {keys.name, "index"}
    if keys.type is not None:
        taken.add("type")
    name = want(item.get(keys.name), str, f".{keys.name}")
    id = maybe(item, keys.id, str) if keys.id else None
    if id:
        taken.add(keys.id or "")
    else:
        note.form["no_id"] = True
        id = synthetic_tool_id(origin, keys.place, ordinal, name)
    fields = _read_given(item, note, taken)
    output = item.get(keys.result)
    if type(output) is str and output:
        taken.add(keys.result)
    read_index(item, ordinal, note)
    note.form["in"] = keys.place
    note.leave(item, taken, ("arguments", "id", "format", keys.result, keys.id or "id"))
    content = (TextBlock(output),) if type(output) is str and output else ()
    return [
        ToolUseBlock(id, name, executor="provider", raw=note.raw(t.name), **fields),
        ToolResultBlock(id, content, raw={t.name: {"$form": {"in": keys.place}}}),
    ]


def _read_given(item: Wire, note: Note, taken: set[str]) -> dict[str, Any]:
    given = item.get("arguments")
    if type(given) is dict:
        taken.add("arguments")
        note.form["arguments"] = "object"
        return {"input": given}
    if type(given) is not str:
        note.form["no_input"] = True
        return {"input": {}}
    taken.add("arguments")
    input, text, _ = read_arguments(given)
    return {"input": input, "raw_arguments": text}


def read_index(item: Wire, ordinal: int, note: Note) -> None:
    """An item's number is spelling; most often it is its place in the list."""
    if "index" in item:
        index = item["index"]
        note.form["index"] = True if type(index) is int and index == ordinal else index


def write_index(item: Wire, ordinal: int, form: Wire) -> None:
    if "index" in form:
        item["index"] = ordinal if form["index"] is True else form["index"]


def is_hosted(block: Block, t: Tables) -> str | None:
    """Where a provider's call or result stood, if this dialect read it."""
    place: str | None = form_in(mine_of(t.name, block.raw)).get("in")
    return place


def write_hosted(
    call: ToolUseBlock,
    result: ToolResultBlock | None,
    ordinal: int,
    keys: Keys,
    t: Tables,
    recorder: LossRecorder,
) -> Wire:
    mine = mine_of(t.name, call.raw)
    form = form_in(mine)
    item: Wire = {keys.name: call.name}
    if keys.type is not None:
        item["type"] = keys.type
    if form.get("arguments") == "object":
        item["arguments"] = call.input
    elif call.input or not form.get("no_input"):
        item["arguments"] = write_arguments(call)
    if keys.id and not (form.get("no_id") and is_synthetic_tool_id(call.id)):
        item[keys.id] = call.id
    write_index(item, ordinal, form)
    recorder.unwritten(call, _SAID_CALL)
    if result is not None:
        _write_output(item, result, keys, recorder)
    return put_back(item, mine)


def _write_output(item: Wire, result: ToolResultBlock, keys: Keys, recorder: LossRecorder) -> None:
    texts = [block for block in result.content if isinstance(block, TextBlock)]
    if texts:
        item[keys.result] = "".join([block.text for block in texts])
    for block in result.content:
        if not isinstance(block, TextBlock):
            recorder.dropped(block)
    for block in texts[1:]:
        recorder.lost(block, None, "joined with the text before it", "approximated", "info")
    recorder.unwritten(result, _SAID_RESULT)


def pairs(
    blocks: Sequence[Block], recorder: LossRecorder
) -> list[tuple[ToolUseBlock, ToolResultBlock | None]]:
    """Each call with its result; a result without a call is dropped."""
    results = {b.tool_use_id: b for b in blocks if isinstance(b, ToolResultBlock)}
    calls = [block for block in blocks if isinstance(block, ToolUseBlock)]
    found = [(call, results.pop(call.id, None)) for call in calls]
    for stray in results.values():
        recorder.dropped(stray, "its call is not there")
    return found


_SAID_CALL = frozenset({"id", "name", "input", "raw_arguments", "executor"})
_SAID_RESULT = frozenset({"tool_use_id", "content"})
