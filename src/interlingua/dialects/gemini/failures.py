"""Error bodies: `{"error": {"code", "message", "status", "details"}}`, at times in a list."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Scribe, Wire, keep
from interlingua.dialects.gemini.spelling import Taking, mine, spell
from interlingua.dialects.gemini.tables import (
    ERROR_PHRASES,
    ERROR_WORDS,
    ERRORS,
    NAME,
    STATUS_KINDS,
)
from interlingua.model.exchange import ErrorKind, ProviderError, Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, MessageStatus, StopReason

_SAID = frozenset({"kind", "message", "code", "status"})


def read_failure(body: Taking) -> Response:
    """An empty message of status `error`, and the error."""
    if type(text := body.left.get("error")) is str:
        del body.left["error"]
        error = ProviderError(
            kind_of(text, None, None), text, raw=keep(NAME, None, {"string": True})
        )
    else:
        inner = body.inside("error")
        assert inner is not None
        error = _read_error(inner)
    metadata = MessageMetadata(
        protocol=NAME,
        stop_reason=StopReason.ERROR,
        status=MessageStatus.ERROR,
        error_message=error.message,
    )
    return Response(Message(Role.ASSISTANT, metadata=metadata), error=error, raw=body.raw())


def _read_error(inner: Taking) -> ProviderError:
    message = inner.take("message", str, due=True) or ""
    code = status = None
    if type(inner.left.get("code")) is int:
        status = inner.left.pop("code")
    else:
        inner.form["codeless"] = True
    if type(inner.left.get("status")) is str:
        code = inner.left.pop("status")
        if code not in ERRORS:
            inner.form["own"] = True
    else:
        inner.form["wordless"] = True
    return ProviderError(kind_of(message, code, status), message, code, status, inner.raw())


def kind_of(message: str, word: str | None, status: int | None) -> ErrorKind:
    if word in (None, "INVALID_ARGUMENT"):
        for phrase, kind in ERROR_PHRASES.items():
            if phrase in message:
                return kind
    if word in ERRORS:
        return ERRORS[word][0]
    return STATUS_KINDS.get(status or 0, ErrorKind.OTHER)


def write_failure(response: Response, error: ProviderError, scribe: Scribe) -> Wire:
    _tell_message(response, scribe)
    rest, form = mine(error.raw)
    if error.raw is not None:
        scribe.unsaid(error, _SAID)
    word: str | None = None
    status = error.status
    wire: Any = error.message
    if not form.get("string") or rest or error.code is not None or status is not None:
        word = _word(error, form, scribe)
        if status is None and not form.get("codeless"):
            status = ERRORS[word][1] if word in ERRORS else 500
        wire = _write_error(error, word, status, rest, form)
    if kind_of(error.message, word, status) is not error.kind:
        scribe.lost(error, "kind", "the word and the code tell the kind", kind="approximated")
    return {"error": wire}


def _tell_message(response: Response, scribe: Scribe) -> None:
    reason = "an error body has no message"
    for block in response.message.content:
        scribe.dropped(block, reason)
    if response.message.metadata.usage is not None:
        scribe.lost(response.message, "metadata.usage", reason)
    for other in response.alternatives:
        scribe.lost(other, None, reason)


def _write_error(
    error: ProviderError, word: str | None, status: int | None, rest: Wire, form: Wire
) -> Wire:
    wire: Wire = {**rest, "message": error.message}
    if status is not None:
        wire["code"] = status
    if word is not None:
        wire["status"] = word
    return spell(wire, form)


def _word(error: ProviderError, form: Wire, scribe: Scribe) -> str | None:
    """The status word: Google's own, or the one for the kind."""
    if error.code is None:
        return None if form.get("wordless") else ERROR_WORDS[error.kind]
    if error.code in ERRORS or form.get("own"):
        return error.code
    scribe.lost(error, "code", "only Google's own words are known here", kind="approximated")
    return ERROR_WORDS[error.kind]
