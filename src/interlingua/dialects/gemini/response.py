"""Answers: candidates, of which the first is the message and the rest are alternatives."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Scribe, Wire, own_word
from interlingua.dialects.gemini.citing import write_citations
from interlingua.dialects.gemini.content import read_parts, write_parts
from interlingua.dialects.gemini.contents import finish_content, take_some, tell_message
from interlingua.dialects.gemini.failures import read_failure, write_failure
from interlingua.dialects.gemini.grounding import read_citations
from interlingua.dialects.gemini.spelling import SNAKE, Taking, WrongShapeError, mine, spell
from interlingua.dialects.gemini.tables import MODEL, NAME, NEAREST_STOPS, STOP_REASONS
from interlingua.dialects.gemini.turn import Calls, Turn
from interlingua.dialects.gemini.usage import read_usage, write_usage
from interlingua.model.blocks import Block, ToolUseBlock
from interlingua.model.exchange import Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, StopReason

Scalar = str | int | float | bool

# -- reading --------------------------------------------------------------------------------------


def read_response(wire: Any) -> Response:
    try:
        listed = type(wire) is list and len(wire) == 1
        body = Taking(wire[0] if listed else wire)
        if listed:
            body.form["list"] = True
        if body.left.get("error") is not None:
            return read_failure(body)
        return _read_body(body)
    except WrongShapeError as odd:
        raise odd.error("response") from None


def _read_body(body: Taking) -> Response:
    shared: dict[str, Any] = {
        "response_model": body.take("modelVersion", str),
        "response_id": body.take("responseId", str),
    }
    if (usage := body.inside("usageMetadata")) is not None:
        shared["usage"], shared["diagnostics"] = read_usage(usage)
    candidates = body.take("candidates", list, due=True)
    if not candidates:
        return _read_blocked(body, candidates, shared)
    place = (None, "candidates")
    origin = shared["response_id"] or 0
    messages = [
        _read_candidate(Taking(each, (place, at)), at, origin, {} if at else shared)
        for at, each in enumerate(candidates)
    ]
    return Response(messages[0], tuple(messages[1:]), raw=body.raw())


def _read_blocked(body: Taking, candidates: list[Any] | None, shared: dict[str, Any]) -> Response:
    """No candidates: the prompt itself was blocked."""
    if candidates is not None:
        body.form["void"] = True
    word = None
    feedback = body.left.get("promptFeedback")
    if type(feedback) is dict and type(feedback.get("blockReason")) is str:
        left = dict(feedback)
        word = left.pop("blockReason")
        body.left["promptFeedback"] = left
    metadata = MessageMetadata(
        protocol=NAME, stop_reason=StopReason.CONTENT_FILTER, raw_stop_reason=word, **shared
    )
    return Response(Message(Role.ASSISTANT, metadata=metadata), raw=body.raw())


def _read_candidate(
    candidate: Taking, position: int, origin: Any, shared: dict[str, Any]
) -> Message:
    index = candidate.take("index", int, due=True)
    if index is not None and index != position:
        candidate.left["index"] = index
    calls = calls_of(origin, position)
    content = take_candidate_content(candidate)
    blocks: list[Block] = []
    if content is not None:
        parts = take_some(content)
        blocks = read_parts(parts, (content.place, "parts"), calls)
        candidate.absorb("content", content)
        if candidate.has("groundingMetadata") or candidate.has("citationMetadata"):
            blocks = read_citations(candidate, blocks, parts)
    word = take_finish(candidate)
    metadata = MessageMetadata(
        protocol=NAME,
        stop_reason=None if word is None else stop_reason(word, blocks),
        raw_stop_reason=word,
        provider_raw=candidate.raw(),
        **shared,
    )
    return Message(Role.ASSISTANT, tuple(blocks), metadata=metadata)


def calls_of(origin: Any, position: int) -> Calls:
    """Ids for the calls of one candidate; `origin` is the id of the response, or 0."""
    return Calls(f"{origin}/{position}" if position else origin, model=True)


def take_candidate_content(candidate: Taking) -> Taking | None:
    """The content, whose role is settled; its parts are still there."""
    content = candidate.inside("content", due=True)
    if content is not None:
        role = content.take("role", str, due=True)
        if role not in (None, MODEL):
            content.form["role"] = role
    return content


def take_finish(candidate: Taking) -> Scalar | None:
    """The wire's word for the end; a number from clients that keep the enum's numbers."""
    key = "finishReason" if "finishReason" in candidate.left else SNAKE["finishReason"]
    word = candidate.left.get(key)
    if isinstance(word, (dict, list)):
        return None
    return candidate.take("finishReason", str if word is None else type(word))


def stop_reason(word: Scalar, blocks: list[Block] | tuple[Block, ...]) -> StopReason | None:
    """Calls for the client end a turn that stopped of itself, and no other."""
    reason = STOP_REASONS.read(word)  # type: ignore[arg-type]  # a word of another type is none
    if reason is StopReason.END_TURN and any(
        type(block) is ToolUseBlock and block.executor == "client" for block in blocks
    ):
        return StopReason.TOOL_USE
    return reason


# -- writing --------------------------------------------------------------------------------------


def write_response(response: Response, scribe: Scribe) -> Any:
    rest, form = mine(response.raw)
    if response.raw is not None:
        scribe.unsaid_raw(response, response.raw)
    if response.error is not None:
        body = {**rest, **write_failure(response, response.error, scribe)}
    else:
        body = _write_body(response, rest, form, scribe)
    spell(body, form)
    return [body] if form.get("list") else body


def _write_body(response: Response, rest: Wire, form: Wire, scribe: Scribe) -> Wire:
    body = dict(rest)
    metadata = response.message.metadata
    if _is_blocked(response, form):
        body["candidates"] = []
        if metadata.raw_stop_reason is not None:
            feedback = {
                **(rest.get("promptFeedback") or {}),
                "blockReason": metadata.raw_stop_reason,
            }
            body["promptFeedback"] = feedback
    else:
        messages = (response.message, *response.alternatives)
        body["candidates"] = [_write_candidate(m, at, scribe) for at, m in enumerate(messages)]
    if metadata.usage is not None:
        body["usageMetadata"] = write_usage(metadata.usage, scribe)
    if metadata.response_model is not None:
        body["modelVersion"] = metadata.response_model
    if metadata.response_id is not None:
        body["responseId"] = metadata.response_id
    return body


def _is_blocked(response: Response, form: Wire) -> bool:
    """Whether there were no candidates, and still is nothing that one would say."""
    missing = (*form.get("absent", ()), *form.get("nil", ()))
    return (
        ("void" in form or "candidates" in missing)
        and not response.message.content
        and not response.alternatives
        and response.message.metadata.stop_reason is StopReason.CONTENT_FILTER
    )


def _write_candidate(message: Message, position: int, scribe: Scribe) -> Wire:
    rest, form = mine(message.metadata.provider_raw)
    if message.name is not None or message.metadata.provider_raw is not None:
        tell_message(message, scribe)
    turn = Turn(scribe, model=True, cites=True)
    parts: list[Wire] = []
    write_parts(message, turn, parts)
    if message.metadata.logprobs:
        scribe.lost(message, "metadata.logprobs", severity="info")
    candidate = {"index": position, **rest}
    _put_content(candidate, parts, form)
    if (word := _finish_word(message, scribe)) is not None:
        candidate["finishReason"] = word
    if any(getattr(block, "citations", None) for block in message.content):
        write_citations(message.content, turn.placed, parts, candidate, form, scribe)
    missing = (*form.get("absent", ()), *form.get("nil", ()))
    if "index" in missing and candidate["index"] == position:
        candidate["index"] = None
    return spell(candidate, form)


def _put_content(candidate: Wire, parts: list[Wire], form: Wire) -> None:
    missing = (*form.get("absent", ()), *form.get("nil", ()))
    kept = candidate.pop("content", None) or {}
    if "content" in missing and not parts:
        candidate["content"] = None
        return
    inner = form.get("content") or {}
    role: Any = inner.get("role", MODEL)
    if "role" in (*inner.get("absent", ()), *inner.get("nil", ())):
        role = None
    candidate["content"] = finish_content({"role": role, "parts": parts}, inner, kept)


def _finish_word(message: Message, scribe: Scribe) -> Any:
    metadata = message.metadata
    word, wanted = own_word(metadata, NAME), metadata.stop_reason
    if word is not None and stop_reason(word, message.content) is wanted:
        return word
    if wanted is None:
        return None
    told: Any = NEAREST_STOPS.get(wanted) or STOP_REASONS.write(wanted)
    if stop_reason(told, message.content) is not wanted:
        reason = f"{NAME} has no word for {wanted.value}"
        scribe.lost(message, "metadata.stop_reason", reason, kind="approximated")
    return told
