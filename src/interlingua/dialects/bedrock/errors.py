"""Error bodies. The type of an error is in a header as a rule, and in `__type` where a body says
it; a body that says none is judged by its words."""

from __future__ import annotations

from interlingua.dialects.bedrock import tables
from interlingua.dialects.bedrock.tables import NAME
from interlingua.dialects.kernel.errors import (
    ShapeError,
    failed_answer,
    tell_error_word,
    unwritten_answer,
    want,
)
from interlingua.dialects.kernel.fields import Field, Table, lost, plain
from interlingua.dialects.kernel.kept import Kept, did_without, form_in, mine_of, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.exchange import ErrorKind, ProviderError, Response

TYPE = "__type"
_NAMES = {"message": ("Message", "errorMessage"), TYPE: ("code", "errorCode")}
"""Other names of both keys."""


def _bare(word: str) -> str:
    """`com.amazon.coral.validate#ValidationException:http://…` is a `ValidationException`."""
    return word.rpartition("#")[2].partition(":")[0]


ERROR = Table(
    ProviderError,
    plain("message", "message", str, missing=""),
    Field(
        TYPE,
        ("code",),
        lambda given: {"code": _bare(want(given, str))},
        lambda error, _: error.code if _bare(error.code) == error.code else None,
        fill=lambda _: None,
    ),
    lost("status", "said by the HTTP status", severity="info"),
    silent=("kind",),
)


def kind_of(code: str | None, text: str) -> ErrorKind:
    kind = tables.ERRORS.read(code) if code is not None else None
    if kind is None or kind is ErrorKind.INVALID_REQUEST:
        for pattern, hint in tables.HINTS:
            if (kind is None or hint is ErrorKind.CONTEXT_OVERFLOW) and pattern.search(text):
                return hint
    return kind or ErrorKind.OTHER


def read_error(wire: Wire) -> Response:
    kept = Kept()
    given = dict(wire)
    for key, others in _NAMES.items():
        name = next((each for each in (key, *others) if type(wire.get(each)) is str), key)
        if name != key and key not in wire:
            given[key] = given.pop(name)
            kept.form.setdefault("named", {})[key] = name
        elif type(given.get(key)) is not str and key in given:
            kept.add(key, given.pop(key))
    if "message" not in given and TYPE not in given:
        raise ShapeError("", "an output or an error", wire)
    attrs = {"message": "", "code": None, **ERROR.read(given, kept)}
    kind = kind_of(attrs["code"], attrs["message"])
    return failed_answer(NAME, ProviderError(kind, **attrs, raw=kept.raw(NAME)))


def write_error(response: Response, recorder: LossRecorder) -> Wire:
    error = response.error
    assert error is not None
    mine, out = mine_of(NAME, error.raw), _write(error, recorder)
    word = out.get(TYPE)
    says_none = word is None and error.code is None and did_without(mine, TYPE)
    code = None if word is None else _bare(word)
    if not says_none or kind_of(None, error.message) is not error.kind:
        if code is None or kind_of(code, error.message) is not error.kind:
            code = tables.NEAR_ERRORS.get(error.kind) or tables.ERRORS.write(error.kind)
            out[TYPE] = code = code or "InternalServerException"
        tell_error_word(error, code, kind_of, recorder)
    return _finish(out, response, error, recorder)


def write_exception(response: Response, recorder: LossRecorder) -> tuple[str, Wire]:
    """An error as a frame of a stream, which knows a few of them: the frame's name and data."""
    error = response.error
    assert error is not None
    code, out = error.code, _write(error, recorder)
    if code not in tables.STREAM_ERRORS or kind_of(code, error.message) is not error.kind:
        code = tables.NEAR_STREAM_ERRORS.get(error.kind, "InternalServerException")
    tell_error_word(error, code, kind_of, recorder)
    wire = _finish(out, response, error, recorder)
    named = form_in(mine_of(NAME, error.raw)).get("named", {})
    wire.pop(named.get(TYPE, TYPE), None)
    return code[:1].lower() + code[1:], wire


def _write(error: ProviderError, recorder: LossRecorder) -> Wire:
    out: Wire = {}
    ERROR.write(error, out, mine_of(NAME, error.raw), recorder)
    return out


def _finish(out: Wire, response: Response, error: ProviderError, recorder: LossRecorder) -> Wire:
    unwritten_answer(response, recorder)
    put_back(out, response, response.raw, recorder)
    return put_back(out, error, error.raw, recorder)
