"""Error bodies: a text alone, judged by its words."""

from __future__ import annotations

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.ollama.shape import form_of, put_back, spare
from interlingua.dialects.ollama.tables import HINTS, NAME, STATUSES
from interlingua.dialects.shape import ShapeError, may_take
from interlingua.model.exchange import ErrorKind, ProviderError, Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, MessageStatus, StopReason


def read_error(wire: Wire) -> Response:
    spelled: Wire = {}
    form: Wire = {}
    text = wire.get("error")
    if type(text) is dict and type(text.get("message")) is str:  # a proxy's, as others spell it
        form["error"] = {key: item for key, item in text.items() if key != "message"}
        text = text["message"]
    if type(text) is not str:
        raise ShapeError(".error", "a string", text)
    status = may_take(wire, "status", int, spelled)
    if status is not None:
        form["status"] = True
    raw = spare(wire, ("error", "status"), spelled, form)
    error = ProviderError(kind_of(text, status), text, status=status, raw=raw)
    metadata = MessageMetadata(
        protocol=NAME,
        stop_reason=StopReason.ERROR,
        status=MessageStatus.ERROR,
        error_message=text,
    )
    return Response(Message(Role.ASSISTANT, metadata=metadata), error=error)


def kind_of(text: str, status: int | None) -> ErrorKind:
    for pattern, kind in HINTS:
        if pattern.search(text):
            return kind
    return STATUSES.get(status, ErrorKind.OTHER) if status is not None else ErrorKind.OTHER


def write_error(response: Response, error: ProviderError, scribe: Scribe) -> Wire:
    form = form_of(error.raw)
    own = form.get("error")
    out: Wire = {"error": {**own, "message": error.message} if own is not None else error.message}
    status = None
    if form.get("status"):
        status = error.status
        if status is not None:
            out["status"] = status
    elif error.status is not None:
        scribe.lost(error, "status", "said by the HTTP status", severity="info")
    if error.code is not None:
        scribe.lost(error, "code", severity="info")
    if kind_of(error.message, status) is not error.kind:
        scribe.lost(error, "kind", "told by its words alone", kind="approximated")
    _report_answer(response, scribe)
    if response.raw is not None:
        put_back(out, response, scribe, response.raw)
    return out if error.raw is None else put_back(out, error, scribe, error.raw)


def _report_answer(response: Response, scribe: Scribe) -> None:
    message, metadata = response.message, response.message.metadata
    for field, held in (("content", message.content), ("name", message.name)):
        if held:
            scribe.lost(message, field, "an error has no answer beside it")
    if metadata.usage is not None:
        scribe.lost(message, "metadata.usage", "an error has no usage", severity="info")
    if metadata.stop_reason is not StopReason.ERROR:
        scribe.lost(message, "metadata.stop_reason", "an error is said", "approximated", "info")
    for other in response.alternatives:
        scribe.lost(other, None, "an error has no answer beside it")
