"""Error bodies, also as hosts other than Anthropic shape them."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.anthropic.tables import ERRORS, NAME, NEAR_ERRORS, OVERFLOW
from interlingua.dialects.kernel.errors import (
    below,
    failed_answer,
    tell_error_word,
    unwritten_answer,
    want,
)
from interlingua.dialects.kernel.fields import Reading, Table, lost, together, usual
from interlingua.dialects.kernel.kept import Kept, did_without, form_of, keep, mine_of, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.exchange import ErrorKind, ProviderError, Response


def is_error(wire: Wire) -> bool:
    if "content" in wire:
        return wire.get("type") == "error"
    return "error" in wire or wire.get("type") == "error" or type(wire.get("message")) is str


def _kind_of(code: str | None, message: str) -> ErrorKind:
    if code is None:
        return ErrorKind.OTHER
    if code == "invalid_request_error" and OVERFLOW.search(message):
        return ErrorKind.CONTEXT_OVERFLOW
    return ERRORS.read(code) or ErrorKind.OTHER


def _read_words(given: Wire) -> Reading:
    message, code = given.get("message", ""), given.get("type")
    code = code if type(code) is str else None
    message = want(message, str, ".message")
    return {"kind": _kind_of(code, message), "code": code, "message": message}


def _write_words(error: Any, recorder: LossRecorder) -> Wire:
    code, message = error.code, error.message
    if code is not None and code in ERRORS.words and _kind_of(code, message) is error.kind:
        return {"type": code, "message": message}
    word = NEAR_ERRORS.get(error.kind) or ERRORS.write(error.kind) or "api_error"
    tell_error_word(error, word, _kind_of, recorder)
    return {"type": word, "message": message}


ERROR = Table(
    ProviderError,
    together(("type", "message"), ("kind", "code", "message"), _read_words, _write_words),
    lost("status", "no part of a body", severity="info"),
)


BODY = Table(None, usual("type", "error", filled=True), beside=("error",))
"""What is beside the error."""
BARE = Table(None, beside=("message",))
"""A body that is only a message, as a host in front of the service sends it."""
_SHAPE = "shape"


def read_error(wire: Wire) -> Response:
    kept = Kept()
    if "error" in wire:
        BODY.read(wire, kept)
        error = _read_error(wire["error"])
    else:
        BARE.read(wire, kept)
        error = _plain(wire, "bare")
    return failed_answer(NAME, error).replace(raw=kept.raw(NAME))


def _read_error(given: Any) -> ProviderError:
    if type(given) is str:
        return _plain({"message": given}, "string")
    kept = Kept()
    attrs = below(".error", ERROR.read, want(given, dict, ".error"), kept)
    if not attrs:
        attrs = {"kind": ErrorKind.OTHER, "message": ""}
        kept.miss_any(given, sorted(ERROR.keys))
    return ProviderError(**attrs, raw=kept.raw(NAME))


def _plain(wire: Wire, shape: str) -> ProviderError:
    """An error that is only its message."""
    form: Wire = {_SHAPE: shape}
    message = wire.get("message")
    if message is None:
        form["spelled" if "message" in wire else "absent"] = {"message": None}
    text = "" if message is None else want(message, str, ".message")
    return ProviderError(ErrorKind.OTHER, text, raw=keep(NAME, None, form))


def write_error(response: Response, error: ProviderError, recorder: LossRecorder) -> Wire:
    form, body = form_of(NAME, error.raw), mine_of(NAME, response.raw)
    shape = form.get(_SHAPE) if error.kind is ErrorKind.OTHER and error.code is None else None
    if error.status is not None and shape is not None:
        recorder.lost(error, "status", "no part of a body", severity="info")
    out: Wire = {}
    if shape == "bare":
        silent = not error.message and ("spelled" in form or "absent" in form)
        if not silent or "spelled" in form:
            out["message"] = None if silent else error.message
    else:
        if "type" not in body and not did_without(body, "type"):
            out["type"] = "error"
        out["error"] = error.message if shape == "string" else ERROR.write_value(error, recorder)
    if error.raw is not None and shape is not None:
        recorder.unwritten_raw(error, error.raw)
    unwritten_answer(response, recorder)
    if response.message.metadata.error_message not in (None, error.message):
        recorder.lost(response.message, "metadata.error_message", "said by the error itself")
    return put_back(out, response, response.raw, recorder)
