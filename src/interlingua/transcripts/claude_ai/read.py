"""Exports of claude.ai to transcripts. Results stand in the message of their calls; text behind
them is an answer of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from interlingua.errors import ReadError, found
from interlingua.losses import Report
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
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata
from interlingua.transcripts.format import Sample
from interlingua.transcripts.rows import Conversation, Row, first_row, readers
from interlingua.transcripts.times import from_iso
from interlingua.transcripts.ways import Turn, branches_of, way_to

NAME = "claude-ai"
_KNOWN = (
    *("uuid", "text", "content", "sender", "created_at", "updated_at"),
    *("parent_message_uuid", "attachments", "files"),
)
_ROLES = {"human": Role.USER, "assistant": Role.ASSISTANT}


def signs(sample: Sample) -> str | None:
    row = first_row(sample)
    return "conversations with chat_messages" if row and "chat_messages" in row else None


def _conversation(row: Row, report: Report) -> Conversation:
    spoken = row.get("chat_messages")
    if not isinstance(spoken, list):
        raise ReadError(NAME, "$.chat_messages", "a list", found(spoken))
    turns: dict[str, Turn] = {}
    last: str | None = None
    for number, each in enumerate(spoken):
        if not isinstance(each, dict) or str(each.get("sender")) not in _ROLES:
            reason = f"expected a message of a human or the assistant, found {found(each)}"
            report.add("dropped", f"$.chat_messages[{number}]", reason, "error")
            continue
        name = _text(each.get("uuid")) or f"{number}"
        turns[name] = Turn(_text(each.get("parent_message_uuid")) or last, tuple(_messages(each)))
        last = name
    return Conversation(
        way_to(turns, last),
        _text(row.get("uuid")),
        row={key: value for key, value in row.items() if key != "chat_messages"},
        created_at=from_iso(row.get("created_at")),
        updated_at=from_iso(row.get("updated_at")),
        title=_text(row.get("name")),
        branches=branches_of(turns, last),
    )


def _messages(each: Row) -> Iterator[Message]:
    """One turn: an answer, the results of its calls, and perhaps another answer behind them."""
    role, name = _ROLES[each["sender"]], _text(each.get("uuid"))
    time = from_iso(each.get("created_at"))
    metadata = MessageMetadata(provider_raw=_rest(each, *_KNOWN))
    said: list[Block] = []
    results: list[Message] = []
    for block in _blocks(each):
        if isinstance(block, ToolResultBlock):
            results.append(Message.of_result(block).replace(created_at=time))
            continue
        if results and not isinstance(block, ToolUseBlock):
            yield Message(role, tuple(said), id=name, created_at=time, metadata=metadata)
            yield from results
            said, results = [], []
        said.append(block)
    yield Message(role, tuple(said), id=name, created_at=time, metadata=metadata)
    yield from results


def _blocks(each: Row) -> Iterator[Block]:
    content = each.get("content")
    if not isinstance(content, list) or not content:  # older exports have the text alone
        content = [{"type": "text", "text": each.get("text")}]
    calls: list[str] = []
    for number, part in enumerate(content):
        yield _block(part, f"{each.get('uuid')}_{number}", calls)
    for part in _list(each.get("attachments")):
        text = part.get("extracted_content") if isinstance(part, dict) else None
        if isinstance(text, str):
            yield DocumentBlock(Source("text", text), "text/plain", _text(part.get("file_name")))
    for part in _list(each.get("files")):
        yield UnknownBlock({NAME: part})  # its name; the file itself is not in the export


def _block(part: Any, made_up: str, calls: list[str]) -> Block:
    """A block; calls of older exports have no ids, and results answer the one before them."""
    match part:
        case {"type": "text", "text": str(text)}:
            return TextBlock(text, raw=_rest(part, "text"))
        case {"type": "thinking", "thinking": str(text)}:
            sealed = _text(part.get("signature"))
            return ThinkingBlock(text, sealed, raw=_rest(part, "thinking", "signature"))
        case {"type": "tool_use", "name": str(tool), "input": dict(given)}:
            calls.append(_text(part.get("id")) or made_up)
            return ToolUseBlock(calls[-1], tool, given, raw=_rest(part, "id", "name", "input"))
        case {"type": "tool_result"}:
            before = calls[-1] if calls else made_up
            name = _text(part.get("tool_use_id")) or before
            content: Any = tuple(_inside(part.get("content")))
            failed = part.get("is_error") is True
            rest = _rest(part, "tool_use_id", "content", "is_error", "name")
            return ToolResultBlock(name, content, failed, _text(part.get("name")), raw=rest)
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


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


read, read_all = readers(NAME, _conversation)
