"""What of a message can be searched, how a question is spelled for each engine, and snippets."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from interlingua.model.blocks import (
    AudioBlock,
    Block,
    DocumentBlock,
    RefusalBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.message import Message

LONGEST = 150_000
"""Characters of one message that are indexed: PostgreSQL's index entries hold at most 1 MB."""
SNIPPET = 160

_NO_WORD = re.compile(r"[\W_]+")


def text_of(message: Message) -> str:
    """All that people wrote and tools said. Not thinking: it is no part of the conversation."""
    pieces: list[str] = []
    room = LONGEST
    for piece in _pieces(message.content):
        pieces.append(piece[:room])
        room -= len(piece) + 1
        if room <= 0:
            break
    return unicodedata.normalize("NFC", "\n".join(pieces)).replace("\0", " ")


def _pieces(blocks: tuple[Block, ...]) -> Iterator[str]:
    for block in blocks:
        match block:
            case TextBlock() | RefusalBlock():
                yield block.text
            case ToolUseBlock():
                yield block.name
                yield from (item for item in block.input.values() if isinstance(item, str))
            case ToolResultBlock():
                yield from _pieces(block.content)
            case AudioBlock():
                yield block.transcript or ""
            case DocumentBlock():
                yield block.title or ""
                if block.source.kind == "text":
                    yield block.source.data or ""


def plain_words(text: str) -> str:
    """Words in lower case with single spaces between: nothing that a parser could take for a path,
    a host or a number with a sign."""
    return _NO_WORD.sub(" ", text.lower()).strip()


def _asked(words: str) -> list[tuple[list[str], bool]]:
    """Each piece of a question: its words in order, and whether the last is only a start."""
    found = []
    for piece in unicodedata.normalize("NFC", words.replace("\0", " ")).split():
        parts = plain_words(piece).split()
        if parts:
            found.append((parts, piece.endswith("*")))
    return found


def for_sqlite(words: str) -> str:
    """A question for FTS5; empty when there is no word in it."""
    return " ".join(f'"{" ".join(parts)}"{"*" * start}' for parts, start in _asked(words))


def for_postgres(words: str) -> str:
    """A question for `to_tsquery`; empty when there is no word in it."""
    return " & ".join(
        "(" + " <-> ".join([f"'{part}'" for part in parts]) + (":*" if start else "") + ")"
        for parts, start in _asked(words)
    )


def snippet(text: str, words: str) -> str:
    """A piece of the text around the first word that was asked for."""
    lower = text.lower()
    places = [lower.find(parts[0]) for parts, _ in _asked(words)]
    first = min((place for place in places if place >= 0), default=0)
    start = max(0, first - SNIPPET // 4)
    piece = " ".join(text[start : start + SNIPPET].split())
    return ("…" if start else "") + piece + ("…" if start + SNIPPET < len(text) else "")
