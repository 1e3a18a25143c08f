"""Gemini's streams come as server-sent events or as one array of JSON."""

from __future__ import annotations

from interlingua.streams import framing
from interlingua.streams.frames import Frame


class Decoder:
    """Server-sent events, or an array of JSON: the first mark tells."""

    def __init__(self) -> None:
        self._decoder: framing.Decoder | None = None
        self._before = b""
        """What came before it, such as a byte order mark."""

    def feed(self, data: bytes) -> list[Frame]:
        if self._decoder is not None:
            return self._decoder.feed(data)
        data = self._before + data
        start = data.lstrip(b" \t\r\n\xef\xbb\xbf")
        if not start:
            self._before = data
            return []
        is_array = start[:1] == b"["
        self._decoder = framing.DECODERS["json" if is_array else "sse"]()
        return self._decoder.feed(start if is_array else data)

    def close(self) -> list[Frame]:
        return [] if self._decoder is None else self._decoder.close()
