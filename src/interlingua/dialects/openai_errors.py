"""Error bodies, which Chat Completions and the Responses API have alike, in the shapes that their
hosts answer with:

    {"error": {"message", "type", "param", "code"}}      perhaps with the HTTP status beside it
    {"message": "…", "type", "code", …}                   Mistral and others
    {"error": "…", "code", …}                             xAI and others
    {"detail": "…"} or a list of problems                 FastAPI

Under which key the text stands of an error that is the body itself, no field can tell
(`$form.text`)."""

from __future__ import annotations

from functools import partial
from typing import Any

from interlingua.dialects.kernel.errors import failed_answer, is_status
from interlingua.dialects.kernel.fields import Attrs, Table, together
from interlingua.dialects.kernel.preserved import (
    FORM,
    Preserved,
    fill,
    raw_of,
    restore,
    restore_raw,
    spelling_in,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.openai import ERROR_STATUS, ERRORS, error_kind
from interlingua.model.exchange import ErrorKind, ProviderError, Response
from interlingua.model.reasons import because

_TEXTS = ("error", "detail", "message")
_BESIDE = "$status"
"""Stands among the words of an error for the HTTP status that a body has beside it."""
_STATUS = (_BESIDE, "code", "raw_status_code", "status_code", "status", "statusCode")
_NULLS: Wire = {"param": None, "code": None}
"""What is said even where there is nothing to say."""
_ATTRS = ("kind", "message", "code", "status")


class ErrorBodies:
    """How one dialect tells errors: of which of two words the kind is read first, the type of one
    that is of no kind, and whether codes are HTTP statuses."""

    def __init__(
        self,
        name: str,
        *,
        first: str = "type",
        other: str | None = ERRORS.write(ErrorKind.OTHER),
        status_codes: bool = False,
    ) -> None:
        self._name, self._first, self._other = name, first, other
        self._status_codes = status_codes
        keys = ("type", *_STATUS, *(("metadata",) if status_codes else ()))
        self._tables = {
            text: Table(
                ProviderError,
                together(
                    (text, *keys),
                    _ATTRS,
                    partial(self._read_words, text),
                    partial(self._write_words, text),
                ),
                blank=True,
            )
            for text in _TEXTS
        }

    # -- the words --------------------------------------------------------------------------------

    def _read_words(self, text: str, fields: Wire) -> Attrs:
        found = [fields.get(key) for key in (text, "type", "code")]
        message, word, code = [each if type(each) is str else None for each in found]
        inner = fields.get("metadata") if self._status_codes else None
        if code is None and type(inner) is dict and type(inner.get("error_type")) is str:
            code = inner["error_type"]
        status = next((fields[key] for key in _STATUS if is_status(fields.get(key))), None)
        words = (word, code) if self._first == "type" else (code, word)
        kind = error_kind(message or "", status, *words)
        return {"kind": kind, "message": message or "", "code": code, "status": status}

    def _write_words(self, text: str, error: Any, recorder: LossRecorder) -> Wire:
        out: Wire = {text: error.message}
        if self._status_codes:
            if error.code is not None:
                out["metadata"] = {"error_type": error.code}
            known = error.status is not None
            out["code"] = error.status if known else ERROR_STATUS.write(error.kind)
        else:
            if error.code is not None:
                out["code"] = error.code
            if error.status is not None:
                recorder.lost(error, "status", severity="info")
        if not self._status_codes or self._read_words(text, out)["kind"] is not error.kind:
            other = error.kind is ErrorKind.OTHER
            out["type"] = self._other if other else ERRORS.write(error.kind)
        report_error_kind(error, self._read_words(text, out)["kind"], recorder)
        return out

    # -- an error object --------------------------------------------------------------------------

    def read(
        self, wire: Wire, text: str = "message", spelling: Wire | None = None
    ) -> ProviderError:
        """The text may be more than a text."""
        preserved, message = Preserved(spelling=spelling or {}), wire.get(text)
        if message is not None and type(message) is not str:
            preserved.hold(text, message)
            wire = {**wire, text: _text_of(message)}
        preserved.mark_any_absent(wire, _NULLS)
        attrs = self._tables[text].read(wire, preserved)
        if not attrs:
            preserved.mark_any_absent(wire, (text, "type"))
        return ProviderError(**attrs or self._read_words(text, {}), raw=preserved.raw(self._name))

    def write(self, error: ProviderError, recorder: LossRecorder) -> Wire:
        return self._write(error, raw_of(self._name, error.raw), "message", recorder)

    def _write(
        self, error: ProviderError, own_raw: Wire, text: str, recorder: LossRecorder
    ) -> Wire:
        out: Wire = {}
        self._tables[text].write(error, out, own_raw, recorder)
        if text in own_raw and text in out and _text_of(own_raw[text]) == error.message:
            out[text] = own_raw[text]
        if not self._status_codes:
            fill(out, own_raw, _NULLS)
        if error.raw is not None:
            recorder.unwritten_raw(error, error.raw)
        return restore(out, own_raw)

    # -- a body -----------------------------------------------------------------------------------

    def read_failure(self, wire: Wire) -> Response:
        inner, status = wire.get("error"), wire.get("status")
        if type(inner) is not dict:
            texts = [key for key in _TEXTS if type(wire.get(key)) is str]
            text = texts[0] if texts else "detail" if "detail" in wire else "message"
            return failed_answer(self._name, self.read(wire, text, {"text": text}))
        around, beside = Preserved(), is_status(status)
        around.add_others(wire, ("error", "status") if beside else ("error",))
        error = self.read({**inner, _BESIDE: status} if beside else inner)
        return failed_answer(self._name, error).replace(raw=around.raw(self._name))

    def write_failure(
        self, response: Response, error: ProviderError, recorder: LossRecorder
    ) -> Wire:
        _account(response, error, recorder)
        own_raw = _as_now(raw_of(self._name, error.raw), error)
        text = spelling_in(own_raw).get("text")
        wire = self._write(error, own_raw, text or "message", recorder)
        if text is None:
            status = wire.pop(_BESIDE, None)
            wire = {"error": wire} if status is None else {"status": status, "error": wire}
        return wire if response.raw is None else restore_raw(wire, response, response.raw, recorder)


def report_error_kind(error: ProviderError, again: ErrorKind, recorder: LossRecorder) -> None:
    if again is not error.kind:
        recorder.lost(error, "kind", because("read_as", value=again.value), kind="approximated")


def _text_of(value: Any) -> str:
    """A text; the problems of a validation in one line."""
    if type(value) is str:
        return value
    problems = value if type(value) is list else [value]
    texts = [each.get("msg") or each.get("message") for each in problems if type(each) is dict]
    return "; ".join([text for text in texts if type(text) is str])


_SHAPES = {"top": "message", "string": "error", "detail": "detail"}


def _as_now(own_raw: Wire, error: ProviderError) -> Wire:
    """What was kept, in the words of now. Those of before were `shape` in Chat Completions, `flat`
    and `status` in Responses, and what the wire did without was not kept beside most of them."""
    spelling = spelling_in(own_raw)
    text = spelling.get("flat") or _SHAPES.get(spelling.get("shape", ""))
    if text is None:
        return own_raw
    now = {**spelling, "text": text}
    if spelling.get("shape") != "top":
        now["absent"] = ["type", "param", *(["code"] if error.code is None else [])]
    if "status" in spelling:
        now["as"] = {spelling["status"]: error.status}
    return {**own_raw, FORM: now}


def _account(response: Response, error: ProviderError, recorder: LossRecorder) -> None:
    """An error body has no place for a message."""
    message, metadata = response.message, response.message.metadata
    for each in (message, *response.alternatives):
        for block in each.content:
            recorder.dropped(block, because("error_without_message"))
    for field in ("usage", "response_id", "response_model"):
        if getattr(metadata, field) is not None:
            recorder.lost(message, f"metadata.{field}", because("error_without_message"))
    if metadata.error_message not in (None, error.message):
        recorder.lost(message, "metadata.error_message", because("error_has_message"))
