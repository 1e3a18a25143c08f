"""Words that come piece by piece, in lines that end between them."""

from __future__ import annotations

import re
import textwrap

_PIECES = re.compile(r"\n|[^\S\n]+|\S+")


class Words:
    """Gives back what may be written of the text so far. The last word waits for its end."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._column = 0
        self._space = ""
        self._word = ""

    def feed(self, text: str) -> str:
        return "".join(self._fed(piece) for piece in _PIECES.findall(text))

    def _fed(self, piece: str) -> str:
        if not piece.isspace():
            self._word += piece
            return ""
        told = self.end()
        if piece == "\n":
            self._column, self._space = 0, ""
            return told + "\n"
        self._space += piece
        return told

    def end(self) -> str:
        """The last word."""
        space, word, self._space, self._word = self._space, self._word, "", ""
        if not word:
            self._space = space
            return ""
        if self._column and self._column + len(space) + len(word) > self._width:
            self._column = len(word)
            return f"\n{word}"
        self._column += len(space) + len(word)
        return space + word


def filled(text: str, width: int, hang: int = 0) -> str:
    """A line in as many as it takes, of which the others begin where the first does, or further to
    the right."""
    if len(text) <= width:
        return text
    start = max(len(text) - len(text.lstrip(" ")), hang)
    return textwrap.fill(
        text, width, subsequent_indent=" " * min(start, width // 2), break_on_hyphens=False
    )
