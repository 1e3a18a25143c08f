"""Error bodies, and errors that an interaction has which failed."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.gemini_interactions.tables import (
    ERROR_STATUSES,
    ERRORS,
    NAME,
    OVERFLOW,
)
from interlingua.dialects.kernel.errors import ShapeError, failed_answer, unwritten_answer, want
from interlingua.dialects.kernel.fields import Attrs, Reading, Table, together
from interlingua.dialects.kernel.kept import Kept, form_in, keep, mine_of, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.exchange import ErrorKind, ProviderError, Response


def _kind_of(code: str | None, status: int | None, message: str) -> ErrorKind:
    kind = None if code is None else ERRORS.read(code.lower())
    if kind is None and status is not None:
        kind = ERROR_STATUSES.get(status)
    if kind in (None, ErrorKind.INVALID_REQUEST) and OVERFLOW in message:
        return ErrorKind.CONTEXT_OVERFLOW
    return kind or ErrorKind.OTHER


def _read_words(given: Wire) -> Reading:
    """A code is a word; or a number with a word beside it, as Google's services have it."""
    code, word, message = given.get("code"), given.get("status"), given.get("message", "")
    attrs: Attrs = {"message": want(message, str, ".message")}
    number = code if type(code) is int else None
    text = next((each for each in (code, word) if type(each) is str and each), None)
    if text is not None:
        attrs["code"] = text
    if number is not None:
        attrs["status"] = number
    return {**attrs, "kind": _kind_of(text, number, attrs["message"])}


def _write_words(error: Any, recorder: LossRecorder) -> Wire:
    code, message = error.code, error.message
    if error.status is not None:
        recorder.lost(error, "status", "no part of a body", severity="info")
    if code is not None and _kind_of(code, None, message) is error.kind:
        return {"code": code, "message": message}
    word = _WORDS.get(error.kind) or ERRORS.write(error.kind) or "unknown"
    if _kind_of(word, None, message) is not error.kind:
        recorder.lost(error, "kind", f"said as {word}", kind="approximated")
    if code is not None:
        recorder.lost(error, "code", f"said as {word}", kind="approximated")
    return {"code": word, "message": message}


_WORDS = {ErrorKind.CONTEXT_OVERFLOW: "invalid_request"}
ERROR = Table(
    ProviderError,
    together(
        ("code", "status", "message"),
        ("kind", "code", "status", "message"),
        _read_words,
        _write_words,
    ),
)


def read_error(given: Any) -> ProviderError:
    """An error object; a text alone is one from a host in front of the service."""
    if type(given) is str:
        return ProviderError(ErrorKind.OTHER, given, raw=keep(NAME, None, {"text": True}))
    kept = Kept()
    attrs = ERROR.read(want(given, dict), kept)
    if not attrs:
        attrs = {"kind": ErrorKind.OTHER, "message": ""}
        kept.form["absent"] = ["code", "message"]
    return ProviderError(**attrs, raw=kept.raw(NAME))


def write_error(error: ProviderError, recorder: LossRecorder) -> Any:
    mine = mine_of(NAME, error.raw)
    out: Wire = {}
    if form_in(mine).get("text") and error.kind is ErrorKind.OTHER and error.code is None:
        recorder.unwritten(error, frozenset({"kind", "message"}))
        return error.message
    ERROR.write(error, out, mine, recorder)
    return out if error.raw is None else put_back(out, error, error.raw, recorder)


def read_failure(wire: Wire) -> Response:
    """A body that is an error in place of an interaction."""
    kept = Kept()
    kept.add_others(wire, frozenset({"error"}))
    try:
        error = read_error(wire["error"])
    except ShapeError as odd:
        raise odd.inside(".error") from None
    return failed_answer(NAME, error).replace(raw=kept.raw(NAME))


def write_failure(response: Response, error: ProviderError, recorder: LossRecorder) -> Wire:
    out: Wire = {"error": write_error(error, recorder)}
    unwritten_answer(response, recorder)
    return out if response.raw is None else put_back(out, response, response.raw, recorder)
