"""Handlers' results in the form for the model: blocks of a bounded size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from interlingua.model.base import Value
from interlingua.model.blocks import (
    AudioBlock,
    DocumentBlock,
    ImageBlock,
    ResultBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
    VideoBlock,
)
from interlingua.tools.schema import json_problems

RESULT_TYPES = (TextBlock, ImageBlock, AudioBlock, VideoBlock, DocumentBlock, UnknownBlock)
MAX_LEVELS = 200
MAX_ERROR_TEXT = 2000


class Limits(NamedTuple):
    """The limits of a result for the model. A note replaces the parts cut or left out."""

    text: int = 200_000
    """Characters of all text together."""
    media: int = 20 * 1024 * 1024
    """Characters of the data of all media together (base64, if it is that)."""
    blocks: int = 100


class ResultError(TypeError):
    """A handler gave something that no result can hold."""


def result_of(call: ToolUseBlock, value: Any, limits: Limits) -> ToolResultBlock:
    """The result of a call. Raises a ResultError for values that a model cannot be sent."""
    if isinstance(value, ToolResultBlock):
        content = _checked(value.content)
        changes = {"tool_use_id": call.id, "tool_name": sound(call.name)}
        return value.replace(content=bounded(content, limits), **changes)
    return ToolResultBlock(call.id, bounded(_blocks(value), limits), tool_name=sound(call.name))


def error_result(call: ToolUseBlock, text: str) -> ToolResultBlock:
    """An error result with this text."""
    if len(text) > MAX_ERROR_TEXT:
        text = text[: MAX_ERROR_TEXT - 1] + "…"
    return ToolResultBlock(call.id, (TextBlock(sound(text)),), True, sound(call.name))


def size_of(result: ToolResultBlock) -> int:
    """Characters of text and data in a result."""
    return sum(sum(_sizes(block)) for block in result.content)


def sound(text: str) -> str:
    """The text with halves of surrogate pairs replaced: they have no JSON form."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def bounded(content: tuple[ResultBlock, ...], limits: Limits) -> tuple[ResultBlock, ...]:
    """The blocks, cut to the limits. Text is cut at its end, media is left out whole."""
    if len(content) <= limits.blocks:
        texts, medias = zip(*map(_sizes, content), strict=True) if content else ((), ())
        if sum(texts) <= limits.text and sum(medias) <= limits.media:
            return content
    blocks: list[ResultBlock] = []
    text, media = limits.text, limits.media
    for block in content[: limits.blocks]:
        words, data = _sizes(block)
        if isinstance(block, TextBlock) and words > text:
            note = f"[cut: {words - text} of {words} characters left out]"
            # What points into the text (citations) or vouches for it (a signature) goes with it.
            blocks.append(TextBlock(f"{block.text[:text]}\n{note}" if text else note))
            text = 0
        elif words > text or data > media:
            blocks.append(TextBlock(f"[{_type(block)} of {words + data} characters left out]"))
        else:
            blocks.append(block)
            text, media = text - words, media - data
    if len(content) > limits.blocks:
        blocks.append(TextBlock(f"[{len(content) - limits.blocks} blocks left out]"))
    return tuple(blocks)


def _blocks(value: Any) -> tuple[ResultBlock, ...]:
    if value is None or value == "":
        return ()
    if isinstance(value, str):
        return (TextBlock(sound(value)),)
    if isinstance(value, Value):
        return _checked((value,))
    if isinstance(value, (list, tuple)) and any(isinstance(item, Value) for item in value):
        return _checked(tuple([TextBlock(i) if isinstance(i, str) else i for i in value]))
    if isinstance(value, (dict, list, tuple, bool, int, float)):
        return (TextBlock(json_text(value)),)
    raise ResultError(
        f"a tool returns text, JSON, blocks or a result; this one returned a {type(value).__name__}"
    )


def json_text(value: Any) -> str:
    """A JSON value as text. Raises a ResultError for other values."""
    for path, problem in json_problems(value, levels=MAX_LEVELS):
        raise ResultError(f"the tool's result is not valid JSON, at {path}: {problem}")
    return msgspec.json.encode(value).decode()


def _checked(content: tuple[Any, ...]) -> tuple[ResultBlock, ...]:
    for block in content:
        if not isinstance(block, RESULT_TYPES):
            raise ResultError(f"a result cannot hold a {type(block).__name__}")
    return tuple([_sound_block(block) for block in content])


def _sound_block(block: ResultBlock) -> ResultBlock:
    if isinstance(block, TextBlock):
        text = sound(block.text)
        return block if text is block.text or text == block.text else block.replace(text=text)
    return block


def _sizes(block: Any) -> tuple[int, int]:
    """Characters of text and of data in a block, those of the blocks inside it included."""
    if isinstance(block, TextBlock):
        return len(block.text), 0
    if isinstance(block, UnknownBlock):
        return len(msgspec.json.encode(block.raw)), 0
    text = data = 0
    source = getattr(block, "source", None)
    if source is not None:
        if source.kind == "text":
            text += len(source.data or "")
        else:
            data += len(source.data or "")
    for inner in _inside(block):
        more = _sizes(inner)
        text, data = text + more[0], data + more[1]
    return text, data


def _inside(block: Any) -> Iterator[Any]:
    source = getattr(block, "source", None)
    yield from (source.content if source is not None else None) or ()


def _type(block: Value) -> str:
    return str(block.__struct_config__.tag)
