"""The parts of a turn that a client cannot carry, and their restoration.

Of an answer, only parts that the client cannot carry are stored: thinking, sealed thinking,
signatures, results of the provider's own tools, and the positions of all of them. Its visible words
and arguments are not stored, only a digest by which the turn is found again. Both ways are pure
functions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from interlingua.dialects.kernel.preserved import keep, spelling_of
from interlingua.dialects.kernel.words import PLACEHOLDER
from interlingua.dialects.record import Dialect
from interlingua.model.blocks import (
    SUMMARY,
    Block,
    CompactionBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.codec import dumps
from interlingua.model.ids import is_synthetic_tool_id
from interlingua.model.message import Message, Role

_NEVER_SHOWN = (ThinkingBlock, RedactedThinkingBlock, ToolResultBlock, UnknownBlock)
_DIGITS = 32


class Slot(msgspec.Struct, frozen=True, omit_defaults=True):
    """One block of an answer: a hidden one unchanged, or the digest of a visible one."""

    kind: Literal["hidden", "text", "call", "other"]
    block: Block | None = None
    signature: str | None = None
    digest: str = ""
    count: int = 0
    """The number of a text's characters, without white space."""
    id: str = ""
    name: str = ""


class Turn(msgspec.Struct, frozen=True, omit_defaults=True):
    """A stored answer without the parts that the client has."""

    slots: tuple[Slot, ...]
    text_digest: str = msgspec.field(name="said")
    """The digest of all its text."""
    spelled: dict[str, Any] | None = None
    """By dialect: where the wire had the thinking, if not in the usual place."""


def digest(*parts: str) -> str:
    """A digest of several texts; no two lists of them share one."""
    whole = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        whole.update(b"%d:" % len(data))
        whole.update(data)
    return whole.hexdigest()[:_DIGITS]


def squeezed(text: str) -> str:
    """Without white space, which clients and dialects add and remove at the ends of texts."""
    return "".join(text.split())


def arguments(block: ToolUseBlock) -> str:
    """The digest of a call's name and input, independent of the order of its keys."""
    return digest(block.name, dumps(_ordered(block.input)).decode())


def _ordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _ordered(value[key]) for key in sorted(value)}
    if isinstance(value, list | tuple):
        return [_ordered(each) for each in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


# Remembered turns


def turn_of(message: Message, front: Dialect) -> Turn | None:
    """The parts of an answer that the client's dialect cannot carry; None if it can carry all."""
    content: Any = message.content
    if not any(_is_hidden(block) or getattr(block, "signature", None) for block in content):
        return None
    ids = iter(client_ids(message, front))
    slots = tuple([_slot(block, ids) for block in content])
    return Turn(slots, digest_of(message.content), _spelled(message))


def _spelled(message: Message) -> dict[str, Any] | None:
    raw = message.metadata.provider_raw
    forms = {name: spelling_of(name, raw) for name in raw or ()}
    return {n: form["thinking"] for n, form in forms.items() if "thinking" in form} or None


def _slot(block: Any, ids: Iterator[str]) -> Slot:
    if _is_hidden(block):
        return Slot("hidden", block)
    if type(block) is TextBlock:
        bare = squeezed(block.text)
        return Slot("text", None, block.signature, digest(bare), len(bare))
    if type(block) is CompactionBlock:
        bare = squeezed(SUMMARY.format(block.text))
        return Slot("text", None, None, digest(bare), len(bare))
    if type(block) is ToolUseBlock:
        id = next(ids)
        return Slot("call", None, block.signature, arguments(block), 0, id, block.name)
    return Slot("other")


def _is_hidden(block: Block) -> bool:
    """Whether a client never sends it back: thinking, a separate signature, tools that the provider
    ran, and data of a single dialect."""
    if type(block) is TextBlock:
        return not block.text and block.signature is not None
    if type(block) is ToolUseBlock:
        return block.executor == "provider"
    if type(block) is CompactionBlock:
        return not block.text
    return isinstance(block, _NEVER_SHOWN)


def calls_in(message: Message) -> list[ToolUseBlock]:
    """The calls that the client has to answer."""
    return [b for b in message.content if type(b) is ToolUseBlock and not _is_hidden(b)]


def client_ids(message: Message, front: Dialect) -> list[str]:
    """The ids of an answer's calls as the client sees them: fitted to its dialect."""
    grammar = front.traits.ids
    seen: dict[str, int] = {}
    ids: list[str] = []
    for block in calls_in(message):
        times = seen[block.id] = seen.get(block.id, 0) + 1
        ids.append(grammar.fit(block.id if times == 1 else f"{block.id}\n{times}"))
    return ids


# How a turn is known again


def digest_of(content: Sequence[Block]) -> str:
    return digest(squeezed("".join([block.text for block in texts_of(content)])))


def texts_of(content: Sequence[Block]) -> list[TextBlock]:
    """Text blocks, with compactions rendered as text and placeholders skipped."""
    rendered = [
        TextBlock(SUMMARY.format(block.text))
        if type(block) is CompactionBlock and block.text
        else block
        for block in content
    ]
    return [
        block
        for block in rendered
        if type(block) is TextBlock and block.text and block.text != PLACEHOLDER
    ]


def words_of(message: Message) -> tuple[str, ...]:
    """The digests that identify a turn without ids: of its calls, because a client may repeat them
    without the text beside them; of its text if there are no calls."""
    return tuple(map(arguments, calls_in(message))) or (digest_of(message.content),)


def asked_before(messages: Sequence[Message], end: int) -> str:
    """The digest of the input right before a turn: all messages since the model's last one."""
    words: list[str] = []
    for index in range(end - 1, -1, -1):
        message = messages[index]
        if message.role is Role.ASSISTANT:
            break
        if message.role is Role.USER:
            words.append(message.text)
        elif message.role is Role.TOOL:
            words += [_result_text(block) for block in message.content]
    return digest(*reversed(words))


def _result_text(block: Any) -> str:
    content = getattr(block, "content", ())
    return "".join([part.text for part in content if type(part) is TextBlock])


# How it comes back


def merged(message: Message, turn: Turn, dialect: str) -> Message | None:
    """The client's turn with the missing parts restored, in the issuer's dialect; None if it is not
    the turn that was stored."""
    calls = _calls(message, turn)
    if calls is None:
        return None
    texts = _texts(texts_of(message.content), turn)
    others = [block for block in message.content if _is_other(block)]
    out: list[Block] = []
    for number, slot in enumerate(turn.slots):
        if slot.kind == "hidden" and slot.block is not None:
            out.append(slot.block)
        elif slot.kind == "text":
            out += texts.pop(number, [])
        elif slot.kind == "call":
            out.append(calls[number])
        elif others:
            out.append(others.pop(0))
    rest = [block for place in sorted(texts) for block in texts[place]]
    metadata = message.metadata.replace(protocol=dialect, model=None, response_model=None)
    if turn.spelled and dialect in turn.spelled:
        raw = keep(dialect, None, {"thinking": turn.spelled[dialect]})
        metadata = metadata.replace(provider_raw={**(metadata.provider_raw or {}), **(raw or {})})
    return message.replace(content=(*out, *rest, *others), metadata=metadata)


def _is_other(block: Block) -> bool:
    """Neither text nor calls, nor the client's own weaker copy of the thinking."""
    if type(block) is ToolUseBlock:
        return _is_hidden(block)
    return not isinstance(block, TextBlock | ThinkingBlock | RedactedThinkingBlock)


def _calls(message: Message, turn: Turn) -> dict[int, ToolUseBlock] | None:
    """Each call under the number of its slot; None if they differ from the stored ones."""
    own = calls_in(message)
    slots = {number: slot for number, slot in enumerate(turn.slots) if slot.kind == "call"}
    if len(own) != len(slots):
        return None
    by_id = {block.id: block for block in own}
    if {slot.id for slot in slots.values()} == set(by_id):
        pairs = {number: by_id[slot.id] for number, slot in slots.items()}
    else:  # a dialect without ids: calls are identified by their arguments
        pairs = dict(zip(slots, own, strict=True))
    found: dict[int, ToolUseBlock] = {}
    for number, block in pairs.items():
        slot = slots[number]
        has_id = slot.id == block.id and not is_synthetic_tool_id(block.id)
        is_same = slot.name == block.name if has_id else slot.digest == arguments(block)
        if not is_same:
            return None
        found[number] = block.replace(signature=slot.signature)
    return found


def _texts(own: list[TextBlock], turn: Turn) -> dict[int, list[Block]]:
    """Each text under the number of its slot, cut where it was cut before; all of it under the
    first where it is another text by now."""
    slots = {
        number: slot for number, slot in enumerate(turn.slots) if slot.kind == "text" and slot.count
    }
    if not own:
        return {}
    if not slots or digest_of(own) != turn.text_digest:
        first = min(slots, default=len(turn.slots))
        return {first: [block.replace(signature=None) for block in own]}
    if [digest(squeezed(block.text)) for block in own] == [s.digest for s in slots.values()]:
        pairs = zip(slots.items(), own, strict=True)
        return {n: [block.replace(signature=slot.signature)] for (n, slot), block in pairs}
    pieces = _cut("".join([block.text for block in own]), [s.count for s in slots.values()])
    cut = zip(slots.items(), pieces, strict=True)
    return {number: [TextBlock(piece, slot.signature)] for (number, slot), piece in cut}


def _cut(text: str, counts: list[int]) -> list[str]:
    """Cuts a text into pieces of so many characters, not counting white space, which stays with
    the piece before."""
    pieces: list[str] = []
    at = 0
    for count in counts:
        start = at
        while at < len(text) and (count or text[at].isspace()):
            count -= not text[at].isspace()
            at += 1
        pieces.append(text[start:at])
    return pieces
