"""The items that rollouts are mostly made of, read without looking around.

What is given here is what the dialect's own reader gives, in a fraction of the time; for what is
not as plain as this, None, and that reader is asked.
"""

from __future__ import annotations

from typing import Any

import msgspec

from interlingua.dialects.kernel.words import ERROR_MARK
from interlingua.dialects.openai_responses.messages import MADE
from interlingua.dialects.openai_responses.tables import NAME
from interlingua.model.blocks import Block, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata

Item = dict[str, Any]
_ROLES = {"user": Role.USER, "developer": Role.DEVELOPER}
_MESSAGE = frozenset({"type", "role", "content", "id", "status", "phase"})
_RESULT = frozenset({"type", "call_id", "output", "id", "status"})
_CALL = frozenset({"type", "call_id", "name", "arguments", "id", "status"})
_REASONING = frozenset({"type", "id", "summary", "content", "encrypted_content", "status"})
_DECODE = msgspec.json.Decoder(dict[str, Any]).decode
_ENCODE = msgspec.json.Encoder().encode
_LONGEST = 2000
"""Arguments of more characters may be nested deeply, and are left to the other reader."""
_ABSENT: Item = {"absent": ["annotations"]}
_NO_PROBABILITIES: Item = {"spelled": {"logprobs": []}}


def turn(item: Item) -> Message | None:
    """What a person or the client says: one text, or several."""
    role = _ROLES.get(str(item.get("role")))
    parts = item.get("content")
    if role is None or type(parts) is not list or item.get("type") != "message":
        return None
    texts = [_text(part) for part in parts]
    if not texts or not all(texts):
        return None
    rest = _rest(item, _MESSAGE)
    if rest is None:
        return None
    form: Item = {"content": "list"} if len(texts) == 1 else {}
    form["item"] = {key: item[key] for key in ("type", "id", "status", "phase") if key in item}
    rest["$form"] = form
    blocks = tuple([TextBlock(text) for text in texts])  # type: ignore[arg-type]  # all are texts
    return Message(role, blocks, metadata=MessageMetadata(provider_raw={NAME: rest}))


def _text(part: Any) -> str | None:
    if type(part) is not dict or len(part) != 2 or part.get("type") != "input_text":
        return None
    text = part.get("text")
    return text if type(text) is str else None


def result(item: Item) -> Message | None:
    """The result of a function, as a text."""
    id, output = item.get("call_id"), item.get("output")
    if type(output) is not str or not output or type(id) is not str or not id:
        return None
    if "name" in item or "execution" in item or output.startswith(ERROR_MARK):
        return None
    rest = _rest(item, _RESULT)
    if rest is None:
        return None
    spelled = {key: item[key] for key in ("id", "status") if key in item}
    if None in spelled.values():
        return None
    if spelled:
        rest["$form"] = {"item": spelled}
    raw = {NAME: rest} if rest else None
    return Message.of_result(ToolResultBlock(id, (TextBlock(output),), raw=raw))


def answer(items: list[Item]) -> Message | None:
    """A run of what a model made: thoughts, texts and calls of functions."""
    blocks: list[Block] = []
    for item in items:
        read = _MADE.get(item.get("type"))  # type: ignore[arg-type]  # anything is looked up
        made = read(item) if read is not None else None
        if made is None or (blocks and type(blocks[-1]) is type(made) is not ToolUseBlock):
            return None
        blocks.append(made)
    return Message(Role.ASSISTANT, tuple(blocks), metadata=MADE)


def _said(item: Item) -> Block | None:
    parts = item.get("content")
    if item.get("role") != "assistant" or type(parts) is not list or len(parts) != 1:
        return None
    part = parts[0]
    text = part.get("text") if type(part) is dict and part.get("type") == "output_text" else None
    rest = _rest(item, _MESSAGE)
    if type(text) is not str or rest is None:
        return None
    form = _form(part)
    phase = item.get("phase")
    if form is None or (phase is not None and type(phase) is not str):
        return None
    spelled = {key: item[key] for key in ("type", "id", "status") if key in item}
    if None in spelled.values() or ("phase" in item and phase is None):
        return None
    mine: Item = {"$item": rest} if rest else {}
    mine["$form"] = {**form, "item": spelled}
    return TextBlock(text, raw={NAME: mine}, phase=phase)


def _form(part: Item) -> Item | None:
    """How a text of the model was spelled beside what it says; None for what is seldom."""
    if "annotations" not in part:
        return _ABSENT if len(part) == 2 else None
    if part["annotations"] != []:
        return None
    if len(part) == 3:
        return {}
    return _NO_PROBABILITIES if len(part) == 4 and part.get("logprobs") == [] else None


def _call(item: Item) -> Block | None:
    id, name, text = item.get("call_id"), item.get("name"), item.get("arguments")
    if type(id) is not str or not id or type(name) is not str or type(text) is not str:
        return None
    rest = _rest(item, _CALL)
    if rest is None or "execution" in item or not text or len(text) > _LONGEST:
        return None
    try:
        given = _DECODE(text)
        written = None if _ENCODE(given).decode() == text else text
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    spelled = {key: item[key] for key in ("id", "status") if key in item}
    if spelled:
        rest["$form"] = {"item": spelled}
    return ToolUseBlock(id, name, given, written, raw={NAME: rest} if rest else None)


def _thought(item: Item) -> Block | None:
    """Reasoning with one part of a summary, or none."""
    id, parts, sealed = item.get("id"), item.get("summary"), item.get("encrypted_content")
    if type(id) is not str or type(sealed) is not str or type(parts) is not list:
        return None
    text = _summary(parts)
    rest = _rest(item, _REASONING)
    if text is None or rest is None or "status" in item or item.get("content") is not None:
        return None
    form: Item = {"item": {"content": None}} if "content" in item else {}
    mine: Item = {"$item": rest} if rest else {}
    if form or rest:
        mine["$form"] = form or {"item": {}}
    return ThinkingBlock(text, sealed, id, raw={NAME: mine} if mine else None)


def _summary(parts: list[Any]) -> str | None:
    if not parts:
        return ""
    part = parts[0]
    if len(parts) > 1 or type(part) is not dict or len(part) != 2:
        return None
    text = part.get("text") if part.get("type") == "summary_text" else None
    return text if type(text) is str and text else None


def _rest(item: Item, known: frozenset[str]) -> Item | None:
    """Keys that no field holds; None where one of them says nothing, which is spelling."""
    rest = {key: value for key, value in item.items() if key not in known}
    return rest if all(rest.values()) else None


_MADE = {"message": _said, "function_call": _call, "reasoning": _thought}
