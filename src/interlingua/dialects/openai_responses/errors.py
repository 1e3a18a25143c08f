"""Errors: in place of a response, and of a response that failed."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.kernel.errors import failed_answer, is_status
from interlingua.dialects.kernel.fields import Attrs, Table, together
from interlingua.dialects.kernel.kept import Kept, fill
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.openai import ERRORS, error_kind
from interlingua.dialects.openai_responses import tables
from interlingua.dialects.openai_responses.tables import NAME
from interlingua.dialects.openai_responses.text import form, own, put_back, raw_of, spare, written
from interlingua.model.exchange import ErrorKind, ProviderError, Response

_TEXT_KEYS = ("error", "detail", "message")
"""Where the text of an error may stand in a body without an error object (`$form.flat`)."""
_STATUS_KEYS = ("status", "statusCode")
_BESIDE = "$status"
"""Stands among the words of an error for the HTTP status that a body has beside it."""
_SAID = frozenset({"kind", "message", "code"})

# -- error objects --------------------------------------------------------------------------------


def _read_words(given: Wire) -> Attrs:
    """Some servers have the HTTP status as the code."""
    words, status = [given.get(key) for key in ("message", "code", "type")], given.get(_BESIDE)
    if status is None and is_status(words[1]):
        status = words[1]
    message, code, word = [each if type(each) is str else None for each in words]
    kind = error_kind(message or "", status, code, word)
    return {"kind": kind, "message": message or "", "code": code, "status": status}


def _write_words(error: Any, recorder: LossRecorder) -> Wire:
    other = error.kind is ErrorKind.OTHER
    word = tables.ERROR if other else ERRORS.write(error.kind)
    if error.status is not None:
        recorder.lost(error, "status")
    _tell_kind(error, recorder, None, error.code, word)
    code = {} if error.code is None else {"code": error.code}
    return {"message": error.message, **code, "type": word}


def _tell_kind(
    error: ProviderError, recorder: LossRecorder, status: int | None, *words: str | None
) -> None:
    again = error_kind(error.message, status, *words)
    if again is not error.kind:
        recorder.lost(error, "kind", f"reads as {again.value}", kind="approximated")


_ERROR = Table(
    ProviderError,
    together(
        ("message", "code", "type", _BESIDE),
        ("kind", "message", "code", "status"),
        _read_words,
        _write_words,
    ),
    blank=True,
)


def read_error(wire: Wire) -> ProviderError:
    kept = Kept()
    attrs = _ERROR.read(wire, kept)
    kept.miss_any(wire, _NULLS if attrs else ("message", "type", *_NULLS))
    return ProviderError(**attrs or _read_words({}), raw=kept.raw(NAME))


def write_error(error: ProviderError, recorder: LossRecorder) -> Wire:
    return fill(written(_ERROR, None, error, recorder), own(error.raw), _NULLS)


_NULLS: Wire = {"code": None, "param": None}
"""What is said even where there is nothing to say."""


def write_failed(error: ProviderError, recorder: LossRecorder) -> Wire:
    """The error of a response that failed: its codes are a closed set."""
    out = write_error(error, recorder)
    if not form(error.raw) and error.code not in tables.ERROR_CODES:
        if error.code is not None:
            recorder.lost(error, "code", "no code that a failed response may have")
        limited = error.kind is ErrorKind.RATE_LIMIT
        out["code"] = "rate_limit_exceeded" if limited else "server_error"
        _tell_kind(error, recorder, None, out["code"])
    return out


# -- bodies in place of a response ----------------------------------------------------------------


def is_failure(wire: Wire) -> bool:
    if "output" in wire or wire.get("object") == "response":
        return False
    return type(wire.get("error")) is dict or any(type(wire.get(key)) is str for key in _TEXT_KEYS)


def read_failure(wire: Wire) -> Response:
    inner, status = wire.get("error"), wire.get("status")
    if type(inner) is not dict:
        return failed_answer(NAME, _read_flat(wire))
    beside = is_status(status)
    error = read_error({**inner, _BESIDE: status} if beside else inner)
    rest, spelled = spare(wire, ("error", "status") if beside else ("error",))
    raw = raw_of(rest, {"spelled": spelled} if spelled else None)
    return failed_answer(NAME, error).replace(raw=raw)


def _read_flat(wire: Wire) -> ProviderError:
    """A text, and perhaps a code and a status."""
    key = next(key for key in _TEXT_KEYS if type(wire.get(key)) is str)
    number = next((name for name in _STATUS_KEYS if is_status(wire.get(name))), "")
    code = wire["code"] if type(wire.get("code")) is str else None
    rest, spelled = spare(wire, (key, number, key if code is None else "code"))
    spelling = {"flat": key, "status": number, "spelled": spelled}
    raw = raw_of(rest, {word: item for word, item in spelling.items() if item})
    status = wire.get(number)
    return ProviderError(error_kind(wire[key], status, code), wire[key], code, status, raw)


def write_failure(response: Response, error: ProviderError, recorder: LossRecorder) -> Wire:
    if "flat" in form(error.raw):
        return _write_flat(error, recorder)
    inner = write_error(error, recorder)
    status = inner.pop(_BESIDE, None)
    body: Wire = {"error": inner} if status is None else {"status": status, "error": inner}
    if response.raw is not None:
        recorder.unwritten_raw(response, response.raw)
    return put_back(body, response.raw)


def _write_flat(error: ProviderError, recorder: LossRecorder) -> Wire:
    spelling = form(error.raw)
    number = spelling.get("status")
    out: Wire = {spelling["flat"]: error.message}
    if error.code is not None:
        out["code"] = error.code
    if number is not None and error.status is not None:
        out[number] = error.status
    recorder.unwritten(error, _SAID if number is None else _SAID | {"status"})
    _tell_kind(error, recorder, error.status, error.code)
    return put_back(out, error.raw)
