"""Reading a stream: frames in, events out.

Calls, results and images have a start; text and reasoning begin with their first piece. A message
is over with its `metadata`, which comes after `messageStop`, or where the stream ends after it. Its
answer is put together as the wire would have it whole, and read as such, so that both ways give the
same value."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Any

from interlingua.dialects.bedrock import tables
from interlingua.dialects.bedrock.errors import read_error
from interlingua.dialects.bedrock.messages import read_part
from interlingua.dialects.bedrock.response import read_answer
from interlingua.dialects.bedrock.tables import NAME
from interlingua.dialects.bedrock.text import read_citation
from interlingua.dialects.bedrock.usage import read_usage
from interlingua.dialects.kernel.errors import (
    ShapeError,
    below,
    maybe,
    read_whole,
    scalar,
    take,
    want,
)
from interlingua.dialects.kernel.kept import Kept
from interlingua.dialects.kernel.numbered import NumberedReader, OpenPart, OpenParts
from interlingua.dialects.kernel.stream_reader import merge
from interlingua.dialects.kernel.wire import Wire, parse
from interlingua.model import blocks as model
from interlingua.model import events as ev
from interlingua.model.blocks import Block, TextBlock, ThinkingBlock, ToolUseBlock, UnknownBlock
from interlingua.model.events import Event
from interlingua.model.exchange import Response
from interlingua.streams.frames import Frame

WHAT = f"{NAME} stream"
_PADDING = ("p",)
"""Hides the length of a frame."""


# -- an answer while a stream tells it ------------------------------------------------------------


class _Part(OpenPart):
    """A block that is being told, with all that is no text."""

    def __init__(self, index: int, at: int, wire: Wire, block: Block) -> None:
        super().__init__(index, at, wire, block)
        self.kind = type(block)
        self.items: list[Any] = []
        self.blobs: list[str] = []
        self.signature: str | None = None

    def _whole(self) -> Block:
        if self.kind is UnknownBlock:
            return self.block
        if self.kind is TextBlock and not self.citations:
            return TextBlock("".join(self.pieces))
        wire = self._whole_wire()
        try:
            return read_part(wire)
        except ShapeError:  # such as an image that could not be made
            return UnknownBlock({NAME: wire})

    def _whole_wire(self) -> Wire:
        text = "".join(self.pieces)
        if self.kind is TextBlock:
            said = {"content": [{"text": text}]} if self.pieces else {}
            return {"citationsContent": {"citations": self.citations, **said}}
        if self.kind is ThinkingBlock:
            signed = {} if self.signature is None else {"signature": self.signature}
            return {"reasoningContent": {"reasoningText": {"text": text, **signed}}}
        if self.kind is model.RedactedThinkingBlock:
            return {"reasoningContent": {"redactedContent": _joined(self.blobs)}}
        ((key, inner),) = self.wire.items()
        if key == "toolResult":
            return {key: {**inner, "content": self.items}}
        whole = dict(inner)
        for item in self.items:
            whole.update(item)
        if self.blobs:
            whole["source"] = {**whole.get("source", {}), "bytes": _joined(self.blobs)}
        return {key: whole}


def _joined(blobs: list[str]) -> str:
    """Pieces of one blob, each in base64."""
    if len(blobs) == 1:
        return blobs[0]
    try:
        return base64.b64encode(b"".join(map(base64.b64decode, blobs))).decode()
    except (binascii.Error, ValueError):
        return "".join(blobs)


class _Answer(OpenParts[_Part]):
    """The message of a stream, so far."""

    def __init__(self, message: Wire) -> None:
        super().__init__(_Part)
        self.wire: Wire = {}
        self.message = message

    def response(self) -> Response:
        """What reading the whole answer gives."""
        output = {"message": {"role": "assistant", **self.message, "content": []}}
        return self.filled(read_answer({"output": output, **self.wire}))


# -- frames ---------------------------------------------------------------------------------------


class StreamReader(NumberedReader[_Answer]):
    """One stream of Converse. Several messages may follow each other in it. A step gives no events
    for a frame that says nothing."""

    def __init__(self) -> None:
        super().__init__()
        self._stopped = False

    def close(self) -> list[Event]:
        """A message that has stopped is over without its metadata."""
        is_over = self._stopped and self._answer is not None and not self._failed
        return self._finish(self._answer) if is_over else super().close()  # type: ignore[arg-type]  # it is one

    def _feed(self, frame: Frame) -> list[Event]:
        if self._failed:
            return []
        kind, wire = _unwrapped(frame.event, parse(frame.data, WHAT))
        if self._is_over() and kind != tables.BEGIN:
            return []  # nothing comes after the end but another message
        events = read_whole(WHAT, self._step, wire, kind) if type(wire) is dict else []
        return events or [ev.Other()]

    def _step(self, wire: Wire, kind: str | None) -> list[Event]:
        step = _STEPS.get(kind or "")
        return self._error(wire, kind) if step is None else step(self, wire)

    def _begin(self, message: Wire) -> _Answer:
        self._answer, self._stopped = _Answer(message), False
        return self._answer

    def _start(self, wire: Wire) -> list[Event]:
        if wire.get("role") is not None:
            take(wire, "role", str)
        if self._answer is not None and not self._stopped:
            return []
        events = [] if self._answer is None else self._finish(self._answer)
        unsaid = ("p", "content", *(("role",) if wire.get("role") is None else ()))
        self._begin({key: item for key, item in wire.items() if key not in unsaid})
        return [*events, ev.MessageStart()]

    def _stop(self, wire: Wire) -> list[Event]:
        word = scalar(wire, "stopReason")
        answer, events = self._begun()
        events += answer.end_all()
        self._stopped = True
        merge(answer.wire, wire, _PADDING)
        return events if word is None else [*events, ev.Stop(tables.STOP_REASONS.read(word), word)]

    def _metadata(self, wire: Wire) -> list[Event]:
        fields: Wire = {}
        read_usage(wire, fields, Kept())
        answer, events = self._begun()
        merge(answer.wire, wire, _PADDING)
        if "usage" in fields:
            events.append(ev.UsageUpdate(fields["usage"]))
        return [*events, *self._finish(answer)] if self._stopped else events

    def _finish(self, answer: _Answer) -> list[Event]:
        events = answer.end_all()
        self._answer, self._stopped, self._complete = None, False, True
        return [*events, ev.MessageComplete(answer.response())]

    def _error(self, wire: Wire, kind: str | None) -> list[Event]:
        """An exception, whose type is the name of its frame; or a body without a name."""
        if kind is None and not ("message" in wire or "__type" in wire):
            return []
        code = {} if kind is None else {"__type": kind[:1].upper() + kind[1:]}
        error = read_error({**code, **wire}).error
        return [] if error is None else [self._break_off(error)]

    # -- blocks -----------------------------------------------------------------------------------

    def _block_start(self, wire: Wire) -> list[Event]:
        at, given = take(wire, "contentBlockIndex", int), take(wire, "start", dict)
        if not given:
            return []  # a text is to come, or not
        block = below(".start", _first_state, given)
        answer, events = self._begun()
        return events + answer.begin(at, given, block)

    def _block_delta(self, wire: Wire) -> list[Event]:
        at, delta = take(wire, "contentBlockIndex", int), take(wire, "delta", dict)
        key = next((each for each in delta if each in _DELTAS), None)
        if key is None:
            return []
        events = below(f".delta.{key}", _DELTAS[key], self, at, delta[key])
        part = self._open.get(at)
        if part is not None and len(events) == 1 and type(events[0]) is part.event:
            spot = (delta[key], _INSIDE[key]) if key in _INSIDE else (delta, key)
            self._learn(part, wire, spot, "p" if type(wire.get("p")) is str else None)
        return events

    def _block_stop(self, wire: Wire) -> list[Event]:
        part = self._open.get(take(wire, "contentBlockIndex", int))
        return [] if part is None or self._answer is None else self._answer.end(part)

    def _part(self, at: int, kind: type[Block]) -> _Part | None:
        """The open block of this number, if it is of this kind."""
        part = self._open.get(at)
        return part if part is not None and part.kind is kind else None

    def _fitting(self, at: int, block: Block) -> tuple[_Part, list[Event]]:
        """The open block, if it is of this kind; else a new one."""
        part = self._part(at, type(block))
        if part is not None:
            return part, []
        answer, events = self._begun()
        events += answer.begin(at, {}, block)
        return answer.open[at], events

    def _text(self, at: int, text: Any) -> list[Event]:
        if not want(text, str) and self._part(at, TextBlock) is None:
            return []
        part, events = self._fitting(at, TextBlock(""))
        return [*events, part.add(text)]

    def _input(self, at: int, given: Any) -> list[Event]:
        text, part = take(want(given, dict), "input", str), self._part(at, ToolUseBlock)
        return [] if part is None else [part.add(text)]

    def _reasoning(self, at: int, given: Any) -> list[Event]:
        want(given, dict)
        text, signature = maybe(given, "text", str), maybe(given, "signature", str)
        if type(given.get("redactedContent")) is str:
            return self._redacted(at, given["redactedContent"])
        is_open = self._part(at, ThinkingBlock) is not None
        if (text is None and signature is None) or not (text or signature or is_open):
            return []
        part, events = self._fitting(at, ThinkingBlock(""))
        if text is not None:
            events.append(part.add(text))
        if signature is not None:
            part.signature = (part.signature or "") + signature
            events.append(ev.BlockDelta(part.index, "signature", part.signature))
        return events

    def _redacted(self, at: int, blob: str) -> list[Event]:
        block: Any = read_part({"reasoningContent": {"redactedContent": blob}})
        part, events = self._fitting(at, block)
        part.blobs.append(blob)
        return events or [ev.BlockDelta(part.index, "data", block.data)]

    def _citation(self, at: int, given: Any) -> list[Event]:
        citation = read_citation(given)
        part, events = self._fitting(at, TextBlock(""))
        part.citations.append(given)
        return [*events, ev.BlockDelta(part.index, "citations", citation)]

    def _result(self, at: int, given: Any) -> list[Event]:
        """The end of a result tells all of it."""
        part = self._part(at, model.ToolResultBlock)
        if part is not None:
            part.items += want(given, list)
        return []

    def _image(self, at: int, given: Any) -> list[Event]:
        part = self._part(at, model.ImageBlock)
        if part is not None:
            source = want(given, dict).get("source")
            if type(source) is dict and type(source.get("bytes")) is str:
                part.blobs.append(source["bytes"])
            else:
                part.items.append(given)
        return []


_STEPS: dict[str, Callable[[StreamReader, Wire], list[Event]]] = {
    tables.BEGIN: StreamReader._start,
    tables.START: StreamReader._block_start,
    tables.DELTA: StreamReader._block_delta,
    tables.STOP: StreamReader._block_stop,
    tables.END: StreamReader._stop,
    tables.METADATA: StreamReader._metadata,
}
_DELTAS: dict[str, Callable[[StreamReader, int, Any], list[Event]]] = {
    "text": StreamReader._text,
    "toolUse": StreamReader._input,
    "reasoningContent": StreamReader._reasoning,
    "citation": StreamReader._citation,
    "toolResult": StreamReader._result,
    "image": StreamReader._image,
}
_INSIDE = {"toolUse": "input", "reasoningContent": "text"}
"""The key of a piece in a delta that is an object."""


def _unwrapped(name: str | None, wire: Any) -> tuple[str | None, Any]:
    """What a frame is, and its data. Programs that take streams apart say it by a key around the
    data; a frame without a name is told by its keys."""
    if name is not None and _is_kind(name):
        return name, wire
    if type(wire) is not dict:
        return None, wire
    if len(wire) == 1:
        ((key, inner),) = wire.items()
        if type(inner) is dict and _is_kind(key):
            return key, inner
    return next((kind for key, kind in tables.FRAME_KEYS if key in wire), None), wire


def _is_kind(name: str) -> bool:
    return name in tables.FRAMES or name.endswith(tables.EXCEPTION)


def _first_state(given: Wire) -> Block:
    """A block as its start tells it."""
    key, inner = next(iter(given.items()))
    if len(given) != 1 or key not in _UNTOLD or type(inner) is not dict:
        return UnknownBlock({NAME: given})
    told = {"input": {}, **inner} if key == "toolUse" else {**inner, **_UNTOLD[key]}
    return read_part({key: told})


_UNTOLD: dict[str, Wire] = {
    "toolUse": {"input": {}},
    "toolResult": {"content": []},
    "image": {"source": {"bytes": ""}},
}
"""What a start does not say yet."""
