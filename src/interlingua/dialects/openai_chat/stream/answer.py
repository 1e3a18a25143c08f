"""An answer while a stream tells it. Its deltas are told as events, and put together as the wire
would have them whole, so that reading both ways gives the same value."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec

from interlingua.dialects.kernel.errors import ShapeError, each, maybe, take, want
from interlingua.dialects.kernel.stream_reader import (
    Spot,
    end_of_block,
    failed,
    start_of_block,
    without_reason,
)
from interlingua.dialects.kernel.wire import Wire, encode
from interlingua.dialects.openai_chat.calls import CallReader
from interlingua.dialects.openai_chat.messages import read_assistant
from interlingua.dialects.openai_chat.response import read_answer, read_stop
from interlingua.dialects.openai_chat.tables import CHUNK, Tables
from interlingua.dialects.openai_chat.text import read_annotations, read_part
from interlingua.dialects.openai_chat.thinking import KEY as DETAILS
from interlingua.dialects.openai_chat.thinking import KEYS as THINKING
from interlingua.dialects.openai_chat.thinking import STRINGS, TEXTS, read_detail, read_thinking
from interlingua.errors import ReadError
from interlingua.model.blocks import (
    AudioBlock,
    Block,
    RefusalBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)
from interlingua.model.events import (
    BlockDelta,
    Event,
    Stop,
    TextDelta,
    ThinkingDelta,
    ToolUseInputDelta,
)
from interlingua.model.exchange import ProviderError, Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Diagnostic

PADS = ("obfuscation", "p")
"""Keys that hide the length of a chunk; they say nothing."""
SNAPSHOT = "message"
"""The key of a choice under which some hosts repeat the whole message so far."""
GROQ = "x_groq"
"""The key under which Groq says what is its own; in a stream usage stands there too (SDK 1.7.0,
read 2026-11)."""

NO_DONE = Diagnostic("stream_end_missing", "no [DONE] after the last finish_reason")

_APART = frozenset({"id", "object", "choices", "usage", "error", *PADS})
_OBJECTS = {CHUNK: "chat.completion", "chat.completion.done": "chat.completion"}
_ITEMS = "thinking_blocks"
_LISTS = ("executed_tools", "images")
"""Keys whose items come whole."""
_ORDER = ("thinking", "executed_tools", "content", "refusal", "images", "audio", "tool_calls")
_MANY = 1_000_000
_PLACES = {place: number * _MANY for number, place in enumerate((*_ORDER, "function_call"))}
"""Where the indexes of blocks begin, so that they stand where a whole answer has them, whenever
they come."""
TOLD = THINKING | {"content", "refusal", "audio", "tool_calls", "function_call", *_LISTS}
"""What a delta tells of blocks."""
_PASSING = TOLD | {"annotations", "index", "token_id"}
"""What is put together from deltas, or is about one of them alone."""
_AROUND = frozenset({"index", "delta", SNAPSHOT, "finish_reason", "logprobs", "text", "usage"})
"""Of a choice, what is read elsewhere; Moonshot says usage in the choice of its last chunk (its API
reference, read 2025-10)."""
_GIVEN = {"function": "arguments", "custom": "input", "legacy": "arguments"}
_NO_CALL = {"name": "", "arguments": ""}
_OWN = frozenset({"type", "thinking", "signature", "index"})
_decode = msgspec.json.Decoder().decode


class Part:
    """A block that is being told. `finish` reads it as a whole answer would have it."""

    __slots__ = (
        "also",
        "choice",
        "event",
        "finish",
        "index",
        "is_item",
        "is_open",
        "pieces",
        "wire",
    )

    def __init__(
        self, choice: int, index: int, event: Any, finish: Callable[[Part], Block]
    ) -> None:
        self.choice = choice
        self.index = index
        self.event = event
        """What its pieces are."""
        self.finish = finish
        self.pieces: list[str] = []
        self.wire: Wire = {}
        self.also: set[str] = set()
        """The keys for thinking that say it, or say it again."""
        self.is_item = False
        """Thinking that a list tells."""
        self.is_open = True

    @property
    def text(self) -> str:
        if len(self.pieces) > 1:
            self.pieces = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""


def _refused(index: int, text: str, choice: int) -> BlockDelta:
    return BlockDelta(index, "text", text, choice=choice)


# -- thinking -------------------------------------------------------------------------------------


class Detail:
    """One item of `reasoning_details`, which may come in several pieces."""

    def __init__(self, wire: Wire, ordinal: int) -> None:
        self.wire: Wire = {}
        self.ordinal = ordinal
        self.key = TEXTS.get(wire["type"]) if type(wire.get("type")) is str else None
        self.parts: list[Part] = []

    def merge(self, wire: Wire) -> None:
        for key, value in wire.items():
            if key != self.key and (value or key not in self.wire):
                self.wire[key] = value

    def whole(self, text: str) -> Wire:
        wire = dict(self.wire)
        if wire.get("signature") == "":
            del wire["signature"]
        if self.key is not None and text:
            wire[self.key] = text
        return wire


class Thoughts:
    """The thinking of one choice beside its content, in the ways that `thinking.py` lists.

    Strings may come alone, or repeat what a list says. An item of `thinking_blocks` that repeats
    what strings have told so far, or has no text, ends it, and may sign it; items of
    `reasoning_details` with the same type and index are one."""

    def __init__(self, choice: Choice) -> None:
        self._choice = choice
        self._told: list[Part | Wire] = []
        """By strings and by `thinking_blocks`."""
        self._has_items = False
        self._details: list[Detail] = []

    def read(self, delta: Wire) -> None:
        spoken: list[tuple[Part, str]] = []
        if delta.get(DETAILS):
            each(delta[DETAILS], f".{DETAILS}", lambda item: self._detail(item, spoken))
        if delta.get(_ITEMS):
            each(delta[_ITEMS], f".{_ITEMS}", lambda item: self._item(item, spoken))
        keys = [key for key in STRINGS if maybe(delta, key, str)]
        if not keys:
            return
        if delta.get(DETAILS) or delta.get(_ITEMS):
            self._repeat(delta, keys, spoken)
        elif not self._details:
            self._say(delta, keys)

    # -- strings

    def _say(self, delta: Wire, keys: list[str]) -> None:
        part = self._last()
        if part is None or not part.is_open or part.is_item:
            part = self._open()
        text = delta[keys[0]]
        same = [key for key in keys if delta[key] == text]
        part.also.update(same)
        self._choice.say(part, text, *((delta, key) for key in same))

    def _last(self) -> Part | None:
        part = self._told[-1] if self._told else None
        return part if isinstance(part, Part) else None

    def _open(self, is_item: bool = False) -> Part:
        part = self._choice.open("thinking", ThinkingDelta, ThinkingBlock(""), self._finish)
        part.is_item = is_item
        self._told.append(part)
        return part

    def _finish(self, part: Part) -> Block:
        if not part.wire and not part.is_item:
            return ThinkingBlock(part.text)
        return self._read_item(_whole_item(part))[0]

    def _repeat(self, delta: Wire, keys: list[str], spoken: list[tuple[Part, str]]) -> None:
        """Strings that say what a list says."""
        text = "".join([text for _, text in spoken])
        same = [key for key in keys if delta[key] == text]
        for part, _ in spoken:
            part.also.update(same)
        self._choice.answer.also_at([(delta, key) for key in same])

    # -- thinking_blocks

    def _item(self, item: Any, spoken: list[tuple[Part, str]]) -> None:
        want(item, dict)
        self._has_items = True
        if item.get("type") != "thinking":
            whole = {key: value for key, value in item.items() if key != "index"}
            self._told.append(whole)
            self._choice.whole(self._read_item(whole), "thinking")
            return
        text, signature = maybe(item, "thinking", str) or "", maybe(item, "signature", str)
        part = self._last()
        loose = part if part is not None and not part.wire else None
        repeats = loose is not None and not loose.is_item and loose.text == text
        if text and not repeats:
            if loose is None or not loose.is_open or not loose.is_item:
                loose = self._open(is_item=True)
            self._choice.say(loose, text, (item, "thinking"))
            spoken.append((loose, text))
            if not signature:
                return
        if loose is None:
            if not signature and "index" not in item:
                return  # the beginning of one, as some servers say it
            loose = self._open(is_item=True)
        self._sign(loose, item, signature)

    def _sign(self, part: Part, item: Wire, signature: str | None) -> None:
        """The end of what was told so far."""
        part.wire = {"type": "thinking"}
        part.wire.update({key: value for key, value in item.items() if key not in _OWN})
        if signature is not None:
            part.wire["signature"] = signature
        if part.is_open:
            if signature is not None:
                self._choice.change(part, "signature", signature)
            self._choice.close(part)

    def _read_item(self, item: Wire) -> list[Block]:
        return read_thinking({_ITEMS: [item]}, self._choice.t, self._choice.origin)[0]

    # -- reasoning_details

    def _detail(self, item: Any, spoken: list[tuple[Part, str]]) -> None:
        detail = self._find(want(item, dict))
        detail.merge(item)
        if detail.key is None:
            self._choice.whole(self._read_detail(detail, ""), "thinking")
            return
        text, signature = maybe(item, detail.key, str), maybe(item, "signature", str)
        if not text and not signature:
            return
        part = detail.parts[-1] if detail.parts else None
        if part is None or not part.is_open:
            part = self._open_detail(detail)
        if text:
            self._choice.say(part, text, (item, detail.key))
            spoken.append((part, text))
        if signature:
            self._choice.change(part, "signature", signature)

    def _open_detail(self, detail: Detail) -> Part:
        start = self._read_detail(detail, "")[0]
        if isinstance(start, ThinkingBlock):
            start = start.replace(signature=None)

        def finish(part: Part) -> Block:
            return self._read_detail(detail, part.text)[0]

        part = self._choice.open("thinking", ThinkingDelta, start, finish)
        detail.parts.append(part)
        return part

    def _find(self, item: Wire) -> Detail:
        """The item that this piece belongs to."""
        kind = item.get("type")
        if type(kind) is str and kind in TEXTS:
            for detail in reversed(self._details):
                known = detail.wire
                if known.get("type") == kind and known.get("index") == item.get("index"):
                    return detail
        detail = Detail(item, len(self._details))
        self._details.append(detail)
        return detail

    def _read_detail(self, detail: Detail, text: str) -> list[Block]:
        wire = detail.whole(text)
        return read_detail(wire, detail.ordinal, self._choice.t, self._choice.origin)

    def wire(self) -> Wire:
        """The keys of a whole message."""
        wire: Wire = {}
        parts = [part for part in self._told if isinstance(part, Part)]
        if self._has_items:
            wire[_ITEMS] = [_whole_item(e) if isinstance(e, Part) else e for e in self._told]
        if self._details:
            wire[DETAILS] = [
                detail.whole("".join([part.text for part in detail.parts]))
                for detail in self._details
            ]
            parts += [part for detail in self._details for part in detail.parts]
        for key in STRINGS:
            text = "".join([part.text for part in parts if key in part.also])
            if text:
                wire[key] = text
        return wire


def _whole_item(part: Part) -> Wire:
    return {"type": "thinking", "thinking": part.text, **part.wire}


# -- content --------------------------------------------------------------------------------------


class Content:
    """The content of one choice: text in pieces, and, with Mistral, parts of other kinds."""

    def __init__(self, choice: Choice) -> None:
        self._choice = choice
        self._parts = (choice.t.parts["assistant"], choice.t)
        self._texts: list[Part] = []
        self._items: list[Part | Wire] | None = None
        """All parts, once there is a list of them."""
        self._annotations: list[Any] = []

    def read(self, content: Any, delta: Wire) -> None:
        if type(content) is str:
            self._say_text(content, (delta, "content"))
        elif type(content) is list:
            if self._items is None:
                self._items = list(self._texts)
            items = self._items
            each(content, ".content", lambda item: self._read_item(item, items))
        elif type(content) is dict:
            self._say_text(encode(content).decode())
        else:
            raise ShapeError(".content", "a string or a list", content)

    def _say_text(self, text: str, *spots: Spot) -> None:
        part = self._texts[-1] if self._texts else None
        if part is None or not part.is_open:
            part = self._choice.open("content", TextDelta, TextBlock(""), self._finish_text)
            self._texts.append(part)
            if self._items is not None:
                self._items.append(part)
        self._choice.say(part, text, *spots)

    def _finish_text(self, part: Part) -> Block:
        blocks: list[Block] = [TextBlock(part.text)]
        if self._annotations and len(self._texts) == 1:
            read_annotations(self._annotations, blocks, self._choice.t)
        return blocks[0]

    def _read_item(self, item: Any, items: list[Part | Wire]) -> None:
        if _is_text(item):
            if item["text"]:
                self._say_text(item["text"], (item, "text"))
        elif type(item) is dict and item.get("type") == "thinking" and _inner(item) is not None:
            self._read_thinking(item, items)
        else:
            block = read_part(item, *self._parts)
            items.append(item)
            self._choice.whole([block], "content")

    def _read_thinking(self, item: Wire, items: list[Part | Wire]) -> None:
        part = items[-1] if items else None
        if not isinstance(part, Part) or part.event is not ThinkingDelta or not part.is_open:
            start = read_part({**item, "thinking": []}, *self._parts)
            part = self._choice.open("content", ThinkingDelta, start, self._finish_thinking)
            items.append(part)
        for key, value in item.items():
            if key not in ("type", "thinking") and (value is not None or key not in part.wire):
                part.wire[key] = value
        part.also.add("string" if type(item["thinking"]) is str else "list")
        for holder, key in _inner(item) or ():
            if holder[key]:
                self._choice.say(part, holder[key], (holder, key))
        if type(item.get("signature")) is str and item["signature"]:
            self._choice.change(part, "signature", item["signature"])

    def _finish_thinking(self, part: Part) -> Block:
        return read_part(_thinking_item(part), *self._parts)

    def annotate(self, items: Any) -> None:
        self._annotations += want(items, list, ".annotations")
        if len(self._texts) != 1 or not self._texts[0].is_open:
            return
        for item in items:
            blocks: list[Block] = [TextBlock("")]
            read_annotations([item], blocks, self._choice.t)
            for citation in blocks[0].citations:  # type: ignore[union-attr]  # it is text
                self._choice.change(self._texts[0], "citations", citation)

    def wire(self) -> Wire:
        """The keys of a whole message."""
        wire: Wire = {}
        if self._items is not None:
            wire["content"] = [_whole_part(item) for item in self._items]
        elif self._texts:
            wire["content"] = "".join([part.text for part in self._texts])
        if self._annotations:
            wire["annotations"] = self._annotations
        return wire


def _whole_part(item: Part | Wire) -> Wire:
    if not isinstance(item, Part):
        return item
    is_text = item.event is not ThinkingDelta
    return {"type": "text", "text": item.text} if is_text else _thinking_item(item)


def _inner(item: Wire) -> list[Spot] | None:
    """Where the texts of a thinking part stand; None where there is more than text."""
    inner = item.get("thinking")
    if type(inner) is str:
        return [(item, "thinking")]
    if type(inner) is not list or not all(_is_text(chunk) for chunk in inner):
        return None
    return [(chunk, "text") for chunk in inner]


def _is_text(item: Any) -> bool:
    """A part with text and nothing else."""
    if type(item) is not dict or item.keys() != {"type", "text"}:
        return False
    return item["type"] == "text" and type(item["text"]) is str


def _thinking_item(part: Part) -> Wire:
    inner: Any = part.text
    if "list" in part.also:
        inner = [{"type": "text", "text": part.text}]
    return {"type": "thinking", "thinking": inner, **part.wire}


# -- calls ----------------------------------------------------------------------------------------


class Call:
    """A call, from its first piece on; its part begins when its name is known."""

    def __init__(self, index: Any, kind: str) -> None:
        self.index = index
        self.kind = kind
        self.id: str | None = None
        self.name: str | None = None
        self.wire: Wire = {}
        self.inner: Wire = {}
        self.given: Any = None
        """Arguments that came as an object; or an empty string, where any were spoken of."""
        self.early: list[str] = []
        """What came before the name did."""
        self.part: Part | None = None

    @property
    def text(self) -> str:
        return "".join(self.early) if self.part is None else self.part.text

    def merge(self, wire: Wire, inner: Wire) -> None:
        for key, value in wire.items():
            if key not in ("index", self.kind) and value is not None and value != "":
                self.wire.setdefault(key, value)
        given = _GIVEN[self.kind]
        for key, value in inner.items():
            if key == given and value is not None:
                self.given = self.given or ("" if type(value) is str else value)
            elif key not in ("name", given) and value is not None:
                self.inner[key] = value

    def whole(self) -> Wire:
        inner = {"name": self.name or "", **self.inner}
        if self.given is not None:
            inner[_GIVEN[self.kind]] = self.text or self.given
        if self.kind == "legacy":
            return inner
        wire = {**self.wire, self.kind: inner}
        if self.kind == "custom":
            wire.setdefault("type", "custom")
        return wire


class Calls:
    """The calls of one choice. Their pieces may interleave; hosts that send a call whole, give
    every call the same number, or none, or repeat its id and name with each piece are understood.
    """

    def __init__(self, choice: Choice) -> None:
        self._choice = choice
        self._calls: list[Call] = []
        self._legacy: Call | None = None

    def read(self, piece: Any) -> None:
        is_custom = want(piece, dict).get("type") == "custom" or type(piece.get("custom")) is dict
        kind = "custom" if is_custom else "function"
        inner = piece.get(kind)
        inner = {} if inner is None else want(inner, dict, f".{kind}")
        id, name = _word(piece, "id", ""), _word(inner, "name", f".{kind}")
        index = piece.get("index")
        call = self._find(index if type(index) is int else None, id, name)
        if call is None:
            call = Call(index, kind)
            self._calls.append(call)
        self._tell(call, piece, inner, id, name)

    def read_legacy(self, wire: Any) -> None:
        if want(wire, dict, ".function_call") == _NO_CALL:  # how some servers spell that it is none
            return
        if self._legacy is None:
            self._legacy = Call(None, "legacy")
        self._tell(self._legacy, {}, wire, None, _word(wire, "name", ".function_call"))

    def _find(self, index: int | None, id: str | None, name: str | None) -> Call | None:
        """The call that a piece belongs to; None for a new one."""
        calls = [call for call in self._calls if index is None or call.index == index]
        if id is not None:
            for call in calls:
                if call.id == id:
                    return call
        if not calls:
            return None
        last = calls[-1]
        if name is None:
            return last
        if index is None or (id is not None and last.id is not None):
            return None
        if last.name is not None and id is None and _is_whole(last.text):
            return None
        return last

    def _tell(self, call: Call, wire: Wire, inner: Wire, id: str | None, name: str | None) -> None:
        key = _GIVEN[call.kind]
        given = inner.get(key)
        if given is not None and type(given) is not str and type(given) is not dict:
            path = "function_call" if call.kind == "legacy" else call.kind
            raise ShapeError(f".{path}.{key}", "a string", given)
        call.merge(wire, inner)
        call.id, call.name = call.id or id, call.name or name
        if call.part is None and call.name is not None:
            self._start(call)
        if type(given) is not str or not given:
            return
        if call.part is None:
            call.early.append(given)
        elif call.part.is_open:
            self._choice.say(call.part, given, (inner, key))
        else:  # after its end: only the whole has it
            call.part.pieces.append(given)

    def _start(self, call: Call) -> None:
        place = "function_call" if call is self._legacy else "tool_calls"
        start = self._block(call, is_start=True)
        part = self._choice.open(place, ToolUseInputDelta, start, lambda _: self._block(call))
        early, call.part = call.early, part
        for text in early:
            self._choice.say(part, text)

    def _block(self, call: Call, is_start: bool = False) -> Block:
        """The call as a whole message has it, or as it begins."""
        wire = call.whole()
        if is_start:
            inner = wire if call.kind == "legacy" else wire[call.kind]
            inner[_GIVEN[call.kind]] = "{}"
        reader = CallReader(self._choice.t, self._choice.origin)
        if call is self._legacy:
            reader.count = len(self._calls)
            return reader.read_legacy(wire)
        reader.count = self._calls.index(call)
        return reader.read(wire)

    def start_all(self) -> None:
        """The message ends: also what never got a name is a call."""
        for call in (*self._calls, *([self._legacy] if self._legacy else ())):
            if call.part is None:
                self._start(call)

    def wire(self) -> Wire:
        """The keys of a whole message."""
        wire: Wire = {}
        if self._calls:
            wire["tool_calls"] = [call.whole() for call in self._calls]
        if self._legacy is not None:
            wire["function_call"] = self._legacy.whole()
        return wire


def _word(wire: Wire, key: str, path: str) -> str | None:
    """A name or an id; None for one that is not there, or is blank."""
    value = wire.get(key)
    return want(value, str, f"{path}.{key}") or None if value is not None else None


def _is_whole(text: str) -> bool:
    try:
        return type(_decode(text)) is dict
    except (msgspec.DecodeError, ValueError, RecursionError):
        return False


# -- choices --------------------------------------------------------------------------------------


class Choice:
    """One of the answers, so far."""

    def __init__(self, number: int, answer: Answer, origin: int | str) -> None:
        self.number = number
        self.answer = answer
        self.t = answer.t
        self.origin = origin
        self.word: Any = None
        self.is_snapshot = False
        self._open: list[Part] = []
        self._message: Wire = {}
        self._around: Wire = {}
        self._blocks: list[Block] = []
        self._refusals: list[Part] = []
        self._audio: Part | None = None
        self._transcript: list[str] = []
        self._lists: dict[str, list[Any]] = {}
        self._places = dict(_PLACES)
        self._thoughts, self._content, self._calls = Thoughts(self), Content(self), Calls(self)

    # -- blocks

    def _index(self, place: str) -> int:
        """The index of a new block."""
        self._places[place] += 1
        return self._places[place] - 1

    def open(self, place: str, event: Any, block: Block, finish: Callable[[Part], Block]) -> Part:
        """A new block, before which others end."""
        self._make_way()
        part = Part(self.number, self._index(place), event, finish)
        self._open.append(part)
        self.answer.events.append(start_of_block(part.index, block, choice=self.number))
        return part

    def say(self, part: Part, text: str, *spots: Spot) -> None:
        """A piece of a block, which stands in these places of the frame."""
        part.pieces.append(text)
        self.answer.events.append(part.event(part.index, text, choice=self.number))
        self.answer.piece = (part, spots)

    def change(self, part: Part, field: str, value: Any) -> None:
        """Something else of a block than its text."""
        self.answer.events.append(BlockDelta(part.index, field, value, choice=self.number))

    def _make_way(self) -> None:
        """Nothing but calls goes on beside another block, and they only till they are whole."""
        for part in list(self._open):
            if part.event is not ToolUseInputDelta or _is_whole(part.text):
                self.close(part)

    def close(self, part: Part) -> None:
        block = part.finish(part)
        self._open.remove(part)
        part.is_open = False
        self._end(part.index, block, not part.pieces)

    def _end(self, index: int, block: Block, untold: bool) -> None:
        if type(block) is ToolUseBlock and block.input and untold:  # it came as an object
            text = encode(block.input).decode()
            self.answer.events.append(ToolUseInputDelta(index, text, choice=self.number))
        self.answer.events.append(end_of_block(index, block, self.number))
        self._blocks.append(block)

    def whole(self, blocks: list[Block], place: str) -> None:
        """Blocks that came in one piece."""
        self._make_way()
        for block in blocks:
            index = self._index(place)
            self.answer.events.append(start_of_block(index, block, choice=self.number))
            self._end(index, block, untold=True)

    def finish(self) -> None:
        self._calls.start_all()
        for part in list(self._open):
            self.close(part)

    def blocks(self) -> tuple[Block, ...]:
        """All blocks so far that can be read, in the order of their coming."""
        blocks = list(self._blocks)
        for part in self._open:
            with suppress(ShapeError):
                blocks.append(part.finish(part))
        return tuple(blocks)

    # -- reading

    def read(self, wire: Wire) -> None:
        """What a chunk says of this choice."""
        self._merge_around(wire)
        key = "delta"
        if type(wire.get(SNAPSHOT)) is dict:
            if wire.get(key) is None:
                key = SNAPSHOT
            else:
                self.is_snapshot = True
        if wire.get(key) is not None:
            try:
                self._read_delta(want(wire[key], dict))
            except ShapeError as error:
                raise error.inside(f".{key}") from None
        word = wire.get("finish_reason")
        if type(word) in (str, int, float, bool):
            self.word = word
            self.finish()
            reason = read_stop(word, self._blocks)
            self.answer.events.append(Stop(reason, word, choice=self.number))

    def _merge_around(self, wire: Wire) -> None:
        for key, value in wire.items():
            if key not in _AROUND and (value is not None or key not in self._around):
                self._around[key] = value
        logprobs = wire.get("logprobs")
        if type(logprobs) is dict:
            so_far = self._around.get("logprobs") or {}
            self._around["logprobs"] = dict(so_far) | {
                key: _joined(so_far.get(key), value) for key, value in logprobs.items()
            }
        elif "logprobs" in wire:
            self._around.setdefault("logprobs", None)

    def _read_delta(self, delta: Wire) -> None:
        for key, value in delta.items():
            if key not in _PASSING and (value is not None or key not in self._message):
                self._message[key] = value
        if not THINKING.isdisjoint(delta):
            self._thoughts.read(delta)
        for key in _LISTS:
            if delta.get(key):
                self._read_list(delta, key)
        if delta.get("content"):
            self._content.read(delta["content"], delta)
        if delta.get("refusal"):
            self._read_refusal(delta)
        elif "refusal" in delta:
            self._message["refusal"] = None
        if delta.get("audio"):
            self._read_audio(take(delta, "audio", dict))
        if delta.get("tool_calls"):
            each(delta["tool_calls"], ".tool_calls", self._calls.read)
        if delta.get("function_call"):
            self._calls.read_legacy(delta["function_call"])
        if delta.get("annotations"):
            self._content.annotate(delta["annotations"])

    def _read_refusal(self, delta: Wire) -> None:
        text = take(delta, "refusal", str)
        part = self._refusals[-1] if self._refusals else None
        if part is None or not part.is_open:
            start = RefusalBlock("")
            part = self.open("refusal", _refused, start, lambda part: RefusalBlock(part.text))
            self._refusals.append(part)
        self.say(part, text, (delta, "refusal"))

    def _read_audio(self, audio: Wire) -> None:
        if not (audio.get("id") or audio.get("data") or audio.get("transcript")):
            return
        part = self._audio
        if part is None:
            start = AudioBlock(Source("base64", ""), transcript="")
            part = self._audio = self.open("audio", None, start, self._finish_audio)
        part.wire.update({key: audio[key] for key in audio if key not in ("data", "transcript")})
        for key, pieces in (("data", part.pieces), ("transcript", self._transcript)):
            if audio.get(key):
                piece = want(audio[key], str, f".audio.{key}")
                pieces.append(piece)
                if part.is_open:
                    self.change(part, key, piece)

    def _finish_audio(self, part: Part) -> Block:
        return self._alone("audio", self._whole_audio(part))[0]

    def _whole_audio(self, part: Part) -> Wire:
        return {**part.wire, "data": part.text, "transcript": "".join(self._transcript)}

    def _alone(self, key: str, value: Any) -> tuple[Block, ...]:
        """The blocks that a message has which says this alone."""
        said: Wire = {"role": "assistant", "content": None, key: value}
        return read_assistant(said, self.t, self.origin).content

    def _read_list(self, delta: Wire, key: str) -> None:
        items = self._lists.setdefault(key, [])
        known = len(self._alone(key, items)) if items else 0
        items += take(delta, key, list)
        self.whole(list(self._alone(key, items)[known:]), key)

    def wire(self) -> Wire:
        """The choice as a whole answer has it."""
        message = {"role": "assistant", "content": None, **self._message}
        message.update(self._content.wire())
        message.update(self._lists)
        if self._refusals:
            message["refusal"] = "".join([part.text for part in self._refusals])
        if self._audio is not None:
            message["audio"] = self._whole_audio(self._audio)
        message.update(self._thoughts.wire())
        message.update(self._calls.wire())
        choice = {"index": self.number, "message": message, **self._around}
        return {**choice, "finish_reason": self.word}


def _joined(so_far: Any, value: Any) -> Any:
    """Lists grow; for the rest, a null does not undo what was said."""
    if type(so_far) is list and type(value) is list:
        return so_far + value
    return so_far if value is None else value


# -- the whole ------------------------------------------------------------------------------------


class Answer:
    """All that the chunks have said."""

    def __init__(self, t: Tables) -> None:
        self.t = t
        self.choices: dict[int, Choice] = {}
        self.usage: Wire | None = None
        self.events: list[Event] = []
        """What the frame tells that is being read."""
        self.piece: tuple[Part, tuple[Spot, ...]] | None = None
        """The last piece in it, and where it stands."""
        self._id: str | None = None
        self._top: Wire = {}

    def begin(self) -> None:
        """Another frame is read."""
        self.events, self.piece = [], None

    def also_at(self, spots: list[Spot]) -> None:
        """The last piece stands in these places as well."""
        if self.piece is not None:
            part, known = self.piece
            self.piece = (part, (*known, *spots))

    def merge(self, chunk: Wire) -> None:
        if type(chunk.get("id")) is str:
            self._id = self._id or chunk["id"] or None
        kind = chunk.get("object")
        if kind:
            self._top["object"] = _OBJECTS.get(kind, kind) if type(kind) is str else kind
        for key, value in chunk.items():
            if key == GROQ and type(value) is dict:
                value = {name: item for name, item in value.items() if name != "usage"}
            if key not in _APART and (key not in self._top or value not in (None, "", {})):
                self._top[key] = value

    def choice(self, number: int) -> Choice:
        choice = self.choices[number] = Choice(number, self, self._id or number)
        return choice

    def response(self) -> Response:
        wire = dict(self._top)
        if self._id is not None:
            wire["id"] = self._id
        if self.usage is not None:
            wire["usage"] = self.usage
        wire["choices"] = [choice.wire() for _, choice in sorted(self.choices.items())]
        return read_answer(wire, self.t)

    def ended(self, has_done: bool) -> Response:
        """The answer, with what is odd about its end."""
        response = self.response()
        if has_done and self.has_stopped():
            return response
        messages = [response.message, *response.alternatives]
        words = [choice.word for _, choice in sorted(self.choices.items())]
        for number, (message, word) in enumerate(zip(messages, words, strict=True)):
            metadata = message.metadata
            if word is None:
                metadata = without_reason(metadata)
            elif not has_done:
                metadata = metadata.replace(diagnostics=(*metadata.diagnostics, NO_DONE))
            messages[number] = message.replace(metadata=metadata)
        return response.replace(message=messages[0], alternatives=tuple(messages[1:]))

    def partial(self, error: ProviderError) -> Message | None:
        """What there is of it when the stream fails."""
        if not self.choices:
            return None
        try:
            message = self.response().message
        except ReadError:  # which whoever feeds the stream was told
            message = Message(Role.ASSISTANT, self.choices[min(self.choices)].blocks())
        return failed(message, error)

    def has_stopped(self) -> bool:
        """Whether every choice has told why it ended."""
        return bool(self.choices) and all(each.word is not None for each in self.choices.values())

    def is_void(self) -> bool:
        """Whether nothing at all was said, nor why."""
        return not any(each.word is not None or each.blocks() for each in self.choices.values())

    def is_whole(self) -> bool:
        """Whether all has ended at a host that repeats the message all along."""
        return self.has_stopped() and all(each.is_snapshot for each in self.choices.values())
