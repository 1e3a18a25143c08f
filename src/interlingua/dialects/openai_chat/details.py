"""`reasoning_details`: a list of thinking, each item with the format of whoever can read it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.openai_chat.hosted import (
    SERVER_CALL,
    pairs,
    read_hosted,
    read_index,
    write_hosted,
    write_index,
)
from interlingua.dialects.openai_chat.parts import write_unknown
from interlingua.dialects.openai_chat.shape import (
    Note,
    form_in,
    keep_whole,
    maybe,
    mine_of,
    put_back,
)
from interlingua.dialects.openai_chat.tables import FORMATS, SIGNING_FAMILY, Tables
from interlingua.dialects.shape import ShapeError, each
from interlingua.model.blocks import (
    Block,
    RedactedThinkingBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)

KEY = "reasoning_details"
TEXTS = {"reasoning.text": "text", "reasoning.summary": "summary"}
_FILLED = ("format", "index")
_KNOWN = ("text", "summary", "signature", "id", "format")


def read_details(items: Any, t: Tables, origin: int | str | None) -> tuple[list[Block], str]:
    """The blocks, and the protocol of who issued them."""
    blocks: list[Block] = []
    issuer, ordinal = t.name, -1

    def read(item: Any) -> None:
        nonlocal issuer, ordinal
        ordinal += 1
        blocks.extend(read_detail(item, ordinal, t, origin))
        if type(item.get("format")) is str:
            issuer = t.issuers.get(item["format"], issuer)

    each(items, f".{KEY}", read)
    return blocks, issuer


def read_detail(item: Any, ordinal: int, t: Tables, origin: int | str | None) -> list[Block]:
    if type(item) is not dict:
        raise ShapeError("", "an object", item)
    kind = item.get("type")
    if kind == SERVER_CALL.type and type(item.get("tool_name")) is str:
        return read_hosted(item, ordinal, SERVER_CALL, t, origin)
    if kind == "reasoning.encrypted" and type(item.get("data")) is str:
        note = Note()
        read_index(item, ordinal, note)
        note.leave(item, ("type", "data", "index"), _KNOWN)
        note.absent(item, _FILLED)
        return [RedactedThinkingBlock(item["data"], raw=note.raw(t.name))]
    if kind == "reasoning.text" or kind == "reasoning.summary":
        return [_read_text(item, kind, ordinal, t)]
    return [UnknownBlock(keep_whole(t.name, item, {"in": "thinking"}))]


def _read_text(item: Wire, kind: str, ordinal: int, t: Tables) -> Block:
    note, taken = Note(), {"type", "index"}
    found = {key: maybe(item, key, str) for key in (TEXTS[kind], "signature", "id")}
    taken.update(key for key, value in found.items() if value is not None)
    read_index(item, ordinal, note)
    if kind != "reasoning.text":
        note.form["detail"] = kind
    text = found[TEXTS[kind]]
    if text is None:
        note.form["no_text"] = True
    note.leave(item, taken, _KNOWN)
    note.absent(item, _FILLED)
    return ThinkingBlock(text or "", found["signature"], found["id"], raw=note.raw(t.name))


def is_detail(block: Block, name: str) -> bool:
    """Whether a block was read from such a list: it has a format, or a note that it had none."""
    mine = mine_of(name, block.raw)
    return "format" in mine or "format" in form_in(mine).get("absent", ())


def write_details(blocks: Sequence[Block], t: Tables, scribe: Scribe, by: str) -> list[Wire]:
    """`by` is the protocol of who made the blocks."""
    items: list[Wire] = []
    results = dict(pairs_by_id(blocks, scribe))
    for block in blocks:
        if isinstance(block, ToolUseBlock):
            result = results.get(block.id)
            items.append(write_hosted(block, result, len(items), SERVER_CALL, t, scribe))
        elif isinstance(block, (ThinkingBlock, RedactedThinkingBlock)):
            items.append(_write_detail(block, len(items), t, scribe, by))
        elif isinstance(block, UnknownBlock):
            items.extend(write_unknown(block, t, scribe))
    return items


def pairs_by_id(
    blocks: Sequence[Block], scribe: Scribe
) -> list[tuple[str, ToolResultBlock | None]]:
    return [(call.id, result) for call, result in pairs(blocks, scribe)]


def _write_detail(
    block: ThinkingBlock | RedactedThinkingBlock, ordinal: int, t: Tables, scribe: Scribe, by: str
) -> Wire:
    mine = mine_of(t.name, block.raw)
    form = form_in(mine)
    if isinstance(block, ThinkingBlock):
        item = _write_text(block, form)
    else:
        item = {"type": "reasoning.encrypted", "data": block.data}
    if not mine:
        item.update(format=format_of(by), index=ordinal)
    write_index(item, ordinal, form)
    if block.raw is not None or block.cache is not None:
        scribe.unsaid(block, _SAID)
    return put_back(item, mine)


def _write_text(block: ThinkingBlock, form: Wire) -> Wire:
    kind = form.get("detail", "reasoning.text")
    item: Wire = {"type": kind}
    if block.text or not form.get("no_text"):
        item[TEXTS[kind]] = block.text
    if block.signature is not None:
        item["signature"] = block.signature
    if block.id is not None:
        item["id"] = block.id
    return item


def format_of(by: str) -> str:
    """The format of what this protocol signs."""
    family = SIGNING_FAMILY.get(by, by)
    return next((word for word, issuer in FORMATS.items() if issuer == family), "unknown")


_SAID = frozenset({"text", "signature", "id", "data"})
