"""Calls and results: of the client's functions, and of tools that Google runs.

Ids are optional on this wire. A call without one gets an id made of its place, which is not written
back; a result without one answers the first open call of its name, and is written without one
again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
from msgspec.structs import astuple

from interlingua.dialects.gemini.media import read_media_part, write_media
from interlingua.dialects.gemini.tables import CODE, NAME, NAMELESS, OUTCOMES, SERVER_TOOLS
from interlingua.dialects.gemini.text import SIGNED, Turn, part_table, write_part
from interlingua.dialects.kernel.calls import tell_recovered
from interlingua.dialects.kernel.errors import each, want
from interlingua.dialects.kernel.fields import (
    NOT_OURS,
    Field,
    Reading,
    Table,
    inside,
    plain,
    together,
)
from interlingua.dialects.kernel.kept import (
    FORM,
    NOTHING,
    Kept,
    did_without,
    form_of,
    keep,
    mine_inside,
    mine_of,
    put_back,
    write_unknown,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.ids import is_synthetic_tool_id, synthetic_tool_id
from interlingua.model.blocks import TextBlock, ToolResultBlock, ToolUseBlock, UnknownBlock


class Calls:
    """Hands out ids where the wire has none. `model` says whose parts are being read, `origin` is
    the content's position, or the id of the response."""

    __slots__ = ("_earlier", "_open", "_ordinal", "model", "origin")

    def __init__(self, origin: object = 0, model: bool = False) -> None:
        self.origin = origin
        self.model = model
        self._ordinal = 0
        self._open: dict[str, list[str]] = {}
        self._earlier: dict[str, list[str]] = {}

    def turn(self, origin: object, model: bool) -> None:
        """Another content begins. When the model speaks again, what is still open is of earlier
        turns, and later calls of the same name are answered first."""
        if model and not self.model and self._open:
            for name, ids in self._open.items():
                self._earlier.setdefault(name, []).extend(ids)
            self._open = {}
        self.origin, self.model, self._ordinal = origin, model, 0

    def called(self, given: str | None, name: str, hosted: bool = False) -> str:
        id = given or synthetic_tool_id(self.origin, self._ordinal, name)
        self._ordinal += 1
        self._open.setdefault(f"\0{name}" if hosted else name, []).append(id)
        return id

    def answered(self, given: str | None, name: str, form: Wire, hosted: bool = False) -> str:
        """The id of the call that a result answers; one that only the call named is noted, since
        the result was without."""
        key = f"\0{name}" if hosted else name
        if given:
            for calls in (self._open, self._earlier):
                if given in calls.get(key, ()):
                    calls[key].remove(given)
                    break
            return given
        waiting = self._open.get(key) or self._earlier.get(key)
        if not waiting:
            self._ordinal += 1
            return synthetic_tool_id(self.origin, self._ordinal - 1, name)
        id = waiting.pop(0)
        if not is_synthetic_tool_id(id):
            form["paired"] = id
        return id


def _written_id(id: Any, block: Any) -> str | None:
    """The id, unless it was made up, or only the call had it."""
    if id is None or (id[:3] == "il_" and is_synthetic_tool_id(id)):
        return None
    written: str = id
    return None if form_of(NAME, block.raw).get("paired") == id else written


def _id(attr: str) -> Field:
    def read(given: Any) -> Reading:
        return {attr: given} if want(given, str) else {}

    return Field("id", (attr,), read, lambda block, _: _written_id(getattr(block, attr), block))


# -- calls ----------------------------------------------------------------------------------------


def _read_code_input(given: Any) -> Reading:
    """The input is the language and the code."""
    input = {key: item for key, item in want(given, dict).items() if key != "id"}
    if not given.get("id"):
        return {"input": input}
    return {"input": input, "id": want(given["id"], str, ".id")}


def _write_code_input(block: Any, recorder: LossRecorder) -> Wire:
    id = _written_id(block.id, block)
    return dict(block.input) if id is None else {**block.input, "id": id}


def _call(key: str, name: str, silent: tuple[str, ...]) -> Table:
    args = plain("args", "input", dict, missing={})
    inner = inside(key, plain(name, "name", str, missing=""), args, _id("id"))
    return part_table(ToolUseBlock, inner, SIGNED, silent=silent)


_HOSTED = ("executor", "raw_arguments")
CALLS = {
    "functionCall": _call("functionCall", "name", ("raw_arguments",)),
    "toolCall": _call("toolCall", "toolType", _HOSTED),
    "executableCode": part_table(
        ToolUseBlock,
        Field("executableCode", ("input", "id"), _read_code_input, _write_code_input),
        SIGNED,
        silent=("name", *_HOSTED),
    ),
}


def quick_call(inner: Wire, part: Wire, calls: Calls) -> ToolUseBlock | None:
    """A call in the plain spelling that nearly all have; None for any other."""
    name, args, signature = inner.get("name"), inner.get("args"), part.get("thoughtSignature")
    if type(name) is not str or type(args) is not dict or not _is_plain(inner):
        return None
    if len(part) != 1 and (len(part) != 2 or type(signature) is not str):
        return None
    return ToolUseBlock(calls.called(inner.get("id"), name), name, args, signature=signature)


def _is_plain(inner: Wire) -> bool:
    """Whether beside two other keys there is an id that says nothing special, or none."""
    id = inner.get("id")
    if id is None:
        return len(inner) == 2
    return len(inner) == 3 and type(id) is str and id != "" and id[:3] != "il_"


def read_call(part: Wire, key: str, kept: Kept, calls: Calls) -> ToolUseBlock:
    attrs = CALLS[key].read(part, kept)
    hosted = key != "functionCall"
    name = attrs.setdefault("name", CODE)
    attrs["id"] = calls.called(attrs.get("id"), name, hosted)
    attrs["input"] = attrs["input"] or {}
    if hosted:
        attrs["executor"] = "provider"
    if key == "toolCall" and name not in SERVER_TOOLS:
        kept.form["kind"] = key  # nothing else tells that it is one
    return ToolUseBlock(**attrs, raw=kept.raw(NAME))


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
    return block.cache is None and block.call_type is None and block.raw_arguments is None


def _write_call(block: ToolUseBlock, turn: Turn) -> Wire | None:
    if block.executor == "provider":
        return _write_hosted_call(block, turn)
    part = write_part(block, CALLS["functionCall"], turn.recorder)
    if block.raw_arguments is not None:
        tell_recovered(block, turn.recorder)
    return part


def _write_hosted_call(block: ToolUseBlock, turn: Turn) -> Wire | None:
    kind = form_of(NAME, block.raw).get("kind")
    if block.name == CODE and kind is None:
        return write_part(block, CALLS["executableCode"], turn.recorder)
    if block.name in SERVER_TOOLS or kind == "toolCall":
        return write_part(block, CALLS["toolCall"], turn.recorder)
    turn.recorder.dropped(block, "tools that another provider runs are not known here")
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
    """The text, whether it tells of a failure, and the notes."""
    failed = _is_failure(response)
    if len(response) == 1:
        [(key, value)] = response.items()
        if key in _KEYS and (key != "error" or failed):
            if type(value) is str:
                return value, failed, {"key": key} if key == "result" else {}
            return _encode(value).decode(), failed, {"key": key, "json": True}
    return _encode(response).decode() if response else "", failed, {"json": True}


def _is_failure(response: Wire) -> bool:
    error = response.get("error")
    return error is not None and error is not False and (bool(error) or len(response) == 1)


def _write_answer(text: str, is_error: bool, form: Wire) -> Wire:
    if form:
        answer = _as_it_was(text, form)
        if answer is not None and _read_answer(answer)[:2] == (text, is_error):
            return answer
    return {"error": text} if is_error else {"output": text}


def _as_it_was(text: str, form: Wire) -> Wire | None:
    key = form.get("key")
    value: Any = text
    if form.get("json"):
        with suppress(msgspec.DecodeError, ValueError, RecursionError):
            value = _decode(text)
    if key is not None:
        return {key: value}
    return value if type(value) is dict else None


def _read_response(given: Any) -> tuple[list[Any], bool]:
    text, is_error, form = _read_answer(given)
    return [TextBlock(text, raw=keep(NAME, None, form))] if text else [], is_error


def _write_response(block: Any, recorder: LossRecorder) -> tuple[Wire, list[Any]]:
    """All text of a result as one, and what is no text."""
    texts: list[TextBlock] = []
    others: list[Any] = []
    for inner in block.content:
        if type(inner) is not TextBlock:
            others.append(inner)
            continue
        texts.append(inner)
        if inner.raw is not None or inner.cache or inner.citations or inner.signature is not None:
            recorder.unwritten(inner, _TEXT)
        if others:
            reason = "the text of a result comes before its media"
            recorder.lost(inner, None, reason, kind="moved", severity="info")
    if len(texts) > 1:
        reason = "a result has one text: several are lines of it"
        recorder.lost(block, "content", reason, kind="approximated", severity="info")
    form = form_of(NAME, block.raw).get("said") or form_of(NAME, texts[0].raw if texts else None)
    return _write_answer("\n".join([text.text for text in texts]), block.is_error, form), others


# -- results --------------------------------------------------------------------------------------

_SAYS = ("content", "is_error")


def _read_result(given: Wire) -> Reading:
    content, is_error = _read_response(want(given.get("response", {}), dict, ".response"))
    content += each(given.get("parts", []), ".parts", read_media_part)
    return {"content": tuple(content), "is_error": is_error}


def _write_result(block: Any, recorder: LossRecorder) -> Wire:
    response, others = _write_response(block, recorder)
    parts = [_write_inside(other, recorder) for other in others]
    said = [part for part in parts if part is not None]
    return {"response": response, "parts": said} if said else {"response": response}


def _write_inside(block: Any, recorder: LossRecorder) -> Wire | None:
    write: Callable[..., Wire | None] = (
        write_unknown if type(block) is UnknownBlock else write_media
    )
    return write(block, recorder)


def _read_hosted(given: Any) -> Reading:
    content, is_error = _read_response(want(given, dict))
    return {"content": tuple(content), "is_error": is_error}


def _write_hosted(block: Any, recorder: LossRecorder) -> Wire:
    response, others = _write_response(block, recorder)
    _drop_media(others, recorder)
    return response


def _drop_media(others: list[Any], recorder: LossRecorder) -> None:
    for other in others:
        recorder.dropped(other, "only text comes back from tools that are run here")


def _read_outcome(given: Any) -> Reading:
    return {"is_error": bool(OUTCOMES.read(given))} if type(given) is str else NOT_OURS


def _read_output(given: Any) -> Reading:
    return {"content": (TextBlock(given),)} if want(given, str) else {}


def _write_output(block: Any, recorder: LossRecorder) -> str | None:
    texts = [inner.text for inner in block.content if type(inner) is TextBlock]
    _drop_media(_write_response(block, recorder)[1], recorder)
    return "\n".join(texts) or None


RESULTS = {
    "functionResponse": part_table(
        ToolResultBlock,
        inside(
            "functionResponse",
            plain("name", "tool_name", str, fill=lambda _: None),
            together(("response", "parts"), _SAYS, _read_result, _write_result)._replace(
                fill=lambda _: {"output": ""}
            ),
            _id("tool_use_id"),
        ),
    ),
    "toolResponse": part_table(
        ToolResultBlock,
        inside(
            "toolResponse",
            plain("toolType", "tool_name", str, fill=lambda _: None),
            Field("response", _SAYS, _read_hosted, _write_hosted, fill=lambda _: {"output": ""}),
            _id("tool_use_id"),
        ),
    ),
    "codeExecutionResult": part_table(
        ToolResultBlock,
        inside(
            "codeExecutionResult",
            Field(
                "outcome",
                ("is_error",),
                _read_outcome,
                lambda block, _: OUTCOMES.write(block.is_error),
                fill=lambda block: OUTCOMES.write(False),
                more=lambda given: type(given) is str,
            ),
            Field("output", ("content",), _read_output, _write_output),
            _id("tool_use_id"),
        ),
        silent=("tool_name",),
    ),
}
_NAMES = {"functionResponse": "name", "toolResponse": "toolType"}


def quick_result(inner: Wire, calls: Calls) -> ToolResultBlock | None:
    """A result in the plain spelling; None for any other."""
    name, response = inner.get("name"), inner.get("response")
    if type(name) is not str or type(response) is not dict or not _is_plain(inner):
        return None
    text, is_error, said = response.get("output"), False, NOTHING
    if type(text) is not str or len(response) != 1:
        text, is_error, said = _read_answer(response)
    if not text or calls.model:
        return None
    form: Wire = {"said": said} if said else {}
    id = calls.answered(inner.get("id"), name, form)
    raw = {NAME: {FORM: form}} if form else None
    return ToolResultBlock(id, (TextBlock(text),), is_error, name, raw=raw)


def read_result(part: Wire, key: str, kept: Kept, calls: Calls) -> ToolResultBlock:
    attrs = RESULTS[key].read(part, kept)
    name = CODE if key == "codeExecutionResult" else attrs.get("tool_name")
    content = attrs.get("content")
    if content and type(content[0]) is TextBlock and content[0].raw is not None:
        kept.form["said"] = form_of(NAME, content[0].raw)
        attrs["content"] = (TextBlock(content[0].text), *content[1:])
    hosted = key != "functionResponse"
    id = calls.answered(attrs.get("tool_use_id"), name or "", kept.form, hosted)
    if calls.model is not hosted or (key == "toolResponse" and name not in SERVER_TOOLS):
        kept.form["kind"] = key  # nothing else tells that it is one
    return ToolResultBlock(**{**attrs, "tool_use_id": id, "tool_name": name}, raw=kept.raw(NAME))


def write_result(block: ToolResultBlock, turn: Turn) -> Wire | None:
    content = block.content
    if block.cache is not None or turn.model or len(content) != 1:
        return _write_any_result(block, turn)
    text, form = content[0], NOTHING
    if block.raw is not None:
        mine = block.raw.get(NAME)
        if len(block.raw) != 1 or type(mine) is not dict or mine.keys() != _FORM:
            return _write_any_result(block, turn)
        form = mine[FORM]
    if type(text) is not TextBlock or astuple(text)[1:] != _BARE or not form.keys() <= _USUAL:
        return _write_any_result(block, turn)
    inner = {
        "name": _name_of(block, turn),
        "response": _write_answer(text.text, block.is_error, form.get("said") or NOTHING),
    }
    if (id := _written_id(block.tool_use_id, block)) is not None:
        inner["id"] = id
    return {"functionResponse": inner}


_BARE = astuple(TextBlock(""))[1:]
_FORM = frozenset({FORM})
_USUAL = frozenset({"said", "paired"})
"""Of the form of a result that has nothing else to say."""


def _write_any_result(block: ToolResultBlock, turn: Turn) -> Wire | None:
    mine, recorder = mine_of(NAME, block.raw), turn.recorder
    kind = form_of(NAME, block.raw).get("kind") or _kind_of(block, turn)
    if kind is None:
        recorder.dropped(block, "the result of a tool that another provider ran")
        return None
    part: Wire = {}
    RESULTS[kind].write(block, part, mine, recorder)
    inner = part.setdefault(kind, {})
    if kind == "codeExecutionResult":
        if block.tool_name not in (CODE, None):
            recorder.lost(block, "tool_name", "the result of code names no tool")
    elif block.tool_name is None and not did_without(mine_inside(mine, kind), _NAMES[kind]):
        inner[_NAMES[kind]] = _name_of(block, turn)
    return part if block.raw is None else put_back(part, block, block.raw, recorder)


def _name_of(block: ToolResultBlock, turn: Turn) -> str:
    name = block.tool_name
    return (turn.names.get(block.tool_use_id) or NAMELESS) if name is None else name


def _kind_of(block: ToolResultBlock, turn: Turn) -> str | None:
    if not turn.model:
        return "functionResponse"
    name = block.tool_name or turn.names.get(block.tool_use_id)
    if name == CODE:
        return "codeExecutionResult"
    return "toolResponse" if name in SERVER_TOOLS else None
