"""Error bodies, in the four shapes that hosts answer with:

error     {"error": {"message", "type", "param", "code"}}
string    {"error": "…"}
top       {"object": "error", "message", "type", "code"}   (Mistral and others)
detail    {"detail": "…"} or a list of problems             (FastAPI)"""

from __future__ import annotations

from typing import Any

from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.openai_chat.shape import NOTHING, Note, form_in, mine_of, put_back
from interlingua.dialects.openai_chat.tables import (
    AUTH_SIGNS,
    ERROR_STATUS,
    ERROR_WORDS,
    ERRORS,
    OVERFLOW_SIGNS,
    STATUS_OF,
    Tables,
)
from interlingua.model.exchange import ErrorKind, ProviderError, Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, MessageStatus, StopReason

STATUS_KEYS = ("raw_status_code", "status_code", "status")


def is_failure(wire: Wire) -> bool:
    """Whether a body is an error, even one that came with status 200."""
    if wire.get("error"):
        return True
    if "choices" in wire:
        return False
    return "detail" in wire or type(wire.get("message")) is str or "error" in wire


# Reading


def read_failure(wire: Wire, t: Tables) -> Response:
    around, note = Note(), Note()
    error = wire.get("error")
    if type(error) is dict:
        around.leave(wire, ("error",), ())
        failure = _read_object(error, t, note)
    elif type(error) is str:
        note.form["shape"] = "string"
        around.leave(wire, ("error",), ())
        failure = _made(error, None, None, None, note, t)
    elif "detail" in wire:
        note.form["shape"] = "detail"
        around.leave(wire, ("detail",), ())
        failure = _read_detail(wire["detail"], t, note)
    else:
        note.form["shape"] = "top"
        failure = _read_object(wire, t, note)
    metadata = MessageMetadata(
        protocol=t.name,
        stop_reason=StopReason.ERROR,
        status=MessageStatus.ERROR,
        error_message=failure.message,
    )
    return Response(
        Message(Role.ASSISTANT, metadata=metadata), error=failure, raw=around.raw(t.name)
    )


def _read_object(error: Wire, t: Tables, note: Note) -> ProviderError:
    message, code, word = error.get("message"), error.get("code"), error.get("type")
    taken: set[str] = set()
    if type(message) is str:
        taken.add("message")
    else:
        note.form["no_message"] = True
    status = _read_status(error, t, note, taken)
    if type(code) is str:
        taken.add("code")
        if t.status_codes:
            note.form["code"] = "code"
    else:
        code = _read_inner_code(error, t, note, taken)
    if type(word) is str and word:
        taken.add("type")
        note.form["type"] = word
    note.leave(error, taken, ("message", "type", "param", "code"))
    note.absent(error, ("type", "param", "code"))
    text = message if type(message) is str else ""
    return _made(text, code, status, word if type(word) is str else None, note, t)


def _read_inner_code(error: Wire, t: Tables, note: Note, taken: set[str]) -> str | None:
    """The code where `code` is a number: OpenRouter's `metadata.error_type`."""
    inner = error.get("metadata")
    if not t.status_codes or type(inner) is not dict or type(inner.get("error_type")) is not str:
        return None
    taken.add("metadata")
    note.leave_inner(error, "metadata", ("error_type",))
    code: str = inner["error_type"]
    return code


def _read_status(error: Wire, t: Tables, note: Note, taken: set[str]) -> int | None:
    """The HTTP status, where a body repeats it: as a number for a code, or beside it."""
    for key in ("code", *STATUS_KEYS):
        value = error.get(key)
        if type(value) is int and 100 <= value < 600:
            taken.add(key)
            if not (t.status_codes and key == "code"):
                note.form["status"] = key
            return value
    return None


def _read_detail(detail: Any, t: Tables, note: Note) -> ProviderError:
    if type(detail) is not str:
        note.rest["detail"] = detail
        note.form["list"] = True
    return _made(_detail_text(detail), None, None, None, note, t)


def _detail_text(detail: Any) -> str:
    """The problems of a validation error in one line."""
    if type(detail) is str:
        return detail
    problems = detail if type(detail) is list else [detail]
    texts = [each.get("msg") or each.get("message") for each in problems if type(each) is dict]
    return "; ".join([text for text in texts if type(text) is str])


def _made(
    message: str, code: str | None, status: int | None, word: str | None, note: Note, t: Tables
) -> ProviderError:
    kind = kind_of(message, code, status, word)
    return ProviderError(kind, message, code, status, note.raw(t.name))


def kind_of(message: str, code: str | None, status: int | None, word: str | None) -> ErrorKind:
    """What went wrong: by the words of the body, then by the status, then by what it speaks of."""
    said = [ERROR_WORDS[each] for each in (word, code) if each in ERROR_WORDS]
    numbers = [int(each) for each in (code, word) if each and each.isdecimal() and len(each) == 3]
    said += [_status_kind(number) for number in (status, *numbers) if number is not None]
    speaks = message.lower()
    vague = {ErrorKind.INVALID_REQUEST, ErrorKind.OTHER}
    found = next((kind for kind in said if kind not in vague), said[0] if said else ErrorKind.OTHER)
    if found in vague and any(sign in speaks for sign in OVERFLOW_SIGNS):
        return ErrorKind.CONTEXT_OVERFLOW
    if not said and any(sign in speaks for sign in AUTH_SIGNS):
        return ErrorKind.AUTH
    return found


def _status_kind(status: int) -> ErrorKind:
    if status in ERROR_STATUS:
        return ERROR_STATUS[status]
    if status >= 500:
        return ErrorKind.SERVER_ERROR
    return ErrorKind.INVALID_REQUEST if status >= 400 else ErrorKind.OTHER


# Writing


def write_failure(
    response: Response, error: ProviderError, t: Tables, recorder: LossRecorder
) -> Wire:
    mine = mine_of(t.name, error.raw)
    form = form_in(mine)
    shape = form.get("shape", "error")
    recorder.unwritten(error, _SAID)
    _account(response, error, recorder)
    _account_kind(error, t, recorder, form)
    if shape == "string" and error.code is None and _is_kind(error, None):
        wire: Wire = {"error": error.message}
    elif shape == "detail" and error.code is None and _is_kind(error, None):
        detail = mine.get("detail")
        kept = form.get("list") and _detail_text(detail) == error.message
        wire = {"detail": detail if kept else error.message}
    elif shape == "top":
        wire = _write_object(error, t, recorder, mine, form)
    else:
        own = mine if shape == "error" else NOTHING
        wire = {"error": _write_object(error, t, recorder, own, form_in(own))}
    if response.raw is not None:
        recorder.unwritten_raw(response, response.raw)
    return put_back(wire, mine_of(t.name, response.raw))


def _account_kind(error: ProviderError, t: Tables, recorder: LossRecorder, form: Wire) -> None:
    """Words and numbers that contradict the kind are read as another."""
    seen = error if t.status_codes or "status" in form else error.replace(status=None)
    if not _is_kind(seen, _word(error, t, form)):
        recorder.lost(error, "kind", "its code or status says otherwise", "approximated")


def _is_kind(error: ProviderError, word: str | None) -> bool:
    return kind_of(error.message, error.code, error.status, word) is error.kind


def _write_object(
    error: ProviderError, t: Tables, recorder: LossRecorder, mine: Wire, form: Wire
) -> Wire:
    wire: Wire = {"message": error.message}
    if not error.message and form.get("no_message"):
        del wire["message"]
    word = _word(error, t, form)
    if word is not None:
        wire["type"] = word
    if t.status_codes and form.get("code") != "code":
        fillers = _write_number(error, wire, form)
    else:
        fillers = _write_code(error, wire, recorder, form)
    if word is not None and form.get("type") is None and _is_kind(error, None):
        fillers["type"] = word
    return put_back(wire, mine, fillers)


def _word(error: ProviderError, t: Tables, form: Wire) -> str | None:
    """The body's own word while it still means this kind; else the kind's."""
    own: str | None = form.get("type")
    if own is not None and _is_kind(error, own):
        return own
    return None if t.status_codes and _is_kind(error, None) else ERRORS[error.kind]


def _write_code(error: ProviderError, wire: Wire, recorder: LossRecorder, form: Wire) -> Wire:
    """A word for the code; the status only where the body repeated it. Gives the fillers."""
    spelled = form.get("status")
    if error.status is not None and spelled is not None and (spelled != "code" or not error.code):
        wire[spelled] = error.status
    elif error.status is not None:
        recorder.lost(error, "status", severity="info")
    fillers: Wire = {"param": None}
    if error.code is not None:
        wire["code"] = error.code
    elif "code" not in wire:
        fillers["code"] = None
    wire.update(fillers)
    return fillers


def _write_number(error: ProviderError, wire: Wire, form: Wire) -> Wire:
    """The status for the code, and the code inside. Gives the fillers."""
    if error.code is not None:
        wire["metadata"] = {"error_type": error.code}
    if error.status is not None:
        wire[form.get("status", "code")] = error.status
        return {}
    wire["code"] = STATUS_OF[error.kind]
    return {"code": wire["code"]}


def _account(response: Response, error: ProviderError, recorder: LossRecorder) -> None:
    """An error body has no place for a message."""
    message = response.message
    for block in message.content:
        recorder.dropped(block, "an error has no message")
    for each in response.alternatives:
        for block in each.content:
            recorder.dropped(block, "an error has no message")
    metadata = message.metadata
    for field in ("usage", "response_id", "response_model"):
        if getattr(metadata, field) is not None:
            recorder.lost(message, f"metadata.{field}", "an error has no message", severity="info")
    if metadata.error_message not in (None, error.message):
        recorder.lost(message, "metadata.error_message", "the error has a message of its own")


_SAID = frozenset({"kind", "message", "code", "status"})
