"""Messages of parts, as the attributes hold them, as canonical ones and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from interlingua.errors import ReadError, found
from interlingua.model.arguments import recover, to_text
from interlingua.model.blocks import (
    AudioBlock,
    Block,
    CompactionBlock,
    DocumentBlock,
    ImageBlock,
    MediaBlock,
    RefusalBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
    VideoBlock,
)
from interlingua.model.ids import synthetic_tool_id
from interlingua.model.message import Message, Role
from interlingua.transcripts.values import as_text, media_block, members, source_of

NAME = "otel"
Wire = dict[str, Any]
_ROLES = {str(role): role for role in Role}
_KNOWN_PARTS = frozenset(("text", "blob", "uri", "file"))


def read_message(wire: Any, at: int) -> list[Message]:
    """The messages of the entry at index `at`; a user's entry may hold several results."""
    parts = wire.get("parts") if isinstance(wire, dict) else None
    if not isinstance(parts, list):
        raise ReadError(NAME, "$.parts", "a list", found(parts))
    role = _ROLES.get(str(wire.get("role")), Role.USER)
    name = wire.get("name") if isinstance(wire.get("name"), str) else None
    blocks = [_block(part, f"{at}:{number}") for number, part in enumerate(parts)]
    if role is Role.ASSISTANT:
        return [Message(role, tuple(blocks), name)]
    return list(_turns(blocks, role, name))


def _turns(blocks: Iterable[Block], role: Role, name: str | None) -> Iterator[Message]:
    """Each result is a message; what stands between them is one."""
    waiting: list[Block] = []
    count = 0
    for block in blocks:
        if not isinstance(block, ToolResultBlock):
            waiting.append(block)
            continue
        if waiting:
            yield Message(_speaker(role), tuple(waiting), name)
        yield Message.of_result(block)
        waiting, count = [], count + 1
    if waiting or not count:
        yield Message(_speaker(role), tuple(waiting), name)


def _speaker(role: Role) -> Role:
    """What a tool says beside its results is said as the user."""
    return Role.USER if role is Role.TOOL else role


def read_parts(parts: Any) -> tuple[Any, ...]:
    """Instructions, or what a result holds."""
    if not isinstance(parts, list):
        return ()
    return tuple(_block(part, f"{number}") for number, part in enumerate(parts))


def _block(part: Any, place: str) -> Block:
    match part:
        case {"type": "text", "content": str(text)}:
            return TextBlock(text)
        case {"type": "reasoning" | "thinking", "content": str(text)}:
            return ThinkingBlock(text)
        case {"type": "tool_call", "name": str(name)}:
            return _call(part, name, place)
        case {"type": "tool_call_response"} if "response" in part or "result" in part:
            return _result(part)
        case {"type": "server_tool_call", "name": str(name), "server_tool_call": dict(value)}:
            return ToolUseBlock(_id(part, name, place), name, value, executor="provider")
        case {"type": "server_tool_call_response", "server_tool_call_response": dict(value)}:
            return ToolResultBlock(as_text(part.get("id")) or "", _contents(value))
        case {"type": "blob", "content": str(data)}:
            return _media(part, Source("base64", data))
        case {"type": "uri", "uri": str(uri)}:
            return _media(part, source_of(uri))
        case {"type": "file", "file_id": str(name)}:
            return _media(part, Source("file_id", name))
        case {"type": "refusal", "content": str(text)}:
            return RefusalBlock(text)
        case {"type": "compaction"}:
            return CompactionBlock(as_text(part.get("content")))
    return UnknownBlock({NAME: part})


def _call(part: Wire, name: str, place: str) -> ToolUseBlock:
    id = _id(part, name, place)
    arguments = part.get("arguments")
    if isinstance(arguments, dict):
        return ToolUseBlock(id, name, arguments)
    if not isinstance(arguments, str):
        return ToolUseBlock(id, name, {})
    recovered = recover(arguments)
    same = recovered.mode == "strict" and to_text(recovered.input) == arguments
    return ToolUseBlock(id, name, recovered.input, None if same else arguments)


def _id(part: Wire, name: str, place: str) -> str:
    return as_text(part.get("id")) or synthetic_tool_id(place, 0, name)


def _result(part: Wire) -> ToolResultBlock:
    content = part["response"] if "response" in part else part["result"]
    tool = as_text(part.get("name"))
    return ToolResultBlock(as_text(part.get("id")) or "", _contents(content), tool_name=tool)


def _contents(content: Any) -> tuple[Any, ...]:
    """A text, parts, or any JSON, which the model was told as text."""
    match content:
        case None:
            return ()
        case str(text):
            return (TextBlock(text),) if text else ()
        case [*parts] if parts and all(members(each).get("type") in _KNOWN_PARTS for each in parts):
            return read_parts(parts)
    return (TextBlock(msgspec.json.encode(content).decode()),)


def _media(part: Wire, source: Source) -> Block:
    media, kind = as_text(part.get("mime_type")), as_text(part.get("modality"))
    if media is None and kind is None:
        return UnknownBlock({NAME: part})
    return media_block(source, kind or media).replace(media_type=media)


def write_message(message: Message) -> Wire:
    """One entry a message; what its parts cannot show is left out."""
    wire: Wire = {"role": str(message.role), "parts": write_parts(message.content)}
    return {**wire, "name": message.name} if message.name else wire


def write_parts(blocks: Sequence[Block]) -> list[Wire]:
    return [part for block in blocks if (part := _part(block)) is not None]


def _part(block: Block) -> Wire | None:
    match block:
        case TextBlock(text):
            return {"type": "text", "content": text}
        case ThinkingBlock(text):
            return {"type": "reasoning", "content": text}
        case RefusalBlock(text):
            return {"type": "refusal", "content": text}
        case ToolUseBlock():
            return _write_call(block)
        case ToolResultBlock():
            return _write_result(block)
        case CompactionBlock(text):
            return {"type": "compaction", **({"content": text} if text is not None else {})}
        case ImageBlock() | AudioBlock() | VideoBlock() | DocumentBlock():
            return _write_media(block)
        case UnknownBlock({"otel": dict(part)}):
            return {**part}
    return None


def _write_call(block: ToolUseBlock) -> Wire:
    call: Wire = {"type": "tool_call", "id": block.id, "name": block.name}
    if block.executor == "provider":
        arguments = {"type": block.name, **block.input}
        return {**call, "type": "server_tool_call", "server_tool_call": arguments}
    text = block.raw_arguments
    says = text is not None and recover(text).input == block.input
    return {**call, "arguments": text if says else block.input}


def _write_result(block: ToolResultBlock) -> Wire:
    part: Wire = {"type": "tool_call_response", "id": block.tool_use_id}
    if block.tool_name:
        part["name"] = block.tool_name
    texts = [each.text for each in block.content if isinstance(each, TextBlock)]
    alone = len(block.content) == len(texts) <= 1
    return {**part, "response": "".join(texts) if alone else write_parts(block.content)}


def _write_media(block: MediaBlock) -> Wire | None:
    part: Wire = {"modality": block.type}
    if block.media_type:
        part["mime_type"] = block.media_type
    match block.source:
        case Source("base64", str(data)):
            return {"type": "blob", **part, "content": data}
        case Source("url", str(uri)):
            return {"type": "uri", **part, "uri": uri}
        case Source("file_id", str(name)):
            return {"type": "file", **part, "file_id": name}
    return None
