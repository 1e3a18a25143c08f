"""Messages, two ways: a model's, which requests and responses share, and all others. Tool results
are messages of their own.

For a model's message the wire has a place for each kind of block: thinking, hosted tools, content,
refusal, images, audio, calls, in this order. What a message says in another order is moved."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from interlingua.dialects.kernel import words
from interlingua.dialects.kernel.errors import ShapeError, each, maybe, want
from interlingua.dialects.kernel.kept import Kept, fill, form_in, mine_of, put_back, restore
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.openai import is_plain
from interlingua.dialects.openai_chat import calls, text, thinking
from interlingua.dialects.openai_chat.tables import AUDIO_ID, EXECUTED, MARKS, ROLES, Tables, Target
from interlingua.model import blocks as model
from interlingua.model.blocks import Block, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from interlingua.model.changes import EFFORTS, Changes
from interlingua.model.message import NO_METADATA, Message, Role
from interlingua.model.metadata import Diagnostic, MessageMetadata

_ASSISTANT, _TOOL = Role.ASSISTANT, Role.TOOL
_SPEAKERS = {"system": Role.SYSTEM, "developer": Role.DEVELOPER, "user": Role.USER}
_THOUGHTS = (ThinkingBlock, model.RedactedThinkingBlock)
_IMAGE = frozenset({"image_url"})
_AUDIO_KEYS: Wire = {"id": AUDIO_ID, "data": "", "expires_at": 0, "transcript": ""}
"""What the speech of a response has, and what stands there where nobody knows better."""
_FILLED = {"content": ""}
_WORDLESS = ("tool_calls", "function_call", "audio")
_MAY_BE_EMPTY = thinking.KEYS | {
    *("role", "content", "refusal", "annotations", "audio", "function_call", "tool_calls", "name"),
    *("images", "executed_tools", *MARKS),
}
_ABSENT = object()


def _filler_of(wire: Wire, t: Tables) -> str | None:
    """Content that is not there is null; in a request only beside something else."""
    return None if t.answer or any(wire.get(key) for key in _WORDLESS) else ""


# -- reading a model's message --------------------------------------------------------------------


class Said(NamedTuple):
    """An assistant's message, but for who says it."""

    content: tuple[Block, ...]
    name: str | None
    protocol: str
    kept: Kept
    diagnostics: tuple[Diagnostic, ...]


def read_assistant(wire: Wire, t: Tables, origin: int | str | None) -> Said:
    """`origin` is the message's position or its response's id; it names calls without an id."""
    kept, protocol = Kept(), t.name
    taken = {"role"} if wire.get("role") == "assistant" else set()
    blocks: list[Block] = []
    if not thinking.KEYS.isdisjoint(wire):
        blocks, places, protocol = thinking.read_thinking(wire, t, origin)
        taken.update(places)
        own, calls_tools = protocol == t.name, bool(wire.get("tool_calls"))
        if places and places != thinking.usual_places(blocks, t, calls_tools, own):
            kept.form["thinking"] = places
    if wire.get("executed_tools"):
        _read_executed(wire, blocks, t, origin)
        taken.add("executed_tools")
    content = wire.get("content", _ABSENT)
    if content is not _ABSENT and (content or content == _filler_of(wire, t)):
        taken.add("content")
        if type(content) is str:
            blocks.extend([TextBlock(content)] if content else [])
        elif content is not None:
            blocks.extend(text.read_content(content, t.parts["assistant"], t, kept))
    reader = calls.CallReader(t, origin)
    if len(wire) > len(taken):
        _read_beside(wire, blocks, kept, taken, reader)
        protocol = "gemini" if reader.signed or "signature" in kept.form else protocol
        text.read_message_cache(wire, blocks, t, taken)
        if len(wire) > len(taken):
            kept.add_others(wire, taken, _MAY_BE_EMPTY)
    if "content" not in wire or "role" not in wire:
        kept.miss_any(wire, ("role", "content"))
    return Said(tuple(blocks), wire.get("name") or None, protocol, kept, reader.diagnostics)


def _read_beside(
    wire: Wire, blocks: list[Block], kept: Kept, taken: set[str], reader: calls.CallReader
) -> None:
    """What stands beside the content, in the order of the blocks it gives."""
    t = reader.t
    if wire.get("refusal"):
        blocks.append(model.RefusalBlock(want(wire["refusal"], str, ".refusal")))
        taken.add("refusal")
    if wire.get("images"):
        _read_images(wire, blocks, t, taken)
    if wire.get("audio"):
        _read_audio(wire, blocks, t, kept)
        taken.add("audio")
    if wire.get("tool_calls"):
        blocks.extend(each(wire["tool_calls"], ".tool_calls", reader.read))
        taken.add("tool_calls")
    if len(wire) == len(taken):
        return
    if wire.get("function_call"):
        taken.add("function_call")
        if wire["function_call"] == _NO_CALL:
            kept.spell("function_call", wire["function_call"])
        else:
            blocks.append(reader.read_legacy(wire["function_call"]))
    if wire.get("name"):
        want(wire["name"], str, ".name")
        taken.add("name")
    if wire.get("annotations") and text.read_annotations(wire["annotations"], blocks, t):
        taken.add("annotations")
        if not t.answer:
            kept.form["annotations"] = True
    if "extra_content" in wire:
        _read_signature(wire, blocks, kept, taken)


_NO_CALL = {"name": "", "arguments": ""}
"""How some servers spell that there is none."""


def _read_executed(wire: Wire, blocks: list[Block], t: Tables, origin: int | str | None) -> None:
    found: list[Block] = []

    def read(item: Any) -> None:
        found.extend(calls.read_hosted(item, len(found) // 2, EXECUTED, t, origin))

    each(wire["executed_tools"], ".executed_tools", read)
    blocks += found


def _read_images(wire: Wire, blocks: list[Block], t: Tables, taken: set[str]) -> None:
    """Pictures that a model made."""
    images = wire["images"]
    if type(images) is not list or not all(type(image) is dict for image in images):
        return
    for block in each(images, ".images", lambda image: text.read_part(image, _IMAGE, t)):
        usual = t.images_out and type(block) is model.ImageBlock
        blocks.append(block if usual else text.with_form(block, t, **{"in": "images"}))
    taken.add("images")


def _read_audio(wire: Wire, blocks: list[Block], t: Tables, kept: Kept) -> None:
    """Speech: whole in a response, by its id when it is sent back."""
    audio = want(wire["audio"], dict, ".audio")
    id, data, transcript = [
        maybe(audio, key, str, ".audio") for key in ("id", "data", "transcript")
    ]
    if not (id or data or transcript):
        kept.spell("audio", audio)
        return
    inner, used = Kept(), {"transcript"} if transcript else set()
    if data or not id:
        source = model.Source("base64", data or "")
        used.update(("data",) if data else ())
    else:
        source = model.Source("file_id", id, provider=t.provider)
        used.add("id")
    inner.add_others(audio, used, _AUDIO_KEYS)
    if t.answer:
        inner.miss_any(audio, _AUDIO_KEYS)
    elif data or transcript:
        inner.form["spoken"] = True
    blocks.append(model.AudioBlock(source, transcript=transcript or None, raw=inner.raw(t.name)))


def _read_signature(wire: Wire, blocks: list[Block], kept: Kept, taken: set[str]) -> None:
    """Google's signature beside the content belongs to the first text or call."""
    for index, block in enumerate(blocks):
        if isinstance(block, (TextBlock, ToolUseBlock)) and block.signature is None:
            signature = calls.read_google(wire, kept)
            if signature is None:
                return
            taken.add("extra_content")
            if wire.get("thought_signature") == signature:
                taken.add("thought_signature")
                kept.form["signature"] = "twice"
            blocks[index] = block.replace(signature=signature)
            return


# -- writing a model's message --------------------------------------------------------------------

_THINKING, _EXECUTED, _CONTENT, _REFUSAL, _IMAGES, _AUDIO, _CALLS, _LEGACY = range(8)
_NAMED = {
    "thinking": _THINKING,
    "executed_tools": _EXECUTED,
    "images": _IMAGES,
    "tool_calls": _CALLS,
}
"""The places that `$form.in` names."""


def write_assistant(message: Message, to: Target) -> Wire:
    plain = write_plainly(message, to)
    return Turn(message, to).write() if plain is None else plain


def write_plainly(message: Message, to: Target) -> Wire | None:
    """The usual turn of an agent: one text, then calls, in a response after thinking; None for all
    others."""
    t = to.t
    if not _may_be_plain(message, t):
        return None
    content: str | None = None
    thoughts: list[ThinkingBlock] = []
    wanted: list[Wire] = []
    said: Any
    for said in message.content:
        if said.raw is not None or said.cache is not None:
            return None
        kind = type(said)
        if kind is ToolUseBlock:
            if said.executor != "client" or said.call_type or said.signature:
                return None
            wanted.append(calls.write_plain_call(said))
        elif wanted or content is not None:
            return None
        elif kind is TextBlock:
            if not said.text or not is_plain(said):
                return None
            content = said.text
        elif kind is ThinkingBlock and t.answer:
            thoughts.append(said)
        else:
            return None
    if not wanted and content is None:
        return None
    wire: Wire = {"role": "assistant", "content": content}
    if thoughts:
        thinking.write_answered(wire, thoughts, to, message.metadata.protocol or t.name)
    if wanted:
        wire["tool_calls"] = wanted
    return wire


def _may_be_plain(message: Message, t: Tables) -> bool:
    if message.metadata.provider_raw is not None or message.name is not None:
        return False
    return message.changes is None and t.host.ids is None and t.host.replay != "calls"


class Turn:
    """One assistant message on its way to the wire."""

    def __init__(self, message: Message, to: Target) -> None:
        self.message = message
        self.to = to
        self.t, self.recorder = to
        self.mine = mine_of(to.t.name, message.metadata.provider_raw)
        self.form = form_in(self.mine)
        self.by = message.metadata.protocol or to.t.name
        self.places: list[str] | None = None
        self.signature: str | None = None
        """Google's, where it stood beside the content."""
        self.slots: list[list[Any]] = [[], [], [], [], [], [], [], []]

    def write(self) -> Wire:
        self._sort()
        wire: Wire = {}
        slots, to = self.slots, self.to
        if slots[_THINKING]:
            places = self._thinking_places()
            thinking.write_thinking(wire, slots[_THINKING], places, to, self.by)
        if slots[_CONTENT]:
            self._write_content(wire)
        if slots[_CALLS]:
            signs = self.t.answer and self.by == "gemini"
            wire["tool_calls"] = [
                calls.write_call(call, ordinal, to, signs)
                if type(call) is ToolUseBlock
                else text.write_unknown(call, to)[0]
                for ordinal, call in enumerate(slots[_CALLS])
            ]
        self._write_beside(wire)
        if not wire and self.message.content and not self.t.answer:
            wire["content"] = text.placeholder(self.message, self.recorder)
        if self.message.changes is not None:
            words.unsaid_changes(self.message, self.recorder)
        if self.message.name is not None:
            wire["name"] = self.message.name
        return self._finish(wire)

    def _finish(self, wire: Wire) -> Wire:
        raw, t, mine = self.message.metadata.provider_raw, self.t, self.mine
        if self.signature is not None:
            wire.update(calls.signed(self.signature))
            if self.form["signature"] == "twice":
                wire["thought_signature"] = self.signature
        if t.host.replay == "calls" and "tool_calls" in wire and t.host.thinking:
            wire.setdefault(t.host.thinking, "")
        if raw is not None and (len(raw) > 1 or t.name not in raw):
            self.recorder.unwritten_raw(self.message, raw, "metadata.provider_raw")
        text.write_message_cache(wire, self.message.content, t)
        if t.answer and ("choice" in mine or "messages" in mine):
            mine = {key: each for key, each in mine.items() if key not in ("choice", "messages")}
        filler = _filler_of(wire, t)
        if not mine:
            return {"role": "assistant", "content": filler, **wire}
        return restore(wire, mine, {"role": "assistant", "content": filler})

    def _sort(self) -> None:
        """Every block to its place; what comes after something later is moved."""
        reached = 0
        for block in self._blocks():
            if type(block) is model.CompactionBlock:
                summary = words.compaction_as_text(block, self.recorder)
                if summary is None:
                    continue
                block = summary
            slot = _CONTENT if type(block) is TextBlock else self._slot(block)
            if slot is None:
                self._leave_out(block)
                continue
            if slot < reached:
                self.recorder.lost(block, None, "the wire has an order of its own", "moved", "info")
            reached = max(slot, reached)
            self.slots[slot].append(block)

    def _leave_out(self, block: Block) -> None:
        if isinstance(block, _THOUGHTS) and not self.t.answer and self.t.host.replay == "calls":
            self.recorder.dropped(block, "the host takes thinking back with calls only", "info")
        else:
            self.recorder.dropped(block)

    def _blocks(self) -> Sequence[Block]:
        """The blocks; the one whose signature stands beside the content without it."""
        blocks = self.message.content
        if "signature" not in self.form:
            return blocks
        for index, block in enumerate(blocks):
            if isinstance(block, (TextBlock, ToolUseBlock)) and block.signature is not None:
                self.signature = block.signature
                unsigned = block.replace(signature=None)
                self.recorder.alias(unsigned, block)
                return [*blocks[:index], unsigned, *blocks[index + 1 :]]
        return blocks

    def _slot(self, block: Block) -> int | None:
        """The place of a block; None where it has none."""
        form, slots = form_in(mine_of(self.t.name, block.raw)), self.slots
        if form.get("in") in _NAMED:
            return _NAMED[form["in"]]
        if "kind" in form:
            return _CONTENT
        match block:
            case ThinkingBlock() | model.RedactedThinkingBlock():
                return self._thinking_slot(block)
            case ToolUseBlock() if block.executor == "client":
                return _LEGACY if not slots[_LEGACY] and calls.is_legacy(block, self.t) else _CALLS
            case model.RefusalBlock():
                return _CONTENT if self._has_refusal_parts() else _REFUSAL
            case model.ImageBlock() if self.t.images_out:
                return _IMAGES if block.source.kind in ("base64", "url") else None
            case model.AudioBlock() if not slots[_AUDIO] and self._is_heard(block):
                return _AUDIO
            case model.DocumentBlock() if block.source.kind in ("text", "blocks"):
                return _CONTENT
            case model.UnknownBlock() if self.t.name in block.raw:
                return _CONTENT
        return None

    def _thinking_slot(self, block: Block) -> int | None:
        places = self._thinking_places()
        if places == ["content"]:
            return _CONTENT if type(block) is ThinkingBlock else None
        listed = "thinking_blocks" in places or "reasoning_details" in places
        said = listed or (type(block) is ThinkingBlock and bool(block.text))
        return _THINKING if places and said else None

    def _thinking_places(self) -> list[str]:
        """The keys under which thinking is written, or `content`."""
        if self.places is None:
            places, content = self.form.get("thinking"), self.message.content
            if not self.t.answer and self.t.host.replay == "never":
                places = []  # as it would be refused, however it was spelled elsewhere
            elif places is None:
                thoughts = [block for block in content if isinstance(block, _THOUGHTS)]
                wanted = any(type(block) is ToolUseBlock for block in content)
                own = self.message.metadata.protocol == self.t.name
                places = thinking.usual_places(thoughts, self.t, wanted, own)
            self.places = places
        return self.places

    def _has_refusal_parts(self) -> bool:
        """Several refusals are parts of the content, where it may have such."""
        if self.t.answer or "refusal" not in self.t.parts["assistant"]:
            return False
        return sum(type(block) is model.RefusalBlock for block in self.message.content) > 1

    def _is_heard(self, block: model.AudioBlock) -> bool:
        """Whether a message can hold this speech: its data in a response, its id in a request."""
        if block.source.kind == "file_id":
            return block.source.provider in (None, self.t.provider)
        if block.source.kind != "base64":
            return False
        return self.t.answer or "id" in mine_of(self.t.name, block.raw)

    def _write_content(self, wire: Wire) -> None:
        blocks, t = self.slots[_CONTENT], self.t
        aside: frozenset[str] = frozenset()
        texts = [block for block in blocks if type(block) is TextBlock]
        if any(block.citations for block in texts) and (t.answer or "annotations" in self.form):
            items = text.write_annotations(texts, self.to)
            if items:
                wire["annotations"] = items
            aside = frozenset({"citations"})
        said = text.write_content(blocks, t.parts["assistant"], self.to, self.form, aside)
        if said is not None:
            wire["content"] = said

    def _write_beside(self, wire: Wire) -> None:
        slots, to = self.slots, self.to
        if slots[_EXECUTED]:
            wire["executed_tools"] = [
                calls.write_hosted(call, result, ordinal, EXECUTED, to)
                for ordinal, (call, result) in enumerate(
                    calls.pairs(slots[_EXECUTED], self.recorder)
                )
            ]
        if slots[_REFUSAL]:
            wire["refusal"] = self._write_refusal(slots[_REFUSAL])
        if slots[_IMAGES]:
            images = [text.write_part(block, _IMAGE, to) for block in slots[_IMAGES]]
            wire["images"] = [part for parts in images for part in parts]
        if slots[_AUDIO]:
            wire["audio"] = self._write_audio(slots[_AUDIO][0])
        if slots[_LEGACY]:
            wire["function_call"] = calls.write_legacy(slots[_LEGACY][0], to)

    def _write_refusal(self, refusals: list[model.RefusalBlock]) -> str:
        for block in refusals:
            self.recorder.unwritten(block, frozenset({"text"}))
        for block in refusals[1:]:
            reason = "joined with the refusal before it"
            self.recorder.lost(block, None, reason, "approximated", "info")
        return "".join([block.text for block in refusals])

    def _write_audio(self, block: model.AudioBlock) -> Wire:
        """Speech, whole; but a request names it by its id."""
        mine, source = mine_of(self.t.name, block.raw), block.source
        audio: Wire = {"id": source.data} if source.kind == "file_id" else {}
        if not self.t.answer and not form_in(mine).get("spoken"):
            if source.kind == "base64":
                audio, mine = {"id": mine["id"]}, {}
                self.recorder.lost(block, "source", "sent by its id", "approximated", "info")
            self.recorder.unwritten(block, frozenset({"source"}))
            return restore(audio, mine)
        if source.kind == "base64" and source.data:
            audio["data"] = source.data
        if block.transcript is not None:
            audio["transcript"] = block.transcript
        self.recorder.unwritten(block, frozenset({"source", "transcript"}))
        return restore(audio, mine, _AUDIO_KEYS if self.t.answer else {})


# -- reading messages -----------------------------------------------------------------------------


def read_messages(wires: Any, t: Tables) -> tuple[Message, ...]:
    if type(wires) is not list:
        raise ShapeError(".messages", "a list", wires)
    messages: list[Message] = []
    reader: _Reader | None = None
    for wire in wires:
        if type(wire) is dict and len(wire) == 2:
            # A role and a text: most messages that people write, and all that short requests have.
            content, word = wire.get("content"), wire.get("role")
            role = _SPEAKERS.get(word) if type(word) is str else None
            if role is not None and type(content) is str and content:
                messages.append(Message(role, (TextBlock(content),)))
                continue
        if reader is None:
            reader = _Reader(t, messages)
        try:
            messages.append(reader.read(wire))
        except ShapeError as error:
            raise error.inside(f".messages[{len(messages)}]") from None
    return tuple(messages)


@cache
def _plain(name: str) -> MessageMetadata:
    """What is known of a message with nothing special about it; they all share it."""
    return MessageMetadata(protocol=name)


class _Reader:
    """Reads the messages of one request."""

    def __init__(self, t: Tables, messages: list[Message]) -> None:
        self.t = t
        self.messages = messages
        self.calls = calls.Unanswered()
        self.plain = _plain(t.name)
        self.signed = thinking.signed_by_anthropic(t.name)
        self.shared: dict[tuple[str, ...], MessageMetadata] = {}

    def read(self, wire: Any) -> Message:
        word: Any = want(wire, dict).get("role")
        role = ROLES.get(word) if type(word) is str else None
        if role is _TOOL:
            return self._result(wire)
        if role is None:
            raise ShapeError(".role", "a known role", word)
        if role is not _ASSISTANT:
            return _read_turn(wire, word, role, self.t)
        plain = self._plain_turn(wire)
        return self._assistant(wire) if plain is None else plain

    def _plain_turn(self, wire: Wire) -> Message | None:
        """The usual turn of an agent: text, calls, perhaps signed thinking; None for all others."""
        content, wanted = wire.get("content"), wire.get("tool_calls")
        if len(wire) == 2 and type(content) is str and content:
            return Message(_ASSISTANT, (TextBlock(content),), metadata=self.plain)
        thoughts = wire.get("thinking_blocks")
        if len(wire) != 3 + (thoughts is not None) or not wanted or type(wanted) is not list:
            return None
        blocks: list[Any] = []
        metadata = self.plain
        if thoughts is not None:
            signed = self.shared.get(("anthropic", "thinking_blocks"))
            if signed is None or type(thoughts) is not list:
                return None  # the first one is read slowly, and tells what is known of the others
            metadata = signed
            blocks += [thinking.read_signed(item, self.signed) for item in thoughts]
        if type(content) is str and content:
            blocks.append(TextBlock(content))
        elif content is not None or "content" not in wire:
            return None
        blocks += [calls.read_plain_call(call) for call in wanted]
        return None if None in blocks else Message(_ASSISTANT, tuple(blocks), metadata=metadata)

    def _assistant(self, wire: Wire) -> Message:
        said = read_assistant(wire, self.t, len(self.messages))
        return Message(_ASSISTANT, said.content, said.name, metadata=self._metadata(said))

    def _metadata(self, said: Said) -> MessageMetadata:
        """Messages that are spelled alike share what is known about them."""
        form, protocol = said.kept.form, said.protocol
        plain = not said.kept.rest and not said.diagnostics
        if plain and not form and protocol == self.t.name:
            return self.plain
        key = (protocol, *form.get("thinking", ()))
        shared = plain and form.keys() <= {"thinking"}
        if not shared or key not in self.shared:
            raw = said.kept.raw(self.t.name)
            found = MessageMetadata(
                protocol=protocol, diagnostics=said.diagnostics, provider_raw=raw
            )
            if not shared:
                return found
            self.shared[key] = found
        return self.shared[key]

    def _result(self, wire: Wire) -> Message:
        id, content = wire.get("tool_call_id"), wire.get("content")
        texts = type(content) is str and type(id) is str and len(wire) == 3
        usual = texts and id and wire["role"] == "tool"
        if not usual or not content or content.startswith(words.ERROR_MARK):
            return Message.of_result(calls.read_result(wire, self.t, self.messages, self.calls))
        block = ToolResultBlock(id, (TextBlock(content),))  # type: ignore[arg-type]  # a text
        return Message(_TOOL, (block,), metadata=MessageMetadata(parent_tool_use_id=id))


def _read_turn(wire: Wire, word: str, role: Role, t: Tables) -> Message:
    """A system, developer or user message."""
    kept, taken, content = Kept(), {"role"}, wire.get("content")
    blocks = text.read_content(content, t.parts[word], t, kept)
    if blocks or content == "":
        taken.add("content")
    name = wire.get("name")
    if name:
        want(name, str, ".name")
        taken.add("name")
    text.read_message_cache(wire, blocks, t, taken)
    changes = _read_changes(wire, t, taken) if "configuration_update" in wire else None
    kept.add_others(wire, taken, ("content", "name", "tool_calls", *MARKS))
    kept.miss_any(wire, _FILLED)
    raw = kept.raw(t.name)
    metadata = NO_METADATA if raw is None else MessageMetadata(provider_raw=raw)
    return Message(role, tuple(blocks), name or None, metadata=metadata, changes=changes)


def _read_changes(wire: Wire, t: Tables, taken: set[str]) -> Changes | None:
    """The effort from here on, where that is all that a setting says."""
    match wire["configuration_update"]:
        case {"reasoning": {"effort": effort} as inner} as update if effort in EFFORTS:
            if len(update) == len(inner) == 1 and "effort" in t.changes:
                taken.add("configuration_update")
                return Changes(effort=effort)
    return None


# -- writing messages -----------------------------------------------------------------------------


def write_messages(messages: tuple[Message, ...], to: Target) -> list[Wire]:
    wires: list[Wire] = []
    for message in messages:
        role = message.role
        if role is _ASSISTANT:
            wires.append(write_assistant(message, to))
        elif role is _TOOL:
            wires.extend(_write_results(message, to))
        elif message.content or message.changes is None or _is_said(message.changes, to.t):
            wires.append(_write_turn(message, to))
        else:
            words.unsaid_changes(message, to.recorder)
    return wires


def _is_said(changes: Changes, t: Tables) -> bool:
    """Whether a message without words says anything here."""
    return changes.effort is not None and "effort" in t.changes


def _write_turn(message: Message, to: Target) -> Wire:
    content, raw, word = message.content, message.metadata.provider_raw, _WORDS[message.role]
    if raw is None and len(content) == 1 and message.name is None and message.changes is None:
        only = content[0]  # a text: what most messages are
        if type(only) is TextBlock and only.text and is_plain(only) and word in _ALWAYS_KNOWN:
            return {"role": word, "content": only.text}
    return _write_any_turn(message, word, to)


_ALWAYS_KNOWN = frozenset({"user", "system"})
_WORDS = {role: role.value for role in Role}


def _write_any_turn(message: Message, word: str, to: Target) -> Wire:
    t, recorder = to
    content, raw = message.content, message.metadata.provider_raw
    if word == "developer" and not t.host.developer:
        recorder.lost(message, "role", "there is no such role; sent as system", "downgraded")
        word = "system"
    mine = mine_of(t.name, raw)
    wire: Wire = {"role": word}
    if content:
        said = text.write_content(content, t.parts[word], to, form_in(mine))
        wire["content"] = text.placeholder(message, recorder) if said is None else said
    if message.name is not None:
        wire["name"] = message.name
    if message.changes is not None:
        words.unsaid_changes(message, recorder, t.changes)
        if _is_said(message.changes, t):
            wire["configuration_update"] = {"reasoning": {"effort": message.changes.effort}}
    if content and content[-1].cache is not None:
        text.write_message_cache(wire, content, t)
    fill(wire, mine, _FILLED)
    return wire if raw is None else put_back(wire, message, raw, recorder, "metadata.provider_raw")


def _write_results(message: Message, to: Target) -> list[Wire]:
    wires: list[Wire] = []
    raw, recorder = message.metadata.provider_raw, to.recorder
    if message.name is not None:
        recorder.lost(message, "name")
    if message.changes is not None:
        words.unsaid_changes(message, recorder)
    if raw is not None:
        recorder.unwritten_raw(message, raw, "metadata.provider_raw")
    for block in message.content:
        if type(block) is ToolResultBlock:
            wire = calls.write_result(block, to)
            wires.append(wire if raw is None else restore(wire, mine_of(to.t.name, raw)))
        else:
            recorder.dropped(block)
    return wires
