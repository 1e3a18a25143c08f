"""What is said in Copilot's events, as blocks and back. Bytes are kept once, as assets that events
name; blocks of reasoning are kept as the provider's API had them."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as NoBase64
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any

from interlingua.dialects.registry import dialect
from interlingua.errors import InterlinguaError
from interlingua.model.arguments import recover
from interlingua.model.blocks import (
    AudioBlock,
    Block,
    DocumentBlock,
    ImageBlock,
    MediaBlock,
    RedactedThinkingBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    UnknownBlock,
    VideoBlock,
)
from interlingua.model.exchange import Request
from interlingua.model.message import Message, Role
from interlingua.model.metadata import StopReason
from interlingua.transcripts.values import as_text, media_block, members

VERSION = "1.0.102"
"""Which Copilot the events are made for."""

ENDPOINTS = {
    "/v1/messages": "anthropic",
    "/responses": "openai-responses",
    "ws:/responses": "openai-responses",
    "/chat/completions": "openai-chat",
}
"""The dialect that an answer was told in; the first endpoint of a dialect is written."""

REASONERS = {"anthropic-messages": "anthropic", "openai-responses": "openai-responses"}
"""Whose blocks of reasoning are kept as they came."""

STOPS = {
    "stop": StopReason.END_TURN,
    "tool_calls": StopReason.TOOL_USE,
    "length": StopReason.MAX_TOKENS,
    "content_filter": StopReason.CONTENT_FILTER,
}
STOP_WORDS = {reason: word for word, reason in STOPS.items()}


NAME = "copilot"
Data = dict[str, Any]
MESSAGES = "anthropic"
OF_ITEMS = frozenset({"openai-responses"})
"""Dialects whose requests are lists of items."""
_REASONER_OF = {name: word for word, name in REASONERS.items()}


class Assets:
    """The bytes that a session's events name."""

    def __init__(self) -> None:
        self._data: dict[str, str] = {}

    def __contains__(self, name: object) -> bool:
        return name in self._data

    def keep(self, event: Data) -> None:
        name, data = event.get("assetId"), event.get("data")
        if isinstance(name, str) and isinstance(data, str):
            self._data[name] = data

    def read(self, parts: Any) -> Iterator[Any]:
        """Attachments, or what a tool gave beside its text."""
        for part in parts if isinstance(parts, list) else ():
            data = self._bytes(part)
            media = as_text(part.get("mimeType")) if isinstance(part, dict) else None
            if data is None or media is None:
                yield UnknownBlock({NAME: part})
                continue
            name = as_text(part.get("displayName"))
            yield media_block(Source("base64", data), media, name)

    def _bytes(self, part: Any) -> str | None:
        if not isinstance(part, dict):
            return None
        data = part.get("data", self._data.get(str(part.get("assetId"))))
        return data if isinstance(data, str) else None


def read_blocks(data: Data) -> tuple[Block, ...]:
    """An answer: what was thought, the text, the calls; in their own order where it is kept."""
    about = members(data.get("reasoningBlocks"))
    calls = tuple(_calls(data.get("toolRequests")))
    if isinstance(about.get("orderedBlocks"), list):
        return tuple(_in_order(about["orderedBlocks"], calls))
    return (*_thinking(data, about), *texts(data.get("content")), *calls)


def _in_order(ordered: list[Any], calls: Sequence[Block]) -> Iterator[Block]:
    waiting = {each.id: each for each in calls if isinstance(each, ToolUseBlock)}
    for part in ordered:
        if isinstance(part, dict) and part.get("type") == "tool_use":
            call = waiting.pop(str(part.get("id")), None)
            if call is not None:
                yield call
        else:
            yield from _native([part], MESSAGES)
    yield from waiting.values()


def _thinking(data: Data, about: Data) -> Iterator[Block]:
    name = REASONERS.get(str(about.get("provider")))
    if name is not None and isinstance(about.get("blocks"), list):
        yield from _native(about["blocks"], name)
        return
    text = as_text(data.get("reasoningText"))
    seal = data.get("reasoningOpaque") or data.get("encryptedContent")
    if text is not None or seal:
        yield ThinkingBlock(text or "", as_text(seal))


def _native(parts: list[Any], name: str) -> tuple[Block, ...]:
    """Parts in the words of a provider's API."""
    turn = {"role": "assistant", "content": parts}
    wire: Data = {"input": parts} if name in OF_ITEMS else {"messages": [turn]}
    try:
        messages = dialect(name).read_request(wire).messages
    except InterlinguaError:
        return tuple(UnknownBlock({NAME: part}) for part in parts)
    return tuple(block for message in messages for block in message.content)


def _calls(requests: Any) -> Iterator[Block]:
    for call in requests if isinstance(requests, list) else ():
        match call:
            case {"toolCallId": str(id), "name": str(tool), "arguments": dict(arguments)}:
                yield ToolUseBlock(id, tool, arguments)
            case {"toolCallId": str(id), "name": str(tool), "type": "custom", "arguments": str(x)}:
                yield ToolUseBlock(id, tool, {"input": x}, call_type="custom")
            case {"toolCallId": str(id), "name": str(tool), "arguments": str(text)}:
                yield ToolUseBlock(id, tool, recover(text).input, text)
            case {"toolCallId": str(id), "name": str(tool)} if call.get("arguments") is None:
                yield ToolUseBlock(id, tool, {})
            case _:
                yield UnknownBlock({NAME: call})


def texts(text: Any) -> tuple[TextBlock, ...]:
    return (TextBlock(text),) if isinstance(text, str) and text else ()


def write_answer(message: Message) -> Data:
    """The members of an answer; what they cannot show is left out."""
    calls = [_call(each) for each in message.content if isinstance(each, ToolUseBlock)]
    data = {"content": joined(message.content), "toolRequests": calls}
    return data | _write_thinking(message)


def joined(blocks: Sequence[Block]) -> str:
    return "\n".join(block.text for block in blocks if isinstance(block, TextBlock))


def _call(block: ToolUseBlock) -> Data:
    custom = block.call_type == "custom"
    arguments = block.input.get("input") if custom else block.input
    call = {"toolCallId": block.id, "name": block.name, "arguments": arguments}
    return {**call, "type": "custom" if custom else "function"}


def _write_thinking(message: Message) -> Data:
    """The text, and for an API whose reasoning is sent back its own blocks."""
    thought = [
        each for each in message.content if isinstance(each, ThinkingBlock | RedactedThinkingBlock)
    ]
    seen = [each for each in thought if isinstance(each, ThinkingBlock)]
    data: Data = {}
    if any(each.text for each in seen):
        data["reasoningText"] = "\n\n".join(each.text for each in seen if each.text)
    seal = next((each.signature for each in seen if each.signature), None)
    if seal is not None:
        data["reasoningOpaque"] = seal
    if thought and message.metadata.protocol == MESSAGES:
        alone = Request((Message(Role.ASSISTANT, tuple(thought)),))
        turns = dialect(MESSAGES).write_request(alone).wire["messages"]
        data["reasoningBlocks"] = {
            "provider": _REASONER_OF[MESSAGES],
            "blocks": turns[0]["content"],
        }
    return data


def assets_of(blocks: Sequence[Block]) -> list[tuple[MediaBlock, Data]]:
    """MediaBlock whose bytes are there, and the event that keeps them."""
    found = []
    for block in blocks:
        if isinstance(block, ImageBlock | AudioBlock | VideoBlock | DocumentBlock):
            asset = _asset(block)
            if asset is not None:
                found.append((block, asset))
    return found


def _asset(block: MediaBlock) -> Data | None:
    data, media = block.source.data, block.media_type
    if block.source.kind != "base64" or data is None or media is None:
        return None
    try:
        plain = b64decode(data, validate=True)
    except NoBase64:
        return None
    kind = "image" if isinstance(block, ImageBlock) else "resource"
    asset = {"assetId": f"sha256:{sha256(plain).hexdigest()}", "type": kind, "mimeType": media}
    return {**asset, "byteLength": len(plain), "data": data}


def attachment(block: MediaBlock, asset: Data) -> Data:
    named = {key: asset[key] for key in ("assetId", "byteLength", "mimeType")}
    return {"type": "blob", **named, **({"displayName": block.name} if block.name else {})}


def picture(block: MediaBlock, asset: Data) -> Data:
    """Beside a tool's text."""
    return {key: value for key, value in asset.items() if key != "data"}
