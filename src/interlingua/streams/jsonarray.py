"""One JSON array whose items arrive one by one (Gemini without SSE): bytes to frames and back.

The bytes may be cut anywhere. Items are objects; between them stand white space, commas and
brackets.
"""

from __future__ import annotations

import re

from interlingua.errors import ReadError
from interlingua.streams.frames import LIMIT, Frame, bytes_of, text_of, too_large

WHAT = "JSON array"
_MARKS = re.compile(rb'["\\{}\[\]]')
_BETWEEN = b" \t\r\n,[]"


class Decoder:
    """Bytes in, one frame an item out."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._item: list[bytes] = []
        self._size = 0
        self._depth = 0
        self._in_string = False
        self._escaped = False

    def feed(self, data: bytes) -> list[Frame]:
        frames: list[Frame] = []
        start = 0 if self._depth else self._skip(data, 0)
        at = start
        if self._escaped and data:
            self._escaped, at = False, at + 1
        while at < len(data):
            found = _MARKS.search(data, at)
            if found is None:
                break
            at = found.end()
            mark = found[0]
            if self._in_string:
                if mark == b"\\":
                    self._escaped = at >= len(data)
                    at += 1
                elif mark == b'"':
                    self._in_string = False
            elif mark == b'"':
                self._in_string = True
            elif mark in b"{[":
                self._depth += 1
            elif mark in b"}]":
                self._depth -= 1
                if self._depth == 0:
                    self._item.append(data[start:at])
                    frames.append(Frame(None, text_of(b"".join(self._item), WHAT)))
                    self._item, self._size = [], 0
                    start = at = self._skip(data, at)
        if start < len(data):
            self._item.append(data[start:])
            self._size += len(data) - start
        if self._size > self._limit:
            raise too_large(WHAT, self._limit)
        return frames

    def _skip(self, data: bytes, at: int) -> int:
        """The place of the next item's brace."""
        while at < len(data) and data[at] in _BETWEEN:
            at += 1
        if at < len(data) and data[at : at + 1] != b"{":
            raise ReadError(
                WHAT, expected="an object", found=repr(data[at : at + 1].decode("latin-1"))
            )
        return at

    def close(self) -> list[Frame]:
        """An item that is cut is no item."""
        self._item, self._size, self._depth = [], 0, 0
        return []


class Encoder:
    """Frames in, the bytes of one array out."""

    def __init__(self) -> None:
        self._first = True

    def feed(self, frame: Frame) -> bytes:
        head, self._first = ("[" if self._first else ",\r\n"), False
        return bytes_of(head + frame.data, WHAT)

    def close(self) -> bytes:
        return b"[]" if self._first else b"]"


def encode(frame: Frame) -> bytes:
    """One item without brackets and commas; `Encoder` makes the whole array."""
    return bytes_of(frame.data, WHAT)
