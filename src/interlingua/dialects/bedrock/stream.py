"""Converse streams, read and written: frames of AWS's event stream, each a name and one object.

Calls, results and images have a start; text and reasoning begin with their first piece. A message
ends with its `metadata` frame, or where the stream ends after `messageStop`. The answer is
assembled as the whole response would be and read as such."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Any

from interlingua.dialects.bedrock import tables
from interlingua.dialects.bedrock.messages import read_part, write_part, write_parts
from interlingua.dialects.bedrock.response import (
    NO_USAGE,
    read_answer,
    read_error,
    read_usage,
    write_exception,
    write_response,
)
from interlingua.dialects.bedrock.tables import NAME
from interlingua.dialects.bedrock.text import read_citation, write_citation
from interlingua.dialects.kernel import stream_writer
from interlingua.dialects.kernel.errors import (
    ShapeError,
    at_path,
    optional,
    read_whole,
    require,
    require_key,
    scalar,
)
from interlingua.dialects.kernel.fields import QUIET
from interlingua.dialects.kernel.numbered import (
    KINDS,
    THINKING,
    NumberedReader,
    NumberedWriter,
    OpenPart,
    OpenParts,
)
from interlingua.dialects.kernel.preserved import Preserved, content_of
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.stream_reader import json_of, merge
from interlingua.dialects.kernel.stream_writer import PIECE, json_frame
from interlingua.dialects.kernel.wire import Wire
from interlingua.model import blocks as model
from interlingua.model import events as ev
from interlingua.model.blocks import (
    Block,
    Citation,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.events import Event
from interlingua.model.exchange import Response
from interlingua.model.message import Message
from interlingua.model.reasons import because
from interlingua.streams.frames import Frame

_TEXTS = frozenset({"text", "citationsContent", "reasoningContent"})
_STREAMABLE = frozenset({*_TEXTS, "toolUse", "toolResult", "image"})
"""The kinds of part that a stream has."""
_FILLED = {"toolUse": "input", "toolResult": "content", "image": "source"}
"""Members that a start does not have yet, by the key of its kind."""
_STOPPED = ("stopReason", "additionalModelResponseFields")
"""Members of a message's end; all others come after it."""
_NOT_STREAMED = because("not_streamed")


class ForeignWriter(NumberedWriter):
    opens_texts = False
    piece_keys = _TEXTS
    pieces = ({"text": PIECE}, {"reasoningContent": {"text": PIECE}}, {"toolUse": {"input": PIECE}})
    frames = (tables.START, tables.DELTA, tables.STOP)

    # -- messages ---------------------------------------------------------------------------------

    def _begin(self, model: str | None, id: str | None) -> list[Frame]:
        return [json_frame(tables.BEGIN, {"role": "assistant"})]

    def _finish(self, response: Response, recorder: LossRecorder) -> list[Frame]:
        wire = write_response(response, recorder)
        _report_unstreamed(response.message, recorder)
        _report_around(response, recorder)
        end = {"stopReason": "end_turn", **{key: wire[key] for key in _STOPPED if key in wire}}
        after = {"usage": NO_USAGE, "metrics": tables.DEFAULT_METRICS}
        after |= {key: item for key, item in wire.items() if key not in ("output", *_STOPPED)}
        return [json_frame(tables.END, end), json_frame(tables.METADATA, after)]

    def _failure(self, response: Response, recorder: LossRecorder) -> Frame:
        return json_frame(*write_exception(response, recorder))

    def _account(self, partial: Message, recorder: LossRecorder) -> None:
        write_parts(partial.content, [], recorder, answer=True)
        _report_unstreamed(partial, recorder)

    # -- blocks -----------------------------------------------------------------------------------

    def _part(self, block: Block) -> Wire | None:
        return _part_of(block)

    def _step(self, name: str, fields: Wire) -> tuple[str, Wire]:
        return name, {"contentBlockIndex": self._count, **fields}

    def _start_of(self, part: Wire) -> Wire:
        start = {
            key: {name: item for name, item in inner.items() if name != _FILLED.get(key)}
            for key, inner in part.items()
        }
        return {"start": start}

    def _whole(self, block: Block) -> list[Frame]:
        kind, part = _streamable(_streamed(block))
        if kind == "reasoningContent":
            return [self._delta_frame(part)]
        if kind not in ("toolResult", "image"):
            return []
        content = part[kind]
        content = content["content"] if kind == "toolResult" else {"source": content["source"]}
        delta = [self._delta_frame({kind: content})] if content else []
        return [self._opening(part), *delta]

    def _citation(self, citation: Citation) -> Wire:
        return {"citation": write_citation(citation, QUIET)}

    def _signature(self, signature: str) -> Wire:
        return {"reasoningContent": {"signature": signature}}


def _part_of(block: Block) -> Wire | None:
    """The block as a whole answer has it; None where it has no place."""
    return write_part(block, QUIET, True)


# -- what a stream has no place for although a whole answer has -----------------------------------


def _streamable(block: Block) -> tuple[str | None, Wire]:
    """The kind of part that a block has in a stream, and the part; None for a block that cannot
    be streamed."""
    part = _part_of(block) or {}
    kind = next((key for key in part if key in _STREAMABLE), None)
    return None if isinstance(block, model.UnknownBlock) else kind, part


def _is_empty(block: Any) -> bool:
    """Without a start such a block cannot be expressed."""
    kind = KINDS.get(type(block))
    beside = "signature" if kind == THINKING else "citations"
    return kind is not None and not (block.text or getattr(block, beside, None))


def _streamed(block: Block) -> Block:
    """The block as far as a stream can express it: results hold texts alone."""
    if not isinstance(block, ToolResultBlock):
        return block
    texts = tuple([inner for inner in block.content if type(inner) is TextBlock])
    return block if len(texts) == len(block.content) else block.replace(content=texts)


def _report_unstreamed(message: Message, recorder: LossRecorder) -> None:
    """Reports parts of these blocks that only a whole answer can express."""
    for block in message.content:
        kind, part = _streamable(block)
        if not part:
            continue  # no dialect can express it, and the loss is already reported
        if _is_empty(block):
            recorder.dropped(block, because("empty"))
        elif kind is None:
            recorder.dropped(block, _NOT_STREAMED)
        elif block.raw or block.cache or isinstance(block, ToolResultBlock):
            _report_inside(block, recorder)


def _report_inside(block: Block, recorder: LossRecorder) -> None:
    if block.cache is not None:
        recorder.lost(block, "cache", _NOT_STREAMED)
    if isinstance(block, ToolResultBlock):
        whole = _part_of(block.replace(content=()))
        for inner in block.content:
            if type(inner) is not TextBlock and _part_of(block.replace(content=(inner,))) != whole:
                recorder.dropped(inner, _NOT_STREAMED)
    elif not isinstance(block, model.ToolUseBlock):
        for key in content_of(NAME, block.raw):
            recorder.lost(block, f"raw.{NAME}.{key}", _NOT_STREAMED)


def _report_around(response: Response, recorder: LossRecorder) -> None:
    """Reports members around the message that a stream does not have."""
    if "output" in content_of(NAME, response.raw):
        recorder.lost(response, f"raw.{NAME}.output", _NOT_STREAMED)
    for key in content_of(NAME, response.message.metadata.provider_raw):
        field = f"metadata.provider_raw.{NAME}.{key}"
        recorder.lost(response.message, field, _NOT_STREAMED)


class StreamWriter(stream_writer.StreamWriter):
    """One stream of Converse."""

    name, foreign_writer = NAME, ForeignWriter


WHAT = f"{NAME} stream"
_PADDING = ("p",)
"""Hides the length of a frame."""


# -- the answer of a stream
# -------------------------------------------------------------------------


class _Part(OpenPart):
    """A block under assembly, with all its members that are not text."""

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
            content = {"content": [{"text": text}]} if self.pieces else {}
            return {"citationsContent": {"citations": self.citations, **content}}
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


class _ResponseBuilder(OpenParts[_Part]):
    """The message of a stream, so far."""

    def __init__(self, message: Wire) -> None:
        super().__init__(_Part)
        self.wire: Wire = {}
        self.message = message

    def response(self) -> Response:
        """The response as the reader reads the whole answer."""
        output = {"message": {"role": "assistant", **self.message, "content": []}}
        return self.filled(read_answer({"output": output, **self.wire}))


# -- frames ---------------------------------------------------------------------------------------


class StreamReader(NumberedReader[_ResponseBuilder]):
    """One stream of Converse, which may contain several messages. A step without content gives
    no events."""

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
        kind, wire = _unwrapped(frame.event, json_of(frame, WHAT))
        if self._is_over() and kind != tables.BEGIN:
            return []  # nothing comes after the end but another message
        events = read_whole(WHAT, self._step, wire, kind) if type(wire) is dict else []
        return events or [ev.Other()]

    def _step(self, wire: Wire, kind: str | None) -> list[Event]:
        step = _STEPS.get(kind or "")
        return self._error(wire, kind) if step is None else step(self, wire)

    def _begin(self, message: Wire) -> _ResponseBuilder:
        self._answer, self._stopped = _ResponseBuilder(message), False
        return self._answer

    def _start(self, wire: Wire) -> list[Event]:
        if wire.get("role") is not None:
            require_key(wire, "role", str)
        if self._answer is not None and not self._stopped:
            return []
        events = [] if self._answer is None else self._finish(self._answer)
        omitted = ("p", "content", *(("role",) if wire.get("role") is None else ()))
        self._begin({key: item for key, item in wire.items() if key not in omitted})
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
        read_usage(wire, fields, Preserved())
        answer, events = self._begun()
        merge(answer.wire, wire, _PADDING)
        if "usage" in fields:
            events.append(ev.UsageUpdate(fields["usage"]))
        return [*events, *self._finish(answer)] if self._stopped else events

    def _finish(self, answer: _ResponseBuilder) -> list[Event]:
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
        at, start = require_key(wire, "contentBlockIndex", int), require_key(wire, "start", dict)
        if not start:
            return []  # a text is to come, or not
        block = at_path(".start", _first_state, start)
        answer, events = self._begun()
        return events + answer.begin(at, start, block)

    def _block_delta(self, wire: Wire) -> list[Event]:
        at, delta = require_key(wire, "contentBlockIndex", int), require_key(wire, "delta", dict)
        key = next((each for each in delta if each in _DELTAS), None)
        if key is None:
            return []
        events = at_path(f".delta.{key}", _DELTAS[key], self, at, delta[key])
        part = self._open.get(at)
        if part is not None and len(events) == 1 and type(events[0]) is part.event:
            spot = (delta[key], _INSIDE[key]) if key in _INSIDE else (delta, key)
            self._learn(part, wire, spot, "p" if type(wire.get("p")) is str else None)
        return events

    def _block_stop(self, wire: Wire) -> list[Event]:
        part = self._open.get(require_key(wire, "contentBlockIndex", int))
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
        if not require(text, str) and self._part(at, TextBlock) is None:
            return []
        part, events = self._fitting(at, TextBlock(""))
        return [*events, part.add(text)]

    def _input(self, at: int, call: Any) -> list[Event]:
        text, part = require_key(require(call, dict), "input", str), self._part(at, ToolUseBlock)
        return [] if part is None else [part.add(text)]

    def _reasoning(self, at: int, delta: Any) -> list[Event]:
        require(delta, dict)
        text, signature = optional(delta, "text", str), optional(delta, "signature", str)
        if type(delta.get("redactedContent")) is str:
            return self._redacted(at, delta["redactedContent"])
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

    def _citation(self, at: int, wire: Any) -> list[Event]:
        citation = read_citation(wire)
        part, events = self._fitting(at, TextBlock(""))
        part.citations.append(wire)
        return [*events, ev.BlockDelta(part.index, "citations", citation)]

    def _result(self, at: int, parts: Any) -> list[Event]:
        """The end of a result, with all of its content."""
        part = self._part(at, model.ToolResultBlock)
        if part is not None:
            part.items += require(parts, list)
        return []

    def _image(self, at: int, image: Any) -> list[Event]:
        part = self._part(at, model.ImageBlock)
        if part is not None:
            source = require(image, dict).get("source")
            if type(source) is dict and type(source.get("bytes")) is str:
                part.blobs.append(source["bytes"])
            else:
                part.items.append(image)
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
    """The name of a frame, and its data. Programs that dismantle streams wrap the data in a key
    with that name; a frame without a name is recognised by its keys."""
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


def _first_state(start: Wire) -> Block:
    """A block as its start describes it."""
    key, inner = next(iter(start.items()))
    if len(start) != 1 or key not in _LATER or type(inner) is not dict:
        return UnknownBlock({NAME: start})
    state = {"input": {}, **inner} if key == "toolUse" else {**inner, **_LATER[key]}
    return read_part({key: state})


_LATER: dict[str, Wire] = {
    "toolUse": {"input": {}},
    "toolResult": {"content": []},
    "image": {"source": {"bytes": ""}},
}
"""Members that a start does not have yet."""
