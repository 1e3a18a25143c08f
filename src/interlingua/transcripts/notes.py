"""What a format has no place for, kept beside what it shows, so that it comes back.

A line of another tool's file may carry one key of ours, which that tool ignores. It says how the
message differs from what the line alone would be read as, and which reading that was: once
somebody edits the line, the edit wins and the note is void.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import msgspec

from interlingua.errors import InterlinguaError
from interlingua.model.codec import dumps, loads
from interlingua.model.message import Message
from interlingua.transcripts.transcript import Transcript

KEY = "interlingua"

_ignoring = ContextVar("ignoring_notes", default=False)


@contextmanager
def ignoring_notes() -> Iterator[None]:
    """Inside, files are read as their own tools read them: our notes are passed over."""
    token = _ignoring.set(True)
    try:
        yield
    finally:
        _ignoring.reset(token)


def session_note(transcript: Transcript) -> dict[str, Any]:
    """What is to be kept of a session as a whole."""
    facts = {"id": transcript.id, "title": transcript.title, "folder": transcript.folder}
    return {key: value for key, value in facts.items() if value is not None}


def read_session_note(note: Any) -> dict[str, Any]:
    """What was kept of a session as a whole; nothing where there is none."""
    return note if isinstance(note, dict) and not _ignoring.get() else {}


def note_for(
    message: Message | None,
    shown: Message,
    before: Sequence[Message] = (),
    after: Sequence[Message] = (),
) -> dict[str, Any] | None:
    """The note to keep beside what is read again as `shown`; None if that is all there is.
    Without a message, what is shown was only added for the tool's sake. `before` and `after` are
    messages that could not be shown at all."""
    note: dict[str, Any] = {"of": shown.content_digest()}
    if message is None:
        note["added"] = True
    else:
        change = _difference(_plain(shown), _plain(message))
        if change is not None:
            note["is"] = change
    if before:
        note["before"] = [_plain(each) for each in before]
    if after:
        note["after"] = [_plain(each) for each in after]
    return note if len(note) > 1 else None


def apply_note(shown: Message, note: Any) -> list[Message]:
    """What was written where this is shown: one message, and those that could not be shown."""
    if not isinstance(note, dict) or _ignoring.get():
        return [shown]
    own = _own(shown, note) if note.get("of") == shown.content_digest() else shown
    found = [*_hidden(note.get("before")), own, *_hidden(note.get("after"))]
    return [each for each in found if each is not None]


def _own(shown: Message, note: dict[str, Any]) -> Message | None:
    if note.get("added") is True:
        return None
    try:
        return _loaded(_changed(_plain(shown), note.get("is"))) or shown
    except (TypeError, KeyError, IndexError, AttributeError):
        return shown  # the note was edited


def _hidden(messages: Any) -> list[Message | None]:
    each = messages if isinstance(messages, list) else []
    return [_loaded(plain) for plain in each]


def _loaded(plain: Any) -> Message | None:
    """A message of its JSON form; None for what is none, since files can be edited by anybody."""
    try:
        return loads(msgspec.json.encode(plain), Message)
    except (InterlinguaError, TypeError, ValueError):
        return None


def _plain(message: Message) -> Any:
    return msgspec.json.decode(dumps(message))


def _difference(old: Any, new: Any) -> dict[str, Any] | None:
    """What makes `new` of `old`; None if they are the same."""
    if type(old) is type(new) and old == new:
        return None
    if isinstance(old, dict) and isinstance(new, dict):
        inside = {key: _difference(old.get(key, ...), value) for key, value in new.items()}
        gone = [key for key in old if key not in new]
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = enumerate(zip(old, new, strict=True))
        inside = {str(index): _difference(first, second) for index, (first, second) in pairs}
        gone = []
    else:
        return {"new": new}
    change: dict[str, Any] = {"in": {key: each for key, each in inside.items() if each is not None}}
    return {**change, "gone": gone} if gone else change


def _changed(old: Any, change: Any) -> Any:
    """The inverse of `_difference`."""
    if change is None:
        return old
    if "new" in change:
        return change["new"]
    inside = change["in"]
    if isinstance(old, list):
        return [_changed(each, inside.get(str(index))) for index, each in enumerate(old)]
    members = old if isinstance(old, dict) else {}  # it was cut off the file
    remaining = {key: value for key, value in members.items() if key not in change.get("gone", ())}
    return {
        **remaining,
        **{key: _changed(remaining.get(key), each) for key, each in inside.items()},
    }
