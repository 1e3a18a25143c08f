"""Writing a stream that came from elsewhere.

What can be said in pieces is said as it comes. All else, the reason for the end and usage are said
at the end, as a whole response says them, and losses are counted there."""

from __future__ import annotations

from typing import Any

import msgspec

from interlingua.dialects.kernel import stream_writer
from interlingua.dialects.kernel.calls import write_arguments
from interlingua.dialects.kernel.kept import form_of, kept
from interlingua.dialects.kernel.recorder import LossRecorder, quiet
from interlingua.dialects.kernel.stream_reader import call_of
from interlingua.dialects.kernel.stream_writer import FAILED
from interlingua.dialects.kernel.wire import Wire, encode
from interlingua.dialects.openai_chat.calls import is_legacy, write_call
from interlingua.dialects.openai_chat.errors import write_failure
from interlingua.dialects.openai_chat.messages import write_assistant
from interlingua.dialects.openai_chat.response import write_answer
from interlingua.dialects.openai_chat.tables import ANSWER_TABLES, CHUNK, DONE, Tables, Target
from interlingua.dialects.openai_chat.text import write_parts
from interlingua.dialects.openai_chat.thinking import KEY as DETAILS
from interlingua.dialects.openai_chat.thinking import KEYS as THINKING
from interlingua.dialects.openai_chat.thinking import STRINGS, TEXTS, format_of, write_thinking
from interlingua.losses import Report
from interlingua.model import events as ev
from interlingua.model.blocks import (
    AudioBlock,
    Block,
    DocumentBlock,
    ImageBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
)
from interlingua.model.events import Event
from interlingua.model.exchange import Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata
from interlingua.streams.frames import Frame

CONTENT, REASONING, REFUSAL = "content", "reasoning", "refusal"
_CHANNELS: dict[type, str] = {
    TextBlock: CONTENT,
    DocumentBlock: CONTENT,
    ThinkingBlock: REASONING,
    RedactedThinkingBlock: REASONING,
    RefusalBlock: REFUSAL,
    ev.TextDelta: CONTENT,
    ev.ThinkingDelta: REASONING,
}
"""Where blocks are told as they come, one after the other. All others are told at the end."""
_BLANK: dict[type, Block] = {ev.TextDelta: TextBlock(""), ev.ThinkingDelta: ThinkingBlock("")}
_TEXTS = ("thinking", "text", "summary")
_BARE = frozenset({"type", "format", "index", *_TEXTS})
"""What an item of thinking has that says nothing but text."""
_TOLD = THINKING | {"role", "refusal"}
_CALL = frozenset({"id", "type", "function", "custom", "index"})
_NO_REST = ("text", "thinking", "redacted_thinking", "refusal")
_JOINED = "joined with the text before it"
_NO_PARTS = "a stream says text without parts"
_ONE_MESSAGE = "a stream has one message"
_MARK = "\ufffc\u0000said\u0000\ufffc"
_encode_text = msgspec.json.Encoder().encode
_CUT = _encode_text(_MARK).decode()

Cuts = list[str]
"""The text of a chunk, cut where its piece stands."""


class StreamWriter(stream_writer.StreamWriter):
    """One stream of Chat Completions."""

    tables: Tables = ANSWER_TABLES

    name = tables.name

    def _abroad(self, report: Report) -> Abroad:
        return Abroad(self.tables, report, self.source or self.name)


class Abroad(stream_writer.Abroad):
    """Events in, frames out. `by` is the protocol of whoever made what they say."""

    def __init__(self, t: Tables, report: Report, by: str) -> None:
        super().__init__(t.name, report)
        self._t = t
        self._by = by
        self._head: Wire = {}
        self._choices: dict[int, ChoiceWriter] = {}
        self._is_over = False

    def _piece(self, event: ev.TextDelta | ev.ThinkingDelta | ev.ToolUseInputDelta) -> list[Frame]:
        choice = self._choices.get(event.choice)
        block = choice.blocks.get(event.index) if choice is not None else None
        if block is not None and (cuts := block.cuts) is not None and (text := event.text):
            block.length += len(text)
            return [_say(cuts, text)]
        return [] if type(event) is ev.ToolUseInputDelta else self._block(event)

    def _block(self, event: Any) -> list[Frame]:
        if self._is_over:
            return []
        choice, begun = self._choice(event.choice)
        return [*begun, *choice.tell(event)]

    # -- messages ---------------------------------------------------------------------------------

    def _start(self, event: ev.MessageStart) -> list[Frame]:
        if self._is_over:
            if event.choice == 0:
                self._report.add("dropped", "$", _ONE_MESSAGE)
            return []
        return self._choice(event.choice, event.model, event.response_id)[1]

    def _choice(
        self, number: int, model: str | None = None, id: str | None = None
    ) -> tuple[ChoiceWriter, list[Frame]]:
        """A choice, and what has to be said if it begins."""
        choice = self._choices.get(number)
        if choice is not None:
            return choice, []
        if not self._head:
            self._head = {**self._t.fillers, "object": CHUNK}
            self._head.update({"id": id} if id is not None else {})
            self._head.update({"model": model} if model is not None else {})
        choice = self._choices[number] = ChoiceWriter(number, self._t, self._head, self._by)
        return choice, [choice.frame({"role": "assistant", "content": ""})]

    def _complete(self, event: ev.MessageComplete) -> list[Frame]:
        if self._is_over:
            return []
        response = event.response
        told = response.message.metadata
        frames: list[Frame] = []
        if not self._choices:
            frames += self._start(ev.MessageStart(told.response_model, told.response_id))
        for choice in self._choices.values():
            frames += choice.flush()
        recorder = LossRecorder(self._t.name, response, self._report)
        wire = write_answer(response, self._t, recorder)
        usage, choices = wire.pop("usage", None), wire.pop("choices")
        self._head.update({**wire, "object": CHUNK})
        messages = (response.message, *response.alternatives)
        numbers = sorted(self._choices)
        for position, (message, said) in enumerate(zip(messages, choices, strict=False)):
            number = numbers[position] if position < len(numbers) else position
            choice, begun = self._choice(number)
            frames += [*begun, *choice.finish(said)]
            self._report_parts(message, said.get("message"), recorder)
        if usage is not None:
            frames.append(_frame({**self._head, "choices": [], "usage": usage}))
        self._is_over = True
        return [*frames, Frame(None, DONE)]

    def _report_parts(self, message: Message, said: Any, recorder: LossRecorder) -> None:
        """What a whole message says and a stream does not: where a text in parts is cut."""
        if type(said) is not dict or type(said.get("content")) is not list:
            return
        texts = [block for block in message.content if type(block) is TextBlock]
        for block in texts[1:]:
            recorder.lost(block, None, _JOINED, "approximated", "info")
        for block in texts:
            for key in kept(self._t.name, block.raw):
                recorder.lost(block, f"raw.{self._t.name}.{key}", _NO_PARTS)

    def _fail(self, event: ev.StreamError) -> list[Frame]:
        """What was said before is no loss; what was to be said at the end is said now."""
        if self._is_over:
            return []
        self._is_over = True
        error, partial, t = event.error, event.partial, self._t
        frames = [frame for choice in self._choices.values() for frame in choice.flush()]
        choice = self._choices[min(self._choices)] if self._choices else None
        recorder = LossRecorder(t.name, Response(partial or FAILED, error=error), self._report)
        blank = FAILED
        if partial is not None:
            usage = MessageMetadata(usage=partial.metadata.usage)
            blank = partial.replace(content=(), metadata=usage)
            recorder.alias(blank, partial)
            message = write_assistant(partial, Target(t, recorder))
            frames += choice.rest(message) if choice is not None else []
        wire = write_failure(Response(blank, error=error), error, t, recorder)
        if choice is None or not t.status_codes:
            return [*frames, _frame(wire)]
        chunk = choice.chunk({"content": ""}, finish_reason="error")
        return [*frames, _frame({**chunk, **wire}), Frame(None, DONE)]


class _Block:
    """A block on its way: how its pieces are said, and how much of it was."""

    __slots__ = ("channel", "cuts", "index", "length", "ordinal", "start")

    def __init__(self, index: int, channel: str | None) -> None:
        self.index = index
        self.channel = channel
        self.cuts: Cuts | None = None
        self.length = 0
        self.ordinal = 0
        """Of a call, or of a piece of thinking."""
        self.start: ev.ToolUseStart | None = None


class ChoiceWriter:
    """Events of one choice in, frames out. `head` is what its chunks begin with, `by` the protocol
    of whoever made what it says.

    Text, thinking, refusals and calls are said as they come; each of the first three is one text on
    this wire, so that blocks of the same kind wait for each other."""

    def __init__(self, number: int, t: Tables, head: Wire, by: str) -> None:
        self.blocks: dict[int, _Block] = {}
        self._number = number
        self._head = head
        self._calls: list[str] = []
        """The ids of those that were said, or will be when they end."""
        self._held: dict[int, Wire | None] = {}
        """By index, calls that are said whole, once those before them are."""
        self._t = t
        self._by = by
        self._quiet = quiet(t.name)
        self._turn: dict[str, _Block] = {}
        """The block that each channel is telling."""
        self._waiting: dict[str, dict[int, list[Event]]] = {}
        self._media: dict[str, int] = {}
        """How much was said of what comes whole, by its key."""
        self._thoughts = 0
        self._unended: Wire | None = None
        """The item of thinking that strings have told, and no list so far."""

    def frame(self, delta: Wire, **more: Any) -> Frame:
        return _frame(self.chunk(delta, **more))

    def chunk(self, delta: Wire, **more: Any) -> Wire:
        choice = {"index": self._number, "delta": delta, "finish_reason": None, **more}
        return {**self._head, "choices": [choice]}

    def _cuts(self, delta: Wire) -> Cuts:
        """How the pieces of a delta are said that has marks in their places."""
        return encode(self.chunk(delta)).decode().split(_CUT)

    # -- blocks -----------------------------------------------------------------------------------

    def tell(self, event: Any) -> list[Frame]:
        """Whatever concerns a block."""
        block = self.blocks.get(event.index)
        if type(event) is ev.ToolUseStart:
            return self._call(event)
        if type(event) is ev.ToolUseEnd:
            return [] if block is None or block.start is None else self._end_call(block, event)
        if block is None:
            kind = type(event.block) if type(event) in (ev.BlockStart, ev.BlockEnd) else type(event)
            block = self.blocks[event.index] = _Block(event.index, _CHANNELS.get(kind))
        channel = block.channel
        if channel is None:
            return self._say_media(event.block) if type(event) is ev.BlockEnd else []
        if self._turn.setdefault(channel, block) is not block:
            self._waiting.setdefault(channel, {}).setdefault(block.index, []).append(event)
            return []
        return [*self._tell(block, event), *self._go_on(channel)]

    def _go_on(self, channel: str) -> list[Frame]:
        """With the blocks that have waited, as far as one of them is still open."""
        frames: list[Frame] = []
        waiting = self._waiting.get(channel)
        while waiting and channel not in self._turn:
            index = min(waiting)
            block = self._turn[channel] = self.blocks[index]
            for event in waiting.pop(index):
                frames += self._tell(block, event)
        return frames

    def _tell(self, block: _Block, event: Any) -> list[Frame]:
        match event:
            case ev.BlockStart():
                return self._begin(block, event.block)
            case ev.BlockEnd():
                return self._end(block, event.block)
            case ev.TextDelta() | ev.ThinkingDelta():
                begun = self._begin(block, _BLANK[type(event)]) if event.text else []
                return [*begun, *self._say(block, event.text)]
            case ev.BlockDelta(field="text") if type(event.value) is str:
                return self._say(block, event.value)
            case _:
                return []

    def _begin(self, block: _Block, told: Any) -> list[Frame]:
        """A block's turn has come."""
        if block.cuts is not None or not hasattr(told, "text"):
            return []
        frames: list[Frame] = []
        if block.channel == REASONING:
            frames = self._next_thought(block)
            block.cuts = self._cuts(self._thinking_delta(block, told.replace(signature=None)))
        else:
            block.cuts = self._cuts({block.channel or CONTENT: _MARK})
        return [*frames, *self._say(block, told.text)]

    def _say(self, block: _Block, text: str) -> list[Frame]:
        if block.cuts is None or not text:
            return []
        block.length += len(text)
        return [_say(block.cuts, text)]

    def _end(self, block: _Block, told: Any) -> list[Frame]:
        """What was not said in pieces."""
        frames = self._begin(block, told)
        if hasattr(told, "text"):
            frames += self._say(block, told.text[block.length :])
        if block.channel == REASONING:
            frames += self._sign(block, told)
        elif block.channel == CONTENT and type(told) is not TextBlock:
            frames += self._say_parts(told)
        block.cuts = None
        if self._turn.get(block.channel or "") is block:
            del self._turn[block.channel or ""]
        return frames

    def _say_media(self, told: Block) -> list[Frame]:
        """An image or a voice, which comes whole."""
        if type(told) not in (ImageBlock, AudioBlock):
            return []
        message = write_assistant(Message(Role.ASSISTANT, (told,)), Target(self._t, self._quiet))
        delta = {key: message[key] for key in ("images", "audio") if message.get(key)}
        for key in delta:
            self._media[key] = self._media.get(key, 0) + 1
        return [self.frame(delta)] if delta else []

    def _say_parts(self, told: Block) -> list[Frame]:
        """A document of text, which is sent as text."""
        parts = write_parts((told,), self._t.parts["assistant"], Target(self._t, self._quiet))
        texts = [part.get("text") for part in parts if type(part) is dict]
        return [self.frame({CONTENT: text}) for text in texts if text]

    # -- thinking ---------------------------------------------------------------------------------

    def _next_thought(self, block: _Block) -> list[Frame]:
        """Another piece of thinking begins; where only strings have told the one before, its end
        has to be said."""
        block.ordinal, self._thoughts = self._thoughts, self._thoughts + 1
        item, self._unended = self._unended, None
        key = self._t.answer_thinking[-1]
        if item is None or key in self._t.plain_thinking:
            return []
        return [self.frame({key: [item]})]

    def _thinking_delta(self, block: _Block, told: Block) -> Wire:
        """A piece of thinking, with marks under all keys that say it."""
        delta: Wire = {}
        for key in self._t.plain_thinking:
            if key in STRINGS:
                delta[key] = _MARK
            else:
                item = self._item(block, told) or {"type": "reasoning.text"}
                bare = {name: item[name] for name in ("type", "format", "index") if name in item}
                delta[key] = [{**bare, TEXTS.get(item["type"], "text"): _MARK}]
        return delta

    def _item(self, block: _Block, told: Block) -> Wire | None:
        """The block's item in the list for thinking."""
        key = self._t.answer_thinking[-1]
        wire: Wire = {}
        write_thinking(wire, (told,), (key,), Target(self._t, self._quiet), self._by)
        items = wire.get(key)
        if not items:
            return None
        filler = {"format": format_of(self._by)} if key == DETAILS else {}
        return {**filler, **items[0], "index": block.ordinal}

    def _sign(self, block: _Block, told: Block) -> list[Frame]:
        """What a list has to say of a piece of thinking that has ended."""
        frames = [] if isinstance(told, ThinkingBlock) else self._next_thought(block)
        item, key = self._item(block, told), self._t.answer_thinking[-1]
        if item is None:
            return frames
        if key in self._t.plain_thinking:  # which has said the text
            item = {name: value for name, value in item.items() if name not in _TEXTS}
        if not item.keys() <= _BARE or not block.length:
            return [*frames, self.frame({key: [item]})]
        self._unended = item
        return frames

    # -- calls ------------------------------------------------------------------------------------

    def _call(self, event: ev.ToolUseStart) -> list[Frame]:
        block = self.blocks[event.index] = _Block(event.index, None)
        form = form_of(self._t.name, event.raw)
        if event.executor != "client" or "in" in form or is_legacy(call_of(event), self._t):
            return []  # the end says what there is to say
        block.start, block.ordinal = event, len(self._calls)
        self._calls.append(event.id)
        if event.call_type is not None or self._held:  # free text; or a call behind it
            self._held[event.index] = None
            return []
        function: Wire = {"name": event.name, "arguments": ""}
        call = {"index": block.ordinal, "id": event.id, "type": "function", "function": function}
        piece = {"index": block.ordinal, "function": {"arguments": _MARK}}
        block.cuts = self._cuts({"tool_calls": [piece]})
        return [self.frame({"tool_calls": [call]})]

    def _end_call(self, block: _Block, event: ev.ToolUseEnd) -> list[Frame]:
        assert block.start is not None
        call = call_of(block.start, event)
        if block.cuts is not None:
            frames = self._say(block, write_arguments(call)) if not block.length else []
            block.cuts = None
            return frames
        wire = write_call(call.replace(signature=None), 0, Target(self._t, self._quiet), False)
        self._held[event.index] = _whole_call({**wire, "id": call.id}, block.ordinal)
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
        del self._calls[len(self._calls) - len(self._held) :]
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
        """A delta of what the whole message has and its stream has not said."""
        rest: Wire = {}
        for key, value in message.items() if type(message) is dict else ():
            if key == "content":
                value = _rest_of_content(value)
            elif key == "tool_calls":
                value = _rest_of_calls(value or [], self._calls)
            elif key in _TOLD or (key in self._media and type(value) is not list):
                continue
            elif key in self._media:
                value = value[self._media[key] :]
            if value:
                rest[key] = value
        return [self.frame(rest)] if rest else []


def _rest_of_content(content: Any) -> list[Any]:
    """Parts that are no text; texts were said as they came."""
    if type(content) is not list:
        return []
    return [part for part in content if type(part) is dict and part.get("type") not in _NO_REST]


def _rest_of_calls(calls: list[Any], said: list[str]) -> list[Wire]:
    """Calls that were not said, and what was not said of the others; `said` are the ids of those
    that were."""
    rest: list[Wire] = []
    count = len(said)
    for ordinal, call in enumerate(calls):
        id = call.get("id")
        index = said.index(id) if id in said else ordinal
        if id in said or (id is None and len(calls) == len(said)):
            more = {key: value for key, value in call.items() if key not in _CALL}
            rest += [{"index": index, "function": {"arguments": ""}, **more}] if more else []
        else:
            rest.append(_whole_call(call, count))
            count += 1
    return rest


def _whole_call(call: Wire, index: int) -> Wire:
    """A call that is said in one piece."""
    call = {**call, "index": index}
    if call.get("type") == "custom":  # a word that the types for streams do not know
        del call["type"]
    return call


def _say(cuts: Cuts, text: str) -> Frame:
    """A piece of a block: the frame that there are most of, so it is made the fastest way."""
    return tuple.__new__(Frame, (None, _encode_text(text).decode().join(cuts)))


def _frame(wire: Wire) -> Frame:
    return Frame(None, encode(wire).decode())
