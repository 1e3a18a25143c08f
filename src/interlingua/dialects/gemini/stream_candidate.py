"""A candidate under assembly. It is put together as the whole wire would have it, and read as such,
so that both ways give the same value.

Neighbouring texts of one kind are one block. A block of its own is a text that comes with its
signature (a signed part is not joined with an unsigned one), with anything that only this wire
knows, or right after another text in the same frame. A signature that comes by itself belongs to
the text that it ends."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import zip_longest
from typing import Any

import msgspec
from msgspec import UNSET

from interlingua.dialects.gemini.calls import Calls
from interlingua.dialects.gemini.messages import read_part
from interlingua.dialects.gemini.response import (
    calls_of,
    finish_of,
    read_response,
    stop_reason,
    take_parts,
)
from interlingua.dialects.gemini.tables import MODEL, NAME
from interlingua.dialects.kernel.errors import at_path
from interlingua.dialects.kernel.preserved import Preserved, content_of
from interlingua.dialects.kernel.stream_reader import end_of_block, start_of_block
from interlingua.dialects.kernel.wire import Wire, encode
from interlingua.dialects.kernel.words import snake_case
from interlingua.model import events as ev
from interlingua.model.blocks import Block, TextBlock, ThinkingBlock, ToolUseBlock
from interlingua.model.events import Event
from interlingua.model.message import Message

Text = TextBlock | ThinkingBlock

_SIGNATURES = ("thoughtSignature", snake_case("thoughtSignature"))
_METADATA = ("groundingMetadata", "citationMetadata")
_CITING = tuple(key for name in _METADATA for key in (name, snake_case(name)))
_CONTENT = frozenset({"content"})
_PARTS = frozenset({"parts"})


class Run(msgspec.Struct):
    """A text that may still grow. Nothing is added to a sealed one."""

    index: int
    part: Wire
    kind: type[Text]
    event: Any
    thought: Any
    """Members of frames that continue it."""
    pieces: list[str] = []
    sealed: bool = False

    def settle(self) -> None:
        """All of the text so far into the part."""
        if self.pieces:
            self.part["text"] = "".join((self.part["text"], *self.pieces))
            self.pieces.clear()


class Candidate:
    """One of the answers of a stream, so far."""

    def __init__(self, choice: int, origin: Any) -> None:
        self.run: Run | None = None
        self.finished = False
        self._choice = choice
        self._calls = calls_of(origin, choice)
        self._client_calls: list[Block] = []
        self._pieced: PiecedCall | None = None
        self._count = 0
        self._wire: Wire = {}
        self._content: Wire | None = None
        self._parts: list[Wire] = []
        self._begin_frame()

    def _begin_frame(self) -> None:
        self._events: list[Event] = []
        self._before: type[Block] | None = None
        """The part before it, in the same frame."""

    # -- frames -----------------------------------------------------------------------------------

    def read(self, wire: Wire, candidate: Wire) -> list[Event]:
        """The events of a frame; `candidate` has the usual names."""
        self._begin_frame()
        parts = take_parts(candidate, Preserved())
        if parts is not None:
            for at, part in enumerate(parts):
                at_path(f".content.parts[{at}]", self._read_part, part)
            content = candidate["content"]
            if self._content is None:
                self._content = {}
            merge(self._content, content, _PARTS)
            if content.get("parts") is not None:
                self._content["parts"] = self._parts
            if parts:
                self.finished = False
        merge(self._wire, wire, _CONTENT)
        word = finish_of(candidate, Preserved())
        if word is not None:
            self.finished = True
            reason = stop_reason(word, self._client_calls)
            self._events.append(ev.Stop(reason, word, choice=self._choice))
        return self._events

    def read_usual(self, numbered: bool) -> None:
        """Reads the members beside a piece of text in an ordinary frame."""
        self.finished = False
        assert self._content is not None
        self._content["role"] = MODEL
        if numbered:
            self._wire["index"] = 0

    def _read_part(self, part: Any) -> None:
        if type(part) is dict and self._read_piece(part):
            return
        blocks = read_part(part, self._calls)
        if len(blocks) == 1 and isinstance(blocks[0], Text):
            self._read_text(part, blocks[0])
            self._before = type(blocks[0])
            return
        self._close()
        self._parts.append(part)
        for block in blocks:
            index = self._open()
            if type(block) is ToolUseBlock and block.executor == "client":
                self._client_calls = [block]
            self._events.append(start_of_block(index, block, choice=self._choice))
            self._end_block(index, block)
        self._before = None

    def _open(self) -> int:
        self._count += 1
        return self._count - 1

    # -- texts ------------------------------------------------------------------------------------

    def _read_text(self, part: Wire, block: Text) -> None:
        run, whole = self.run, bool(content_of(NAME, block.raw))
        if (
            run is None
            or run.kind is not type(block)
            or run.sealed
            or whole
            or self._before is run.kind
            or (block.text and block.signature)
        ):
            if not (block.text or block.signature or whole):
                return  # which opens no block
            self._close()
            run = self._start_run(part, block)
        if block.text or block.signature is None:
            run.pieces.append(block.text)
            self._events.append(run.event(run.index, block.text, choice=self._choice))
        if block.signature is not None:
            name = next(key for key in _SIGNATURES if part.get(key) is not None)
            run.part[name] = block.signature
            delta = ev.BlockDelta(run.index, "signature", block.signature, choice=self._choice)
            self._events.append(delta)
        run.sealed = whole or bool(block.signature)

    def _start_run(self, part: Wire, block: Text) -> Run:
        kind = type(block)
        event, thought = (ev.TextDelta, UNSET) if kind is TextBlock else (ev.ThinkingDelta, True)
        run = self.run = Run(self._open(), {**part, "text": ""}, kind, event, thought)
        self._parts.append(run.part)
        start = kind("", raw=block.raw)
        self._events.append(ev.BlockStart(run.index, start, choice=self._choice))
        return run

    def _close(self) -> None:
        """The end of a text, since something else begins."""
        run, self.run = self.run, None
        if run is None:
            return
        run.settle()
        block = read_part(run.part, Calls())[0]
        if any(self._wire.get(key) for key in _CITING):
            block = read_response({"candidates": [self.whole()]}).message.content[run.index]
        self._end_block(run.index, block)

    # -- calls that come in pieces ----------------------------------------------------------------

    def _read_piece(self, part: Wire) -> bool:
        """Whether it was a piece of a call, and not a whole one."""
        call = begins(part)
        if call is None or (self._pieced is None and not goes_on(call)):
            return False
        if self._pieced is not None and "name" in call:
            self._end_pieced()
            if not goes_on(call):
                return False
        if self._pieced is None:
            self._pieced = self._start_pieced(part, call)
        self._pieced.add(call)
        if not goes_on(call):
            self._end_pieced()
        return True

    def _start_pieced(self, part: Wire, call: Wire) -> PiecedCall:
        self._close()
        index = self._open()
        begun = {**part, "functionCall": {key: call[key] for key in ("id", "name") if key in call}}
        begun["functionCall"]["args"] = {}
        block = read_part(begun, self._calls)[0]
        assert isinstance(block, ToolUseBlock)
        self._parts.append(begun)
        self._client_calls = [block]
        self._events.append(start_of_block(index, block, choice=self._choice))
        return PiecedCall(index, block, begun)

    def _end_pieced(self) -> None:
        pieced, self._pieced = self._pieced, None
        if pieced is not None:
            self._end_block(pieced.index, pieced.finish())

    def _end_block(self, index: int, block: Block) -> None:
        if type(block) is ToolUseBlock:
            text = encode(block.input).decode()
            self._events.append(ev.ToolUseInputDelta(index, text, choice=self._choice))
        self._events.append(end_of_block(index, block, self._choice))

    # -- the whole --------------------------------------------------------------------------------

    def whole(self) -> Wire:
        """All of it as a whole response has it."""
        if self._pieced is not None:
            self._pieced.finish()
        if self.run is not None:
            self.run.settle()
        return self._wire if self._content is None else {**self._wire, "content": self._content}

    def end(self, message: Message) -> list[Event]:
        """The ends of open blocks; `message` is all of it."""
        self._begin_frame()
        self._end_pieced()
        if self.run is not None:
            self._end_block(self.run.index, message.content[self.run.index])
        return self._events


# -- calls whose arguments come piece by piece: each names a place by its JSON path ---------------

_VALUES = ("stringValue", "numberValue", "boolValue", "nullValue")
_STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d{1,6})\]|\['([^']*)'\]|\["([^"]*)"\]""")
_MOST = 10_000
"""The largest list index that a piece may have, so that no path can fill the memory."""


def look(wire: Wire, name: str) -> Any:
    """The value of a key in either style."""
    value = wire.get(name)
    return wire.get(snake_case(name)) if value is None else value


def begins(part: Wire) -> Wire | None:
    """The call of a part that is a call, if it is an object."""
    call = look(part, "functionCall")
    return call if type(call) is dict else None


def goes_on(call: Wire) -> bool:
    """Whether a call is a piece of an unfinished one."""
    return look(call, "partialArgs") is not None or look(call, "willContinue") is True


class PiecedCall(msgspec.Struct):
    """A call under assembly: its first state, and the arguments so far."""

    index: int
    block: ToolUseBlock
    part: Wire
    args: Wire = {}
    _pieces: dict[str, list[str]] = {}

    def add(self, call: Wire) -> None:
        """A piece. Without a path or a value it is ignored."""
        whole_args = look(call, "args")
        if type(whole_args) is dict:
            self.args.update(whole_args)
        pieces = look(call, "partialArgs")
        for piece in pieces if type(pieces) is list else ():
            path = look(piece, "jsonPath") if type(piece) is dict else None
            if type(path) is not str:
                continue
            key = next((name for name in _VALUES if look(piece, name) is not None), None)
            value = None if key in (None, "nullValue") else look(piece, str(key))
            if type(value) is str and path in self._pieces:
                self._pieces[path].append(value)
            elif type(value) is str:
                self._pieces[path] = [value]
                put(self.args, path, "")
            elif key is not None:
                put(self.args, path, value)

    def finish(self) -> ToolUseBlock:
        for path, pieces in self._pieces.items():
            if len(pieces) > 1 or pieces[0]:
                self._pieces[path] = ["".join(pieces)]
                put(self.args, path, self._pieces[path][0])
        self.part["functionCall"]["args"] = self.args
        return self.block.replace(input=self.args)


def put(args: Wire, path: str, value: Any) -> None:
    """Put a value into arguments; a path that leads nowhere is ignored."""
    steps: list[str | int] = [
        int(number) if number else name or single or double
        for name, number, single, double in _STEP.findall(path)
    ]
    inside: Any = args
    for step, after in zip_longest(steps, steps[1:]):
        if type(step) is int and type(inside) is list and step <= _MOST:
            inside.extend([None] * (step + 1 - len(inside)))
            known = inside[step]
        elif type(step) is str and type(inside) is dict:
            known = inside.get(step)
        else:
            return
        if after is None:
            inside[step] = value
        elif type(known) is not (list if type(after) is int else dict):
            known = inside[step] = [] if type(after) is int else {}
        inside = known


# -- members of a candidate beside its content ---------------------------------------------------


def merge(known: Wire, update: Wire, apart: frozenset[str]) -> None:
    """Later values win, but a null does not erase an earlier value."""
    for key, value in update.items():
        if key in apart:
            continue
        if key in _JOINS and type(value) is dict:
            before = known.get(key)
            known[key] = _JOINS[key](before if type(before) is dict else {}, value)
        elif value is not None or key not in known:
            known[key] = value


def _fill(before: Wire, update: Wire) -> Wire:
    """Empty values are ignored: a search announces itself by an empty object in every frame."""
    return {**before, **{key: item for key, item in update.items() if item or key not in before}}


def _lengthen(before: Wire, update: Wire) -> Wire:
    """Lists are extended, unless they are sent again from their start. The lists of `before` are
    ours."""
    joined = {**before, **update}
    for key, item in update.items():
        known = before.get(key)
        if type(item) is not list:
            continue
        if type(known) is list and item[: len(known)] != known:
            known.extend(item)
            joined[key] = known
        else:
            joined[key] = item.copy()
    return joined


_JOINS: dict[str, Callable[[Wire, Wire], Wire]] = {
    key: join
    for name, join in (
        ("groundingMetadata", _fill),
        ("urlContextMetadata", _fill),
        ("citationMetadata", _lengthen),
        ("logprobsResult", _lengthen),
    )
    for key in (name, snake_case(name))
}
