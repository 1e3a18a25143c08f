"""Exports of claude.ai: a list of conversations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from interlingua.errors import ReadError, found
from interlingua.model.base import Raw
from interlingua.model.blocks import (
    Block,
    DocumentBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata
from interlingua.transcripts.format import Sample
from interlingua.transcripts.rows import Conversation, Row, RowFormat, first_row
from interlingua.transcripts.tree import Turn, branches_of, turns_to
from interlingua.transcripts.values import as_text, from_iso, listed

NAME = "claude-ai"
_KNOWN = (
    *("uuid", "text", "content", "sender", "created_at", "updated_at"),
    *("parent_message_uuid", "attachments", "files"),
)
_ROLES = {"human": Role.USER, "assistant": Role.ASSISTANT}


def _messages(each: Row) -> Iterator[Message]:
    """One turn: an answer, the results of its calls, and perhaps another answer behind them."""
    role, name = _ROLES[each["sender"]], as_text(each.get("uuid"))
    time = from_iso(each.get("created_at"))
    metadata = MessageMetadata(provider_raw=_rest(each, *_KNOWN))
    blocks: list[Block] = []
    results: list[Message] = []
    for block in _blocks(each):
        if isinstance(block, ToolResultBlock):
            results.append(Message.of_result(block).replace(created_at=time))
            continue
        if results and not isinstance(block, ToolUseBlock):
            yield Message(role, tuple(blocks), id=name, created_at=time, metadata=metadata)
            yield from results
            blocks, results = [], []
        blocks.append(block)
    yield Message(role, tuple(blocks), id=name, created_at=time, metadata=metadata)
    yield from results


def _blocks(each: Row) -> Iterator[Block]:
    content = each.get("content")
    if not isinstance(content, list) or not content:  # older exports have the text alone
        content = [{"type": "text", "text": each.get("text")}]
    calls: list[str] = []
    for number, part in enumerate(content):
        yield _block(part, f"{each.get('uuid')}_{number}", calls)
    for part in listed(each.get("attachments")):
        text = part.get("extracted_content") if isinstance(part, dict) else None
        if isinstance(text, str):
            yield DocumentBlock(Source("text", text), "text/plain", as_text(part.get("file_name")))
    for part in listed(each.get("files")):
        yield UnknownBlock({NAME: part})  # its name; the file itself is not in the export


def _block(part: Any, made_up: str, calls: list[str]) -> Block:
    """A block; calls of older exports have no ids, and results answer the one before them."""
    match part:
        case {"type": "text", "text": str(text)}:
            return TextBlock(text, raw=_rest(part, "text"))
        case {"type": "thinking", "thinking": str(text)}:
            sealed = as_text(part.get("signature"))
            return ThinkingBlock(text, sealed, raw=_rest(part, "thinking", "signature"))
        case {"type": "tool_use", "name": str(tool), "input": dict(arguments)}:
            calls.append(as_text(part.get("id")) or made_up)
            return ToolUseBlock(calls[-1], tool, arguments, raw=_rest(part, "id", "name", "input"))
        case {"type": "tool_result"}:
            before = calls[-1] if calls else made_up
            name = as_text(part.get("tool_use_id")) or before
            content: Any = tuple(_inside(part.get("content")))
            failed = part.get("is_error") is True
            rest = _rest(part, "tool_use_id", "content", "is_error", "name")
            return ToolResultBlock(name, content, failed, as_text(part.get("name")), raw=rest)
        case _:
            return UnknownBlock({NAME: part})


def _inside(content: Any) -> Iterator[Block]:
    if isinstance(content, str):
        yield TextBlock(content)
    for part in content if isinstance(content, list) else ():
        yield _block(part, "", [])


def _rest(part: Row, *read: str) -> Raw | None:
    """What else is said there; members that say nothing are left out."""
    rest = {key: value for key, value in part.items() if key not in ("type", *read) and value}
    return {NAME: rest} if rest else None


class ClaudeAI(RowFormat):
    name = NAME
    title = "claude.ai export"
    tested = "made-up exports, 2026-11-16"

    def detect(self, sample: Sample) -> str | None:
        row = first_row(sample)
        return "conversations with chat_messages" if row and "chat_messages" in row else None

    def read_row(self, row: Row, report: Report) -> Conversation:
        chat_messages = row.get("chat_messages")
        if not isinstance(chat_messages, list):
            raise ReadError(NAME, "$.chat_messages", "a list", found(chat_messages))
        turns: dict[str, Turn] = {}
        last: str | None = None
        for number, each in enumerate(chat_messages):
            if not isinstance(each, dict) or str(each.get("sender")) not in _ROLES:
                reason = f"expected a message of a human or the assistant, found {found(each)}"
                report.add("dropped", f"$.chat_messages[{number}]", reason, "error")
                continue
            name = as_text(each.get("uuid")) or f"{number}"
            turns[name] = Turn(
                as_text(each.get("parent_message_uuid")) or last, tuple(_messages(each))
            )
            last = name
        return Conversation(
            turns_to(turns, last),
            as_text(row.get("uuid")),
            row={key: value for key, value in row.items() if key != "chat_messages"},
            created_at=from_iso(row.get("created_at")),
            updated_at=from_iso(row.get("updated_at")),
            title=as_text(row.get("name")),
            branches=branches_of(turns, last),
        )


FORMAT = ClaudeAI()
