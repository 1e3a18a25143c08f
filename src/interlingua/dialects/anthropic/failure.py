"""Error bodies, also as hosts other than Anthropic shape them."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.anthropic.kept import form_of, is_odd, pack, put_back, spare
from interlingua.dialects.anthropic.tables import ERRORS, NAME, NEAR_ERRORS, OVERFLOW
from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.shape import ShapeError
from interlingua.model.base import Raw
from interlingua.model.exchange import ErrorKind, ProviderError, Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, MessageStatus, StopReason

_ERROR = frozenset({"type", "message"})
_BODY = frozenset({"type", "error"})
_BARE = frozenset({"message"})


def is_failure(wire: Wire) -> bool:
    if "content" in wire:
        return wire.get("type") == "error"
    return "error" in wire or wire.get("type") == "error" or type(wire.get("message")) is str


def read_failure(wire: Wire) -> Response:
    form: Wire = {}
    if "error" not in wire:
        error = _plain(_text(wire, form), {"shape": "bare", **form})
        form = {}
        known = _BARE
    else:
        error = _read_error(wire["error"])
        known = _BODY
        if "type" not in wire:
            form["untyped"] = True
    if wire.get("type") not in (None, "error"):
        known = known - {"type"}
    metadata = MessageMetadata(
        protocol=NAME,
        stop_reason=StopReason.ERROR,
        status=MessageStatus.ERROR,
        error_message=error.message,
    )
    spelled: Wire = {"type": None} if "type" in wire and wire["type"] is None else {}
    raw = spare(wire, known, spelled, form)
    return Response(Message(Role.ASSISTANT, metadata=metadata), error=error, raw=raw)


def _read_error(wire: Any) -> ProviderError:
    if type(wire) is str:
        return _plain(wire, {"shape": "string"})
    if type(wire) is not dict:
        raise ShapeError(".error", "an object", wire)
    form: Wire = {}
    code = wire.get("type")
    if type(code) is not str:
        code, form["untyped"] = None, True
    elif code not in ERRORS.words:
        form["odd"] = True
    message = _text(wire, form)
    known = _ERROR if code is not None else _ERROR - {"type"}
    raw = spare(wire, known, {}, form)
    return ProviderError(_kind_of(code, message), message, code, raw=raw)


def _text(wire: Wire, form: Wire) -> str:
    message = wire.get("message")
    if type(message) is str:
        return message
    if message is not None:
        raise ShapeError(".error.message", "a string", message)
    form["silent"] = "null" if "message" in wire else "absent"
    return ""


def _plain(message: str, form: Wire) -> ProviderError:
    """An error that is only its message."""
    return ProviderError(ErrorKind.OTHER, message, raw=pack({}, {}, form))


def _kind_of(code: str | None, message: str) -> ErrorKind:
    if code is None:
        return ErrorKind.OTHER
    if code == "invalid_request_error" and OVERFLOW.search(message):
        return ErrorKind.CONTEXT_OVERFLOW
    return ERRORS.read(code) or ErrorKind.OTHER


def write_failure(response: Response, error: ProviderError, scribe: Scribe) -> Wire:
    form = form_of(error.raw)
    shape = form.get("shape") if error.kind is ErrorKind.OTHER and error.code is None else None
    if shape == "bare":
        out: Wire = {"message": error.message}
        _respell_message(out, error, form)
    elif shape == "string":
        out = {"type": "error", "error": error.message}
    else:
        out = {"type": "error", "error": _write_error(error, form, scribe)}
    if error.raw is not None and shape is not None:
        scribe.unsaid_raw(error, error.raw)
    body = form_of(response.raw)
    if response.raw is not None:
        out = _but_type(out, response.raw, body)
        put_back(out, response, response.raw, scribe)
    _report(response, error, scribe)
    return out


def _but_type(out: Wire, raw: Raw, form: Wire) -> Wire:
    """Without `type` where the wire had none, or another one."""
    if form.get("untyped") or "type" in raw.get(NAME, ()) or "type" in form.get("spelled", ()):
        return {key: item for key, item in out.items() if key != "type"}
    return out


def _write_error(error: ProviderError, form: Wire, scribe: Scribe) -> Wire:
    out: Wire = {"message": error.message}
    _respell_message(out, error, form)
    if not (form.get("untyped") and error.code is None and error.kind is ErrorKind.OTHER):
        out["type"] = _word(error, scribe)
    if error.raw is not None:
        put_back(out, error, error.raw, scribe)
    return out


def _respell_message(out: Wire, error: ProviderError, form: Wire) -> None:
    if not error.message and "silent" in form:
        out["message"] = None
        if form["silent"] == "absent":
            del out["message"]


def _word(error: ProviderError, scribe: Scribe) -> str:
    code = error.code
    ours = code in ERRORS.words or is_odd(error.raw)
    if code is not None and ours and _kind_of(code, error.message) is error.kind:
        return code
    word = NEAR_ERRORS.get(error.kind) or ERRORS.write(error.kind) or "api_error"
    if _kind_of(word, error.message) is not error.kind:
        scribe.lost(error, "kind", f"said as {word}", kind="approximated")
    if code is not None:
        scribe.lost(error, "code", f"said as {word}", kind="approximated")
    return word


def _report(response: Response, error: ProviderError, scribe: Scribe) -> None:
    if error.status is not None:
        scribe.lost(error, "status", "no part of a body", severity="info")
    message = response.message
    for block in message.content:
        scribe.dropped(block, "an error has no content")
    if message.metadata.stop_reason is not StopReason.ERROR:
        scribe.lost(message, "metadata.stop_reason", "an error is its own", kind="approximated")
    if message.metadata.usage is not None:
        scribe.lost(message, "metadata.usage", "an error has none")
    if message.metadata.error_message not in (None, error.message):
        scribe.lost(message, "metadata.error_message", "said by the error itself")
