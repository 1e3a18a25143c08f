"""What of a message can be searched, how a question is spelled for each engine, and snippets."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import groupby, pairwise
from typing import NamedTuple

from interlingua.model.blocks import (
    AudioBlock,
    Block,
    CompactionBlock,
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

_SPACELESS = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece"  # Thai, Lao
    "\u1000-\u103f\u1780-\u17d3"  # Myanmar, Khmer
    "\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3"  # Korean: particles are written onto words
    "\u3005-\u3007\u3041-\u3096\u3099-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U000323af"
)
"""Letters and signs of scripts that are written without spaces between words. There any piece of a
line can be asked for, so they are indexed one by one (SQLite) or in pairs (PostgreSQL)."""
_RUN = re.compile(f"[{_SPACELESS}]+")
_WORD_OR_RUN = re.compile(f"[{_SPACELESS}]+|(?:(?![{_SPACELESS}])[^\\W_])+")
_BETWEEN = re.compile(f"(?<=[{_SPACELESS}])(?=\\w|[{_SPACELESS}])|(?<=\\w)(?=[{_SPACELESS}])")
_INVISIBLE = "\u200b"
"""A space without width: ends a word for SQLite, and changes nothing for people."""
PAIRS = 500_000
"""The most bytes of pairs that are stored for one message, for the same reason as `LONGEST`."""


def text_of(message: Message) -> str:
    """The text of users, models and tool results; without thinking, which is no part of the
    conversation."""
    pieces: list[str] = []
    room = LONGEST
    for piece in _pieces(message.content):
        pieces.append(piece[:room])
        room -= len(piece) + 1
        if room <= 0:
            break
    text = "\n".join(pieces).replace("\0", " ").replace(_INVISIBLE, "")
    return unicodedata.normalize("NFC", text)


def _pieces(blocks: tuple[Block, ...]) -> Iterator[str]:
    for block in blocks:
        match block:
            case TextBlock() | RefusalBlock():
                yield block.text
            case CompactionBlock():
                yield block.text or ""
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


# Questions: pieces between spaces; each is words and runs in order. Words are asked for as phrases,
# runs as they stand.


class Piece(NamedTuple):
    parts: list[str]
    """Words in lower case, and runs of letters of scripts without spaces."""
    is_start: bool
    """Whether the last word is only the start of one."""

    @property
    def runs(self) -> list[str]:
        return [part for part in self.parts if is_run(part)]


def is_run(part: str) -> bool:
    return _RUN.match(part) is not None


def _search_pieces(words: str) -> list[Piece]:
    found = []
    plain = words.replace("\0", " ").replace(_INVISIBLE, "")
    for piece in unicodedata.normalize("NFC", plain).split():
        parts = _WORD_OR_RUN.findall(piece.lower())
        if parts:
            found.append(Piece(parts, piece.endswith("*") and not is_run(parts[-1])))
    return found


# SQLite: the text itself is indexed, with invisible spaces around letters of such scripts.


def spaced(text: str) -> str:
    if text.isascii() or not _RUN.search(text):
        return text  # much quicker, and most texts are such
    return _BETWEEN.sub(_INVISIBLE, text)


def unspaced(text: str) -> str:
    return text.replace(_INVISIBLE, "")


def for_sqlite(words: str) -> tuple[str, list[str]]:
    """A question for FTS5, empty when there is no word in it; and what the text has to contain,
    since FTS5 passes over vowel signs."""
    pieces = _search_pieces(words)
    phrases = []
    for piece in pieces:
        tokens = [" ".join(part) if is_run(part) else part for part in piece.parts]
        phrases.append(f'"{" ".join(tokens)}"{"*" * piece.is_start}')
    return " ".join(phrases), [_INVISIBLE.join(run) for piece in pieces for run in piece.runs]


# PostgreSQL: words have places, for phrases; runs are kept as single letters and pairs of them
# without a place, because a letter has room for 256 places only.


def plain_words(text: str) -> str:
    """Words in lower case with single spaces between: nothing that a parser could take for a path,
    a host or a number with a sign."""
    if not text.isascii():
        text = _RUN.sub(" ", text)
    return _NO_WORD.sub(" ", text.lower()).strip()


def pairs_of(text: str) -> list[str]:
    """Letters and pairs of neighbours of all runs, each once."""
    if text.isascii():
        return []
    found: dict[str, None] = {}
    room = PAIRS
    for run in _RUN.findall(text):
        for pair in (*run, *map("".join, pairwise(run))):
            if pair not in found:
                found[pair] = None
                room -= len(pair) * 4
        if room < 0:
            break
    return list(found)


def for_postgres(words: str) -> tuple[str, str, list[str]]:
    """A question for `to_tsquery`, one of pairs, and what the text has to contain."""
    phrases, pairs, runs = [], [], []
    for parts, is_start in _search_pieces(words):
        for of_runs, group in groupby(parts, is_run):
            if of_runs:
                runs += (found := list(group))
                pairs += [pair for run in found for pair in _pairs(run)]
            else:
                phrases.append([f"'{part}'" for part in group])
        if is_start:
            phrases[-1][-1] += ":*"
    query = " & ".join(f"({' <-> '.join(phrase)})" for phrase in phrases)
    return query, " & ".join(f"'{pair}'" for pair in pairs), runs


def _pairs(run: str) -> list[str]:
    return [run] if len(run) == 1 else list(map("".join, pairwise(run)))


def snippet(text: str, words: str) -> str:
    """A piece of the text around the first word that was asked for."""
    lower = text.lower()
    places = [lower.find(piece.parts[0]) for piece in _search_pieces(words)]
    first = min((place for place in places if place >= 0), default=0)
    start = max(0, first - SNIPPET // 4)
    piece = " ".join(text[start : start + SNIPPET].split())
    return ("…" if start else "") + piece + ("…" if start + SNIPPET < len(text) else "")
