"""Tool calls: functions, custom tools, and the legacy `function_call`."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from interlingua import arguments
from interlingua.arguments import to_text
from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.openai_chat.cache import MARKS, read_cache, write_cache
from interlingua.dialects.openai_chat.shape import (
    Note,
    form_in,
    keep_whole,
    mine_of,
    put_back,
    want,
)
from interlingua.dialects.openai_chat.tables import Tables
from interlingua.dialects.shape import ShapeError
from interlingua.ids import is_synthetic_tool_id, synthetic_tool_id
from interlingua.model.base import JsonObject
from interlingua.model.blocks import Block, ToolUseBlock, UnknownBlock
from interlingua.model.metadata import Diagnostic

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


def write_call(block: ToolUseBlock, ordinal: int, t: Tables, scribe: Scribe, signs: bool) -> Wire:
    """One item of `tool_calls`; `signs` says that Google's signatures may be written."""
    ids = t.host.ids
    id = block.id if ids is None else ids.fit(block.id)
    if block.raw is None and block.call_type is None and block.signature is None:
        function = {"name": block.name, "arguments": write_arguments(block)}
        wire: Wire = {"id": id, "type": "function", "function": function}
        if block.cache is not None:
            write_cache(wire, block, block.cache, t, scribe, "call", {})
        return wire
    mine = mine_of(t.name, block.raw)
    form = form_in(mine)
    wire = _body(block, t, scribe, form)
    if not (is_synthetic_tool_id(block.id) and ("no_id" in form or "id" in form.get("empty", {}))):
        wire["id"] = id
    if "index" in form:
        wire["index"] = ordinal if form["index"] is True else form["index"]
    said = _SAID
    if block.signature is not None and (signs or form.get("signature") == "google"):
        wire["extra_content"] = {"google": {"thought_signature": block.signature}}
        said = _SAID_SIGNED
    write_cache(wire, block, block.cache, t, scribe, "call", form)
    scribe.unsaid(block, said)
    return put_back(wire, mine, FILLERS)


def _body(block: ToolUseBlock, t: Tables, scribe: Scribe, form: Wire) -> Wire:
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
        scribe.lost(block, "call_type", "sent as a function call", "downgraded")
    function: Wire = {"name": block.name}
    if form.get("arguments") == "object":
        function["arguments"] = given
    elif given or not form.get("no_input"):
        function["arguments"] = write_arguments(block)
    return {"type": "function", "function": function}


def write_legacy(block: ToolUseBlock, t: Tables, scribe: Scribe) -> Wire:
    """The message's `function_call`."""
    mine = mine_of(t.name, block.raw)
    form = form_in(mine)
    function: Wire = _body(block, t, scribe, form)["function"]
    scribe.unsaid(block, _SAID)
    return put_back(function, mine)


def is_legacy(block: ToolUseBlock, t: Tables) -> bool:
    """Read from a `function_call`, and still without an id of its own."""
    form = form_in(mine_of(t.name, block.raw))
    return bool(form.get("legacy")) and is_synthetic_tool_id(block.id) and block.call_type is None


_SAID = frozenset({"id", "name", "input", "raw_arguments", "call_type", "executor", "cache"})
_SAID_SIGNED = _SAID | {"signature"}
