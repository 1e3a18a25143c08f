"""Responses, both ways, and the errors that stand in place of one."""

from __future__ import annotations

from collections import Counter
from typing import Any

from interlingua.dialects.kernel.errors import ShapeError, read_whole, require
from interlingua.dialects.kernel.fields import usual
from interlingua.dialects.kernel.preserved import Preserved, fill, spelling_in
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.usage import Split
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import TwoWay, own_word, report_stop_word
from interlingua.dialects.metadata import Transformations, report_cache_details
from interlingua.dialects.openai import ErrorBodies, error_kind, report_error_kind
from interlingua.dialects.openai_responses import messages, tables
from interlingua.dialects.openai_responses.tables import FILLERS, NAME, STOP_REASONS
from interlingua.dialects.openai_responses.text import (
    has_spelling,
    own,
    own_spelling,
    restore_own,
    spare,
)
from interlingua.dialects.openai_usage import read_tier, read_usage, write_tier, write_usage
from interlingua.model.base import same
from interlingua.model.blocks import Block, RefusalBlock, TextBlock, ToolUseBlock
from interlingua.model.exchange import ErrorKind, ProviderError, Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import (
    CacheDiagnosis,
    CacheOutcome,
    MessageMetadata,
    MessageStatus,
    StopReason,
    Usage,
)
from interlingua.model.reasons import because

BODIES = ErrorBodies(tables.NAME, first="code", other=tables.ERROR)
_DEMANDED = {"id": "resp_0", "model": "", **FILLERS}
"""Members of every response, with defaults."""

# -- reading --------------------------------------------------------------------------------------


def read_response(wire: Any) -> Response:
    return read_whole(tables.RESPONSE, read_body, wire)


def read_body(wire: Wire) -> Response:
    """A repeated text is spelling (`$form.output_text`)."""
    if is_failure(wire):
        return BODIES.read_failure(wire)
    message, tokens = messages.take_logprobs(_read_output(wire))
    content, before = message.content, message.metadata
    metadata: Wire = {"diagnostics": before.diagnostics}
    preserved, taken = Preserved(), set() if wire.get("output") is None else {"output"}
    for key, field in (("id", "response_id"), ("model", "response_model")):
        if wire.get(key) is not None:
            metadata[field] = require(wire[key], str, f".{key}")
            taken.add(key)
    error, usage = _read_error(wire, metadata, preserved, taken), wire.get("usage")
    if type(usage) is dict and usage:
        counts, odd = read_usage(usage, NAME, tables.COUNTS)
        metadata["usage"] = _read_beside(counts, wire, preserved, taken)
        metadata["diagnostics"] += () if odd is None else (odd,)
        taken.add("usage")
    _read_ending(wire, content, metadata, preserved, taken)
    if (diagnosis := _read_diagnosis(wire.get("prompt_cache_diagnostics"))) is not None:
        metadata["cache_diagnosis"] = diagnosis
        taken.add("prompt_cache_diagnostics")
    if changed := _CHANGED.read(wire.get(_CHANGED.key)):
        metadata[_CHANGED.key] = changed
        taken.add(_CHANGED.key)
    if wire.get("output_text") and wire["output_text"] == _text(content):
        taken.add("output_text")
        preserved.spelling["output_text"] = True
    _keep(wire, taken, preserved)
    full_metadata = MessageMetadata(
        protocol=NAME, provider_raw=before.provider_raw, logprobs=tokens, **metadata
    )
    return Response(message.replace(metadata=full_metadata), error=error, raw=preserved.raw(NAME))


def _read_beside(usage: Usage, wire: Wire, preserved: Preserved, taken: set[str]) -> Usage:
    """The usage with the members beside it: the tier, searches that are billed, and runs of tools
    that only the items of the answer show."""
    tiered = read_tier(usage, wire)
    taken.update(() if tiered is usage else ("service_tier",))
    runs = runs_of(wire.get("output"))
    uses: Any = wire.get("tool_usage")
    searches = uses.get(_SEARCH) if type(uses) is dict else None
    if type(searches) is dict and type(searches.get(_REQUESTS)) is int:
        runs.pop(_SEARCH, None)
        if searches[_REQUESTS] > 0 and len(searches) == 1:
            taken.add("tool_usage")
            if others := {key: item for key, item in uses.items() if key != _SEARCH}:
                preserved.rest["tool_usage"] = others
            if _IMAGES not in uses:
                preserved.spelling["imageless"] = True
            runs[_SEARCH] = searches[_REQUESTS]
    elif _SEARCH in runs:
        preserved.spelling["counted"] = True
    return tiered.replace(tool_uses=dict(sorted(runs.items()))) if runs else tiered


def runs_of(output: Any) -> dict[str, int]:
    """The number of runs of the provider's own tools, for answers where only the items show it.
    Pages that a search opens are part of it."""
    runs: Counter[str] = Counter()
    for item in output if type(output) is list else ():
        word = item.get("type") if type(item) is dict else None
        if type(word) is str and word in RUNS and item.get("status") != "failed":
            runs[RUNS[word]] += is_billed(item.get("action"))
    runs += Counter()  # without those that only opened pages
    return dict(runs)


def is_billed(action: Any) -> bool:
    """Whether an action is a run: a search that opens a page or looks into one is none."""
    return type(action) is not dict or action.get("type") == "search"


RUNS = {
    "web_search_call": "web_search",
    "file_search_call": "file_search",
    "code_interpreter_call": "code_execution",
    "image_generation_call": "image_generation",
    "shell_call_output": "code_execution",
}


def _without_shown(usage: Usage, out: Wire, also_searches: bool) -> Usage:
    """The usage without the runs of tools that the items of the answer show."""
    if not usage.tool_uses:
        return usage
    shown = runs_of(out.get("output"))
    if not also_searches:
        shown.pop(_SEARCH, None)
    left = {kind: n for kind, n in usage.tool_uses.items() if shown.get(kind) != n}
    return usage if left == usage.tool_uses else usage.replace(tool_uses=left or None)


def _write_beside(usage: Usage, out: Wire, own_raw: Wire, recorder: LossRecorder) -> None:
    write_tier(usage, NAME, out, recorder)
    if usage.tool_uses and (counts := _TOOL_USES.write(usage, recorder)) is not None:
        uses: Wire = {kind: {_REQUESTS: number} for kind, number in counts.items()}
        is_known = "tool_usage" in own_raw or "imageless" in spelling_in(own_raw)
        images = {} if is_known else {_IMAGES: _NO_IMAGES}
        out["tool_usage"] = {**images, **uses}


_SEARCH, _IMAGES, _REQUESTS = "web_search", "image_gen", "num_requests"
_TOOL_USES = Split("tool_uses", TwoWay({_SEARCH: "web_search"}))
_NO_IMAGES: Wire = {
    "input_tokens": 0,
    "input_tokens_details": {"image_tokens": 0, "text_tokens": 0},
    "output_tokens": 0,
    "total_tokens": 0,
}
"""Required members of a tool that did not run."""


def _read_error(
    wire: Wire, metadata: Wire, preserved: Preserved, taken: set[str]
) -> ProviderError | None:
    """A failed response that holds a message is spelling (`$form.failed`)."""
    found = wire.get("error")
    if type(found) is not dict or not found:
        return None
    error = BODIES.read(found)
    metadata["error_message"] = error.message
    taken.add("error")
    if "id" not in taken:
        preserved.spelling["failed"] = True
    return error


def _keep(wire: Wire, taken: set[str], preserved: Preserved) -> None:
    """Members without a field; those of every response are left out."""
    taken |= {key for key, usual in FILLERS.items() if key in wire and same(wire[key], usual)}
    rest, spelled = spare(wire, taken)
    preserved.rest |= rest
    if spelled:
        preserved.spelling["spelled"] = spelled
    preserved.mark_any_absent(wire, _NEEDED)


_NEEDED = (*_DEMANDED, "output", "status")


def _read_output(wire: Wire) -> Message:
    output, id = wire.get("output"), wire.get("id")
    if type(output) is not list and not (output is None and _is_response(wire)):
        raise ShapeError(".output", "a list", output)
    items = messages.ItemReader(is_output=True, seed=id if type(id) is str else None)
    items.read(output or [], ".output")
    items.flush()
    if items.messages:
        return items.messages[0]
    return Message(Role.ASSISTANT, metadata=messages.MODEL_MESSAGE)


def _is_response(wire: Wire) -> bool:
    """Whether a body without output is a response all the same, as one that has not begun."""
    is_running = "id" in wire and type(wire.get("status")) is str
    return "output" in wire or wire.get("object") == "response" or is_running


def _read_ending(
    wire: Wire, content: tuple[Block, ...], metadata: Wire, preserved: Preserved, taken: set[str]
) -> None:
    """The status, and why a response is incomplete. `$form.reason` records that an unknown word was
    such a reason and not a status."""
    status, details = wire.get("status"), wire.get("incomplete_details")
    status, reason = status if type(status) is str else None, None
    if status is not None:
        taken.add("status")
    if status == "incomplete" and type(details) is dict and type(details.get("reason")) is str:
        taken.add("incomplete_details")
        reason = details["reason"]
        if len(details) > 1:
            more = {key: item for key, item in details.items() if key != "reason"}
            preserved.rest["incomplete_details"] = more
        if reason not in STOP_REASONS.words:
            preserved.spelling["reason"] = True
    metadata["stop_reason"], metadata["status"] = ending(status, reason, content)
    metadata["raw_stop_reason"] = status if reason is None else reason


def ending(
    status: str | None, reason: str | None, content: tuple[Block, ...]
) -> tuple[StopReason | None, MessageStatus]:
    """The stop reason and status of a response with this status, reason and content."""
    stop_reason, message_status = tables.STATUSES.get(
        status, (StopReason.OTHER, MessageStatus.COMPLETE)
    )
    if stop_reason is StopReason.END_TURN or stop_reason is None:
        for block in content:
            if type(block) is RefusalBlock:
                return StopReason.REFUSAL, message_status
            if type(block) is ToolUseBlock and block.executor == "client":
                stop_reason = StopReason.TOOL_USE
    elif reason is not None:
        stop_reason = STOP_REASONS.read(reason) or StopReason.OTHER
    return stop_reason, message_status


def _text(content: tuple[Block, ...]) -> str:
    return "".join([block.text for block in content if type(block) is TextBlock])


# -- writing --------------------------------------------------------------------------------------


def write_response(response: Response, recorder: LossRecorder) -> Wire:
    message, error = response.message, response.error
    error_message = message.metadata.error_message
    if error is None and error_message is not None:
        error = ProviderError(ErrorKind.OTHER, error_message)
    is_begun = message.content or message.metadata.response_id is not None
    if error is not None and not (is_begun or "failed" in own_spelling(response.raw)):
        return BODIES.write_failure(response, error, recorder)
    for other in response.alternatives:
        recorder.lost(other, None, because("one_choice"))
    if error is not None and error_message not in (None, error.message):
        recorder.lost(message, "metadata.error_message")
    return _write(response, message, error, recorder)


def _write(
    response: Response, message: Message, error: ProviderError | None, recorder: LossRecorder
) -> Wire:
    metadata, own_raw = message.metadata, own(response.raw)
    out: Wire = {}
    if metadata.response_id is not None:
        out["id"] = metadata.response_id
    if metadata.response_model is not None:
        out["model"] = metadata.response_model
    _write_ending(out, response, message, recorder)
    writer = messages.ItemWriter(recorder, whole=True, seed=metadata.response_id)
    writer.add(messages.put_logprobs(message, recorder) if metadata.logprobs else message)
    if writer.items or not has_spelling(response.raw, "output"):
        out["output"] = writer.items
    if error is not None:
        out["error"] = write_failed(error, recorder)
    if metadata.usage is not None:
        usage = write_usage(metadata.usage, NAME, tables.COUNTS, recorder)
        if usage is not None:
            out["usage"] = usage
        beside = metadata.usage
        beside = _without_shown(beside, out, "counted" in own_spelling(response.raw))
        if beside is not metadata.usage:
            recorder.alias(beside, metadata.usage)
        _write_beside(beside, out, own_raw, recorder)
    if metadata.cache_diagnosis is not None:
        diagnosis = _write_diagnosis(message, metadata.cache_diagnosis, recorder)
        out["prompt_cache_diagnostics"] = diagnosis
    if metadata.input_transformations and (stated := _CHANGED.write(message, recorder)):
        out[_CHANGED.key] = stated
    if "output_text" in own_spelling(response.raw):
        out["output_text"] = _text(message.content)
    if response.raw is not None:
        recorder.unwritten_raw(response, response.raw)
        restore_own(out, response.raw)
    return fill(out, own_raw, {**_DEMANDED, "tools": []})


def _write_ending(out: Wire, response: Response, message: Message, recorder: LossRecorder) -> None:
    metadata, content = message.metadata, message.content
    meant = metadata.stop_reason, metadata.status
    read = [pair for pair in _own_words(response, message) if ending(*pair, content) == meant]
    status, reason = read[0] if read else _plain_words(metadata, content)
    if status is not None:
        out["status"] = status
    if reason is not None:
        preserved = own(response.raw).get("incomplete_details")
        out["incomplete_details"] = {
            **(preserved if type(preserved) is dict else {}),
            "reason": reason,
        }
    again = ending(status, reason, content)
    if meant[0] is StopReason.REFUSAL and again[0] is not StopReason.REFUSAL:
        report_stop_word(message, reason or status or "", again[0], recorder)
        again = (meant[0], again[1])
    for name, read_again, expected in zip(("stop_reason", "status"), again, meant, strict=True):
        if read_again is not expected:
            why = because("read_as_note", value=read_again and read_again.value)
            recorder.lost(message, f"metadata.{name}", why, kind="approximated")


def _own_words(response: Response, message: Message) -> list[tuple[str | None, str | None]]:
    """Status and reason as they were read, if they were read here."""
    words: list[tuple[str | None, str | None]] = []
    word = own_word(message.metadata, NAME)
    if type(word) is str:
        is_reason = word in STOP_REASONS.words or "reason" in own_spelling(response.raw)
        words.append(("incomplete", word) if is_reason else (word, None))
    if has_spelling(response.raw, "status"):
        words.append((None, None))
    return words


def _plain_words(
    metadata: MessageMetadata, content: tuple[Block, ...]
) -> tuple[str | None, str | None]:
    """A response is `completed` with a refusal only if it also has text; otherwise a filter is
    nearest."""
    stopped = metadata.stop_reason
    word = _STATUS_WORDS.get(metadata.status)
    if word is None and stopped is not None:
        word = _REASON_WORDS.get(stopped)
    if word is not None or stopped is None:
        return word, None
    reason = STOP_REASONS.write(stopped)
    if stopped is StopReason.REFUSAL and ending("completed", None, content)[0] is not stopped:
        reason = "content_filter"
    return ("completed", None) if reason is None else ("incomplete", reason)


_STATUS_WORDS = {
    MessageStatus.ERROR: "failed",
    MessageStatus.CANCELLED: "cancelled",
    MessageStatus.PARTIAL: "in_progress",
}
_REASON_WORDS = {
    StopReason.ERROR: "failed",
    StopReason.CANCELLED: "cancelled",
    StopReason.OTHER: "incomplete",
}


# -- why the prompt cache was hit or missed -------------------------------------------------------

_OUTCOMES: TwoWay[str, CacheOutcome] = TwoWay(
    {
        "cache_hit": "hit",
        "comparison_response_not_found": "not_found",
        "unavailable": "unavailable",
    }
)
_REASONS: TwoWay[str, str] = TwoWay(
    {
        "model_changed": "model_changed",
        "prompt_cache_key_changed": "cache_key_changed",
        "tools_changed": "tools_changed",
        "text_format_changed": "response_format_changed",
        "reasoning_effort_changed": "reasoning_changed",
        "verbosity_changed": "verbosity_changed",
        "context_compacted": "context_compacted",
        "input_changed": "messages_changed",
        "service_tier_changed": "service_tier_changed",
    }
)


def _read_diagnosis(wire: Any) -> CacheDiagnosis | None:
    """None where no field can hold it."""
    match wire:
        case {"type": "cache_miss", "reason": str(word), "cache_missed_tokens": int(tokens)}:
            reason, reusable = _REASONS.read(word), wire.get("comparison_reusable_tokens")
            known = 3 + ("comparison_reusable_tokens" in wire)
            whole = type(tokens) is int and (type(reusable) is int or known == 3)
            if reason is None or not whole or len(wire) != known:
                return None
            return CacheDiagnosis("miss", reason, tokens, reusable)
        case {"type": str(word)} if len(wire) == 1 and _OUTCOMES.read(word) is not None:
            return CacheDiagnosis(_OUTCOMES.words[word])
    return None


def _write_diagnosis(message: Message, found: CacheDiagnosis, recorder: LossRecorder) -> Wire:
    out: Wire = {"type": _OUTCOMES.write(found.outcome) or "unavailable"}
    if found.outcome == "miss":
        word = _REASONS.write(found.reason or "") or "input_changed"
        out = {"type": "cache_miss", "reason": word}
        out["cache_missed_tokens"] = found.missed_tokens or 0
        if found.reusable_tokens is not None:
            out["comparison_reusable_tokens"] = found.reusable_tokens
        if _REASONS.read(word) != found.reason:
            reason = because("cache_reason", reason=found.reason, value=word)
            recorder.lost(message, f"{_DIAGNOSIS}.reason", reason, "approximated")
    elif found.outcome == "pending":
        reason = because("cache_reason", reason="pending", value="unavailable")
        recorder.lost(message, f"{_DIAGNOSIS}.outcome", reason, "approximated")
    report_cache_details(message, found, recorder)
    return out


_DIAGNOSIS = "metadata.cache_diagnosis"


# -- transformations of the input
# -------------------------------------------------------------------

_CHANGED = Transformations(
    NAME,
    ("id", "id"),
    ("action", {"removed": "removed"}),
    {
        "model_mismatch": "model_mismatch",
        "prefix_mismatch": "prefix_mismatch",
        "organization_mismatch": "organization_mismatch",
        "end_user_mismatch": "end_user_mismatch",
        "turn_boundary": "turn_boundary",
    },
    usual("type", "reasoning", filled=True),
)


# -- errors ---------------------------------------------------------------------------------------


def is_failure(wire: Wire) -> bool:
    """Whether a body is an error instead of a response."""
    if "output" in wire or wire.get("object") == "response":
        return False
    texts = [wire.get(key) for key in ("error", "detail", "message")]
    return type(texts[0]) is dict or str in map(type, texts)


def write_failed(error: ProviderError, recorder: LossRecorder) -> Wire:
    """The error of a response that failed: its codes are a closed set."""
    out = BODIES.write(error, recorder)
    if not own_spelling(error.raw) and error.code not in tables.ERROR_CODES:
        if error.code is not None:
            recorder.lost(error, "code", because("error_code_unsupported"))
        limited = error.kind is ErrorKind.RATE_LIMIT
        out["code"] = "rate_limit_exceeded" if limited else "server_error"
        report_error_kind(error, error_kind(error.message, None, out["code"]), recorder)
    return out
