"""Why an answer ended. `stop` says it all but for calls and refusals, which the content tells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from interlingua.dialects.base import Scribe, Wire, ended_unsaid, own_word
from interlingua.dialects.openai_chat.tables import NEAREST_STOP, READ_STOPS, Tables
from interlingua.model.blocks import Block, RefusalBlock, ToolUseBlock
from interlingua.model.message import Message
from interlingua.model.metadata import StopReason


def read_stop(word: Any, content: Sequence[Block]) -> StopReason:
    reason = READ_STOPS.get(word, StopReason.OTHER) if type(word) is str else StopReason.OTHER
    if reason is not StopReason.END_TURN:
        return reason
    for block in content:
        if type(block) is RefusalBlock:
            return StopReason.REFUSAL
        if type(block) is ToolUseBlock and block.executor == "client":
            return StopReason.TOOL_USE
    return reason


def write_stop(message: Message, t: Tables, scribe: Scribe, form: Wire) -> Any:
    """The wire's own word while it still says the reason; else the nearest. `form` is the
    choice's; it names words that stood there although the service does not list them."""
    reason, word = message.metadata.stop_reason, own_word(message.metadata, t.name)
    if reason is None:
        return _write_none(message, t, scribe, form)
    stood = word is not None and (word in t.stops.words or form.get("word") == word)
    if stood and read_stop(word, message.content) is reason:
        return word
    if reason is StopReason.OTHER and ended_unsaid(message.metadata):
        nearest = "length"
    else:
        nearest = t.stops.write(reason) or NEAREST_STOP.get(reason, "stop")
    if read_stop(nearest, message.content) is not reason:
        scribe.lost(message, "metadata.stop_reason", f"sent as {nearest!r}", "approximated")
    return nearest


def _write_none(message: Message, t: Tables, scribe: Scribe, form: Wire) -> str | None:
    """No reason: null, where the wire may have it; what it was at home, the form says."""
    stood = "finish_reason" in form.get("empty", ()) or "finish_reason" in form.get("absent", ())
    if t.null_stop or stood:
        return None if t.null_stop else "stop"
    scribe.lost(message, "metadata.stop_reason", "sent as 'stop'", "approximated")
    return "stop"
