"""Server-sent events: bytes to frames and back. The bytes may be cut anywhere.

Lines end with LF, CR or CRLF; a blank line ends an event. Comments, `id` and `retry` are ignored. A
last event without its blank line is returned at the end.
"""

from __future__ import annotations

import re
from functools import lru_cache

from interlingua.errors import WriteError
from interlingua.streams.frames import LIMIT, MANY, Frame, bytes_of, text_of, thin, too_large

WHAT = "server-sent events"
_BOM = b"\xef\xbb\xbf"


class Decoder:
    """Bytes in, frames out."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._pieces: list[bytes] = []
        self._size = 0
        self._last = b""
        self._fresh = True
        self._after_cr = False
        self._is_between = False
        """Whether the last byte ended an event."""
        self.is_cut = False
        """Whether the stream has ended in the middle of a line."""
        self._head = "data: "
        self._name: str | None = None
        """The beginnings of the last single events, and their names."""

    def head_of(self, name: str | None) -> str | None:
        """The beginning of the next event if it has the same name as the last one, `name`; None
        inside an event, or if the last ones arrived together."""
        return self._head if self._is_between and self._name == name else None

    def feed(self, data: bytes) -> list[Frame]:
        if self._is_between and data[-2:] == b"\n\n":
            try:
                text = data.decode()
            except UnicodeDecodeError:
                text = text_of(data, WHAT)  # which raises with the reason
            head, last = self._head, len(text) - 2
            if text.startswith(head) and text.find("\n", len(head)) == last and "\r" not in text:
                return [_new(Frame, (self._name, text[len(head) : last]))]
            self._head, self._name = _head_of(text, head, self._name)
        if self._fresh:
            data = self._begin(data)
        if self._after_cr or data.find(b"\r") >= 0:
            data = self._plain_lines(data)
        if not data:
            return []
        self._is_between = False
        self._pieces.append(data)
        if len(self._pieces) > MANY:
            thin(self._pieces)
        self._size += len(data)
        ends = data.find(b"\n\n") >= 0 or (self._last == b"\n" and data[:1] == b"\n")
        self._last = data[-1:]
        if ends:
            return self._cut()
        if self._size > self._limit:
            raise too_large(WHAT, self._limit)
        return []

    def close(self) -> list[Frame]:
        """The stream has ended: an event whose last line is complete counts."""
        lines = b"".join(self._pieces).split(b"\n")
        self.is_cut = bool(lines[-1].strip())
        self._pieces, self._size = [], 0
        frame = _frame(lines[:-1])
        return [frame] if frame else []

    def _begin(self, data: bytes) -> bytes:
        """Take off a byte order mark, which may come in pieces."""
        start = b"".join(self._pieces) + data
        self._pieces = []
        if len(start) < 3 and _BOM.startswith(start):
            self._pieces = [start]
            return b""
        self._fresh = False
        return start.removeprefix(_BOM)

    def _plain_lines(self, data: bytes) -> bytes:
        """All line ends as LF; the LF of a CRLF may come with the next piece."""
        if self._after_cr and data:
            data = data.removeprefix(b"\n")
        if data:
            self._after_cr = data.endswith(b"\r")
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _cut(self) -> list[Frame]:
        whole = b"".join(self._pieces)
        end = whole.rfind(b"\n\n") + 2
        rest = whole[end:]
        self._pieces, self._size = [rest], len(rest)
        self._is_between = not rest and not self._after_cr
        if self._size > self._limit:
            raise too_large(WHAT, self._limit)
        frames = _plain_frames(whole[:end])
        if frames is not None:
            return frames
        frames = []
        for block in whole[:end].split(b"\n\n")[:-1]:
            if block.startswith(b"data: ") and b"\n" not in block:
                frames.append(Frame(None, text_of(block[6:], WHAT)))
            else:
                frame = _frame(block.split(b"\n"))
                if frame:
                    frames.append(frame)
        return frames


_plain_frame = re.compile(r"^(?:event: ([^\n]+)\n)?data: ([^\n]*)\n\n", re.MULTILINE)


def _plain_frames(data: bytes) -> list[Frame] | None:
    """Events in the common spelling, all at once; None if a single line differs."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    found = _plain_frame.findall(text)
    lines = 2 * len(found) + sum([1 for name, _ in found if name])
    if text.count("\n") != lines:
        return None
    return [_new(Frame, (name or None, data)) for name, data in found]


def _head_of(text: str, head: str, name: str | None) -> tuple[str, str | None]:
    """The beginning of this event, and its name, if it has the common spelling."""
    line = text.find("\n")
    if text[:6] == "data: ":
        return "data: ", None
    if text[:7] == "event: " and text[line + 1 : line + 7] == "data: " and line > 7:
        return text[: line + 7], text[7:line]
    return head, name


_new = tuple.__new__


def _frame(lines: list[bytes]) -> Frame | None:
    event: bytes | None = None
    data: list[bytes] = []
    for line in lines:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            data.append(value)
        elif name == b"event":
            event = value
    if not data:
        return None
    name_text = text_of(event, WHAT) if event else None
    return Frame(name_text, text_of(b"\n".join(data), WHAT))


def encode(frame: Frame) -> bytes:
    """A frame as bytes. No value can end its line and begin a line of its own."""
    event, data = frame
    name = "" if event is None else _name_line(event)
    if "\n" in data or "\r" in data:
        lines = re.split(r"\r\n|\r|\n", data)
        data = "\ndata: ".join(lines)
    try:
        return f"{name}data: {data}\n\n".encode()
    except UnicodeEncodeError:
        return bytes_of(data, WHAT)  # which raises with the reason


@lru_cache(maxsize=256)
def _name_line(event: str) -> str:
    if re.search(r"[\r\n\0]", event):
        raise WriteError(WHAT, "$.event", "a line end or NUL in an event's name")
    return f"event: {event}\n"


def comment(text: str = "") -> bytes:
    """A comment line, to keep a connection alive."""
    return bytes_of(": " + re.sub(r"[\r\n\0]", " ", text) + "\n\n", WHAT)
