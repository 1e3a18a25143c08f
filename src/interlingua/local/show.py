"""What people see while the model is fetched or loaded: a line on their terminal, else nothing."""

from __future__ import annotations

import sys
from typing import Protocol, TextIO

_WIDTH = 30


class Show(Protocol):
    """Somewhere to say what takes its time."""

    def say(self, text: str) -> None: ...

    def progress(self, done: int, total: int) -> None: ...

    def finish(self) -> None: ...


class Silent:
    """Says nothing."""

    def say(self, text: str) -> None:
        pass

    def progress(self, done: int, total: int) -> None:
        pass

    def finish(self) -> None:
        pass


class Terminal:
    """One line on a terminal, drawn over and at last wiped away."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._text = ""
        self._tenths = -1

    def say(self, text: str) -> None:
        self._text, self._tenths = text, -1
        self._draw(text)

    def progress(self, done: int, total: int) -> None:
        tenths = done * 1000 // max(total, 1)
        if tenths != self._tenths:
            self._tenths = tenths
            bar = ("█" * (done * _WIDTH // max(total, 1))).ljust(_WIDTH, "░")
            self._draw(f"{self._text} {bar} {done / 1e6:.0f} of {total / 1e6:.0f} MB")

    def finish(self) -> None:
        self._draw("")

    def _draw(self, text: str) -> None:
        self._stream.write(f"\r\x1b[2K{text}")
        self._stream.flush()


def usual() -> Show:
    """The terminal where there is one."""
    return Terminal(sys.stderr) if sys.stderr is not None and sys.stderr.isatty() else Silent()
