"""Thinking beside the content of an assistant message, in the four ways that hosts spell it:

    thinking_blocks     a list of Anthropic's blocks (LiteLLM and others)
    reasoning_details   a list of items, each with the format of its issuer (OpenRouter and others)
    reasoning_content   a string (DeepSeek, vLLM, xAI and others)
    reasoning           a string (Groq, Ollama, OpenRouter)

A string that repeats a list, or another string, is spelling: `$form.thinking` names the keys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from interlingua.dialects.kernel.errors import ShapeError, each
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.openai_chat.calls import (
    SERVER_CALL,
    pairs,
    read_hosted,
    read_index,
    write_hosted,
    write_index,
)
from interlingua.dialects.openai_chat.shape import (
    Note,
    form_in,
    keep_whole,
    maybe,
    mine_of,
    put_back,
    want,
)
from interlingua.dialects.openai_chat.tables import FORMATS, SIGNING_FAMILY, Tables
from interlingua.dialects.openai_chat.text import read_cache, write_cache, write_unknown
from interlingua.model.base import Raw
from interlingua.model.blocks import (
    Block,
    RedactedThinkingBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)

# -- reasoning_details ----------------------------------------------------------------------------

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


def write_details(
    blocks: Sequence[Block], t: Tables, recorder: LossRecorder, by: str
) -> list[Wire]:
    """`by` is the protocol of who made the blocks."""
    items: list[Wire] = []
    results = dict(pairs_by_id(blocks, recorder))
    for block in blocks:
        if isinstance(block, ToolUseBlock):
            result = results.get(block.id)
            items.append(write_hosted(block, result, len(items), SERVER_CALL, t, recorder))
        elif isinstance(block, (ThinkingBlock, RedactedThinkingBlock)):
            items.append(_write_detail(block, len(items), t, recorder, by))
        elif isinstance(block, UnknownBlock):
            items.extend(write_unknown(block, t, recorder))
    return items


def pairs_by_id(
    blocks: Sequence[Block], recorder: LossRecorder
) -> list[tuple[str, ToolResultBlock | None]]:
    return [(call.id, result) for call, result in pairs(blocks, recorder)]


def _write_detail(
    block: ThinkingBlock | RedactedThinkingBlock,
    ordinal: int,
    t: Tables,
    recorder: LossRecorder,
    by: str,
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
        recorder.unwritten(block, _SAID)
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

# -- thinking -------------------------------------------------------------------------------------

LISTS = ("thinking_blocks", "reasoning_details")
STRINGS = ("reasoning_content", "reasoning")
KEYS = frozenset({*LISTS, *STRINGS})

Found = tuple[list[Block], list[str], str]
"""Blocks, the keys that say them, and the protocol of who signed them."""


def read_thinking(wire: Wire, t: Tables, origin: int | str | None) -> Found:
    if wire.get("thinking_blocks"):
        blocks = each(wire["thinking_blocks"], ".thinking_blocks", lambda item: _read(item, t))
        return blocks, _places(wire, "thinking_blocks", blocks), _BLOCKS_OF
    if wire.get("reasoning_details"):
        blocks, issuer = read_details(wire["reasoning_details"], t, origin)
        return blocks, _places(wire, "reasoning_details", blocks), issuer
    texts = [key for key in STRINGS if wire.get(key)]
    if not texts:
        return [], [], t.name
    text = want(wire[texts[0]], str, f".{texts[0]}")
    return [ThinkingBlock(text)], [key for key in texts if wire[key] == text], t.name


def _places(wire: Wire, key: str, blocks: list[Block]) -> list[str]:
    if not wire.keys() & STRINGS:
        return [key]
    text = joined(blocks)
    return [each for each in STRINGS if text and wire.get(each) == text] + [key]


def joined(blocks: Iterable[Block]) -> str:
    """What the strings beside a list repeat."""
    return "".join([block.text for block in blocks if isinstance(block, ThinkingBlock)])


def read_signed(item: Any, raw: Raw) -> Any:
    """Thinking with text and signature alone, as it usually is; None for anything else."""
    if type(item) is dict and len(item) == 3 and item.get("type") == "thinking":
        text, signature = item.get("thinking"), item.get("signature")
        if type(text) is str and type(signature) is str:
            return ThinkingBlock(text, signature, None, None, raw)
    return None


def signed_by_anthropic(name: str) -> Raw:
    """Whoever handed on `thinking_blocks`, these are Anthropic's."""
    return {name: {"$form": {"issuer": _BLOCKS_OF}}}


_BLOCKS_OF = "anthropic"


def _read(item: Any, t: Tables) -> Block:
    """One of `thinking_blocks`."""
    if type(item) is not dict:
        raise ShapeError("", "an object", item)
    kind, signature = item.get("type"), maybe(item, "signature", str)
    if kind == "thinking" and type(item.get("thinking")) is str:
        if len(item) == 3 and signature is not None:
            return ThinkingBlock(item["thinking"], signature, raw=signed_by_anthropic(t.name))
        taken = {"type", "thinking"} if signature is None else {"type", "thinking", "signature"}
        return ThinkingBlock(item["thinking"], signature, **_beside(item, t, taken))
    if kind == "redacted_thinking" and type(item.get("data")) is str:
        return RedactedThinkingBlock(item["data"], **_beside(item, t, {"type", "data"}))
    return UnknownBlock(keep_whole(t.name, item, {"in": "thinking"}))


def _beside(item: Wire, t: Tables, taken: set[str]) -> dict[str, Any]:
    note = Note()
    note.form["issuer"] = _BLOCKS_OF
    cache = read_cache(item, t, "thinking", note.form, taken)
    note.leave(item, taken, ("signature",))
    return {"cache": cache, "raw": note.raw(t.name)}


def usual_places(blocks: Sequence[Block], t: Tables, calls: bool, own: bool) -> list[str]:
    """The keys under which thinking is written where nothing says otherwise; `own` thinking came by
    this dialect itself."""
    host = t.host
    if t.answer:
        return _places_of_answer(blocks, t)
    if host.replay == "own":
        if own and any(is_detail(block, t.name) for block in blocks):
            return [KEY]
        return _places_of_answer(blocks, t) if own else []
    if host.thinking is None or host.replay == "never" or (host.replay == "calls" and not calls):
        return []
    return [host.thinking]


def _places_of_answer(blocks: Sequence[Block], t: Tables) -> list[str]:
    plain = len(blocks) == 1 and _is_text(blocks[0])
    places = t.plain_thinking if plain else t.answer_thinking
    text = plain or joined(blocks)
    return [key for key in places if text or key not in STRINGS]


def _is_text(block: Block) -> bool:
    return isinstance(block, ThinkingBlock) and block.signature is None and bool(block.text)


def write_thinking(
    wire: Wire,
    blocks: Sequence[Block],
    places: Sequence[str],
    t: Tables,
    recorder: LossRecorder,
    by: str,
) -> None:
    """Put thinking under the keys `places`; `by` is the protocol of who made it."""
    if "thinking_blocks" in places:
        items = [item for block in blocks for item in _write(block, t, recorder)]
        if items:
            wire["thinking_blocks"] = items
    elif "reasoning_details" in places:
        wire["reasoning_details"] = write_details(blocks, t, recorder, by)
    else:
        _account(blocks, bool(places), recorder)
    text = joined(blocks)
    for key in places:
        if text and key in STRINGS:
            wire[key] = text


def _account(blocks: Sequence[Block], has_place: bool, recorder: LossRecorder) -> None:
    """What strings alone do not say."""
    first = True
    for block in blocks:
        if not isinstance(block, ThinkingBlock) or not has_place or not block.text:
            recorder.dropped(block)
            continue
        if block.signature or block.id or block.cache or block.raw:
            recorder.unwritten(block, _SAID_TEXT)
        if not first:
            recorder.lost(block, None, "joined with the thinking before it", "approximated", "info")
        first = False


def _write(block: Block, t: Tables, recorder: LossRecorder) -> list[Wire]:
    """One of `thinking_blocks`."""
    if isinstance(block, ThinkingBlock):
        item: Wire = {"type": "thinking", "thinking": block.text}
        if block.signature is not None:
            item["signature"] = block.signature
        if block.raw is None and block.cache is None and block.id is None:
            return [item]
    elif isinstance(block, RedactedThinkingBlock):
        item = {"type": "redacted_thinking", "data": block.data}
    elif isinstance(block, UnknownBlock):
        return write_unknown(block, t, recorder)
    else:
        recorder.dropped(block)
        return []
    mine = mine_of(t.name, block.raw)
    write_cache(item, block, block.cache, t, recorder, "thinking", form_in(mine))
    recorder.unwritten(block, _THINKING_SAID)
    return [put_back(item, mine)]


_SAID_TEXT = frozenset({"text"})
_THINKING_SAID = frozenset({"text", "signature", "data", "cache"})
