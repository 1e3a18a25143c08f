"""Contents, to messages and back: one message for a turn, one for every tool's result.

How a content was spelled is kept with its messages:

    role    another word than `user` or `model`
    apart   a new content began here, though the one before is of the same role
    one     the parts were one object, not a list of them
    void    the parts were an empty list
    string  the instructions were a string
"""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import (
    PLACEHOLDER,
    SYSTEM_MARK,
    Scribe,
    Wire,
    keep,
    unsaid_changes,
)
from interlingua.dialects.gemini.content import read_parts, write_parts
from interlingua.dialects.gemini.spelling import Place, Taking, mine, spell
from interlingua.dialects.gemini.tables import MODEL, NAME, ROLES, USER
from interlingua.dialects.gemini.turn import Calls, Turn
from interlingua.model.base import Raw
from interlingua.model.blocks import Block, TextBlock, ToolResultBlock
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata

PLAIN = MessageMetadata(protocol=NAME)
"""Of every model turn that has nothing else to say."""
_INSTRUCTIONS = (Role.SYSTEM, Role.DEVELOPER)

# -- reading --------------------------------------------------------------------------------------


def read_contents(contents: list[Any], place: Place) -> list[Message]:
    messages: list[Message] = []
    calls = Calls()
    before: str | None = ""
    for index, content in enumerate(contents):
        shared: Wire | None = None
        first: Wire | None = None
        rest: Wire | None = None
        if (
            type(content) is dict
            and len(content) == 2
            and ((word := content.get("role")) == USER or word == MODEL)
            and type(parts := content.get("parts")) is list
            and parts
        ):
            role = word
        else:
            taking = Taking(content, (place, index))
            word, role, parts, shared = take_content(taking)
            first, rest = taking.form, taking.left
        if word == before:
            first = {**(first or {}), "apart": True}
        before = word
        calls.turn(index, role == MODEL)
        blocks = read_parts(parts, ((place, index), "parts"), calls)
        _add(messages, role, blocks, first, shared, rest)
    return messages


def take_content(content: Taking) -> tuple[str | None, str, list[Any], Wire | None]:
    """The role's word, the side it stands for, the parts, and the form that all messages of this
    content share."""
    word = content.take("role", str, due=True)
    role = ROLES.get(word or USER, USER)
    if word is not None and word != role:
        content.form["role"] = word
    shared = {key: value for key, value in content.form.items() if key in ("role", "absent", "nil")}
    return word, role, take_some(content), shared


def take_some(content: Taking) -> list[Any]:
    """The parts: a list, or one alone."""
    if type(content.left.get("parts")) is dict:
        content.form["one"] = True
        return [content.left.pop("parts")]
    parts = content.take("parts", list, due=True)
    if parts is not None and not parts:
        content.form["void"] = True
    return parts or []


def _add(
    messages: list[Message],
    role: str,
    blocks: list[Block],
    first: Wire | None,
    shared: Wire | None,
    rest: Wire | None,
) -> None:
    """The messages of one content; its spelling is with the first."""
    raw = keep(NAME, rest, first)
    if role == MODEL:
        metadata = PLAIN if raw is None else MessageMetadata(protocol=NAME, provider_raw=raw)
        messages.append(Message(Role.ASSISTANT, tuple(blocks), metadata=metadata))
        return
    spoken: list[Block] = []
    for block in blocks:
        if type(block) is not ToolResultBlock or "kind" in mine(block.raw)[1]:
            spoken.append(block)
            continue
        if spoken:
            messages.append(_said(tuple(spoken), raw))
            raw, spoken = keep(NAME, None, shared), []
        messages.append(_result(block, raw))
        raw = keep(NAME, None, shared)
    if spoken or not blocks:
        messages.append(_said(tuple(spoken), raw))


def _said(blocks: tuple[Block, ...], raw: Raw | None) -> Message:
    if raw is None:
        return Message(Role.USER, blocks)
    return Message(Role.USER, blocks, metadata=MessageMetadata(provider_raw=raw))


def _result(block: ToolResultBlock, raw: Raw | None) -> Message:
    if raw is None:
        return Message.of_result(block)
    metadata = MessageMetadata(parent_tool_use_id=block.tool_use_id, provider_raw=raw)
    return Message(Role.TOOL, (block,), metadata=metadata)


def read_system(system: Any, place: Place) -> Message:
    """`systemInstruction`: a content whose role says nothing, or a string."""
    if type(system) is str:
        content = (TextBlock(system),) if system else ()
        metadata = MessageMetadata(provider_raw=keep(NAME, None, {"string": True}))
        return Message(Role.SYSTEM, content, metadata=metadata)
    taking = Taking(system, place)
    if "role" in taking.left:
        role = taking.take("role", str)
        if role is not None:
            taking.form["role"] = role
    blocks = read_parts(take_some(taking), (place, "parts"), Calls("system"))
    raw = taking.raw()
    if raw is None:
        return Message(Role.SYSTEM, tuple(blocks))
    return Message(Role.SYSTEM, tuple(blocks), metadata=MessageMetadata(provider_raw=raw))


# -- writing --------------------------------------------------------------------------------------


class _Draft:
    """A content that may still grow."""

    __slots__ = ("form", "parts", "rest", "word")

    def __init__(self, word: str | None, form: Wire) -> None:
        self.word = word
        self.form = form
        self.parts: list[Wire] = []
        self.rest: Wire = {}

    def content(self) -> Wire:
        content: Wire = {"role": self.word, "parts": self.parts}
        return finish_content(content, self.form, self.rest)


def finish_content(content: Wire, form: Wire, rest: Wire) -> Wire:
    if rest:
        content = {**rest, **content}
    if form:
        if form.get("one") and len(content["parts"]) == 1:
            content["parts"] = content["parts"][0]
        spell(content, form)
    return content


def write_messages(messages: tuple[Message, ...], scribe: Scribe) -> tuple[Any, list[Wire]]:
    """The instructions at the start, None where there are none, and the contents."""
    leading = 0
    while leading < len(messages) and messages[leading].role in _INSTRUCTIONS:
        leading += 1
    turn = Turn(scribe)
    system = _write_system(messages[:leading], turn) if leading else None
    drafts: list[_Draft] = []
    for message in messages[leading:]:
        _write_message(message, turn, drafts)
    return system, [draft.content() for draft in drafts]


def _write_message(message: Message, turn: Turn, drafts: list[_Draft]) -> None:
    """Add a message to the last content if that is of the same role, else begin one."""
    turn.model = message.role is Role.ASSISTANT
    word: str | None = MODEL if turn.model else USER
    raw = message.metadata.provider_raw
    rest, form = mine(raw)
    if raw is not None or message.name is not None or message.changes is not None:
        tell_message(message, turn.scribe)
        if message.changes is not None and not message.content:
            return
        word = spelled_role(MODEL if turn.model else USER, form)
    if message.role in _INSTRUCTIONS:
        message = _marked(message, turn.scribe)
    if not message.content and not _is_hollow(form):
        return
    last = drafts[-1] if drafts else None
    if last is None or last.word != word or "apart" in form or not last.parts:
        last = _Draft(word, form)
        drafts.append(last)
    if rest:
        last.rest = {**last.rest, **rest}
    if not write_parts(message, turn, last.parts) and message.content:
        reason = "nothing of it can be said; a placeholder stands in its place"
        turn.scribe.lost(message, "content", reason, kind="approximated")
        last.parts.append({"text": PLACEHOLDER})


def _is_hollow(form: Wire) -> bool:
    """Whether there was a content, though without parts."""
    return "void" in form or "parts" in (*form.get("absent", ()), *form.get("nil", ()))


def spelled_role(role: str, form: Wire) -> str | None:
    """The role's word as the wire had it, while it stands for the same side."""
    if form:
        word = form.get("role")
        if type(word) is str and ROLES.get(word, USER) == role:
            return word
        if role == USER and "role" in (*form.get("absent", ()), *form.get("nil", ())):
            return None
    return role


def tell_message(message: Message, scribe: Scribe) -> None:
    """Report what a content has no place for."""
    if message.name is not None:
        scribe.lost(message, "name")
    if message.changes is not None:
        unsaid_changes(message, scribe)
    if message.metadata.provider_raw is not None:
        scribe.unsaid_raw(message, message.metadata.provider_raw, "metadata.provider_raw")


def _marked(message: Message, scribe: Scribe) -> Message:
    """Instructions in mid-conversation, as user text in their place."""
    reason = "instructions stand at the start only; said as marked user text"
    scribe.lost(message, "role", reason, kind="downgraded")
    blocks = list(message.content)
    for index, block in enumerate(blocks):
        if type(block) is TextBlock:
            blocks[index] = block.replace(text=SYSTEM_MARK + block.text)
            scribe.also_known(blocks[index], block)
            break
    marked = message.replace(content=tuple(blocks))
    scribe.also_known(marked, message)
    return marked


def _write_system(messages: tuple[Message, ...], turn: Turn) -> Any:
    parts: list[Wire] = []
    rest: Wire = {}
    form = mine(messages[0].metadata.provider_raw)[1]
    for message in messages:
        if (
            message.name is not None
            or message.changes is not None
            or message.metadata.provider_raw is not None
        ):
            tell_message(message, turn.scribe)
            rest = {**rest, **mine(message.metadata.provider_raw)[0]}
        if message.role is Role.DEVELOPER:
            reason = "instructions are one text, whoever gives them"
            turn.scribe.lost(message, "role", reason, kind="downgraded")
        write_parts(message, turn, parts)
    if (
        "string" in form
        and not rest
        and len(parts) < 2
        and all(p.keys() == {"text"} for p in parts)
    ):
        return parts[0]["text"] if parts else ""
    if not parts and not _is_hollow(form):
        return None
    content: Wire = {"parts": parts}
    if "role" in form:
        content["role"] = form["role"]
    return finish_content(content, form, rest)
