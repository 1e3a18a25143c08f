"""Steps to messages and back. What a model did in a row is one message, whatever steps it took;
what the user gave is a message for each step, and so is each result of a function.

How the wire drew its steps no block can tell. Words for it in the spelling of a message: `bare`
(content that stands among steps), `within` (more of the `user_input` before it), `among` (a result
that stands in one) and `empty` (outputs that say nothing, and how many blocks come before each).
On a block: `apart` (a new `model_output` behind another)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interlingua.dialects.gemini_interactions.calls import (
    read_call,
    read_result,
    write_call,
    write_result,
)
from interlingua.dialects.gemini_interactions.hosted import (
    read_hosted_call,
    read_hosted_result,
    write_hosted_call,
    write_hosted_result,
)
from interlingua.dialects.gemini_interactions.tables import (
    CALL,
    HOSTED_CALLS,
    HOSTED_RESULTS,
    MEDIA,
    MODEL_OUTPUT,
    NAME,
    RESULT,
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
from interlingua.dialects.gemini_interactions.thinking import read_thought, write_thought
from interlingua.dialects.kernel.errors import ShapeError, want
from interlingua.dialects.kernel.kept import Kept, did_without, form_of, mine_of, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import placeholder, unsaid_beside
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

_MADE = MessageMetadata(protocol=NAME)
_CONTENT = frozenset({"text", *MEDIA})
_GIVEN = frozenset({USER_INPUT, RESULT, *_CONTENT})
"""What comes from the user; all else is a model's."""
_OUTPUT = frozenset({"type", "content"})
_USER, _ASSISTANT, _TOOL = Role.USER, Role.ASSISTANT, Role.TOOL
_LEADING = frozenset({Role.SYSTEM, Role.DEVELOPER})

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

    def _add_output(self, step: Wire) -> None:
        content = step.get("content")
        if not content:
            if content is not None:
                want(content, list, ".content")
            self._add_nothing(step)
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

    def _add_nothing(self, step: Wire) -> None:
        """An output without content; what it says besides is a block that we do not know."""
        if any(item is not None for key, item in step.items() if key not in _OUTPUT):
            self.blocks.append(UnknownBlock({NAME: step}))
        else:
            self.empty.append([len(self.blocks), step])
        self._after_output = False

    def message(self) -> Message:
        raw: Raw | None = {NAME: {"$form": {"empty": self.empty}}} if self.empty else None
        metadata = _MADE if raw is None else MessageMetadata(protocol=NAME, provider_raw=raw)
        return Message(_ASSISTANT, tuple(self.blocks), metadata=metadata)


def _with_step(block: Block, beside: Wire, apart: bool) -> Block:
    """The first block of an output, with what the step says."""
    if type(block) is UnknownBlock:
        step = {**block.raw[NAME], **beside}
        return UnknownBlock({NAME: {**step, "$form": {"apart": True}} if apart else step})
    mine = mine_of(NAME, block.raw)
    said = {key: item for key, item in beside.items() if item is not None}
    form = dict(form_of(NAME, block.raw))
    if apart:
        form["apart"] = True
    if len(said) < len(beside):
        form["step"] = {key: None for key in beside if key not in said}
    whole = {**mine, STEP: said} if said else dict(mine)
    return block.replace(raw={NAME: {**whole, "$form": form} if form else whole})


def read_answer(steps: list[Any]) -> Message:
    """The steps of an answer. What a user said is no part of one, though it may be repeated."""
    run, place = Run(), 0
    try:
        for step in steps:
            if want(step, dict).get("type") in (USER_INPUT, RESULT):
                run.blocks.append(UnknownBlock({NAME: step}))
            else:
                run.add(step)
            place += 1
    except ShapeError as error:
        raise error.inside(f".steps[{place}]") from None
    return run.message()


# -- reading: a conversation ----------------------------------------------------------------------


def read_input(given: Any, kept: Kept) -> list[Message]:
    """`input`: a text, a piece of content, several, a step, or steps (`$form.input`)."""
    if type(given) is str:
        kept.form["input"] = "text"
        return [Message(_USER, (TextBlock(given),))] if given else []
    if type(given) is dict:
        kept.form["input"] = "one" if _type_of(given) in _CONTENT else "step"
        given = [given]
    if type(given) is not list:
        raise ShapeError(".input", "a text or a list", given)
    if not given:
        kept.spell("input", given)
    elif all(_type_of(item) in _CONTENT for item in given):
        kept.form.setdefault("input", "content")
        return [Message(_USER, tuple(read_contents(given, ".input")))]
    return read_steps(given)


def _type_of(item: Any) -> str | None:
    kind = item.get("type") if type(item) is dict else None
    return kind if type(kind) is str else None


def read_steps(steps: list[Any]) -> list[Message]:
    messages: list[Message] = []
    run: Run | None = None
    place = 0
    try:
        for step in steps:
            if _type_of(want(step, dict)) in _GIVEN:
                if run is not None:
                    messages.append(run.message())
                    run = None
                messages += _read_given(step)
            else:
                run = run or Run()
                run.add(step)
            place += 1
    except ShapeError as error:
        raise error.inside(f".input[{place}]") from None
    return messages if run is None else [*messages, run.message()]


def _read_given(step: Wire) -> list[Message]:
    """What the user gave: a step of it, a result, or content that stands alone."""
    kind = step["type"]
    if kind == RESULT:
        return [Message.of_result(read_result(step))]
    if kind != USER_INPUT:
        raw: Raw = {NAME: {"$form": {"bare": True}}}
        return [Message(_USER, (read_content(step),), metadata=MessageMetadata(provider_raw=raw))]
    kept, content = Kept(), step.get("content")
    kept.add_others(step, _OUTPUT)
    if not content:
        if "content" not in step:
            kept.miss("content")
        else:
            kept.spell("content", content if content is None else want(content, list, ".content"))
        return [_given((), kept)]
    if type(content) is not list:
        raise ShapeError(".content", "a list", content)
    if not any(type(part) is dict and part.get("type") == RESULT for part in content):
        return [_given(tuple(read_contents(content, ".content")), kept)]
    return _split(content, kept)


def _given(blocks: tuple[Block, ...], kept: Kept) -> Message:
    raw = kept.raw(NAME)
    if raw is None:
        return Message(_USER, blocks)
    return Message(_USER, blocks, metadata=MessageMetadata(provider_raw=raw))


def _split(content: list[Any], kept: Kept) -> list[Message]:
    """One message for each result among the content of a step, one for each run of other parts. The
    service takes them there, though its types do not say so (recorded with 200, 2026)."""
    messages: list[Message] = []
    others: list[Any] = []

    def close() -> None:
        if others:
            blocks = tuple(read_contents(list(others), ".content"))
            messages.append(_given(blocks, _around(kept, messages)))
            others.clear()

    for number, part in enumerate(content):
        if type(part) is not dict or part.get("type") != RESULT:
            others.append(part)
            continue
        close()
        try:
            message = Message.of_result(read_result(part))
        except ShapeError as error:
            raise error.inside(f".content[{number}]") from None
        around = _around(kept, messages)
        around.form["among"] = True
        metadata = message.metadata.replace(provider_raw=around.raw(NAME))
        messages.append(message.replace(metadata=metadata))
    close()
    return messages


def _around(first: Kept, messages: list[Message]) -> Kept:
    return Kept(form={"within": True}) if messages else Kept(first.rest, dict(first.form))


# -- writing: what a model did --------------------------------------------------------------------


class Steps:
    """The steps of one message of a model."""

    def __init__(self, recorder: LossRecorder) -> None:
        self.steps: list[Wire] = []
        self._recorder = recorder
        self._open: Wire | None = None
        """The output that more content may join."""

    def add_all(self, message: Message) -> None:
        raw = message.metadata.provider_raw
        empty = [] if raw is None else form_of(NAME, raw).get("empty", [])
        waiting = {place: [each for at, each in empty if at == place] for place, _ in empty}
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
        form = form_of(NAME, raw)
        beside = {**mine_of(NAME, raw).get(STEP, {}), **form.get("step", {})}
        if self._open is None or form.get("apart") or beside:
            self._open = {"type": MODEL_OUTPUT, "content": [], **beside}
            self.steps.append(self._open)
        self._open["content"].append(part)

    def _add_unknown(self, block: Any) -> None:
        """A step that we do not know; an output of one part was content that we do not know."""
        step = WRITERS[UnknownBlock](block, self._recorder)
        if step is None:
            return
        form = step.get("$form")
        content = step.get("content")
        if step.get("type") != MODEL_OUTPUT or type(content) is not list or len(content) != 1:
            self.steps.append(step)
            self._open = None
            return
        beside = {key: item for key, item in step.items() if key not in (*_OUTPUT, "$form")}
        if self._open is None or beside or (type(form) is dict and form.get("apart")):
            self._open = {"type": MODEL_OUTPUT, "content": [], **beside}
            self.steps.append(self._open)
        self._open["content"].append(content[0])


def write_answer(message: Message, recorder: LossRecorder) -> list[Wire]:
    steps = Steps(recorder)
    steps.add_all(message)
    return steps.steps


# -- writing: a conversation ----------------------------------------------------------------------


def write_messages(
    messages: tuple[Message, ...], out: Wire, shape: Any, mine: Wire, recorder: LossRecorder
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
        _write_message(message, steps, recorder)
    if steps or not did_without(mine, "input"):
        out["input"] = steps[0] if shape == "step" and len(steps) == 1 else steps


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
    said: list[tuple[Block, str]] = []
    for message in messages:
        if message.role is Role.DEVELOPER:
            recorder.lost(message, "role", "instructions have one level", kind="downgraded")
        unsaid_beside(message, recorder)
        for block in message.content:
            part = write_content(block, recorder)
            if part is not None and part.get("text"):
                said.append((block, part["text"]))
                if part.keys() - {"type", "text"}:
                    recorder.lost(block, "citations", "instructions are a text", severity="info")
    if len(said) > 1:
        reason = "one text for all instructions; joined with the others"
        for block, _ in said:
            recorder.lost(block, None, reason, kind="approximated", severity="info")
    return "\n\n".join([text for _, text in said])


def _write_message(message: Message, steps: list[Wire], recorder: LossRecorder) -> None:
    if message.role is _ASSISTANT:
        unsaid_beside(message, recorder)
        written = write_answer(message, recorder)
        if message.content and not written:
            written = [{"type": MODEL_OUTPUT, "content": [_stand_in(message, recorder)]}]
        steps += written
    elif message.role is _TOOL:
        _write_results(message, steps, recorder)
    else:
        if message.role is not _USER:
            reason = "instructions in mid-conversation are said by the user"
            recorder.lost(message, "role", reason, kind="downgraded")
        _write_given(message, _parts_of(message, recorder), steps, recorder)


def _stand_in(message: Message, recorder: LossRecorder) -> Wire:
    return {"type": "text", "text": placeholder(message, recorder)}


def _parts_of(message: Message, recorder: LossRecorder) -> list[Wire]:
    unsaid_beside(message, recorder)
    written = [write_content(block, recorder) for block in message.content]
    parts = [part for part in written if part is not None]
    if message.content and not parts:
        return [_stand_in(message, recorder)]
    return parts


def _write_results(message: Message, steps: list[Wire], recorder: LossRecorder) -> None:
    unsaid_beside(message, recorder)
    for block in message.content:
        if type(block) is not ToolResultBlock:
            part = write_content(block, recorder)
            if part is not None:
                steps.append({"type": USER_INPUT, "content": [part]})
                recorder.lost(message, "role", "said by the user", kind="downgraded")
            continue
        step = write_result(block, recorder)
        if form_of(NAME, message.metadata.provider_raw).get("among"):
            _write_given(message, [step], steps, recorder)
        else:
            steps.append(step)


def _write_given(
    message: Message, parts: list[Wire], steps: list[Wire], recorder: LossRecorder
) -> None:
    raw = message.metadata.provider_raw
    form, mine = form_of(NAME, raw), mine_of(NAME, raw)
    if form.get("bare") or not (parts or mine):  # one that says nothing is no step
        steps += parts
        return
    if form.get("within") and steps and steps[-1].get("type") == USER_INPUT:
        steps[-1] = {**steps[-1], "content": [*steps[-1].get("content", ()), *parts]}
        return
    out: Wire = {"type": USER_INPUT}
    if parts or not did_without(mine, "content"):
        out["content"] = parts
    steps.append(out if not mine else put_back(out, message, {NAME: mine}, recorder))
