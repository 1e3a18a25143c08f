"""A stream that goes through untouched: what it says about usage is read on its way, and the chunk
that we asked for in the client's place is taken out again."""

from __future__ import annotations

from interlingua.dialects.base import Dialect
from interlingua.errors import InterlinguaError
from interlingua.model.events import MessageComplete, StreamError, UsageUpdate
from interlingua.model.exchange import ProviderError
from interlingua.model.metadata import Usage
from interlingua.streams.framing import FRAMING, decoder

_MARKS: dict[str, tuple[bytes, ...]] = {
    "ollama": (b"_count",),
    "gemini": (b"usageMetadata",),
    "bedrock": (b"metadata",),
}
_USUAL = (b'"usage"',)
_ENDS = {"sse": b"\n\n", "ndjson": b"\n"}
_LONGEST = 16 * 1024 * 1024
"""Of one frame that is waited for; a longer one is not looked into."""


class Passing:
    """Bytes in, the same bytes out, or all but one frame. `usage` is the last that was told."""

    def __init__(self, dialect: Dialect, without_usage: bool = False) -> None:
        self.usage: Usage | None = None
        self.error: ProviderError | None = None
        self._marks = _MARKS.get(dialect.name, _USUAL)
        self._end = _ENDS.get(FRAMING.get(dialect.name, "sse"))
        self._without_usage = without_usage
        self._dialect = dialect
        self._reader = dialect.stream_reader()
        self._reader.marks = False
        self._rest = b""
        """The beginning of a frame whose end has not come yet, as far as it is of interest."""
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """What goes on now. While a frame may be the one to take out, it is held back."""
        if self._end is None or self._rest is None:
            return data
        if self._without_usage:
            return self._filtered(data)
        whole = self._rest + data
        cut = whole.rfind(self._end)
        done, self._rest = (whole[: cut + 2], whole[cut + 2 :]) if cut >= 0 else (b"", whole)
        if len(self._rest) > _LONGEST:
            self._rest = b""
        if any(mark in done for mark in self._marks):
            for frame in done.split(self._end):
                if any(mark in frame for mark in self._marks):
                    self._read(frame + self._end)
        return data

    def _filtered(self, data: bytes) -> bytes:
        assert self._end is not None
        whole = self._held + data
        cut = whole.rfind(self._end)
        if cut < 0:
            self._held = whole
            return b""
        done, self._held = whole[: cut + len(self._end)], whole[cut + len(self._end) :]
        if not any(mark in done for mark in self._marks):
            return done
        kept = []
        for frame in done.split(self._end)[:-1]:
            if any(mark in frame for mark in self._marks):
                self._read(frame + self._end)
                if b'"choices":[]' in frame.replace(b" ", b""):
                    continue
            kept.append(frame + self._end)
        return b"".join(kept)

    def close(self) -> bytes:
        rest, self._held = self._held, b""
        return rest

    def _read(self, frame: bytes) -> None:
        """A frame that may tell usage; one that we cannot read is the client's business."""
        try:
            for each in decoder(self._dialect.name).feed(frame):
                for event in self._reader.feed(each):
                    if isinstance(event, UsageUpdate):
                        self.usage = event.usage
                    elif isinstance(event, MessageComplete):
                        self.usage = event.response.message.metadata.usage or self.usage
                    elif isinstance(event, StreamError):
                        self.error = event.error
        except InterlinguaError:
            return
