"""Streams, as server-sent events or wrapped by Bedrock.

The wire has explicit starts and ends, so a frame is one event as a rule. The answer is assembled as
the whole response would be and read as such, so streaming and not streaming give the same value."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable
from typing import Any

import msgspec

from interlingua.dialects.anthropic import tables
from interlingua.dialects.anthropic.response import (
    is_error,
    read_response,
    read_usage,
    write_response,
)
from interlingua.dialects.anthropic.tables import NAME
from interlingua.dialects.anthropic.text import (
    ANSWER,
    WRITERS,
    read_citations,
    read_part,
    write_citation,
    write_parts,
)
from interlingua.dialects.framing import EitherDecoder
from interlingua.dialects.kernel import stream_writer
from interlingua.dialects.kernel.errors import (
    ShapeError,
    at_path,
    optional_spelled,
    require_key,
    scalar,
)
from interlingua.dialects.kernel.numbered import NumberedReader, NumberedWriter, OpenPart, OpenParts
from interlingua.dialects.kernel.preserved import raw_of
from interlingua.dialects.kernel.recorder import LossRecorder, quiet
from interlingua.dialects.kernel.stream_reader import json_of, merge
from interlingua.dialects.kernel.stream_writer import PIECE, json_frame
from interlingua.dialects.kernel.wire import Wire
from interlingua.errors import ReadError
from interlingua.model import events as ev
from interlingua.model.blocks import (
    Block,
    Citation,
    CompactionBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)
from interlingua.model.events import Event
from interlingua.model.exchange import Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata
from interlingua.model.reasons import because
from interlingua.streams import aws
from interlingua.streams.frames import Frame

WHAT = f"{NAME} stream"

_FIXED = frozenset({"id", "type", "role", "model", "content", "usage"})
"""Members that later frames do not change; usage is merged."""
_CHANGED = frozenset({"type", "delta", "usage"})
_UNOPENED: dict[str, tuple[Wire, Block]] = {
    "text": ({"type": "text", "text": ""}, TextBlock("")),
    "thinking": ({"type": "thinking", "thinking": "", "signature": ""}, ThinkingBlock("")),
}
"""The start of a block whose first piece has no start of its own, by the piece's key."""
_CALL: Wire = {"input": {}}
_BLANKS: dict[str, Wire] = {
    "text": {"text": ""},
    "thinking": {"thinking": ""},
    **dict.fromkeys(("tool_use", "server_tool_use", "mcp_tool_use"), _CALL),
}
"""Members of a block's start before its pieces, which some servers leave out."""
_TEXT, _THINKING, _COMPACTION, _INPUT = tables.PIECES.values()


# -- assembly
# ---------------------------------------------------------------------------------------


class Part(OpenPart):
    """A block under assembly, as the whole wire would have it."""

    def __init__(self, index: int, at: int, wire: Wire, block: Block) -> None:
        super().__init__(index, at, wire, block)
        kind = "tool_use" if type(block) is ToolUseBlock else wire.get("type")
        self.piece = tables.PIECES.get(kind) if type(kind) is str else None

    def _whole(self) -> Block:
        wire = self.wire
        if self.piece is not None and self.pieces:
            _, key = self.piece
            wire[key] = (wire.get(key) or "") + "".join(self.pieces)
            self.pieces = []
        if self.citations:
            wire["citations"] = [*(wire.get("citations") or ()), *self.citations]
            self.citations = []
        return read_part(wire, ANSWER)

    def read_delta(self, delta: Wire) -> Event | None:
        """The event of a delta; None if it has none."""
        kind = delta.get("type")
        if self.piece is not None and kind == self.piece[0]:
            has_text = self.piece is not _COMPACTION or self._begin_anew(delta)
            return self.add(require_key(delta, self.piece[1], str)) if has_text else None
        if kind == "citations_delta" and self.piece is _TEXT:
            (citation,) = read_citations([require_key(delta, "citation", dict)])
            self.citations.append(delta["citation"])
            return ev.BlockDelta(self.index, "citations", citation)
        if kind == "signature_delta" and self.piece is _THINKING:
            self.wire["signature"] = signature = require_key(delta, "signature", str)
            return ev.BlockDelta(self.index, "signature", signature)
        return None

    def _begin_anew(self, delta: Wire) -> bool:
        """Each delta of a compaction replaces the one before; False for one without text."""
        text = optional_spelled(delta, "content", str, {})
        self.pieces.clear()
        self.wire.update({key: item for key, item in delta.items() if key != "type"})
        self.wire["content"] = None
        return text is not None


class ResponseBuilder(OpenParts[Part]):
    """The message of a stream, so far."""

    def __init__(self, wire: Wire) -> None:
        super().__init__(Part)
        self.wire = {**wire, "content": []}
        self.usage: Wire = dict(wire.get("usage") or ())

    def begin(self, at: int, wire: Wire, block: Block) -> list[Event]:
        """The model that took over is the one that a whole answer names."""
        to = wire.get("to") if wire.get("type") == "fallback" else None
        if type(to) is dict and type(to.get("model")) is str:
            self.wire["model"] = to["model"]
        return super().begin(at, wire, block)

    def response(self) -> Response:
        """The response as the reader reads the whole answer."""
        wire = {**self.wire, "usage": self.usage} if self.usage else self.wire
        return self.filled(read_response(wire))


# -- the stream -----------------------------------------------------------------------------------


class StreamReader(NumberedReader[ResponseBuilder]):
    """One stream of the Messages API. Several messages may follow each other in it."""

    def __init__(self) -> None:
        super().__init__()
        self.waits = False
        """Anthropic's last frame is the last. Other hosts, whose messages have other ids, may send
        more after it, as OpenRouter's `[DONE]` (seen 2026-11)."""

    # -- frames -----------------------------------------------------------------------------------

    def _feed(self, frame: Frame) -> list[Event]:
        if self._failed:
            return []
        wire = json_of(frame, WHAT, "type", _STEPS)
        # servers that serve several dialects may send values that are not objects
        kind = wire.get("type") if type(wire) is dict else None
        if self._is_over() and kind != "message_start":
            return []
        step = _STEPS.get(kind) if type(kind) is str else None
        if kind is None and type(wire) is dict and is_error(wire):
            step = StreamReader._error
        try:
            return (step(self, wire) if step is not None else None) or [ev.Other()]
        except ShapeError as error:
            raise error.error(WHAT) from None

    # -- messages ---------------------------------------------------------------------------------

    def _start(self, wire: Wire) -> list[Event] | None:
        if self._answer is not None:
            return None
        message = require_key(wire, "message", dict)
        try:
            response = read_response(message)
        except ReadError as odd:
            raise ReadError(WHAT, f"$.message{odd.path[1:]}", odd.expected, odd.found) from None
        answer = self._begin(message)
        metadata = response.message.metadata
        events: list[Event] = [ev.MessageStart(metadata.response_model, metadata.response_id)]
        if metadata.usage is not None:
            events.append(ev.UsageUpdate(metadata.usage))
        if metadata.stop_reason is not None:
            events.append(ev.Stop(metadata.stop_reason, metadata.raw_stop_reason))
        for part, block in zip(message["content"], response.message.content, strict=True):
            events += answer.begin(0, part, block)
        return [*events, *answer.end_all()]

    def _begin(self, message: Wire) -> ResponseBuilder:
        self._answer, self.waits = ResponseBuilder(message), False
        return self._answer

    def _change(self, wire: Wire) -> list[Event] | None:
        changes = optional_spelled(wire, "delta", dict, {}) or {}
        counts = optional_spelled(wire, "usage", dict, {})
        word = at_path(".delta", scalar, changes, "stop_reason")
        answer, events = self._begun()
        merge(answer.wire, wire, _FIXED | _CHANGED)
        merge(answer.wire, changes, _FIXED)
        if word is not None:
            events.append(ev.Stop(tables.STOP_REASONS.read(word), word))
        if counts is not None:
            merge(answer.usage, counts)  # they are of all so far
            usage = read_usage(answer.usage)[0]
            events += [] if usage is None else [ev.UsageUpdate(usage)]
        return events

    def _stop(self, wire: Wire) -> list[Event] | None:
        answer = self._answer
        if answer is None:
            return None
        events = answer.end_all()
        self._answer, self._complete = None, True
        response = answer.response()
        self.waits = not (response.message.metadata.response_id or "").startswith(tables.OWN_IDS)
        return [*events, ev.MessageComplete(response)]

    def _error(self, wire: Wire) -> list[Event] | None:
        response = read_response(wire)
        return None if response.error is None else [self._break_off(response.error)]

    # -- blocks -----------------------------------------------------------------------------------

    def _block_start(self, wire: Wire) -> list[Event]:
        at, part = require_key(wire, "index", int), require_key(wire, "content_block", dict)
        blank = _BLANKS.get(part.get("type"), {})  # type: ignore[arg-type]  # any JSON
        if missing := {key: item for key, item in blank.items() if part.get(key) is None}:
            part = {**part, **missing}
        block = at_path(".content_block", read_part, part, ANSWER)
        answer, events = self._begun()
        return events + answer.begin(at, part, block)

    def _block_delta(self, wire: Wire) -> list[Event] | None:
        at, delta = require_key(wire, "index", int), require_key(wire, "delta", dict)
        kind, part = delta.get("type"), self._open.get(at)
        if part is None:
            return at_path(".delta", self._open_unstarted, at, kind, delta)
        event = at_path(".delta", part.read_delta, delta)
        if part.piece not in (None, _COMPACTION) and kind == part.piece[0]:
            self._learn(part, wire, (delta, part.piece[1]))
        return None if event is None else [event]

    def _open_unstarted(self, at: int, kind: Any, delta: Wire) -> list[Event] | None:
        """A block whose first piece has no start of its own."""
        for key, (start, block) in _UNOPENED.items():
            if kind == f"{key}_delta" and (text := require_key(delta, key, str)):
                answer, events = self._begun()
                events += answer.begin(at, start, block)
                return [*events, answer.open[at].add(text)]
        return None

    def _block_stop(self, wire: Wire) -> list[Event] | None:
        part = self._open.get(require_key(wire, "index", int))
        return None if part is None or self._answer is None else self._answer.end(part)


_STEPS: dict[str, Callable[[StreamReader, Any], list[Event] | None]] = {
    "message_start": StreamReader._start,
    tables.BLOCK_START: StreamReader._block_start,
    tables.BLOCK_DELTA: StreamReader._block_delta,
    tables.BLOCK_STOP: StreamReader._block_stop,
    "message_delta": StreamReader._change,
    "message_stop": StreamReader._stop,
    "error": StreamReader._error,
}
"""By the type of the frame; None for frames without events."""

json_decode = msgspec.json.Decoder().decode
json_encode = msgspec.json.Encoder().encode


def make_decoder() -> EitherDecoder:
    """Messages of AWS begin with their length, whose first byte is no text."""
    return EitherDecoder(b"\0", _InvokedDecoder)


class _InvokedDecoder:
    """Decodes Bedrock's wrapping of Anthropic's frames: each is base64 text in a message of
    AWS's."""

    def __init__(self) -> None:
        self._decoder = aws.Decoder()

    def feed(self, data: bytes) -> list[Frame]:
        return [_unwrapped(frame) for frame in self._decoder.feed(data)]

    def close(self) -> list[Frame]:
        return [_unwrapped(frame) for frame in self._decoder.close()]


def _unwrapped(frame: Frame) -> Frame:
    """A frame as Anthropic itself sends it, exceptions as its errors."""
    try:
        wire = json_decode(frame.data)
        if frame.event == "chunk":
            text = b64decode(wire["bytes"]).decode()
            kind = json_decode(text).get("type")
            return Frame(kind if type(kind) is str else None, text)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return frame  # the reader reports the error
    kind = _ERRORS.get((frame.event or "").lower())
    if kind is None:
        return frame
    message = wire.get("message") if type(wire) is dict else None
    error = {"type": kind, "message": message or frame.event}
    return Frame("error", json_encode({"type": "error", "error": error}).decode())


_ERRORS = {
    "throttlingexception": "rate_limit_error",
    "validationexception": "invalid_request_error",
    "internalserverexception": "api_error",
    "modelstreamerrorexception": "api_error",
    "modeltimeoutexception": "timeout_error",
    "serviceunavailableexception": "overloaded_error",
}
"""Exceptions of InvokeModelWithResponseStream (botocore's service model, read 2026-11), and
Anthropic's error types."""

_PIECES = (tables.PIECES["text"], tables.PIECES["thinking"], tables.PIECES["tool_use"])
_STARTED = frozenset({"id", "type", "role", "model", "content", "usage"})
"""Members of a message that its end does not repeat."""
_BESIDE = frozenset({"context_management", "input_transformations"})
"""Members beside the delta."""
_LATER = frozenset({"text", "thinking", "citations", "signature", "input"})
"""Members that a block may set after its start."""
_TOO_LATE = because("stream_too_late")
_QUIET = quiet(NAME)


class ForeignWriter(NumberedWriter):
    opens_texts = True
    piece_keys = frozenset({"text", "thinking"})
    pieces = tuple([{"type": kind, key: PIECE} for kind, key in _PIECES])
    frames = (tables.BLOCK_START, tables.BLOCK_DELTA, tables.BLOCK_STOP)

    def _begin_anew(self) -> None:
        super()._begin_anew()
        self._opened: list[Wire] = []

    # -- messages ---------------------------------------------------------------------------------

    def _begin(self, model: str | None, id: str | None) -> list[Frame]:
        metadata = MessageMetadata(response_model=model, response_id=id)
        wire = write_response(Response(Message(Role.ASSISTANT, metadata=metadata)), _QUIET)
        return [_spell({"type": "message_start", "message": wire})]

    def _finish(self, response: Response, recorder: LossRecorder) -> list[Frame]:
        wire = write_response(response, recorder)
        self._report_late(response.message, wire, recorder)
        changes = {key: item for key, item in wire.items() if key not in _STARTED}
        beside = {key: changes.pop(key) for key in _BESIDE & changes.keys()}
        change: Wire = {"type": "message_delta", "delta": changes, **beside}
        change["usage"] = wire.get("usage") or {"output_tokens": 0}
        return [_spell(change), _spell({"type": "message_stop"})]

    def _report_late(self, message: Message, wire: Wire, recorder: LossRecorder) -> None:
        """Reports members of a block's start that became known only later."""
        parts = wire.get("content") or []
        if [part.get("type") for part in parts] != [part.get("type") for part in self._opened]:
            return
        late = [
            part.keys() - start.keys() - _LATER
            for part, start in zip(parts, self._opened, strict=True)
        ]
        if not any(late):
            return
        written = [block for block in message.content if self._part(block) is not None]
        for block, keys in zip(written, late, strict=True):
            if "cache_control" in keys:
                recorder.lost(block, "cache", _TOO_LATE)
            for key in sorted(keys & raw_of(NAME, block.raw).keys()):
                recorder.lost(block, f"raw.{NAME}.{key}", _TOO_LATE)

    def _failure(self, response: Response, recorder: LossRecorder) -> Frame:
        return json_frame("error", write_response(response, recorder))

    def _account(self, partial: Message, recorder: LossRecorder) -> None:
        write_parts(partial.content, ANSWER, recorder)

    # -- blocks -----------------------------------------------------------------------------------

    def _part(self, block: Block) -> Wire | None:
        return WRITERS[type(block)](block, ANSWER, _QUIET)

    def _step(self, name: str, fields: Wire) -> tuple[str, Wire]:
        return name, {"type": name, "index": self._count, **fields}

    def _start_of(self, part: Wire) -> Wire:
        self._opened.append(part)
        return {"content_block": part}

    def _whole(self, block: Block) -> list[Frame]:
        part = self._part(block)
        return [] if part is None else [self._opening(part)]

    def _citation(self, citation: Citation) -> Wire | None:
        wire = write_citation(citation, _QUIET, answering=True)
        return None if wire is None else {"type": "citations_delta", "citation": wire}

    def _signature(self, signature: str) -> Wire:
        return {"type": "signature_delta", "signature": signature}


def _spell(wire: Wire) -> Frame:
    return json_frame(wire["type"], wire)


class StreamWriter(stream_writer.StreamWriter):
    """One stream of the Messages API."""

    name, foreign_writer = NAME, ForeignWriter

    def _keeps(self, block: CompactionBlock) -> bool:
        return True
