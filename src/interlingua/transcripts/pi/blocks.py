"""pi's blocks and ours. What an API signs is spelled as that API needs it: a Responses answer
keeps the whole reasoning item as text, and its calls are named by call and item."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from interlingua.dialects.registry import dialect
from interlingua.errors import InterlinguaError
from interlingua.model.blocks import (
    Block,
    ImageBlock,
    RedactedThinkingBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.exchange import Request
from interlingua.model.message import Message
from interlingua.model.metadata import StopReason
from interlingua.transcripts.values import NOT_JSON

VERSION = 3
"""Which version of the files is written."""

APIS = {
    "anthropic-messages": "anthropic",
    "openai-responses": "openai-responses",
    "openai-codex-responses": "openai-responses",
    "azure-openai-responses": "openai-responses",
    "openai-completions": "openai-chat",
    "mistral-conversations": "openai-chat",
    "google-generative-ai": "gemini",
    "google-gemini-cli": "gemini",
    "google-vertex": "gemini",
    "bedrock-converse-stream": "bedrock",
}
"""The dialect that an answer was told in, by the name of the API; the first name is written."""

STOPS = {
    "stop": StopReason.END_TURN,
    "length": StopReason.MAX_TOKENS,
    "toolUse": StopReason.TOOL_USE,
    "error": StopReason.ERROR,
    "aborted": StopReason.CANCELLED,
}
STOP_WORDS: dict[StopReason | None, str] = {
    **{reason: word for word, reason in STOPS.items()},
    StopReason.STOP_SEQUENCE: "stop",
    StopReason.PAUSE: "stop",
    StopReason.OTHER: "stop",
    StopReason.REFUSAL: "stop",
    StopReason.CONTENT_FILTER: "stop",
}


RESPONSES = "openai-responses"
SIGNED_TEXTS = frozenset({"gemini"})
"""Dialects that sign texts."""
Wire = dict[str, Any]


def read_blocks(content: Any, protocol: str | None) -> list[Block]:
    """Content as the file has it: a string, a list of blocks, or none."""
    if type(content) is str:
        return [TextBlock(content)] if content else []
    if content is None:
        return []
    blocks: list[Block] = []
    for part in content if type(content) is list else [content]:
        kind = part.get("type") if type(part) is dict else None
        read = _READERS.get(kind) if type(kind) is str else None
        found = read(part, protocol) if read is not None else None
        if type(found) is list:
            blocks += found
        else:
            blocks.append(UnknownBlock({"pi": part}) if found is None else found)  # type: ignore[arg-type]  # no list
    return blocks


def _read_text(part: Wire, protocol: str | None) -> Block | None:
    text = part.get("text")
    if type(text) is not str:
        return None
    signature = part.get("textSignature") if protocol in SIGNED_TEXTS else None
    return TextBlock(text, signature if type(signature) is str else None)


def _read_thinking(part: Wire, protocol: str | None) -> Block | list[Block] | None:
    text, signature = part.get("thinking"), part.get("thinkingSignature")
    if part.get("redacted") is True and type(signature) is str:
        return RedactedThinkingBlock(signature)
    if text is None and type(signature) is str:
        text = ""  # a thought of which nothing is shown
    if type(text) is not str:
        return None
    if protocol == RESPONSES and type(signature) is str and signature.startswith("{"):
        try:
            item = msgspec.json.decode(signature)
            messages = dialect(RESPONSES).read_request({"input": [item]}).messages
        except (InterlinguaError, *NOT_JSON):
            pass
        else:
            return [block for message in messages for block in message.content]
    return ThinkingBlock(text, signature if type(signature) is str and signature else None)


def _read_call(part: Wire, protocol: str | None) -> Block | None:
    name, tool, arguments = part.get("id"), part.get("name"), part.get("arguments")
    if type(name) is not str or type(tool) is not str or type(arguments) is not dict:
        return None
    signature = part.get("thoughtSignature")
    signature = signature if type(signature) is str else None
    return ToolUseBlock(call_id(name, protocol), tool, arguments, signature=signature)


def _read_image(part: Wire, protocol: str | None) -> Block | None:
    data, media = part.get("data"), part.get("mimeType")
    if type(data) is not str or not (media is None or type(media) is str):
        return None
    return ImageBlock(Source("base64", data), media)


_READERS: dict[str, Callable[[Wire, str | None], Block | list[Block] | None]] = {
    "text": _read_text,
    "thinking": _read_thinking,
    "toolCall": _read_call,
    "image": _read_image,
}
"""By the type of a part; None for one that is not as it should be."""


def call_id(name: str, protocol: str | None) -> str:
    """The call's own id, of a name that may say its item too."""
    return name.partition("|")[0] if "|" in name else name


def write_blocks(message: Message) -> list[dict[str, Any]]:
    """The blocks of a message as pi has them; what it has not is left to the note beside it."""
    items = _items(message) if message.metadata.protocol == RESPONSES else {}
    written = (_write_block(block, items) for block in message.content)
    return [part for part in written if part is not None]


def _write_block(block: Block, items: dict[str, Any]) -> dict[str, Any] | None:
    match block:
        case TextBlock(text, signature):
            return {"type": "text", "text": text, **_some(textSignature=signature)}
        case ThinkingBlock(text, signature):
            item = items.get(block.id or "")
            spelled = msgspec.json.encode(item).decode() if item else signature
            return {"type": "thinking", "thinking": text, **_some(thinkingSignature=spelled)}
        case RedactedThinkingBlock(data):
            shown = "[Reasoning redacted]"
            return {
                "type": "thinking",
                "thinking": shown,
                "thinkingSignature": data,
                "redacted": True,
            }
        case ToolUseBlock(name, tool, arguments, signature=signature):
            item = items.get(name)
            name = f"{name}|{item['id']}" if item and item.get("id") else name
            call = {"type": "toolCall", "id": name, "name": tool, "arguments": arguments}
            return {**call, **_some(thoughtSignature=signature)}
        case ImageBlock(Source("base64", data), media):
            return {"type": "image", "data": data, "mimeType": media or "image/png"}
        case UnknownBlock({"pi": dict(part)}):
            return part
    return None


def _items(message: Message) -> dict[str, Any]:
    """The Responses items of an answer, by the id of the reasoning or of the call."""
    wire = dialect(RESPONSES).write_request(Request((message,))).wire
    items = wire["input"] if isinstance(wire.get("input"), list) else []
    return {str(item.get("call_id") or item.get("id")): item for item in items}


def _some(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def sections(message: dict[str, Any]) -> str:
    """The instructions of a system entry: its text, or its sections in order."""
    text = message.get("content")
    if isinstance(text, str) and text:
        return text
    parts = message.get("sections")
    values: Iterable[Any] = parts.values() if isinstance(parts, dict) else ()
    return "\n\n".join(part for part in values if isinstance(part, str) and part)
