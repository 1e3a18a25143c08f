"""Calls and results: of the client's functions, and of tools that Google runs.

Ids are optional on this wire. A call without one gets an id made of its place, which is not
written back; a result without one answers the first open call of its name, and is written
without one again (`paired`). Further spelling words: `kind`, the key of a part whose tool is not
known, and `said`, how a result's text becomes an object again."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec
from msgspec.structs import astuple

from interlingua.dialects.gemini.parts import (
    SIGNED,
    Turn,
    part_table,
    read_beside,
    read_media_part,
    write_media,
)
from interlingua.dialects.gemini.tables import CODE, NAME, NAMELESS, OUTCOMES, SERVER_TOOLS
from interlingua.dialects.kernel.calls import report_recovered
from interlingua.dialects.kernel.errors import read_each, require
from interlingua.dialects.kernel.fields import (
    NOT_OURS,
    Attrs,
    Field,
    Reading,
    Table,
    inside,
    lost,
    plain,
    together,
)
from interlingua.dialects.kernel.preserved import (
    FORM,
    NOTHING,
    Preserved,
    raw_inside,
    raw_of,
    spelling_of,
    was_absent,
    write_unknown,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.blocks import (
    ImageBlock,
    MediaBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.ids import is_synthetic_tool_id, synthetic_tool_id
from interlingua.model.reasons import because


class Calls(msgspec.Struct):
    """Assigns ids where the wire has none. `model` is true for the model's parts; `origin` is
    the position of the content, or the id of the response."""

    origin: object = 0
    model: bool = False
    _ordinal: int = 0
    _open: dict[str, list[str]] = {}
    _earlier: dict[str, list[str]] = {}

    def copy(self) -> Calls:
        open_calls, earlier = (
            {name: ids.copy() for name, ids in calls.items() if ids}
            for calls in (self._open, self._earlier)
        )
        return Calls(self.origin, self.model, self._ordinal, open_calls, earlier)

    def turn(self, origin: object, model: bool) -> None:
        """Starts another content. When the model's turn comes again, open calls belong to earlier
        turns, and later calls of the same name are answered first."""
        if model and not self.model and self._open:
            for name, ids in self._open.items():
                self._earlier.setdefault(name, []).extend(ids)
            self._open = {}
        self.origin, self.model, self._ordinal = origin, model, 0

    def called(self, wire_id: str | None, name: str, hosted: bool = False) -> str:
        id = wire_id or synthetic_tool_id(self.origin, self._ordinal, name)
        self._ordinal += 1
        self._open.setdefault(f"\0{name}" if hosted else name, []).append(id)
        return id

    def answered(self, wire_id: str | None, name: str, spelling: Wire, hosted: bool = False) -> str:
        """The id of the call that a result answers; one that only the call named is noted, since
        the result was without."""
        key = f"\0{name}" if hosted else name
        if wire_id:
            for calls in (self._open, self._earlier):
                if wire_id in calls.get(key, ()):
                    calls[key].remove(wire_id)
                    break
            return wire_id
        waiting = self._open.get(key) or self._earlier.get(key)
        if not waiting:
            self._ordinal += 1
            return synthetic_tool_id(self.origin, self._ordinal - 1, name)
        id = waiting.pop(0)
        if not is_synthetic_tool_id(id):
            spelling["paired"] = id
        return id


def _written_id(id: Any, block: Any) -> str | None:
    """The id, unless it was made up, or only the call had it."""
    if id is None or (id[:3] == "il_" and is_synthetic_tool_id(id)):
        return None
    written: str = id
    return None if spelling_of(NAME, block.raw).get("paired") == id else written


def _id(attr: str) -> Field:
    def read(value: Any) -> Reading:
        return {attr: value} if require(value, str) else {}

    return Field("id", (attr,), read, lambda block, _: _written_id(getattr(block, attr), block))


# -- calls ----------------------------------------------------------------------------------------


def _read_code(value: Any) -> Reading:
    """The input is the language and the code."""
    input = {key: item for key, item in require(value, dict).items() if key != "id"}
    if not value.get("id"):
        return {"input": input}
    return {"input": input, "id": require(value["id"], str, ".id")}


def _write_code(block: Any, recorder: LossRecorder) -> Wire:
    id = _written_id(block.id, block)
    return dict(block.input) if id is None else {**block.input, "id": id}


_NAMES = {"functionCall": "name", "toolCall": "toolType"}
_ARGS = plain("args", "input", dict, missing={})
CALLS = {
    **{
        key: part_table(
            ToolUseBlock,
            inside(key, plain(name, "name", str, missing=""), _ARGS, _id("id")),
            SIGNED,
            lost("call_type", because("custom_call_as_function"), kind="downgraded"),
            silent=("executor", "raw_arguments"),
        )
        for key, name in _NAMES.items()
    },
    "executableCode": part_table(
        ToolUseBlock,
        Field("executableCode", ("input", "id"), _read_code, _write_code),
        SIGNED,
        silent=("name", "executor", "raw_arguments"),
    ),
}


def quick_call(inner: Any, part: Wire, key: str, calls: Calls) -> ToolUseBlock | None:
    """A call in the plain spelling that nearly all have; None for any other."""
    if type(inner) is not dict:
        return None
    name, args = inner.get("name"), inner.get("args")
    beside = read_beside(part, key, "functionCall")
    if beside is None or type(name) is not str or type(args) is not dict or not _is_plain(inner):
        return None
    signature, spelling = beside
    id, raw = calls.called(inner.get("id"), name), {NAME: {FORM: spelling}} if spelling else None
    return ToolUseBlock(id, name, args, signature=signature, raw=raw)


def _is_plain(inner: Wire) -> bool:
    """Whether beside two other keys there is an ordinary id, or none."""
    id = inner.get("id")
    if id is None:
        return len(inner) == 2
    return len(inner) == 3 and type(id) is str and id != "" and id[:3] != "il_"


def read_call(part: Wire, key: str, preserved: Preserved, calls: Calls) -> ToolUseBlock:
    attrs = CALLS[key].read(part, preserved)
    hosted = key != "functionCall"
    name = attrs.setdefault("name", CODE)
    attrs["id"] = calls.called(attrs.get("id"), name, hosted)
    attrs["input"] = attrs["input"] or {}
    if key == "toolCall" and name not in SERVER_TOOLS:
        preserved.spelling["kind"] = key
    executor: Any = "provider" if hosted else "client"
    return ToolUseBlock(**attrs, executor=executor, raw=preserved.raw(NAME))


def write_call(block: ToolUseBlock, turn: Turn) -> Wire | None:
    turn.names[block.id] = block.name
    if block.raw is None and block.executor == "client" and _is_usual(block):
        call = {"name": block.name, "args": block.input}
        if block.id[:3] != "il_" or not is_synthetic_tool_id(block.id):
            call["id"] = block.id
        if block.signature is None:
            return {"functionCall": call}
        return {"functionCall": call, "thoughtSignature": block.signature}
    return _write_call(block, turn)


def _is_usual(block: ToolUseBlock) -> bool:
    bare = block.cache is None and block.call_type is None and block.raw_arguments is None
    return bare and block.caller is None


def _write_call(block: ToolUseBlock, turn: Turn) -> Wire | None:
    kind, recorder = spelling_of(NAME, block.raw).get("kind"), turn.recorder
    if block.executor == "client":
        part = CALLS["functionCall"].write_value(block, recorder)
        if block.raw_arguments is not None:
            report_recovered(block, recorder)
        return part
    if block.name == CODE and kind is None:
        return CALLS["executableCode"].write_value(block, recorder)
    if block.name in SERVER_TOOLS or kind == "toolCall":
        return CALLS["toolCall"].write_value(block, recorder)
    recorder.dropped(block, because("hosted_tool_foreign"))
    return None


# -- what a tool said: the `response` object, to text and back ------------------------------------
#
# `{"output": text}` is what the writer writes, `{"error": text}` for a failure. Other objects are
# text in JSON. Since reading again would need all of it twice, `said` notes how to make them:
#
#     key     it (or the JSON in it) was the value of this one key
#     json    it is JSON: the value, or without `key` the whole object

_KEYS = frozenset({"output", "result", "error"})
_TEXT = frozenset({"text"})
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


def _read_answer(response: Wire) -> tuple[str, bool, Wire]:
    """The text, whether it reports a failure, and the notes."""
    error = response.get("error")
    failed = error is not None and error is not False and (bool(error) or len(response) == 1)
    if len(response) == 1:
        [(key, value)] = response.items()
        if key in _KEYS and (key != "error" or failed):
            if type(value) is str:
                return value, failed, {"key": key} if key == "result" else {}
            return _encode(value).decode(), failed, {"key": key, "json": True}
    return _encode(response).decode() if response else "", failed, {"json": True}


def _write_answer(text: str, is_error: bool, spelling: Wire) -> Wire:
    if spelling:
        answer = _as_it_was(text, spelling)
        if answer is not None and _read_answer(answer)[:2] == (text, is_error):
            return answer
    return {"error": text} if is_error else {"output": text}


def _as_it_was(text: str, spelling: Wire) -> Wire | None:
    key = spelling.get("key")
    value: Any = text
    if spelling.get("json"):
        with suppress(msgspec.DecodeError, ValueError, RecursionError):
            value = _decode(text)
    if key is not None:
        return {key: value}
    return value if type(value) is dict else None


def _read_response(value: Any, path: str = "") -> Attrs:
    """The content of the notes is in the `raw`, as it is in that of a block."""
    text, is_error, spelling = _read_answer(require(value, dict, path))
    content = (TextBlock(text),) if text else ()
    noted = {"raw": {NAME: {FORM: {"said": spelling}}}} if spelling and text else {}
    return {"content": content, "is_error": is_error, **noted}


def _write_response(block: Any, recorder: LossRecorder) -> Wire:
    """All text of a result as one."""
    texts = [inner.text for inner in block.content if type(inner) is TextBlock]
    spelling = spelling_of(NAME, block.raw).get("said") or NOTHING
    _report_texts(block, recorder)
    return _write_answer("\n".join(texts), block.is_error, spelling)


def _report_texts(block: Any, recorder: LossRecorder) -> None:
    """Reports what a single text before all media cannot express."""
    texts, others = 0, 0
    for inner in block.content:
        if type(inner) is not TextBlock:
            others += 1
            continue
        texts += 1
        if astuple(inner)[1:] != _BARE:
            recorder.unwritten(inner, _TEXT)
        if others:
            reason = because("order_fixed")
            recorder.lost(inner, None, reason, kind="moved")
    if texts > 1:
        reason = because("joined")
        recorder.lost(block, "content", reason, kind="approximated")


# -- results --------------------------------------------------------------------------------------


def _read_result(wire: Wire) -> Reading:
    attrs = _read_response(wire.get("response", {}), ".response")
    media = read_each(wire.get("parts", []), ".parts", read_media_part)
    return {**attrs, "content": (*attrs["content"], *media)}


def _write_result(block: Any, recorder: LossRecorder) -> Wire:
    parts = []
    for inner in block.content:
        if isinstance(inner, MediaBlock):
            parts.append(_write_media(inner, recorder))
        elif type(inner) is UnknownBlock:
            parts.append(write_unknown(inner, recorder))
        elif type(inner) is not TextBlock:
            recorder.dropped(inner)
    media = [part for part in parts if part is not None]
    response = _write_response(block, recorder)
    return {"response": response, "parts": media} if media else {"response": response}


def _write_media(block: MediaBlock, recorder: LossRecorder) -> Wire | None:
    """Media in a result, whose parts have no resolution."""
    if type(block) is not ImageBlock or block.detail is None:
        return write_media(block, recorder)
    plain = block.replace(detail=None)
    recorder.alias(plain, block)
    part = write_media(plain, recorder)
    if part is not None:
        recorder.lost(block, "detail")
    return part


def _write_hosted(block: Any, recorder: LossRecorder) -> Wire:
    for inner in block.content:
        if type(inner) is not TextBlock:
            recorder.dropped(inner, because("result_content_unsupported"))
    return _write_response(block, recorder)


def _read_outcome(value: Any) -> Reading:
    return {"is_error": bool(OUTCOMES.read(value))} if type(value) is str else NOT_OURS


def _read_output(value: Any) -> Reading:
    return {"content": (TextBlock(value),)} if require(value, str) else {}


def _write_output(block: Any, recorder: LossRecorder) -> str | None:
    _write_hosted(block, recorder)
    texts = [inner.text for inner in block.content if type(inner) is TextBlock]
    return "\n".join(texts) or None


def _result(key: str, *fields: Field, silent: tuple[str, ...] = ()) -> Table:
    inner = inside(key, *fields, _id("tool_use_id"))
    return part_table(ToolResultBlock, inner, silent=silent)


_RESULT_ATTRS = ("content", "is_error")
_TOOL_NAMES = {"functionResponse": "name", "toolResponse": "toolType"}
"""The places of a tool's name in a result."""
_RESPONSE = together(("response", "parts"), _RESULT_ATTRS, _read_result, _write_result)._replace(
    fill=lambda _: {"output": ""}
)
_OUTCOME = Field(
    "outcome",
    ("is_error",),
    _read_outcome,
    lambda block, _: OUTCOMES.write(block.is_error),
    fill=lambda block: OUTCOMES.write(False),
    more=lambda value: type(value) is str,
)
RESULTS = {
    "functionResponse": _result(
        "functionResponse", plain("name", "tool_name", str, fill=lambda _: None), _RESPONSE
    ),
    "toolResponse": _result(
        "toolResponse",
        plain("toolType", "tool_name", str, fill=lambda _: None),
        Field(
            "response", _RESULT_ATTRS, _read_response, _write_hosted, fill=lambda _: {"output": ""}
        ),
    ),
    "codeExecutionResult": _result(
        "codeExecutionResult",
        _OUTCOME,
        Field("output", ("content",), _read_output, _write_output),
        silent=("tool_name",),
    ),
}


def quick_result(inner: Any, part: Wire, key: str, calls: Calls) -> ToolResultBlock | None:
    """A result in the plain spelling; None for any other."""
    if type(inner) is not dict:
        return None
    name, response = inner.get("name"), inner.get("response")
    if type(name) is not str or type(response) is not dict or not _is_plain(inner):
        return None
    text, is_error, answer_spelling = response.get("output"), False, NOTHING
    if type(text) is not str or len(response) != 1:
        text, is_error, answer_spelling = _read_answer(response)
    beside = read_beside(part, key, "functionResponse")
    if not text or calls.model or beside is None or beside[0] is not None:
        return None
    spelling = beside[1]
    if answer_spelling:
        spelling["said"] = answer_spelling
    id = calls.answered(inner.get("id"), name, spelling)
    raw = {NAME: {FORM: spelling}} if spelling else None
    return ToolResultBlock(id, (TextBlock(text),), is_error, name, raw=raw)


def read_result(part: Wire, key: str, preserved: Preserved, calls: Calls) -> ToolResultBlock:
    attrs = RESULTS[key].read(part, preserved)
    if noted := spelling_of(NAME, attrs.pop("raw", None)):
        preserved.spelling |= noted
    name = CODE if key == "codeExecutionResult" else attrs.get("tool_name")
    hosted = key != "functionResponse"
    id = calls.answered(attrs.get("tool_use_id"), name or "", preserved.spelling, hosted)
    if calls.model is not hosted or (key == "toolResponse" and name not in SERVER_TOOLS):
        preserved.spelling["kind"] = key
    return ToolResultBlock(
        **{**attrs, "tool_use_id": id, "tool_name": name}, raw=preserved.raw(NAME)
    )


def write_result(block: ToolResultBlock, turn: Turn) -> Wire | None:
    content = block.content
    if block.cache is not None or turn.model or len(content) != 1:
        return _write_any_result(block, turn)
    text, spelling = content[0], NOTHING
    if block.raw is not None:
        own_raw = block.raw.get(NAME)
        if len(block.raw) != 1 or type(own_raw) is not dict or own_raw.keys() != _FORM:
            return _write_any_result(block, turn)
        spelling = own_raw[FORM]
    if type(text) is not TextBlock or astuple(text)[1:] != _BARE or not spelling.keys() <= _USUAL:
        return _write_any_result(block, turn)
    inner = {
        "name": _name_of(block, turn),
        "response": _write_answer(text.text, block.is_error, spelling.get("said") or NOTHING),
    }
    if (id := _written_id(block.tool_use_id, block)) is not None:
        inner["id"] = id
    return {"functionResponse": inner}


_BARE = astuple(TextBlock(""))[1:]
_FORM = frozenset({FORM})
_USUAL = frozenset({"said", "paired"})
"""The spelling of an ordinary result."""


def _write_any_result(block: ToolResultBlock, turn: Turn) -> Wire | None:
    recorder = turn.recorder
    kind = spelling_of(NAME, block.raw).get("kind") or _kind_of(block, turn)
    if kind is None:
        recorder.dropped(block, because("hosted_tool_foreign"))
        return None
    own_raw = raw_inside(raw_of(NAME, block.raw), kind)
    named, out = _TOOL_NAMES.get(kind), {}
    if named is None and block.tool_name not in (CODE, None):
        recorder.lost(block, "tool_name", because("code_result_unnamed"))
    elif named is not None and block.tool_name is None and not was_absent(own_raw, named):
        out = {kind: {named: _name_of(block, turn)}}
    return RESULTS[kind].write_value(block, recorder, out)


def _name_of(block: ToolResultBlock, turn: Turn) -> str:
    name = block.tool_name
    return (turn.name_of(block.tool_use_id) or NAMELESS) if name is None else name


def _kind_of(block: ToolResultBlock, turn: Turn) -> str | None:
    if not turn.model:
        return "functionResponse"
    name = block.tool_name or turn.name_of(block.tool_use_id)
    if name == CODE:
        return "codeExecutionResult"
    return "toolResponse" if name in SERVER_TOOLS else None
