"""Error bodies: `{"error": {"code", "message", "status", "details"}}`, at times in a list. A text
alone in place of the object has the word `string`."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.gemini import tables
from interlingua.dialects.gemini.tables import NAME
from interlingua.dialects.kernel.errors import below, failed_answer, want
from interlingua.dialects.kernel.fields import NOT_OURS, Field, Reading, Table, plain
from interlingua.dialects.kernel.kept import Kept, form_of, keep, kept, mine_of, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.exchange import ErrorKind, ProviderError, Response


def _kind_of(message: str, word: str | None, status: int | None) -> ErrorKind:
    if word in (None, "INVALID_ARGUMENT"):
        for phrase, kind in tables.ERROR_PHRASES.items():
            if phrase in message:
                return kind
    if word in tables.ERRORS:
        return tables.ERRORS[word][0]
    return tables.STATUS_KINDS.get(status or 0, ErrorKind.OTHER)


def _read_word(given: Any) -> Reading:
    return {"code": given} if type(given) is str else NOT_OURS


def _write_word(error: Any, recorder: LossRecorder) -> str | None:
    """Google's own word, or the one for the kind; one that it made up goes home as a spelling."""
    if error.code not in tables.ERRORS:
        recorder.lost(error, "code", "only Google's own words are known here", kind="approximated")
        return tables.ERROR_WORDS.get(error.kind)
    word: str = error.code
    return word


def _status_of(error: Any) -> int:
    word = error.code if error.code in tables.ERRORS else tables.ERROR_WORDS[error.kind]
    return tables.ERRORS[word][1]


ERROR = Table(
    ProviderError,
    plain("message", "message", str, missing=""),
    plain("code", "status", int, lenient=True, fill=_status_of),
    Field(
        "status",
        ("code",),
        _read_word,
        _write_word,
        fill=lambda error: tables.ERROR_WORDS[error.kind],
    ),
    Field("", ("kind",), lambda _: {}, lambda _, __: None),  # said by all of them together
)


def read_failure(wire: Wire, kept: Kept) -> Response:
    """An empty message of status `error`, and the error."""
    kept.add_others(wire, ("error",))
    error = below(".error", _read_error, wire["error"])
    return failed_answer(NAME, error).replace(raw=kept.raw(NAME))


def _read_error(given: Any) -> ProviderError:
    if type(given) is str:
        raw = keep(NAME, None, {"string": True})
        return ProviderError(_kind_of(given, None, None), given, raw=raw)
    kept = Kept()
    attrs = ERROR.read(want(given, dict), kept)
    kind = _kind_of(attrs["message"], attrs.get("code"), attrs.get("status"))
    return ProviderError(kind, **attrs, raw=kept.raw(NAME))


def write_failure(response: Response, error: ProviderError, recorder: LossRecorder) -> Wire:
    _tell_message(response, recorder)
    out: Wire = {}
    bare = error.code is None and error.status is None and not kept(NAME, error.raw)
    if text_alone := bare and form_of(NAME, error.raw).get("string"):
        recorder.unwritten(error, frozenset({"kind", "message"}))
    else:
        ERROR.write(error, out, mine_of(NAME, error.raw), recorder)
    if _kind_of(error.message, out.get("status"), out.get("code")) is not error.kind:
        recorder.lost(error, "kind", "the word and the code tell the kind", kind="approximated")
    return {"error": error.message if text_alone else put_back(out, error, error.raw, recorder)}


def _tell_message(response: Response, recorder: LossRecorder) -> None:
    reason = "an error body has no message"
    for block in response.message.content:
        recorder.dropped(block, reason)
    if response.message.metadata.usage is not None:
        recorder.lost(response.message, "metadata.usage", reason)
    for other in response.alternatives:
        recorder.lost(other, None, reason)
