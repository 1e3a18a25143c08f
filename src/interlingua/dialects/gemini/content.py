"""The parts of a content, to blocks and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interlingua.dialects.base import Wire, compaction_as_text
from interlingua.dialects.gemini import calls as _calls
from interlingua.dialects.gemini import media as _media
from interlingua.dialects.gemini import results as _results
from interlingua.dialects.gemini.spelling import SNAKE, Place, Taking, account, dress, mine
from interlingua.dialects.gemini.tables import NAME, PARTS, SIGNATURE
from interlingua.dialects.gemini.turn import Calls, Turn
from interlingua.model.blocks import (
    AudioBlock,
    Block,
    CompactionBlock,
    DocumentBlock,
    ImageBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
    VideoBlock,
)
from interlingua.model.message import Message

_KIND_OF = {key: kind for kind in PARTS for key in (kind, SNAKE[kind])}
_SAID_TEXT = frozenset({"text", "signature", "citations", "phase"})
_SAID_UNCITED = frozenset({"text", "signature", "phase"})

# -- reading --------------------------------------------------------------------------------------


def read_parts(parts: list[Any], place: Place, calls: Calls) -> list[Block]:
    blocks: list[Block] = []
    for index, part in enumerate(parts):
        if type(part) is dict and len(part) == 1 and type(text := part.get("text")) is str:
            blocks.append(TextBlock(text))
        elif (block := _quickly(part, calls)) is not None:
            blocks.append(block)
        else:
            _read_part(part, (place, index), calls, blocks)
    return blocks


def read_part(part: Any, place: Place, calls: Calls) -> list[Block]:
    """One part: several blocks if it is of several kinds."""
    if (block := _quickly(part, calls)) is not None:
        return [block]
    blocks: list[Block] = []
    _read_part(part, place, calls, blocks)
    return blocks


def _quickly(part: Any, calls: Calls) -> Block | None:
    """A call or result in its plain spelling."""
    if type(part) is dict:
        if type(inner := part.get("functionCall")) is dict:
            return _calls.quick_call(inner, part, calls)
        if type(inner := part.get("functionResponse")) is dict and len(part) == 1:
            return _results.quick_result(inner, calls)
    return None


def _read_part(part: Any, place: Place, calls: Calls, blocks: list[Block]) -> None:
    taking = Taking(part, place)
    kinds = {_KIND_OF[key] for key in part if key in _KIND_OF and part[key] is not None}
    if len(kinds) == 1:
        blocks.append(_read_kind(taking, kinds.pop(), calls))
    elif kinds:
        _read_several(taking, [kind for kind in PARTS if kind in kinds], calls, blocks)
    elif all(key in SIGNATURE or key in _KIND_OF for key in part):
        blocks.append(_read_kind(taking, "text", calls))
    else:
        blocks.append(UnknownBlock({NAME: part}))


def _read_kind(part: Taking, kind: str, calls: Calls) -> Block:
    for key in [key for key, value in part.left.items() if value is None and key in _KIND_OF]:
        if _KIND_OF[key] != kind:
            part.take(_KIND_OF[key], dict)
    thought = part.left.get("thought", 0)
    if thought is False:
        part.form["thought"] = part.left.pop("thought")
    elif thought is None:
        part.take("thought", bool)
    return _READERS[kind](part, calls)


def _read_several(part: Taking, kinds: list[str], calls: Calls, blocks: list[Block]) -> None:
    """One part of several kinds: a block for each, which the writer puts together again. What
    concerns the whole part is with the first; only a thought is one by its text."""
    others: list[Block] = []
    for kind in kinds[1:]:
        key = kind if part.left.get(kind) is not None else SNAKE[kind]
        alone = Taking({key: part.left.pop(key)}, part.place)
        if kind == "text" and part.left.get("thought") is True:
            alone.left["thought"] = part.left.pop("thought")
        alone.form["with"] = True
        others.append(_read_kind(alone, kind, calls))
    blocks.append(_read_kind(part, kinds[0], calls))
    blocks += others


def _read_text(part: Taking, calls: Calls) -> Block:
    text = part.take("text", str, due=True) or ""
    signature = part.take("thoughtSignature", str)
    if part.left.get("thought") is True:
        del part.left["thought"]
        return ThinkingBlock(text, signature, raw=part.raw())
    return TextBlock(text, signature, raw=part.raw())


_READERS: dict[str, Callable[[Taking, Calls], Block]] = {
    "text": _read_text,
    "inlineData": lambda part, calls: _media.read_inline(part),
    "fileData": lambda part, calls: _media.read_file(part),
    "functionCall": _calls.read_call,
    "functionResponse": _results.read_result,
    "executableCode": _calls.read_code,
    "codeExecutionResult": _results.read_code_result,
    "toolCall": _calls.read_tool_call,
    "toolResponse": _results.read_tool_response,
}

# -- writing --------------------------------------------------------------------------------------


def write_parts(message: Message, turn: Turn, parts: list[Wire]) -> int:
    """Add a message's parts to those of its content; gives how many blocks were said."""
    said = 0
    for block in message.content:
        part = WRITERS[type(block)](block, turn)
        if part is None:
            turn.placed.append(-1)
            continue
        said += 1
        if block.raw is not None and parts and _is_joined(block, part, parts[-1]):
            parts[-1] = {**parts[-1], **part}
        else:
            parts.append(part)
        turn.placed.append(len(parts) - 1)
    return said


def _is_joined(block: Block, part: Wire, before: Wire) -> bool:
    """Whether a block and the one before it were one part, and still can be."""
    return mine(block.raw)[1].get("with") is True and not before.keys() & part.keys()


def _write_text(block: TextBlock, turn: Turn) -> Wire:
    part: Wire = {"text": block.text}
    if block.signature is not None:
        part["thoughtSignature"] = block.signature
    if block.phase is not None:
        turn.scribe.lost(block, "phase")
    if block.citations and not turn.cites:
        turn.scribe.unsaid(block, _SAID_UNCITED)
    else:
        account(block, _SAID_TEXT, turn.scribe)
    return part if block.raw is None else dress(part, "text", block.raw)


def _write_thinking(block: ThinkingBlock, turn: Turn) -> Wire:
    part: Wire = {"text": block.text, "thought": True}
    if block.signature is not None:
        part["thoughtSignature"] = block.signature
    if block.id is not None:
        turn.scribe.unsaid(block, _SAID_TEXT)
    else:
        account(block, _SAID_TEXT, turn.scribe)
    return dress(part, "text", block.raw)


def _write_refusal(block: RefusalBlock, turn: Turn) -> Wire:
    reason = f"{NAME} has no refusals in a message; said as text"
    turn.scribe.lost(block, None, reason, kind="downgraded")
    account(block, _SAID_TEXT, turn.scribe)
    return {"text": block.text}


def _write_compaction(block: CompactionBlock, turn: Turn) -> Wire | None:
    text = compaction_as_text(block, turn.scribe)
    return None if text is None else _write_text(text, turn)


def _drop_redacted(block: RedactedThinkingBlock, turn: Turn) -> None:
    turn.scribe.dropped(block, f"{NAME} has no encrypted thinking of its own")


WRITERS: dict[type[Block], Callable[[Any, Turn], Wire | None]] = {
    TextBlock: _write_text,
    ThinkingBlock: _write_thinking,
    RedactedThinkingBlock: _drop_redacted,
    RefusalBlock: _write_refusal,
    CompactionBlock: _write_compaction,
    ToolUseBlock: _calls.write_call,
    ToolResultBlock: _results.write_result,
    ImageBlock: _media.write_media,
    AudioBlock: _media.write_media,
    VideoBlock: _media.write_media,
    DocumentBlock: _media.write_media,
    UnknownBlock: _results.write_unknown,
}
