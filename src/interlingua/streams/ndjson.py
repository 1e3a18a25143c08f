"""Newline-delimited JSON: bytes to frames and back. The bytes may be cut anywhere."""

from __future__ import annotations

from interlingua.errors import WriteError
from interlingua.streams.frames import LIMIT, MANY, Frame, bytes_of, text_of, thin, too_large

WHAT = "newline-delimited JSON"


class Decoder:
    """Bytes in, one frame a line out; blank lines are skipped."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[Frame]:
        self._pieces.append(data)
        if len(self._pieces) > MANY:
            thin(self._pieces)
        self._size += len(data)
        if b"\n" not in data:
            if self._size > self._limit:
                raise too_large(WHAT, self._limit)
            return []
        *lines, rest = b"".join(self._pieces).split(b"\n")
        self._pieces, self._size = [rest], len(rest)
        if self._size > self._limit:
            raise too_large(WHAT, self._limit)
        return [Frame(None, text_of(line.strip(), WHAT)) for line in lines if line.strip()]

    def close(self) -> list[Frame]:
        """The last line counts without its end if it looks like a whole object."""
        line = b"".join(self._pieces).strip()
        self._pieces, self._size = [], 0
        whole = line.startswith(b"{") and line.endswith(b"}") and _balanced(line)
        return [Frame(None, text_of(line, WHAT))] if whole else []


def _balanced(line: bytes) -> bool:
    import msgspec

    try:
        msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False
    return True


def encode(frame: Frame) -> bytes:
    if "\n" in frame.data or "\r" in frame.data:
        raise WriteError(WHAT, "$.data", "a line end inside a frame")
    return bytes_of(f"{frame.data}\n", WHAT)
