"""OpenCode's parts and our blocks."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from typing import Any

from interlingua.model.blocks import (
    Block,
    DocumentBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.message import Message
from interlingua.model.metadata import StopReason
from interlingua.transcripts.values import listed, members, objects, source_of

STOPS = {
    "stop": StopReason.END_TURN,
    "length": StopReason.MAX_TOKENS,
    "tool-calls": StopReason.TOOL_USE,
    "content-filter": StopReason.CONTENT_FILTER,
    "error": StopReason.ERROR,
    "other": StopReason.OTHER,
    "unknown": StopReason.OTHER,
}
STOP_WORDS = {
    StopReason.END_TURN: "stop",
    StopReason.STOP_SEQUENCE: "stop",
    StopReason.MAX_TOKENS: "length",
    StopReason.TOOL_USE: "tool-calls",
    StopReason.CONTENT_FILTER: "content-filter",
    StopReason.ERROR: "error",
}

PROTOCOLS = {
    "anthropic": "anthropic",
    "openai": "openai-responses",
    "google": "gemini",
    "google-vertex": "gemini",
    "amazon-bedrock": "bedrock",
    "openrouter": "openrouter",
}
"""The dialect that a provider is spoken to in; all others speak openai-chat."""

PROVIDERS = {"gemini": "google", "vertex": "google-vertex", "bedrock": "amazon-bedrock"}
"""Providers that OpenCode knows by another name than we do."""

BOOKKEEPING = frozenset(
    {"step-start", "step-finish", "patch", "snapshot", "agent", "retry", "subtask", "compaction"}
)
"""Parts that say nothing to the model."""


def read_parts(parts: list[dict[str, Any]], protocol: str | None) -> Iterator[Block]:
    for part in parts:
        match part:
            case {"type": "text", "ignored": True}:
                continue
            case {"type": "text", "text": str(text)}:
                if text:
                    yield TextBlock(text, _google(part))
            case {"type": "reasoning", "text": str(text)}:
                yield _thinking(text, part.get("metadata"))
            case {"type": "tool", "callID": str(name), "tool": str(tool), "state": dict(state)}:
                yield ToolUseBlock(name, tool, members(state.get("input")), signature=_google(part))
            case {"type": "file"}:
                yield read_file(part)
            case {"type": str(kind)} if kind in BOOKKEEPING:
                continue
            case _:
                yield UnknownBlock({"opencode": part})


def _thinking(text: str, metadata: Any) -> ThinkingBlock:
    """Signatures stand under the provider's name, each in its own words."""
    for about in objects(list(members(metadata).values())):
        sealed = about.get("signature") or about.get("reasoningEncryptedContent")
        sealed = sealed or about.get("thoughtSignature")
        name = about.get("itemId")
        if isinstance(sealed, str) or isinstance(name, str):
            return ThinkingBlock(
                text,
                sealed if isinstance(sealed, str) else None,
                name if isinstance(name, str) else None,
            )
    return ThinkingBlock(text)


def _google(part: dict[str, Any]) -> str | None:
    sealed = members(members(part.get("metadata")).get("google")).get("thoughtSignature")
    return sealed if isinstance(sealed, str) else None


def read_file(part: dict[str, Any]) -> Block:
    """A picture or document, in a data URL or under an address."""
    media, url = part.get("mime"), part.get("url")
    if not isinstance(url, str):
        return UnknownBlock({"opencode": part})
    source = source_of(url)
    name = part.get("filename") if isinstance(part.get("filename"), str) else None
    if isinstance(media, str) and media.startswith("image/"):
        return ImageBlock(source, media, name)
    if source.kind == "base64" and media == "text/plain":
        return TextBlock(b64decode(source.data or "").decode(errors="replace"))
    return DocumentBlock(source, media if isinstance(media, str) else None, name)


def read_results(parts: list[dict[str, Any]]) -> Iterator[Message]:
    """The results that stand in the calls themselves."""
    for part in parts:
        match part:
            case {"type": "tool", "callID": str(name), "state": {"status": "completed"} as state}:
                output = state.get("output")
                content: list[Any] = (
                    [TextBlock(output)] if isinstance(output, str) and output else []
                )
                files = state.get("attachments")
                content += [read_file(each) for each in listed(files) if isinstance(each, dict)]
                yield _result(name, content, False, part)
            case {"type": "tool", "callID": str(name), "state": {"status": "error"} as state}:
                text = str(state.get("error") or "")
                yield _result(name, [TextBlock(text)] if text else [], True, part)


def _result(name: str, content: list[Any], failed: bool, part: dict[str, Any]) -> Message:
    tool = part.get("tool") if isinstance(part.get("tool"), str) else None
    return Message.of_result(ToolResultBlock(name, tuple(content), failed, tool))


def write_part(block: Block, provider: str, time: dict[str, int]) -> dict[str, Any] | None:
    """A block as a part, without its ids; None for what has no part."""
    match block:
        case TextBlock(text):
            return {"type": "text", "text": text, "time": time}
        case ThinkingBlock(text):
            return {"type": "reasoning", "text": text, "time": time, **_sealed(block, provider)}
        case ImageBlock(source, media, name) | DocumentBlock(source, media, name):
            if source.data is None or source.kind not in ("base64", "url"):
                return None
            media = media or "application/octet-stream"
            inline = source.kind == "base64"
            url = f"data:{media};base64,{source.data}" if inline else source.data
            named = {"filename": name} if name else {}
            return {"type": "file", "mime": media, **named, "url": url}
        case UnknownBlock({"opencode": dict(part)}):
            return part
    return None


def _sealed(block: ThinkingBlock, provider: str) -> dict[str, Any]:
    if block.signature is None and block.id is None:
        return {}
    if provider == "openai":
        about = {"itemId": block.id, "reasoningEncryptedContent": block.signature}
    elif provider == "google":
        about = {"thoughtSignature": block.signature}
    else:
        about = {"signature": block.signature}
    return {"metadata": {provider: {key: value for key, value in about.items() if value}}}


def write_call(
    call: ToolUseBlock, result: ToolResultBlock | None, time: dict[str, int]
) -> dict[str, Any]:
    """A call with its result as one part."""
    state: dict[str, Any] = {"input": call.input, "time": time}
    if result is None:
        state |= {"status": "error", "error": "Tool execution aborted"}
    elif result.is_error:
        state |= {"status": "error", "error": _text(result)}
    else:
        state |= {"status": "completed", "output": _text(result), "title": "", "metadata": {}}
        others = (block for block in result.content if not isinstance(block, TextBlock))
        attached = [part for block in others if (part := write_part(block, "", time)) is not None]
        if attached:
            state["attachments"] = attached
    return {"type": "tool", "tool": call.name, "callID": call.id, "state": state}


def _text(result: ToolResultBlock) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextBlock))
