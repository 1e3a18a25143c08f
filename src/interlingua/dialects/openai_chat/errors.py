"""Error bodies, in the four shapes that hosts answer with:

error     {"error": {"message", "type", "param", "code"}}
string    {"error": "…"}
top       {"object": "error", "message", "type", "code"}   (Mistral and others)
detail    {"detail": "…"} or a list of problems             (FastAPI)"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from interlingua.dialects.kernel.errors import failed_answer, is_status
from interlingua.dialects.kernel.fields import Attrs, Table, together
from interlingua.dialects.kernel.kept import Kept, fill, form_in, mine_of, put_back, restore
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.openai import ERROR_STATUS, ERRORS, error_kind
from interlingua.dialects.openai_chat.tables import STATUS_KEYS, Tables
from interlingua.model.exchange import ProviderError, Response


def is_failure(wire: Wire) -> bool:
    """Whether a body is an error, even one that came with status 200."""
    if wire.get("error"):
        return True
    if "choices" in wire:
        return False
    return "detail" in wire or type(wire.get("message")) is str or "error" in wire


# -- the object -----------------------------------------------------------------------------------


@cache
def _error(t: Tables) -> Table:
    keys = ("message", "type", "code", *STATUS_KEYS, *(("metadata",) if t.status_codes else ()))
    attrs = ("kind", "message", "code", "status")
    return Table(
        ProviderError, together(keys, attrs, partial(_read_words, t), partial(_write_words, t))
    )


def _read_words(t: Tables, given: Wire) -> Attrs:
    message, code, word = given.get("message", ""), given.get("code"), given.get("type")
    word = word if type(word) is str and word else None
    numbers = [given.get(key) for key in ("code", *STATUS_KEYS)]
    status = next((number for number in numbers if is_status(number)), None)
    if type(code) is not str:
        inner = given.get("metadata") if t.status_codes else None
        code = inner.get("error_type") if type(inner) is dict else None
        code = code if type(code) is str else None
    kind = error_kind(message, status, word, code)
    return {"kind": kind, "message": message, "code": code, "status": status}


def _write_words(t: Tables, error: ProviderError, recorder: LossRecorder) -> Wire:
    out: Wire = {"message": error.message}
    if t.status_codes:
        if error.code is not None:
            out["metadata"] = {"error_type": error.code}
        known = error.status is not None
        out["code"] = error.status if known else ERROR_STATUS.write(error.kind)
    elif error.code is not None:
        out["code"] = error.code
    if error.status is not None and not t.status_codes:
        recorder.lost(error, "status", severity="info")
    if not t.status_codes or _read_words(t, out)["kind"] is not error.kind:
        out["type"] = ERRORS.write(error.kind)
    if _read_words(t, out)["kind"] is not error.kind:
        recorder.lost(error, "kind", "its code or status says otherwise", "approximated")
    return out


# -- reading --------------------------------------------------------------------------------------


def read_failure(wire: Wire, t: Tables) -> Response:
    around, error = Kept(), wire.get("error")
    if type(error) is dict:
        failure = _read_object(error, t, Kept())
    elif type(error) is str:
        failure = _plain(error, t, Kept(form={"shape": "string"}))
    elif "detail" in wire:
        failure = _read_detail(wire["detail"], t)
    else:
        failure = _read_object(wire, t, Kept(form={"shape": "top"}))
        wire = {}
    around.add_others(wire, ("error",) if type(error) in (dict, str) else ("detail",))
    return failed_answer(t.name, failure).replace(raw=around.raw(t.name))


def _read_object(error: Wire, t: Tables, kept: Kept) -> ProviderError:
    kept.miss_any(error, ("param", "code"))
    if type(error.get("message", "")) not in (str, type(None)):
        kept.hold("message", error["message"])
        error = {key: value for key, value in error.items() if key != "message"}
    attrs = _error(t).read(error, kept)
    if not attrs:  # not even a word
        attrs = _read_words(t, {})
        kept.miss_any(error, _error(t).keys)
    return ProviderError(**attrs, raw=kept.raw(t.name))


def _read_detail(detail: Any, t: Tables) -> ProviderError:
    kept = Kept(form={"shape": "detail"})
    if type(detail) is not str:
        kept.hold("detail", detail)
    return _plain(_detail_text(detail), t, kept)


def _detail_text(detail: Any) -> str:
    """The problems of a validation error in one line."""
    if type(detail) is str:
        return detail
    problems = detail if type(detail) is list else [detail]
    texts = [each.get("msg") or each.get("message") for each in problems if type(each) is dict]
    return "; ".join([text for text in texts if type(text) is str])


def _plain(message: str, t: Tables, kept: Kept) -> ProviderError:
    """An error that is only its message."""
    return ProviderError(error_kind(message, None), message, raw=kept.raw(t.name))


# -- writing --------------------------------------------------------------------------------------


def write_failure(
    response: Response, error: ProviderError, t: Tables, recorder: LossRecorder
) -> Wire:
    mine = mine_of(t.name, error.raw)
    shape = form_in(mine).get("shape")
    bare = error.code is None and error_kind(error.message, None) is error.kind
    _account(response, error, recorder)
    if shape in ("string", "detail") and bare:
        recorder.unwritten(error, frozenset({"kind", "message", "code"}))
        detail = mine.get("detail", error.message)
        same = shape == "detail" and _detail_text(detail) == error.message
        wire: Wire = {"error" if shape == "string" else shape: detail if same else error.message}
    else:
        wire = _write_object(error, mine if shape in (None, "top") else {}, t, recorder)
        wire = wire if shape == "top" else {"error": wire}
    return wire if response.raw is None else put_back(wire, response, response.raw, recorder)


def _write_object(error: ProviderError, mine: Wire, t: Tables, recorder: LossRecorder) -> Wire:
    out: Wire = {}
    _error(t).write(error, out, mine, recorder)
    if not t.status_codes:
        fill(out, mine, {"param": None, "code": None})
    if error.raw is not None:
        recorder.unwritten_raw(error, error.raw)
    return restore(out, mine)


def _account(response: Response, error: ProviderError, recorder: LossRecorder) -> None:
    """An error body has no place for a message."""
    message, metadata = response.message, response.message.metadata
    for each in (message, *response.alternatives):
        for block in each.content:
            recorder.dropped(block, "an error has no message")
    for field in ("usage", "response_id", "response_model"):
        if getattr(metadata, field) is not None:
            recorder.lost(message, f"metadata.{field}", "an error has no message", severity="info")
    if metadata.error_message not in (None, error.message):
        recorder.lost(message, "metadata.error_message", "the error has a message of its own")
