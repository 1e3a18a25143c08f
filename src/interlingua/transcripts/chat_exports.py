"""Exports of ChatGPT and of Claude: lists of conversations, each a tree of messages."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from interlingua.errors import ReadError, found
from interlingua.model.base import Raw
from interlingua.model.blocks import (
    Block,
    DocumentBlock,
    ImageBlock,
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
from interlingua.model.reasons import because
from interlingua.transcripts.format import Sample
from interlingua.transcripts.lines import Turn, branches_of, turns_to
from interlingua.transcripts.rows import Conversation, Row, RowFormat, first_row
from interlingua.transcripts.values import as_text, decoded, from_iso, from_millis, listed, members

CLAUDE = "claude-ai"
_KNOWN = (
    *("uuid", "text", "content", "sender", "created_at", "updated_at"),
    *("parent_message_uuid", "attachments", "files"),
)
_SENDERS = {"human": Role.USER, "assistant": Role.ASSISTANT}


def _claude_messages(each: Row) -> Iterator[Message]:
    """One turn: an answer, the results of its calls, and perhaps another answer behind them."""
    role, name = _SENDERS[each["sender"]], as_text(each.get("uuid"))
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
        yield UnknownBlock({CLAUDE: part})  # its name; the file itself is not in the export


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
            return UnknownBlock({CLAUDE: part})


def _inside(content: Any) -> Iterator[Block]:
    if isinstance(content, str):
        yield TextBlock(content)
    for part in content if isinstance(content, list) else ():
        yield _block(part, "", [])


def _rest(part: Row, *read: str) -> Raw | None:
    """The other members; empty ones are left out."""
    rest = {key: value for key, value in part.items() if key not in ("type", *read) and value}
    return {CLAUDE: rest} if rest else None


class ClaudeAI(RowFormat):
    name = CLAUDE
    title = "claude.ai export"
    tested = "made-up exports, 2026-11-16"

    def detect(self, sample: Sample) -> str | None:
        row = first_row(sample)
        return "conversations with chat_messages" if row and "chat_messages" in row else None

    def read_row(self, row: Row, report: Report) -> Conversation:
        chat_messages = row.get("chat_messages")
        if not isinstance(chat_messages, list):
            raise ReadError(CLAUDE, "$.chat_messages", "a list", found(chat_messages))
        turns: dict[str, Turn] = {}
        last: str | None = None
        for number, each in enumerate(chat_messages):
            if not isinstance(each, dict) or str(each.get("sender")) not in _SENDERS:
                reason = because(
                    "unreadable",
                    error=f"expected a message of a human or the assistant, found {found(each)}",
                )
                report.add("dropped", f"$.chat_messages[{number}]", reason)
                continue
            name = as_text(each.get("uuid")) or f"{number}"
            turns[name] = Turn(
                as_text(each.get("parent_message_uuid")) or last, tuple(_claude_messages(each))
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


_TEXTS = {
    "code": "text",
    "execution_output": "text",
    "tether_quote": "text",
    "tether_browsing_display": "result",
    "system_error": "text",
    "user_editable_context": "user_instructions",
}
"""Places of the text in a content without parts."""


def read_content(content: Any) -> Iterator[Any]:
    match content:
        case {"content_type": "text" | "multimodal_text", "parts": list(parts)}:
            for part in parts:
                yield from _part(part)
        case {"content_type": "thoughts", "thoughts": list(thoughts)}:
            for thought in thoughts:
                if isinstance(thought, dict) and isinstance(thought.get("content"), str):
                    rest = {name: each for name, each in thought.items() if name != "content"}
                    yield ThinkingBlock(thought["content"], raw={"chatgpt": rest})
        case {"content_type": "reasoning_recap"}:
            return  # how long it took, for the page
        case {"content_type": str(kind)} if isinstance(content.get(_TEXTS.get(kind, "")), str):
            key = _TEXTS[kind]
            rest = {name: value for name, value in content.items() if name != key and value}
            if content[key]:
                yield TextBlock(content[key], raw={"chatgpt": rest})
        case dict():
            yield UnknownBlock({"chatgpt": content})


def _part(part: Any) -> Iterator[Any]:
    match part:
        case "":
            return
        case str(text):
            yield TextBlock(text)
        case {"content_type": "image_asset_pointer", "asset_pointer": str(pointer)}:
            # the picture is a file of the export
            yield ImageBlock(Source("url", pointer), raw={"chatgpt": part})
        case _:
            yield UnknownBlock({"chatgpt": part})


CHATGPT = "chatgpt"
_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM}


_BESIDE = frozenset({"current_node", "conversation_id", "create_time", "title"})
"""Members beside the mapping of a conversation; other files have mappings, too."""


def _messages(name: str, nodes: dict[str, Any]) -> Iterator[Message]:
    """The message of a node; none where it is empty, as at the root."""
    message = members(nodes[name].get("message"))
    content = tuple(read_content(message.get("content")))
    if not content:
        return
    role = members(message.get("author")).get("role")
    time = _time(message.get("create_time"))
    about = message.get("metadata")
    metadata = MessageMetadata(provider_raw={CHATGPT: about} if about else None)
    if role == "tool":
        tool = as_text(members(message.get("author")).get("name"))
        result = ToolResultBlock(_call_above(name, nodes), content, False, tool)
        yield Message.of_result(result).replace(id=name, created_at=time, metadata=metadata)
        return
    if role == "assistant":
        slug = about.get("model_slug") if isinstance(about, dict) else None
        metadata = metadata.replace(response_model=as_text(slug))
        if _is_call(message):
            content = (_call(name, message["recipient"], content),)
    known = _ROLES.get(role, Role.SYSTEM) if isinstance(role, str) else Role.SYSTEM
    yield Message(known, content, id=name, created_at=time, metadata=metadata)


def _call(name: str, tool: str, content: tuple[Block, ...]) -> ToolUseBlock:
    """Arguments are JSON, or code in a language of the tool's own."""
    text = "".join(block.text for block in content if isinstance(block, TextBlock))
    arguments = decoded(text)
    return ToolUseBlock(name, tool, arguments if isinstance(arguments, dict) else {"code": text})


def _call_above(name: str, nodes: dict[str, Any]) -> str:
    """The call that a tool's node answers; its own name if there is none above it."""
    seen: set[str] = set()
    above = nodes[name].get("parent")
    while isinstance(above, str) and above in nodes and above not in seen:
        seen.add(above)
        message = members(members(nodes[above]).get("message"))
        if _is_call(message):
            return above
        if members(message.get("author")).get("role") != "tool":
            break
        above = nodes[above].get("parent") if isinstance(nodes[above], dict) else None
    return name


def _is_call(message: Row) -> bool:
    to = message.get("recipient")
    assistant = members(message.get("author")).get("role") == "assistant"
    return assistant and isinstance(to, str) and to not in ("", "all")


def _time(seconds: Any) -> datetime | None:
    return from_millis(seconds * 1000) if type(seconds) in (int, float) else None


class ChatGPT(RowFormat):
    name = CHATGPT
    title = "ChatGPT export"
    tested = "exports of 2024, 2026-11-16"

    def detect(self, sample: Sample) -> str | None:
        row = first_row(sample) or {}
        known = "mapping" in row and not _BESIDE.isdisjoint(row)
        return "conversations with a mapping" if known else None

    def read_row(self, row: Row, report: Report) -> Conversation:
        nodes = row.get("mapping")
        if not isinstance(nodes, dict):
            raise ReadError(CHATGPT, "$.mapping", "an object", found(nodes))
        turns: dict[str, Turn] = {}
        for name, node in nodes.items():
            if not isinstance(node, dict):
                reason = because("unreadable", error=f"expected a node, found {found(node)}")
                report.add("dropped", f"$.mapping[{name!r}]", reason)
                continue
            turns[name] = Turn(as_text(node.get("parent")), tuple(_messages(name, nodes)))
        current = as_text(row.get("current_node"))
        if current not in turns:
            current = next(reversed(turns), None)
        return Conversation(
            turns_to(turns, current),
            as_text(row.get("conversation_id")) or as_text(row.get("id")),
            row={key: value for key, value in row.items() if key != "mapping"},
            created_at=_time(row.get("create_time")),
            updated_at=_time(row.get("update_time")),
            title=as_text(row.get("title")),
            branches=branches_of(turns, current),
        )


FORMATS = (ChatGPT(), ClaudeAI())
