"""Chat responses: one message, a finish reason, counts; and error bodies, a text and an id."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.cohere import v1_response as v1
from interlingua.dialects.cohere.messages import read_content, write_message
from interlingua.dialects.cohere.tables import (
    CODES,
    DEFAULT_ID,
    HINTS,
    NAME,
    STOP_REASONS,
    STOP_WORDS,
)
from interlingua.dialects.cohere.usage import read_usage, write_usage
from interlingua.dialects.kernel.errors import (
    ShapeError,
    failed_answer,
    read_whole,
    require,
    require_key,
    unwritten_answer,
)
from interlingua.dialects.kernel.fields import Table, lost, plain
from interlingua.dialects.kernel.preserved import (
    Preserved,
    raw_of,
    restore_raw,
    spelling_in,
    was_absent,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import hinted, own_word
from interlingua.dialects.metadata import report_metadata
from interlingua.model.base import JsonObject
from interlingua.model.blocks import Block
from interlingua.model.exchange import ErrorKind, ProviderError, Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Diagnostic, MessageMetadata
from interlingua.model.reasons import because

ERROR = Table(
    ProviderError,
    plain("message", "message", str),
    plain("error_type", "code", str),
    lost("status", because("status_in_http")),
    silent=("kind",),
)


def kind_of(text: str, code: str | None = None) -> ErrorKind:
    known = CODES.read(code) if code is not None else None
    if known is not None:
        return known
    return hinted(text, HINTS) or ErrorKind.OTHER


def read_error(wire: Wire) -> Response:
    require_key(wire, "message", str)
    preserved = Preserved()
    attrs = ERROR.read(wire, preserved)
    kind = kind_of(attrs["message"], attrs.get("code"))
    return failed_answer(NAME, ProviderError(kind, **attrs, raw=preserved.raw(NAME)))


def write_error(response: Response, error: ProviderError, recorder: LossRecorder) -> Wire:
    out: Wire = {}
    ERROR.write(error, out, raw_of(NAME, error.raw), recorder)
    if kind_of(error.message, error.code) is not error.kind:
        recorder.lost(error, "kind", because("error_by_text"), kind="approximated")
    unwritten_answer(response, recorder)
    restore_raw(out, response, response.raw, recorder)
    return out if error.raw is None else restore_raw(out, error, error.raw, recorder)


_KEYS = frozenset({"id", "message", "finish_reason", "usage"})


# -- reading --------------------------------------------------------------------------------------


def read_response(wire: Wire) -> Response:
    return read_whole(f"{NAME} response", _read, wire)


def _read(wire: Wire) -> Response:
    if type(wire.get("message")) is str:
        return read_error(wire)
    return v1.read(wire) if v1.is_answer(wire) else read_answer(wire)


def read_answer(wire: Wire) -> Response:
    """A response that is not an error."""
    preserved = Preserved()
    found: list[Diagnostic] = []
    id = preserved.take(wire, "id", str)
    fields: Wire = {"protocol": NAME, "response_id": id}
    blocks = _read_message(wire, id or 0, fields, found)
    preserved.mark_any_absent(wire, ("finish_reason",))
    if (word := preserved.scalar(wire, "finish_reason")) is not None:
        fields |= {"raw_stop_reason": word, "stop_reason": STOP_REASONS.read(word)}
    if "usage" in wire:
        fields["usage"] = read_usage(wire["usage"], found)
        if wire["usage"] is None:
            preserved.keep_spelling("usage", None)
    if "logprobs" in wire and (tokens := _read_tokens(wire["logprobs"])):
        fields["logprobs"] = tokens
        wire = {key: item for key, item in wire.items() if key != "logprobs"}
    preserved.add_others(wire, _KEYS)
    if found:
        fields["diagnostics"] = tuple(found)
    message = Message(Role.ASSISTANT, blocks, metadata=MessageMetadata(**fields))
    return Response(message, raw=preserved.raw(NAME))


def _read_message(
    wire: Wire, origin: Any, fields: Wire, found: list[Diagnostic]
) -> tuple[Block, ...]:
    message = wire.get("message")
    if type(message) is not dict:
        raise ShapeError(".message", "a message of v2, or the text of an error", message)
    try:
        blocks, preserved = read_content(message, origin, found, is_answer=True)
        if "role" not in message:
            preserved.mark_absent("role")
        elif require(message["role"], str, ".role") != "assistant":
            raise ShapeError(".role", "assistant", message["role"])
    except ShapeError as error:
        raise error.inside(".message") from None
    fields["provider_raw"] = preserved.raw(NAME)
    return blocks


def _read_tokens(wire: Any) -> tuple[JsonObject, ...]:
    """The tokens, where each piece of text is one; else the pieces stay in `raw`."""
    tokens: list[JsonObject] = []
    entries: list[Any] = wire if type(wire) is list else []
    for each in entries:
        match each:
            case {"text": str(text), "token_ids": [id], "logprobs": [number], **rest} if (
                type(id) is int
                and type(number) in (int, float)
                and rest.keys().isdisjoint(_TOKEN_KEYS)
            ):
                token: JsonObject = {"token": text, "logprob": number, "token_id": id}
                token.update({str(key): item for key, item in rest.items()})
                tokens.append(token)
            case _:
                return ()
    return tuple(tokens)


def _write_tokens(message: Message) -> list[Wire] | None:
    """The pieces of text; None for tokens of others, whose numbers are unknown or mean others."""
    out: list[Wire] = []
    if message.metadata.protocol != NAME:
        return None
    for token in message.metadata.logprobs:
        match token:
            case {"token": text, "logprob": number, "token_id": int(id), **rest} if (
                "top_logprobs" not in rest
            ):
                out.append({"text": text, "token_ids": [id], "logprobs": [number], **rest})
            case _:
                return None
    return out


_TOKEN_KEYS = frozenset({"token", "logprob", "token_id", "top_logprobs"})


# -- writing --------------------------------------------------------------------------------------


def write_response(response: Response, recorder: LossRecorder) -> Wire:
    if response.error is not None:
        return write_error(response, response.error, recorder)
    message, metadata = response.message, response.message.metadata
    own_raw = raw_of(NAME, response.raw)
    if spelling_in(own_raw).get("version") == 1:
        _report(response, recorder)
        return v1.write(response, recorder)
    out: Wire = {}
    if metadata.response_id is not None or not was_absent(own_raw, "id"):
        out["id"] = DEFAULT_ID if metadata.response_id is None else metadata.response_id
    out["message"] = write_message(message, recorder, is_answer=True)
    if was_absent(raw_of(NAME, metadata.provider_raw), "role"):
        del out["message"]["role"]
    if metadata.stop_reason is not None or not was_absent(own_raw, "finish_reason"):
        out["finish_reason"] = STOP_WORDS.of(message, own_word(metadata, NAME), recorder)
    if metadata.usage is not None:
        out["usage"] = write_usage(metadata.usage, recorder)
    if metadata.logprobs and (items := _write_tokens(message)) is not None:
        out["logprobs"] = items
    elif metadata.logprobs:
        recorder.lost(message, "metadata.logprobs", because("logprobs_by_text"))
    _report(response, recorder)
    return out if response.raw is None else restore_raw(out, response, response.raw, recorder)


def _report(response: Response, recorder: LossRecorder) -> None:
    message = response.message
    if message.name is not None:
        recorder.lost(message, "name")
    report_metadata(message, recorder)
    for other in response.alternatives:
        recorder.lost(other, None, because("one_choice"))
