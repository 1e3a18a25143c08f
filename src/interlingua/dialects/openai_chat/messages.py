"""The messages of a request. Tool results are messages of their own; everything else is a turn."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from interlingua.dialects.kernel.errors import ShapeError, each
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import ERROR_MARK, compaction_as_text, unsaid_changes
from interlingua.dialects.openai_chat.calls import (
    EXECUTED,
    CallReader,
    OpenCalls,
    is_legacy,
    pairs,
    read_google,
    read_hosted,
    read_plain_call,
    read_result,
    write_call,
    write_hosted,
    write_legacy,
    write_plain_call,
    write_result,
)
from interlingua.dialects.openai_chat.shape import (
    Note,
    form_in,
    maybe,
    mine_of,
    put_back,
    want,
)
from interlingua.dialects.openai_chat.tables import AUDIO_ID, MARKS, ROLES, Tables
from interlingua.dialects.openai_chat.text import (
    placeholder,
    read_annotations,
    read_content,
    read_message_cache,
    read_part,
    write_annotations,
    write_content,
    write_message_cache,
    write_part,
    write_unknown,
)
from interlingua.dialects.openai_chat.thinking import (
    KEYS,
    read_signed,
    read_thinking,
    signed_by_anthropic,
    usual_places,
    write_thinking,
)
from interlingua.model.base import Raw
from interlingua.model.blocks import (
    AudioBlock,
    Block,
    CompactionBlock,
    DocumentBlock,
    ImageBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.changes import EFFORTS, Changes
from interlingua.model.message import NO_METADATA, Message, Role
from interlingua.model.metadata import Diagnostic, MessageMetadata

# -- reading a model's message --------------------------------------------------------------------

KNOWN = KEYS | {
    "role",
    "content",
    "refusal",
    "annotations",
    "audio",
    "function_call",
    "tool_calls",
    "name",
    "images",
    "executed_tools",
    *MARKS,
}
AUDIO_KEYS = ("id", "data", "expires_at", "transcript")
_IMAGES = frozenset({"image_url"})


_ABSENT = object()


def filler_of(wire: Wire, t: Tables) -> str | None:
    """Content that is not there is null; in a request only beside something else."""
    if t.answer or any(wire.get(key) for key in _WORDLESS):
        return None
    return ""


_WORDLESS = ("tool_calls", "function_call", "audio")


class Said(NamedTuple):
    """An assistant's message, but for who says it."""

    content: tuple[Block, ...]
    name: str | None
    protocol: str
    note: Note
    diagnostics: tuple[Diagnostic, ...]


def read_assistant(wire: Wire, t: Tables, origin: int | str | None) -> Said:
    """`origin` is the message's position or its response's id; it names calls without an id."""
    note, protocol = Note(), t.name
    taken = {"role"} if wire.get("role") == "assistant" else set()
    blocks: list[Block] = []
    if not KEYS.isdisjoint(wire):
        blocks, places, protocol = read_thinking(wire, t, origin)
        taken.update(places)
        own, calls_tools = protocol == t.name, bool(wire.get("tool_calls"))
        if places and places != usual_places(blocks, t, calls_tools, own):
            note.form["thinking"] = places
    if wire.get("executed_tools"):
        blocks.extend(_read_executed(wire, t, origin))
        taken.add("executed_tools")
    content = wire.get("content", _ABSENT)
    if content is not _ABSENT and (content or content == filler_of(wire, t)):
        taken.add("content")
        if type(content) is str:
            blocks.extend([TextBlock(content)] if content else [])
        elif content is not None:
            blocks.extend(read_content(content, t.parts["assistant"], t, note))
    calls = CallReader(t, origin)
    if len(wire) > len(taken):
        _read_beside(wire, blocks, t, note, taken, calls)
        protocol = "gemini" if calls.signed or "signature" in note.form else protocol
        read_message_cache(wire, blocks, t, taken)
        if len(wire) > len(taken):
            note.leave(wire, taken, KNOWN)
    if "content" not in wire or "role" not in wire:
        note.absent(wire, ("role", "content"))
    name = wire.get("name") or None
    return Said(tuple(blocks), name, protocol, note, calls.diagnostics)


def _read_beside(
    wire: Wire, blocks: list[Block], t: Tables, note: Note, taken: set[str], calls: CallReader
) -> None:
    """What stands beside the content, in the order of the blocks it gives."""
    if wire.get("refusal"):
        blocks.append(RefusalBlock(want(wire["refusal"], str, ".refusal")))
        taken.add("refusal")
    if wire.get("images"):
        _read_images(wire, blocks, t, taken)
    if wire.get("audio"):
        _read_audio(wire, blocks, t, note, taken)
    if wire.get("tool_calls"):
        blocks.extend(each(wire["tool_calls"], ".tool_calls", calls.read))
        taken.add("tool_calls")
    if len(wire) == len(taken):
        return
    if wire.get("function_call"):
        _read_legacy(wire, blocks, note, taken, calls)
    if wire.get("name"):
        want(wire["name"], str, ".name")
        taken.add("name")
    if wire.get("annotations") and read_annotations(wire["annotations"], blocks, t):
        taken.add("annotations")
        if not t.answer:
            note.form["annotations"] = True
    if "extra_content" in wire:
        _read_signature(wire, blocks, note, taken)


def _read_executed(wire: Wire, t: Tables, origin: int | str | None) -> list[Block]:
    blocks: list[Block] = []

    def read(item: Any) -> None:
        blocks.extend(read_hosted(item, len(blocks) // 2, EXECUTED, t, origin))

    each(wire["executed_tools"], ".executed_tools", read)
    return blocks


def _read_images(wire: Wire, blocks: list[Block], t: Tables, taken: set[str]) -> None:
    """Pictures that a model made."""
    images = wire["images"]
    if type(images) is not list or not all(type(image) is dict for image in images):
        return
    for block in each(images, ".images", lambda image: read_part(image, _IMAGES, t)):
        if not (t.images_out and type(block) is ImageBlock):
            block = block.replace(raw=_with_form(block.raw, t.name, "in", "images"))
        blocks.append(block)
    taken.add("images")


def _with_form(raw: Raw | None, name: str, key: str, value: Any) -> Raw:
    mine = (raw or {}).get(name, {})
    return {name: {**mine, "$form": {**mine.get("$form", {}), key: value}}}


def _read_audio(wire: Wire, blocks: list[Block], t: Tables, note: Note, taken: set[str]) -> None:
    """Speech: whole in a response, by its id when it is sent back."""
    audio = want(wire["audio"], dict, ".audio")
    taken.add("audio")
    id, data, transcript = (
        maybe(audio, key, str, ".audio") for key in ("id", "data", "transcript")
    )
    if not (id or data or transcript):
        note.form.setdefault("empty", {})["audio"] = audio
        return
    inner, used = Note(), {"transcript"} if transcript else set()
    if data or not id:
        source = Source("base64", data or "")
        used.add("data")
    else:
        source = Source("file_id", id, provider=t.provider)
        used.add("id")
    inner.leave(audio, used & audio.keys(), AUDIO_KEYS)
    if t.answer:
        inner.absent(audio, AUDIO_KEYS)
    elif data or transcript:
        inner.form["whole"] = True
    blocks.append(AudioBlock(source, transcript=transcript or None, raw=inner.raw(t.name)))


def _read_legacy(
    wire: Wire, blocks: list[Block], note: Note, taken: set[str], calls: CallReader
) -> None:
    taken.add("function_call")
    call = wire["function_call"]
    if call == {"name": "", "arguments": ""}:  # how some servers spell that there is none
        note.form.setdefault("empty", {})["function_call"] = call
    else:
        blocks.append(calls.read_legacy(call))


def _read_signature(wire: Wire, blocks: list[Block], note: Note, taken: set[str]) -> None:
    """Google's signature beside the content belongs to the first text or call."""
    for index, block in enumerate(blocks):
        if isinstance(block, (TextBlock, ToolUseBlock)) and block.signature is None:
            signature = read_google(wire, note)
            if signature is None:
                return
            taken.add("extra_content")
            if wire.get("thought_signature") == signature:
                taken.add("thought_signature")
                note.form["signature"] = "twice"
            blocks[index] = block.replace(signature=signature)
            return


# -- writing a model's message --------------------------------------------------------------------

_THINKING, _EXECUTED, _CONTENT, _REFUSAL, _PICTURES, _AUDIO, _CALLS, _LEGACY = range(8)
_NAMED = {
    "thinking": _THINKING,
    "executed_tools": _EXECUTED,
    "images": _PICTURES,
    "tool_calls": _CALLS,
}
"""The places that `$form.in` names."""


class Turn:
    """One assistant message on its way to the wire."""

    def __init__(self, message: Message, t: Tables, recorder: LossRecorder) -> None:
        self.message = message
        self.t = t
        self.recorder = recorder
        self.mine = mine_of(t.name, message.metadata.provider_raw)
        self.form = form_in(self.mine)
        self.by = message.metadata.protocol or t.name
        self.places: list[str] | None = None
        self.fillers: Wire = {"role": "assistant"}
        self.signature: str | None = None
        """Google's, where it stood beside the content."""
        self.slots: list[list[Any]] = [[], [], [], [], [], [], [], []]

    def write(self) -> Wire:
        wire: Wire = {"role": "assistant", "content": None}
        self._sort()
        slots, t, recorder = self.slots, self.t, self.recorder
        if slots[_THINKING]:
            write_thinking(wire, slots[_THINKING], self.thinking_places(), t, recorder, self.by)
        if slots[_CONTENT]:
            self._write_content(wire)
        if slots[_CALLS]:
            signs = t.answer and self.by == "gemini"
            wire["tool_calls"] = [
                self._write_call(call, ordinal, signs) for ordinal, call in enumerate(slots[_CALLS])
            ]
        if (
            slots[_EXECUTED]
            or slots[_REFUSAL]
            or slots[_PICTURES]
            or slots[_AUDIO]
            or slots[_LEGACY]
        ):
            self._write_beside(wire)
        if wire["content"] is None:
            if len(wire) == 2 and self.message.content and not t.answer:
                wire["content"] = placeholder(self.message, recorder)
            else:
                wire["content"] = self.fillers["content"] = filler_of(wire, t)
        if self.message.changes is not None:
            unsaid_changes(self.message, recorder)
        if self.message.name is not None:
            wire["name"] = self.message.name
        return self._finish(wire)

    def _finish(self, wire: Wire) -> Wire:
        raw, t = self.message.metadata.provider_raw, self.t
        if self.signature is not None:
            wire["extra_content"] = {"google": {"thought_signature": self.signature}}
            if self.form["signature"] == "twice":
                wire["thought_signature"] = self.signature
        if t.host.replay == "calls" and "tool_calls" in wire and t.host.thinking:
            wire.setdefault(t.host.thinking, "")
        if raw is not None and (len(raw) > 1 or t.name not in raw):
            self.recorder.unwritten_raw(self.message, raw, "metadata.provider_raw")
        if any(block.cache is not None for block in self.message.content):
            write_message_cache(wire, self.message.content, t)
        mine = self.mine
        if t.answer and ("choice" in mine or "messages" in mine):
            mine = {key: each for key, each in mine.items() if key not in ("choice", "messages")}
        return put_back(wire, mine, self.fillers)

    def _sort(self) -> None:
        """Every block to its place; what comes after something later is moved."""
        reached = 0
        for block in self._blocks():
            if type(block) is CompactionBlock:
                text = compaction_as_text(block, self.recorder)
                if text is None:
                    continue
                block = text
            kind = type(block)
            if kind is TextBlock:
                slot: int | None = _CONTENT
            elif kind is ToolUseBlock and block.raw is None and block.executor == "client":  # type: ignore[union-attr]  # a call
                slot = _CALLS
            else:
                slot = self._slot(block)
            if slot is None:
                self._leave_out(block)
                continue
            if slot < reached:
                self.recorder.lost(block, None, "the wire has an order of its own", "moved", "info")
            reached = max(slot, reached)
            self.slots[slot].append(block)

    def _leave_out(self, block: Block) -> None:
        thought = isinstance(block, (ThinkingBlock, RedactedThinkingBlock))
        if thought and not self.t.answer and self.t.host.replay == "calls":
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
        form = form_in(mine_of(self.t.name, block.raw))
        if form.get("in") in _NAMED:
            return _NAMED[form["in"]]
        if "part" in form:
            return _CONTENT
        if isinstance(block, (ThinkingBlock, RedactedThinkingBlock)):
            places = self.thinking_places()
            if places == ["content"]:
                return _CONTENT if isinstance(block, ThinkingBlock) else None
            return _THINKING if self._is_thought(block, places) else None
        if isinstance(block, ToolUseBlock) and block.executor == "client":
            first = not self.slots[_LEGACY]
            return _LEGACY if first and is_legacy(block, self.t) else _CALLS
        if isinstance(block, RefusalBlock):
            return _CONTENT if self._has_refusal_parts() else _REFUSAL
        if isinstance(block, ImageBlock):
            sayable = self.t.images_out and block.source.kind in ("base64", "url")
            return _PICTURES if sayable else None
        if isinstance(block, AudioBlock):
            return _AUDIO if not self.slots[_AUDIO] and self._is_heard(block) else None
        if isinstance(block, DocumentBlock):
            return _CONTENT if block.source.kind in ("text", "blocks") else None
        return _CONTENT if isinstance(block, UnknownBlock) and self.t.name in block.raw else None

    def _is_thought(self, block: Block, places: list[str]) -> bool:
        """Whether the keys for thinking can hold this piece of it."""
        if not places:
            return False
        if "thinking_blocks" in places or "reasoning_details" in places:
            return True
        return isinstance(block, ThinkingBlock) and bool(block.text)

    def thinking_places(self) -> list[str]:
        if self.places is None:
            places = self.form.get("thinking")
            if not self.t.answer and self.t.host.replay == "never":
                places = []  # as it would be refused, however it was spelled elsewhere
            elif places is None:
                content = self.message.content
                thoughts = [
                    block
                    for block in content
                    if isinstance(block, (ThinkingBlock, RedactedThinkingBlock))
                ]
                calls = any(isinstance(block, ToolUseBlock) for block in content)
                own = self.message.metadata.protocol == self.t.name
                places = usual_places(thoughts, self.t, calls, own)
            self.places = places
        return self.places

    def _has_refusal_parts(self) -> bool:
        """Several refusals are parts of the content, where it may have such."""
        if self.t.answer or "refusal" not in self.t.parts["assistant"]:
            return False
        return sum(isinstance(block, RefusalBlock) for block in self.message.content) > 1

    def _is_heard(self, block: AudioBlock) -> bool:
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
            items = write_annotations(texts, t, self.recorder)
            if items:
                wire["annotations"] = items
            aside = frozenset({"citations"})
        wire["content"] = write_content(
            blocks, t.parts["assistant"], t, self.recorder, self.form, aside
        )

    def _write_call(self, call: Block, ordinal: int, signs: bool) -> Any:
        if isinstance(call, UnknownBlock):
            return write_unknown(call, self.t, self.recorder)[0]
        assert isinstance(call, ToolUseBlock)
        return write_call(call, ordinal, self.t, self.recorder, signs)

    def _write_beside(self, wire: Wire) -> None:
        slots, t, recorder = self.slots, self.t, self.recorder
        if slots[_EXECUTED]:
            wire["executed_tools"] = [
                write_hosted(call, result, ordinal, EXECUTED, t, recorder)
                for ordinal, (call, result) in enumerate(pairs(slots[_EXECUTED], recorder))
            ]
        if slots[_REFUSAL]:
            wire["refusal"] = self._write_refusal(slots[_REFUSAL])
        if slots[_PICTURES]:
            granted = frozenset({"image_url"})
            images = [
                part for each in slots[_PICTURES] for part in write_part(each, granted, t, recorder)
            ]
            wire["images"] = images
        if slots[_AUDIO]:
            wire["audio"] = self._write_audio(slots[_AUDIO][0])
        if slots[_LEGACY]:
            wire["function_call"] = write_legacy(slots[_LEGACY][0], t, recorder)

    def _write_refusal(self, refusals: list[RefusalBlock]) -> str:
        for block in refusals:
            if block.cache is not None or block.raw is not None:
                self.recorder.unwritten(block, _SAID_REFUSAL)
        for block in refusals[1:]:
            reason = "joined with the refusal before it"
            self.recorder.lost(block, None, reason, "approximated", "info")
        return "".join([block.text for block in refusals])

    def _write_audio(self, block: AudioBlock) -> Wire:
        mine = mine_of(self.t.name, block.raw)
        form = form_in(mine)
        audio: Wire = {}
        if block.source.kind == "file_id":
            audio["id"] = block.source.data
        if not self.t.answer and not form.get("whole"):
            return self._write_audio_id(block, audio, mine)
        if block.source.kind == "base64":
            audio["data"] = block.source.data
        if block.transcript is not None:
            audio["transcript"] = block.transcript
        self.recorder.unwritten(block, _SAID_AUDIO)
        if self.t.answer:
            fillers = {key: value for key, value in _AUDIO_FILLERS.items() if key not in audio}
            audio.update(fillers)
            return put_back(audio, mine, fillers)
        return put_back(audio, mine)

    def _write_audio_id(self, block: AudioBlock, audio: Wire, mine: Wire) -> Wire:
        """A request names speech by its id."""
        if block.source.kind == "base64":
            audio["id"] = mine["id"]
            self.recorder.lost(block, "source", "sent by its id", "approximated", "info")
            self.recorder.unwritten(block, frozenset({"source"}))
            return audio
        self.recorder.unwritten(block, frozenset({"source"}))
        return put_back(audio, mine)


_SAID_REFUSAL = frozenset({"text"})
_SAID_AUDIO = frozenset({"source", "transcript"})
_AUDIO_FILLERS: dict[str, Any] = dict(zip(AUDIO_KEYS, (AUDIO_ID, "", 0, ""), strict=True))

# -- the usual turn -------------------------------------------------------------------------------


def write_assistant(message: Message, t: Tables, recorder: LossRecorder) -> Wire:
    plain = write_plainly(message, t, recorder)
    return Turn(message, t, recorder).write() if plain is None else plain


def write_plainly(message: Message, t: Tables, recorder: LossRecorder) -> Wire | None:
    """The usual turn of an agent: one text, then calls, in a response after thinking; None for all
    others."""
    if message.metadata.provider_raw is not None or message.name is not None:
        return None
    if message.changes is not None:
        return None
    if t.host.ids is not None or t.host.replay == "calls":
        return None
    text: str | None = None
    thoughts: list[ThinkingBlock] = []
    calls: list[Wire] = []
    for block in message.content:
        if block.raw is not None or block.cache is not None:
            return None
        kind = type(block)
        if kind is ToolUseBlock:
            if block.executor != "client" or block.call_type or block.signature:  # type: ignore[union-attr]  # by its kind
                return None
            calls.append(write_plain_call(block))  # type: ignore[arg-type]  # by its kind
        elif calls or text is not None:
            return None
        elif kind is TextBlock:
            if block.citations or block.signature or block.phase or not block.text:  # type: ignore[union-attr]  # by its kind
                return None
            text = block.text  # type: ignore[union-attr]  # by its kind
        elif kind is ThinkingBlock and t.answer:
            thoughts.append(block)  # type: ignore[arg-type]  # by its kind
        else:
            return None
    if not calls and text is None:
        return None
    wire: Wire = {"role": "assistant", "content": text}
    if thoughts:
        first, keys = thoughts[0], t.plain_thinking
        is_text = first.text and first.signature is None and first.id is None
        if is_text and len(thoughts) == 1 and len(keys) == 1:
            wire[keys[0]] = first.text
        else:
            by = message.metadata.protocol or t.name
            places = usual_places(thoughts, t, bool(calls), own=True)
            write_thinking(wire, thoughts, places, t, recorder, by)
    if calls:
        wire["tool_calls"] = calls
    return wire


# -- messages -------------------------------------------------------------------------------------

FILLERS = {"content": ""}
_ASSISTANT, _TOOL = Role.ASSISTANT, Role.TOOL
_SIGNED = ("anthropic", "thinking_blocks")
MESSAGE_KNOWN = frozenset({"content", "name", "tool_calls", *MARKS})


# Reading


def read_messages(wires: Any, t: Tables) -> tuple[Message, ...]:
    if type(wires) is not list:
        raise ShapeError(".messages", "a list", wires)
    messages: list[Message] = []
    reader: _Reading | None = None
    for wire in wires:
        if type(wire) is dict and len(wire) == 2:
            # A role and a text: most messages that people write, and all that short requests have.
            content, word = wire.get("content"), wire.get("role")
            role = _SPEAKERS.get(word) if type(word) is str else None
            if role is not None and type(content) is str and content:
                messages.append(Message(role, (TextBlock(content),)))
                continue
        if reader is None:
            reader = _Reading(t, messages)
        try:
            if type(wire) is dict:
                word = wire.get("role")
                if word == "tool":
                    messages.append(reader.result(wire))
                    continue
                if word == "assistant" and (plain := reader.plain_turn(wire)) is not None:
                    messages.append(plain)
                    continue
            reader.read(wire)
        except ShapeError as odd:
            raise odd.inside(f".messages[{len(messages)}]") from None
    return tuple(messages)


_SPEAKERS = {"system": Role.SYSTEM, "developer": Role.DEVELOPER, "user": Role.USER}


@cache
def _plain(name: str) -> MessageMetadata:
    """What is known of a message with nothing special about it; they all share it."""
    return MessageMetadata(protocol=name)


class _Reading:
    def __init__(self, t: Tables, messages: list[Message]) -> None:
        self.t = t
        self.messages = messages
        self.calls = OpenCalls()
        self.plain = _plain(t.name)
        self.signed = signed_by_anthropic(t.name)
        self.usual: dict[tuple[str, ...], MessageMetadata] = {}

    def read(self, wire: Any) -> None:
        if type(wire) is not dict:
            raise ShapeError("", "an object", wire)
        word: Any = wire.get("role")
        role = ROLES.get(word) if type(word) is str else None
        if role is _ASSISTANT:
            self.messages.append(self._assistant(wire))
        elif role is _TOOL:
            self.messages.append(self.result(wire))
        elif role is not None:
            self.messages.append(_read_turn(wire, word, role, self.t))
        else:
            raise ShapeError(".role", "a known role", word)

    def _assistant(self, wire: Wire) -> Message:
        if len(wire) == 2:
            content = wire.get("content")
            if type(content) is str and content:
                return Message(Role.ASSISTANT, (TextBlock(content),), metadata=self.plain)
        content, name, protocol, note, diagnostics = read_assistant(
            wire, self.t, len(self.messages)
        )
        return Message(
            Role.ASSISTANT, content, name, metadata=self._metadata(protocol, note, diagnostics)
        )

    def plain_turn(self, wire: Wire) -> Message | None:
        """The usual turn of an agent: text, calls, perhaps signed thinking; None for all others."""
        content, calls = wire.get("content"), wire.get("tool_calls")
        thoughts = wire.get("thinking_blocks")
        if len(wire) != 3 + (thoughts is not None) or not calls or type(calls) is not list:
            return None
        blocks: list[Block] = []
        metadata = self.plain
        if thoughts is not None:
            signed = self.usual.get(_SIGNED)
            if signed is None or type(thoughts) is not list:
                return None  # the first one is read slowly, and tells what is known of the others
            metadata = signed
            for item in thoughts:
                thought = read_signed(item, self.signed)
                if thought is None:
                    return None
                blocks.append(thought)
        if type(content) is str and content:
            blocks.append(TextBlock(content))
        elif content is not None or "content" not in wire:
            return None
        for wanted in calls:
            call = read_plain_call(wanted)
            if call is None:
                return None
            blocks.append(call)
        return Message(_ASSISTANT, tuple(blocks), metadata=metadata)

    def _metadata(self, protocol: str, note: Note, diagnostics: Any) -> MessageMetadata:
        """Messages that are spelled alike share what is known about them."""
        form = note.form
        if note.rest or diagnostics or len(form) > 1:
            raw = note.raw(self.t.name)
            return MessageMetadata(protocol=protocol, diagnostics=diagnostics, provider_raw=raw)
        if not form and protocol == self.t.name:
            return self.plain
        key = (protocol, *form.get("thinking", ()))
        if form and len(key) == 1:
            return MessageMetadata(protocol=protocol, provider_raw=note.raw(self.t.name))
        if key not in self.usual:
            raw = note.raw(self.t.name)
            self.usual[key] = MessageMetadata(protocol=protocol, provider_raw=raw)
        return self.usual[key]

    def result(self, wire: Wire) -> Message:
        id, content = wire.get("tool_call_id"), wire.get("content")
        if (
            len(wire) == 3
            and type(content) is str
            and content
            and type(id) is str
            and id
            and not content.startswith(ERROR_MARK)
            and wire["role"] == "tool"
        ):
            block = ToolResultBlock(id, (TextBlock(content),))
            return Message(_TOOL, (block,), metadata=MessageMetadata(parent_tool_use_id=id))
        return Message.of_result(read_result(wire, self.t, self.messages, self.calls))


def _read_turn(wire: Wire, word: str, role: Role, t: Tables) -> Message:
    """A system, developer or user message."""
    content = wire.get("content")
    if len(wire) == 2 and type(content) is str and content:
        return Message(role, (TextBlock(content),))
    note, taken = Note(), {"role"}
    blocks = read_content(content, t.parts[word], t, note)
    if blocks or content == "":
        taken.add("content")
    name = wire.get("name")
    if name:
        want(name, str, ".name")
        taken.add("name")
    read_message_cache(wire, blocks, t, taken)
    changes = _read_changes(wire, t, taken) if "configuration_update" in wire else None
    note.leave(wire, taken, MESSAGE_KNOWN)
    note.absent(wire, FILLERS)
    raw = note.raw(t.name)
    metadata = NO_METADATA if raw is None else MessageMetadata(provider_raw=raw)
    return Message(role, tuple(blocks), name or None, metadata=metadata, changes=changes)


def _read_changes(wire: Wire, t: Tables, taken: set[str]) -> Changes | None:
    """The effort from here on, where that is all that a setting says."""
    update = wire["configuration_update"]
    inner = update.get("reasoning") if type(update) is dict and len(update) == 1 else None
    effort = inner.get("effort") if type(inner) is dict and len(inner) == 1 else None
    if effort not in EFFORTS or "effort" not in t.changes:
        return None
    taken.add("configuration_update")
    return Changes(effort=effort)


# Writing


def write_messages(messages: tuple[Message, ...], t: Tables, recorder: LossRecorder) -> list[Wire]:
    wires: list[Wire] = []
    for message in messages:
        role = message.role
        if role is Role.ASSISTANT:
            wires.append(write_assistant(message, t, recorder))
        elif role is Role.TOOL:
            wires.extend(_write_results(message, t, recorder))
        elif message.content or message.changes is None or _is_said(message.changes, t):
            wires.append(_write_turn(message, t, recorder))
        else:
            unsaid_changes(message, recorder)
    return wires


def _is_said(changes: Changes, t: Tables) -> bool:
    """Whether a message without words says anything here."""
    return changes.effort is not None and "effort" in t.changes


def _write_turn(message: Message, t: Tables, recorder: LossRecorder) -> Wire:
    role, metadata = message.role, message.metadata
    word: str = role.value
    if role is Role.DEVELOPER and not t.host.developer:
        recorder.lost(message, "role", "there is no such role; sent as system", "downgraded")
        word = "system"
    raw = metadata.provider_raw
    mine = mine_of(t.name, raw)
    content = message.content
    said = ""
    if content:
        said = write_content(content, t.parts[word], t, recorder, form_in(mine))
        if said is None:
            said = placeholder(message, recorder)
    wire: Wire = {"role": word, "content": said}
    if message.name is not None:
        wire["name"] = message.name
    if message.changes is not None:
        unsaid_changes(message, recorder, t.changes)
        if _is_said(message.changes, t):
            wire["configuration_update"] = {"reasoning": {"effort": message.changes.effort}}
    if content and content[-1].cache is not None:
        write_message_cache(wire, content, t)
    if raw is None:
        return wire
    recorder.unwritten_raw(message, raw, "metadata.provider_raw")
    return put_back(wire, mine, FILLERS)


def _write_results(message: Message, t: Tables, recorder: LossRecorder) -> list[Wire]:
    wires: list[Wire] = []
    if message.name is not None:
        recorder.lost(message, "name")
    if message.changes is not None:
        unsaid_changes(message, recorder)
    raw = message.metadata.provider_raw
    if raw is not None:
        recorder.unwritten_raw(message, raw, "metadata.provider_raw")
    for block in message.content:
        if isinstance(block, ToolResultBlock):
            wires.append(put_back(write_result(block, t, recorder), mine_of(t.name, raw)))
        else:
            recorder.dropped(block)
    return wires
