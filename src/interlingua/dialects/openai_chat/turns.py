"""Writing assistant messages, for requests and responses.

The wire has a place for each kind of block: thinking, hosted tools, content, refusal, images,
audio, calls, in this order. What a canonical message says in another order is moved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from interlingua.dialects.base import Scribe, Wire, compaction_as_text, unsaid_changes
from interlingua.dialects.openai_chat.assistant import AUDIO_KEYS, filler_of
from interlingua.dialects.openai_chat.cache import write_message_cache
from interlingua.dialects.openai_chat.calls import (
    is_legacy,
    write_call,
    write_legacy,
)
from interlingua.dialects.openai_chat.citations import write_annotations
from interlingua.dialects.openai_chat.content import placeholder, write_content
from interlingua.dialects.openai_chat.hosted import EXECUTED, pairs, write_hosted
from interlingua.dialects.openai_chat.parts import write_part, write_unknown
from interlingua.dialects.openai_chat.shape import form_in, mine_of, put_back
from interlingua.dialects.openai_chat.tables import AUDIO_ID, Tables
from interlingua.dialects.openai_chat.thinking import usual_places, write_thinking
from interlingua.model.blocks import (
    AudioBlock,
    Block,
    CompactionBlock,
    DocumentBlock,
    ImageBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.message import Message

_THINKING, _EXECUTED, _CONTENT, _REFUSAL, _IMAGES, _AUDIO, _CALLS, _LEGACY = range(8)
_NAMED = {
    "thinking": _THINKING,
    "executed_tools": _EXECUTED,
    "images": _IMAGES,
    "tool_calls": _CALLS,
}
"""The places that `$form.in` names."""


class Turn:
    """One assistant message on its way to the wire."""

    def __init__(self, message: Message, t: Tables, scribe: Scribe) -> None:
        self.message = message
        self.t = t
        self.scribe = scribe
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
        slots, t, scribe = self.slots, self.t, self.scribe
        if slots[_THINKING]:
            write_thinking(wire, slots[_THINKING], self.thinking_places(), t, scribe, self.by)
        if slots[_CONTENT]:
            self._write_content(wire)
        if slots[_CALLS]:
            signs = t.answer and self.by == "gemini"
            wire["tool_calls"] = [
                self._write_call(call, ordinal, signs) for ordinal, call in enumerate(slots[_CALLS])
            ]
        if slots[_EXECUTED] or slots[_REFUSAL] or slots[_IMAGES] or slots[_AUDIO] or slots[_LEGACY]:
            self._write_beside(wire)
        if wire["content"] is None:
            if len(wire) == 2 and self.message.content and not t.answer:
                wire["content"] = placeholder(self.message, scribe)
            else:
                wire["content"] = self.fillers["content"] = filler_of(wire, t)
        if self.message.changes is not None:
            unsaid_changes(self.message, scribe)
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
            self.scribe.unsaid_raw(self.message, raw, "metadata.provider_raw")
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
                text = compaction_as_text(block, self.scribe)
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
                self.scribe.lost(block, None, "the wire has an order of its own", "moved", "info")
            reached = max(slot, reached)
            self.slots[slot].append(block)

    def _leave_out(self, block: Block) -> None:
        thought = isinstance(block, (ThinkingBlock, RedactedThinkingBlock))
        if thought and not self.t.answer and self.t.host.replay == "calls":
            self.scribe.dropped(block, "the host takes thinking back with calls only", "info")
        else:
            self.scribe.dropped(block)

    def _blocks(self) -> Sequence[Block]:
        """The blocks; the one whose signature stands beside the content without it."""
        blocks = self.message.content
        if "signature" not in self.form:
            return blocks
        for index, block in enumerate(blocks):
            if isinstance(block, (TextBlock, ToolUseBlock)) and block.signature is not None:
                self.signature = block.signature
                unsigned = block.replace(signature=None)
                self.scribe.also_known(unsigned, block)
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
            return _IMAGES if sayable else None
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
            items = write_annotations(texts, t, self.scribe)
            if items:
                wire["annotations"] = items
            aside = frozenset({"citations"})
        wire["content"] = write_content(
            blocks, t.parts["assistant"], t, self.scribe, self.form, aside
        )

    def _write_call(self, call: Block, ordinal: int, signs: bool) -> Any:
        if isinstance(call, UnknownBlock):
            return write_unknown(call, self.t, self.scribe)[0]
        assert isinstance(call, ToolUseBlock)
        return write_call(call, ordinal, self.t, self.scribe, signs)

    def _write_beside(self, wire: Wire) -> None:
        slots, t, scribe = self.slots, self.t, self.scribe
        if slots[_EXECUTED]:
            wire["executed_tools"] = [
                write_hosted(call, result, ordinal, EXECUTED, t, scribe)
                for ordinal, (call, result) in enumerate(pairs(slots[_EXECUTED], scribe))
            ]
        if slots[_REFUSAL]:
            wire["refusal"] = self._write_refusal(slots[_REFUSAL])
        if slots[_IMAGES]:
            granted = frozenset({"image_url"})
            images = [
                part for each in slots[_IMAGES] for part in write_part(each, granted, t, scribe)
            ]
            wire["images"] = images
        if slots[_AUDIO]:
            wire["audio"] = self._write_audio(slots[_AUDIO][0])
        if slots[_LEGACY]:
            wire["function_call"] = write_legacy(slots[_LEGACY][0], t, scribe)

    def _write_refusal(self, refusals: list[RefusalBlock]) -> str:
        for block in refusals:
            if block.cache is not None or block.raw is not None:
                self.scribe.unsaid(block, _SAID_REFUSAL)
        for block in refusals[1:]:
            reason = "joined with the refusal before it"
            self.scribe.lost(block, None, reason, "approximated", "info")
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
        self.scribe.unsaid(block, _SAID_AUDIO)
        if self.t.answer:
            fillers = {key: value for key, value in _AUDIO_FILLERS.items() if key not in audio}
            audio.update(fillers)
            return put_back(audio, mine, fillers)
        return put_back(audio, mine)

    def _write_audio_id(self, block: AudioBlock, audio: Wire, mine: Wire) -> Wire:
        """A request names speech by its id."""
        if block.source.kind == "base64":
            audio["id"] = mine["id"]
            self.scribe.lost(block, "source", "sent by its id", "approximated", "info")
            self.scribe.unsaid(block, frozenset({"source"}))
            return audio
        self.scribe.unsaid(block, frozenset({"source"}))
        return put_back(audio, mine)


_SAID_REFUSAL = frozenset({"text"})
_SAID_AUDIO = frozenset({"source", "transcript"})
_AUDIO_FILLERS: dict[str, Any] = dict(zip(AUDIO_KEYS, (AUDIO_ID, "", 0, ""), strict=True))
