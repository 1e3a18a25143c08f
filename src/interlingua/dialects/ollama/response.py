"""Chat responses: one message, counts and durations; and error bodies, classified by their text."""

from __future__ import annotations

from typing import Any

import msgspec

from interlingua.dialects.kernel.calls import stopped_for_calls
from interlingua.dialects.kernel.errors import (
    ShapeError,
    at_path,
    failed_answer,
    read_whole,
    require,
    unwritten_answer,
)
from interlingua.dialects.kernel.fields import QUIET, Field, Reading, Table, content, lost, plain
from interlingua.dialects.kernel.preserved import Preserved, raw_of, restore_raw, was_absent
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.usage import CONTRADICTS, counted
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import hinted, own_word
from interlingua.dialects.metadata import read_tokens, report_metadata, write_tokens
from interlingua.dialects.ollama import tables
from interlingua.dialects.ollama.messages import ANSWER, read_blocks, write_message
from interlingua.dialects.ollama.tables import HINTS, NAME, STATUSES
from interlingua.model.blocks import Block
from interlingua.model.exchange import ErrorKind, ProviderError, Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Diagnostic, MessageMetadata, MessageStatus, StopReason, Usage
from interlingua.model.reasons import because

PROMPT, OUTPUT = "prompt_eval_count", "eval_count"


def _write_prompt(usage: Any, recorder: LossRecorder) -> int | None:
    fresh, cached = usage.input_tokens, usage.cached_input_tokens
    prompt = (fresh or 0) + (cached or 0) + (usage.cache_creation_input_tokens or 0)
    for name in ("cached_input_tokens", "cache_creation_input_tokens"):
        if getattr(usage, name) is not None:
            recorder.lost(usage, name)
    if fresh is not None and fresh != prompt:
        reason = because("cached_included")
        recorder.lost(usage, "input_tokens", reason, kind="approximated")
    return None if fresh is None else prompt


USAGE = Table(
    Usage,
    Field(
        PROMPT,
        ("input_tokens", "cached_input_tokens", "cache_creation_input_tokens"),
        lambda value: {"input_tokens": max(require(value, int), 0)},
        _write_prompt,
    ),
    counted(OUTPUT, "output_tokens"),
)


def read_usage(wire: Wire, found: list[Diagnostic]) -> Usage | None:
    """The counts of an answer, if there are any. A negative one is unknown, and keeps its
    spelling."""
    prompt, output = wire.get(PROMPT), wire.get(OUTPUT)
    if type(prompt) is int and type(output) is int and prompt >= 0 and output >= 0:
        return Usage(prompt, output)  # what there nearly always is
    counts = {key: wire[key] for key in (PROMPT, OUTPUT) if wire.get(key) is not None}
    if not counts:
        return None
    preserved = Preserved()
    attrs = USAGE.read(counts, preserved)
    if preserved.spelling:
        found.append(CONTRADICTS)
    return Usage(**attrs, raw=preserved.raw(NAME))


def write_usage(usage: Usage, out: Wire, recorder: LossRecorder) -> None:
    USAGE.write(usage, out, raw_of(NAME, usage.raw), recorder)
    restore_raw(out, usage, usage.raw, recorder)


def _read_text(value: Any) -> Reading:
    if type(value) is dict and type(value.get("message")) is str:  # a proxy's, as others spell it
        return {"message": value["message"]}
    return {"message": require(value, str)}


def _write_status(error: Any, recorder: LossRecorder) -> None:
    recorder.lost(error, "status", because("status_in_http"))


ERROR = Table(
    ProviderError,
    Field("error", ("message",), _read_text, lambda error, _: error.message),
    # Only some hosts put it into the body.
    Field("status", ("status",), lambda value: {"status": require(value, int)}, _write_status),
    lost("code", severity="info"),
    silent=("kind",),
)


def kind_of(text: str, status: int | None) -> ErrorKind:
    return hinted(text, HINTS) or STATUSES.get(status or 0, ErrorKind.OTHER)


def read_error(wire: Wire) -> Response:
    return failed_answer(NAME, error_of(wire))


def error_of(wire: Wire) -> ProviderError:
    preserved = Preserved()
    attrs = ERROR.read(wire, preserved)
    if "message" not in attrs:
        require(None, str, ".error")
    kind = kind_of(attrs["message"], attrs.get("status"))
    return ProviderError(kind, **attrs, raw=preserved.raw(NAME))


def write_error(response: Response, error: ProviderError, recorder: LossRecorder) -> Wire:
    out = ERROR.write_value(error, recorder)
    if kind_of(error.message, out.get("status")) is not error.kind:
        recorder.lost(error, "kind", because("error_by_text"), kind="approximated")
    unwritten_answer(response, recorder)
    return restore_raw(out, response, response.raw, recorder)


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
    """A response that is not an error; also one line of a stream."""
    preserved = Preserved()
    found: list[Diagnostic] = []
    fields: Wire = {"protocol": NAME}
    body = BODY.read(wire, preserved)
    fields["response_model"] = body.get("model")
    if body["done"] is False:
        fields["status"] = MessageStatus.PARTIAL
    blocks = _read_message(wire, fields, preserved, found)
    if (word := preserved.scalar(wire, "done_reason")) is not None:
        fields["raw_stop_reason"], fields["stop_reason"] = word, reason_of(word, blocks)
    fields["usage"] = read_usage(wire, found)
    for key in USAGE.keys:
        if key in wire and wire[key] is None:
            preserved.keep_spelling(key, None)
    if "logprobs" in wire:
        fields["logprobs"] = read_tokens(wire["logprobs"])
        if not fields["logprobs"]:
            preserved.add("logprobs", wire["logprobs"])
    if found:
        fields["diagnostics"] = tuple(found)
    message = Message(Role.ASSISTANT, blocks, metadata=MessageMetadata(**fields))
    return Response(message, raw=preserved.raw(NAME))


def _read_message(
    wire: Wire, fields: Wire, preserved: Preserved, found: list[Diagnostic]
) -> tuple[Block, ...]:
    message = preserved.take(wire, "message", dict)
    if message is None:
        return ()
    inner, time = Preserved(), wire.get("created_at")
    attrs, origin = (
        at_path(".message", ANSWER.read, message, inner),
        time if type(time) is str else 0,
    )
    blocks = at_path(".message", read_blocks, attrs, origin, found, True)
    fields["provider_raw"] = inner.raw(NAME)
    return tuple(blocks)


def reason_of(word: Any, content: tuple[Block, ...]) -> StopReason | None:
    return stopped_for_calls(tables.STOP_REASONS.read(word), content)


# -- writing --------------------------------------------------------------------------------------


def write_response(response: Response, recorder: LossRecorder) -> Wire:
    if response.error is not None:
        return write_error(response, response.error, recorder)
    message, metadata = response.message, response.message.metadata
    own_raw = raw_of(NAME, response.raw)
    out: Wire = {}
    if message.content or not was_absent(own_raw, "message"):
        out["message"] = write_message(message, recorder, is_answer=True)
    if message.name is not None:
        recorder.lost(message, "name")
    _write_reason(out, message, recorder)
    if metadata.usage is not None:
        write_usage(metadata.usage, out, recorder)
    report_metadata(message, recorder)
    if metadata.logprobs:
        out["logprobs"] = write_tokens(message, recorder)
    for other in response.alternatives:
        recorder.lost(other, None, because("one_choice"))
    body = Body(metadata.response_model, metadata.status is not MessageStatus.PARTIAL)
    BODY.write(body, out, own_raw, QUIET)
    return out if response.raw is None else restore_raw(out, response, response.raw, recorder)


def _write_reason(out: Wire, message: Message, recorder: LossRecorder) -> None:
    if message.metadata.stop_reason is None:
        return
    calls = (out.get("message") or {}).get("tool_calls")
    content, own = message.content if calls else (), own_word(message.metadata, NAME)
    words = tables.STOP_WORDS
    out["done_reason"] = words.of(message, own, recorder, lambda word: reason_of(word, content))
