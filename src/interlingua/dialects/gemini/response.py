"""Responses: candidates (the first is the message, the others alternatives), token counts,
errors."""

from __future__ import annotations

from math import isclose
from typing import Any

from interlingua.dialects.gemini import tables
from interlingua.dialects.gemini.calls import Calls
from interlingua.dialects.gemini.citations import read_citations, write_citations
from interlingua.dialects.gemini.messages import (
    finish_content,
    read_parts,
    report_message,
    take_content,
    write_parts,
)
from interlingua.dialects.gemini.parts import Turn
from interlingua.dialects.gemini.tables import MODEL, NAME, STOP_REASONS, STOP_WORDS
from interlingua.dialects.google import Counts
from interlingua.dialects.kernel.calls import stopped_for_calls
from interlingua.dialects.kernel.errors import (
    at_path,
    failed_answer,
    read_each,
    read_whole,
    require,
)
from interlingua.dialects.kernel.fields import NOT_OURS, Attrs, Field, Table, plain
from interlingua.dialects.kernel.preserved import (
    FORM,
    Preserved,
    content_of,
    keep,
    raw_inside,
    raw_of,
    restore,
    restore_raw,
    spelling_of,
    was_absent,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.usage import MODALITIES, Split
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import TwoWay, own_word, snake_case
from interlingua.dialects.metadata import others_of, report_metadata
from interlingua.model.base import JsonObject, same
from interlingua.model.blocks import Block
from interlingua.model.exchange import ErrorKind, ProviderError, Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Diagnostic, MessageMetadata, StopReason, Usage
from interlingua.model.reasons import because


def _kind_of(message: str, word: str | None, status: int | None) -> ErrorKind:
    if word in (None, "INVALID_ARGUMENT"):
        for phrase, kind in tables.ERROR_PHRASES.items():
            if phrase in message:
                return kind
    if word in tables.ERRORS:
        return tables.ERRORS[word][0]
    return tables.STATUS_KINDS.get(status or 0, ErrorKind.OTHER)


def _write_word(error: Any, recorder: LossRecorder) -> str | None:
    """Google's own value, or the nearest; an invented one is preserved as a spelling."""
    if error.code not in tables.ERRORS:
        recorder.lost(error, "code", because("error_code_unknown"), kind="approximated")
    return _word_of(error)


def _word_of(error: Any) -> str | None:
    """Google's own status, or the one for the kind and the HTTP code."""
    if error.code in tables.ERRORS:
        return str(error.code)
    usual = tables.ERROR_WORDS.get(error.kind)
    return tables.STATUS_WORDS.get((error.kind, error.status), usual)


def _status_of(error: Any) -> int:
    return tables.ERRORS[_word_of(error) or "UNKNOWN"][1]


ERROR = Table(
    ProviderError,
    plain("message", "message", str, missing=""),
    plain("code", "status", int, lenient=True, fill=_status_of),
    Field(
        "status",
        ("code",),
        lambda value: {"code": value} if type(value) is str else NOT_OURS,
        _write_word,
        fill=_word_of,
    ),
    Field("", ("kind",), lambda _: {}, lambda _, __: None),  # written by the other fields together
)


def read_failure(wire: Wire, preserved: Preserved) -> Response:
    """An empty message of status `error`, and the error."""
    preserved.add_others(wire, ("error",))
    error = at_path(".error", _read_error, wire["error"])
    return failed_answer(NAME, error).replace(raw=preserved.raw(NAME))


def _read_error(value: Any) -> ProviderError:
    if type(value) is str:
        raw = keep(NAME, None, {"string": True})
        return ProviderError(_kind_of(value, None, None), value, raw=raw)
    preserved = Preserved()
    attrs = ERROR.read(require(value, dict), preserved)
    kind = _kind_of(attrs["message"], attrs.get("code"), attrs.get("status"))
    return ProviderError(kind, **attrs, raw=preserved.raw(NAME))


def write_failure(response: Response, error: ProviderError, recorder: LossRecorder) -> Wire:
    _report_answer(response, recorder)
    out: Wire = {}
    bare = error.code is None and error.status is None and not content_of(NAME, error.raw)
    if text_alone := bare and spelling_of(NAME, error.raw).get("string"):
        recorder.unwritten(error, frozenset({"kind", "message"}))
    else:
        ERROR.write(error, out, raw_of(NAME, error.raw), recorder)
    if _kind_of(error.message, out.get("status"), out.get("code")) is not error.kind:
        recorder.lost(error, "kind", because("error_kind_nearest"), kind="approximated")
    return {"error": error.message if text_alone else restore_raw(out, error, error.raw, recorder)}


def _report_answer(response: Response, recorder: LossRecorder) -> None:
    reason = because("error_without_message")
    for block in response.message.content:
        recorder.dropped(block, reason)
    if response.message.metadata.usage is not None:
        recorder.lost(response.message, "metadata.usage", reason)
    for other in response.alternatives:
        recorder.lost(other, None, reason)


_METADATA = ("groundingMetadata", "citationMetadata")
BODY = Table(
    None,
    plain("modelVersion", "response_model", str),
    plain("responseId", "response_id", str),
    beside=("candidates", "usageMetadata"),
    also_named=snake_case,
)
"""Members of a response for its first answer, beside the candidates."""
CANDIDATE = Table(
    None, beside=("index", "content", "finishReason", *_METADATA), also_named=snake_case
)

# -- tokens: the sums are those of both of Google's APIs (`dialects/google.py`) -------------------

_MODALITIES: TwoWay[str, str] = TwoWay({word.upper(): word for word in MODALITIES})
COUNTS = Counts(
    prompt="promptTokenCount",
    cached="cachedContentTokenCount",
    answer="candidatesTokenCount",
    thought="thoughtsTokenCount",
    total="totalTokenCount",
    tools="toolUsePromptTokenCount",
    splits={
        "promptTokensDetails": Split("input_modalities", _MODALITIES, "modality", "tokenCount"),
        "candidatesTokensDetails": Split(
            "output_modalities", _MODALITIES, "modality", "tokenCount"
        ),
    },
    tiers={"trafficType": tables.TRAFFIC, "serviceTier": tables.SERVED_TIERS},
)
USAGE = Table(None, beside=(*COUNTS[:5], *COUNTS.splits, *COUNTS.tiers), also_named=snake_case)


def read_usage(wire: Wire) -> tuple[Usage, tuple[Diagnostic, ...]]:
    preserved = Preserved()
    return COUNTS.read(USAGE.usual(wire, preserved), NAME, preserved)


# -- reading --------------------------------------------------------------------------------------


def read_response(wire: Any) -> Response:
    listed = type(wire) is list and len(wire) == 1
    return read_whole(f"{NAME} response", _read, wire[0] if listed else wire, listed)


def _read(wire: Wire, listed: bool) -> Response:
    preserved = Preserved(spelling={"list": True}) if listed else Preserved()
    if wire.get("error") is not None:
        return read_failure(wire, preserved)
    body = BODY.usual(wire, preserved)
    shared = BODY.read(body, preserved)
    if (usage := preserved.may_take(body, "usageMetadata", dict)) is not None:
        shared["usage"], shared["diagnostics"] = read_usage(usage)
    candidates = preserved.may_take(body, "candidates", list, filled=True)
    if not candidates:
        return _read_blocked(candidates, shared, preserved)
    origin = shared.get("response_id") or 0
    numbers = iter(range(len(candidates)))
    message, *others = read_each(
        candidates, ".candidates", lambda item: _read_candidate(item, next(numbers), origin, shared)
    )
    return Response(message, tuple(others), raw=preserved.raw(NAME))


def _read_blocked(candidates: list[Any] | None, shared: Attrs, preserved: Preserved) -> Response:
    """No candidates: the prompt itself was blocked."""
    if candidates is not None:
        preserved.keep_spelling("candidates", [])
    word = None
    feedback = preserved.rest.get("promptFeedback")
    if type(feedback) is dict and type(feedback.get("blockReason")) is str:
        word = feedback["blockReason"]
        preserved.rest["promptFeedback"] = {k: v for k, v in feedback.items() if k != "blockReason"}
    metadata = MessageMetadata(
        protocol=NAME, stop_reason=StopReason.CONTENT_FILTER, raw_stop_reason=word, **shared
    )
    return Response(Message(Role.ASSISTANT, metadata=metadata), raw=preserved.raw(NAME))


def _read_candidate(wire: Any, position: int, origin: Any, shared: Attrs) -> Message:
    preserved = Preserved()
    candidate = CANDIDATE.usual(require(wire, dict), preserved)
    CANDIDATE.read(candidate, preserved)
    index = preserved.may_take(candidate, "index", int, filled=True)
    if index is not None and index != position:
        preserved.rest["index"] = index
    parts = take_parts(candidate, preserved)
    calls = calls_of(origin, position)
    blocks = at_path(".content", read_parts, parts, calls) if parts else []
    if not candidate.keys().isdisjoint(_METADATA):
        blocks = read_citations(candidate, blocks, parts or [], preserved)
    word = finish_of(candidate, preserved)
    metadata = MessageMetadata(
        protocol=NAME,
        logprobs=_read_tokens(preserved) if _TOKENS in preserved.rest else (),
        stop_reason=None if word is None else stop_reason(word, blocks),
        raw_stop_reason=word,
        provider_raw=preserved.raw(NAME),
        **({} if position else shared),
    )
    return Message(Role.ASSISTANT, tuple(blocks), metadata=metadata)


def calls_of(origin: Any, position: int) -> Calls:
    """Ids for the calls of one candidate; `origin` is the id of the response, or 0."""
    return Calls(f"{origin}/{position}" if position else origin, model=True)


def take_parts(candidate: Wire, preserved: Preserved) -> list[Any] | None:
    """The parts of a candidate's content, None where it has none."""
    content = preserved.may_take(candidate, "content", dict, filled=True)
    if content is None:
        return None
    if len(content) == 2 and content.get("role") == MODEL:
        parts = content.get("parts")
        if type(parts) is list and parts:  # as nearly all have it
            return parts
    return _take_any_parts(content, preserved)


def _take_any_parts(content: Wire, preserved: Preserved) -> list[Any]:
    inner = Preserved()
    word, _, parts = at_path(".content", take_content, content, inner)
    if word not in (None, MODEL):
        inner.spelling["role"] = word
    if not content:
        preserved.keep_spelling("content", content)
    preserved.absorb("content", inner)
    return parts


def finish_of(candidate: Wire, preserved: Preserved) -> Any:
    """The stop reason on the wire; a number from clients that use the enum's numbers."""
    word = candidate.get("finishReason")
    if word is None or isinstance(word, (dict, list)):
        if "finishReason" in candidate:
            preserved.add("finishReason", word)
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
        body = _write_body(response, raw_of(NAME, raw), recorder)
    if raw is None:
        return body
    restore_raw(body, response, raw, recorder)
    return [body] if spelling_of(NAME, raw).get("list") else body


def _write_body(response: Response, own_raw: Wire, recorder: LossRecorder) -> Wire:
    body: Wire = {}
    metadata = response.message.metadata
    if _is_blocked(response, own_raw):
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


def _is_blocked(response: Response, own_raw: Wire) -> bool:
    """Whether there were no candidates, and there still is no content that would need one."""
    return (
        was_absent(own_raw, "candidates")
        and not response.message.content
        and not response.alternatives
        and response.message.metadata.stop_reason is StopReason.CONTENT_FILTER
    )


def _write_candidate(message: Message, position: int, recorder: LossRecorder) -> Wire:
    own_raw = report_message(message, recorder)
    turn = Turn(recorder, model=True, cites=True)
    parts: list[Wire] = []
    write_parts(message, turn, parts)
    report_metadata(message, recorder)
    candidate: Wire = {} if was_absent(own_raw, "index") else {"index": position}
    if "index" in own_raw:
        candidate["index"] = own_raw["index"]
    if parts or not was_absent(own_raw, "content"):
        candidate["content"] = _content(parts, raw_inside(own_raw, "content"))
    if (word := _finish_word(message, recorder)) is not None:
        candidate["finishReason"] = word
    if any(getattr(block, "citations", None) for block in message.content):
        candidate |= write_citations(message.content, turn, parts, own_raw)
    if message.metadata.logprobs:
        candidate[_TOKENS] = _write_tokens(message, raw_inside(own_raw, _TOKENS), recorder)
    return restore(candidate, own_raw) if own_raw else candidate


def _content(parts: list[Wire], own_raw: Wire) -> Wire:
    role = None if was_absent(own_raw, "role") else own_raw.get(FORM, {}).get("role", MODEL)
    return finish_content(role, parts, own_raw)


def _finish_word(message: Message, recorder: LossRecorder) -> Any:
    if message.metadata.stop_reason is None:
        return None
    own = own_word(message.metadata, NAME)
    return STOP_WORDS.of(message, own, recorder, lambda word: stop_reason(word, message.content))


# -- how probable each token was -------------------------------------------------------------------

_TOKENS, _CHOSEN, _TOPS, _SUM = (
    "logprobsResult",
    "chosenCandidates",
    "topCandidates",
    "logProbabilitySum",
)
_NAMES = {"logProbability": "logprob", "tokenId": "token_id"}
_WIRE_NAMES = {name: key for key, name in _NAMES.items()}
_STEP = "step"
"""Members of a token in the list of other tokens."""


def _read_tokens(preserved: Preserved) -> tuple[JsonObject, ...]:
    """The tokens; the sum of all stays in `raw`. None where writing would give something else."""
    wire = preserved.rest[_TOKENS]
    chosen, tops = (wire.get(_CHOSEN), wire.get(_TOPS)) if type(wire) is dict else (None, None)
    if type(chosen) is not list or not chosen or not all(type(each) is dict for each in chosen):
        return ()
    tokens = [_renamed(each, _NAMES) for each in chosen]
    if type(tops) is list and len(tops) == len(tokens) and all(type(e) is dict for e in tops):
        for token, step in zip(tokens, tops, strict=True):
            others = step.get("candidates")
            if type(others) is list and all(type(each) is dict for each in others):
                token["top_logprobs"] = [_renamed(each, _NAMES) for each in others]
            if more := {key: item for key, item in step.items() if key != "candidates"}:
                token[_STEP] = more
    known = {key: wire[key] for key in (_CHOSEN, _TOPS) if key in wire}
    if not same(_spelled(tokens), known):
        return ()
    del preserved.rest[_TOKENS]
    if rest := {key: item for key, item in wire.items() if key not in known}:
        preserved.complete(_TOKENS, rest, {})
    return tuple(tokens)


def _write_tokens(message: Message, own_raw: Wire, recorder: LossRecorder) -> Wire:
    tokens, is_own = message.metadata.logprobs, message.metadata.protocol == NAME
    out = _spelled([*tokens] if is_own else [_textual(each) for each in tokens])
    if not is_own and any(
        _has_bytes(each) for token in tokens for each in (token, *others_of(token))
    ):
        recorder.lost(message, "metadata.logprobs", because("token_bytes"))
    if not is_own and any("token_id" in token for token in tokens):
        recorder.lost(message, "metadata.logprobs", because("token_ids"))
    total = sum([number for token in tokens if type(number := token.get("logprob")) is float])
    if type(before := own_raw.get(_SUM)) is float and not isclose(before, total, rel_tol=1e-3):
        out[_SUM] = total
    return out


def _spelled(tokens: list[JsonObject]) -> Wire:
    out: Wire = {_CHOSEN: [_renamed(each, _WIRE_NAMES, _APART) for each in tokens]}
    if any("top_logprobs" in token or _STEP in token for token in tokens):
        out[_TOPS] = [_step_of(token) for token in tokens]
    return out


def _step_of(token: JsonObject) -> Wire:
    step: Wire = dict(token.get(_STEP, ()))
    if "top_logprobs" in token:
        others = [_renamed(each, _WIRE_NAMES) for each in others_of(token)]
        step["candidates"] = others
    return step


def _renamed(token: JsonObject, names: dict[str, str], apart: tuple[str, ...] = ()) -> JsonObject:
    return {names.get(key, key): item for key, item in token.items() if key not in apart}


def _textual(token: JsonObject) -> JsonObject:
    """A token of another wire as this one has it."""
    known: JsonObject = {key: token[key] for key in ("token", "logprob") if key in token}
    if others := others_of(token):
        known["top_logprobs"] = [_textual(each) for each in others]
    return known


def _has_bytes(token: JsonObject) -> bool:
    """Whether the bytes of a token are others than those of its text."""
    encoded, text = token.get("bytes"), token.get("token")
    return encoded is not None and not (type(text) is str and encoded == [*text.encode()])


_APART = ("top_logprobs", _STEP)
