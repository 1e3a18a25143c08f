"""A stored conversation in words: what each block says, and all of it as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

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
    UnknownBlock,
    VideoBlock,
)
from interlingua.model.message import Message
from interlingua.store.rows import SessionRow
from interlingua.transcripts.exports import dollars, minute, plural, status_text

LONGEST = 600
"""Characters of a block that are shown unless all is requested."""


class LabelledText(NamedTuple):
    """What a block says: a word for its kind, and text. `is_code` is data, not prose."""

    label: str
    text: str
    is_code: bool = False


def labelled_text(block: Block) -> LabelledText:
    match block:
        case TextBlock():
            return LabelledText("", block.text)
        case ThinkingBlock():
            return LabelledText("thinking", block.text or "(signed, without text)")
        case RedactedThinkingBlock():
            return LabelledText("thinking", "(encrypted)")
        case ToolUseBlock():
            return LabelledText(f"calls {block.name}", _json(block.input), True)
        case ToolResultBlock():
            parts = [labelled_text(part) for part in block.content]
            text = "\n".join(
                f"[{part.label}] {part.text}" if part.label else part.text for part in parts
            )
            return LabelledText("result: an error" if block.is_error else "result", text, True)
        case RefusalBlock():
            return LabelledText("refuses", block.text)
        case ImageBlock() | AudioBlock() | VideoBlock() | DocumentBlock():
            return LabelledText(block.type, _media(block))
        case CompactionBlock():
            return LabelledText("summary of what came before", block.text or "(encrypted)")
        case UnknownBlock():
            return LabelledText("unknown block", _json(block.raw), True)


def _media(block: ImageBlock | AudioBlock | VideoBlock | DocumentBlock) -> str:
    source = block.source
    data = source.data if isinstance(source.data, str) else ""
    where = data if source.kind in ("url", "file_id", "file_ref", "text") else ""
    size = f"{len(data) * 3 // 4:,} bytes" if source.kind == "base64" else ""
    return ", ".join(part for part in (block.name, block.media_type, where, size) if part)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def head(message: Message) -> str:
    """What is known of a message beside what it says."""
    metadata = message.metadata
    usage = metadata.usage
    parts = [
        message.name or "",
        metadata.model or "",
        minute(message.created_at) if message.created_at else "",
        status_text(metadata.status),
    ]
    if usage is not None and usage.total_tokens is not None:
        parts.append(f"{_count(usage.prompt_tokens)} in, {_count(usage.output_tokens)} out")
    if usage is not None and usage.cost_usd is not None:
        parts.append(dollars(usage.cost_usd))
    return " · ".join(part for part in parts if part)


def _count(count: int | None) -> str:
    return "?" if count is None else f"{count:,}"


def clipped(text: str, full: bool) -> str:
    if full or len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}… ({len(text):,} characters)"


def title(row: SessionRow) -> str:
    return row.name or f"Session {row.id}"


def markdown(row: SessionRow, messages: Iterable[Message]) -> Iterator[str]:
    """A session as Markdown, piece by piece: what people wrote as it is, data in fences."""
    yield f"# {_line(title(row))}\n\n"
    facts = [f"session `{row.id}`", plural(row.message_count, "message"), minute(row.created_at)]
    if row.active_model:
        facts.append(f"`{_line(row.active_model)}`")
    yield f"{', '.join(facts)}\n"
    for message in messages:
        yield f"\n## {message.role.value}\n"
        if known := head(message):
            yield f"\n*{_line(known)}*\n"
        for block in message.content:
            yield _markdown_block(labelled_text(block))


def _markdown_block(it: LabelledText) -> str:
    label = f"\n**{_line(it.label)}**\n" if it.label else ""
    if it.is_code:
        fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", it.text)), 3)
        return f"{label}\n{fence}\n{it.text}\n{fence}\n"
    if it.label:  # not for the reader: set apart
        quoted = "\n".join(f"> {line}" for line in it.text.split("\n"))
        return f"{label}\n{quoted}\n"
    return f"\n{it.text}\n"


def _line(text: str) -> str:
    return " ".join(text.split())
