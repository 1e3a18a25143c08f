"""The `extra` of the flat view: thinking blocks and signatures, keyed by who made them.

Two lists in block order: `thinking_blocks` as Claude has them, and `thought_signatures` as Gemini
has them. Where the order alone does not show which blocks are signed, `positions` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Required, TypedDict

from interlingua.dialects.registry import is_dialect
from interlingua.errors import ReadError
from interlingua.model.base import JsonObject
from interlingua.model.blocks import (
    Block,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)
from interlingua.model.message import Message
from interlingua.views.base import ISSUER, Fields, present, spelling_of, with_form, with_rest

NAME = "flat"


class GeminiExtra(TypedDict, total=False):
    """`extra.gemini`: signatures in the order of the blocks that they sign."""

    thought_signatures: list[str]
    positions: list[int]
    """Which of the blocks are signed, where their number alone does not show it."""


class ThinkingEntry(TypedDict, total=False):
    """A thinking block as Claude has it; a redacted one has `data` alone."""

    type: Required[Literal["thinking", "redacted_thinking"]]
    thinking: str
    signature: str
    data: str


class ClaudeExtra(TypedDict, total=False):
    """`extra.claude`: thinking with its signatures, redacted thinking included."""

    thinking_blocks: list[ThinkingEntry]


class Extra(TypedDict, total=False):
    """The `extra` of a flat message; other keys are passed through."""

    gemini: GeminiExtra
    claude: ClaudeExtra


Thinking = ThinkingBlock | RedactedThinkingBlock
Signable = TextBlock | ThinkingBlock | ToolUseBlock

FAMILIES: dict[str, str] = {
    "anthropic": "claude",
    "bedrock": "claude",
    "gemini": "gemini",
    "vertex": "gemini",
    "openai-chat": "openai",
    "openai-responses": "openai",
}
"""The key in `extra` for a message's dialect, or else its provider; others have their own name."""
LISTED = "gemini"
"""The family whose signatures are a list beside the text."""
ISSUERS: dict[str, str] = {"claude": "anthropic", "openai": "openai-responses"}
"""The dialect that a key in `extra` names as the issuer, where that is not the key itself."""


class Layout(NamedTuple):
    """Where a message's thinking and signatures go: keys of `extra`, or None for neither."""

    blocks: str | None
    signatures: str | None


def layout(message: Message, form: JsonObject, issuer: str | None = None) -> Layout:
    """Metadata decides, else what the wire had, else the dialect that was read, else who is likely:
    Claude, and Gemini."""
    family = message.metadata.protocol or message.metadata.provider
    family = family or (None if _names_issuer(form) else issuer)
    family = FAMILIES.get(family, family) if family else None
    thinking = [b for b in message.content if isinstance(b, Thinking)]
    blocks = family or _key(form, "thinking_blocks") or "claude"
    signatures = family or _key(form, "thought_signatures") or LISTED
    return Layout(blocks if _needs_blocks(thinking, family, form) else None, signatures)


def _names_issuer(form: JsonObject) -> bool:
    return "thinking_blocks" in form or "thought_signatures" in form


def _key(form: JsonObject, name: str) -> str | None:
    key = form.get(name)
    return key if isinstance(key, str) else None


def _needs_blocks(thinking: Sequence[Thinking], family: str | None, form: JsonObject) -> bool:
    """Whether `reasoning` and `thought_signatures` cannot hold this thinking."""
    if not thinking:
        return False
    if "thinking_blocks" in form or any(isinstance(b, RedactedThinkingBlock) for b in thinking):
        return True
    in_list = family == LISTED or (family is None and "thought_signatures" in form)
    return not in_list and any(getattr(b, "signature", None) is not None for b in thinking)


def write_extra(blocks: Sequence[Block], where: Layout) -> JsonObject:
    """The two lists, for blocks in the order in which the flat view has them."""
    extra: dict[str, JsonObject] = {}
    if where.blocks:
        thinking = [_write_thinking(block) for block in blocks if isinstance(block, Thinking)]
        extra[where.blocks] = {"thinking_blocks": thinking}
    signable = _signable(blocks, where.blocks)
    signed = [number for number, block in enumerate(signable) if block.signature is not None]
    if signed and where.signatures:
        own = extra.setdefault(where.signatures, {})
        own["thought_signatures"] = [signable[number].signature for number in signed]
        if _usual(len(signed), signable) != signed:
            own["positions"] = signed
    return extra


def _write_thinking(block: Thinking) -> JsonObject:
    if isinstance(block, RedactedThinkingBlock):
        return with_rest(NAME, block.raw, {"type": "redacted_thinking", "data": block.data})
    out = present(type="thinking", thinking=block.text, signature=block.signature)
    return with_rest(NAME, block.raw, out)


def _signable(blocks: Sequence[Block], apart: str | None) -> list[Signable]:
    """The blocks that the list may sign: thinking too, unless it stands `apart` with its own."""
    kinds = (TextBlock, ToolUseBlock) if apart else (TextBlock, ThinkingBlock, ToolUseBlock)
    return [block for block in blocks if isinstance(block, kinds)]


def _usual(count: int, blocks: Sequence[Signable]) -> list[int] | None:
    """The blocks that so many signatures belong to, unless `positions` names others."""
    texts = [number for number, block in enumerate(blocks) if isinstance(block, TextBlock)]
    calls = [number for number, block in enumerate(blocks) if isinstance(block, ToolUseBlock)]
    choices = (list(range(len(blocks))), calls, calls[:1], sorted(texts + calls), texts[-1:])
    return next((places for places in choices if len(places) == count), None)


def issuer_in(extra: JsonObject) -> str | None:
    """The dialect that `extra` names as the issuer of the whole message, if it names just one."""
    issuers = [name for key in extra if is_dialect(name := ISSUERS.get(key, key))]
    return issuers[0] if len(issuers) == 1 else None


def issued(block: Block, issuer: str) -> Block:
    """The block with its issuer, unless it has one."""
    if ISSUER in spelling_of(NAME, block.raw):
        return block
    return block.replace(raw=with_form(NAME, block.raw, issuer=issuer))


def read_thinking(extra: JsonObject, reasoning: Any, path: str) -> tuple[str, list[Thinking]]:
    """Thinking blocks that agree with `reasoning`, and the key they stand under; else nothing.

    They are taken out of `extra`; lists that do not fit stay there, to go home unchanged."""
    for key, own in extra.items():
        if not isinstance(own, dict) or not isinstance(own.get("thinking_blocks"), list):
            continue
        place = f"{path}.extra.{key}.thinking_blocks"
        blocks = _read_blocks(own["thinking_blocks"], place, ISSUERS.get(key, key))
        if blocks and agrees(reasoning, blocks):
            _take(extra, key, "thinking_blocks")
            return key, blocks
    return "", []


def agrees(reasoning: Any, blocks: Sequence[Thinking]) -> bool:
    texts = [block.text for block in blocks if isinstance(block, ThinkingBlock)]
    parts = [{"type": "text", "text": text} for text in texts]
    return reasoning is None or reasoning in ("\n".join(texts), parts)


def _read_blocks(items: list[Any], path: str, issuer: str) -> list[Thinking]:
    try:
        return [
            _read_block(Fields(NAME, item, f"{path}[{number}]"), issuer)
            for number, item in enumerate(items)
        ]
    except ReadError:
        return []


def _read_block(fields: Fields, issuer: str) -> Thinking:
    kind = fields.word("type", {"thinking": ThinkingBlock, "redacted_thinking": None})
    if kind is None:
        return RedactedThinkingBlock(fields.need("data", str), raw=fields.raw(issuer=issuer))
    text, signature = fields.need("thinking", str), fields.maybe("signature", str)
    return ThinkingBlock(text, signature, raw=fields.raw(issuer=issuer))


def read_signatures(
    extra: JsonObject, blocks: list[Block], apart: str | None
) -> tuple[str, list[Block]]:
    """The blocks with their signatures, and the key those stood under."""
    signable = _signable(blocks, apart)
    for key, own in extra.items():
        if not isinstance(own, dict) or not _are_texts(own.get("thought_signatures")):
            continue
        signatures: list[str] = own["thought_signatures"]
        places = _positions(own, len(signatures), signable)
        if places:
            signed = {id(signable[n]): s for n, s in zip(places, signatures, strict=True)}
            _take(extra, key, "thought_signatures", "positions")
            return key, [_signed(block, signed, ISSUERS.get(key, key)) for block in blocks]
    return "", blocks


def _signed(block: Block, signatures: dict[int, str], issuer: str) -> Block:
    signature = signatures.get(id(block))
    if signature is None:
        return block
    return block.replace(signature=signature, raw=with_form(NAME, block.raw, issuer=issuer))


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(s, str) for s in value)


def _positions(own: JsonObject, count: int, blocks: Sequence[Signable]) -> list[int] | None:
    places = own.get("positions")
    if places is None:
        return _usual(count, blocks)
    fits = (
        isinstance(places, list)
        and len(places) == count
        and all(type(number) is int and 0 <= number < len(blocks) for number in places)
        and places == sorted(set(places))
    )
    return places if fits and places != _usual(count, blocks) else None


def _take(extra: JsonObject, key: str, *names: str) -> None:
    """Without these names; without the key, too, if nothing else stood there."""
    left = {name: item for name, item in extra[key].items() if name not in names}
    if left:
        extra[key] = left
    else:
        del extra[key]
