"""Messages of AG-UI and ours. Reasoning is a message of its own there and belongs to the answer
that follows it here."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from typing import Any

from interlingua.arguments import recover, spelled, to_text
from interlingua.dialects.kernel.kept import form_of, keep, kept
from interlingua.model.base import Raw
from interlingua.model.blocks import (
    Block,
    CompactionBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata
from interlingua.transcripts.ag_ui.sealed import Sealed, has_failed, sealed, unsealed
from interlingua.transcripts.ag_ui.tables import NAME
from interlingua.transcripts.media import ANY, is_media, media_block
from interlingua.transcripts.memo import KEY
from interlingua.transcripts.summary import is_summary, summary_text

Part = dict[str, Any]
_SAID = frozenset({"id", "role", "content", "name", "toolCalls", "toolCallId", "metadata"})
_REDACTED = "redacted_thinking"
"""The id by which pydantic-ai tells that thinking is sealed as a whole (2.66.0, 2026-11-16)."""
_MADE = re.compile(r"il-\d+(-\d+)?")
"""Ids that we gave to messages that had none."""
_MEDIA = ("image", "audio", "video", "document")


# -- reading ---------------------------------------------------------------------------------------


def message_id(wire: Part) -> str | None:
    name = wire.get("id")
    return name if isinstance(name, str) and name and not _MADE.fullmatch(name) else None


def note_of(wire: Part) -> Any:
    told = wire.get("metadata")
    return told.get(KEY) if isinstance(told, dict) else None


def raw_of(wire: Part, *aside: str) -> Raw | None:
    """What a message says beyond its fields."""
    rest = {key: each for key, each in wire.items() if key not in _SAID and key not in aside}
    told = wire.get("metadata")
    told = {key: each for key, each in told.items() if key != KEY} if isinstance(told, dict) else {}
    return keep(NAME, {**rest, **({"metadata": told} if told else {})})


def read_thinking(wire: Part) -> tuple[Block, Sealed | None]:
    """A piece of thinking, and whose it is."""
    content = wire.get("content")
    text = content if isinstance(content, str) else ""
    value = wire.get("encryptedValue")
    known = unsealed(value)
    form: Part = {"id": name} if (name := message_id(wire)) is not None else {}
    if known is None:
        return ThinkingBlock(text, raw=keep(NAME, None, form)), None
    if known.id == _REDACTED and not text:
        return RedactedThinkingBlock(known.signature, raw=keep(NAME, None, form)), known
    if sealed(known.signature, known.id, known.provider) != value:
        form["sealed"] = value
    return ThinkingBlock(text, known.signature, known.id, raw=keep(NAME, None, form)), known


def read_answer(wire: Part) -> tuple[Block, ...]:
    """The text and the calls of an answer."""
    text = wire.get("content")
    blocks: list[Block] = []
    if isinstance(text, str) and text:
        known = unsealed(wire.get("encryptedValue"))
        blocks.append(TextBlock(text, known.signature if known is not None else None))
    elif isinstance(text, list):
        blocks += read_content(text)
    calls = wire.get("toolCalls")
    return (*blocks, *(_read_call(each) for each in (calls if isinstance(calls, list) else ())))


def _read_call(wire: Any) -> Block:
    match wire:
        case {"id": str(name), "function": {"name": str(tool), **rest}}:
            text = rest.get("arguments")
            text = text if isinstance(text, str) else ""
            given = recover(text)
            exact = given.mode == "strict" and to_text(given.input) == text
            known = unsealed(wire.get("encryptedValue"))
            beside = {key: each for key, each in wire.items() if key == "metadata"}
            return ToolUseBlock(
                name,
                tool,
                given.input,
                None if exact else text,
                known.signature if known is not None else None,
                raw=keep(NAME, beside),
            )
    return UnknownBlock({NAME: wire})


def read_content(content: Any) -> tuple[Any, ...]:
    """A text, or parts."""
    if isinstance(content, str):
        return (TextBlock(content),) if content else ()
    return tuple(map(_read_part, content)) if isinstance(content, list) else ()


def _read_part(part: Any) -> Block:
    match part:
        case {"type": "text", "text": str(text)}:
            return TextBlock(text, raw=keep(NAME, _less(part, "type", "text")))
        case {"type": str(kind), "source": dict(source)} if kind in _MEDIA:
            found = _read_source(source)
            rest = _less(part, "type", "source")
            media = source.get("mimeType")
            if found is not None:
                made = media_block(found, media if isinstance(media, str) else f"{kind}/*")
                return made.replace(media_type=media, raw=keep(NAME, rest))
        case {"type": "binary", "mimeType": str(media)}:
            return _read_binary(media, part)
    return UnknownBlock({NAME: part})


def _read_source(source: Part) -> Source | None:
    match source:
        case {"type": "data", "value": str(data)}:
            return Source("base64", data)
        case {"type": "url", "value": str(url)}:
            return Source("url", url)
        case {"type": "file", "value": str(name)}:
            return Source("file_id", name, provider=source.get("provider"))
    return None


def _less(part: Part, *names: str) -> Part:
    return {key: value for key, value in part.items() if key not in names}


def _read_binary(media: str, part: Part) -> Block:
    """The one kind of part for all media before version 1.0."""
    name = part.get("filename")
    for key, kind in (("data", "base64"), ("url", "url"), ("id", "file_id")):
        value = part.get(key)
        if isinstance(value, str) and value:
            source = Source(kind, value)  # type: ignore[arg-type]  # of these three
            return media_block(source, media, name if isinstance(name, str) else None)
    return UnknownBlock({NAME: part})


def read_result(wire: Part, tool: str | None) -> Message:
    """A result. There is a word for its failure in messages, and in events what agents add."""
    name = wire.get("toolCallId")
    error = wire.get("error")
    failed = isinstance(error, str) or has_failed(wire.get("encryptedValue"))
    content = read_content(wire.get("content"))
    if not content and isinstance(error, str):
        content = read_content(error)
    aside = ("error",) if read_content(error) == content else ()
    block = ToolResultBlock(
        name if isinstance(name, str) else "", content, failed, tool, raw=raw_of(wire, *aside)
    )
    return Message.of_result(block)


# -- writing ---------------------------------------------------------------------------------------


def write_message(message: Message, name: str) -> list[Part]:
    """A message as those of AG-UI: thinking first, each piece of it a message of its own. `name` is
    for what has no id. Nothing, for a result that answers nothing."""
    main: Part = {"id": message.id or name, "role": str(message.role)}
    if message.name is not None:
        main["name"] = message.name
    if message.role is Role.TOOL:
        return _write_result(main, message)
    if message.role is Role.USER:
        main["content"] = _user_content(message)
    else:
        main["content"] = _text(message)
    before: list[Part] = []
    if message.role is Role.ASSISTANT:
        provider = message.metadata.provider
        before = list(_write_thinking(message, name))
        _write_work(main, message, provider)
    return [*before, {**main, **kept(NAME, message.metadata.provider_raw)}]


def _text(message: Message) -> str:
    if is_summary(message):
        return summary_text(message)
    return "".join(_texts(message.content))


def _texts(blocks: Sequence[Block]) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, TextBlock | RefusalBlock | CompactionBlock):
            yield block.text or ""


def _user_content(message: Message) -> Any:
    if is_summary(message):
        return summary_text(message)
    return _content(message.content)


def _content(blocks: Sequence[Block]) -> Any:
    """A text where one says all, else parts."""
    if not blocks or (len(blocks) == 1 and type(blocks[0]) is TextBlock and not blocks[0].raw):
        return "".join(_texts(blocks))
    parts = [_write_part(block) for block in blocks]
    return [part for part in parts if part is not None]


def _write_part(block: Block) -> Part | None:
    match block:
        case TextBlock(text):
            return {"type": "text", "text": text, **kept(NAME, block.raw)}
        case UnknownBlock(raw) if isinstance(raw.get(NAME), dict):
            own: Part = raw[NAME]
            return own if own.get("type") != "function" else None
    source = _write_source(block) if is_media(block) else None
    return None if source is None else {"type": block.type, "source": source, **_rest(block)}


def _rest(block: Block) -> Part:
    return kept(NAME, getattr(block, "raw", None))


def _write_source(block: Any) -> Part | None:
    source, media = block.source, block.media_type
    typed = {"mimeType": media} if media is not None else {}
    match source.kind:
        case "base64":
            return {"type": "data", "value": source.data, "mimeType": media or ANY}
        case "text":
            value = b64encode((source.data or "").encode()).decode()
            return {"type": "data", "value": value, "mimeType": media or "text/plain"}
        case "url":
            return {"type": "url", "value": source.data, **typed}
        case "file_id":
            whose = {"provider": source.provider} if source.provider else {}
            return {"type": "file", "value": source.data, **whose, **typed}
    return None


def _write_thinking(message: Message, name: str) -> Iterator[Part]:
    provider = message.metadata.provider
    for number, block in enumerate(message.content):
        if not isinstance(block, ThinkingBlock | RedactedThinkingBlock):
            continue
        form = form_of(NAME, block.raw)
        wire: Part = {"id": form.get("id") or f"{name}-{number + 1}", "role": "reasoning"}
        match block:
            case ThinkingBlock(text, signature):
                wire["content"] = text
                if signature is not None:
                    wire["encryptedValue"] = _sealed(block, form, provider)
                yield wire
            case RedactedThinkingBlock(data):
                value = sealed(data, _REDACTED, provider)
                yield {**wire, "content": "", "encryptedValue": value}


def _sealed(block: ThinkingBlock, form: Part, provider: str | None) -> str:
    """As it was spelled, where that still says the same."""
    assert block.signature is not None
    told = unsealed(form.get("sealed"))
    if told is not None and (told.signature, told.id) == (block.signature, block.id):
        value: str = form["sealed"]
        return value
    return sealed(block.signature, block.id, provider)


def _write_work(main: Part, message: Message, provider: str | None) -> None:
    calls = [
        _write_call(block, provider) for block in message.content if isinstance(block, ToolUseBlock)
    ]
    if calls:
        main["toolCalls"] = calls
    signed = [each for each in message.content if isinstance(each, TextBlock) and each.signature]
    if signed and signed[-1].signature is not None:
        main["encryptedValue"] = sealed(signed[-1].signature, None, provider)


def _write_call(block: ToolUseBlock, provider: str | None) -> Part:
    text = block.raw_arguments
    exact = text is not None and (spelled(text, block.input) or recover(text).input == block.input)
    function = {"name": block.name, "arguments": text if exact else to_text(block.input)}
    wire: Part = {"id": block.id, "type": "function", "function": function}
    if block.signature is not None:
        wire["encryptedValue"] = sealed(block.signature, None, provider)
    return {**wire, **kept(NAME, block.raw)}


def _write_result(main: Part, message: Message) -> list[Part]:
    block = next((each for each in message.content if isinstance(each, ToolResultBlock)), None)
    if block is None:
        return []
    wire = {**main, "toolCallId": block.tool_use_id, "content": _content(block.content)}
    wire |= kept(NAME, block.raw)
    if block.is_error and not has_failed(wire.get("encryptedValue")):
        wire.setdefault("error", "".join(_texts(block.content)) or "failed")
    return [wire]


def whose(known: Sequence[Sealed | None]) -> MessageMetadata | None:
    """The provider that sealed something of an answer."""
    for each in known:
        if each is not None and each.provider is not None:
            return MessageMetadata(provider=each.provider, protocol=each.protocol)
    return None
