"""Recorded exchanges as a provider would say them again: status, headers, body or frames."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

import interlingua as il
from interlingua.dialects.framing import ENCODERS
from interlingua.dialects.kernel.wire import encode
from interlingua.dialects.registry import traits_of
from interlingua.streams import jsonarray
from tests.laws import corpus
from tests.replay import headers, routes
from tests.replay.answers import Answer, Header, Piece

STREAM_TYPES = {
    "sse": "text/event-stream; charset=utf-8",
    "ndjson": "application/x-ndjson",
    "aws": "application/vnd.amazon.eventstream",
    "invoke": "application/vnd.amazon.eventstream",
    "json": "application/json; charset=UTF-8",
}
JSON_TYPE = "application/json"
_NAMED = ("anthropic", "openai-responses")
"""Dialects whose frames are called what their data says under `type`."""


@dataclass(frozen=True)
class Exchange:
    """One request and what was answered. A stream is told as `frames`, or, where the very bytes
    were kept, as `pieces`; anything else as `body`."""

    id: str
    dialect: str
    path: str
    request: bytes | None = None
    """The body that was sent, where it was recorded."""
    status: int = 200
    body: bytes = b""
    frames: tuple[il.Frame, ...] | None = None
    pieces: tuple[Piece, ...] | None = None
    framing: str | None = None
    """Of the pieces, where it is not the dialect's usual one."""
    headers: tuple[Header, ...] | None = None
    """Those that were recorded; else those that the provider would have sent."""
    method: str = "POST"

    @property
    def is_stream(self) -> bool:
        return self.frames is not None or self.pieces is not None

    def answer(self, framing: str | None = None, pace: float = 0.0) -> Answer:
        """What is said. `framing` is what the request asked for, where that is a choice; `pace` is
        the time between frames that were recorded without their times."""
        result = self._framing(framing) if self.is_stream else None
        pieces = self._pieces(result, pace)
        return Answer(self.dialect, self.status, self._headers(result), pieces, result)

    def _framing(self, asked: str | None) -> str:
        chosen = self.framing if self.pieces is not None else asked
        return chosen or traits_of(self.dialect).framing

    def _headers(self, framing: str | None) -> tuple[Header, ...]:
        if self.headers is not None:
            return self.headers
        kind = JSON_TYPE if framing is None else STREAM_TYPES[framing]
        named = headers.of(self.dialect, self.id, self.status, self.body)
        return (("content-type", kind), *named)

    def _pieces(self, framing: str | None, pace: float) -> tuple[Piece, ...]:
        if self.pieces is not None:
            return self.pieces
        if self.frames is None:
            return (Piece(self.body),)
        assert framing is not None
        return tuple(Piece(data, pace) for data in framed(self.frames, framing))


def framed(frames: Iterable[il.Frame], framing: str) -> list[bytes]:
    """Frames as bytes, one piece each; an array has its end as a piece of its own."""
    if framing == "json":
        array = jsonarray.Encoder()
        return [*(array.feed(frame) for frame in frames), array.close()]
    if framing == "invoke":
        return [ENCODERS["aws"](_packed(frame)) for frame in frames]
    return [ENCODERS[framing](frame) for frame in frames]


def _packed(frame: il.Frame) -> il.Frame:
    """An Anthropic frame as Bedrock's older API has it: in base 64 inside one of its own."""
    data = base64.b64encode(frame.data.encode()).decode()
    return il.Frame("chunk", encode({"bytes": data}).decode())


# -- the corpus -----------------------------------------------------------------------------------


def from_record(record: corpus.Record) -> Exchange:
    """A recorded exchange; what the recording does not keep is as the provider has it."""
    dialect = record.dialect
    if dialect is None:
        raise ValueError(f"{record}: no dialect reads it")
    is_stream = record.stream is not None
    return Exchange(
        record.id,
        dialect,
        routes.path_of(dialect, record.model, is_stream, record.endpoint),
        None if record.request is None else encode(record.request),
        record.status,
        b"" if is_stream else encode(record.response),
        None if record.stream is None else tuple(_frames(record, dialect)),
    )


def _frames(record: corpus.Record, dialect: str) -> Iterator[il.Frame]:
    assert record.stream is not None
    for frame in record.stream:
        event = frame.event
        if event is None and dialect in _NAMED and isinstance(frame.data, dict):
            event = frame.data.get("type")
        yield il.Frame(event, _text(frame.data))
    if record.framing == "data-only" and dialect in ("openai-chat", "openrouter"):
        yield il.Frame(None, "[DONE]")  # only the payloads were kept, and this is none


def _text(data: Any) -> str:
    return data if isinstance(data, str) else encode(data).decode()


def from_corpus(dialect: str | None = None) -> Iterator[Exchange]:
    """Every record that some dialect reads, or those of one; none where there is no corpus."""
    for record in corpus.records(dialect):
        yield from_record(record)


# -- telling requests apart -----------------------------------------------------------------------


def spelling(body: bytes) -> bytes:
    """A request's body in one spelling, so that two of them can be compared."""
    try:
        return msgspec.json.encode(msgspec.json.decode(body), order="sorted")
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return body
