"""A stream that goes through unchanged: its usage and its end are read on the way, and the chunk
that the gateway requested in the client's place is taken out again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

import msgspec

from interlingua.client.failures import redact
from interlingua.costs.cost import with_runs
from interlingua.dialects.framing import aws, decoder
from interlingua.dialects.front import Peek
from interlingua.dialects.kernel.errors import ShapeError
from interlingua.dialects.record import Dialect
from interlingua.errors import InterlinguaError, ReadError
from interlingua.gateway.relay.headers import client_body
from interlingua.gateway.shared.fronts import front_of
from interlingua.model.events import Event, MessageComplete, Stop, StreamError, UsageUpdate
from interlingua.model.exchange import ErrorKind, ProviderError, Response
from interlingua.model.metadata import CacheDiagnosis, StopReason, Usage

BROKEN_OFF = ProviderError(ErrorKind.NETWORK, "stream ended before the message was complete")

_ENDS = {"sse": (b"\n\n", b"\r\n\r\n", b"\r\r"), "ndjson": (b"\n",)}
"""How a frame may end, the usual one first."""
_FRAME = {
    "sse": re.compile(rb".*?(?:\n\n|\r\n\r\n|\r\r|\Z)", re.DOTALL),
    "ndjson": re.compile(rb".*?(?:\n|\Z)", re.DOTALL),
}
_BEGINS = {
    "sse": (b"data:", b"event:", b"id:", b"retry:", b":", b"\xef\xbb\xbf", b"\r", b"\n"),
    "ndjson": (b"{", b"\r", b"\n", b" "),
}
"""How a stream may begin; a body that begins otherwise is no stream."""
_LONGEST = 16 * 1024 * 1024
"""Of one frame that is waited for; a longer one goes on in pieces."""


class Passthrough:
    """Passes bytes through frame by frame, or all but one frame. `usage` is the last that was
    reported. A frame is passed on once it is complete, so that a broken stream can still be ended
    properly."""

    def __init__(
        self,
        dialect: Dialect,
        without_usage: bool = False,
        answers: int = 1,
        secrets: Iterable[str] = (),
    ) -> None:
        """`answers` is the number of choices to expect; secrets are redacted in frames that report
        an error."""
        self.usage: Usage | None = None
        self.stop_reason: StopReason | None = None
        self.response: Response | None = None
        self.answered_by: str | None = None
        self.cache: CacheDiagnosis | None = None
        """Why the prompt cache was hit or missed, as reported by the provider."""
        self.error: ProviderError | None = None
        front = front_of(dialect.name)
        framing = dialect.traits.framing
        self.end = front.ending(answers)
        self.ends_with_connection = dialect.traits.ends_with_connection
        self._marks = (*front.marks, *self.end.marks)
        """What a frame has in it that may concern us; all others are not looked into."""
        self._telling = [mark for mark in self._marks if mark not in self.end.silent]
        self._secrets = tuple(secrets)
        self._ends = _ENDS.get(framing)
        self._frame = _FRAME.get(framing)
        self._begins = _BEGINS.get(framing, ())
        self._without_usage = without_usage
        self._dialect = dialect
        self._reader = dialect.stream_reader()
        self._reader.marks = False
        self._begun = False
        self._speaks = front.speaks
        self._has_content = front.speaks is None
        """Whether any content has arrived: a Chat stream of `[DONE]` alone is no answer."""
        self._held: list[bytes] = []
        """The beginning of a frame whose end has not come yet, in the pieces that it came in."""
        self._size = 0

    def feed(self, data: bytes) -> bytes:
        """The frames that are whole now."""
        ends = self._ends
        if ends is None:
            return data
        if self._held:
            if self._begun and self._goes_on(data, ends):
                return b""
            data = b"".join((*self._held, data))
            self._held = []
        if not self._begun:
            self._look(data)
        if not self._has_content and self._speaks is not None:
            self._has_content = self._speaks in data
        if not data.endswith(ends[0]):
            cut = max([at + len(end) for end in ends if (at := data.rfind(end)) >= 0], default=0)
            if not cut and len(data) > _LONGEST:
                cut = len(data)
            data, rest = data[:cut], data[cut:]
            self._held, self._size = [rest] if rest else [], len(rest)
        for mark in self._marks:
            if mark in data:
                return self._marked(data)
        return data

    def _goes_on(self, data: bytes, ends: tuple[bytes, ...]) -> bool:
        """Whether the frame that is held does not end in these bytes either. Only they are looked
        at, and the few before: a long frame in many pieces takes no longer for that."""
        seam = self._held[-1][-3:] + data
        if self._size + len(data) > _LONGEST or any(end in seam for end in ends):
            return False
        if len(self._held[-1]) < 3:
            self._held[-1] += data
        else:
            self._held.append(data)
        self._size += len(data)
        return True

    def _look(self, data: bytes) -> None:
        """Checks the first bytes, before any is delivered: a body that is no stream of this
        dialect can still become an error."""
        for begin in self._begins:
            if data.startswith(begin) or begin.startswith(data):
                self._begun = len(data) >= len(begin)
                return
        raise ReadError(f"a stream of {self._dialect.name}", "$", "a frame", "other bytes")

    def _marked(self, data: bytes) -> bytes:
        """The frames with a mark in them are read; all others are not even looked for."""
        pieces: list[bytes] = []
        copied = 0
        for start, stop in self._places(data):
            frame = data[start:stop]
            self._read(frame)
            shown = self._shown(frame)
            if shown is not frame:
                pieces += [data[copied:start], shown]
                copied = stop
        return b"".join((*pieces, data[copied:])) if copied else data

    def _shown(self, frame: bytes) -> bytes:
        """The frame as the client may see it."""
        if self.error is BROKEN_OFF:
            return b""
        if self._without_usage and b'"choices":[]' in frame.replace(b" ", b""):
            return b""
        return client_body(frame, self._secrets) if b'"error"' in frame else frame

    def _places(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Where the frames with a mark begin and end."""
        assert self._ends is not None
        assert self._frame is not None
        end = self._ends[0]
        if b"\r" in data:  # frames may end in other ways
            for found in self._frame.finditer(data):
                if any(mark in found.group() for mark in self._marks):
                    yield found.span()
            return
        at = 0
        while (near := self._next_mark(data, at)) >= 0:
            before = data.rfind(end, at, near)
            start = at if before < 0 else before + len(end)
            after = data.find(end, near)
            at = len(data) if after < 0 else after + len(end)
            yield start, at

    def _next_mark(self, data: bytes, at: int) -> int:
        return min([near for mark in self._marks if (near := data.find(mark, at)) >= 0], default=-1)

    def close(self) -> bytes:
        """The rest, if it is a complete frame of a finished answer; otherwise sets the error that
        the client has to get."""
        rest, self._held = b"".join(self._held), []
        if rest:
            reached = self.end.is_reached
            self._read(rest + self._ends[0] if self._ends else rest)
            if reached and not _is_whole(rest):
                rest = b""
                if self.ends_with_connection:
                    self.error = BROKEN_OFF
        if self.error is None and not self.end.is_reached:
            self.error = BROKEN_OFF
        if self.error is not None or not rest:
            return b""
        ends = self._ends or (b"",)
        return self._shown(rest if rest.endswith(ends) else rest.rstrip() + ends[0])

    def _read(self, frame: bytes) -> None:
        """Reads a frame that may contain usage or the end; a frame that we cannot read is left to
        the client."""
        if b'"diagnostics"' in frame or b'"content_block_start"' in frame:
            self._telling = list(self._marks)  # the end has these members, too
        is_silent = not any(mark in frame for mark in self._telling)
        try:
            for each in decoder(self._dialect.name).feed(frame):
                self.end.look(each.data, each.event)
                if self.end.is_last and not self._has_content:
                    self.error = BROKEN_OFF
                if not is_silent:
                    for event in self._reader.feed(each):
                        self._hear(event)
        except InterlinguaError:
            return

    def _hear(self, event: Event) -> None:
        if isinstance(event, UsageUpdate):
            self.usage = event.usage
        elif isinstance(event, Stop):
            self.stop_reason = event.stop_reason
        elif isinstance(event, MessageComplete):
            metadata = event.response.message.metadata
            self.usage = with_runs(event.response.message) or self.usage
            self.stop_reason = metadata.stop_reason or self.stop_reason
            self.cache, self.answered_by = metadata.cache_diagnosis, metadata.response_model
            self.response = event.response
        elif isinstance(event, StreamError):
            self.error = event.error


class AwsPassthrough(Passthrough):
    """The same for AWS event streams, whose messages begin with their length."""

    def feed(self, data: bytes) -> bytes:
        self._held.append(data)
        self._size += len(data)
        if self._size < self._needed:
            return b""
        data = b"".join(self._held)
        cut, self._needed = aws.whole_messages(data)
        self._held, self._size = [data[cut:]] if cut < len(data) else [], len(data) - cut
        data = data[:cut]
        return self._marked(data) if any(mark in data for mark in self._marks) else data

    _needed = 0
    """Bytes of the message that is held, as far as they are known."""

    def _places(self, data: bytes) -> Iterator[tuple[int, int]]:
        start = 0
        while start < len(data):
            stop = start + aws.length_of(data, start)
            if any(mark in data[start:stop] for mark in self._marks):
                yield start, stop
            start = stop

    def _shown(self, frame: bytes) -> bytes:
        if b"xception" not in frame or self.error is None:
            return frame
        if client_body(frame, self._secrets) is frame:
            return frame
        (each,) = decoder(self._dialect.name).feed(frame)
        return aws.encode(each._replace(data=redact(each.data, self._secrets)))

    def close(self) -> bytes:
        """A message that is cut off does not count."""
        self._held = []
        if self.error is None and not self.end.is_reached:
            self.error = BROKEN_OFF
        return b""


def _is_whole(rest: bytes) -> bool:
    """Whether a last frame is complete but for the blank line after it."""
    return rest.rstrip().endswith((b"}", b"[DONE]"))


class ModelRenamer:
    """Replaces the provider's model name, or a dated version of it, by the client's, in whole
    frames."""

    def __init__(self, client_model: str, name: str) -> None:
        # Quotes inside of generated text are escaped, so only the frame's own member matches.
        self._pattern = re.compile(rb'("model"\s*:\s*)"%b[^"\\]*"' % re.escape(_inside(name)))
        self._replacement = b'\\g<1>"' + _inside(client_model).replace(b"\\", b"\\\\") + b'"'

    def __call__(self, data: bytes) -> bytes:
        return self._pattern.sub(self._replacement, data) if b'"model"' in data else data


def _inside(text: str) -> bytes:
    """The text between the quotes of its JSON string."""
    return json.dumps(text, ensure_ascii=False)[1:-1].encode()


HELD = 64 * 1024
"""Bytes of a stream that are buffered before they are parsed, which mostly is not needed."""
_TEXT = rb'"(?:%b)"\s*:\s*"((?:[^"\\]|\\.)*)"'


class TextCounter:
    """Takes whole frames; the bytes of text in them are counted on demand."""

    def __init__(self, dialect: str) -> None:
        self._text = re.compile(_TEXT % front_of(dialect).texts)
        self._frames: list[bytes] = []
        self._size = 0
        self._counted = 0

    def add(self, frames: bytes) -> None:
        self._frames.append(frames)
        self._size += len(frames)
        if self._size > HELD:
            self.count()

    def count(self) -> int:
        """Bytes of text so far."""
        data, self._frames, self._size = b"".join(self._frames), [], 0
        self._counted += sum([len(text) for text in self._text.findall(data)])
        return self._counted


def peek_usage(dialect: str, body: bytes) -> Peek | None:
    """Of the usual answer of a dialect; None for all others."""
    peek = front_of(dialect).peek
    if peek is None:
        return None
    try:
        return peek(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError, ShapeError):
        return None
