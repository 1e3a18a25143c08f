"""Calls and results: every call answered behind its turn, ids that the target accepts, and media
that its results cannot hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from interlingua.adapt.history.issuers import Recipient
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.words import document_as_text, document_text
from interlingua.dialects.record import Dialect
from interlingua.model.blocks import (
    Block,
    DocumentBlock,
    MediaBlock,
    ResultBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.message import Message, Role
from interlingua.model.reasons import because

NO_RESULT = "No result: the call was not completed."
"""The text of the error result that replaces a missing one."""
_TOOL, _USER = Role.TOOL, Role.USER
Messages = tuple[Message, ...]


class Answers(NamedTuple):
    of: dict[int, int]
    """Identity of a call's block to the index of the message that answers it."""
    taken: set[int]
    """Indexes of messages that answer some call."""


def answers_in(messages: Sequence[Message]) -> Answers:
    """A result belongs to the nearest earlier call with its id, and only the first answers it."""
    latest: dict[str, ToolUseBlock] = {}
    answers = Answers({}, set())
    for index, message in enumerate(messages):
        for block in calls_of(message):
            latest[block.id] = block
        if message.role is _TOOL:
            for result in message.content:
                if type(result) is ToolResultBlock and result.tool_use_id in latest:
                    call = latest[result.tool_use_id]
                    if id(call) not in answers.of:
                        answers.of[id(call)] = index
                        answers.taken.add(index)
    return answers


def calls_of(message: Message) -> list[ToolUseBlock]:
    """The calls that the client has to answer."""
    return [
        block
        for block in message.content
        if type(block) is ToolUseBlock and block.executor == "client"
    ]


def paired(messages: Messages, recorder: LossRecorder, ordered: bool) -> Messages:
    """Every client call answered right behind its turn, every result behind its call; results in
    the order of their calls if `ordered`."""
    answers = answers_in(messages)
    out: list[Message] = []
    for index, message in enumerate(messages):
        calls = calls_of(message)
        if message.role is _TOOL and not calls:
            if index not in answers.taken:
                out.append(_result_as_text(message, recorder))
            continue
        out.append(message)
        positions = [answers.of[id(block)] for block in calls if id(block) in answers.of]
        for number, position in enumerate(positions if ordered else sorted(positions)):
            if position != index + 1 + number:
                reason = because("results_reordered")
                recorder.lost(messages[position], None, reason, kind="moved")
            out.append(messages[position])
        out += [_missing_result(block, recorder) for block in calls if id(block) not in answers.of]
    return tuple(out)


def _missing_result(block: ToolUseBlock, recorder: LossRecorder) -> Message:
    reason = because("call_without_result")
    recorder.lost(block, None, reason, kind="approximated")
    result = Message.tool_result(block.id, NO_RESULT, is_error=True, tool_name=block.name)
    recorder.mark_synthetic(result.content[0])
    return result


def _result_as_text(message: Message, recorder: LossRecorder) -> Message:
    """A result whose call is not there, as user text."""
    reason = because("result_without_call")
    recorder.lost(message, None, reason, kind="downgraded")
    content: list[Block] = []
    for block in message.content:
        if type(block) is ToolResultBlock:
            name = f" of {block.tool_name}" if block.tool_name else ""
            content.append(TextBlock(f"[tool result{name}]"))
            content.extend(block.content)
        else:
            content.append(block)
    new = Message(_USER, tuple(content))
    recorder.alias(new, message)
    return new


def with_legal_ids(
    messages: Messages, recipient: Recipient, recorder: LossRecorder, whole: bool = True
) -> Messages:
    """Ids in the target's grammar, repeats made distinct, calls and results alike. Those that the
    target gave itself stay; so do those of calls that it stores, where this is not the `whole`
    history."""
    grammar = recipient.dialect.traits.ids
    seen: dict[str, int] = {}
    now: dict[str, str] = {}
    out: list[Message] = []
    changed = False
    for message in messages:
        content: list[Block] | None = None
        own = recipient.is_from_same_host(message)
        for index, block in enumerate(message.content):
            if type(block) is ToolUseBlock:
                times = seen[block.id] = seen.get(block.id, 0) + 1
                if own and times == 1:
                    new = block.id
                else:
                    new = grammar.fit(block.id if times == 1 else f"{block.id}\n{times}")
                now[block.id] = new
                field, old = "id", block.id
            elif type(block) is ToolResultBlock:
                old = block.tool_use_id
                new = now.get(old) or (grammar.fit(old) if whole else old)
                field = "tool_use_id"
            else:
                continue
            if new != old:
                content = content or list(message.content)
                content[index] = block.replace(**{field: new})
                recorder.alias(content[index], block)
        changed = changed or content is not None
        out.append(_renamed(message, content, recorder) if content else message)
    return tuple(out) if changed else messages


def _renamed(message: Message, content: list[Block], recorder: LossRecorder) -> Message:
    metadata = message.metadata
    if metadata.parent_tool_use_id is not None and type(content[0]) is ToolResultBlock:
        metadata = metadata.replace(parent_tool_use_id=content[0].tool_use_id)
    new = message.replace(content=tuple(content), metadata=metadata)
    recorder.alias(new, message)
    return new


# -- media ----------------------------------------------------------------------------------------


def media_behind_results(messages: Messages, target: Dialect, recorder: LossRecorder) -> Messages:
    """Media that a result cannot hold follows the batch of results in a user message; documents of
    text become texts of the result."""
    changed = False
    out: list[Message] = []
    waiting: list[Block] = []
    for message in messages:
        if message.role is not _TOOL and waiting:
            out.append(recorder.mark_synthetic(Message(_USER, tuple(waiting))))
            waiting = []
        if message.role is _TOOL and _has_other_media(message, target):
            message = _without_media(message, target, recorder, waiting)
            changed = True
        out.append(message)
    if waiting:
        out.append(recorder.mark_synthetic(Message(_USER, tuple(waiting))))
    return tuple(out) if changed else messages


def _has_other_media(message: Message, target: Dialect) -> bool:
    return any(
        _is_refused(part, target)
        for block in message.content
        if type(block) is ToolResultBlock
        for part in block.content
    )


def _is_refused(part: ResultBlock, target: Dialect) -> bool:
    """Whether results of the target have no place for this."""
    if not isinstance(part, MediaBlock):
        return False
    if type(part) is DocumentBlock and document_text(part.source, "") is not None:
        return not target.traits.result_texts and target.name not in (part.raw or ())
    return part.type not in target.traits.result_media


def _without_media(
    message: Message, target: Dialect, recorder: LossRecorder, waiting: list[Block]
) -> Message:
    content: list[Block] = []
    for block in message.content:
        if type(block) is ToolResultBlock:
            inner = [_held(part, block, target, recorder, waiting) for part in block.content]
            new = block.replace(content=tuple(inner))
            recorder.alias(new, block)
            content.append(new)
        else:
            content.append(block)
    new_message = message.replace(content=tuple(content))
    recorder.alias(new_message, message)
    return new_message


def _held(
    part: ResultBlock,
    result: ToolResultBlock,
    target: Dialect,
    recorder: LossRecorder,
    waiting: list[Block],
) -> ResultBlock:
    """The replacement of a part in the result; media that the result cannot hold is deferred."""
    if not _is_refused(part, target):
        return part
    text = document_as_text(part) if type(part) is DocumentBlock else None
    if text is not None:
        reason = because("result_document_as_text")
        recorder.lost(part, None, reason, kind="downgraded")
        as_text = TextBlock(text, cache=part.cache)
        recorder.alias(as_text, part)
        return as_text
    reason = because("result_media_moved", kind=part.type)
    recorder.lost(part, None, reason, kind="moved")
    waiting.append(part)
    return TextBlock(f"[{part.type} of {result.tool_use_id} follows]")
