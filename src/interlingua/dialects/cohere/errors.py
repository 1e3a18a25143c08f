"""Error bodies: a text and an id; some say a word for what is wrong."""

from __future__ import annotations

from interlingua.dialects.cohere.tables import CODES, HINTS, NAME
from interlingua.dialects.kernel.errors import failed_answer, take, unwritten_answer
from interlingua.dialects.kernel.fields import Table, lost, plain
from interlingua.dialects.kernel.kept import Kept, mine_of, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import hinted
from interlingua.model.exchange import ErrorKind, ProviderError, Response

ERROR = Table(
    ProviderError,
    plain("message", "message", str),
    plain("error_type", "code", str),
    lost("status", "said by the HTTP status", severity="info"),
    silent=("kind",),
)


def kind_of(text: str, code: str | None = None) -> ErrorKind:
    known = CODES.read(code) if code is not None else None
    if known is not None:
        return known
    return hinted(text, HINTS) or ErrorKind.OTHER


def read_error(wire: Wire) -> Response:
    take(wire, "message", str)
    kept = Kept()
    attrs = ERROR.read(wire, kept)
    kind = kind_of(attrs["message"], attrs.get("code"))
    return failed_answer(NAME, ProviderError(kind, **attrs, raw=kept.raw(NAME)))


def write_error(response: Response, error: ProviderError, recorder: LossRecorder) -> Wire:
    out: Wire = {}
    ERROR.write(error, out, mine_of(NAME, error.raw), recorder)
    if kind_of(error.message, error.code) is not error.kind:
        recorder.lost(error, "kind", "told by its words alone", kind="approximated")
    unwritten_answer(response, recorder)
    if response.raw is not None:
        put_back(out, response, response.raw, recorder)
    return out if error.raw is None else put_back(out, error, error.raw, recorder)
