"""Messages for another tool's file, and notes for data that the file has no place for.

Tools bring instructions of their own, so those at the beginning stay behind. What is left is retold
for the dialect of the tool's model, and each message still knows which one it was made of.

A line of another tool's file may carry one key of ours, which that tool ignores. It holds the
difference between the message and the line's own reading, and a digest of that reading: once the
line is edited, the edit wins and the note is void.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from interlingua.adapt.history.retell import retell
from interlingua.errors import InterlinguaError
from interlingua.model.blocks import (
    CompactionBlock,
    MediaBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.codec import dumps, loads
from interlingua.model.exchange import Request
from interlingua.model.losses import Loss, Report
from interlingua.model.message import Message, Role
from interlingua.model.reasons import because
from interlingua.transcripts.transcript import Transcript, is_summary

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
    """The data of a session as a whole."""
    facts = {"id": transcript.id, "title": transcript.title, "folder": transcript.folder}
    return {key: value for key, value in facts.items() if value is not None}


def read_session_note(note: Any) -> dict[str, Any]:
    """The stored data of a whole session; empty if there is none."""
    return note if isinstance(note, dict) and not _ignoring.get() else {}


def note_for(
    message: Message | None,
    shown: Message,
    before: Sequence[Message] = (),
    after: Sequence[Message] = (),
) -> dict[str, Any] | None:
    """The note for a message that is read again as `shown`; None if nothing is missing. Without a
    message, `shown` was only added for the tool. `before` and `after` are messages that could not
    be shown at all."""
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
    """The original messages of this reading: one message, and those that could not be shown."""
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
    """A message of its JSON form; None for other values, since files can be edited."""
    try:
        return loads(msgspec.json.encode(plain), Message)
    except (InterlinguaError, TypeError, ValueError):
        return None


def _plain(message: Message) -> Any:
    return msgspec.json.decode(dumps(message))


def _difference(old: Any, new: Any) -> dict[str, Any] | None:
    """The changes that turn `old` into `new`; None if they are the same."""
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


_INSTRUCTIONS = (Role.SYSTEM, Role.DEVELOPER)
_OF_THE_TOOL = (
    "<environment_context>",
    "<model_switch>",
    "<permissions instructions>",
    "<session_context>",
    "<skills_instructions>",
    "<user_instructions>",
    "# AGENTS.md instructions",
)
"""Beginnings of instructions that a tool gives its own model in the middle of a session."""


_THOUGHT = (ThinkingBlock, RedactedThinkingBlock)
_LIKE_TEXT = (TextBlock, RefusalBlock, CompactionBlock, ToolUseBlock, ToolResultBlock, *_THOUGHT)
"""Blocks that all tools can represent, or whose text is in another block."""


class RetoldMessage(NamedTuple):
    """A message to write; `original` is None if it was added because its neighbours cannot be
    written."""

    message: Message
    original: Message | None
    at: int
    """The place of the original, or of the one before it."""
    before: tuple[Message, ...] = ()
    after: tuple[Message, ...] = ()

    def note(self, *shown: Message) -> dict[str, Any] | None:
        """The note for a message that is read again as one message."""
        if len(shown) != 1:
            return None
        return note_for(self.original, shown[0], self.before, self.after)


def retell_messages(
    messages: Sequence[Message], dialect: str, report: Report, start: int = 0
) -> list[RetoldMessage]:
    """Messages from `start` on as `dialect` takes them; losses are reported at their place in
    `messages`."""
    left = set() if start else leave_instructions(messages, report)
    one_each = list(messages) if start else join_results(messages, report)
    named = {
        at: replace(each, id=f"{at}")
        for at, each in enumerate(one_each)
        if each is not None and at not in left
    }
    # Summaries have a place of their own in these files: they are not adapted as text.
    whole = [replace(m, content=()) if is_summary(m) else m for m in named.values()]
    done = retell(Request(tuple(whole)), dialect)
    places_in = list(named)
    report.entries.extend(_shifted(loss, places_in, messages) for loss in done.report.entries)
    ids = [(message, message.id or "") for message in done.value.messages]
    pairs = [(message, int(id) if id.isdecimal() else None) for message, id in ids]
    pairs = [(message, at) for message, at in pairs if at is None or _shows(message, messages[at])]
    hidden = set(range(len(messages))).difference(at for _, at in pairs)
    retold: list[RetoldMessage] = []
    last = -1
    for message, at in pairs:
        if at is None:
            retold.append(RetoldMessage(message, None, max(last, 0)))
            continue
        before = tuple(messages[each] for each in range(last + 1, at) if each in hidden)
        original = messages[at]
        content = original.content if is_summary(original) else message.content
        message = replace(message, id=original.id, content=content)
        retold.append(RetoldMessage(message, original, at, before))
        last = max(last, at)
    if retold:
        after = tuple(messages[each] for each in range(last + 1, len(messages)))
        retold[-1] = retold[-1]._replace(after=after)
    return [each for each in retold if each.at >= start]


def report_losses(retold: RetoldMessage, losses: Report, report: Report) -> None:
    """Reports the losses of one message in a dialect, at its index in the session."""
    if retold.original is None:
        return
    same = len(retold.message.content) == len(retold.original.content)
    for loss in losses.entries:
        start, found, inside = loss.path.partition("$.messages[0]")
        if start or not found or (inside == ".name" and retold.message.role in _INSTRUCTIONS):
            continue
        path = f"$.messages[{retold.at}]{inside if same else ''}"
        report.entries.append(replace(loss, path=path, message_id=retold.original.id))


def report_unshown(
    message: Message, shown: Iterable[Message], at: int, title: str, report: Report
) -> None:
    """Reports blocks that a tool's file cannot show: media, unknown and later block types."""
    for kind in _unlike_text([message]) - _unlike_text(shown):
        reason = because("kept_as_extra", what=kind)
        report.add("dropped", f"$.messages[{at}]", reason, "warning", None, message.id)


def _unlike_text(messages: Iterable[Message]) -> Counter[str]:
    blocks = (block for message in messages for block in message.content)
    inside = (
        each
        for block in blocks
        for each in (block.content if isinstance(block, ToolResultBlock) else (block,))
    )
    # A picture without a media type may be read again as a document.
    return Counter(
        "media" if isinstance(each, MediaBlock) else each.type
        for each in inside
        if not isinstance(each, _LIKE_TEXT)
    )


def leave_instructions(messages: Sequence[Message], report: Report) -> set[int]:
    """The indexes of instructions at the beginning, and of those that a tool later added for its
    own model."""
    left: set[int] = set()
    for at, message in enumerate(messages):
        if message.role not in _INSTRUCTIONS or is_summary(message):
            continue
        if len(left) == at or message.text.startswith(_OF_THE_TOOL):
            reason = because("tool_instructions")
            report.add("dropped", f"$.messages[{at}]", reason, "warning", None, message.id)
            left.add(at)
    return left


def join_results(messages: Sequence[Message], report: Report) -> list[Message | None]:
    """One result per call, as APIs require: others are joined to the first and become None."""
    found: list[Message | None] = list(messages)
    places: dict[str, int] = {}
    for at, message in enumerate(messages):
        if message.role is not Role.TOOL:
            places = {}
            continue
        block = message.content[0] if len(message.content) == 1 else None
        if not isinstance(block, ToolResultBlock):
            continue
        place = places.setdefault(block.tool_use_id, at)
        first = found[place]
        if place != at and first is not None:
            found[place], found[at] = _joined(first, block), None
            reason = because("result_second")
            report.add("moved", f"$.messages[{at}]", reason, "info", None, message.id)
    return found


def _joined(message: Message, more: ToolResultBlock) -> Message:
    """A message of one result, with the content of another one behind its own."""
    [block] = message.content
    assert isinstance(block, ToolResultBlock)
    failed = block.is_error or more.is_error
    together = replace(block, content=block.content + more.content, is_error=failed)
    return replace(message, content=(together,))


def _shows(message: Message, original: Message) -> bool:
    """Whether a line can be made of it; no tool has a turn without content."""
    return bool(message.content) or message.role is Role.ASSISTANT or is_summary(original)


def _shifted(loss: Loss, places: list[int], messages: Sequence[Message]) -> Loss:
    """The same loss, at its place among all messages."""
    head, dot, rest = loss.path.partition("]")
    start, bracket, number = head.partition("$.messages[")
    if start or not bracket or not number.isdecimal():
        return loss
    at = places[int(number)]
    return replace(loss, path=f"$.messages[{at}{dot}{rest}", message_id=messages[at].id)
