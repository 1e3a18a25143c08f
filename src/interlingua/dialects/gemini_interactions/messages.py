"""Steps to messages and back. What a model did in a row is one message, whatever steps it took;
what the user gave is a message for each step, and so is each result of a function.

Blocks cannot express how the wire split its steps. Its spelling words: on a message `bare` (content
that stands among steps), `within` (more of the `user_input` before it), `among` (a result that
stands in one) and `empty` (outputs without content, and how many blocks come before each); on a
block `apart` (a new `model_output` behind another).

The older revision has turns with a role in place of steps, and an answer is a list of content. A
message that was such a turn has `turn` in its spelling: `text`, `parts`, or `unknown`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interlingua.dialects.gemini_interactions.calls import (
    read_call,
    read_hosted_call,
    read_hosted_result,
    read_result,
    read_thought,
    write_call,
    write_hosted_call,
    write_hosted_result,
    write_result,
    write_thought,
)
from interlingua.dialects.gemini_interactions.tables import (
    CALL,
    HOSTED_CALLS,
    HOSTED_RESULTS,
    MEDIA,
    MODEL_OUTPUT,
    NAME,
    RESULT,
    ROLES,
    THOUGHT,
    USER_INPUT,
)
from interlingua.dialects.gemini_interactions.text import (
    STEP,
    WRITERS,
    read_content,
    read_contents,
    write_content,
)
from interlingua.dialects.kernel.errors import ShapeError, at_path, read_each, require
from interlingua.dialects.kernel.preserved import (
    Preserved,
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
from interlingua.model.metadata import MessageMetadata
from interlingua.model.reasons import because

_MADE = MessageMetadata(protocol=NAME)
_CONTENT = frozenset({"text", *MEDIA})
_INPUTS = frozenset({USER_INPUT, RESULT, *_CONTENT})
"""The steps of the user; all others are a model's."""
_OUTPUT = frozenset({"type", "content"})
_TURN = frozenset({"role", "content"})
_USER, _ASSISTANT, _TOOL = Role.USER, Role.ASSISTANT, Role.TOOL

# -- reading: what a model did --------------------------------------------------------------------


_READERS: dict[str, Callable[[Wire], Any]] = {
    CALL: read_call,
    **dict.fromkeys(HOSTED_CALLS, read_hosted_call),
    **dict.fromkeys(HOSTED_RESULTS, read_hosted_result),
}


class Run:
    """The steps of a model in a row, as the blocks of one message."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.empty: list[Any] = []
        self._after_output = False

    def add(self, step: Wire) -> None:
        kind = step.get("type")
        if kind == MODEL_OUTPUT:
            self._add_output(step)
            return
        if kind == THOUGHT:
            self.blocks += read_thought(step)
        else:
            read = _READERS.get(kind) if type(kind) is str else None
            self.blocks.append(UnknownBlock({NAME: step}) if read is None else read(step))
        self._after_output = False

    def add_content(self, part: Wire) -> None:
        """Adds an item of the older revision, where texts and media are beside calls."""
        kind = _type_of(part)
        if kind in _CONTENT:
            self.blocks.append(read_content(part))
        elif kind == MODEL_OUTPUT:
            self.blocks.append(UnknownBlock({NAME: part}))
        else:
            self.add(part)

    def _add_output(self, step: Wire) -> None:
        content = step.get("content")
        if not content:
            if content is not None:
                require(content, list, ".content")
            # an output without content: its other members become an unknown block
            if any(item is not None for key, item in step.items() if key not in _OUTPUT):
                self.blocks.append(UnknownBlock({NAME: step}))
            else:
                self.empty.append([len(self.blocks), step])
            self._after_output = False
            return
        blocks = [
            UnknownBlock({NAME: {"type": MODEL_OUTPUT, "content": [block.raw[NAME]]}})
            if type(block) is UnknownBlock
            else block
            for block in read_contents(content, ".content")
        ]
        beside = {key: item for key, item in step.items() if key not in _OUTPUT}
        if beside or self._after_output:
            blocks[0] = _with_step(blocks[0], beside, self._after_output)
        self.blocks += blocks
        self._after_output = True

    def message(self, preserved: Preserved | None = None) -> Message:
        """All of them as one message; `kept` is the preserved data of its turn."""
        raw: Raw | None = {NAME: {"$form": {"empty": self.empty}}} if self.empty else None
        if preserved is not None:
            raw = preserved.raw(NAME)
        metadata = _MADE if raw is None else MessageMetadata(protocol=NAME, provider_raw=raw)
        return Message(_ASSISTANT, tuple(self.blocks), metadata=metadata)


def _with_step(block: Block, beside: Wire, apart: bool) -> Block:
    """The first block of an output, with the members of its step."""
    if type(block) is UnknownBlock:
        step = {**block.raw[NAME], **beside}
        return UnknownBlock({NAME: {**step, "$form": {"apart": True}} if apart else step})
    own_raw = raw_of(NAME, block.raw)
    content = {key: item for key, item in beside.items() if item is not None}
    spelling = dict(spelling_of(NAME, block.raw))
    if apart:
        spelling["apart"] = True
    if len(content) < len(beside):
        spelling["step"] = {key: None for key in beside if key not in content}
    whole = {**own_raw, STEP: content} if content else dict(own_raw)
    return block.replace(raw={NAME: {**whole, "$form": spelling} if spelling else whole})


def read_answer(steps: list[Any]) -> Message:
    """The steps of an answer. User steps are no part of one, though they may be repeated."""
    run, index = Run(), 0
    try:
        for step in steps:
            if require(step, dict).get("type") in (USER_INPUT, RESULT):
                run.blocks.append(UnknownBlock({NAME: step}))
            else:
                run.add(step)
            index += 1
    except ShapeError as error:
        raise error.inside(f".steps[{index}]") from None
    return run.message()


def read_outputs(outputs: list[Any]) -> Message:
    """The content of an answer of the older revision."""
    run = Run()
    _add_contents(run, outputs, ".outputs")
    return run.message()


def _add_contents(run: Run, parts: list[Any], path: str) -> None:
    read_each(parts, path, lambda part: run.add_content(require(part, dict)))


# -- reading: a conversation ----------------------------------------------------------------------


def read_input(value: Any, preserved: Preserved) -> list[Message]:
    """`input`: a text, a piece of content, several, a step, steps, or turns (`$form.input`)."""
    if type(value) is str:
        preserved.spelling["input"] = "text"
        return [Message(_USER, (TextBlock(value),))] if value else []
    if type(value) is dict:
        one = "turn" if is_turn(value) else "step"
        preserved.spelling["input"] = "one" if _type_of(value) in _CONTENT else one
        value = [value]
    if type(value) is not list:
        raise ShapeError(".input", "a text or a list", value)
    if not value:
        preserved.keep_spelling("input", value)
    elif all(_type_of(item) in _CONTENT for item in value):
        preserved.spelling.setdefault("input", "content")
        return [Message(_USER, tuple(read_contents(value, ".input")))]
    elif turns := sum([is_turn(item) for item in value]):
        preserved.spelling.setdefault("input", "turns" if turns == len(value) else "mixed")
    return read_steps(value)


def _type_of(item: Any) -> str | None:
    kind = item.get("type") if type(item) is dict else None
    return kind if type(kind) is str else None


def is_turn(item: Any) -> bool:
    """Whether an item of an input is a turn of the older revision."""
    return type(item) is dict and "type" not in item and ("role" in item or "content" in item)


def read_steps(steps: list[Any]) -> list[Message]:
    messages: list[Message] = []
    run: Run | None = None
    index = 0
    try:
        for step in steps:
            is_input = _type_of(require(step, dict)) in _INPUTS
            if is_input or is_turn(step):
                if run is not None:
                    messages.append(run.message())
                    run = None
                messages += _read_user_step(step) if is_input else _read_turn(step)
            else:
                run = run or Run()
                run.add(step)
            index += 1
    except ShapeError as error:
        raise error.inside(f".input[{index}]") from None
    return messages if run is None else [*messages, run.message()]


def _read_user_step(step: Wire) -> list[Message]:
    """The user's input: a step, a result, or separate content."""
    kind = step["type"]
    if kind == RESULT:
        return [Message.of_result(read_result(step))]
    if kind != USER_INPUT:
        raw: Raw = {NAME: {"$form": {"bare": True}}}
        return [Message(_USER, (read_content(step),), metadata=MessageMetadata(provider_raw=raw))]
    preserved, content = Preserved(), step.get("content")
    preserved.add_others(step, _OUTPUT)
    if not content:
        if "content" not in step:
            preserved.mark_absent("content")
        else:
            preserved.keep_spelling(
                "content", content if content is None else require(content, list, ".content")
            )
        return [_user_message((), preserved)]
    if type(content) is not list:
        raise ShapeError(".content", "a list", content)
    if not any(type(part) is dict and part.get("type") == RESULT for part in content):
        return [_user_message(tuple(read_contents(content, ".content")), preserved)]
    return _split(content, preserved)


def _read_turn(turn: Wire) -> list[Message]:
    """A turn with a role. An unknown role is preserved."""
    preserved, content, role = Preserved(spelling={"turn": "parts"}), turn.get("content"), _USER
    if turn.get("role") is not None:
        known = ROLES.read(require(turn["role"], str, ".role"))
        if known is None:
            return [_unknown_turn(turn)]
        role = known
    elif "role" in turn:
        preserved.keep_spelling("role", None)
    else:
        preserved.mark_absent("role")
    preserved.add_others(turn, _TURN)
    if not content:
        if "content" not in turn:
            preserved.mark_absent("content")
        elif content != "":
            preserved.keep_spelling(
                "content", content if content is None else require(content, list, ".content")
            )
    if type(content) is str:
        preserved.spelling["turn"] = "text"
        content = [{"type": "text", "text": content}] if content else []
    elif content and type(content) is not list:
        raise ShapeError(".content", "a text or a list", content)
    if role is _USER:
        return _split(content or [], preserved) or [_user_message((), preserved)]
    run = Run()
    _add_contents(run, content or [], ".content")
    return [run.message(preserved)]


def _unknown_turn(turn: Wire) -> Message:
    run = Run()
    run.blocks.append(UnknownBlock({NAME: turn}))
    return run.message(Preserved(spelling={"turn": "unknown"}))


def _user_message(blocks: tuple[Block, ...], preserved: Preserved) -> Message:
    raw = preserved.raw(NAME)
    if raw is None:
        return Message(_USER, blocks)
    return Message(_USER, blocks, metadata=MessageMetadata(provider_raw=raw))


def _split(content: list[Any], preserved: Preserved) -> list[Message]:
    """One message for each result in the content of a step, one for each run of other parts. The
    service accepts results there, though its types do not list them (recorded with 200, 2026)."""
    messages: list[Message] = []
    others: list[Any] = []

    def close() -> None:
        if others:
            blocks = tuple(read_contents(list(others), ".content"))
            messages.append(_user_message(blocks, _around(preserved, messages)))
            others.clear()

    for number, part in enumerate(content):
        if type(part) is not dict or part.get("type") != RESULT:
            others.append(part)
            continue
        close()
        message = Message.of_result(at_path(f".content[{number}]", read_result, part))
        around = _around(preserved, messages)
        around.spelling["among"] = True
        metadata = message.metadata.replace(provider_raw=around.raw(NAME))
        messages.append(message.replace(metadata=metadata))
    close()
    return messages


def _around(first: Preserved, messages: list[Message]) -> Preserved:
    if not messages:
        return Preserved(first.rest, dict(first.spelling))
    turn = first.spelling.get("turn")
    return Preserved(spelling={"within": True} if turn is None else {"within": True, "turn": turn})


# -- writing --------------------------------------------------------------------------------------


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
        self._recorder.dropped(block, because("encrypted_foreign"))
        return None

    def _add_part(self, part: Wire, raw: Raw | None) -> None:
        spelling = spelling_of(NAME, raw)
        beside = {**raw_of(NAME, raw).get(STEP, {}), **spelling.get("step", {})}
        if self._open is None or spelling.get("apart") or beside:
            self._open = {"type": MODEL_OUTPUT, "content": [], **beside}
            self.steps.append(self._open)
        self._open["content"].append(part)

    def _add_unknown(self, block: Any) -> None:
        """Adds an unknown step; an output with a single unknown part."""
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
    """The same for the older revision, which has content instead of steps."""

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
    """Whether a conversation is only one input of the user."""
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
            recorder.lost(message, "role", because("instructions_one_level"), kind="downgraded")
        report_beside(message, recorder)
        for block in message.content:
            part = write_content(block, recorder)
            if part is not None and part.get("text"):
                texts.append((block, part["text"]))
                if part.keys() - {"type", "text"}:
                    recorder.lost(block, "citations", because("citations_instructions"))
    if len(texts) > 1:
        reason = because("joined")
        for block, _ in texts:
            recorder.lost(block, None, reason, kind="approximated")
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
        reason = because("instructions_as_user")
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
                recorder.lost(message, "role", because("sent_as_user"), kind="downgraded")
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
    if spelling.get("bare") or not (parts or own_raw):  # an empty message is no step
        steps += parts
        return
    if spelling.get("within") and steps and steps[-1].get("type") == USER_INPUT:
        steps[-1] = {**steps[-1], "content": [*steps[-1].get("content", ()), *parts]}
        return
    out: Wire = {"type": USER_INPUT}
    if parts or not was_absent(own_raw, "content"):
        out["content"] = parts
    steps.append(out if not own_raw else restore_raw(out, message, {NAME: own_raw}, recorder))
