"""Contents, to messages and back: one message for a turn, one for every tool's result; and their
parts, to blocks and back.

How a content was spelled is kept with its first message. Words of it that reading again cannot
tell:

    role    another word than `user` or `model`
    apart   a new content began here, though the one before is of the same role
    one     the parts were one object, not a list of them
    string  the instructions were a string
    with    of a block: it and the one before were one part
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from interlingua.dialects.gemini import calls as _calls
from interlingua.dialects.gemini import media as _media
from interlingua.dialects.gemini import tables
from interlingua.dialects.gemini import text as _text
from interlingua.dialects.gemini.calls import CALLS, RESULTS, Calls
from interlingua.dialects.gemini.tables import DEFAULT_TYPES, MODEL, NAME, PARTS, USER
from interlingua.dialects.gemini.text import Turn
from interlingua.dialects.kernel.errors import ShapeError, below, want
from interlingua.dialects.kernel.kept import (
    FORM,
    NOTHING,
    Kept,
    did_without,
    form_in,
    form_of,
    keep,
    kept,
    mine_of,
    restore,
    write_unknown,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.turns import TurnReader, leading
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import SYSTEM_MARK, placeholder, snake_case, unsaid_beside
from interlingua.model import blocks as model
from interlingua.model.base import Raw
from interlingua.model.blocks import Block, TextBlock, UnknownBlock
from interlingua.model.message import Message, Role

# -- parts ----------------------------------------------------------------------------------------

_KIND_OF = {key: kind for kind in PARTS for key in (kind, snake_case(kind))}
_BARE = tables.SIGNATURE | _KIND_OF.keys()


def read_parts(parts: list[Any], calls: Calls) -> list[Block]:
    blocks: list[Block] = []
    at = 0
    try:
        for at, part in enumerate(parts):  # noqa: B007  # it is the place of an error
            if type(part) is dict and len(part) == 1 and type(text := part.get("text")) is str:
                blocks.append(TextBlock(text))
            else:
                blocks += read_part(part, calls)
    except ShapeError as error:
        raise error.inside(f".parts[{at}]") from None
    return blocks


def read_part(part: Any, calls: Calls) -> list[Block]:
    """One part: several blocks if it is of several kinds."""
    if type(part) is dict and part:
        key, inner = next(iter(part.items()))
        quick = _QUICK.get(key)
        block = None if quick is None else quick(inner, part, key, calls)
        if block is not None:
            return [block]
    return _read_part(part, calls)


_QUICK: dict[str, Callable[[Any, Wire, str, Calls], Block | None]] = {
    "text": _text.quick_text,
    **dict.fromkeys(("functionCall", "function_call"), _calls.quick_call),
    **dict.fromkeys(("functionResponse", "function_response"), _calls.quick_result),
    **dict.fromkeys(_media.STYLES, _media.quick_media),
}
"""Shortcuts for parts that begin with one of these keys."""


def _read_part(part: Any, calls: Calls) -> list[Block]:
    given = [key for key, item in want(part, dict).items() if item is not None]
    found = {_KIND_OF[key] for key in given if key in _KIND_OF}
    kinds = [kind for kind in PARTS if kind in found]
    if len(kinds) > 1:
        return _read_several(part, kinds, calls)
    if not kinds and not part.keys() <= _BARE:
        return [UnknownBlock({NAME: part})]
    return [_read_kind(part, kinds[0] if kinds else "text", Kept(), calls)]


def _read_kind(part: Wire, kind: str, kept: Kept, calls: Calls) -> Block:
    if kind == "text":
        return _text.read_text(part, kept)
    if kind in CALLS:
        return _calls.read_call(part, kind, kept, calls)
    if kind in RESULTS:
        return _calls.read_result(part, kind, kept, calls)
    return _media.read_media(part, kind, kept)


def _read_several(part: Wire, kinds: list[str], calls: Calls) -> list[Block]:
    """One part of several kinds: a block for each, which the writer puts together again. What
    concerns the whole part is with the first; only a thought is one by its text."""
    first, others = dict(part), []
    for kind in kinds[1:]:
        key = kind if part.get(kind) is not None else snake_case(kind)
        alone = {key: first.pop(key)}
        if kind == "text" and first.get("thought") is True:
            alone["thought"] = first.pop("thought")
        others.append(_read_kind(alone, kind, Kept(form={"with": True}), calls))
    return [_read_kind(first, kinds[0], Kept(), calls), *others]


def write_parts(message: Message, turn: Turn, parts: list[Wire]) -> int:
    """Add a message's parts to those of its content; gives how many blocks were said."""
    said = 0
    for block in message.content:
        part = WRITERS[type(block)](block, turn)
        if part is None:
            turn.placed.append(-1)
            continue
        said += 1
        if block.raw is not None and parts and _is_joined(block, part, parts[-1]):
            parts[-1] = {**parts[-1], **part}
        else:
            parts.append(part)
        turn.placed.append(len(parts) - 1)
    return said


def _is_joined(block: Block, part: Wire, before: Wire) -> bool:
    """Whether a block and the one before it were one part, and still can be."""
    return form_of(NAME, block.raw).get("with") is True and not before.keys() & part.keys()


WRITERS: dict[type[Block], Callable[[Any, Turn], Wire | None]] = {
    model.TextBlock: _text.write_text,
    model.ThinkingBlock: _text.write_thinking,
    model.RedactedThinkingBlock: _text.drop_redacted,
    model.RefusalBlock: _text.write_refusal,
    model.CompactionBlock: _text.write_compaction,
    model.ToolUseBlock: _calls.write_call,
    model.ToolResultBlock: _calls.write_result,
    model.UnknownBlock: lambda block, turn: write_unknown(block, turn.recorder),
    **dict.fromkeys(DEFAULT_TYPES, lambda block, turn: _media.write_media(block, turn.recorder)),
}

# -- reading contents -----------------------------------------------------------------------------

_READER = TurnReader(NAME, mark="kind")
_SIDES = {USER: Role.USER, MODEL: Role.ASSISTANT}
_CONTENT = frozenset({"role", "parts"})


def read_contents(contents: list[Any]) -> list[Message]:
    messages: list[Message] = []
    calls = Calls()
    before: str | None = ""
    for at, content in enumerate(contents):
        before = below(f".contents[{at}]", _read_content, content, at, before, calls, messages)
    return messages


def _read_content(
    content: Any, at: int, before: str | None, calls: Calls, messages: list[Message]
) -> str | None:
    """Add the messages of a content; gives the word for its role."""
    if (
        type(content) is dict
        and len(content) == 2
        and ((word := content.get("role")) == USER or word == MODEL)
        and type(parts := content.get("parts")) is list
        and parts
    ):
        raw = keep(NAME, None, {"apart": True}) if word == before else None
        calls.turn(at, word == MODEL)
        _READER.add(_SIDES[word], tuple(read_parts(parts, calls)), raw, messages)
        return word  # type: ignore[no-any-return]  # one of two
    return _read_any_content(content, at, before, calls, messages)


def _read_any_content(
    content: Any, at: int, before: str | None, calls: Calls, messages: list[Message]
) -> str | None:
    kept = Kept()
    word, role, parts = take_content(want(content, dict), kept)
    shared = _of_role(kept)
    if word == before:
        kept.form["apart"] = True
    calls.turn(at, role == MODEL)
    blocks = tuple(read_parts(parts, calls))
    _READER.add(_SIDES[role], blocks, kept.raw(NAME), messages, shared=shared)
    return word


def take_content(content: Wire, kept: Kept) -> tuple[str | None, str, list[Any]]:
    """The role's word, the side it stands for, and the parts: a list, or one alone."""
    word = kept.may_take(content, "role", str, filled=True)
    role = tables.ROLES.get(word or USER, USER)
    if word is not None and word != role:
        kept.form["role"] = word
    parts: Any = content.get("parts")
    if type(parts) is dict:
        kept.form["one"] = True
        parts = [parts]
    else:
        parts = kept.may_take(content, "parts", list, filled=True)
        if parts == []:
            kept.spell("parts", [])
    kept.add_others(content, _CONTENT)
    return word, role, parts or []


def _of_role(kept: Kept) -> Raw | None:
    """The spelling of the role, which all messages of a content share."""
    form = {"role": kept.form["role"]} if "role" in kept.form else {}
    if "role" in kept.form.get("absent", ()):
        form = {"absent": ["role"]}
    elif "role" in kept.form.get("spelled", ()):
        form = {"spelled": {"role": None}}
    return keep(NAME, None, form)


def read_system(system: Any) -> Message:
    """`systemInstruction`: a content whose role says nothing, or a string."""
    kept = Kept()
    if type(system) is str:
        kept.form["string"] = True
        blocks: list[Block] = [TextBlock(system)] if system else []
    else:
        parts = take_content({"role": USER, **system}, kept)[2]
        if system.get("role") is not None:
            kept.form["role"] = system["role"]
        blocks = read_parts(parts, Calls("system"))
    metadata = _READER.about(Role.SYSTEM, kept.raw(NAME))
    return Message(Role.SYSTEM, tuple(blocks), metadata=metadata)


# -- writing contents -----------------------------------------------------------------------------


class _Draft(msgspec.Struct):
    """A content that may still grow; `mine` is what was kept of it."""

    word: str | None
    mine: Wire
    parts: list[Wire] = []


def finish_content(role: str | None, parts: list[Wire], mine: Wire) -> Wire:
    content: Wire = {} if role is None else {"role": role}
    if not mine:
        content["parts"] = parts
        return content
    if parts or not did_without(mine, "parts"):
        alone = len(parts) == 1 and form_in(mine).get("one")
        content["parts"] = parts[0] if alone else parts
    return restore(content, mine)


def write_messages(messages: tuple[Message, ...], recorder: LossRecorder) -> tuple[Any, list[Wire]]:
    """The instructions at the start, None where there are none, and the contents."""
    first = leading(messages, NAME)
    turn = Turn(recorder)
    system = _write_system(messages[:first], turn) if first else None
    drafts: list[_Draft] = []
    for message in messages[first:]:
        _write_message(message, turn, drafts)
    return system, [finish_content(each.word, each.parts, each.mine) for each in drafts]


def _write_message(message: Message, turn: Turn, drafts: list[_Draft]) -> None:
    """Add a message to the last content if that is of the same role, else begin one."""
    turn.model = message.role is Role.ASSISTANT
    word: str | None = MODEL if turn.model else USER
    mine, raw = NOTHING, message.metadata.provider_raw
    if raw is not None or message.name is not None or message.changes is not None:
        mine = tell_message(message, turn.recorder)
        if message.changes is not None and not message.content:
            return
        word = spelled_role(MODEL if turn.model else USER, mine)
    if message.role is Role.SYSTEM or message.role is Role.DEVELOPER:
        message = _marked(message, turn.recorder)
    if not message.content and not did_without(mine, "parts"):
        return
    last = drafts[-1] if drafts else None
    if last is None or last.word != word or "apart" in form_in(mine) or not last.parts:
        last = _Draft(word, mine)
        drafts.append(last)
    elif mine:
        last.mine = {**last.mine, **kept(NAME, raw)}
    if not write_parts(message, turn, last.parts) and message.content:
        last.parts.append({"text": placeholder(message, turn.recorder)})


def spelled_role(role: str, mine: Wire) -> str | None:
    """The role's word as the wire had it, while it stands for the same side."""
    if mine:
        word = form_in(mine).get("role")
        if type(word) is str and tables.ROLES.get(word, USER) == role:
            return word
        if role == USER and did_without(mine, "role"):
            return None
    return role


def tell_message(message: Message, recorder: LossRecorder) -> Wire:
    """Report what a content has no place for; gives what was kept of it."""
    unsaid_beside(message, recorder)
    return mine_of(NAME, message.metadata.provider_raw)


def _marked(message: Message, recorder: LossRecorder) -> Message:
    """Instructions in mid-conversation, as user text in their place."""
    reason = "instructions stand at the start only; said as marked user text"
    recorder.lost(message, "role", reason, kind="downgraded")
    blocks = list(message.content)
    for index, block in enumerate(blocks):
        if type(block) is TextBlock:
            blocks[index] = block.replace(text=SYSTEM_MARK + block.text)
            recorder.alias(blocks[index], block)
            break
    marked = message.replace(content=tuple(blocks))
    recorder.alias(marked, message)
    return marked


def _write_system(messages: tuple[Message, ...], turn: Turn) -> Any:
    parts: list[Wire] = []
    rest: Wire = {}
    form = form_of(NAME, messages[0].metadata.provider_raw)
    for message in messages:
        mine = tell_message(message, turn.recorder)
        rest |= {key: item for key, item in mine.items() if key != FORM}
        if message.role is Role.DEVELOPER:
            reason = "instructions are one text, whoever gives them"
            turn.recorder.lost(message, "role", reason, kind="downgraded")
        write_parts(message, turn, parts)
    texts = [part["text"] for part in parts if part.keys() == {"text"}]
    if "string" in form and not rest and len(texts) == len(parts) < 2:
        return "".join(texts)
    mine = {**rest, FORM: form} if form else rest
    if not parts and not did_without(mine, "parts"):
        return None
    return finish_content(form.get("role"), parts, mine)
