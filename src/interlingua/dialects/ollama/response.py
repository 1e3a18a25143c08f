"""Chat responses: one message, counts and durations. Errors are in `errors.py`."""

from __future__ import annotations

from typing import Any

import msgspec

from interlingua.dialects.kernel.calls import stopped_for_calls
from interlingua.dialects.kernel.errors import ShapeError, below, read_whole
from interlingua.dialects.kernel.fields import QUIET, Table, content, plain
from interlingua.dialects.kernel.kept import Kept, did_without, mine_of, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import own_word
from interlingua.dialects.logprobs import read_tokens, write_tokens
from interlingua.dialects.ollama import tables
from interlingua.dialects.ollama.errors import read_error, write_error
from interlingua.dialects.ollama.messages import ANSWER, read_blocks, write_message
from interlingua.dialects.ollama.tables import NAME
from interlingua.dialects.ollama.usage import USAGE, read_usage, write_usage
from interlingua.model.blocks import Block
from interlingua.model.exchange import Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Diagnostic, MessageMetadata, MessageStatus, StopReason


class Body(msgspec.Struct):
    """The keys of a response that are neither its message nor its counts."""

    model: str | None = None
    done: bool | None = None


BODY = Table(
    Body,
    plain("model", "model", str, fill=lambda _: tables.DEFAULT_MODEL),
    content("created_at", lambda _: tables.DEFAULT_TIME),
    plain("done", "done", bool, missing=True),
    beside=("message", "done_reason", "logprobs", *USAGE.keys),
)


# -- reading --------------------------------------------------------------------------------------


def read_response(wire: Wire) -> Response:
    return read_whole(f"{NAME} response", _read, wire)


def _read(wire: Wire) -> Response:
    if "message" not in wire:
        if "error" in wire:
            return read_error(wire)
        if "done" not in wire:
            raise ShapeError("", "a message or an error", wire)
    return read_answer(wire)


def read_answer(wire: Wire) -> Response:
    """A response that is no error; also one line of a stream."""
    kept = Kept()
    found: list[Diagnostic] = []
    fields: Wire = {"protocol": NAME}
    body = BODY.read(wire, kept)
    fields["response_model"] = body.get("model")
    if body["done"] is False:
        fields["status"] = MessageStatus.PARTIAL
    blocks = _read_message(wire, fields, kept, found)
    if (word := kept.scalar(wire, "done_reason")) is not None:
        fields["raw_stop_reason"], fields["stop_reason"] = word, reason_of(word, blocks)
    fields["usage"] = read_usage(wire, found)
    for key in USAGE.keys:
        if key in wire and wire[key] is None:
            kept.spell(key, None)
    if "logprobs" in wire:
        fields["logprobs"] = read_tokens(wire["logprobs"])
        if not fields["logprobs"]:
            kept.add("logprobs", wire["logprobs"])
    if found:
        fields["diagnostics"] = tuple(found)
    message = Message(Role.ASSISTANT, blocks, metadata=MessageMetadata(**fields))
    return Response(message, raw=kept.raw(NAME))


def _read_message(
    wire: Wire, fields: Wire, kept: Kept, found: list[Diagnostic]
) -> tuple[Block, ...]:
    given = kept.take(wire, "message", dict)
    if given is None:
        return ()
    inner, time = Kept(), wire.get("created_at")
    attrs, place = below(".message", ANSWER.read, given, inner), time if type(time) is str else 0
    blocks = below(".message", read_blocks, attrs, place, found, True)
    fields["provider_raw"] = inner.raw(NAME)
    return tuple(blocks)


def reason_of(word: Any, content: tuple[Block, ...]) -> StopReason | None:
    return stopped_for_calls(tables.STOP_REASONS.read(word), content)


# -- writing --------------------------------------------------------------------------------------


def write_response(response: Response, recorder: LossRecorder) -> Wire:
    if response.error is not None:
        return write_error(response, response.error, recorder)
    message, metadata = response.message, response.message.metadata
    mine = mine_of(NAME, response.raw)
    out: Wire = {}
    if message.content or not did_without(mine, "message"):
        out["message"] = write_message(message, recorder, is_answer=True)
    if message.name is not None:
        recorder.lost(message, "name")
    _write_reason(out, message, recorder)
    if metadata.usage is not None:
        write_usage(metadata.usage, out, recorder)
    if metadata.logprobs:
        out["logprobs"] = write_tokens(metadata, NAME)
    for other in response.alternatives:
        recorder.lost(other, None, "there is one answer only")
    body = Body(metadata.response_model, metadata.status is not MessageStatus.PARTIAL)
    BODY.write(body, out, mine, QUIET)
    return out if response.raw is None else put_back(out, response, response.raw, recorder)


def _write_reason(out: Wire, message: Message, recorder: LossRecorder) -> None:
    if message.metadata.stop_reason is None:
        return
    calls = (out.get("message") or {}).get("tool_calls")
    content, own = message.content if calls else (), own_word(message.metadata, NAME)
    words = tables.STOP_WORDS
    out["done_reason"] = words.of(message, own, recorder, lambda word: reason_of(word, content))
