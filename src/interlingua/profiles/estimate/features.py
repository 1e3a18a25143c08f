"""Features that can be counted without a tokenizer: pieces of text, structure, and media.

Tokenizers cut text at the borders of words, numbers, punctuation and line breaks before they do
anything else, so counting those pieces comes close to counting tokens. How much each kind of piece
weighs is data; see `weights`.

Tokens of media follow the rules that providers publish, where the size is known: images are cut
into tiles or measured in pixels. The size is read from the first bytes of inline images; one given
by address is taken to be of a usual size. Sound, film and pages have flat rates, which are rough.
"""

from __future__ import annotations

import base64
import binascii
import math
import operator
import re
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits, punctuation
from typing import Any

import msgspec

from interlingua.model.blocks import (
    AudioBlock,
    Block,
    CompactionBlock,
    DocumentBlock,
    ImageBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    VideoBlock,
)
from interlingua.model.exchange import Options
from interlingua.model.message import Message, Role
from interlingua.model.spelled_numbers import spelled
from interlingua.model.tools import ToolDefinition

# Ideographs, kana, hangul: no spaces between words.
_DENSE = r"[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
_LETTERS = r"[^\W\d_]+"
_PIECES = re.compile(
    r"[A-Z]*[a-z]+|[A-Z]+"  # words
    r"|[0-9]+"
    r"|\s*\n\s*"  # lines
    r"|[ \t\r\f\v]+"  # blanks
    r"|[!-/:-@\[-`{-~]+"  # marks
    rf"|{_DENSE}|{_LETTERS}|.",
    re.DOTALL,
)
_KINDS = dict.fromkeys(ascii_letters, "word") | dict.fromkeys(digits, "number")
_KINDS |= dict.fromkeys(" \t\r\f\v", "space") | dict.fromkeys(punctuation, "mark")
"""The kind of a piece by its first character; `_kind_of` decides the others."""
_is_dense, _is_letters = re.compile(_DENSE).match, re.compile(_LETTERS).match


def _kind_of(piece: str) -> str:
    if "\n" in piece:
        return "line"
    if _is_dense(piece):
        return "dense"
    return "letter" if _is_letters(piece) else "other"


_USUAL = 6
"""Words of up to this length are mostly one token."""
_LONG = 200
"""Characters of a text from which on its pieces are counted by their borders, which takes less time
than to cut it."""
_FEW = 32
"""Characters for each word that is not ASCII; where there are more of them, all is cut."""
_AT_ONCE = 256
_BLANKS = " \t\r\f\v"
_NEUTRAL = "\0"
"""Stands for a word that is counted apart."""
_ODD, _TO_BLANK = re.compile(r"[^\0-\x7f]+"), re.compile(r"[^ \t\n]*")


def _table(values: Mapping[str, int], rest: int = 0) -> bytes:
    """A table for `bytes.translate`: a byte for each of these characters, another for the rest."""
    table = bytearray([rest] * 256)
    for characters, value in values.items():
        for each in characters.encode():
            table[each] = value
    return bytes(table)


def _carried(classes: int, every: int) -> tuple[int, int]:
    """Blanks and line breaks as bytes with all bits set, and these with their line breaks added: a
    byte is the same where no line break is before it in its run, and a run with one carries into
    the byte behind it."""
    lines = classes >> 3 & every
    blanks = (lines | classes >> 4 & every) * 255
    return blanks, blanks + lines


def _odd_places(text: str) -> Iterator[int]:
    """Where characters are that are not ASCII; most of a text has none."""
    for start in range(0, len(text), _AT_ONCE):
        if not text[start : start + _AT_ONCE].isascii():
            for found in _ODD.finditer(text, start, start + _AT_ONCE):
                yield found.start()


def _without_odd(text: str) -> tuple[str, list[str]]:
    """The text with a mark in place of each word that is not ASCII, and those words; nothing if
    there are many, or if blanks of other alphabets are beside them."""
    parts, odd, at = list[str](), list[str](), 0
    for place in _odd_places(text):
        if place < at:
            continue
        start = max(at, *[text.rfind(blank, at, place) + 1 for blank in " \t\n"])
        parts.append(text[at:start])
        at = _TO_BLANK.match(text, place).end()  # type: ignore[union-attr]  # it may be empty
        odd.append(text[start:at])
        if odd[-1].strip() != odd[-1] or len(odd) * _FEW > len(text):
            return "", []
    plain = _NEUTRAL.join([*parts, text[at:]])
    return ("", []) if any(blank in plain for blank in "\r\f\v") else (plain, odd)


def _blocks(data: bytes) -> Iterator[bytes]:
    """The text in parts that fit the processor's caches, if it has lines."""
    start = 0
    while len(data) - start > _BLOCK and (found := _LINE.search(data, start + _BLOCK)):
        yield data[start : found.end()]
        start = found.end()
    yield data[start:]


_BLOCK, _LINE = 32 * 1024, re.compile(rb"\n(?=[^\s\0])")
"""Bytes that are counted together, and where a line begins that is neither empty nor indented."""
_CLASSES = _table({ascii_lowercase: 1, ascii_uppercase: 2, punctuation: 4, "\n": 8, _BLANKS: 16})
_NUMBERS = _table({digits: ord("d")}, ord(" "))
_COUNTED = (ascii_letters + digits + punctuation + _BLANKS + "\n").encode()


class Pieces(msgspec.Struct):
    """The number of pieces of each kind in a text."""

    words: int = 0
    tails: int = 0
    """Letters of words beyond this length."""
    numbers: int = 0
    """Groups of up to three digits."""
    lines: int = 0
    spaces: int = 0
    """Blanks beyond the one before a word."""
    marks: int = 0
    mark_tails: int = 0
    dense: int = 0
    letters: int = 0
    """Letters of alphabets other than the plain Latin one."""
    others: int = 0

    def add(self, text: str) -> None:
        if len(text) >= _LONG:
            text = self._add_plain(text)
        for piece, count in Counter(_PIECES.findall(text)).items():
            length, kind = len(piece), _KINDS.get(piece[0]) or _kind_of(piece)
            if kind == "word":
                self.words += count
                if length > _USUAL:
                    self.tails += (length - _USUAL) * count
            elif kind == "number":
                self.numbers += -(-length // 3) * count
            elif kind == "line" or (kind == "space" and "\n" in piece):
                self.lines += count
            elif kind == "space":
                self.spaces += (length - 1) * count
            elif kind == "mark":
                self.marks += count
                self.mark_tails += (length - 1) * count
            elif kind == "dense":
                self.dense += length * count
            elif kind == "letter":
                self.letters += length * count
            else:
                self.others += count

    def _add_plain(self, text: str) -> str:
        """Counts the words in plain ASCII; returns the others, to be cut into pieces."""
        plain, odd = (text, []) if text.isascii() else _without_odd(text)
        data = plain.encode("ascii")
        if not data or len(data.translate(None, _COUNTED)) > len(odd):
            return text
        for block in _blocks(data):
            self._add_ascii(block)
        return " ".join(odd)

    def _add_ascii(self, data: bytes) -> None:
        """Counts by numbers of as many bytes as the text has, with a bit for each character of a
        class: such a number and the same, moved by a byte, show which neighbours are alike."""
        classes, every = data.translate(_CLASSES), int.from_bytes(b"\1" * len(data), "little")
        all = int.from_bytes(classes, "little")
        lower, upper, marks = all & every, all >> 1 & every, all >> 2 & every
        letters = lower | upper
        inner = letters & letters << 8 ^ upper & lower << 8  # in `aB`, `B` begins another word
        three = inner & inner << 8 & inner << 16
        self.words += letters.bit_count() - inner.bit_count()
        self.tails += (three & three << 24).bit_count()
        tails = (marks & marks << 8).bit_count()
        self.marks += marks.bit_count() - tails
        self.mark_tails += tails
        self.numbers += sum([-(-len(each) // 3) for each in data.translate(_NUMBERS).split()])
        blanks, carried = _carried(all, every)
        self.lines += (carried & (every << 8 | every) & ~blanks).bit_count()
        behind = operator.and_(*_carried(int.from_bytes(classes, "big"), every)) >> 7
        behind = int.from_bytes((behind & every).to_bytes(len(data), "big"), "little")
        alone = carried >> 7 & blanks & behind
        self.spaces += (alone & alone << 8).bit_count()

    def weigh(self, weights: Mapping[str, float]) -> float:
        return sum([float(getattr(self, name)) * weight for name, weight in weights.items()])


_MOST_PIECES, _LONGEST = 8192, 12


class PieceWeights(dict[str, float]):
    """The weights of pieces; common short ones have their own."""

    def __init__(self, weights: Mapping[str, float]) -> None:
        super().__init__()
        self.weights = weights

    def __missing__(self, piece: str) -> float:
        one = Pieces()
        one.add(piece)
        found = one.weigh(self.weights)
        if len(piece) <= _LONGEST:
            if len(self) >= _MOST_PIECES:
                self.clear()
            self[piece] = found
        return found


class WeighedPieces(Pieces):
    """The weight of a text alone, which is found sooner than the counts."""

    known: PieceWeights = msgspec.field(default_factory=lambda: PieceWeights({}))
    total: float = 0.0

    def add(self, text: str) -> None:
        if len(text) >= _LONG:
            plain = Pieces()
            text = plain._add_plain(text)
            self.total += plain.weigh(self.known.weights)
        self.total += sum(map(self.known.__getitem__, _PIECES.findall(text)))

    def weigh(self, weights: Mapping[str, float]) -> float:
        return self.total


class RequestFeatures(msgspec.Struct):
    """The counts of a request. Text is counted by its place, because providers write tools and
    calls into the prompt in formats of their own."""

    text: Pieces = msgspec.field(default_factory=Pieces)
    thinking: Pieces = msgspec.field(default_factory=Pieces)
    calls: Pieces = msgspec.field(default_factory=Pieces)
    results: Pieces = msgspec.field(default_factory=Pieces)
    described: Pieces = msgspec.field(default_factory=Pieces)
    """Names and descriptions of tools and of their inputs."""
    schema: Pieces = msgspec.field(default_factory=Pieces)
    """The schemas as JSON, descriptions included."""
    format: Pieces = msgspec.field(default_factory=Pieces)
    messages: int = 0
    instructions: int = 0
    tool_uses: int = 0
    tool_results: int = 0
    tools: int = 0
    properties: int = 0
    any_tools: int = 0
    forced: int = 0
    signatures: int = 0
    """Characters of signatures and encrypted thinking, which some providers bill like the thinking
    itself."""
    thinks: int = 1
    """Whether the model is to think first; some get an instruction for it in the prompt."""


TEXTS = ("text", "thinking", "calls", "results", "described", "schema", "format")
NUMBERS = (
    "messages",
    "instructions",
    "tool_uses",
    "tool_results",
    "tools",
    "properties",
    "any_tools",
    "forced",
    "signatures",
    "thinks",
)


def count(
    messages: Iterable[Message],
    tools: Iterable[ToolDefinition] = (),
    options: Options | None = None,
    thinks: bool = True,
) -> RequestFeatures:
    """Counts the text and structure of a request, without media. `thinks`: whether the model thinks
    by default."""
    counted = RequestFeatures(thinks=int(thinks))
    for message in messages:
        if message.changes is not None and not message.content:
            continue  # it has no information
        if message.role in (Role.SYSTEM, Role.DEVELOPER):
            counted.instructions = 1
        counted.messages += 1
        for block in message.content:
            count_block(counted, block)
    for tool in tools:
        _count_tool(counted, tool)
    if options is not None:
        choice = options.tool_choice
        if counted.any_tools and choice is not None and choice.mode == "any":
            counted.forced = 1
        if options.response_format is not None and options.response_format.schema:
            counted.format.add(_json(options.response_format.schema))
        reasoning = options.reasoning
        if reasoning is not None and (reasoning.effort is not None or reasoning.mode == "off"):
            counted.thinks = int(reasoning.mode != "off")
    return counted


def count_block(counted: RequestFeatures, block: Block) -> None:
    """Add the features of one block."""
    match block:
        case TextBlock():
            counted.signatures += len(block.signature or "")
            counted.text.add(block.text)
        case RefusalBlock():
            counted.text.add(block.text)
        case ThinkingBlock():
            counted.signatures += len(block.signature or "")
            counted.thinking.add(block.text)
        case RedactedThinkingBlock():
            counted.signatures += len(block.data)
        case CompactionBlock():
            counted.signatures += len(block.data or "") + len(block.signature or "")
            counted.text.add(block.text or "")
        case ToolUseBlock():
            counted.signatures += len(block.signature or "")
            counted.tool_uses += 1
            counted.calls.add(block.name)
            counted.calls.add(_json(block.input))
        case ToolResultBlock():
            counted.tool_results += 1
            for part in block.content:
                if isinstance(part, TextBlock):
                    counted.results.add(part.text)
        case _:
            pass


def _count_tool(counted: RequestFeatures, tool: ToolDefinition) -> None:
    counted.tools += 1
    counted.any_tools = 1
    counted.described.add(tool.name)
    if tool.description:
        counted.described.add(tool.description)
    if tool.input_schema:
        counted.schema.add(_json(tool.input_schema))
        _count_schema(counted, tool.input_schema)


def _count_schema(counted: RequestFeatures, schema: Any) -> None:
    """Names, descriptions and choices: the parts of a schema that a provider's own format keeps."""
    if isinstance(schema, list):
        for item in schema:
            _count_schema(counted, item)
    if not isinstance(schema, dict):
        return
    for key, value in schema.items():
        if key in ("properties", "$defs", "definitions") and isinstance(value, dict):
            for name, item in value.items():
                counted.properties += 1
                counted.described.add(name)
                _count_schema(counted, item)
        elif key == "description" and isinstance(value, str):
            counted.described.add(value)
        elif key == "enum" and isinstance(value, list):
            counted.described.add(_json(value))
        elif key not in ("default", "examples", "example", "const"):
            _count_schema(counted, value)


def _json(value: Any) -> str:
    return msgspec.json.encode(value, enc_hook=spelled).decode()


USUAL_SIZE = (1024, 768)
_HEAD = 65_536
"""Characters of an inline image that are looked at: a JPEG may have its size behind a preview."""


class MediaRules(msgspec.Struct, frozen=True):
    """Either pixels for a token, or a base and so much for a tile."""

    longest: int
    """Larger images are made smaller until the longer side is this."""
    pixels_per_token: int = 0
    base: int = 0
    tile: int = 0
    tile_side: int = 0
    shorter: int = 0
    """Then they are made smaller until the shorter side is this."""
    small: int = 0
    """Images with both sides up to this are one tile."""
    low: int | None = None
    """Images with detail `low`."""
    most: int = 0
    document: int = 2000
    audio: int = 400
    video: int = 3000


def media_tokens(messages: Iterable[Message], rules: MediaRules) -> float:
    return sum(media_of(block, rules) for message in messages for block in message.content)


def media_of(block: Block, rules: MediaRules) -> float:
    """The same for one block."""
    return sum(
        _tokens(each, rules)
        for each in _all_blocks((block,))
        if isinstance(each, (ImageBlock, AudioBlock, VideoBlock, DocumentBlock))
    )


def _all_blocks(blocks: Iterable[Block]) -> Iterator[Block]:
    for block in blocks:
        yield block
        if isinstance(block, ToolResultBlock):
            yield from block.content


def _tokens(block: ImageBlock | AudioBlock | VideoBlock | DocumentBlock, rules: MediaRules) -> int:
    match block:
        case ImageBlock():
            size = None
            if block.source.kind == "base64" and block.source.data:
                size = image_size(block.source.data)
            return image_tokens(size or USUAL_SIZE, rules, block.detail)
        case AudioBlock():
            return rules.audio
        case VideoBlock():
            return rules.video
        case DocumentBlock():
            if block.source.kind == "text":
                return len(block.source.data or "") // 4
            return rules.document


def image_tokens(size: tuple[int, int], rules: MediaRules, detail: str | None = None) -> int:
    if detail == "low" and rules.low is not None:
        return rules.low
    width, height = (max(1, side) for side in size)
    shrink = min(1.0, rules.longest / max(width, height))
    if rules.shorter:
        shrink = min(shrink, rules.shorter / min(width, height))
    width, height = math.ceil(width * shrink), math.ceil(height * shrink)
    if rules.pixels_per_token:
        tokens = math.ceil(width * height / rules.pixels_per_token)
    elif max(width, height) <= rules.small:
        tokens = rules.base + rules.tile
    else:
        side = rules.tile_side
        tokens = rules.base + rules.tile * math.ceil(width / side) * math.ceil(height / side)
    return min(tokens, rules.most) if rules.most else tokens


def image_size(data: str) -> tuple[int, int] | None:
    """Width and height of a base64 PNG, GIF, WebP or JPEG; None if they cannot be read."""
    head = data[: _HEAD - _HEAD % 4]
    try:
        raw = base64.b64decode(head + "=" * (-len(head) % 4))
    except (binascii.Error, ValueError):
        return None
    try:
        if raw.startswith(b"\x89PNG\r\n\x1a\n"):
            return _pair(struct.unpack(">II", raw[16:24]))
        if raw.startswith((b"GIF87a", b"GIF89a")):
            return _pair(struct.unpack("<HH", raw[6:10]))
        if raw.startswith(b"RIFF") and raw[8:12] == b"WEBP":
            return _webp(raw)
        if raw.startswith(b"\xff\xd8"):
            return _jpeg(raw)
    except (struct.error, IndexError):
        pass
    return None


def _pair(sides: tuple[int, ...]) -> tuple[int, int]:
    return sides[0], sides[1]


def _webp(raw: bytes) -> tuple[int, int] | None:
    match raw[12:16]:
        case b"VP8 ":
            width, height = struct.unpack("<HH", raw[26:30])
            return width & 0x3FFF, height & 0x3FFF
        case b"VP8L":
            bits = int.from_bytes(raw[21:25], "little")
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            width = int.from_bytes(raw[24:27], "little") + 1
            return width, int.from_bytes(raw[27:30], "little") + 1
        case _:
            return None


def _jpeg(raw: bytes) -> tuple[int, int] | None:
    place = 2
    while place + 9 < len(raw):
        if raw[place] != 0xFF:
            return None
        marker = raw[place + 1]
        # The markers that begin a frame carry the size; three of their numbers mean other things.
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", raw[place + 5 : place + 9])
            return width, height
        place += 2 + int(struct.unpack(">H", raw[place + 2 : place + 4])[0])
    return None
