"""Messages, two ways: a model's, which requests and responses share, and all others. Tool results
are messages of their own.

For a model's message the wire has a place for each kind of block: thinking, hosted tools, content,
refusal, images, audio, calls, in this order. What a message says in another order is moved."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from interlingua.dialects.kernel.errors import ShapeError, each, maybe, want
from interlingua.dialects.kernel.kept import (
    NOTHING,
    Kept,
    fill,
    form_in,
    form_of,
    mine_of,
    put_back,
    restore,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import ERROR_MARK, compaction_as_text, unsaid_changes
from interlingua.dialects.openai_chat.calls import (
    CallReader,
    Unanswered,
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
from interlingua.dialects.openai_chat.tables import AUDIO_ID, EXECUTED, MARKS, ROLES, Tables
from interlingua.dialects.openai_chat.text import (
    is_plain,
    placeholder,
    read_annotations,
    read_content,
    read_message_cache,
    read_part,
    with_form,
    write_annotations,
    write_content,
    write_message_cache,
    write_part,
    write_unknown,
)
from interlingua.dialects.openai_chat.thinking import KEYS as THINKING
from interlingua.dialects.openai_chat.thinking import (
    read_signed,
    read_thinking,
    signed_by_anthropic,
    usual_places,
    write_thinking,
)
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

_ASSISTANT, _TOOL = Role.ASSISTANT, Role.TOOL
_SPEAKERS = {"system": Role.SYSTEM, "developer": Role.DEVELOPER, "user": Role.USER}
_THOUGHTS = (ThinkingBlock, RedactedThinkingBlock)
_IMAGE = frozenset({"image_url"})
_AUDIO_KEYS: Wire = {"id": AUDIO_ID, "data": "", "expires_at": 0, "transcript": ""}
"""What the speech of a response has, and what stands there where nobody knows better."""
_FILLED = {"content": ""}
_WORDLESS = ("tool_calls", "function_call", "audio")
_MAY_BE_EMPTY = THINKING | {
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
    if not THINKING.isdisjoint(wire):
        blocks, places, protocol = read_thinking(wire, t, origin)
        taken.update(places)
        own, calls_tools = protocol == t.name, bool(wire.get("tool_calls"))
        if places and places != usual_places(blocks, t, calls_tools, own):
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
            blocks.extend(read_content(content, t.parts["assistant"], t, kept))
    calls = CallReader(t, origin)
    if len(wire) > len(taken):
        _read_beside(wire, blocks, t, kept, taken, calls)
        protocol = "gemini" if calls.signed or "signature" in kept.form else protocol
        read_message_cache(wire, blocks, t, taken)
        if len(wire) > len(taken):
            kept.add_others(wire, taken, _MAY_BE_EMPTY)
    if "content" not in wire or "role" not in wire:
        kept.miss_any(wire, ("role", "content"))
    return Said(tuple(blocks), wire.get("name") or None, protocol, kept, calls.diagnostics)


def _read_beside(
    wire: Wire, blocks: list[Block], t: Tables, kept: Kept, taken: set[str], calls: CallReader
) -> None:
    """What stands beside the content, in the order of the blocks it gives."""
    if wire.get("refusal"):
        blocks.append(RefusalBlock(want(wire["refusal"], str, ".refusal")))
        taken.add("refusal")
    if wire.get("images"):
        _read_images(wire, blocks, t, taken)
    if wire.get("audio"):
        _read_audio(wire, blocks, t, kept, taken)
    if wire.get("tool_calls"):
        blocks.extend(each(wire["tool_calls"], ".tool_calls", calls.read))
        taken.add("tool_calls")
    if len(wire) == len(taken):
        return
    if wire.get("function_call"):
        _read_legacy(wire, blocks, kept, taken, calls)
    if wire.get("name"):
        want(wire["name"], str, ".name")
        taken.add("name")
    if wire.get("annotations") and read_annotations(wire["annotations"], blocks, t):
        taken.add("annotations")
        if not t.answer:
            kept.form["annotations"] = True
    if "extra_content" in wire:
        _read_signature(wire, blocks, kept, taken)


def _read_executed(wire: Wire, blocks: list[Block], t: Tables, origin: int | str | None) -> None:
    found: list[Block] = []

    def read(item: Any) -> None:
        found.extend(read_hosted(item, len(found) // 2, EXECUTED, t, origin))

    each(wire["executed_tools"], ".executed_tools", read)
    blocks += found


def _read_images(wire: Wire, blocks: list[Block], t: Tables, taken: set[str]) -> None:
    """Pictures that a model made."""
    images = wire["images"]
    if type(images) is not list or not all(type(image) is dict for image in images):
        return
    for block in each(images, ".images", lambda image: read_part(image, _IMAGE, t)):
        usual = t.images_out and type(block) is ImageBlock
        blocks.append(block if usual else with_form(block, t, **{"in": "images"}))
    taken.add("images")


def _read_audio(wire: Wire, blocks: list[Block], t: Tables, kept: Kept, taken: set[str]) -> None:
    """Speech: whole in a response, by its id when it is sent back."""
    audio = want(wire["audio"], dict, ".audio")
    taken.add("audio")
    keys = ("id", "data", "transcript")
    id, data, transcript = (maybe(audio, key, str, ".audio") for key in keys)
    if not (id or data or transcript):
        kept.spell("audio", audio)
        return
    inner, used = Kept(), {"transcript"} if transcript else set()
    if data or not id:
        source = Source("base64", data or "")
        used.update(("data",) if data else ())
    else:
        source = Source("file_id", id, provider=t.provider)
        used.add("id")
    inner.add_others(audio, used, _AUDIO_KEYS)
    if t.answer:
        inner.miss_any(audio, _AUDIO_KEYS)
    elif data or transcript:
        inner.form["spoken"] = True
    blocks.append(AudioBlock(source, transcript=transcript or None, raw=inner.raw(t.name)))


def _read_legacy(
    wire: Wire, blocks: list[Block], kept: Kept, taken: set[str], calls: CallReader
) -> None:
    taken.add("function_call")
    call = wire["function_call"]
    if call == {"name": "", "arguments": ""}:  # how some servers spell that there is none
        kept.spell("function_call", call)
    else:
        blocks.append(calls.read_legacy(call))


def _read_signature(wire: Wire, blocks: list[Block], kept: Kept, taken: set[str]) -> None:
    """Google's signature beside the content belongs to the first text or call."""
    for index, block in enumerate(blocks):
        if isinstance(block, (TextBlock, ToolUseBlock)) and block.signature is None:
            signature = read_google(wire, kept)
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


def write_assistant(message: Message, t: Tables, recorder: LossRecorder) -> Wire:
    plain = write_plainly(message, t, recorder)
    return Turn(message, t, recorder).write() if plain is None else plain


def write_plainly(message: Message, t: Tables, recorder: LossRecorder) -> Wire | None:
    """The usual turn of an agent: one text, then calls, in a response after thinking; None for all
    others."""
    if message.metadata.provider_raw is not None or message.name is not None:
        return None
    if message.changes is not None or t.host.ids is not None or t.host.replay == "calls":
        return None
    text: str | None = None
    thoughts: list[Block] = []
    calls: list[Wire] = []
    said: Any
    for said in message.content:
        if said.raw is not None or said.cache is not None:
            return None
        kind = type(said)
        if kind is ToolUseBlock:
            if said.executor != "client" or said.call_type or said.signature:
                return None
            calls.append(write_plain_call(said))
        elif calls or text is not None:
            return None
        elif kind is TextBlock:
            if not said.text or not is_plain(said):
                return None
            text = said.text
        elif kind is ThinkingBlock and t.answer:
            thoughts.append(said)
        else:
            return None
    if not calls and text is None:
        return None
    wire: Wire = {"role": "assistant", "content": text}
    if thoughts:
        _think_plainly(wire, thoughts, message, t, recorder, bool(calls))
    if calls:
        wire["tool_calls"] = calls
    return wire


def _think_plainly(
    wire: Wire,
    thoughts: list[Any],
    message: Message,
    t: Tables,
    recorder: LossRecorder,
    calls: bool,
) -> None:
    first, keys = thoughts[0], t.plain_thinking
    is_text = first.text and first.signature is None and first.id is None
    if is_text and len(thoughts) == 1 and len(keys) == 1:
        wire[keys[0]] = first.text
        return
    places = usual_places(thoughts, t, calls, own=True)
    write_thinking(wire, thoughts, places, t, recorder, message.metadata.protocol or t.name)


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
        self.signature: str | None = None
        """Google's, where it stood beside the content."""
        self.slots: list[list[Any]] = [[], [], [], [], [], [], [], []]

    def write(self) -> Wire:
        self._sort()
        wire: Wire = {}
        slots, t, recorder = self.slots, self.t, self.recorder
        if slots[_THINKING]:
            write_thinking(wire, slots[_THINKING], self._thinking_places(), t, recorder, self.by)
        if slots[_CONTENT]:
            self._write_content(wire)
        if slots[_CALLS]:
            signs = t.answer and self.by == "gemini"
            wire["tool_calls"] = [
                self._write_call(*each, signs) for each in enumerate(slots[_CALLS])
            ]
        self._write_beside(wire)
        if not wire and self.message.content and not t.answer:
            wire["content"] = placeholder(self.message, recorder)
        if self.message.changes is not None:
            unsaid_changes(self.message, recorder)
        if self.message.name is not None:
            wire["name"] = self.message.name
        return self._finish(wire)

    def _finish(self, wire: Wire) -> Wire:
        raw, t, mine = self.message.metadata.provider_raw, self.t, self.mine
        if self.signature is not None:
            wire["extra_content"] = {"google": {"thought_signature": self.signature}}
            if self.form["signature"] == "twice":
                wire["thought_signature"] = self.signature
        if t.host.replay == "calls" and "tool_calls" in wire and t.host.thinking:
            wire.setdefault(t.host.thinking, "")
        if raw is not None and (len(raw) > 1 or t.name not in raw):
            self.recorder.unwritten_raw(self.message, raw, "metadata.provider_raw")
        write_message_cache(wire, self.message.content, t)
        if t.answer and ("choice" in mine or "messages" in mine):
            mine = {key: each for key, each in mine.items() if key not in ("choice", "messages")}
        out: Wire = {"role": "assistant", "content": None, **wire}
        if not mine:
            out["content"] = wire.get("content", _filler_of(wire, t))
            return out
        fillers = {"role": out.pop("role"), "content": _filler_of(wire, t)}
        if "content" not in wire:
            del out["content"]
        return restore(fill(out, mine, fillers), mine)

    def _sort(self) -> None:
        """Every block to its place; what comes after something later is moved."""
        reached = 0
        for block in self._blocks():
            if type(block) is CompactionBlock:
                text = compaction_as_text(block, self.recorder)
                if text is None:
                    continue
                block = text
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
        form = form_of(self.t.name, block.raw)
        if form.get("in") in _NAMED:
            return _NAMED[form["in"]]
        if "kind" in form:
            return _CONTENT
        if isinstance(block, _THOUGHTS):
            return self._thinking_slot(block)
        if isinstance(block, ToolUseBlock) and block.executor == "client":
            first = not self.slots[_LEGACY]
            return _LEGACY if first and is_legacy(block, self.t) else _CALLS
        if isinstance(block, RefusalBlock):
            return _CONTENT if self._has_refusal_parts() else _REFUSAL
        if isinstance(block, ImageBlock):
            sayable = self.t.images_out and block.source.kind in ("base64", "url")
            return _IMAGES if sayable else None
        if isinstance(block, AudioBlock):
            return _AUDIO if not self.slots[_AUDIO] and self._is_heard(block) else None
        if isinstance(block, DocumentBlock):
            return _CONTENT if block.source.kind in ("text", "blocks") else None
        return _CONTENT if isinstance(block, UnknownBlock) and self.t.name in block.raw else None

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
                calls = any(type(block) is ToolUseBlock for block in content)
                own = self.message.metadata.protocol == self.t.name
                places = usual_places(thoughts, self.t, calls, own)
            self.places = places
        return self.places

    def _has_refusal_parts(self) -> bool:
        """Several refusals are parts of the content, where it may have such."""
        if self.t.answer or "refusal" not in self.t.parts["assistant"]:
            return False
        return sum(type(block) is RefusalBlock for block in self.message.content) > 1

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
        granted = t.parts["assistant"]
        said = write_content(blocks, granted, t, self.recorder, self.form, aside)
        if said is not None:
            wire["content"] = said

    def _write_call(self, ordinal: int, call: Any, signs: bool) -> Any:
        if type(call) is UnknownBlock:
            return write_unknown(call, self.t, self.recorder)[0]
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
        if slots[_IMAGES]:
            images = [write_part(block, _IMAGE, t, recorder) for block in slots[_IMAGES]]
            wire["images"] = [part for parts in images for part in parts]
        if slots[_AUDIO]:
            wire["audio"] = self._write_audio(slots[_AUDIO][0])
        if slots[_LEGACY]:
            wire["function_call"] = write_legacy(slots[_LEGACY][0], t, recorder)

    def _write_refusal(self, refusals: list[RefusalBlock]) -> str:
        for block in refusals:
            self.recorder.unwritten(block, frozenset({"text"}))
        for block in refusals[1:]:
            reason = "joined with the refusal before it"
            self.recorder.lost(block, None, reason, "approximated", "info")
        return "".join([block.text for block in refusals])

    def _write_audio(self, block: AudioBlock) -> Wire:
        """Speech, whole; but a request names it by its id."""
        mine, source = mine_of(self.t.name, block.raw), block.source
        audio: Wire = {"id": source.data} if source.kind == "file_id" else {}
        if not self.t.answer and not form_in(mine).get("spoken"):
            if source.kind == "base64":
                audio, mine = {"id": mine["id"]}, NOTHING
                self.recorder.lost(block, "source", "sent by its id", "approximated", "info")
            self.recorder.unwritten(block, frozenset({"source"}))
            return restore(audio, mine)
        if source.kind == "base64" and source.data:
            audio["data"] = source.data
        if block.transcript is not None:
            audio["transcript"] = block.transcript
        self.recorder.unwritten(block, frozenset({"source", "transcript"}))
        return restore(fill(audio, mine, _AUDIO_KEYS) if self.t.answer else audio, mine)


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
        self.calls = Unanswered()
        self.plain = _plain(t.name)
        self.signed = signed_by_anthropic(t.name)
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
        content, calls = wire.get("content"), wire.get("tool_calls")
        if len(wire) == 2 and type(content) is str and content:
            return Message(_ASSISTANT, (TextBlock(content),), metadata=self.plain)
        thoughts = wire.get("thinking_blocks")
        if len(wire) != 3 + (thoughts is not None) or not calls or type(calls) is not list:
            return None
        blocks: list[Block] = []
        metadata = self.plain
        if thoughts is not None:
            signed = self.shared.get(("anthropic", "thinking_blocks"))
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
        if not usual or not content or content.startswith(ERROR_MARK):
            return Message.of_result(read_result(wire, self.t, self.messages, self.calls))
        block = ToolResultBlock(id, (TextBlock(content),))  # type: ignore[arg-type]  # a text
        return Message(_TOOL, (block,), metadata=MessageMetadata(parent_tool_use_id=id))


def _read_turn(wire: Wire, word: str, role: Role, t: Tables) -> Message:
    """A system, developer or user message."""
    kept, taken, content = Kept(), {"role"}, wire.get("content")
    blocks = read_content(content, t.parts[word], t, kept)
    if blocks or content == "":
        taken.add("content")
    name = wire.get("name")
    if name:
        want(name, str, ".name")
        taken.add("name")
    read_message_cache(wire, blocks, t, taken)
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


def write_messages(messages: tuple[Message, ...], t: Tables, recorder: LossRecorder) -> list[Wire]:
    wires: list[Wire] = []
    for message in messages:
        role = message.role
        if role is _ASSISTANT:
            wires.append(write_assistant(message, t, recorder))
        elif role is _TOOL:
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
    role, content, raw = message.role, message.content, message.metadata.provider_raw
    word: str = role.value
    if raw is None and len(content) == 1 and message.name is None and message.changes is None:
        only = content[0]  # a text: what most messages are
        if type(only) is TextBlock and only.text and is_plain(only) and word in _ALWAYS_KNOWN:
            return {"role": word, "content": only.text}
    return _write_any_turn(message, word, t, recorder)


_ALWAYS_KNOWN = frozenset({"user", "system"})


def _write_any_turn(message: Message, word: str, t: Tables, recorder: LossRecorder) -> Wire:
    content, raw = message.content, message.metadata.provider_raw
    if word == "developer" and not t.host.developer:
        recorder.lost(message, "role", "there is no such role; sent as system", "downgraded")
        word = "system"
    mine = mine_of(t.name, raw)
    wire: Wire = {"role": word}
    if content:
        said = write_content(content, t.parts[word], t, recorder, form_in(mine))
        wire["content"] = placeholder(message, recorder) if said is None else said
    if message.name is not None:
        wire["name"] = message.name
    if message.changes is not None:
        unsaid_changes(message, recorder, t.changes)
        if _is_said(message.changes, t):
            wire["configuration_update"] = {"reasoning": {"effort": message.changes.effort}}
    if content and content[-1].cache is not None:
        write_message_cache(wire, content, t)
    fill(wire, mine, _FILLED)
    return wire if raw is None else put_back(wire, message, raw, recorder, "metadata.provider_raw")


def _write_results(message: Message, t: Tables, recorder: LossRecorder) -> list[Wire]:
    wires: list[Wire] = []
    raw = message.metadata.provider_raw
    if message.name is not None:
        recorder.lost(message, "name")
    if message.changes is not None:
        unsaid_changes(message, recorder)
    if raw is not None:
        recorder.unwritten_raw(message, raw, "metadata.provider_raw")
    for block in message.content:
        if type(block) is ToolResultBlock:
            wire = write_result(block, t, recorder)
            wires.append(wire if raw is None else restore(wire, mine_of(t.name, raw)))
        else:
            recorder.dropped(block)
    return wires
