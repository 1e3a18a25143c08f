"""What has to be known of an answer that goes on as it is: what it used, and why it ended.

Reading all of it would cost as much as sending it on. Answers that are not as usual are not read
here, and whoever asked reads them whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from interlingua.dialects.anthropic import tables as anthropic
from interlingua.dialects.anthropic.usage import read_usage as read_anthropic_usage
from interlingua.dialects.kernel.errors import ShapeError
from interlingua.dialects.openai_chat import tables as chat
from interlingua.dialects.openai_chat.usage import read_usage as read_chat_usage
from interlingua.model.metadata import StopReason, Usage


class Glance(NamedTuple):
    usage: Usage
    stop_reason: StopReason


class _Message(msgspec.Struct):
    type: str
    content: list[msgspec.Raw]
    usage: dict[str, Any]
    stop_reason: str


class _Choice(msgspec.Struct):
    message: msgspec.Raw
    finish_reason: str


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    usage: dict[str, Any]
    error: Any = None


_message = msgspec.json.Decoder(_Message).decode
_completion = msgspec.json.Decoder(_Completion).decode


def _of_anthropic(body: bytes) -> Glance | None:
    said = _message(body)
    reason = anthropic.STOP_REASONS.words.get(said.stop_reason)
    if said.type != "message" or reason is None:
        return None
    usage, _ = read_anthropic_usage(said.usage)
    return None if usage is None else Glance(usage, reason)


def _of_chat(body: bytes) -> Glance | None:
    said = _completion(body)
    if len(said.choices) != 1 or said.error is not None:
        return None
    reason = chat.STOP_REASONS.words.get(said.choices[0].finish_reason)
    usage, odd = read_chat_usage(said.usage, chat.ANSWER_TABLES)
    return None if reason is None or odd is not None else Glance(usage, reason)


_WAYS: dict[str, Callable[[bytes], Glance | None]] = {
    "anthropic": _of_anthropic,
    "openai-chat": _of_chat,
}


def glance(dialect: str, body: bytes) -> Glance | None:
    """Of the usual answer of a dialect; None for all others."""
    way = _WAYS.get(dialect)
    if way is None:
        return None
    try:
        return way(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError, ShapeError):
        return None
