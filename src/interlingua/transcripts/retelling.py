"""Messages on their way into another tool's file: what its model's dialect can take.

Tools bring instructions of their own, so those at the beginning stay behind. What is left is retold
for the dialect, and each message still knows which one it was made of.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from interlingua.losses import Loss, Report
from interlingua.model.exchange import Request
from interlingua.model.message import Message, Role
from interlingua.retell import retell
from interlingua.transcripts.summary import is_summary

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
"""How instructions begin that a tool gives its own model in the middle of a session; those that
tell what happened (of a hook, of a helper) are history, and go along."""


class RetoldMessage(NamedTuple):
    """A message as it is to be written; `original` is None for one that had to be added. `before`
    and `after` are those around it that cannot be told."""

    message: Message
    original: Message | None
    at: int
    """The place of the original, or of the one before it."""
    before: tuple[Message, ...] = ()
    after: tuple[Message, ...] = ()


def retell_messages(
    messages: Sequence[Message], dialect: str, report: Report, instructions: bool = False
) -> list[RetoldMessage]:
    """Messages as `dialect` takes them; losses are told at their place in `messages`."""
    left = set() if instructions else leave_instructions(messages, report)
    named = {at: replace(each, id=f"{at}") for at, each in enumerate(messages) if at not in left}
    done = retell(Request(tuple(_whole(each) for each in named.values())), dialect)
    places_in = list(named)
    report.losses.extend(_shifted(loss, places_in, messages) for loss in done.report)
    places = [_place(message) for message in done.value.messages]
    hidden = set(range(len(messages))) - set(places)
    told: list[RetoldMessage] = []
    last = -1
    for message, at in zip(done.value.messages, places, strict=True):
        if at is None:
            told.append(RetoldMessage(message, None, max(last, 0)))
            continue
        before = tuple(messages[each] for each in range(last + 1, at) if each in hidden)
        told.append(RetoldMessage(_whole_again(message, messages[at]), messages[at], at, before))
        last = max(last, at)
    if told:
        after = tuple(messages[each] for each in range(last + 1, len(messages)))
        told[-1] = told[-1]._replace(after=after)
    return told


def tell(told: RetoldMessage, losses: Iterable[Loss], report: Report) -> None:
    """What a dialect could not say of one message, at its place in the session; what it says of
    a whole request, and the names that notes of tools have here, are no news."""
    if told.original is None:
        return
    same = len(told.message.content) == len(told.original.content)
    for loss in losses:
        start, found, inside = loss.path.partition("$.messages[0]")
        if start or not found or (inside == ".name" and told.message.role in _INSTRUCTIONS):
            continue
        path = f"$.messages[{told.at}]{inside if same else ''}"
        report.losses.append(replace(loss, path=path, message_id=told.original.id))


def _place(message: Message) -> int | None:
    """The place of the message that this one was made of."""
    return int(message.id) if message.id is not None and message.id.isdecimal() else None


def leave_instructions(messages: Sequence[Message], report: Report) -> set[int]:
    """The places of those at the beginning, and of what a tool said to its own model later."""
    left: set[int] = set()
    for at, message in enumerate(messages):
        if message.role not in _INSTRUCTIONS or is_summary(message):
            continue
        if len(left) == at or message.text.startswith(_OF_THE_TOOL):
            reason = "the tool has instructions of its own"
            report.add("dropped", f"$.messages[{at}]", reason, "warning", None, message.id)
            left.add(at)
    return left


def _whole(message: Message) -> Message:
    """Summaries have a place of their own in these files: they are not retold as text."""
    return replace(message, content=()) if is_summary(message) else message


def _whole_again(message: Message, original: Message) -> Message:
    return replace(
        message,
        id=original.id,
        content=original.content if is_summary(original) else message.content,
    )


def _shifted(loss: Loss, places: list[int], messages: Sequence[Message]) -> Loss:
    """The same loss, at its place among all messages."""
    head, dot, rest = loss.path.partition("]")
    start, bracket, number = head.partition("$.messages[")
    if start or not bracket or not number.isdecimal():
        return loss
    at = places[int(number)]
    return replace(loss, path=f"$.messages[{at}{dot}{rest}", message_id=messages[at].id)
