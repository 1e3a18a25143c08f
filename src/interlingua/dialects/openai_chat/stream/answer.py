"""An answer under assembly. Its deltas become events, and are put together as the whole wire would
have them, so that reading both ways gives the same value."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from typing import Any

import msgspec

from interlingua.dialects.kernel import stream_reader as kernel
from interlingua.dialects.kernel.errors import (
    ShapeError,
    at_path,
    optional,
    read_each,
    require,
    require_key,
)
from interlingua.dialects.kernel.stream_reader import Spot, end_of_block, merge, start_of_block
from interlingua.dialects.kernel.wire import Wire, decode_quickly, encode
from interlingua.dialects.openai_chat import text as content
from interlingua.dialects.openai_chat import thinking
from interlingua.dialects.openai_chat.calls import CallReader
from interlingua.dialects.openai_chat.messages import BLOCK_KEYS, NO_CALL, read_assistant
from interlingua.dialects.openai_chat.response import read_answer, read_stop
from interlingua.dialects.openai_chat.tables import CHUNK, Tables
from interlingua.dialects.openai_usage import read_tier
from interlingua.errors import ReadError
from interlingua.model import blocks as model
from interlingua.model import events as ev
from interlingua.model.blocks import Block, TextBlock, ThinkingBlock
from interlingua.model.events import Event
from interlingua.model.exchange import ProviderError, Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Diagnostic, Usage

PADS = ("obfuscation", "p")
"""Keys without content that hide the length of a chunk: OpenAI's, and `p` of others (recorded
answers, read 2026-11)."""
SNAPSHOT = "message"
"""The key of a choice under which some hosts repeat the whole message so far (recorded answers,
read 2026-11)."""
GROQ = "x_groq"
"""The key of Groq's own members; in a stream usage stands there too (SDK 1.7.0, read 2026-11)."""

NO_DONE = Diagnostic("stream_end_missing", "no [DONE] after the last finish_reason")

_APART = frozenset({"id", "object", "choices", "usage", "error", *PADS})
_OBJECTS = {CHUNK: "chat.completion", "chat.completion.done": "chat.completion"}
_ITEMS = "thinking_blocks"
_LISTS = ("executed_tools", "images")
"""Keys whose items come whole."""
_MANY = 1_000_000
_FIRST_INDEX = {
    position: number * _MANY for number, position in enumerate(("thinking", *BLOCK_KEYS))
}
"""The first indexes of blocks, in the order of a whole answer, whenever they come."""
BLOCK_CONTENT = thinking.KEYS.union(BLOCK_KEYS)
"""Members of a delta that belong to blocks."""
_PASSING = BLOCK_CONTENT | {"annotations", "index", "token_id"}
"""Members that are put together from deltas, or concern one of them alone."""
_AROUND = frozenset({"index", "delta", SNAPSHOT, "finish_reason", "logprobs", "text", "usage"})
"""Members of a choice that are read elsewhere; Moonshot has usage in the choice of its last chunk
(its API reference, read 2025-10)."""
_LEGACY = "legacy"
_ARGUMENT_KEYS = {"function": "arguments", "custom": "input", _LEGACY: "arguments"}
_OWN = frozenset({"type", "thinking", "signature", "index"})
_STRING = "thinking"
"""The place of thinking in strings; others have the key of their list."""
_AUDIO = model.AudioBlock(model.Source("base64", ""), transcript="")
_AUDIO_KEYS = ("data", "transcript")


class Item(msgspec.Struct, eq=False):
    """What the wire has for a block: an item of a list, or the value of a key. `event` is the
    event of its pieces, and `read` returns the block for a text; `wire` has the members beside
    the text, which is under `key`. Where other items come between its pieces, each run of pieces
    is a block."""

    position: str
    event: Any
    read: Callable[[Any, str], Block]
    start: Block | None = None
    key: str | None = None
    wire: Wire = {}
    also: set[str] = set()
    """The keys that hold the thinking, or repeat it."""
    choice: int = 0
    index: int = -1
    is_open: bool = False
    pieces: list[str] = []
    before: str = ""
    """The text of earlier runs."""

    @property
    def has_begun(self) -> bool:
        return self.index >= 0

    @property
    def text(self) -> str:
        """The text of this run."""
        if len(self.pieces) > 1:
            self.pieces = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""

    def merge(self, wire: Wire, but: Collection[str]) -> None:
        """The members of a piece beside its text; empty ones do not erase earlier values."""
        for key, value in wire.items():
            if key not in but and (value or key not in self.wire):
                self.wire[key] = value

    def whole(self, text: str | None = None) -> Wire:
        """The item of a whole answer."""
        text = self.before + self.text if text is None else text
        return self.wire if self.key is None else {**self.wire, self.key: text}


# -- thinking -------------------------------------------------------------------------------------

ThoughtPiece = tuple[Item, str] | None
"""A piece of thinking in an item of a list."""


class Thoughts:
    """The thinking of one choice beside its content, in the ways that `thinking.py` lists.

    Strings may come alone, or repeat the content of a list. An item of `thinking_blocks` that
    repeats the strings so far, or has no text, ends the thinking, and may sign it; items of
    `reasoning_details` with the same type and index are one."""

    def __init__(self, choice: Choice) -> None:
        self._choice = choice
        self._streamed: list[Item] = []
        """By strings, and by `thinking_blocks`, which have a key for their text."""
        self._has_items = False
        self._details: list[Item] = []

    def read(self, delta: Wire) -> None:
        pieces = [
            *read_each(delta.get(thinking.KEY) or [], f".{thinking.KEY}", self._detail),
            *read_each(delta.get(_ITEMS) or [], f".{_ITEMS}", self._item),
        ]
        keys = [key for key in thinking.STRINGS if optional(delta, key, str)]
        if not keys:
            return
        if not pieces:
            if not self._details:
                item = self._open(_STRING)
                same = [key for key in keys if delta[key] == delta[keys[0]]]
                item.also.update(same)
                self._choice.add_piece(item, delta[keys[0]], *((delta, key) for key in same))
            return
        text = "".join([piece[1] for piece in pieces if piece is not None])
        same = [key for key in keys if delta[key] == text]
        for piece in pieces:
            if piece is not None:
                piece[0].also.update(same)
        self._choice.answer.also_at([(delta, key) for key in same])

    def _open(self, kind: str) -> Item:
        """The item that continues, if it has this form, or a new one."""
        item = self._streamed[-1] if self._streamed else None
        if item is None or not item.is_open or item.position != kind:
            item = Item(kind, ev.ThinkingDelta, self._block, ThinkingBlock(""), "thinking")
            self._streamed.append(item)
        return item

    def _block(self, item: Item, text: str) -> Block:
        if not item.wire and item.position == _STRING:
            return ThinkingBlock(text)
        return self._read({"type": "thinking", **item.whole(text)})[0]

    def _read(self, item: Wire) -> list[Block]:
        return thinking.read_thinking({_ITEMS: [item]}, self._choice.t, self._choice.origin)[0]

    def _item(self, wire: Any) -> ThoughtPiece:
        """One of `thinking_blocks`."""
        self._has_items = True
        if require(wire, dict).get("type") != "thinking":
            whole = {key: value for key, value in wire.items() if key != "index"}
            self._streamed.append(Item(_ITEMS, None, self._block, wire=whole))
            self._choice.whole(self._read(whole), "thinking")
            return None
        text, signature = optional(wire, "thinking", str) or "", optional(wire, "signature", str)
        item = self._streamed[-1] if self._streamed and not self._streamed[-1].wire else None
        piece: ThoughtPiece = None
        if text and not (item is not None and item.position == _STRING and item.text == text):
            item = self._open(_ITEMS)
            self._choice.add_piece(item, text, (wire, "thinking"))
            piece = (item, text)
            if not signature:
                return piece
        if item is None and not signature and "index" not in wire:
            return None  # the beginning of one, in the spelling of some servers
        self._sign(item or self._open(_ITEMS), wire, signature)
        return piece

    def _sign(self, item: Item, wire: Wire, signature: str | None) -> None:
        """Ends the item so far with a signature."""
        if not item.has_begun:
            self._choice.opened(item)
        item.wire = {"type": "thinking"}
        item.merge(wire, _OWN if signature is None else _OWN - {"signature"})
        if item.is_open:
            if signature is not None:
                self._choice.change(item, "signature", signature)
            self._choice.close(item)

    def _detail(self, wire: Any) -> ThoughtPiece:
        """One of `reasoning_details`."""
        item = self._find(require(wire, dict))
        item.merge(wire, (item.key,) if item.key else ())
        if item.key is None:
            self._choice.whole(self._blocks(item, ""), "thinking")
            return None
        text, signature = optional(wire, item.key, str), optional(wire, "signature", str)
        if text:
            self._choice.add_piece(item, text, (wire, item.key))
        if signature:
            self._choice.change(self._choice.opened(item), "signature", signature)
        return (item, text) if text else None

    def _find(self, wire: Wire) -> Item:
        """The item that this piece belongs to."""
        kind = wire.get("type")
        key = thinking.TEXTS.get(kind) if type(kind) is str else None
        for item in reversed(self._details) if key is not None else ():
            if item.wire.get("type") == kind and item.wire.get("index") == wire.get("index"):
                return item
        item = Item(thinking.KEY, ev.ThinkingDelta, lambda *each: self._blocks(*each)[0], key=key)
        self._details.append(item)
        return item

    def _blocks(self, item: Item, text: str) -> list[Block]:
        ordinal = self._details.index(item)
        return thinking.read_detail(
            _detail(item, text), ordinal, self._choice.t, self._choice.origin
        )

    def wire(self) -> Wire:
        """The keys of a whole message."""
        wire: Wire = {}
        if self._has_items:
            wire[_ITEMS] = [{"type": "thinking", **item.whole()} for item in self._streamed]
        if self._details:
            wire[thinking.KEY] = [_detail(item, item.before + item.text) for item in self._details]
        for key in thinking.STRINGS:
            texts = [
                item.before + item.text
                for item in (*self._streamed, *self._details)
                if key in item.also
            ]
            if text := "".join(texts):
                wire[key] = text
        return wire


def _detail(item: Item, text: str) -> Wire:
    wire = item.whole(text) if text else dict(item.wire)
    if wire.get("signature") == "":
        del wire["signature"]
    return wire


# -- content --------------------------------------------------------------------------------------


class Content:
    """The content of one choice: text in pieces, and, with Mistral, parts of other kinds."""

    def __init__(self, choice: Choice) -> None:
        self._choice = choice
        self._parts = (choice.t.parts["assistant"], choice.t)
        self._items: list[Item] = []
        self._has_list = False
        self._annotations: list[Any] = []

    def read(self, content: Any, delta: Wire) -> None:
        if type(content) is str:
            self._add_text(content, (delta, "content"))
        elif type(content) is list:
            self._has_list = True
            read_each(content, ".content", self._read_item)
        elif type(content) is dict:
            self._add_text(encode(content).decode())
        else:
            raise ShapeError(".content", "a string or a list", content)

    def _texts(self) -> list[Item]:
        return [item for item in self._items if item.event is ev.TextDelta]

    def _add_text(self, text: str, *spots: Spot) -> None:
        item = next(reversed(self._texts()), None)
        if item is None or not item.is_open:
            item = Item(
                "content", ev.TextDelta, self._text, TextBlock(""), "text", {"type": "text"}
            )
            self._items.append(item)
        self._choice.add_piece(item, text, *spots)

    def _text(self, item: Item, text: str) -> Block:
        blocks: list[Block] = [TextBlock(text)]
        if self._annotations and len(self._texts()) == 1:
            content.read_annotations(self._annotations, blocks, self._choice.t)
        return blocks[0]

    def _read_item(self, wire: Any) -> None:
        if content.is_text(wire):
            if wire["text"]:
                self._add_text(wire["text"], (wire, "text"))
            return
        kind = wire.get("type") if type(wire) is dict else None
        spots = _texts_in(wire) if kind == "thinking" else None
        if spots is None:
            block = content.read_part(wire, *self._parts)
            self._items.append(Item("content", None, self._thinking, wire=wire))
            self._choice.whole([block], "content")
        else:
            self._read_thinking(wire, spots)

    def _read_thinking(self, wire: Wire, spots: list[Spot]) -> None:
        item = self._items[-1] if self._items else None
        if item is None or item.event is not ev.ThinkingDelta or not item.is_open:
            start = content.read_part({**wire, "thinking": []}, *self._parts)
            item = Item("content", ev.ThinkingDelta, self._thinking, start, "thinking")
            self._items.append(item)
            self._choice.opened(item)
        item.merge(wire, ("thinking",))
        item.also.add("string" if type(wire["thinking"]) is str else "list")
        for holder, key in spots:
            if holder[key]:
                self._choice.add_piece(item, holder[key], (holder, key))
        if type(wire.get("signature")) is str and wire["signature"] and item.is_open:
            self._choice.change(item, "signature", wire["signature"])

    def _thinking(self, item: Item, text: str) -> Block:
        return content.read_part(_whole_part(item, text), *self._parts)

    def annotate(self, items: Any) -> None:
        self._annotations += require(items, list, ".annotations")
        texts = self._texts()
        for note in items if len(texts) == 1 and texts[0].is_open else ():
            self._choice.change(texts[0], "citations", content.read_citation(note, self._choice.t))

    def wire(self) -> Wire:
        """The keys of a whole message."""
        wire: Wire = {}
        if self._has_list:
            wire["content"] = [_whole_part(item, item.text) for item in self._items]
        elif self._items:
            wire["content"] = "".join([item.text for item in self._items])
        if self._annotations:
            wire["annotations"] = self._annotations
        return wire


def _whole_part(item: Item, text: str) -> Wire:
    wire = item.whole(text)
    if "list" in item.also:
        wire["thinking"] = [{"type": "text", "text": text}]
    return wire


def _texts_in(wire: Wire) -> list[Spot] | None:
    """The places of the texts in a thinking part; None if it holds more than text."""
    inner = wire.get("thinking")
    if type(inner) is str:
        return [(wire, "thinking")]
    if type(inner) is not list or not all(content.is_text(chunk) for chunk in inner):
        return None
    return [(chunk, "text") for chunk in inner]


# -- calls ----------------------------------------------------------------------------------------


class Call(Item):
    """A call, from its first piece on; it is opened when its name is known."""

    number: int | None = None
    kind: str = "function"
    id: str | None = None
    name: str | None = None
    inner: Wire = {}
    value: Any = None
    """Arguments that came as an object; an empty string if arguments were mentioned."""

    def add(self, wire: Wire, inner: Wire) -> None:
        for key, value in wire.items():
            if key not in ("index", self.kind) and value is not None and value != "":
                self.wire.setdefault(key, value)
        for key, value in inner.items():
            if key == self.key and value is not None:
                self.value = self.value or ("" if type(value) is str else value)
            elif key not in ("name", self.key) and value is not None:
                self.inner[key] = value

    def whole(self, text: str | None = None) -> Wire:
        inner = {"name": self.name or "", **self.inner}
        if text or self.value is not None:
            inner[self.key or ""] = text or self.text or self.value
        if self.kind == _LEGACY:
            return inner
        return {
            **self.wire,
            self.kind: inner,
            **({"type": "custom"} if self.kind == "custom" else {}),
        }


class Calls:
    """The calls of one choice. Their pieces may interleave; hosts that send a call whole, give
    every call the same number, or none, or repeat its id and name with each piece are understood.
    """

    def __init__(self, choice: Choice) -> None:
        self._choice = choice
        self._calls: list[Call] = []
        self._legacy: Call | None = None

    def read(self, piece: Any) -> None:
        is_custom = (
            require(piece, dict).get("type") == "custom" or type(piece.get("custom")) is dict
        )
        kind = "custom" if is_custom else "function"
        inner = optional(piece, kind, dict) or {}
        id, name = (
            optional(piece, "id", str) or None,
            optional(inner, "name", str, f".{kind}") or None,
        )
        index = piece.get("index")
        call = self._find(index if type(index) is int else None, id, name)
        if call is None:
            call = self._new(kind, index)
            self._calls.append(call)
        self._read_piece(call, piece, inner, f".{call.kind}")

    def read_legacy(self, wire: Any) -> None:
        if require(wire, dict, ".function_call") == NO_CALL:  # how some servers spell its absence
            return
        if self._legacy is None:
            self._legacy = self._new(_LEGACY)
        optional(wire, "name", str, ".function_call")
        self._read_piece(self._legacy, {}, wire, ".function_call")

    def _new(self, kind: str, number: Any = None) -> Call:
        position = "function_call" if kind == _LEGACY else "tool_calls"
        attrs = ev.ToolUseInputDelta, self.block, None, _ARGUMENT_KEYS[kind]
        return Call(position, *attrs, number=number, kind=kind)

    def _find(self, index: int | None, id: str | None, name: str | None) -> Call | None:
        """The call that a piece belongs to; None for a new one."""
        calls = [call for call in self._calls if index is None or call.number == index]
        same = [call for call in calls if id is not None and call.id == id]
        if same or not calls:
            return same[0] if same else None
        last = calls[-1]
        if name is None:
            return last
        if index is None or (id is not None and last.id is not None):
            return None
        is_over = last.name is not None and id is None and _is_whole(last.text)
        return None if is_over else last

    def _read_piece(self, call: Call, wire: Wire, inner: Wire, path: str) -> None:
        key = call.key or ""
        value = inner.get(key)
        if value is not None and type(value) is not str and type(value) is not dict:
            raise ShapeError(f"{path}.{key}", "a string", value)
        call.add(wire, inner)
        call.id = call.id or wire.get("id") or None
        call.name = call.name or inner.get("name") or None
        if not call.has_begun and call.name is not None:
            self._start(call)
        if type(value) is not str or not value:
            return
        if call.is_open:
            self._choice.add_piece(call, value, (inner, key))
        else:  # before its beginning; or after its end: only the whole has it
            call.pieces.append(value)

    def _start(self, call: Call) -> None:
        call.start = self.block(call, "{}")
        early, call.pieces = call.pieces, []
        self._choice.opened(call)
        for text in early:
            self._choice.add_piece(call, text)

    def block(self, call: Any, text: str) -> Block:
        """The call as a whole message has it."""
        reader = CallReader(self._choice.t, self._choice.origin)
        if call.kind == _LEGACY:
            reader.count = len(self._calls)
            return reader.read_legacy(call.whole(text))
        reader.count = self._calls.index(call)
        return reader.read(call.whole(text))

    def start_all(self) -> None:
        """The message ends: also what never got a name is a call."""
        for call in (*self._calls, *([self._legacy] if self._legacy else ())):
            if not call.has_begun:
                self._start(call)

    def wire(self) -> Wire:
        """The keys of a whole message."""
        wire: Wire = {}
        if self._calls:
            wire["tool_calls"] = [call.whole() for call in self._calls]
        if self._legacy is not None:
            wire["function_call"] = self._legacy.whole()
        return wire


def _is_whole(text: str) -> bool:
    try:
        return type(decode_quickly(text)) is dict
    except (msgspec.DecodeError, ValueError, RecursionError):
        return False


# -- choices --------------------------------------------------------------------------------------


class Choice:
    """One of the answers, so far."""

    def __init__(self, number: int, answer: ResponseBuilder, origin: int | str) -> None:
        self.number = number
        self.answer = answer
        self.t = answer.t
        self.origin = origin
        self.word: Any = None
        self.is_snapshot = False
        self._open: list[Item] = []
        self._message: Wire = {}
        self._around: Wire = {}
        self._blocks: list[Block] = []
        self._refusal = Item(
            "refusal",
            lambda index, text, choice: ev.BlockDelta(index, "text", text, choice=choice),
            lambda _, text: model.RefusalBlock(text),
            model.RefusalBlock(""),
        )
        self._audio = Item(
            "audio", None, lambda *_: self._alone("audio", self._whole_audio())[0], _AUDIO, "data"
        )
        self._transcript: list[str] = []
        self._lists: dict[str, list[Any]] = {}
        self._places = dict(_FIRST_INDEX)
        self._thoughts, self._content, self._calls = Thoughts(self), Content(self), Calls(self)

    # -- blocks

    def _index(self, position: str) -> int:
        """The index of a new block."""
        position = position if position in _FIRST_INDEX else "thinking"
        self._places[position] += 1
        return self._places[position] - 1

    def opened(self, item: Item) -> Item:
        """The item, of which a new block begins, before which others end, unless one is open."""
        if item.is_open:
            return item
        self._close_others()
        item.before, item.pieces = item.before + item.text, []
        item.choice, item.index, item.is_open = self.number, self._index(item.position), True
        start = item.start or item.read(item, "")
        if item.start is None and isinstance(start, ThinkingBlock):
            start = start.replace(signature=None)  # its event comes later
        self._open.append(item)
        self.answer.events.append(start_of_block(item.index, start, choice=self.number))
        return item

    def add_piece(self, item: Item, text: str, *spots: Spot) -> None:
        """A piece of a block, which stands in these places of the frame."""
        self.opened(item).pieces.append(text)
        self.answer.events.append(item.event(item.index, text, choice=self.number))
        self.answer.piece = (item, spots)

    def change(self, item: Item, field: str, value: Any) -> None:
        """Something else of a block than its text."""
        self.answer.events.append(ev.BlockDelta(item.index, field, value, choice=self.number))

    def _close_others(self) -> None:
        """Nothing but calls goes on beside another block, and they only till they are whole."""
        for item in list(self._open):
            if item.event is not ev.ToolUseInputDelta or _is_whole(item.text):
                self.close(item)

    def close(self, item: Item) -> None:
        block = item.read(item, item.text)
        self._open.remove(item)
        item.is_open = False
        self._end(item.index, block, not item.pieces)

    def _end(self, index: int, block: Block, came_whole: bool) -> None:
        if type(block) is model.ToolUseBlock and block.input and came_whole:  # it came as an object
            text = encode(block.input).decode()
            self.answer.events.append(ev.ToolUseInputDelta(index, text, choice=self.number))
        self.answer.events.append(end_of_block(index, block, self.number))
        self._blocks.append(block)

    def whole(self, blocks: Iterable[Block], position: str) -> None:
        """Blocks that came in one piece."""
        self._close_others()
        for block in blocks:
            index = self._index(position)
            self.answer.events.append(start_of_block(index, block, choice=self.number))
            self._end(index, block, came_whole=True)

    @property
    def is_open(self) -> bool:
        return bool(self._open)

    def finish(self) -> None:
        self._calls.start_all()
        for item in list(self._open):
            self.close(item)

    def blocks(self) -> tuple[Block, ...]:
        """All blocks so far that can be read, in the order of their coming."""
        blocks = list(self._blocks)
        for item in self._open:
            with suppress(ShapeError):
                blocks.append(item.read(item, item.text))
        return tuple(blocks)

    # -- reading

    def read(self, wire: Wire) -> None:
        """Reads a chunk's part of this choice."""
        self._merge_around(wire)
        key = "delta"
        if type(wire.get(SNAPSHOT)) is dict:
            if wire.get(key) is None:
                key = SNAPSHOT
            else:
                self.is_snapshot = True
        if wire.get(key) is not None:
            at_path(f".{key}", self._read_delta, wire[key])
        word = wire.get("finish_reason")
        if type(word) in (str, int, float, bool):
            self.word = word
            self.finish()
            reason = read_stop(word, self._blocks)
            self.answer.events.append(ev.Stop(reason, word, choice=self.number))

    def _merge_around(self, wire: Wire) -> None:
        merge(self._around, wire, _AROUND)
        logprobs = wire.get("logprobs")
        if type(logprobs) is dict:
            so_far = self._around.get("logprobs") or {}
            self._around["logprobs"] = dict(so_far) | {
                key: _joined(so_far.get(key), value) for key, value in logprobs.items()
            }
        elif "logprobs" in wire:
            self._around.setdefault("logprobs", None)

    def _read_delta(self, value: Any) -> None:
        delta = require(value, dict)
        name = self._message.get("name")
        merge(self._message, delta, _PASSING)
        if name and not self._message.get("name"):
            self._message["name"] = name  # a blank one does not undo it
        if not thinking.KEYS.isdisjoint(delta):
            self._thoughts.read(delta)
        for key in _LISTS:
            if delta.get(key):
                self._read_list(require_key(delta, key, list), key)
        if delta.get("content"):
            self._content.read(delta["content"], delta)
        if delta.get("refusal"):
            self.add_piece(self._refusal, require_key(delta, "refusal", str), (delta, "refusal"))
        elif "refusal" in delta:
            self._message["refusal"] = None
        if delta.get("audio"):
            self._read_audio(require_key(delta, "audio", dict))
        if delta.get("tool_calls"):
            read_each(delta["tool_calls"], ".tool_calls", self._calls.read)
        if delta.get("function_call"):
            self._calls.read_legacy(delta["function_call"])
        if delta.get("annotations"):
            self._content.annotate(delta["annotations"])

    def _read_audio(self, audio: Wire) -> None:
        """Speech is one block, even if other items come between its pieces."""
        if not (audio.get("id") or audio.get("data") or audio.get("transcript")):
            return
        block = self._audio
        if not block.has_begun:
            self.opened(block)
        block.wire.update({key: audio[key] for key in audio if key not in _AUDIO_KEYS})
        for key, pieces in zip(_AUDIO_KEYS, (block.pieces, self._transcript), strict=True):
            if audio.get(key):
                piece = require(audio[key], str, f".audio.{key}")
                pieces.append(piece)
                if block.is_open:
                    self.change(block, key, piece)

    def _whole_audio(self) -> Wire:
        return {**self._audio.whole(), "transcript": "".join(self._transcript)}

    def _alone(self, key: str, value: Any) -> tuple[Block, ...]:
        """The blocks of a message with this member alone."""
        message: Wire = {"role": "assistant", "content": None, key: value}
        return read_assistant(message, self.t, self.origin).content

    def _read_list(self, more: list[Any], key: str) -> None:
        items = self._lists.setdefault(key, [])
        known = len(self._alone(key, items)) if items else 0
        items += more
        self.whole(self._alone(key, items)[known:], key)

    def wire(self) -> Wire:
        """The choice as a whole answer has it."""
        message = {"role": "assistant", "content": None, **self._message}
        message.update(self._content.wire())
        message.update(self._lists)
        if self._refusal.has_begun:
            message["refusal"] = self._refusal.before + self._refusal.text
        if self._audio.has_begun:
            message["audio"] = self._whole_audio()
        message.update(self._thoughts.wire())
        message.update(self._calls.wire())
        choice = {"index": self.number, "message": message, **self._around}
        return {**choice, "finish_reason": self.word}


def _joined(so_far: Any, value: Any) -> Any:
    """Lists grow; otherwise a null does not erase an earlier value."""
    if type(so_far) is list and type(value) is list:
        return so_far + value
    return so_far if value is None else value


# -- the whole ------------------------------------------------------------------------------------


class ResponseBuilder:
    """The assembled content of all chunks."""

    def __init__(self, t: Tables) -> None:
        self.t = t
        self.choices: dict[int, Choice] = {}
        self.usage: Wire | None = None
        self.events: list[Event] = []
        """The events of the frame that is being read."""
        self.piece: tuple[Item, tuple[Spot, ...]] | None = None
        """The last piece in it, and where it stands."""
        self.is_closed = False
        """Whether the usage of the whole answer has come, in a chunk of its own at the end."""
        self._id: str | None = None
        self._top: Wire = {}

    def begin(self) -> None:
        """Another frame is read."""
        self.events, self.piece = [], None

    def also_at(self, spots: list[Spot]) -> None:
        """The last piece stands in these places as well."""
        if self.piece is not None:
            item, known = self.piece
            self.piece = (item, (*known, *spots))

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

    def tiered(self, usage: Usage) -> Usage:
        """The usage with the tier that the chunks name."""
        return read_tier(usage, self._top)

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

    def is_proper(self, has_done: bool) -> bool:
        """Whether it ended as it should. OpenAI's gpt-audio gives no reason, neither in a stream
        nor in a whole answer, where it is null (recorded streams, read 2026-11)."""
        return has_done and (self.is_closed or self.has_stopped())

    def ended(self, has_done: bool) -> Response:
        """The answer, with a diagnostic if its end is irregular."""
        response = self.response()
        if self.is_proper(has_done):
            return response
        messages = (response.message, *response.alternatives)
        words = [choice.word for _, choice in sorted(self.choices.items())]
        message, *others = [
            message.replace(metadata=kernel.without_reason(message.metadata))
            if word is None
            else kernel.with_found(message, *(() if has_done else (NO_DONE,)))
            for message, word in zip(messages, words, strict=True)
        ]
        return response.replace(message=message, alternatives=tuple(others))

    def partial(self, error: ProviderError) -> Message | None:
        """The partial message when the stream fails."""
        if not self.choices:
            return None
        try:
            message = self.response().message
        except ReadError:  # the error went to whoever feeds the stream
            message = Message(Role.ASSISTANT, self.choices[min(self.choices)].blocks())
        if 0 not in self.choices:  # what there is belongs to others
            message = message.replace(content=())
        return kernel.failed(message, error)

    def has_stopped(self) -> bool:
        """Whether every choice has a reason for its end."""
        return bool(self.choices) and all(each.word is not None for each in self.choices.values())

    def goes_on(self) -> bool:
        """Whether a choice has begun another block after its finish reason, as with hosts that
        give the reason after each of several calls."""
        return any(each.is_open for each in self.choices.values())

    def is_void(self) -> bool:
        """Whether there was no content at all, and no reason."""
        return not any(each.word is not None or each.blocks() for each in self.choices.values())

    def is_whole(self) -> bool:
        """Whether all has ended at a host that repeats the message all along."""
        return self.has_stopped() and all(each.is_snapshot for each in self.choices.values())
