"""Contents, to messages and back: one message for a turn, one for every tool's result; and their
parts, to blocks and back.

The spelling of a content is preserved with its first message. Its words:

    role    another word than `user` or `model`
    apart   a new content began here, though the one before is of the same role
    one     the parts were one object, not a list of them
    string  the instructions were a string
    with    of a block: it and the one before were one part
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from interlingua.dialects.gemini import calls as _calls
from interlingua.dialects.gemini import parts as _parts
from interlingua.dialects.gemini import tables
from interlingua.dialects.gemini.calls import CALLS, RESULTS, Calls
from interlingua.dialects.gemini.parts import Turn
from interlingua.dialects.gemini.tables import DEFAULT_TYPES, MODEL, NAME, PARTS, USER
from interlingua.dialects.kernel.errors import ShapeError, at_path, require
from interlingua.dialects.kernel.preserved import (
    FORM,
    NOTHING,
    Preserved,
    content_of,
    keep,
    raw_of,
    restore,
    spelling_in,
    spelling_of,
    was_absent,
    write_unknown,
)
from interlingua.dialects.kernel.recorder import BlockWriters, LossRecorder
from interlingua.dialects.kernel.turns import TurnReader, leading, write_each
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import SYSTEM_MARK, placeholder, report_beside, snake_case
from interlingua.model import blocks as model
from interlingua.model.base import Raw
from interlingua.model.blocks import Block, TextBlock, UnknownBlock
from interlingua.model.message import Message, Role
from interlingua.model.reasons import because

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
    "text": _parts.quick_text,
    **dict.fromkeys(("functionCall", "function_call"), _calls.quick_call),
    **dict.fromkeys(("functionResponse", "function_response"), _calls.quick_result),
    **dict.fromkeys(_parts.STYLES, _parts.quick_media),
}
"""Shortcuts for parts that begin with one of these keys."""


def _read_part(part: Any, calls: Calls) -> list[Block]:
    keys = [key for key, item in require(part, dict).items() if item is not None]
    found = {_KIND_OF[key] for key in keys if key in _KIND_OF}
    kinds = [kind for kind in PARTS if kind in found]
    if len(kinds) > 1:
        return _read_several(part, kinds, calls)
    if not kinds and not part.keys() <= _BARE:
        return [UnknownBlock({NAME: part})]
    return [_read_kind(part, kinds[0] if kinds else "text", Preserved(), calls)]


def _read_kind(part: Wire, kind: str, preserved: Preserved, calls: Calls) -> Block:
    if kind == "text":
        return _parts.read_text(part, preserved)
    if kind in CALLS:
        return _calls.read_call(part, kind, preserved, calls)
    if kind in RESULTS:
        return _calls.read_result(part, kind, preserved, calls)
    return _parts.read_media(part, kind, preserved)


def _read_several(part: Wire, kinds: list[str], calls: Calls) -> list[Block]:
    """One part of several kinds: a block for each, which the writer joins again. Data of the whole
    part is with the first; it is a thought only if its text is."""
    first, others = dict(part), []
    for kind in kinds[1:]:
        key = kind if part.get(kind) is not None else snake_case(kind)
        alone = {key: first.pop(key)}
        if kind == "text" and first.get("thought") is True:
            alone["thought"] = first.pop("thought")
        others.append(_read_kind(alone, kind, Preserved(spelling={"with": True}), calls))
    return [_read_kind(first, kinds[0], Preserved(), calls), *others]


def write_parts(message: Message, turn: Turn, parts: list[Wire]) -> int:
    """Add a message's parts to those of its content; returns the number of blocks written."""
    count = 0
    for block in message.content:
        part = WRITERS[type(block)](block, turn)
        if part is None:
            turn.placed.append(-1)
            continue
        count += 1
        if block.raw is not None and parts and _is_joined(block, part, parts[-1]):
            parts[-1] = {**parts[-1], **part}
        else:
            parts.append(part)
        turn.placed.append(len(parts) - 1)
    return count


def _is_joined(block: Block, part: Wire, before: Wire) -> bool:
    """Whether a block and the one before it were one part, and still can be."""
    return spelling_of(NAME, block.raw).get("with") is True and not before.keys() & part.keys()


Writer = Callable[[Any, Turn], Wire | None]
_WRITERS: dict[type[Block], Writer] = {
    model.TextBlock: _parts.write_text,
    model.ThinkingBlock: _parts.write_thinking,
    model.RedactedThinkingBlock: _parts.drop_redacted,
    model.RefusalBlock: _parts.write_refusal,
    model.CompactionBlock: _parts.write_compaction,
    model.ToolUseBlock: _calls.write_call,
    model.ToolResultBlock: _calls.write_result,
    model.UnknownBlock: lambda block, turn: write_unknown(block, turn.recorder),
    **dict.fromkeys(DEFAULT_TYPES, lambda block, turn: _parts.write_media(block, turn.recorder)),
}
WRITERS: BlockWriters[Writer] = BlockWriters(
    _WRITERS, lambda block, turn: turn.recorder.dropped(block)
)

# -- reading contents -----------------------------------------------------------------------------

_READER = TurnReader(NAME, mark="kind")
_SIDES = {USER: Role.USER, MODEL: Role.ASSISTANT}
_CONTENT = frozenset({"role", "parts"})


def read_contents(contents: list[Any]) -> list[Message]:
    messages: list[Message] = []
    calls = Calls()
    before: str | None = ""
    for at, content in enumerate(contents):
        before = at_path(f".contents[{at}]", _read_content, content, at, before, calls, messages)
    return messages


def read_more(contents: list[Any], messages: list[Message], before: Any) -> Iterator[Any]:
    """Appends the messages of further contents; after each, yields what the next one is read with:
    its number, the word for the role before it, and the calls that are open."""
    at, word, open_calls = before or (0, "", Calls())
    for content in contents:
        calls = open_calls.copy()
        word = _read_content(content, at, word, calls, messages)
        at, open_calls = at + 1, calls
        yield at, word, calls


def _read_content(
    content: Any, at: int, before: str | None, calls: Calls, messages: list[Message]
) -> str | None:
    """Adds the messages of a content; returns its role."""
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
    preserved = Preserved()
    word, role, parts = take_content(require(content, dict), preserved)
    shared = _of_role(preserved)
    if word == before:
        preserved.spelling["apart"] = True
    calls.turn(at, role == MODEL)
    blocks = tuple(read_parts(parts, calls))
    _READER.add(_SIDES[role], blocks, preserved.raw(NAME), messages, shared=shared)
    return word


def take_content(content: Wire, preserved: Preserved) -> tuple[str | None, str, list[Any]]:
    """The role, the side that it stands for, and the parts: a list, or a single one."""
    word = preserved.may_take(content, "role", str, filled=True)
    role = tables.ROLES.get(word or USER, USER)
    if word is not None and word != role:
        preserved.spelling["role"] = word
    parts: Any = content.get("parts")
    if type(parts) is dict:
        preserved.spelling["one"] = True
        parts = [parts]
    else:
        parts = preserved.may_take(content, "parts", list, filled=True)
        if parts == []:
            preserved.keep_spelling("parts", [])
    preserved.add_others(content, _CONTENT)
    return word, role, parts or []


def _of_role(preserved: Preserved) -> Raw | None:
    """The spelling of the role, which all messages of a content share."""
    spelling = {"role": preserved.spelling["role"]} if "role" in preserved.spelling else {}
    if "role" in preserved.spelling.get("absent", ()):
        spelling = {"absent": ["role"]}
    elif "role" in preserved.spelling.get("spelled", ()):
        spelling = {"spelled": {"role": None}}
    return keep(NAME, None, spelling)


def read_system(system: Any) -> Message:
    """`systemInstruction`: a content whose role is ignored, or a string."""
    preserved = Preserved()
    if type(system) is str:
        preserved.spelling["string"] = True
        blocks: list[Block] = [TextBlock(system)] if system else []
    else:
        parts = take_content({"role": USER, **system}, preserved)[2]
        if system.get("role") is not None:
            preserved.spelling["role"] = system["role"]
        blocks = read_parts(parts, Calls("system"))
    metadata = _READER.about(Role.SYSTEM, preserved.raw(NAME))
    return Message(Role.SYSTEM, tuple(blocks), metadata=metadata)


# -- writing contents -----------------------------------------------------------------------------


def finish_content(role: str | None, parts: list[Wire], own_raw: Wire) -> Wire:
    content: Wire = {} if role is None else {"role": role}
    if not own_raw:
        content["parts"] = parts
        return content
    if parts or not was_absent(own_raw, "parts"):
        alone = len(parts) == 1 and spelling_in(own_raw).get("one")
        content["parts"] = parts[0] if alone else parts
    return restore(content, own_raw)


def write_messages(messages: tuple[Message, ...], recorder: LossRecorder) -> tuple[Any, list[Wire]]:
    """The instructions at the start (None if there are none), and the contents."""
    first = leading(messages, NAME)
    turn = Turn(recorder)
    system = _write_system(messages[:first], turn) if first else None
    writer = _Contents(turn)
    write_each(messages[first:], writer.wires, writer, recorder)
    writer.finish()
    return system, writer.wires


_WORDLESS = "\0"


class _Contents:
    """The contents so far; the last one may still grow."""

    def __init__(self, turn: Turn) -> None:
        self.wires: list[Wire] = []
        self.role: str | None = None
        """The role of the last content, if it has parts; `_WORDLESS` if it has none, which is
        different from an empty role."""
        self._turn = turn
        self._parts: list[Wire] = []
        self._spelled: list[Wire] = []
        """For each content that remembers how it was spelled, that; None for the others."""

    def skip(self, messages: tuple[Message, ...]) -> None:
        """Messages that were written before: results may name their calls."""
        self._turn.before = messages

    def add(self, message: Message) -> None:
        """Add a message to the last content if that is of the same role, else begin one."""
        turn = self._turn
        turn.model = message.role is Role.ASSISTANT
        word: str | None = MODEL if turn.model else USER
        own_raw, raw = NOTHING, message.metadata.provider_raw
        if raw is not None or message.name is not None or message.changes is not None:
            own_raw = report_message(message, turn.recorder)
            if message.changes is not None and not message.content:
                return
            word = spelled_role(MODEL if turn.model else USER, own_raw)
        if message.role is Role.SYSTEM or message.role is Role.DEVELOPER:
            message = _marked(message, turn.recorder)
        elif not (turn.model or message.role is Role.USER or message.role is Role.TOOL):
            raise KeyError(message.role)  # as a table would; the caller names the dialect
        if not message.content and not was_absent(own_raw, "parts"):
            return
        role = _WORDLESS if word is None else word
        if self.role is None or self.role != role or "apart" in spelling_in(own_raw):
            self._begin(word, own_raw)
        elif own_raw:
            self._spelled[-1] = {**self._spelled[-1], **content_of(NAME, raw)}
        if not write_parts(message, turn, self._parts) and message.content:
            self._parts.append({"text": placeholder(message, turn.recorder)})
        self.role = role if self._parts else None

    def _begin(self, word: str | None, own_raw: Wire) -> None:
        self._parts = []
        self._spelled.append(own_raw)
        self.wires.append(
            {"parts": self._parts} if word is None else {"role": word, "parts": self._parts}
        )

    def finish(self) -> None:
        """Spells the contents that remember how they were spelled."""
        for wire, own_raw in zip(reversed(self.wires), reversed(self._spelled), strict=False):
            if own_raw:
                content = finish_content(wire.get("role"), wire["parts"], own_raw)
                wire.clear()
                wire.update(content)


def spelled_role(role: str, own_raw: Wire) -> str | None:
    """The original role, if it still stands for the same side."""
    if own_raw:
        word = spelling_in(own_raw).get("role")
        if type(word) is str and tables.ROLES.get(word, USER) == role:
            return word
        if role == USER and was_absent(own_raw, "role"):
            return None
    return role


def report_message(message: Message, recorder: LossRecorder) -> Wire:
    """Report the losses of a content; returns its preserved data."""
    report_beside(message, recorder)
    return raw_of(NAME, message.metadata.provider_raw)


def _marked(message: Message, recorder: LossRecorder) -> Message:
    """Instructions in mid-conversation, as user text in their place."""
    reason = because("instructions_as_user")
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
    spelling = spelling_of(NAME, messages[0].metadata.provider_raw)
    for message in messages:
        own_raw = report_message(message, turn.recorder)
        rest |= {key: item for key, item in own_raw.items() if key != FORM}
        if message.role is Role.DEVELOPER:
            reason = because("instructions_one_level")
            turn.recorder.lost(message, "role", reason, kind="downgraded")
        write_parts(message, turn, parts)
    texts = [part["text"] for part in parts if part.keys() == {"text"}]
    if "string" in spelling and not rest and len(texts) == len(parts) < 2:
        return "".join(texts)
    own_raw = {**rest, FORM: spelling} if spelling else rest
    if not parts and not was_absent(own_raw, "parts"):
        return None
    return finish_content(spelling.get("role"), parts, own_raw)
