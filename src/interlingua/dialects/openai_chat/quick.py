"""The usual turn of an agent, written without looking at what it does not have."""

from __future__ import annotations

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.openai_chat.calls import write_plain_call
from interlingua.dialects.openai_chat.tables import Tables
from interlingua.dialects.openai_chat.thinking import usual_places, write_thinking
from interlingua.dialects.openai_chat.turns import Turn
from interlingua.model.blocks import Block, TextBlock, ThinkingBlock, ToolUseBlock
from interlingua.model.message import Message


def write_assistant(message: Message, t: Tables, scribe: Scribe) -> Wire:
    plain = _write_plainly(message, t, scribe)
    return Turn(message, t, scribe).write() if plain is None else plain


def _write_plainly(message: Message, t: Tables, scribe: Scribe) -> Wire | None:
    """The usual turn of an agent: one text, then calls, in a response after thinking; None for all
    others."""
    if message.metadata.provider_raw is not None or message.name is not None:
        return None
    if t.host.ids is not None or t.host.replay == "calls":
        return None
    text: str | None = None
    thoughts: list[Block] = []
    calls: list[Wire] = []
    for block in message.content:
        if block.raw is not None or block.cache is not None:
            return None
        if isinstance(block, ToolUseBlock):
            if block.executor != "client" or block.call_type or block.signature:
                return None
            calls.append(write_plain_call(block))
        elif calls or text is not None:
            return None
        elif isinstance(block, TextBlock):
            if block.citations or block.signature or not block.text:
                return None
            text = block.text
        elif isinstance(block, ThinkingBlock) and t.answer:
            thoughts.append(block)
        else:
            return None
    if not calls and text is None:
        return None
    wire: Wire = {"role": "assistant", "content": text}
    if thoughts:
        by = message.metadata.protocol or t.name
        write_thinking(wire, thoughts, usual_places(thoughts, t, bool(calls)), t, scribe, by)
    if calls:
        wire["tool_calls"] = calls
    return wire
