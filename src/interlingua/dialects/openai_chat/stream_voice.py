"""One choice of a stream that is written for others.

Text, thinking, refusals and calls are said as they come; each of the first three is one text on
this wire, so that blocks of the same kind wait for each other."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Quiet, Wire, encode, form_of
from interlingua.dialects.openai_chat.calls import is_legacy, write_arguments, write_call
from interlingua.dialects.openai_chat.messages import write_assistant
from interlingua.dialects.openai_chat.stream_frames import cut, hole, say
from interlingua.dialects.openai_chat.stream_rest import rest_of_message, whole_call
from interlingua.dialects.openai_chat.stream_said import (
    CHANNELS,
    CONTENT,
    REASONING,
    REFUSAL,
    Said,
    is_bare,
    list_of,
    thinking_delta,
    thinking_item,
    without_text,
)
from interlingua.dialects.openai_chat.tables import Tables
from interlingua.dialects.openai_chat.text import write_parts
from interlingua.dialects.streaming import call_of
from interlingua.losses import Report
from interlingua.model.blocks import AudioBlock, Block, ImageBlock, TextBlock, ThinkingBlock
from interlingua.model.events import (
    BlockDelta,
    BlockEnd,
    BlockStart,
    Event,
    TextDelta,
    ThinkingDelta,
    ToolUseEnd,
    ToolUseStart,
)
from interlingua.model.message import Message, Role
from interlingua.streams.frames import Frame

_BLANK: dict[type, Block] = {TextDelta: TextBlock(""), ThinkingDelta: ThinkingBlock("")}


class Voice:
    """Events of one choice in, frames out. `head` is what its chunks begin with, `by` the protocol
    of whoever made what it says."""

    def __init__(self, number: int, t: Tables, head: Wire, by: str) -> None:
        self.number = number
        self.head = head
        self.said: dict[int, Said] = {}
        self.calls: list[str] = []
        """The ids of those that were said, or will be when they end."""
        self._held: dict[int, Wire | None] = {}
        """By index, calls that are said whole, once those before them are."""
        self._t = t
        self._by = by
        self._quiet = Quiet(t.name, None, Report(t.name))
        self._turn: dict[str, Said] = {}
        """The block that each channel is telling."""
        self._waiting: dict[str, dict[int, list[Event]]] = {}
        self._media: dict[str, int] = {}
        """How much was said of what comes whole, by its key."""
        self._thoughts = 0
        self._unended: Wire | None = None
        """The item of thinking that strings have told, and no list so far."""

    def frame(self, delta: Wire, **more: Any) -> Frame:
        return Frame(None, encode(self.chunk(delta, **more)).decode())

    def chunk(self, delta: Wire, **more: Any) -> Wire:
        choice = {"index": self.number, "delta": delta, "finish_reason": None, **more}
        return {**self.head, "choices": [choice]}

    # -- blocks -----------------------------------------------------------------------------------

    def block(self, event: Any) -> list[Frame]:
        """Whatever concerns a block that is no call."""
        said = self.said.get(event.index)
        if said is None:
            said = self.said[event.index] = Said(event.index, _channel(event))
        if said.channel is None:
            return self._say_media(event.block) if type(event) is BlockEnd else []
        turn = self._turn.setdefault(said.channel, said)
        if turn is not said:
            self._waiting.setdefault(said.channel, {}).setdefault(said.index, []).append(event)
            return []
        return [*self._tell(said, event), *self._go_on(said.channel)]

    def _go_on(self, channel: str) -> list[Frame]:
        """With the blocks that have waited, as far as one of them is still open."""
        frames: list[Frame] = []
        waiting = self._waiting.get(channel)
        while waiting and channel not in self._turn:
            index = min(waiting)
            said = self._turn[channel] = self.said[index]
            for event in waiting.pop(index):
                frames += self._tell(said, event)
        return frames

    def _tell(self, said: Said, event: Any) -> list[Frame]:
        match event:
            case BlockStart():
                return self._begin(said, event.block)
            case BlockEnd():
                return self._end(said, event.block)
            case TextDelta() | ThinkingDelta():
                begun = self._begin(said, _BLANK[type(event)]) if event.text else []
                return [*begun, *self._say(said, event.text)]
            case BlockDelta(field="text") if type(event.value) is str:
                return self._say(said, event.value)
            case _:
                return []

    def _begin(self, said: Said, block: Any) -> list[Frame]:
        """A block's turn has come."""
        if said.cuts is not None or not hasattr(block, "text"):
            return []
        frames: list[Frame] = []
        if said.channel == REASONING:
            frames = self._end_thinking()
            said.ordinal, self._thoughts = self._thoughts, self._thoughts + 1
            more = (self._t, self._quiet, said.ordinal, self._by)
            delta = thinking_delta(block.replace(signature=None), *more)
        else:
            delta = {said.channel or CONTENT: hole(0, "text")}
        said.cuts = cut(self.chunk(delta))
        return [*frames, *self._say(said, block.text)]

    def _say(self, said: Said, text: str) -> list[Frame]:
        if said.cuts is None or not text:
            return []
        said.length += len(text)
        return [say(said.cuts, text)]

    def _end(self, said: Said, block: Any) -> list[Frame]:
        """What was not said in pieces."""
        frames = self._begin(said, block) if said.cuts is None else []
        if hasattr(block, "text"):
            frames += self._say(said, block.text[said.length :])
        if said.channel == REASONING:
            frames += self._sign(said, block)
        elif said.channel == CONTENT and type(block) is not TextBlock:
            frames += self._say_parts(block)
        said.cuts = None
        if self._turn.get(said.channel or "") is said:
            del self._turn[said.channel or ""]
        return frames

    def _say_media(self, block: Block) -> list[Frame]:
        """An image or a voice, which comes whole."""
        if type(block) not in (ImageBlock, AudioBlock):
            return []
        message = write_assistant(Message(Role.ASSISTANT, (block,)), self._t, self._quiet)
        delta = {key: message[key] for key in ("images", "audio") if message.get(key)}
        for key in delta:
            self._media[key] = self._media.get(key, 0) + 1
        return [self.frame(delta)] if delta else []

    def _say_parts(self, block: Block) -> list[Frame]:
        """A document of text, which is sent as text."""
        parts = write_parts((block,), self._t.parts["assistant"], self._t, self._quiet)
        texts = [part.get("text") for part in parts if type(part) is dict]
        return [self.frame({CONTENT: text}) for text in texts if text]

    # -- thinking ---------------------------------------------------------------------------------

    def _sign(self, said: Said, block: Block) -> list[Frame]:
        """What a list has to say of a piece of thinking that has ended."""
        frames: list[Frame] = []
        if not isinstance(block, ThinkingBlock):
            frames = self._end_thinking()
            said.ordinal, self._thoughts = self._thoughts, self._thoughts + 1
        item = thinking_item(block, self._t, self._quiet, said.ordinal, self._by)
        if item is None:
            return frames
        key = list_of(self._t)
        if key in self._t.plain_thinking:  # which has said the text
            item = without_text(item)
        if not is_bare(item) or not said.length:
            return [*frames, self.frame({key: [item]})]
        self._unended = item
        return frames

    def _end_thinking(self) -> list[Frame]:
        """Another piece of thinking begins; where only strings have told the one before, its end
        has to be said."""
        item, self._unended = self._unended, None
        key = list_of(self._t)
        if item is None or key in self._t.plain_thinking:
            return []
        return [self.frame({key: [item]})]

    # -- calls ------------------------------------------------------------------------------------

    def call(self, event: ToolUseStart) -> list[Frame]:
        said = self.said[event.index] = Said(event.index, None)
        form = form_of(self._t.name, event.raw)
        if event.executor != "client" or "in" in form or is_legacy(call_of(event), self._t):
            return []  # the end says what there is to say
        said.start, said.ordinal = event, len(self.calls)
        self.calls.append(event.id)
        if event.call_type is not None or self._held:  # free text; or a call behind it
            self._held[event.index] = None
            return []
        function: Wire = {"name": event.name, "arguments": ""}
        call = {"index": said.ordinal, "id": event.id, "type": "function", "function": function}
        frames = [self.frame({"tool_calls": [call]})]
        piece = {"index": said.ordinal, "function": {"arguments": hole(0, "text")}}
        said.cuts = cut(self.chunk({"tool_calls": [piece]}))
        return frames

    def end_call(self, event: ToolUseEnd) -> list[Frame]:
        said = self.said.get(event.index)
        if said is None or said.start is None:
            return []
        block = call_of(said.start, event)
        if said.cuts is not None:
            frames = self._say(said, write_arguments(block)) if not said.length else []
            said.cuts = None
            return frames
        call = write_call(block.replace(signature=None), 0, self._t, self._quiet, False)
        self._held[event.index] = whole_call({**call, "id": block.id}, said.ordinal)
        return self._say_held()

    def _say_held(self) -> list[Frame]:
        frames: list[Frame] = []
        for index, call in list(self._held.items()):
            if call is None:
                break
            frames.append(self.frame({"tool_calls": [call]}))
            del self._held[index]
        return frames

    # -- the end ----------------------------------------------------------------------------------

    def flush(self) -> list[Frame]:
        """What still waits for a block that nobody has ended; the rest will say the calls."""
        frames: list[Frame] = []
        del self.calls[len(self.calls) - len(self._held) :]
        self._held = {}
        for channel in (REASONING, CONTENT, REFUSAL):
            while channel in self._turn:
                self._turn.pop(channel).cuts = None
                frames += self._go_on(channel)
        return frames

    def finish(self, choice: Wire) -> list[Frame]:
        """What was not said so far of a choice, and its end."""
        more = {key: item for key, item in choice.items() if key not in ("index", "message")}
        return [*self.rest(choice.get("message")), self.frame({}, **more)]

    def rest(self, message: Any) -> list[Frame]:
        """What was not said so far of a message."""
        rest = rest_of_message(message, self.calls, self._media) if type(message) is dict else None
        return [self.frame(rest)] if rest else []


def _channel(event: Any) -> str | None:
    """Where the block of an event is told."""
    if type(event) in (BlockStart, BlockEnd):
        return CHANNELS.get(type(event.block))
    return {TextDelta: CONTENT, ThinkingDelta: REASONING}.get(type(event))
