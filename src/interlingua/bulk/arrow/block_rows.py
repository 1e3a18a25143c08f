"""Each kind of block as a row: the columns of `schema.BLOCK_FIELDS`, in their order."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from interlingua.bulk.arrow.parts import BLOCKS
from interlingua.bulk.arrow.rest import encode
from interlingua.model.blocks import (
    AudioBlock,
    Block,
    CompactionBlock,
    DocumentBlock,
    ImageBlock,
    MediaBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
    VideoBlock,
)

Row = tuple[Any, ...]
_NO4 = (None,) * 4
_NO5 = (None,) * 5
_REST = {name: rest.write for name, rest in BLOCKS.items()}
_text_rest = _REST["text"]
_thinking_rest = _REST["thinking"]
_call_rest = _REST["tool_use"]
_result_rest = _REST["tool_result"]


def _text(b: TextBlock) -> Row:
    plain = b.raw is None and not b.citations and b.cache is None and b.phase is None
    rest = None if plain else _text_rest(b)
    return ("text", b.text, *_NO5, b.signature, *_NO4, rest)


def _thinking(b: ThinkingBlock) -> Row:
    rest = _thinking_rest(b)
    return ("thinking", b.text, b.id, *_NO4, b.signature, *_NO4, rest)


def _call(b: ToolUseBlock) -> Row:
    arguments = (encode(b.input), b.raw_arguments, b.signature)
    return ("tool_use", None, b.id, None, b.name, *arguments, *_NO4, _call_rest(b))


def _result(b: ToolResultBlock) -> Row:
    rest, text, content = _result_rest(b), None, None
    if len(b.content) == 1 and is_plain(b.content[0]):
        text = b.content[0].text  # type: ignore[union-attr]  # a text block, as was just found
    elif b.content:
        content = encode(b.content)
    answered = (b.tool_use_id, None, None, None, None, b.is_error)
    return ("tool_result", text, None, *answered, content, None, None, rest)


def is_plain(block: Block) -> bool:
    """A text block that is nothing but its text."""
    return type(block) is TextBlock and block.signature is None and _text_rest(block) is None


def _media(b: MediaBlock) -> Row:
    kind, source = b.type, encode(b.source)
    shown = (b.name, *_NO5, source, b.media_type)
    return (kind, None, None, None, *shown, _REST[kind](b))


def _refusal(b: RefusalBlock) -> Row:
    return ("refusal", b.text, *_NO5, *_NO5, _REST["refusal"](b))


def _compaction(b: CompactionBlock) -> Row:
    return ("compaction", b.text, *_NO5, b.signature, *_NO4, _REST["compaction"](b))


def _rest_alone(b: RedactedThinkingBlock | UnknownBlock) -> Row:
    kind = b.type
    return (kind, None, *_NO5, *_NO5, _REST[kind](b))


ROWS: dict[type[Block], Callable[[Any], Row]] = {
    TextBlock: _text,
    ThinkingBlock: _thinking,
    RedactedThinkingBlock: _rest_alone,
    ToolUseBlock: _call,
    ToolResultBlock: _result,
    ImageBlock: _media,
    AudioBlock: _media,
    VideoBlock: _media,
    DocumentBlock: _media,
    RefusalBlock: _refusal,
    CompactionBlock: _compaction,
    UnknownBlock: _rest_alone,
}


_LARGE = [itemgetter(at) for at in (1, 5, 9, 10)]


def size_of(rows: list[Row]) -> int:
    """About how many bytes rows take: their text, input, content and source."""
    return sum(sum(map(len, filter(None, map(cell, rows)))) for cell in _LARGE)
