"""Thinking beside the content of an assistant message, in the four ways that hosts spell it:

    thinking_blocks     a list of Anthropic's blocks (LiteLLM and others)
    reasoning_details   a list of items, each with the format of its issuer (OpenRouter and others)
    reasoning_content   a string (DeepSeek, vLLM, xAI and others)
    reasoning           a string (Groq, Ollama, OpenRouter)

A string that repeats a list, or another string, is spelling: `$form.thinking` names the keys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import astuple

from interlingua.dialects.kernel.errors import read_each, require
from interlingua.dialects.kernel.fields import Table, constant, plain, spelling
from interlingua.dialects.kernel.preserved import (
    Preserved,
    raw_of,
    spelling_in,
    spelling_of,
    was_absent,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.openai_chat import calls, tables, text
from interlingua.dialects.openai_chat.tables import MARKS, SERVER_CALL, Tables, WriteContext
from interlingua.model import blocks as model
from interlingua.model.base import Raw
from interlingua.model.blocks import Block, RedactedThinkingBlock, ThinkingBlock, UnknownBlock
from interlingua.model.reasons import because

BLOCKS, KEY = "thinking_blocks", "reasoning_details"
STRINGS = ("reasoning_content", "reasoning")
_STRING = [(key,) for key in STRINGS]
KEYS = frozenset({BLOCKS, KEY, *STRINGS})
TEXTS = {"reasoning.text": "text", "reasoning.summary": "summary"}
_BLOCKS_OF = "anthropic"
_TEXT = frozenset({"text"})
_TEXT_ALONE = astuple(ThinkingBlock(""))[1:]
_USUAL, _SEALED = "reasoning.text", "reasoning.encrypted"
_TEXT_OF = {"thinking": "thinking", "redacted_thinking": "data", _SEALED: "data", **TEXTS}
"""The key of the text, by the type of an item."""
_BLOCK_OF: dict[str, type[Any]] = {
    kind: RedactedThinkingBlock if key == "data" else ThinkingBlock
    for kind, key in _TEXT_OF.items()
}


def _item(kind: str, key: str) -> Table:
    type, of_details = constant("type", kind), kind.startswith("reasoning.")
    beside, silent = ((), ()) if of_details else (MARKS, ("cache",))
    if key == "data":
        fields = (type, plain(key, key, str), spelling("index"))
    else:
        text = plain(key, "text", str, missing="" if of_details else None)
        named = (plain("id", "id", str), spelling("index")) if of_details else ()
        fields = (type, text, plain("signature", "signature", str), *named)
    return Table(_BLOCK_OF[kind], *fields, beside=beside, silent=silent)


_ITEMS = {kind: _item(kind, key) for kind, key in _TEXT_OF.items()}

Found = tuple[list[Block], list[str], str]
"""Blocks, their keys, and the protocol of their signer."""


def read_thinking(wire: Wire, t: Tables, origin: int | str | None) -> Found:
    if wire.get(BLOCKS):
        blocks = read_each(wire[BLOCKS], f".{BLOCKS}", lambda item: _read_block(item, t))
        return blocks, _places(wire, BLOCKS, blocks), _BLOCKS_OF
    if wire.get(KEY):
        blocks, issuer = _read_details(wire[KEY], t, origin)
        return blocks, _places(wire, KEY, blocks), issuer
    texts = [key for key in STRINGS if wire.get(key)]
    if not texts:
        return [], [], t.name
    text = require(wire[texts[0]], str, f".{texts[0]}")
    return [ThinkingBlock(text)], [key for key in texts if wire[key] == text], t.name


def _places(wire: Wire, key: str, blocks: list[Block]) -> list[str]:
    if not wire.keys() & STRINGS:
        return [key]
    text = joined(blocks)
    return [each for each in STRINGS if text and wire.get(each) == text] + [key]


def joined(blocks: Iterable[Block]) -> str:
    """The text that the strings beside a list repeat."""
    return "".join([block.text for block in blocks if type(block) is ThinkingBlock])


def usual_places(blocks: Sequence[Block], t: Tables, calls: bool, own: bool) -> list[str]:
    """The keys under which thinking is written by default; `own` thinking came from this dialect
    itself."""
    host = t.host
    if t.answer:
        return _places_of_answer(blocks, t)
    if host.replay == "own":
        if own and any(_is_detail(block, t.name) for block in blocks):
            return [KEY]
        if own and host.thinking is not None:
            return [host.thinking]
        return _places_of_answer(blocks, t) if own else []
    if host.thinking is None or host.replay == "never" or (host.replay == "calls" and not calls):
        return []
    return [host.thinking]


def _places_of_answer(blocks: Sequence[Block], t: Tables) -> list[str]:
    plain = len(blocks) == 1 and _is_text(blocks[0])
    positions = t.plain_thinking if plain else t.answer_thinking
    text = plain or joined(blocks)
    return [key for key in positions if text or key not in STRINGS]


def _is_text(block: Block) -> bool:
    return type(block) is ThinkingBlock and block.signature is None and bool(block.text)


def write_thinking(
    wire: Wire, blocks: Sequence[Block], positions: Sequence[str], to: WriteContext, by: str
) -> None:
    """Put thinking under the keys `places`; `by` is the protocol of its maker."""
    if BLOCKS in positions:
        items = [item for block in blocks for item in _write_block(block, to)]
        if items:
            wire[BLOCKS] = items
    elif KEY in positions:
        wire[KEY] = _write_details(blocks, to, by)
    else:
        _account(blocks, bool(positions), to.recorder)
    text = joined(blocks)
    for key in positions:
        if text and key in STRINGS:
            wire[key] = text


def write_answered(wire: Wire, blocks: Sequence[ThinkingBlock], to: WriteContext, by: str) -> None:
    """The thinking of a response, where it usually stands: as a rule one text under one key."""
    first, keys = blocks[0], to.t.plain_thinking
    if len(blocks) == 1 and keys in _STRING and first.text and astuple(first)[1:] == _TEXT_ALONE:
        wire[keys[0]] = first.text
    else:
        write_thinking(wire, blocks, _places_of_answer(blocks, to.t), to, by)


def _account(blocks: Sequence[Block], has_place: bool, recorder: LossRecorder) -> None:
    """The parts that strings alone do not hold."""
    first = True
    for block in blocks:
        if type(block) is not ThinkingBlock or not has_place or not block.text:
            recorder.dropped(block)
            continue
        if astuple(block)[1:] != _TEXT_ALONE:
            recorder.unwritten(block, _TEXT)
        if not first:
            recorder.lost(block, None, because("joined"), "approximated")
        first = False


# -- thinking_blocks ------------------------------------------------------------------------------


def read_signed(item: Any, raw: Raw) -> ThinkingBlock | None:
    """Thinking with text and signature alone, as it usually is; None for anything else."""
    if type(item) is dict and len(item) == 3 and item.get("type") == "thinking":
        text, signature = item.get("thinking"), item.get("signature")
        if type(text) is str and type(signature) is str:
            return ThinkingBlock(text, signature, None, None, raw)
    return None


def signed_by_anthropic(name: str) -> Raw:
    """`thinking_blocks` are Anthropic's, whichever service passes them on."""
    return {name: {"$form": {"issuer": _BLOCKS_OF}}}


def _read_block(item: Any, t: Tables) -> Block:
    usual = read_signed(require(item, dict), signed_by_anthropic(t.name))
    if usual is not None:
        return usual
    kind: Any = item.get("type")
    if kind not in ("thinking", "redacted_thinking") or type(item.get(_TEXT_OF[kind])) is not str:
        return text.keep_unknown(item, t, **{"in": "thinking"})
    preserved = Preserved(spelling={"issuer": _BLOCKS_OF})
    cache = text.read_marks(item, t, "thinking", preserved)
    block: Block = _ITEMS[kind].read_value(_BLOCK_OF[kind], item, t.name, preserved, cache=cache)
    return block


def _write_block(block: Block, to: WriteContext) -> list[Wire]:
    if type(block) is UnknownBlock:
        return text.write_unknown(block, to)
    if not isinstance(block, (ThinkingBlock, RedactedThinkingBlock)):
        to.recorder.dropped(block)
        return []
    item: Wire = {"type": "thinking" if type(block) is ThinkingBlock else "redacted_thinking"}
    text.write_cache(item, block, to, "thinking", spelling_of(to.t.name, block.raw))
    return [_ITEMS[item["type"]].write_value(block, to.recorder, item)]


# -- reasoning_details ----------------------------------------------------------------------------


def _read_details(items: Any, t: Tables, origin: int | str | None) -> tuple[list[Block], str]:
    """The blocks, and the protocol of their issuer."""
    blocks: list[list[Block]] = []
    read_each(
        items, f".{KEY}", lambda item: blocks.append(read_detail(item, len(blocks), t, origin))
    )
    formats = [item["format"] for item in items if type(item.get("format")) is str]
    issuers = [t.issuers[word] for word in formats if word in t.issuers]
    return [block for some in blocks for block in some], issuers[-1] if issuers else t.name


def read_detail(item: Any, ordinal: int, t: Tables, origin: int | str | None) -> list[Block]:
    kind: Any = require(item, dict).get("type")
    if kind == SERVER_CALL.type and type(item.get("tool_name")) is str:
        return calls.read_hosted(item, ordinal, SERVER_CALL, t, origin)
    sealed = kind == _SEALED and type(item.get("data")) is str
    if not sealed and (type(kind) is not str or kind not in TEXTS):
        return [text.keep_unknown(item, t, **{"in": "thinking"})]
    preserved = Preserved(spelling={} if sealed or kind == _USUAL else {"detail": kind})
    preserved.mark_any_absent(item, ("format",))
    return [_ITEMS[kind].read_value(_BLOCK_OF[kind], item, t.name, preserved)]


def _is_detail(block: Block, name: str) -> bool:
    """Whether a block was read from such a list: it has a format, or a note that it had none."""
    own_raw = raw_of(name, block.raw)
    return "format" in own_raw or was_absent(own_raw, "format")


def _write_details(blocks: Sequence[Block], to: WriteContext, by: str) -> list[Wire]:
    items: list[Wire] = []
    results = {call.id: result for call, result in calls.pairs(blocks, to.recorder)}
    for block in blocks:
        if type(block) is model.ToolUseBlock:
            items.append(calls.write_hosted(block, results.get(block.id), SERVER_CALL, to))
        elif type(block) is ThinkingBlock or type(block) is RedactedThinkingBlock:
            own_raw = raw_of(to.t.name, block.raw)
            kind = (
                spelling_in(own_raw).get("detail", _USUAL)
                if type(block) is ThinkingBlock
                else _SEALED
            )
            item = _ITEMS[kind].write_value(block, to.recorder, {"type": kind})
            items.append(
                item if own_raw else {**item, "format": format_of(by), "index": len(items)}
            )
        elif type(block) is UnknownBlock:
            items.extend(text.write_unknown(block, to))
    return items


def format_of(by: str) -> str:
    """The format of this protocol's signatures."""
    family = tables.SIGNING_FAMILY.get(by, by)
    return next((word for word, issuer in tables.FORMATS.items() if issuer == family), "unknown")
