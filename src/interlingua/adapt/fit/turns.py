"""Order of turns: instructions in mid-conversation, and a model turn at the end."""

from __future__ import annotations

from typing import Any

from interlingua.adapt.facts import LATER
from interlingua.adapt.fit.fitter import Fitter
from interlingua.adapt.history.changes import settle_all
from interlingua.dialects.kernel.words import SYSTEM_MARK
from interlingua.model.blocks import Block, TextBlock, ToolResultBlock, ToolUseBlock
from interlingua.model.message import Message, Role
from interlingua.model.metadata import StopReason
from interlingua.model.reasons import because

GO_ON = "Continue."
"""The user text after a model turn that was to be continued."""
_INSTRUCTS = frozenset({Role.SYSTEM, Role.DEVELOPER})
_USERS = frozenset({Role.USER, Role.TOOL})


def fit_changes(fitter: Fitter) -> None:
    """Changes in mid-conversation, for a model that takes no instructions there."""
    if _takes_changes(fitter):
        return
    request = fitter.request.replace(messages=fitter.messages, tools=fitter.tools)
    settled = settle_all(request, fitter.recorder)
    fitter.messages, fitter.tools = settled.messages, settled.tools
    for option in ("reasoning", "response_format"):
        new = getattr(settled.options, option)
        if new is not getattr(request.options, option):
            fitter.change(option, new)


def _takes_changes(fitter: Fitter) -> bool:
    """Whether instructions stay in place; not after a model's turn where they have to follow the
    user's."""
    mid = fitter.profile.instructions.mid
    if mid in (None, "any"):
        return True
    others = [each.role for each in fitter.messages if each.role not in _INSTRUCTS]
    trailing = fitter.messages[-1].role in _INSTRUCTS
    return mid == "after-user" and not (trailing and others[-1:] == [Role.ASSISTANT])


def fit_turns(fitter: Fitter) -> None:
    mid, role = fitter.profile.instructions.mid, fitter.profile.instructions.role
    facts = fitter.facts
    may_be_later = facts is None or facts.content & LATER
    if mid not in (None, "any") and may_be_later and _first_later(fitter.messages) is not None:
        step = {"after-user": _behind_users, "user": _as_users, "fold": _in_front}[mid]
        fitter.messages = step(fitter, fitter.messages)
    if role is not None:
        _in_role(fitter, role)
    _last(fitter)
    if fitter.profile.turns.alternate:
        _alternating(fitter)


def _in_role(fitter: Fitter, role: str) -> None:
    """Instructions in a role that the model accepts. Dialects with a field for instructions have no
    roles to choose from."""
    if role == "user":
        messages = [
            _marked(fitter, each, "instructions.role", "takes no instructions")
            if each.role in _INSTRUCTS
            else each
            for each in fitter.messages
        ]
    elif fitter.traits.instruction_roles:
        messages = [_renamed(fitter, each, Role(role)) for each in fitter.messages]
    else:
        return
    if any(new is not old for new, old in zip(messages, fitter.messages, strict=True)):
        fitter.messages = tuple(messages)


def _renamed(fitter: Fitter, message: Message, role: Role) -> Message:
    if message.role not in _INSTRUCTS or message.role is role:
        return message
    reason = because("instructions_role", role=role.value)
    fitter.lost_at(message, "role", "instructions.role", reason, "downgraded")
    return fitter.stands_for(message.replace(role=role), message)  # type: ignore[no-any-return]  # a message


def _alternating(fitter: Fitter) -> None:
    """Joins neighbouring messages of the same role, for hosts that require alternating turns."""
    out: list[Message] = []
    for message in fitter.messages:
        before = out[-1] if out else None
        if before is None or before.role is not message.role or message.role is Role.TOOL:
            out.append(message)
            continue
        reason = because("turns_joined")
        fitter.lost_at(message, None, "turns.alternate", reason, "moved")
        joined = before.replace(content=(*before.content, *message.content))
        out[-1] = fitter.stands_for(joined, before)
    if len(out) < len(fitter.messages):
        fitter.messages = tuple(out)


def _first_later(messages: tuple[Message, ...]) -> int | None:
    """The index of the first instructions that are not at the front."""
    leading = True
    for index, message in enumerate(messages):
        if message.role not in _INSTRUCTS:
            leading = False
        elif not leading:
            return index
    return None


def _as_users(fitter: Fitter, messages: tuple[Message, ...]) -> tuple[Message, ...]:
    first = _first_later(messages) or 0
    later = [
        _marked(fitter, message) if message.role in _INSTRUCTS else message
        for message in messages[first:]
    ]
    return (*messages[:first], *later)


def _marked(
    fitter: Fitter,
    message: Message,
    field: str = "instructions.mid",
    why: str = "takes no instructions in mid-conversation",
) -> Message:
    """The text as a user's, with a mark."""
    fitter.lost_at(message, "role", field, because("instructions_marked", why=why), "downgraded")
    blocks: list[Block] = list(message.content)
    for index, block in enumerate(blocks):
        if type(block) is TextBlock:
            blocks[index] = fitter.stands_for(block.replace(text=SYSTEM_MARK + block.text), block)
            break
    marked = message.replace(role=Role.USER, content=tuple(blocks))
    return fitter.stands_for(marked, message)  # type: ignore[no-any-return]  # a message


def _behind_users(fitter: Fitter, messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Moves instructions directly after a user's turn, before the model's or at the end."""
    first = _first_later(messages) or 0
    out = list(messages[:first])
    waiting: list[Message] = []
    for message in messages[first:]:
        if message.role in _INSTRUCTS:
            waiting.append(message)
            continue
        if message.role is Role.ASSISTANT:
            out += _placed(fitter, out, waiting)
            waiting = []
        elif waiting:
            for each in waiting:
                _moved(fitter, each)
        out.append(message)
    return (*out, *_placed(fitter, out, waiting))


def _moved(fitter: Fitter, message: Message) -> None:
    if id(message) not in fitter.moved:
        fitter.moved.add(id(message))
        reason = because("instructions_behind_user")
        fitter.lost_at(message, None, "instructions.mid", reason, "moved")


def _placed(fitter: Fitter, before: list[Message], waiting: list[Message]) -> list[Message]:
    """Instructions after the messages before them; as a user's text if the last of these is not
    a user's."""
    if before and before[-1].role in _USERS:
        return waiting
    return [_marked(fitter, message) for message in waiting]


def _in_front(fitter: Fitter, messages: tuple[Message, ...]) -> tuple[Message, ...]:
    first = _first_later(messages) or 0
    for message in messages[first:]:
        if message.role in _INSTRUCTS:
            reason = because("instructions_to_front")
            fitter.lost_at(message, None, "instructions.mid", reason, "moved")
    front = [message for message in messages if message.role in _INSTRUCTS]
    return (*front, *[message for message in messages if message.role not in _INSTRUCTS])


def _last(fitter: Fitter) -> None:
    if not fitter.messages:
        return
    last, known = fitter.messages[-1], fitter.profile.turns.last
    if last.role in _INSTRUCTS and known is not None and "system" not in known:
        if len(fitter.messages) > 1 or fitter.traits.instruction_roles:
            why = f"takes no instructions as the last message, but {' or '.join(known)}"
            marked = _marked(fitter, last, "turns.last", why)
            fitter.messages = (*fitter.messages[:-1], marked)
        return
    rule = fitter.profile.turns.prefill
    if rule in (None, "yes"):
        return
    if last.role is not Role.ASSISTANT or _is_paused(last):
        return
    if rule == "prefix":
        fitter.messages = (*fitter.messages[:-1], _to_go_on(fitter, last))
        return
    reason = because("prefill_unsupported")
    fitter.lost_at(last, None, "turns.prefill", reason)
    fitter.messages = (*fitter.messages, Message.user(GO_ON))


def _is_paused(last: Message) -> bool:
    """Whether it is a turn in which the provider itself was at work: that may be gone on with."""
    if last.metadata.stop_reason is StopReason.PAUSE:
        return True
    return any(
        type(block) is ToolResultBlock
        or (type(block) is ToolUseBlock and block.executor == "provider")
        for block in last.content
    )


def _to_go_on(fitter: Fitter, last: Message) -> Message:
    """The turn with the host's own mark for it (Mistral's `prefix`)."""
    raw: dict[str, Any] = dict(last.metadata.provider_raw or {})
    raw[fitter.dialect] = {**(raw.get(fitter.dialect) or {}), "prefix": True}
    continued = last.replace(metadata=last.metadata.replace(provider_raw=raw))
    return fitter.stands_for(continued, last)  # type: ignore[no-any-return]  # a message
