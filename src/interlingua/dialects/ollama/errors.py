"""Error bodies: a text alone, judged by its words."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.kernel.errors import failed_answer, unwritten_answer, want
from interlingua.dialects.kernel.fields import Field, Reading, Table, lost
from interlingua.dialects.kernel.kept import Kept, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import hinted
from interlingua.dialects.ollama.tables import HINTS, NAME, STATUSES
from interlingua.model.exchange import ErrorKind, ProviderError, Response


def _read_text(given: Any) -> Reading:
    if type(given) is dict and type(given.get("message")) is str:  # a proxy's, as others spell it
        return {"message": given["message"]}
    return {"message": want(given, str)}


def _write_status(error: Any, recorder: LossRecorder) -> None:
    recorder.lost(error, "status", "said by the HTTP status", severity="info")


ERROR = Table(
    ProviderError,
    Field("error", ("message",), _read_text, lambda error, _: error.message),
    # Only some hosts put it into the body.
    Field("status", ("status",), lambda given: {"status": want(given, int)}, _write_status),
    lost("code", severity="info"),
    silent=("kind",),
)


def kind_of(text: str, status: int | None) -> ErrorKind:
    return hinted(text, HINTS) or STATUSES.get(status or 0, ErrorKind.OTHER)


def read_error(wire: Wire) -> Response:
    return failed_answer(NAME, error_of(wire))


def error_of(wire: Wire) -> ProviderError:
    kept = Kept()
    attrs = ERROR.read(wire, kept)
    if "message" not in attrs:
        want(None, str, ".error")
    kind = kind_of(attrs["message"], attrs.get("status"))
    return ProviderError(kind, **attrs, raw=kept.raw(NAME))


def write_error(response: Response, error: ProviderError, recorder: LossRecorder) -> Wire:
    out = ERROR.write_value(error, recorder)
    if kind_of(error.message, out.get("status")) is not error.kind:
        recorder.lost(error, "kind", "told by its words alone", kind="approximated")
    unwritten_answer(response, recorder)
    return put_back(out, response, response.raw, recorder)
