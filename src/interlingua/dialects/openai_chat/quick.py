"""The usual turn of an agent, written without looking at what it does not have."""

from __future__ import annotations

from interlingua.dialects.base import Scribe, Wire, own_word
from interlingua.dialects.openai_chat.calls import write_plain_call
from interlingua.dialects.openai_chat.shape import NOTHING
from interlingua.dialects.openai_chat.stops import write_stop
from interlingua.dialects.openai_chat.tables import Tables
from interlingua.dialects.openai_chat.thinking import usual_places, write_thinking
from interlingua.dialects.openai_chat.turns import Turn
from interlingua.model.blocks import TextBlock, ThinkingBlock, ToolUseBlock
from interlingua.model.message import Message
from interlingua.model.metadata import MessageStatus, StopReason

_COMPLETE, _END_TURN, _TOOL_USE = (
    MessageStatus.COMPLETE,
    StopReason.END_TURN,
    StopReason.TOOL_USE,
)


def write_assistant(message: Message, t: Tables, scribe: Scribe) -> Wire:
    plain = _write_plainly(message, t, scribe)
    return Turn(message, t, scribe).write() if plain is None else plain


def write_plain_choice(message: Message, t: Tables, scribe: Scribe) -> Wire | None:
    """The only choice of a response, if there is nothing special about it; else None."""
    metadata = message.metadata
    reason = metadata.stop_reason
    if (
        metadata.logprobs
        or metadata.status is not _COMPLETE
        or own_word(metadata, t.name) in t.stops.words
    ):
        return None
    said = _write_plainly(message, t, scribe)
    if said is None:
        return None
    if reason is _END_TURN and "tool_calls" not in said:
        word = "stop"
    elif reason is _TOOL_USE and "tool_calls" in said:
        word = "tool_calls"
    else:
        word = write_stop(message, t, scribe, NOTHING)
    return {"index": 0, "message": said, "finish_reason": word}


def _write_plainly(message: Message, t: Tables, scribe: Scribe) -> Wire | None:
    """The usual turn of an agent: one text, then calls, in a response after thinking; None for all
    others."""
    if message.metadata.provider_raw is not None or message.name is not None:
        return None
    if message.changes is not None:
        return None
    if t.host.ids is not None or t.host.replay == "calls":
        return None
    text: str | None = None
    thoughts: list[ThinkingBlock] = []
    calls: list[Wire] = []
    for block in message.content:
        if block.raw is not None or block.cache is not None:
            return None
        kind = type(block)
        if kind is ToolUseBlock:
            if block.executor != "client" or block.call_type or block.signature:  # type: ignore[union-attr]  # by its kind
                return None
            calls.append(write_plain_call(block))  # type: ignore[arg-type]  # by its kind
        elif calls or text is not None:
            return None
        elif kind is TextBlock:
            if block.citations or block.signature or block.phase or not block.text:  # type: ignore[union-attr]  # by its kind
                return None
            text = block.text  # type: ignore[union-attr]  # by its kind
        elif kind is ThinkingBlock and t.answer:
            thoughts.append(block)  # type: ignore[arg-type]  # by its kind
        else:
            return None
    if not calls and text is None:
        return None
    wire: Wire = {"role": "assistant", "content": text}
    if thoughts:
        first, keys = thoughts[0], t.plain_thinking
        is_text = first.text and first.signature is None and first.id is None
        if is_text and len(thoughts) == 1 and len(keys) == 1:
            wire[keys[0]] = first.text
        else:
            by = message.metadata.protocol or t.name
            places = usual_places(thoughts, t, bool(calls), own=True)
            write_thinking(wire, thoughts, places, t, scribe, by)
    if calls:
        wire["tool_calls"] = calls
    return wire
