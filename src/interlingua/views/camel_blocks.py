"""The four kinds of block in the camel view, and which message may hold which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from interlingua.model.base import JsonObject
from interlingua.model.blocks import (
    Block,
    CompactionBlock,
    ImageBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)
from interlingua.model.message import Message, Role
from interlingua.views.account import Account
from interlingua.views.base import form_of, present, with_rest
from interlingua.views.calls import lost_spelling
from interlingua.views.camel_provenance import NAME
from interlingua.views.reading import Fields

BLOCKS: tuple[str, ...] = ("text", "thinking", "image", "toolCall")
PLACEMENT: dict[Role, frozenset[str]] = {
    Role.USER: frozenset({"text", "image"}),
    Role.ASSISTANT: frozenset({"text", "thinking", "toolCall"}),
    Role.TOOL: frozenset({"text", "image"}),
}
"""Which blocks each kind of message may hold."""


def read_block(fields: Fields, role: Role) -> Block:
    kind = fields.word("type", {name: name for name in BLOCKS})
    if kind not in PLACEMENT[role]:
        allowed = ", ".join(name for name in BLOCKS if name in PLACEMENT[role])
        raise fields.error("type", f"one of {allowed} in this message", repr(kind))
    match kind:
        case "text":
            text, signature = fields.need("text", str), fields.filled("textSignature", str)
            return TextBlock(text, signature, raw=fields.raw())
        case "image":
            return _read_image(fields)
        case "thinking":
            return _read_thinking(fields)
        case _:
            return _read_call(fields)


def _read_image(fields: Fields) -> ImageBlock:
    source = Source("base64", fields.need("data", str))
    return ImageBlock(source, fields.filled("mimeType", str), raw=fields.raw())


def _read_thinking(fields: Fields) -> Block:
    text, signature = fields.need("thinking", str), fields.filled("thinkingSignature", str)
    if fields.filled("redacted", bool):
        raw = fields.raw(thinking=text or None)  # a placeholder, nothing that was thought
        return RedactedThinkingBlock(signature or "", raw=raw)
    return ThinkingBlock(text, signature, raw=fields.raw())


def _read_call(fields: Fields) -> ToolUseBlock:
    id, name = fields.need("id", str), fields.need("name", str)
    arguments, signature = fields.maybe("arguments", dict), fields.filled("thoughtSignature", str)
    return ToolUseBlock(id, name, arguments or {}, signature=signature, raw=fields.raw())


def write_content(
    blocks: Sequence[Block], role: Role, path: str, account: Account
) -> list[JsonObject]:
    places = [(block, f"{path}.content[{number}]") for number, block in enumerate(blocks)]
    parts = [_write_block(block, role, place, account) for block, place in places]
    return [part for part in parts if part is not None]


_WORDS: Mapping[type[Block], str] = {
    TextBlock: "text",
    RefusalBlock: "text",
    ImageBlock: "image",
    ThinkingBlock: "thinking",
    RedactedThinkingBlock: "thinking",
    ToolUseBlock: "toolCall",
}


def _write_block(block: Block, role: Role, path: str, account: Account) -> JsonObject | None:
    if type(block) is CompactionBlock:
        text = account.summary(path, block)
        return None if text is None else {"type": "text", "text": text.text}
    if _WORDS.get(type(block)) not in PLACEMENT[role]:
        account.block(path, block, f"{NAME} has no such block in a {role} message")
        return None
    match block:
        case TextBlock() | RefusalBlock():
            return _write_text(block, path, account)
        case ImageBlock():
            return _write_image(block, path, account)
        case ThinkingBlock():
            account.fields(block, path, *_held(block, "text"))
            out = {"type": "thinking", "thinking": block.text}
            return _signed(block, out, "thinkingSignature")
        case RedactedThinkingBlock():
            return _write_redacted(block, path, account)
        case ToolUseBlock(executor="client"):
            return _write_call(block, path, account)
        case _:
            account.block(path, block, f"{NAME} has no tools that the provider runs")
            return None


def is_signed(message: Message) -> bool:
    """Whether something in it is only for its issuer to read."""
    return any(
        isinstance(block, RedactedThinkingBlock) or getattr(block, "signature", None)
        for block in message.content
    )


def _held(block: TextBlock | ThinkingBlock | ToolUseBlock, *names: str) -> tuple[str, ...]:
    """The fields that are held; an empty signature is left out of the wire, and so is none."""
    return (*names, "signature") if block.signature != "" else names


def _signed(
    block: TextBlock | ThinkingBlock | ToolUseBlock, out: JsonObject, key: str
) -> JsonObject:
    if block.signature:
        out[key] = block.signature
    return with_rest(NAME, block.raw, out)


def _write_text(block: TextBlock | RefusalBlock, path: str, account: Account) -> JsonObject:
    out: JsonObject = {"type": "text", "text": block.text}
    if isinstance(block, RefusalBlock):
        account.fields(block, path, "text")
        account.lost(path, "a refusal as text", kind="downgraded", block=block)
        return with_rest(NAME, block.raw, out)
    account.fields(block, path, *_held(block, "text"))
    return _signed(block, out, "textSignature")


def _write_image(block: ImageBlock, path: str, account: Account) -> JsonObject | None:
    if block.source.kind != "base64" or block.source.data is None:
        account.block(path, block, f"{NAME} has no {block.source.kind} source")
        return None
    account.fields(block, path, "source", "media_type")
    out = present(type="image", data=block.source.data, mimeType=block.media_type or None)
    return with_rest(NAME, block.raw, out)


def _write_redacted(block: RedactedThinkingBlock, path: str, account: Account) -> JsonObject:
    account.fields(block, path, "data")
    placeholder = form_of(NAME, block.raw).get("thinking")
    text = placeholder if isinstance(placeholder, str) else ""
    out: JsonObject = {"type": "thinking", "thinking": text}
    if block.data:
        out["thinkingSignature"] = block.data
    return with_rest(NAME, block.raw, {**out, "redacted": True})


def _write_call(block: ToolUseBlock, path: str, account: Account) -> JsonObject:
    held = _held(block, "id", "name", "input", "raw_arguments", "executor")
    account.fields(block, path, *held)
    lost_spelling(account, block, path)
    out: JsonObject = {"type": "toolCall", "id": block.id, "name": block.name}
    out["arguments"] = block.input
    return _signed(block, out, "thoughtSignature")
