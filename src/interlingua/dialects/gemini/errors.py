"""Error bodies: `{"error": {"code", "message", "status", "details"}}`, at times in a list. A text
alone in place of the object has the word `string`."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.gemini import tables
from interlingua.dialects.gemini.tables import NAME
from interlingua.dialects.kernel.errors import below, failed_answer, want
from interlingua.dialects.kernel.kept import (
    Kept,
    did_without,
    form_in,
    keep,
    kept,
    mine_of,
    put_back,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.exchange import ErrorKind, ProviderError, Response


def read_failure(wire: Wire, kept: Kept) -> Response:
    """An empty message of status `error`, and the error."""
    kept.add_others(wire, ("error",))
    error = below(".error", _read_error, wire["error"])
    return failed_answer(NAME, error).replace(raw=kept.raw(NAME))


def _read_error(given: Any) -> ProviderError:
    if type(given) is str:
        raw = keep(NAME, None, {"string": True})
        return ProviderError(_kind_of(given, None, None), given, raw=raw)
    inner = Kept()
    message = inner.may_take(want(given, dict), "message", str, filled=True) or ""
    status = given["code"] if type(given.get("code")) is int else None
    code = given["status"] if type(given.get("status")) is str else None
    taken = {"message": message, "code": status, "status": code}
    inner.miss_any(given, ("code", "status"))
    inner.add_others(given, [key for key, item in taken.items() if item is not None])
    if code is not None and code not in tables.ERRORS:
        inner.form["own"] = True  # who else made up a word for it is not asked
    return ProviderError(_kind_of(message, code, status), message, code, status, inner.raw(NAME))


def _kind_of(message: str, word: str | None, status: int | None) -> ErrorKind:
    if word in (None, "INVALID_ARGUMENT"):
        for phrase, kind in tables.ERROR_PHRASES.items():
            if phrase in message:
                return kind
    if word in tables.ERRORS:
        return tables.ERRORS[word][0]
    return tables.STATUS_KINDS.get(status or 0, ErrorKind.OTHER)


def write_failure(response: Response, error: ProviderError, recorder: LossRecorder) -> Wire:
    _tell_message(response, recorder)
    mine = mine_of(NAME, error.raw)
    more = kept(NAME, error.raw) or error.code is not None or error.status is not None
    if form_in(mine).get("string") and not more:
        if error.raw is not None:
            recorder.unwritten_raw(error, error.raw)
        _tell_kind(error, None, None, recorder)
        return {"error": error.message}
    word, status = _word(error, mine, recorder), error.status
    if status is None and not _had_none(mine, "code"):
        status = tables.ERRORS[word][1] if word in tables.ERRORS else 500
    _tell_kind(error, word, status, recorder)
    wire: Wire = {}
    if error.message or not did_without(mine, "message"):
        wire["message"] = error.message
    if status is not None:
        wire["code"] = status
    if word is not None:
        wire["status"] = word
    return {"error": wire if error.raw is None else put_back(wire, error, error.raw, recorder)}


def _tell_message(response: Response, recorder: LossRecorder) -> None:
    reason = "an error body has no message"
    for block in response.message.content:
        recorder.dropped(block, reason)
    if response.message.metadata.usage is not None:
        recorder.lost(response.message, "metadata.usage", reason)
    for other in response.alternatives:
        recorder.lost(other, None, reason)


def _tell_kind(
    error: ProviderError, word: str | None, status: int | None, recorder: LossRecorder
) -> None:
    if _kind_of(error.message, word, status) is not error.kind:
        recorder.lost(error, "kind", "the word and the code tell the kind", kind="approximated")


def _had_none(mine: Wire, key: str) -> bool:
    """Whether the wire had no such key, or something else under it."""
    return key in mine or did_without(mine, key)


def _word(error: ProviderError, mine: Wire, recorder: LossRecorder) -> str | None:
    """The status word: Google's own, or the one for the kind."""
    if error.code is None:
        return None if _had_none(mine, "status") else tables.ERROR_WORDS[error.kind]
    if error.code in tables.ERRORS or form_in(mine).get("own"):
        return error.code
    recorder.lost(error, "code", "only Google's own words are known here", kind="approximated")
    return tables.ERROR_WORDS[error.kind]
