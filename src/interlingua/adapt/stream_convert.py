"""Converts a stream from one dialect to another, piece by piece, into bytes. Pieces are bytes cut
anywhere, lines, parsed JSON, or objects of an SDK.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, overload

import msgspec

from interlingua.adapt.formats import FormatName, dialect_named
from interlingua.adapt.history.stream import PIECES, StreamRewriter
from interlingua.adapt.stream_shortcut import Shortcut, shortcut_from
from interlingua.adapt.target import one_target
from interlingua.dialects.framing import EitherDecoder, decoder, encoder
from interlingua.dialects.kernel.stream_reader import BROKEN_OFF
from interlingua.dialects.registry import dialect, dialects, traits_of
from interlingua.errors import DetectError, ReadError, a_type
from interlingua.model.events import Event, MessageComplete, StreamError
from interlingua.model.exchange import ErrorKind, ProviderError
from interlingua.model.interop import dumped, is_sdk_object
from interlingua.model.losses import Report
from interlingua.streams import ndjson, sse
from interlingua.streams.frames import Frame

if TYPE_CHECKING:
    from interlingua.adapt.fit.answers import AnswerAdapter
    from interlingua.adapt.stream_places import StreamSource


TAKEN = "il.stream_convert takes bytes, text, lines, dicts and chunks of an SDK"
UNKNOWN = "the format of this stream is unknown; pass source="
_NAMED = (b"event:", b"id:", b"retry:", b":")
"""How lines of server-sent events without data begin."""
_BLANKS = b" \t\r\n\xef\xbb\xbf"
"""White space, and the bytes of a byte order mark."""
_encode = msgspec.json.Encoder().encode


class Pieces:
    """Feeds pieces to a converter, whose source is detected from the first ones if it has none."""

    def __init__(self, source: str | None, target: str, model: str | None) -> None:
        self._source, self._target, self._model = source, target, model
        self._converter: StreamConverter | None = None
        self._waiting = b""
        self._has_lines: bool | None = None
        """Whether the pieces are lines without their ends; None while that is not known."""
        self._undecided: list[bytes] = []
        self._objects: ndjson.Decoder | None = None
        """For a stream that is stored as JSON Lines where the source sends it otherwise."""
        self._has_begun = False
        self._frames: StreamSource | None = None
        if source is not None:
            self._begin(source)

    @property
    def converter(self) -> StreamConverter:
        """The converter; without any frame, one that reads an empty stream."""
        return self._converter or self._begin(self._source or self._target)

    def feed(self, piece: Any) -> bytes:
        if type(piece) is bytes and self._has_lines is False and self._has_begun:
            return self._feed_raw(piece)
        if isinstance(piece, (bytes, bytearray, memoryview, str)):
            return self._feed_bytes(piece.encode() if isinstance(piece, str) else bytes(piece))
        wire = dumped(piece) if is_sdk_object(piece) else piece
        if not isinstance(wire, dict):
            raise TypeError(f"{TAKEN}; found {a_type(piece)}")
        if self._converter is None:
            self._begin(_dialect_of(wire))
        frame = frame_of(wire, self.converter.source)
        self._frames.add(frame)  # type: ignore[union-attr]  # made with the converter
        return self.converter.feed_frame(frame)

    def close(self) -> bytes:
        """The end of the stream."""
        data = self._decide(len(self._undecided) > 1) if self._has_lines is None else b""
        last = self._feed_raw(data)
        if self._converter is None and self._waiting.strip():
            raise DetectError(UNKNOWN)
        if self._objects is not None:
            last += self._feed_objects(self._objects.close())
        last += self.converter.close()
        self.converter.report.source = self._frames
        return last

    def _feed_bytes(self, data: bytes) -> bytes:
        if self._has_lines is None:
            self._undecided.append(data)
            decided = are_lines(self._undecided)
            return b"" if decided is None else self._feed_raw(self._decide(decided))
        return self._feed_raw(_line(data) if self._has_lines else data)

    def _decide(self, has_lines: bool) -> bytes:
        self._has_lines = has_lines
        pieces, self._undecided = self._undecided, []
        return b"".join(map(_line, pieces) if has_lines else pieces)

    def _feed_raw(self, data: bytes) -> bytes:
        if self._converter is not None:
            if not data:
                return b""
            if not self._has_begun and (start := data.lstrip(_BLANKS)):
                self._has_begun = True
                if start[:1] == b"{" and _sends_no_lines(self._converter.source):
                    self._objects = ndjson.Decoder()
            if self._objects is not None:
                return self._feed_objects(self._objects.feed(data))
            self._frames.add(data)  # type: ignore[union-attr]  # made with the converter
            return self._converter.feed(data)

        self._waiting += data
        if (found := detect_stream(self._waiting)) is None:
            return b""
        waiting, self._waiting = self._waiting, b""
        self._begin(found)
        return self._feed_raw(waiting)

    def _feed_objects(self, lines: list[Frame]) -> bytes:
        return b"".join(map(self._feed_frame, lines))

    def _feed_frame(self, line: Frame) -> bytes:
        try:
            wire = msgspec.json.decode(line.data)
        except (msgspec.DecodeError, RecursionError):  # `[DONE]`, or what the reader refuses
            wire = None
        frame = frame_of(wire, self.converter.source) if isinstance(wire, dict) else line
        self._frames.add(frame)  # type: ignore[union-attr]  # made with the converter
        return self.converter.feed_frame(frame)

    def _begin(self, source: str) -> StreamConverter:
        from interlingua.adapt.stream_places import StreamSource

        self._converter = StreamConverter(source, self._target, self._model)
        self._frames = StreamSource(self._converter.source)
        return self._converter


def _sends_no_lines(source: str) -> bool:
    """Whether streams of a dialect are never JSON Lines."""
    own = decoder(source)
    return not isinstance(own, ndjson.Decoder) and not (
        isinstance(own, EitherDecoder) and own.first == b"{"
    )


def are_lines(pieces: list[bytes]) -> bool | None:
    """Whether the first pieces of a stream are lines without their ends, as from `iter_lines`;
    None while that is undecided."""
    if any(b"\n" in piece for piece in pieces):
        return False
    full = [piece for piece in pieces if piece]
    if not full:
        return None
    if not _is_line(full[0]):
        return False
    return None if len(full) == 1 else full[1].startswith((b"data:", b"event:", b"{"))


def _line(data: bytes) -> bytes:
    """A line with its end. Complete data of a server-sent event ends the event, because callers may
    omit the blank lines."""
    return data + (b"\n\n" if data.startswith(b"data:") and _is_line(data) else b"\n")


def _is_line(data: bytes) -> bool:
    if data.startswith(_NAMED):
        return True
    text = data.removeprefix(b"data:").strip()
    try:
        return text == b"[DONE]" or isinstance(msgspec.json.decode(text), dict)
    except (msgspec.DecodeError, UnicodeError):
        return False


def frame_of(wire: dict[str, Any], source: str) -> Frame:
    """The frame of a stream that holds this JSON."""
    if traits_of(source).framing == "aws" and len(wire) == 1:
        [(name, inner)] = wire.items()
        return Frame(name, _encode(inner).decode())
    kind = wire.get("type", wire.get("event_type"))
    return Frame(kind if isinstance(kind, str) else None, _encode(wire).decode())


def _dialect_of(wire: dict[str, Any]) -> str:
    found = dialect_of_frame(wire)
    if found is None:
        raise DetectError("not a frame of a known stream: pass its format as source")
    return found


_TRIES = 256
"""The number of shortcuts that are tried in one stream, to limit the cost if no piece is like the
previous one."""


class StreamConverter:
    """Bytes in, bytes out, without sockets or clocks. `report` is complete after `close`.

    `watch` sees every event of the source except pieces of text and arguments, and returns it,
    another event in its place, or None to leave it out."""

    def __init__(
        self,
        source: str,
        target: str,
        model: str | None = None,
        watch: Callable[[Event], Event | None] | None = None,
        answer_adapter: AnswerAdapter | None = None,
    ) -> None:
        """`answer_adapter` reads an answer whose request was changed to suit the model."""
        reader, writer = dialect_named(source), dialect_named(target)
        source, target = reader.name, writer.name
        self.source = source
        self._decoder, self._encode = decoder(source), encoder(target)
        self._reader, self._writer = reader.stream_reader(), writer.stream_writer()
        self._ends_with_connection = reader.traits.ends_with_connection
        if answer_adapter is not None:
            self._reader = answer_adapter.reader(self._reader)
        is_home = reader is writer and answer_adapter is None
        self._rewriter = None if is_home else StreamRewriter(source, writer, model)
        self._reader.marks = self._rewriter is None
        self._writer.source = source
        self._ways = (
            self._decoder.feed,
            self._reader.feed,
            self._writer,
            self._encode,
            self._rewriter,
        )
        self._open = True
        self._watch = watch
        self._shortcut: Shortcut | None = None
        self._tries = 0 if is_home or self._encode is not sse.encode else _TRIES

    @property
    def report(self) -> Report:
        """The losses, with their paths in the whole answer."""
        if self._rewriter is None or self._open:
            return self._writer.report
        return self._rewriter.report

    def feed(self, data: bytes) -> bytes:
        """The converted bytes, as far as these allow. Bytes that are not a stream of the source
        raise `ReadError`; `fail` then returns the end of the stream."""
        shortcut = self._shortcut
        if shortcut is not None and (piece := shortcut.one(data)) is not None:
            return piece
        out: list[bytes] = []
        at = 0 if shortcut is None else shortcut.run(data, 0, out)
        while self._tries and 2 <= (end := data.find(b"\n\n", at) + 2) < len(data):
            self._feed(data[at:end], out)
            at = end if self._shortcut is None else self._shortcut.run(data, end, out)
        if at < len(data):
            self._feed(data[at:] if at else data, out)
        return out[0] if len(out) == 1 else b"".join(out)

    def _feed(self, data: bytes, out: list[bytes]) -> None:
        event: Event | None = None
        self._shortcut = None
        decode, read, writer, encode, rewriter = self._ways
        for frame in decode(data):
            for event in read(frame):
                kind = type(event)
                if (
                    kind in PIECES
                    and kind in writer.steps
                    and (rewriter is None or not rewriter.held)
                ):
                    for frame_out in writer.steps[kind](event):
                        out.append(encode(frame_out))
                else:
                    self._convert((event,), out)
        if self._tries and type(event) in PIECES and not rewriter.held:  # type: ignore[union-attr] # only at home there is none
            self._tries -= 1
            self._shortcut = shortcut_from(self._decoder, self._reader, writer, frame, event)

    def feed_frame(self, frame: Frame) -> bytes:
        """The same for one frame that is decoded already."""
        out: list[bytes] = []
        self._shortcut = None
        self._convert(self._reader.feed(frame), out)
        return b"".join(out)

    def close(self) -> bytes:
        """The stream has ended; one that ended too early ends with an error."""
        out: list[bytes] = []
        for frame in self._decoder.close():
            self._convert(self._reader.feed(frame), out)
        if self._ends_with_connection and getattr(self._decoder, "is_cut", False):
            return b"".join(out) + self._failed(BROKEN_OFF)
        self._convert(self._reader.close(), out)
        self._add_frames(self._writer.close(), out)
        self._end()
        return b"".join(out)

    def fail(self, problem: Exception) -> bytes:
        """The end of a stream that cannot continue: an error with everything that had arrived."""
        return self._failed(str(problem))

    def _failed(self, problem: str) -> bytes:
        out: list[bytes] = []
        error = ProviderError(ErrorKind.NETWORK, problem)
        for event in self._reader.close():
            if isinstance(event, StreamError):
                event = StreamError(error, event.partial)
            elif isinstance(event, MessageComplete) and self._ends_with_connection:
                event = StreamError(error, event.response.message)
            self._convert([event], out)
        self._add_frames(self._writer.close(), out)
        self._end()
        return b"".join(out)

    def _end(self) -> None:
        if self._rewriter is not None:
            self._rewriter.written(self._writer.report)
        self._open = False

    def _convert(self, events: Iterable[Event], out: list[bytes]) -> None:
        for event in events:
            if self._watch is not None and type(event) not in PIECES:
                seen = self._watch(event)
                if seen is None:
                    continue
                event = seen
            if self._rewriter is None:
                self._add_frames(self._writer.feed(event), out)
            else:
                self._retell(event, self._rewriter, out)

    def _retell(self, event: Event, rewriter: StreamRewriter, out: list[bytes]) -> None:
        for rewritten in rewriter.feed(event):
            self._add_frames(self._writer.feed(rewritten), out)
        if rewriter.ended:
            rewriter.written(self._writer.report)

    def _add_frames(self, frames: list[Frame], out: list[bytes]) -> None:
        out.extend(map(self._encode, frames))


class Converted:
    """The bytes of a stream, and its `report`, complete at the end."""

    def __init__(self, chunks: Iterable[Any], pieces: Pieces) -> None:
        self._feeding = pieces
        self._pieces = self._run(chunks)

    @property
    def report(self) -> Report:
        return self._feeding.converter.report

    def __iter__(self) -> Iterator[bytes]:
        return self._pieces

    def __next__(self) -> bytes:
        return next(self._pieces)

    def _run(self, chunks: Iterable[Any]) -> Iterator[bytes]:
        try:
            for chunk in chunks:
                if piece := self._feeding.feed(chunk):
                    yield piece
            if piece := self._feeding.close():
                yield piece
        except ReadError as error:
            yield self._feeding.converter.fail(error)
            raise


class AsyncConverted:
    """The same for chunks that are waited for."""

    def __init__(self, chunks: AsyncIterable[Any], pieces: Pieces) -> None:
        self._feeding = pieces
        self._pieces = self._run(chunks)

    @property
    def report(self) -> Report:
        return self._feeding.converter.report

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._pieces

    async def __anext__(self) -> bytes:
        return await anext(self._pieces)

    async def _run(self, chunks: AsyncIterable[Any]) -> AsyncIterator[bytes]:
        try:
            async for chunk in chunks:
                if piece := self._feeding.feed(chunk):
                    yield piece
            if piece := self._feeding.close():
                yield piece
        except ReadError as error:
            yield self._feeding.converter.fail(error)
            raise


@overload
def stream_convert(
    chunks: AsyncIterable[Any],
    source: FormatName | None = None,
    target: FormatName | None = None,
    model: str | None = None,
    *,
    to: FormatName | None = None,
) -> AsyncConverted: ...
@overload
def stream_convert(
    chunks: Iterable[Any] | bytes | str,
    source: FormatName | None = None,
    target: FormatName | None = None,
    model: str | None = None,
    *,
    to: FormatName | None = None,
) -> Converted: ...
def stream_convert(
    chunks: Iterable[Any] | AsyncIterable[Any] | bytes | str,
    source: FormatName | None = None,
    target: FormatName | None = None,
    model: str | None = None,
    *,
    to: FormatName | None = None,
) -> Converted | AsyncConverted:
    """Convert a stream to another format while it arrives.

        for data in il.stream_convert(response.iter_bytes(), to="anthropic"):
            send(data)

    `chunks` are bytes or text cut anywhere, lines, dicts, or the chunks of an SDK, also as JSON
    Lines; `source` is detected unless it is passed. The result has the bytes of the target, for
    `for` or `async for`, and after the end a `report`. A stream that fails or is cut off ends with
    an error in the target format; bytes that are not such a stream do too, and then raise
    `ReadError`."""
    pieces = Pieces(source, one_target(target, to, "il.stream_convert"), model)
    if isinstance(chunks, AsyncIterable):
        return AsyncConverted(chunks, pieces)
    if isinstance(chunks, (bytes, bytearray, memoryview, str)):
        chunks = (chunks,)
    if isinstance(chunks, dict) or not isinstance(chunks, Iterable):
        raise TypeError(f"{TAKEN}, in something to iterate over; found {a_type(chunks)}")
    return Converted(chunks, pieces)


ENOUGH = 1024 * 1024
"""The most bytes without a recognizable frame before detection gives up."""

_NOTHING: tuple[bytes, ...] = ()


def detect_stream(data: bytes) -> str | None:
    """The dialect, or None while there is too little to decide; `DetectError` if no dialect
    matches."""
    start = data.lstrip(_BLANKS)
    if not start:
        return None
    for name, signs in _signs():
        if start.startswith(getattr(signs, "STARTS", _NOTHING)):
            return name
    decoder = ndjson.Decoder() if start[:1] == b"{" else sse.Decoder()
    try:
        frames = decoder.feed(data)
    except ReadError as error:
        raise DetectError(f"not a known stream: {error}") from None
    for frame in frames:
        try:
            found = dialect_of_frame(msgspec.json.decode(frame.data))
        except (msgspec.DecodeError, RecursionError):
            continue
        if found is not None:
            return found
    if len(data) > ENOUGH:
        raise DetectError(UNKNOWN)
    return None


def dialect_of_frame(wire: Any) -> str | None:
    """The dialect of the JSON of one frame; None if it fits none."""
    if not isinstance(wire, dict):
        return None
    if "messageStart" in wire:  # as in botocore's frames of Bedrock
        return "bedrock"
    for name, signs in _signs():
        is_frame = getattr(signs, "is_frame", None)
        if is_frame is not None and is_frame(wire):
            return name
    return None


def _signs() -> Iterator[tuple[str, Any]]:
    for name in dialects():
        yield name, dialect(name).signs
