"""Exports of ChatGPT to transcripts. Calls have no ids: a call is a message to somebody else than
all, and is named by its node; a tool's node answers the call above it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec

from interlingua.errors import ReadError, found
from interlingua.losses import Report
from interlingua.model.blocks import (
    Block,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata
from interlingua.transcripts.chatgpt.content import read_content
from interlingua.transcripts.format import Sample
from interlingua.transcripts.rows import Conversation, Row, first_row, readers
from interlingua.transcripts.times import from_millis
from interlingua.transcripts.ways import Turn, branches_of, way_to

NAME = "chatgpt"
_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM}


def signs(sample: Sample) -> str | None:
    row = first_row(sample) or {}
    known = "mapping" in row and not _BESIDE.isdisjoint(row)
    return "conversations with a mapping" if known else None


_BESIDE = frozenset({"current_node", "conversation_id", "create_time", "title"})
"""What stands beside the mapping of a conversation; other things have mappings, too."""


def _conversation(row: Row, report: Report) -> Conversation:
    nodes = row.get("mapping")
    if not isinstance(nodes, dict):
        raise ReadError(NAME, "$.mapping", "an object", found(nodes))
    turns: dict[str, Turn] = {}
    for name, node in nodes.items():
        if not isinstance(node, dict):
            reason = f"expected a node, found {found(node)}"
            report.add("dropped", f"$.mapping[{name!r}]", reason, "error")
            continue
        turns[name] = Turn(_text(node.get("parent")), tuple(_messages(name, nodes)))
    current = _text(row.get("current_node"))
    if current not in turns:
        current = next(reversed(turns), None)
    return Conversation(
        way_to(turns, current),
        _text(row.get("conversation_id")) or _text(row.get("id")),
        row={key: value for key, value in row.items() if key != "mapping"},
        created_at=_time(row.get("create_time")),
        updated_at=_time(row.get("update_time")),
        title=_text(row.get("title")),
        branches=branches_of(turns, current),
    )


def _messages(name: str, nodes: dict[str, Any]) -> Iterator[Message]:
    """The message of a node; none where it is empty, as at the root."""
    message = _said(nodes[name])
    content = tuple(read_content(message.get("content")))
    if not content:
        return
    role = _author(message).get("role")
    time = _time(message.get("create_time"))
    about = message.get("metadata")
    metadata = MessageMetadata(provider_raw={NAME: about} if about else None)
    if role == "tool":
        tool = _text(_author(message).get("name"))
        result = ToolResultBlock(_call_above(name, nodes), content, False, tool)
        yield Message.of_result(result).replace(id=name, created_at=time, metadata=metadata)
        return
    if role == "assistant":
        slug = about.get("model_slug") if isinstance(about, dict) else None
        metadata = metadata.replace(response_model=_text(slug))
        if _is_call(message):
            content = (_call(name, message["recipient"], content),)
    known = _ROLES.get(role, Role.SYSTEM) if isinstance(role, str) else Role.SYSTEM
    yield Message(known, content, id=name, created_at=time, metadata=metadata)


def _call(name: str, tool: str, content: tuple[Block, ...]) -> ToolUseBlock:
    """Arguments are JSON, or code in a language of the tool's own."""
    text = "".join(block.text for block in content if isinstance(block, TextBlock))
    try:
        given = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        given = None
    return ToolUseBlock(name, tool, given if isinstance(given, dict) else {"code": text})


def _call_above(name: str, nodes: dict[str, Any]) -> str:
    """The call that a tool's node answers; its own name if there is none above it."""
    seen: set[str] = set()
    above = nodes[name].get("parent")
    while isinstance(above, str) and above in nodes and above not in seen:
        seen.add(above)
        message = _said(nodes[above])
        if _is_call(message):
            return above
        if _author(message).get("role") != "tool":
            break
        above = nodes[above].get("parent") if isinstance(nodes[above], dict) else None
    return name


def _is_call(message: Row) -> bool:
    to = message.get("recipient")
    assistant = _author(message).get("role") == "assistant"
    return assistant and isinstance(to, str) and to not in ("", "all")


def _said(node: Any) -> Row:
    message = node.get("message") if isinstance(node, dict) else None
    return message if isinstance(message, dict) else {}


def _author(message: Row) -> Row:
    author = message.get("author")
    return author if isinstance(author, dict) else {}


def _time(seconds: Any) -> datetime | None:
    return from_millis(seconds * 1000) if type(seconds) in (int, float) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


read, read_all = readers(NAME, _conversation)
