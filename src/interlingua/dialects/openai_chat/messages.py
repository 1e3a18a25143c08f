"""Messages, two ways: a model's, which requests and responses share, and all others. Tool results
are messages of their own.

For a model's message the wire has a place for each kind of block: thinking, hosted tools,
content, refusal, images, audio, calls, in this order. Blocks in another order are moved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from typing import Any, ClassVar, Literal, NamedTuple

import msgspec
from jiter import from_json
from msgspec import UNSET, Struct, UnsetType, to_builtins

from interlingua.dialects.kernel import words
from interlingua.dialects.kernel.calls import read_arguments
from interlingua.dialects.kernel.errors import (
    ShapeError,
    optional,
    read_each,
    require,
    unknown_word,
)
from interlingua.dialects.kernel.preserved import (
    Preserved,
    fill,
    keep,
    raw_of,
    restore,
    restore_raw,
    spelling_in,
)
from interlingua.dialects.kernel.turns import write_each
from interlingua.dialects.kernel.wire import SpelledTexts, Wire
from interlingua.dialects.openai import is_plain
from interlingua.dialects.openai_chat import calls, text, thinking
from interlingua.dialects.openai_chat.tables import (
    AUDIO_ID,
    EXECUTED,
    MARKS,
    ROLES,
    Tables,
    WriteContext,
)
from interlingua.model import blocks as model
from interlingua.model.blocks import Block, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from interlingua.model.message import EFFORTS, NO_METADATA, Changes, Message, Role
from interlingua.model.metadata import Diagnostic, MessageMetadata
from interlingua.model.reasons import because, not_at
from interlingua.model.spelled_numbers import usual_float

_ASSISTANT, _TOOL = Role.ASSISTANT, Role.TOOL
_PLAIN_ROLES = {"system": Role.SYSTEM, "developer": Role.DEVELOPER, "user": Role.USER}
_THOUGHTS = (ThinkingBlock, model.RedactedThinkingBlock)
_SIGNED = (TextBlock, ToolUseBlock)
_IMAGE = frozenset({"image_url"})
_AUDIO_KEYS: Wire = {"id": AUDIO_ID, "data": "", "expires_at": 0, "transcript": ""}
"""The members of a response's speech, with defaults."""
_FILLED = {"content": ""}
_WORDLESS = ("tool_calls", "function_call", "audio")
NO_CALL = {"name": "", "arguments": ""}
"""Spellings of "no call" at some servers."""
BLOCK_KEYS = (
    *("executed_tools", "content", "refusal", "images", "audio", "tool_calls", "function_call"),
)
"""The keys with blocks, in their order, after thinking; `$form.in` names one. Each has methods of
its name that read and write it."""
_MAY_BE_EMPTY = thinking.KEYS | {"role", "annotations", "name", *BLOCK_KEYS, *MARKS}


def _filler_of(wire: Wire, t: Tables) -> str | None:
    """Content that is not there is null; in a request only beside something else."""
    return None if t.answer or any(wire.get(key) for key in _WORDLESS) else ""


# -- reading a model's message --------------------------------------------------------------------


class AssistantFields(NamedTuple):
    """An assistant's message without its role."""

    content: tuple[Block, ...]
    name: str | None
    protocol: str
    preserved: Preserved
    diagnostics: tuple[Diagnostic, ...]


def read_assistant(wire: Wire, t: Tables, origin: int | str | None) -> AssistantFields:
    """`origin` is the message's position or its response's id; it names calls without an id."""
    return AssistantReader(wire, t, origin).read()


class AssistantReader:
    """Reads an assistant's message: its blocks so far, and their keys."""

    def __init__(self, wire: Wire, t: Tables, origin: int | str | None) -> None:
        self.wire, self.t, self.origin = wire, t, origin
        self.preserved, self.calls = Preserved(), calls.CallReader(t, origin)
        self.blocks: list[Block] = []
        self.taken = {"role"} if wire.get("role") == "assistant" else set()

    def read(self) -> AssistantFields:
        wire, preserved, taken, protocol = self.wire, self.preserved, self.taken, self.t.name
        if not thinking.KEYS.isdisjoint(wire):
            protocol = self._read_thinking()
        if "content" in wire and wire["content"] == _filler_of(wire, self.t):
            taken.add("content")
        for key in BLOCK_KEYS:
            if wire.get(key):
                found = getattr(self, key)(wire[key])
                if found is not None:
                    taken.add(key)
                    self.blocks += found
        if len(wire) > len(taken):
            self._read_beside()
            preserved.add_others(wire, taken, _MAY_BE_EMPTY)
        if self.calls.signed or "signature" in preserved.spelling:
            protocol = "gemini"
        preserved.mark_any_absent(wire, ("role", "content"))
        name = wire.get("name") or None
        return AssistantFields(
            tuple(self.blocks), name, protocol, preserved, tuple(self.calls.diagnostics)
        )

    def _read_thinking(self) -> str:
        """The thinking beside the content; the protocol of its signer."""
        wire, t = self.wire, self.t
        self.blocks, positions, protocol = thinking.read_thinking(wire, t, self.origin)
        self.taken.update(positions)
        own, calls_tools = protocol == t.name, bool(wire.get("tool_calls"))
        if positions and positions != thinking.usual_places(self.blocks, t, calls_tools, own):
            self.preserved.spelling["thinking"] = positions
        return protocol

    def _read_beside(self) -> None:
        """Members of the message, or of blocks that are read."""
        wire, t, taken = self.wire, self.t, self.taken
        if wire.get("name"):
            require(wire["name"], str, ".name")
            taken.add("name")
        notes = wire.get("annotations")
        if notes and text.read_annotations(notes, self.blocks, t):
            taken.add("annotations")
            if not t.answer:
                self.preserved.spelling["annotations"] = True
        if "extra_content" in wire:
            self._read_signature()
        text.read_message_cache(wire, self.blocks, t, taken)

    def _read_signature(self) -> None:
        """Google's signature beside the content belongs to the first text or call."""
        for index, block in enumerate(self.blocks):
            if isinstance(block, _SIGNED) and block.signature is None:
                signature = calls.read_google(self.wire, self.preserved)
                if signature is not None:
                    self.taken.add("extra_content")
                    if self.wire.get("thought_signature") == signature:
                        self.taken.add("thought_signature")
                        self.preserved.spelling["signature"] = "twice"
                    self.blocks[index] = block.replace(signature=signature)
                return

    # -- the places, each with its reader; None if the value is of another kind

    def executed_tools(self, items: Any) -> list[Block]:
        found: list[Block] = []

        def read(item: Any) -> None:
            found.extend(calls.read_hosted(item, len(found) // 2, EXECUTED, self.t, self.origin))

        read_each(items, ".executed_tools", read)
        return found

    def content(self, content: Any) -> list[Block]:
        return text.read_content(content, self.t.parts["assistant"], self.t, self.preserved)

    def refusal(self, value: Any) -> list[Block]:
        return [model.RefusalBlock(require(value, str, ".refusal"))]

    def images(self, images: Any) -> list[Block] | None:
        """Pictures that a model made."""
        if type(images) is not list or not all(type(image) is dict for image in images):
            return None
        t = self.t
        return [
            block
            if t.images_out and type(block) is model.ImageBlock
            else text.with_spelling(block, t, **{"in": "images"})
            for block in read_each(images, ".images", self._image)
        ]

    def _image(self, image: Wire) -> Block:
        """One of them; types of SDKs have it without its type."""
        if "type" in image or type(image.get("image_url")) not in (dict, str):
            return text.read_part(image, _IMAGE, self.t)
        block = text.read_part({"type": "image_url", **image}, _IMAGE, self.t)
        if type(block) is not model.ImageBlock:
            return text.read_part(image, _IMAGE, self.t)
        untyped: Block = text.with_spelling(block, self.t, untyped=True)
        return untyped

    def audio(self, audio: Any) -> list[Block]:
        """Speech: whole in a response, by its id when it is sent back."""
        keys = ("id", "data", "transcript")
        require(audio, dict, ".audio")
        id, data, transcript = [optional(audio, key, str, ".audio") for key in keys]
        if not (id or data or transcript):
            self.preserved.keep_spelling("audio", audio)
            return []
        inner, used, t = Preserved(), {"transcript"} if transcript else set(), self.t
        if data or not id:
            source = model.Source("base64", data or "")
            used.update(("data",) if data else ())
        else:
            source = model.Source("file_id", id, provider=t.provider)
            used.add("id")
        inner.add_others(audio, used, _AUDIO_KEYS)
        if t.answer:
            inner.mark_any_absent(audio, _AUDIO_KEYS)
        elif data or transcript:
            inner.spelling["spoken"] = True
        return [model.AudioBlock(source, transcript=transcript or None, raw=inner.raw(t.name))]

    def tool_calls(self, tool_calls: Any) -> list[Block]:
        return read_each(tool_calls, ".tool_calls", self.calls.read)

    def function_call(self, call: Any) -> list[Block]:
        if call != NO_CALL:
            return [self.calls.read_legacy(call)]
        self.preserved.keep_spelling("function_call", call)
        return []


# -- writing a model's message --------------------------------------------------------------------


def write_assistant(message: Message, to: WriteContext) -> Wire:
    plain = write_plainly(message, to)
    return AssistantWriter(message, to).write() if plain is None else plain


def write_plainly(message: Message, to: WriteContext) -> Wire | None:
    """The usual turn of an agent: one text, then calls, in a response after thinking; None for all
    others."""
    t, metadata = to.t, message.metadata
    if metadata.provider_raw is not None or message.name is not None or message.changes is not None:
        return None
    if t.host.ids is not None or t.host.replay == "calls":
        return None
    content: str | None = None
    thoughts: list[ThinkingBlock] = []
    tool_calls: list[Wire] = []
    block: Any
    for block in message.content:
        if block.raw is not None or block.cache is not None:
            return None
        kind = type(block)
        if kind is ToolUseBlock:
            if block.executor != "client" or block.call_type or block.signature or block.caller:
                return None
            tool_calls.append(calls.write_plain_call(block))
        elif tool_calls or content is not None:
            return None
        elif kind is TextBlock:
            content = block.text
            if not content or block.citations or not block.signature is block.phase is None:
                return None
        elif kind is ThinkingBlock and t.answer:
            thoughts.append(block)
        else:
            return None
    if not tool_calls and content is None:
        return None
    wire: Wire = {"role": "assistant", "content": content}
    if thoughts:
        thinking.write_answered(wire, thoughts, to, metadata.protocol or t.name)
    if tool_calls:
        wire["tool_calls"] = tool_calls
    return wire


def _at_host(wire: Wire, message: Message, to: WriteContext) -> Wire:
    """A message without keys that only other hosts have; empty ones are spelling."""
    host, own_raw = to.t.host, raw_of(to.t.name, message.metadata.provider_raw)
    for key in [key for key in wire if key in host.lacks and (key in own_raw or not wire[key])]:
        if wire.pop(key):
            field = f"metadata.provider_raw.{to.t.name}.{key}"
            to.recorder.lost(message, field, not_at(host.name, key))
    return wire


class AssistantWriter:
    """One assistant message on its way to the wire."""

    def __init__(self, message: Message, to: WriteContext) -> None:
        self.message = message
        self.to = to
        self.t, self.recorder = to.t, to.recorder
        self.own_raw = raw_of(to.t.name, message.metadata.provider_raw)
        self.spelling = spelling_in(self.own_raw)
        self.by = message.metadata.protocol or to.t.name
        self.signature: str | None = None
        """Google's, where it stood beside the content."""
        self.slots: dict[str, list[Any]] = {
            "thinking": [],
            **{position: [] for position in BLOCK_KEYS},
        }
        self.wire: Wire = {}

    def write(self) -> Wire:
        self._sort()
        wire, message = self.wire, self.message
        thoughts = self.slots["thinking"]
        if thoughts:
            thinking.write_thinking(wire, thoughts, self.thinking_at, self.to, self.by)
        for key in BLOCK_KEYS:
            blocks = self.slots[key]
            value = getattr(self, key)(blocks) if blocks else None
            if value is not None:
                wire[key] = value
        if not wire and message.content and not self.t.answer:
            wire["content"] = words.placeholder(message, self.recorder, "downgraded")
        if message.changes is not None:
            words.report_changes(message, self.recorder)
        if message.name is not None:
            wire["name"] = message.name
        return self._finish(wire)

    def _finish(self, wire: Wire) -> Wire:
        raw, t, own_raw = self.message.metadata.provider_raw, self.t, self.own_raw
        if self.signature is not None:
            wire.update(calls.signed(self.signature))
            if self.spelling["signature"] == "twice":
                wire["thought_signature"] = self.signature
        if t.host.replay == "calls" and "tool_calls" in wire and t.host.thinking:
            wire.setdefault(t.host.thinking, "")
        if raw is not None and (len(raw) > 1 or t.name not in raw):
            self.recorder.unwritten_raw(self.message, raw, "metadata.provider_raw")
        text.write_message_cache(wire, self.message.content, t)
        if t.answer and ("choice" in own_raw or "messages" in own_raw):
            own_raw = {
                key: each for key, each in own_raw.items() if key not in ("choice", "messages")
            }
        filler = _filler_of(wire, t)
        if not own_raw:
            return {"role": "assistant", "content": filler, **wire}
        restore(wire, own_raw, {"role": "assistant", "content": filler})
        return _at_host(wire, self.message, self.to) if t.host.lacks else wire

    # -- every block to its place

    def _sort(self) -> None:
        """Moves blocks that come before an earlier one."""
        reached, order = 0, list(self.slots)
        for block in self._blocks():
            if type(block) is model.CompactionBlock:
                summary = words.compaction_as_text(block, self.recorder)
                if summary is None:
                    continue
                block = summary
            position = "content" if type(block) is TextBlock else self._place(block)
            if position is None:
                self._leave_out(block)
                continue
            if order.index(position) < reached:
                self.recorder.lost(block, None, because("order_fixed"), "moved")
            reached = max(order.index(position), reached)
            self.slots[position].append(block)

    def _leave_out(self, block: Block) -> None:
        if isinstance(block, _THOUGHTS) and not self.t.answer and self.t.host.replay == "calls":
            self.recorder.dropped(block, because("thinking_with_calls"))
        else:
            self.recorder.dropped(block)

    def _blocks(self) -> Sequence[Block]:
        """The blocks; one of them lacks its signature, which is beside the content."""
        blocks = self.message.content
        for index, block in enumerate(blocks if "signature" in self.spelling else ()):
            if isinstance(block, _SIGNED) and block.signature is not None:
                self.signature = block.signature
                unsigned = block.replace(signature=None)
                self.recorder.alias(unsigned, block)
                return [*blocks[:index], unsigned, *blocks[index + 1 :]]
        return blocks

    def _place(self, block: Block) -> str | None:
        """The place of a block; None where it has none."""
        spelling, slots = spelling_in(raw_of(self.t.name, block.raw)), self.slots
        if spelling.get("in") in slots:
            return str(spelling["in"])
        if "kind" in spelling:
            return "content"
        match block:
            case ThinkingBlock() | model.RedactedThinkingBlock():
                return self._place_of_thinking(block)
            case ToolUseBlock() if block.executor == "client":
                legacy = not slots["function_call"] and calls.is_legacy(block, self.t)
                return "function_call" if legacy else "tool_calls"
            case model.RefusalBlock():
                return "content" if self._has_refusal_parts() else "refusal"
            case model.ImageBlock() if self.t.images_out:
                return "images" if block.source.kind in ("base64", "url") else None
            case model.AudioBlock() if not slots["audio"] and self._is_heard(block):
                return "audio"
            case model.DocumentBlock() if block.source.kind in ("text", "blocks"):
                return "content"
            case model.UnknownBlock() if self.t.name in block.raw:
                return "content"
        return None

    def _place_of_thinking(self, block: Block) -> str | None:
        positions = self.thinking_at
        if positions == ["content"]:
            return "content" if type(block) is ThinkingBlock else None
        listed = "thinking_blocks" in positions or "reasoning_details" in positions
        is_written = listed or (type(block) is ThinkingBlock and bool(block.text))
        return "thinking" if positions and is_written else None

    @cached_property
    def thinking_at(self) -> list[str]:
        """The keys under which thinking is written, or `content`."""
        positions: list[str] | None = self.spelling.get("thinking")
        if not self.t.answer and self.t.host.replay == "never":
            return []  # as it would be refused, however it was spelled elsewhere
        host, at = self.t.host, positions or []
        if host.name and host.thinking and len(at) == 1 and at[0] in thinking.STRINGS:
            return [host.thinking]  # the word of another host
        if positions is not None:
            return positions
        content = self.message.content
        thoughts = [block for block in content if isinstance(block, _THOUGHTS)]
        tool_calls = any(type(block) is ToolUseBlock for block in content)
        own = self.message.metadata.protocol == self.t.name
        return thinking.usual_places(thoughts, self.t, tool_calls, own)

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
        return self.t.answer or "id" in raw_of(self.t.name, block.raw)

    # -- the places, each with its writer

    def executed_tools(self, blocks: list[Any]) -> list[Wire]:
        paired = calls.pairs(blocks, self.recorder)
        return [calls.write_hosted(*pair, EXECUTED, self.to) for pair in paired]

    def content(self, blocks: list[Any]) -> Any:
        aside: frozenset[str] = frozenset()
        texts = [block for block in blocks if type(block) is TextBlock]
        noted = self.t.answer or "annotations" in self.spelling
        if noted and any(block.citations for block in texts):
            items = text.write_annotations(texts, self.to)
            self.wire.update({"annotations": items} if items else {})
            aside = frozenset({"citations"})
        return text.write_content(blocks, self.t.parts["assistant"], self.to, self.spelling, aside)

    def refusal(self, refusals: list[model.RefusalBlock]) -> str:
        for block in refusals:
            self.recorder.unwritten(block, frozenset({"text"}))
        for block in refusals[1:]:
            reason = because("joined")
            self.recorder.lost(block, None, reason, "approximated")
        return "".join([block.text for block in refusals])

    def images(self, blocks: list[Any]) -> list[Any]:
        parts = [part for block in blocks for part in text.write_part(block, _IMAGE, self.to)]
        if len(parts) == len(blocks):
            for block, part in zip(blocks, parts, strict=True):
                if "untyped" in spelling_in(raw_of(self.t.name, block.raw)):
                    del part["type"]
        return parts

    def audio(self, blocks: list[model.AudioBlock]) -> Wire:
        """Speech, whole; but a request names it by its id."""
        block = blocks[0]
        own_raw, source = raw_of(self.t.name, block.raw), block.source
        audio: Wire = {"id": source.data} if source.kind == "file_id" else {}
        if not self.t.answer and not spelling_in(own_raw).get("spoken"):
            if source.kind == "base64":
                audio, own_raw = {"id": own_raw["id"]}, {}
                self.recorder.lost(block, "source", because("sent_by_id"), "approximated")
            self.recorder.unwritten(block, frozenset({"source"}))
            return restore(audio, own_raw)
        if source.kind == "base64" and source.data:
            audio["data"] = source.data
        if block.transcript is not None:
            audio["transcript"] = block.transcript
        self.recorder.unwritten(block, frozenset({"source", "transcript"}))
        return restore(audio, own_raw, _AUDIO_KEYS if self.t.answer else {})

    def tool_calls(self, blocks: list[Any]) -> list[Wire]:
        signs = self.t.answer and self.by == "gemini"
        return [
            calls.write_call(block, self.to, signs)
            if type(block) is ToolUseBlock
            else text.write_unknown(block, self.to)[0]
            for block in blocks
        ]

    def function_call(self, blocks: list[ToolUseBlock]) -> Wire:
        return calls.write_legacy(blocks[0], self.to)


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
            role = _PLAIN_ROLES.get(word) if type(word) is str else None
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


def read_following(wires: list[Any], messages: list[Message], t: Tables) -> Iterator[None]:
    """Appends messages that follow others, and yields behind each."""
    reader = _Reader(t, messages)
    for wire in wires:
        messages += read_messages([wire], t) if _is_plain_turn(wire) else [reader.read(wire)]
        yield None


def _is_plain_turn(wire: Any) -> bool:
    """Whether nothing before a message matters to it: a role and a text."""
    return type(wire) is dict and len(wire) == 2 and wire.get("role") in _PLAIN_ROLES


@cache
def _known(name: str, protocol: str, *positions: str) -> MessageMetadata:
    """The shared metadata of messages with nothing unusual but the position of their thinking."""
    raw = keep(name, None, {"thinking": [*positions]} if positions else None)
    return MessageMetadata(protocol=protocol, provider_raw=raw)


class _Reader:
    """Reads the messages of one request."""

    def __init__(self, t: Tables, messages: list[Message]) -> None:
        self.t = t
        self.messages = messages
        self.calls = calls.Unanswered()
        self.plain = _known(t.name, t.name)
        self.by_anthropic = _known(t.name, "anthropic", "thinking_blocks")
        self.signed = thinking.signed_by_anthropic(t.name)

    def read(self, wire: Any) -> Message:
        word: Any = wire.get("role") if type(wire) is dict else require(wire, dict)
        if word == "assistant":
            return self._plain_turn(wire) or self._assistant(wire)
        role = ROLES.get(word) if type(word) is str else None
        if role is _TOOL:
            return self._result(wire)
        if role is None:
            raise unknown_word(".role", ROLES, word)
        return _read_turn(wire, word, role, self.t)

    def _plain_turn(self, wire: Wire) -> Message | None:
        """The usual turn of an agent: text, calls, perhaps signed thinking; None for all others."""
        content, calls_wire = wire.get("content"), wire.get("tool_calls")
        if len(wire) == 2 and type(content) is str and content:
            return Message(_ASSISTANT, (TextBlock(content),), metadata=self.plain)
        thoughts = wire.get("thinking_blocks")
        if (
            len(wire) != 3 + (thoughts is not None)
            or not calls_wire
            or type(calls_wire) is not list
        ):
            return None
        blocks: list[Block] = []
        block: Block | None
        metadata = self.plain
        if type(thoughts) is list and thoughts:
            metadata = self.by_anthropic
            for item in thoughts:
                if (block := thinking.read_signed(item, self.signed)) is None:
                    return None
                blocks.append(block)
        elif thoughts is not None:
            return None
        if type(content) is str and content:
            blocks.append(TextBlock(content))
        elif content is not None or "content" not in wire:
            return None
        for call in calls_wire:
            if (block := calls.read_plain_call(call)) is None:
                return None
            blocks.append(block)
        return Message(_ASSISTANT, tuple(blocks), metadata=metadata)

    def _assistant(self, wire: Wire) -> Message:
        fields, name = read_assistant(wire, self.t, len(self.messages)), self.t.name
        preserved, found = fields.preserved, fields.diagnostics
        if preserved.rest or found or not preserved.spelling.keys() <= {"thinking"}:
            raw = preserved.raw(name)
            metadata = MessageMetadata(
                protocol=fields.protocol, diagnostics=found, provider_raw=raw
            )
        else:
            metadata = _known(name, fields.protocol, *preserved.spelling.get("thinking", ()))
        return Message(_ASSISTANT, fields.content, fields.name, metadata=metadata)

    def _result(self, wire: Wire) -> Message:
        id, content = wire.get("tool_call_id"), wire.get("content")
        texts = type(content) is str and type(id) is str and len(wire) == 3
        usual = texts and id and wire["role"] == "tool"
        if not usual or not content or content.startswith(words.ERROR_MARK):
            return Message.of_result(calls.read_result(wire, self.t, self.messages, self.calls))
        return _result(id, content)  # type: ignore[arg-type]  # a text


def _result(id: str, text: str) -> Message:
    block = ToolResultBlock(id, (TextBlock(text),))
    return Message(_TOOL, (block,), metadata=MessageMetadata(parent_tool_use_id=id))


def _read_turn(wire: Wire, word: str, role: Role, t: Tables) -> Message:
    """A system, developer or user message."""
    preserved, taken, content = Preserved(), {"role"}, wire.get("content")
    blocks = text.read_content(content, t.parts[word], t, preserved)
    if blocks or content == "":
        taken.add("content")
    name = wire.get("name")
    if name:
        require(name, str, ".name")
        taken.add("name")
    text.read_message_cache(wire, blocks, t, taken)
    changes = _read_changes(wire, t, taken) if "configuration_update" in wire else None
    preserved.add_others(wire, taken, ("content", "name", "tool_calls", *MARKS))
    preserved.mark_any_absent(wire, _FILLED)
    raw = preserved.raw(t.name)
    metadata = NO_METADATA if raw is None else MessageMetadata(provider_raw=raw)
    return Message(role, tuple(blocks), name or None, metadata=metadata, changes=changes)


def _read_changes(wire: Wire, t: Tables, taken: set[str]) -> Changes | None:
    """The effort from here on, if a setting has nothing but an effort."""
    match wire["configuration_update"]:
        case {"reasoning": {"effort": effort} as inner} as update if effort in EFFORTS:
            if len(update) == len(inner) == 1 and "effort" in t.changes:
                taken.add("configuration_update")
                return Changes(effort=effort)
    return None


# -- reading usual messages from their bytes ------------------------------------------------------


class _Function(Struct, forbid_unknown_fields=True, gc=False):
    name: str
    arguments: str


class _Call(Struct, forbid_unknown_fields=True, gc=False):
    id: str
    type: Literal["function"]
    function: _Function


class _Thought(Struct, forbid_unknown_fields=True, gc=False):
    type: Literal["thinking"]
    thinking: str
    signature: str


class _Plain(Struct, tag_field="role", forbid_unknown_fields=True, gc=False):
    """A message that is a role and a content."""

    role: ClassVar[Role]
    content: str | list[Any]


class _System(_Plain, tag="system", gc=False):
    role = Role.SYSTEM


class _Developer(_Plain, tag="developer", gc=False):
    role = Role.DEVELOPER


class _User(_Plain, tag="user", gc=False):
    role = Role.USER


class _Answer(Struct, tag_field="role", tag="assistant", forbid_unknown_fields=True, gc=False):
    content: str | list[Any] | UnsetType | None = UNSET
    thinking_blocks: list[_Thought] | UnsetType = UNSET
    tool_calls: list[_Call] | UnsetType = UNSET


class _Result(Struct, tag_field="role", tag="tool", forbid_unknown_fields=True, gc=False):
    tool_call_id: str
    content: msgspec.Raw


UsualMessage = _System | _Developer | _User | _Answer | _Result
_WORTHWHILE = 512
"""Letters of a text whose JSON is worth being used again."""
_MARK = words.ERROR_MARK
_decode = msgspec.json.Decoder(float_hook=usual_float).decode
_QUOTE = ord('"')


def read_usual(usual: list[Any], t: Tables, spelled: SpelledTexts) -> tuple[Message, ...]:
    """The messages of a body, as `read_messages` reads them."""
    messages: list[Message] = []
    reader = _Reader(t, messages)
    message: Message | None
    for wire in usual:
        kind = type(wire)
        if kind is _Result:
            message = _read_result(wire, reader, spelled)
        elif kind is _Answer:
            message = _read_answer(wire, reader)
        elif type(wire.content) is str and wire.content:
            message = Message(wire.role, (TextBlock(wire.content),))
        else:
            message = None
        messages.append(message or reader.read(to_builtins(wire)))
    return tuple(messages)


def _read_result(wire: _Result, reader: _Reader, spelled: SpelledTexts) -> Message:
    answered, data = wire.tool_call_id, bytes(wire.content)
    try:  # jiter decodes letters beyond ASCII in two thirds of the time
        text: str = from_json(data, cache_mode="none") if data[0] == _QUOTE else ""
    except ValueError:
        text = ""  # and the other parser says what is wrong
    if not answered or not text or (text[0] == _MARK[0] and text.startswith(_MARK)):
        parsed = _decode(data)
        return reader.read({"role": "tool", "tool_call_id": answered, "content": parsed})
    # escaped letters would be longer than the letters
    if len(text) >= _WORTHWHILE and not (text.isascii() or data.isascii()):
        spelled.texts.append(text)
        spelled.known[id(text)] = wire.content
    return _result(answered, text)


def _read_answer(wire: _Answer, reader: _Reader) -> Message | None:
    """Like `_Reader._plain_turn`."""
    content, thoughts, listed = wire.content, wire.thinking_blocks, wire.tool_calls
    if listed is UNSET:
        if type(content) is not str or not content or thoughts is not UNSET:
            return None
        return Message(_ASSISTANT, (TextBlock(content),), metadata=reader.plain)
    if not listed or not (thoughts is UNSET or thoughts) or not (content is None or content):
        return None
    signed = reader.signed
    blocks: list[Block] = []
    for it in () if thoughts is UNSET else thoughts:
        blocks.append(ThinkingBlock(it.thinking, it.signature, None, None, signed))
    if type(content) is str:
        blocks.append(TextBlock(content))
    elif content is not None:
        return None
    for call in listed:
        input, raw, mode = read_arguments(call.function.arguments)
        if mode != "strict" or not call.id:
            return None
        blocks.append(ToolUseBlock(call.id, call.function.name, input, raw))
    metadata = reader.plain if thoughts is UNSET else reader.by_anthropic
    return Message(_ASSISTANT, tuple(blocks), metadata=metadata)


# -- writing messages -----------------------------------------------------------------------------


def write_messages(messages: tuple[Message, ...], to: WriteContext) -> list[Wire]:
    writer = _Writer(to)
    write_each(messages, writer.wires, writer, to.recorder)
    return writer.wires


class _Writer:
    """Messages as they are written; none depends on another."""

    role: str | None = None

    def __init__(self, to: WriteContext) -> None:
        self.wires: list[Wire] = []
        self._to = to

    def skip(self, messages: tuple[Message, ...]) -> None:
        """Does nothing, because earlier messages do not matter."""

    def add(self, message: Message) -> None:
        role, to = message.role, self._to
        if role is _ASSISTANT:
            self.wires.append(write_assistant(message, to))
        elif role is _TOOL:
            self.wires.extend(_write_results(message, to))
        elif message.content or message.changes is None or _has_effort(message.changes, to.t):
            self.wires.append(_write_turn(message, to))
        else:
            words.report_changes(message, to.recorder)


def _has_effort(changes: Changes, t: Tables) -> bool:
    """Whether a message without content has an effect here."""
    return changes.effort is not None and "effort" in t.changes


def _write_turn(message: Message, to: WriteContext) -> Wire:
    content, raw, word = message.content, message.metadata.provider_raw, _WORDS[message.role]
    if raw is None and len(content) == 1 and message.name is None and message.changes is None:
        only = content[0]  # a text: what most messages are
        if type(only) is TextBlock and only.text and is_plain(only) and word in _ALWAYS_KNOWN:
            return {"role": word, "content": only.text}
    return _write_any_turn(message, word, to)


_ALWAYS_KNOWN = frozenset({"user", "system"})
_WORDS = {role: role.value for role in Role}


def _write_any_turn(message: Message, word: str, to: WriteContext) -> Wire:
    t, recorder = to.t, to.recorder
    content, raw = message.content, message.metadata.provider_raw
    if word == "developer" and not t.host.developer:
        recorder.lost(message, "role", because("instructions_one_level"), "downgraded")
        word = "system"
    own_raw = raw_of(t.name, raw)
    wire: Wire = {"role": word}
    if content:
        written = text.write_content(content, t.parts[word], to, spelling_in(own_raw))
        wire["content"] = (
            words.placeholder(message, recorder, "downgraded") if written is None else written
        )
    if message.name is not None:
        wire["name"] = message.name
    if message.changes is not None:
        words.report_changes(message, recorder, t.changes)
        if _has_effort(message.changes, t):
            wire["configuration_update"] = {"reasoning": {"effort": message.changes.effort}}
    if content and content[-1].cache is not None:
        text.write_message_cache(wire, content, t)
    fill(wire, own_raw, _FILLED)
    if raw is None:
        return wire
    restore_raw(wire, message, raw, recorder, "metadata.provider_raw")
    return _at_host(wire, message, to) if t.host.lacks else wire


def _write_results(message: Message, to: WriteContext) -> list[Wire]:
    wires: list[Wire] = []
    raw, recorder = message.metadata.provider_raw, to.recorder
    if message.name is not None:
        recorder.lost(message, "name")
    if message.changes is not None:
        words.report_changes(message, recorder)
    if raw is not None:
        recorder.unwritten_raw(message, raw, "metadata.provider_raw")
    for block in message.content:
        if type(block) is ToolResultBlock:
            wire = calls.write_result(block, to)
            wires.append(wire if raw is None else restore(wire, raw_of(to.t.name, raw)))
        else:
            recorder.dropped(block)
    return wires
