"""Messages to steps, or to turns of the older revision. For its spelling see `messages.py`."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.gemini_interactions.calls import (
    write_call,
    write_hosted_call,
    write_hosted_result,
    write_result,
    write_thought,
)
from interlingua.dialects.gemini_interactions.tables import (
    MODEL_OUTPUT,
    NAME,
    ROLES,
    USER_INPUT,
)
from interlingua.dialects.gemini_interactions.text import (
    STEP,
    WRITERS,
    write_content,
)
from interlingua.dialects.kernel.preserved import (
    raw_of,
    restore_raw,
    spelling_of,
    was_absent,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import placeholder, report_beside
from interlingua.model.base import Raw
from interlingua.model.blocks import (
    Block,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.message import Message, Role

_OUTPUT = frozenset({"type", "content"})
_USER, _ASSISTANT, _TOOL = Role.USER, Role.ASSISTANT, Role.TOOL
_LEADING = frozenset({Role.SYSTEM, Role.DEVELOPER})

# -- what a model did --------------------------------------------------------------------


class Steps:
    """The steps of one message of a model."""

    def __init__(self, recorder: LossRecorder) -> None:
        self.steps: list[Wire] = []
        self._recorder = recorder
        self._open: Wire | None = None
        """The output that more content may join."""

    def add_all(self, message: Message) -> None:
        raw = message.metadata.provider_raw
        empty = [] if raw is None else spelling_of(NAME, raw).get("empty", [])
        waiting = {
            position: [each for at, each in empty if at == position] for position, _ in empty
        }
        for number, block in enumerate(message.content):
            self._add_empty(waiting.pop(number, ()))
            self.add(block)
        for rest in waiting.values():
            self._add_empty(rest)

    def _add_empty(self, steps: Any) -> None:
        for step in steps:
            self.steps.append(step)
            self._open = None

    def add(self, block: Block) -> None:
        kind = type(block)
        if kind is UnknownBlock:
            self._add_unknown(block)
        elif kind in WRITERS:
            part = write_content(block, self._recorder)
            if part is not None:
                self._add_part(part, block.raw)
        elif type(block) is ThinkingBlock:
            write_thought(block, self.steps, self._recorder)
            self._open = None
        else:
            step = self._step_of(block)
            if step is not None:
                self.steps.append(step)
                self._open = None

    def _step_of(self, block: Block) -> Wire | None:
        if type(block) is ToolUseBlock:
            write = write_call if block.executor == "client" else write_hosted_call
            return write(block, self._recorder)
        if type(block) is ToolResultBlock:
            return write_hosted_result(block, self._recorder)
        self._recorder.dropped(block, "sealed by another service")
        return None

    def _add_part(self, part: Wire, raw: Raw | None) -> None:
        spelling = spelling_of(NAME, raw)
        beside = {**raw_of(NAME, raw).get(STEP, {}), **spelling.get("step", {})}
        if self._open is None or spelling.get("apart") or beside:
            self._open = {"type": MODEL_OUTPUT, "content": [], **beside}
            self.steps.append(self._open)
        self._open["content"].append(part)

    def _add_unknown(self, block: Any) -> None:
        """A step that we do not know; an output of one part was content that we do not know."""
        step = WRITERS[UnknownBlock](block, self._recorder)
        if step is None:
            return
        spelling = step.get("$form")
        content = step.get("content")
        if step.get("type") != MODEL_OUTPUT or type(content) is not list or len(content) != 1:
            self.steps.append(step)
            self._open = None
            return
        beside = {key: item for key, item in step.items() if key not in (*_OUTPUT, "$form")}
        if self._open is None or beside or (type(spelling) is dict and spelling.get("apart")):
            self._open = {"type": MODEL_OUTPUT, "content": [], **beside}
            self.steps.append(self._open)
        self._open["content"].append(content[0])


class Contents(Steps):
    """The same in the older revision: content stands where steps do."""

    def _add_part(self, part: Wire, raw: Raw | None) -> None:
        self.steps.append(part)

    def _add_unknown(self, block: Any) -> None:
        item = WRITERS[UnknownBlock](block, self._recorder)
        if item is not None:
            inner = item.get("content") if item.get("type") == MODEL_OUTPUT else None
            only = type(inner) is list and len(inner) == 1 and item.keys() <= {*_OUTPUT, "$form"}
            self.steps.append(inner[0] if only and inner else item)


def write_answer(message: Message, recorder: LossRecorder) -> list[Wire]:
    steps = Steps(recorder)
    steps.add_all(message)
    return steps.steps


def write_outputs(message: Message, recorder: LossRecorder) -> list[Wire]:
    """An answer in the older revision."""
    contents = Contents(recorder)
    contents.add_all(message)
    return contents.steps


# -- a conversation ----------------------------------------------------------------------


def write_messages(
    messages: tuple[Message, ...], out: Wire, shape: Any, own_raw: Wire, recorder: LossRecorder
) -> None:
    """`system_instruction` and `input` of a body; `shape` is how the input was spelled."""
    first = 0
    while first < len(messages) and messages[first].role in _LEADING:
        first += 1
    if first:
        text = _write_instructions(messages[:first], recorder)
        if text:
            out["system_instruction"] = text
    rest = messages[first:]
    if shape is not None and _is_short(rest, shape):
        out["input"] = _write_short(rest, shape, recorder)
        return
    steps: list[Wire] = []
    for message in rest:
        if shape in _TURNS or (shape == "mixed" and _turn_of(message)):
            _write_turn(message, steps, recorder)
        else:
            _write_message(message, steps, recorder)
    if steps or not was_absent(own_raw, "input"):
        out["input"] = steps[0] if shape in ("step", "turn") and len(steps) == 1 else steps


_TURNS = ("turn", "turns")
"""Spellings of an input in the older revision."""


def _turn_of(message: Message) -> Any:
    return spelling_of(NAME, message.metadata.provider_raw).get("turn")


def _write_turn(message: Message, turns: list[Wire], recorder: LossRecorder) -> None:
    """A turn of the older revision, or more of the last one."""
    raw = message.metadata.provider_raw
    spelling, own_raw, role = (
        spelling_of(NAME, raw),
        raw_of(NAME, raw),
        ROLES.write(message.role) or "user",
    )
    parts = _turn_parts(message, recorder)
    if spelling.get("turn") == "unknown":
        turns += parts
        return
    if spelling.get("within") and turns and turns[-1].get("role", role) == role == "user":
        turns[-1] = {**turns[-1], "content": [*_listed(turns[-1].get("content")), *parts]}
        return
    out: Wire = {}
    if role != "user" or not was_absent(own_raw, "role"):
        out["role"] = role
    if parts or not was_absent(own_raw, "content"):
        is_text = spelling.get("turn") == "text" and all(
            set(part) == {"type", "text"} for part in parts
        )
        is_text &= len(parts) < 2
        out["content"] = "".join([part["text"] for part in parts]) if is_text else parts
    turns.append(restore_raw(out, message, {NAME: own_raw}, recorder) if own_raw else out)


def _listed(content: Any) -> list[Wire]:
    return [{"type": "text", "text": content}] if type(content) is str else content or []


def _turn_parts(message: Message, recorder: LossRecorder) -> list[Wire]:
    if message.role is _ASSISTANT:
        report_beside(message, recorder)
        parts = write_outputs(message, recorder)
        return [_stand_in(message, recorder)] if message.content and not parts else parts
    if message.role is not _TOOL:
        _report_role(message, recorder)
        return _parts_of(message, recorder)
    report_beside(message, recorder)
    written = [
        write_result(block, recorder)
        if type(block) is ToolResultBlock
        else write_content(block, recorder)
        for block in message.content
    ]
    return [part for part in written if part is not None]


def _is_short(messages: tuple[Message, ...], shape: Any) -> bool:
    """Whether a conversation is no more than what a user says first."""
    if len(messages) != 1 or shape not in ("text", "content", "one"):
        return not messages and shape == "text"
    only = messages[0]
    if only.role is not _USER or only.name is not None or only.changes is not None:
        return False
    if only.metadata.provider_raw is not None:
        return False
    if shape == "text":
        return only.content == (TextBlock(only.text),) and only.content[0].raw is None
    return bool(only.content) and (shape == "content" or len(only.content) == 1)


def _write_short(messages: tuple[Message, ...], shape: Any, recorder: LossRecorder) -> Any:
    if shape == "text":
        return messages[0].text if messages else ""
    parts = _parts_of(messages[0], recorder)
    return parts[0] if shape == "one" else parts


def _write_instructions(messages: tuple[Message, ...], recorder: LossRecorder) -> str:
    """One text for all of them."""
    texts: list[tuple[Block, str]] = []
    for message in messages:
        if message.role is Role.DEVELOPER:
            recorder.lost(message, "role", "instructions have one level", kind="downgraded")
        report_beside(message, recorder)
        for block in message.content:
            part = write_content(block, recorder)
            if part is not None and part.get("text"):
                texts.append((block, part["text"]))
                if part.keys() - {"type", "text"}:
                    recorder.lost(block, "citations", "instructions are a text", severity="info")
    if len(texts) > 1:
        reason = "one text for all instructions; joined with the others"
        for block, _ in texts:
            recorder.lost(block, None, reason, kind="approximated", severity="info")
    return "\n\n".join([text for _, text in texts])


def _write_message(message: Message, steps: list[Wire], recorder: LossRecorder) -> None:
    if message.role is _ASSISTANT:
        report_beside(message, recorder)
        written = write_answer(message, recorder)
        if message.content and not written:
            written = [{"type": MODEL_OUTPUT, "content": [_stand_in(message, recorder)]}]
        steps += written
    elif message.role is _TOOL:
        _write_results(message, steps, recorder)
    else:
        _report_role(message, recorder)
        _write_user_step(message, _parts_of(message, recorder), steps, recorder)


def _report_role(message: Message, recorder: LossRecorder) -> None:
    if message.role is not _USER:
        reason = "instructions in mid-conversation are said by the user"
        recorder.lost(message, "role", reason, kind="downgraded")


def _stand_in(message: Message, recorder: LossRecorder) -> Wire:
    return {"type": "text", "text": placeholder(message, recorder)}


def _parts_of(message: Message, recorder: LossRecorder) -> list[Wire]:
    report_beside(message, recorder)
    written = [write_content(block, recorder) for block in message.content]
    parts = [part for part in written if part is not None]
    if message.content and not parts:
        return [_stand_in(message, recorder)]
    return parts


def _write_results(message: Message, steps: list[Wire], recorder: LossRecorder) -> None:
    report_beside(message, recorder)
    for block in message.content:
        if type(block) is not ToolResultBlock:
            part = write_content(block, recorder)
            if part is not None:
                steps.append({"type": USER_INPUT, "content": [part]})
                recorder.lost(message, "role", "said by the user", kind="downgraded")
            continue
        step = write_result(block, recorder)
        if spelling_of(NAME, message.metadata.provider_raw).get("among"):
            _write_user_step(message, [step], steps, recorder)
        else:
            steps.append(step)


def _write_user_step(
    message: Message, parts: list[Wire], steps: list[Wire], recorder: LossRecorder
) -> None:
    raw = message.metadata.provider_raw
    spelling, own_raw = spelling_of(NAME, raw), raw_of(NAME, raw)
    if spelling.get("bare") or not (parts or own_raw):  # one that says nothing is no step
        steps += parts
        return
    if spelling.get("within") and steps and steps[-1].get("type") == USER_INPUT:
        steps[-1] = {**steps[-1], "content": [*steps[-1].get("content", ()), *parts]}
        return
    out: Wire = {"type": USER_INPUT}
    if parts or not was_absent(own_raw, "content"):
        out["content"] = parts
    steps.append(out if not own_raw else restore_raw(out, message, {NAME: own_raw}, recorder))
