"""Answers: candidates, the first of which is the message, the others alternatives; and tokens."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.gemini.calls import Calls
from interlingua.dialects.gemini.citations import read_citations, write_citations
from interlingua.dialects.gemini.errors import read_failure, write_failure
from interlingua.dialects.gemini.messages import (
    finish_content,
    read_parts,
    take_content,
    tell_message,
    write_parts,
)
from interlingua.dialects.gemini.tables import MODEL, NAME, STOP_REASONS, STOP_WORDS
from interlingua.dialects.gemini.text import Turn
from interlingua.dialects.google import Counts
from interlingua.dialects.kernel.calls import stopped_for_calls
from interlingua.dialects.kernel.errors import below, each, read_whole, want
from interlingua.dialects.kernel.fields import Attrs, Table, plain
from interlingua.dialects.kernel.kept import (
    FORM,
    Kept,
    did_without,
    form_of,
    mine_inside,
    mine_of,
    put_back,
    restore,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import own_word, snake_case
from interlingua.model.blocks import Block
from interlingua.model.exchange import Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Diagnostic, MessageMetadata, StopReason, Usage

_METADATA = ("groundingMetadata", "citationMetadata")
BODY = Table(
    None,
    plain("modelVersion", "response_model", str),
    plain("responseId", "response_id", str),
    beside=("candidates", "usageMetadata"),
    also_named=snake_case,
)
"""What a response says of its first answer, beside the candidates."""
CANDIDATE = Table(
    None, beside=("index", "content", "finishReason", *_METADATA), also_named=snake_case
)

# -- tokens: the sums are those of both of Google's APIs (`dialects/google.py`) -------------------

COUNTS = Counts(
    prompt="promptTokenCount",
    cached="cachedContentTokenCount",
    said="candidatesTokenCount",
    thought="thoughtsTokenCount",
    total="totalTokenCount",
    tools="toolUsePromptTokenCount",
)
USAGE = Table(None, beside=COUNTS[:5], also_named=snake_case)


def read_usage(wire: Wire) -> tuple[Usage, tuple[Diagnostic, ...]]:
    kept = Kept()
    return COUNTS.read(USAGE.usual(wire, kept), NAME, kept)


# -- reading --------------------------------------------------------------------------------------


def read_response(wire: Any) -> Response:
    listed = type(wire) is list and len(wire) == 1
    return read_whole(f"{NAME} response", _read, wire[0] if listed else wire, listed)


def _read(wire: Wire, listed: bool) -> Response:
    kept = Kept(form={"list": True}) if listed else Kept()
    if wire.get("error") is not None:
        return read_failure(wire, kept)
    body = BODY.usual(wire, kept)
    shared = BODY.read(body, kept)
    if (usage := kept.may_take(body, "usageMetadata", dict)) is not None:
        shared["usage"], shared["diagnostics"] = read_usage(usage)
    candidates = kept.may_take(body, "candidates", list, filled=True)
    if not candidates:
        return _read_blocked(candidates, shared, kept)
    origin = shared.get("response_id") or 0
    numbers = iter(range(len(candidates)))
    message, *others = each(
        candidates, ".candidates", lambda item: _read_candidate(item, next(numbers), origin, shared)
    )
    return Response(message, tuple(others), raw=kept.raw(NAME))


def _read_blocked(candidates: list[Any] | None, shared: Attrs, kept: Kept) -> Response:
    """No candidates: the prompt itself was blocked."""
    if candidates is not None:
        kept.spell("candidates", [])
    word = None
    feedback = kept.rest.get("promptFeedback")
    if type(feedback) is dict and type(feedback.get("blockReason")) is str:
        word = feedback["blockReason"]
        kept.rest["promptFeedback"] = {k: v for k, v in feedback.items() if k != "blockReason"}
    metadata = MessageMetadata(
        protocol=NAME, stop_reason=StopReason.CONTENT_FILTER, raw_stop_reason=word, **shared
    )
    return Response(Message(Role.ASSISTANT, metadata=metadata), raw=kept.raw(NAME))


def _read_candidate(wire: Any, position: int, origin: Any, shared: Attrs) -> Message:
    kept = Kept()
    candidate = CANDIDATE.usual(want(wire, dict), kept)
    CANDIDATE.read(candidate, kept)
    index = kept.may_take(candidate, "index", int, filled=True)
    if index is not None and index != position:
        kept.rest["index"] = index
    parts = take_parts(candidate, kept)
    calls = calls_of(origin, position)
    blocks = below(".content", read_parts, parts, calls) if parts else []
    if not candidate.keys().isdisjoint(_METADATA):
        blocks = read_citations(candidate, blocks, parts or [], kept)
    word = finish_of(candidate, kept)
    metadata = MessageMetadata(
        protocol=NAME,
        stop_reason=None if word is None else stop_reason(word, blocks),
        raw_stop_reason=word,
        provider_raw=kept.raw(NAME),
        **({} if position else shared),
    )
    return Message(Role.ASSISTANT, tuple(blocks), metadata=metadata)


def calls_of(origin: Any, position: int) -> Calls:
    """Ids for the calls of one candidate; `origin` is the id of the response, or 0."""
    return Calls(f"{origin}/{position}" if position else origin, model=True)


def take_parts(candidate: Wire, kept: Kept) -> list[Any] | None:
    """The parts of a candidate's content, None where it has none."""
    content = kept.may_take(candidate, "content", dict, filled=True)
    if content is None:
        return None
    if len(content) == 2 and content.get("role") == MODEL:
        parts = content.get("parts")
        if type(parts) is list and parts:  # as nearly all have it
            return parts
    return _take_any_parts(content, kept)


def _take_any_parts(content: Wire, kept: Kept) -> list[Any]:
    inner = Kept()
    word, _, parts = below(".content", take_content, content, inner)
    if word not in (None, MODEL):
        inner.form["role"] = word
    if not content:
        kept.spell("content", content)
    kept.absorb("content", inner)
    return parts


def finish_of(candidate: Wire, kept: Kept) -> Any:
    """The wire's word for the end; a number from clients that keep the enum's numbers."""
    word = candidate.get("finishReason")
    if word is None or isinstance(word, (dict, list)):
        if "finishReason" in candidate:
            kept.add("finishReason", word)
        return None
    return word


def stop_reason(word: Any, blocks: list[Block] | tuple[Block, ...]) -> StopReason | None:
    """Calls for the client end a turn that stopped of itself, and no other."""
    return stopped_for_calls(STOP_REASONS.read(word), blocks)


# -- writing --------------------------------------------------------------------------------------


def write_response(response: Response, recorder: LossRecorder) -> Any:
    raw = response.raw
    if response.error is not None:
        body = write_failure(response, response.error, recorder)
    else:
        body = _write_body(response, mine_of(NAME, raw), recorder)
    if raw is None:
        return body
    put_back(body, response, raw, recorder)
    return [body] if form_of(NAME, raw).get("list") else body


def _write_body(response: Response, mine: Wire, recorder: LossRecorder) -> Wire:
    body: Wire = {}
    metadata = response.message.metadata
    if _is_blocked(response, mine):
        if metadata.raw_stop_reason is not None:
            body["promptFeedback"] = {"blockReason": metadata.raw_stop_reason}
    else:
        messages = (response.message, *response.alternatives)
        body["candidates"] = [_write_candidate(m, at, recorder) for at, m in enumerate(messages)]
    if metadata.usage is not None:
        body["usageMetadata"] = COUNTS.write(metadata.usage, recorder)
    if metadata.response_model is not None:
        body["modelVersion"] = metadata.response_model
    if metadata.response_id is not None:
        body["responseId"] = metadata.response_id
    return body


def _is_blocked(response: Response, mine: Wire) -> bool:
    """Whether there were no candidates, and still is nothing that one would say."""
    return (
        did_without(mine, "candidates")
        and not response.message.content
        and not response.alternatives
        and response.message.metadata.stop_reason is StopReason.CONTENT_FILTER
    )


def _write_candidate(message: Message, position: int, recorder: LossRecorder) -> Wire:
    mine = tell_message(message, recorder)
    turn = Turn(recorder, model=True, cites=True)
    parts: list[Wire] = []
    write_parts(message, turn, parts)
    if message.metadata.logprobs:
        recorder.lost(message, "metadata.logprobs", severity="info")
    candidate: Wire = {} if did_without(mine, "index") else {"index": position}
    if "index" in mine:
        candidate["index"] = mine["index"]
    if parts or not did_without(mine, "content"):
        candidate["content"] = _content(parts, mine_inside(mine, "content"))
    if (word := _finish_word(message, recorder)) is not None:
        candidate["finishReason"] = word
    if any(getattr(block, "citations", None) for block in message.content):
        candidate |= write_citations(message.content, turn, parts, mine)
    return restore(candidate, mine) if mine else candidate


def _content(parts: list[Wire], mine: Wire) -> Wire:
    role = None if did_without(mine, "role") else mine.get(FORM, {}).get("role", MODEL)
    return finish_content(role, parts, mine)


def _finish_word(message: Message, recorder: LossRecorder) -> Any:
    if message.metadata.stop_reason is None:
        return None
    own = own_word(message.metadata, NAME)
    return STOP_WORDS.of(message, own, recorder, lambda word: stop_reason(word, message.content))
