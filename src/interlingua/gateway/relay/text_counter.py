"""How much an answer has said that goes on as it is: for those who have to pay for it although it
does not tell what it used."""

from __future__ import annotations

import re

from interlingua.gateway.shared.fronts import front_of

HELD = 64 * 1024
"""Bytes of a stream that are kept before they are looked at, which mostly is not needed."""
_TEXT = rb'"(?:%b)"\s*:\s*"((?:[^"\\]|\\.)*)"'


class TextCounter:
    """Whole frames in; how many bytes of text are in them is counted when somebody asks."""

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
