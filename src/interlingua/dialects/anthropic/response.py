"""Responses: wire to canonical and back. Counts are in `usage.py`, errors in `errors.py`."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.anthropic import messages as messages  # which knows all parts
from interlingua.dialects.anthropic import tables
from interlingua.dialects.anthropic.calls import tell_repaired
from interlingua.dialects.anthropic.errors import is_error, read_error, write_error
from interlingua.dialects.anthropic.tables import NAME
from interlingua.dialects.anthropic.text import ANSWER, read_parts, write_parts
from interlingua.dialects.anthropic.usage import read_usage, write_usage
from interlingua.dialects.kernel.claude import own_stop_word
from interlingua.dialects.kernel.errors import ShapeError, below, maybe, read_whole, scalar
from interlingua.dialects.kernel.kept import Kept, form_in, mine_of, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.base import Raw
from interlingua.model.exchange import Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, MessageStatus

_ASSISTANT = Role.ASSISTANT
_FIELDS = frozenset({"id", "model", "content", "stop_reason", "usage"})
_CONSTANT: Wire = {"type": "message", "role": "assistant", "stop_sequence": None}
_WRITTEN = sorted({*_FIELDS, *_CONSTANT} - {"content"})
"""What the writer writes by itself, beside the content."""


# -- reading --------------------------------------------------------------------------------------


def read_response(wire: Any) -> Response:
    return read_whole(_WHAT, _read, wire)


def _read(wire: Wire) -> Response:
    content = wire.get("content")
    if (content is None or wire.get("type") == "error") and is_error(wire):
        return read_error(wire)
    if type(content) is not list:
        raise ShapeError(".content", "a list", content)
    blocks = below(".content", read_parts, content, ANSWER)
    usage, diagnostics = read_usage(wire.get("usage"))
    word = scalar(wire, "stop_reason")
    metadata = MessageMetadata(
        protocol=NAME,
        response_model=maybe(wire, "model", str),
        response_id=maybe(wire, "id", str),
        usage=usage,
        stop_reason=tables.STOP_REASONS.read(word) if word is not None else None,
        raw_stop_reason=word,
        diagnostics=diagnostics,
    )
    raw = None if len(wire) == _COUNT and _is_plain(wire) else _rest(wire)
    return Response(Message(_ASSISTANT, blocks, metadata=metadata), raw=raw)


_WHAT = f"{NAME} response"
_COUNT = len(_FIELDS) + len(_CONSTANT)


def _is_plain(wire: Wire) -> bool:
    """Whether all is where the writer puts it, in an object of as many keys as it writes."""
    return (
        wire.get("type") == "message"
        and wire.get("role") == "assistant"
        and wire.get("stop_sequence", "") is None
        and None not in (wire.get("id"), wire.get("model"), wire.get("usage"))
        and "stop_reason" in wire
    )


def _rest(wire: Wire) -> Raw | None:
    """What is beyond the fields."""
    kept = Kept()
    for key, value in wire.items():
        if key in _FIELDS:
            if value is None and key != "stop_reason":
                kept.spell(key, None)
        elif key not in _CONSTANT or _CONSTANT[key] != value:
            kept.add(key, value)
    kept.miss_any(wire, _WRITTEN)
    return kept.raw(NAME)


# -- writing --------------------------------------------------------------------------------------


def write_response(response: Response, recorder: LossRecorder) -> Wire:
    for other in response.alternatives:
        recorder.lost(other, None, "one answer only")
    if response.error is not None:
        return write_error(response, response.error, recorder)
    message = response.message
    metadata = message.metadata
    out: Wire = {
        "id": tables.DEFAULT_ID if metadata.response_id is None else metadata.response_id,
        "type": "message",
        "role": "assistant",
        "model": _model(metadata),
        "content": write_parts(message.content, ANSWER, recorder),
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }
    if metadata.stop_reason is not None:
        own = own_stop_word(metadata, NAME, tables.STOP_REASONS.words)
        out["stop_reason"] = tables.STOP_WORDS.of(message, own, recorder)
    if metadata.usage is not None:
        out["usage"] = write_usage(metadata.usage, recorder)
    if metadata.logprobs:
        recorder.lost(message, "metadata.logprobs", severity="info")
    if message.name is not None:
        recorder.lost(message, "name")
    if metadata.status is not MessageStatus.COMPLETE:
        recorder.lost(message, "metadata.status", severity="info")
    tell_repaired(message, recorder)
    if response.raw is not None:
        _leave_out(out, metadata, mine_of(NAME, response.raw))
        put_back(out, response, response.raw, recorder)
    return put_back(out, message, metadata.provider_raw, recorder, "metadata.provider_raw")


def _model(metadata: MessageMetadata) -> str:
    if metadata.response_model is not None:
        return metadata.response_model
    return tables.DEFAULT_MODEL if metadata.model is None else metadata.model


def _leave_out(out: Wire, metadata: MessageMetadata, mine: Wire) -> None:
    """What the wire did without, or had otherwise than we say it, unless a field says it now."""
    form = form_in(mine)
    said: Wire = {
        "id": metadata.response_id,
        "model": metadata.response_model,
        "stop_reason": metadata.stop_reason,
        "usage": metadata.usage,
    }
    for key in (*form.get("absent", ()), *form.get("spelled", ()), *(_CONSTANT.keys() & mine)):
        if said.get(key) is None:
            out.pop(key, None)
