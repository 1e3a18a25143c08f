"""Responses: wire to canonical and back. Counts are in `usage.py`, errors in `failure.py`."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.anthropic.content import read_parts, write_parts
from interlingua.dialects.anthropic.failure import is_failure, read_failure, write_failure
from interlingua.dialects.anthropic.kept import form_of, is_foreign, is_odd, mine_of, pack
from interlingua.dialects.anthropic.parts import ANSWER
from interlingua.dialects.anthropic.tables import (
    DEFAULT_ID,
    DEFAULT_MODEL,
    NAME,
    NEAR_STOP_REASONS,
    STOP_REASONS,
)
from interlingua.dialects.anthropic.usage import read_usage, write_usage
from interlingua.dialects.base import Scribe, Wire, ended_unsaid, own_word
from interlingua.dialects.shape import ShapeError, respell, tell_recovered
from interlingua.model.blocks import ToolUseBlock
from interlingua.model.exchange import Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, MessageStatus, StopReason

_ASSISTANT = Role.ASSISTANT
_KNOWN = frozenset({"id", "model", "content", "stop_reason", "usage"})
_WRITTEN = ("id", "type", "role", "model", "stop_reason", "stop_sequence", "usage")
"""What the writer writes by itself, beside the content."""


def read_response(wire: Any) -> Response:
    try:
        if type(wire) is not dict:
            raise ShapeError("", "an object", wire)
        if ("content" not in wire or wire.get("type") == "error") and is_failure(wire):
            return read_failure(wire)
        content = wire.get("content")
        if type(content) is not list:
            raise ShapeError(".content", "a list", content)
        try:
            blocks = read_parts(content, ANSWER)
        except ShapeError as odd:
            raise odd.inside(".content") from None
        usage, diagnostics = read_usage(wire.get("usage"))
        id, model, word = wire.get("id"), wire.get("model"), wire.get("stop_reason")
        if id is not None and type(id) is not str:
            raise ShapeError(".id", "a string", id)
        if model is not None and type(model) is not str:
            raise ShapeError(".model", "a string", model)
        if type(word) is dict or type(word) is list:
            raise ShapeError(".stop_reason", "a string", word)
        metadata = MessageMetadata(
            protocol=NAME,
            response_model=model,
            response_id=id,
            usage=usage,
            stop_reason=STOP_REASONS.read(word) if word is not None else None,
            raw_stop_reason=word,
            diagnostics=diagnostics,
        )
        whole = not (id is None or model is None or usage is None or type(word) is not str)
        raw = None if whole and len(wire) == len(_PLAIN) and _is_plain(wire, word) else _rest(wire)
        return Response(Message(_ASSISTANT, blocks, metadata=metadata), raw=raw)
    except ShapeError as odd:
        raise odd.error(f"{NAME} response") from None


_AS_WRITTEN: Wire = {"type": "message", "role": "assistant", "stop_sequence": None}


_PLAIN = frozenset({*_KNOWN, *_AS_WRITTEN})


def _is_plain(wire: Wire, word: Any) -> bool:
    """Whether all is where the writer puts it, in an object of as many keys as it writes, of which
    the others have been read."""
    return (
        word in STOP_REASONS.words
        and wire.get("type") == "message"
        and wire.get("role") == "assistant"
        and wire.get("stop_sequence", "") is None
    )


def _rest(wire: Wire) -> dict[str, Any] | None:
    """What is beyond the fields."""
    rest: Wire = {}
    form: Wire = {}
    spelled: Wire = {}
    for key, value in wire.items():
        if value is None:
            if key != "stop_sequence" and key != "stop_reason":
                spelled[key] = None
        elif key == "$form":
            form["$form"] = value
        elif key == "stop_reason":
            if type(value) is not str or value not in STOP_REASONS.words:
                form["odd"] = True
        elif key not in _KNOWN and _AS_WRITTEN.get(key) != value:
            rest[key] = value
    without = [key for key in _WRITTEN if key not in wire]
    if without:
        form["without"] = without
    return pack(rest, spelled, form) if rest or spelled or form else None


def write_response(response: Response, scribe: Scribe) -> Wire:
    for other in response.alternatives:
        scribe.lost(other, None, "one answer only")
    if response.error is not None:
        return write_failure(response, response.error, scribe)
    message = response.message
    metadata = message.metadata
    out: Wire = {
        "id": DEFAULT_ID if metadata.response_id is None else metadata.response_id,
        "type": "message",
        "role": "assistant",
        "model": _model(metadata),
        "content": write_parts(message.content, ANSWER, scribe),
        "stop_reason": _stop_word(message, is_odd(response.raw), scribe),
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }
    if metadata.usage is not None:
        out["usage"] = write_usage(metadata.usage, scribe)
    if metadata.logprobs:
        scribe.lost(message, "metadata.logprobs", severity="info")
    _report(message, scribe)
    if response.raw is not None or metadata.provider_raw is not None:
        _put_rest(out, response, scribe)
    return out


def _model(metadata: MessageMetadata) -> str:
    if metadata.response_model is not None:
        return metadata.response_model
    return DEFAULT_MODEL if metadata.model is None else metadata.model


def _stop_word(message: Message, odd: bool, scribe: Scribe) -> Any:
    metadata = message.metadata
    reason, word = metadata.stop_reason, own_word(metadata, NAME, "bedrock")
    if reason is None:
        return None
    if type(word) is str and word in STOP_REASONS.words:
        if STOP_REASONS.words[word] is reason:
            return word
    elif reason is StopReason.OTHER and word is not None and odd:
        return word
    written = STOP_REASONS.write(reason)
    if written is None:
        written = NEAR_STOP_REASONS.get(reason, "end_turn")
        if reason is StopReason.OTHER and ended_unsaid(metadata):
            written = "max_tokens"
        scribe.lost(message, "metadata.stop_reason", f"said as {written}", kind="approximated")
    return written


def _put_rest(out: Wire, response: Response, scribe: Scribe) -> None:
    metadata = response.message.metadata
    form = form_of(response.raw)
    said = {"id": metadata.response_id, "model": metadata.response_model}
    said.update(stop_reason=metadata.stop_reason, usage=metadata.usage)  # type: ignore[arg-type]  # is it None?
    for key in (*form.get("without", ()), *form.get("spelled", ())):
        if said.get(key) is None:
            out.pop(key, None)
    for raw in (response.raw, metadata.provider_raw):
        for key, item in mine_of(raw).items():
            if key != "$form" and key not in _KNOWN:
                out[key] = item
    respell(out, form)
    if response.raw is not None and is_foreign(response.raw):
        scribe.unsaid_raw(response, response.raw)
    if metadata.provider_raw is not None and is_foreign(metadata.provider_raw):
        scribe.unsaid_raw(response.message, metadata.provider_raw, "metadata.provider_raw")


def _report(message: Message, scribe: Scribe) -> None:
    metadata = message.metadata
    if message.name is not None:
        scribe.lost(message, "name")
    if metadata.status is not MessageStatus.COMPLETE:
        scribe.lost(message, "metadata.status", severity="info")
    if metadata.diagnostics:
        for block in message.content:
            if type(block) is ToolUseBlock and block.input:
                tell_recovered(block, scribe)
