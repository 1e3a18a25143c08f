"""Writing a stream that came from elsewhere.

Pieces are written as they come. All else, the reason for the end and usage are written at the end,
as in a whole response, and losses are counted there."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.kernel import stream_writer
from interlingua.dialects.kernel.calls import write_arguments
from interlingua.dialects.kernel.preserved import content_of, spelling_of
from interlingua.dialects.kernel.recorder import LossRecorder, quiet
from interlingua.dialects.kernel.stream_reader import call_of
from interlingua.dialects.kernel.stream_writer import (
    FAILED,
    PIECE,
    BlockQueue,
    OpenBlock,
    json_frame,
    piece_frame,
)
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.openai_chat.calls import is_legacy, write_call
from interlingua.dialects.openai_chat.messages import write_assistant
from interlingua.dialects.openai_chat.response import write_answer, write_failure
from interlingua.dialects.openai_chat.stream.reader import StreamReader
from interlingua.dialects.openai_chat.tables import ANSWER_TABLES, CHUNK, DONE, Tables, WriteContext
from interlingua.dialects.openai_chat.text import write_parts
from interlingua.dialects.openai_chat.thinking import KEY as DETAILS
from interlingua.dialects.openai_chat.thinking import KEYS as THINKING
from interlingua.dialects.openai_chat.thinking import STRINGS, TEXTS, format_of, write_thinking
from interlingua.model import blocks
from interlingua.model import events as ev
from interlingua.model.blocks import Block, TextBlock, ThinkingBlock
from interlingua.model.exchange import Response
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata
from interlingua.model.reasons import because
from interlingua.streams.frames import Frame

CONTENT, REASONING, REFUSAL = "content", "reasoning", "refusal"
_CHANNELS: dict[type, str] = {
    **dict.fromkeys((TextBlock, blocks.DocumentBlock, ev.TextDelta), CONTENT),
    **dict.fromkeys((ThinkingBlock, blocks.RedactedThinkingBlock, ev.ThinkingDelta), REASONING),
    blocks.RefusalBlock: REFUSAL,
}
"""The blocks that are streamed as they come, one after the other. All others are written at the
end."""
_TEXTS = ("thinking", "text", "summary")
_BARE = frozenset({"type", "format", "index", *_TEXTS})
"""The members of a thinking item that is only text."""
_STREAMED = THINKING | {"role", "refusal"}
_CALL = frozenset({"id", "type", "function", "custom", "index"})
_NO_REST = ("text", "thinking", "redacted_thinking", "refusal")
_JOINED = because("joined")
_NO_PARTS = because("stream_without_parts")
_ONE_MESSAGE = because("stream_one_message")


class ForeignWriter(stream_writer.ForeignWriter):
    """Events in, frames out. `by` is the protocol of the events' source."""

    grows = ('"logprobs":{', '"logprobs": {', '"function_call"')
    """Members that pieces may carry beside their text, and the end repeats."""

    def __init__(self, t: Tables, report: Report, by: str) -> None:
        super().__init__(t.name, report)
        self._t = t
        self._by = by
        self._head: Wire = {}
        self._choices: dict[int, ChoiceWriter] = {}
        self._is_over = False

    def resume(self, count: int, frames: list[Frame]) -> None:
        """The content of these frames is not repeated at the end."""
        reader = StreamReader(self._t)
        for frame in frames:
            reader.feed(frame)
        for number, choice in self._choices.items():
            choice.resume(reader.choice_so_far(number))

    def piece_block(self, event: Any) -> OpenBlock | None:
        choice = self._choices.get(event.choice)
        return choice.open.get(event.index) if choice is not None else None

    def _piece(self, event: ev.TextDelta | ev.ThinkingDelta | ev.ToolUseInputDelta) -> list[Frame]:
        block = self.piece_block(event)
        if block is not None and (text := event.text):
            block.length += len(text)
            return [piece_frame(block, text)]
        return [] if type(event) is ev.ToolUseInputDelta else self._block(event)

    def _block(self, event: Any) -> list[Frame]:
        if self._is_over:
            return []
        choice, begun = self._choice(event.choice)
        return [*begun, *choice.push(event)]

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
        """A choice, and the frames of its start if it begins."""
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
        metadata = response.message.metadata
        frames: list[Frame] = []
        if not self._choices:
            frames += self._start(ev.MessageStart(metadata.response_model, metadata.response_id))
        for choice in self._choices.values():
            frames += choice.flush()
        recorder = LossRecorder(self._t.name, response, self._report)
        wire = write_answer(response, self._t, recorder)
        usage, choices = wire.pop("usage", None), wire.pop("choices")
        self._head.update({**wire, "object": CHUNK})
        messages = (response.message, *response.alternatives)
        numbers = sorted(self._choices)
        for position, (message, wire_choice) in enumerate(zip(messages, choices, strict=False)):
            number = numbers[position] if position < len(numbers) else position
            choice, begun = self._choice(number)
            frames += [*begun, *choice.finish(wire_choice)]
            self._report_parts(message, wire_choice.get("message"), recorder)
        if usage is not None:
            frames.append(json_frame(None, {**self._head, "choices": [], "usage": usage}))
        self._is_over = True
        return [*frames, Frame(None, DONE)]

    def _report_parts(self, message: Message, wire: Any, recorder: LossRecorder) -> None:
        """Reports parts of a whole message that a stream lacks: the boundaries of a text in
        parts."""
        if type(wire) is not dict or type(wire.get("content")) is not list:
            return
        texts = [block for block in message.content if type(block) is TextBlock]
        for block in texts[1:]:
            recorder.lost(block, None, _JOINED, "approximated")
        for block in texts:
            for key in content_of(self._t.name, block.raw):
                recorder.lost(block, f"raw.{self._t.name}.{key}", _NO_PARTS)

    def _fail(self, event: ev.StreamError) -> list[Frame]:
        """Ends the stream with an error, after the content that was queued for the end."""
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
            message = write_assistant(partial, WriteContext(t, recorder))
            frames += choice.rest(message) if choice is not None else []
        wire = write_failure(Response(blank, error=error), error, t, recorder)
        if choice is None or not t.status_codes:
            return [*frames, json_frame(None, wire)]
        chunk = choice.chunk({"content": ""}, finish_reason="error")
        return [*frames, json_frame(None, {**chunk, **wire}), Frame(None, DONE)]


# -- one choice -----------------------------------------------------------------------------------


class ChoiceWriter:
    """Writes the frames for events of one choice. `head` is the beginning of its chunks, `by` the
    protocol of the issuer of its content.

    Text, thinking, refusals and calls are written as they come; each of the first three is one
    text on this wire, so that blocks of the same kind wait for each other."""

    def __init__(self, number: int, t: Tables, head: Wire, by: str) -> None:
        self.t = t
        self.by = by
        self.target = WriteContext(t, quiet(t.name))
        self.open: dict[int, OpenBlock] = {}
        """Blocks that are streamed in pieces, by index."""
        self._number = number
        self._head = head
        self._channels: dict[str, Channel] = {
            REASONING: Thoughts(self, REASONING),
            CONTENT: Channel(self, CONTENT),
            REFUSAL: Channel(self, REFUSAL),
        }
        self._channel_of: dict[int, str | None] = {}
        """The channel of each block."""
        self._calls: dict[int, OpenBlock] = {}
        """The calls that were written, or will be when they end."""
        self._held: dict[int, Wire | None] = {}
        """Calls that are written whole, after those before them."""
        self._media: dict[str, int] = {}
        """How much of the whole parts was written, by key."""
        self._home: Wire = {"message": {}}
        """The choice as far as it went home, before there was a change."""

    def frame(self, delta: Wire, **more: Any) -> Frame:
        return json_frame(None, self.chunk(delta, **more))

    def chunk(self, delta: Wire, **more: Any) -> Wire:
        choice = {"index": self._number, "delta": delta, "finish_reason": None, **more}
        return {**self._head, "choices": [choice]}

    def resume(self, home: Wire) -> None:
        """Continue a choice whose original frames were used so far; an open block continues in
        pieces."""
        self._home |= home
        for index, call in list(self._held.items()):
            if call is None:
                del self._held[index]
                self._start_pieces(self._calls[index])
                self._calls[index].length = 1  # or more: it is no longer written as a whole

    def push(self, event: Any) -> list[Frame]:
        """Handles every event of a block."""
        if type(event) is ev.ToolUseStart:
            return self._call(event)
        if type(event) is ev.ToolUseEnd:
            return self._end_call(event)
        if event.index not in self._channel_of:
            kind = type(event.block) if type(event) in (ev.BlockStart, ev.BlockEnd) else type(event)
            self._channel_of[event.index] = _CHANNELS.get(kind)
        channel = self._channel_of[event.index]
        if channel is not None:
            return self._channels[channel].push(event)
        return self._write_media(event.block) if type(event) is ev.BlockEnd else []

    def _write_media(self, block: Block) -> list[Frame]:
        """An image or a voice, which comes whole."""
        if type(block) not in (blocks.ImageBlock, blocks.AudioBlock):
            return []
        message = write_assistant(Message(Role.ASSISTANT, (block,)), self.target)
        delta = {key: message[key] for key in ("images", "audio") if message.get(key)}
        for key in delta:
            self._media[key] = self._media.get(key, 0) + 1
        if "audio" in delta:
            delta["audio"] = _beyond(delta["audio"], self._home["message"].get("audio"))
        return [self.frame(delta)] if any(delta.values()) else []

    # -- calls ------------------------------------------------------------------------------------

    def _call(self, event: ev.ToolUseStart) -> list[Frame]:
        spelling = spelling_of(self.t.name, event.raw)
        if event.executor != "client" or "in" in spelling or is_legacy(call_of(event), self.t):
            return []  # the end has all content
        open_block = self._calls[event.index] = OpenBlock(event.index, start=event)
        if event.call_type is not None or self._held:  # free text; or a call behind it
            self._held[event.index] = None
            return []
        function: Wire = {"name": event.name, "arguments": ""}
        call = {"index": self._start_pieces(open_block), "id": event.id, "type": "function"}
        return [self.frame({"tool_calls": [{**call, "function": function}]})]

    def _start_pieces(self, open_block: OpenBlock) -> int:
        """The number of a call that is streamed in pieces."""
        number = self._ordinal(open_block.index)
        is_text = open_block.start is not None and open_block.start.call_type is not None
        keys = {"custom": {"input": PIECE}} if is_text else {"function": {"arguments": PIECE}}
        open_block.spell_as(None, self.chunk({"tool_calls": [{"index": number, **keys}]}))
        self.open[open_block.index] = open_block
        return number

    def _ordinal(self, index: int) -> int:
        return list(self._calls).index(index)

    def _end_call(self, event: ev.ToolUseEnd) -> list[Frame]:
        open_block = self._calls.get(event.index)
        if open_block is None or open_block.start is None:
            return []
        call = call_of(open_block.start, event)
        if self.open.pop(event.index, None) is not None:
            text = "" if open_block.length else write_arguments(call)
            return [piece_frame(open_block, text)] if text else []
        wire = write_call(call.replace(signature=None), self.target, False)
        self._held[event.index] = _whole_call({**wire, "id": call.id}, self._ordinal(event.index))
        return self._flush_held()

    def _flush_held(self) -> list[Frame]:
        frames: list[Frame] = []
        for index, call in list(self._held.items()):
            if call is None:
                break
            frames.append(self.frame({"tool_calls": [call]}))
            del self._held[index]
        return frames

    # -- the end ----------------------------------------------------------------------------------

    def flush(self) -> list[Frame]:
        """Parts that still wait for a block without an end; the rest will have the calls."""
        for index in self._held:
            del self._calls[index]
        self._held = {}
        return [frame for each in self._channels.values() for frame in each.close_all()]

    def finish(self, choice: Wire) -> list[Frame]:
        """The rest of a choice, and its end."""
        more = {key: item for key, item in choice.items() if key not in ("index", "message")}
        if self._home.get("logprobs") and more.get("logprobs"):
            more["logprobs"] = _beyond(more["logprobs"], self._home["logprobs"]) or None
        return [*self.rest(choice.get("message")), self.frame({}, **more)]

    def rest(self, message: Any) -> list[Frame]:
        """A delta of the members of the whole message that its stream did not have."""
        rest: Wire = {}
        home = self._home["message"]
        for key, value in message.items() if type(message) is dict else ():
            if key == "content":
                value = _beyond(_rest_of_content(value), _rest_of_content(home.get(key)))
            elif key == "tool_calls":
                ids = [call.start.id for call in self._calls.values() if call.start is not None]
                value = _rest_of_calls(value or [], ids)
            elif key in _STREAMED or (key in self._media and type(value) is not list):
                continue
            elif key in self._media:
                value = value[self._media[key] :]
            else:
                value = _beyond(value, home.get(key))
            if value:
                rest[key] = value
        return [self.frame(rest)] if rest else []


def _beyond(value: Any, streamed: Any) -> Any:
    """The rest of a value of which this part was written."""
    if type(value) is not type(streamed):
        return value
    if type(value) is dict:
        return {key: more for key in value if (more := _beyond(value[key], streamed.get(key)))}
    if type(value) is list or (type(value) is str and value.startswith(streamed)):
        return value[len(streamed) :]
    return None if value == streamed else value


def _rest_of_content(content: Any) -> list[Any]:
    """Parts that are no text; texts were written as they came."""
    if type(content) is not list:
        return []
    return [part for part in content if type(part) is dict and part.get("type") not in _NO_REST]


def _rest_of_calls(calls: list[Any], ids: list[str]) -> list[Wire]:
    """Calls that were not written, and the rest of the others; `ids` are those of written calls."""
    rest: list[Wire] = []
    count = len(ids)
    for ordinal, call in enumerate(calls):
        id = call.get("id")
        index = ids.index(id) if id in ids else ordinal
        if id in ids or (id is None and len(calls) == len(ids)):
            more = {key: value for key, value in call.items() if key not in _CALL}
            rest += [{"index": index, "function": {"arguments": ""}, **more}] if more else []
        else:
            rest.append(_whole_call(call, count))
            count += 1
    return rest


def _whole_call(call: Wire, index: int) -> Wire:
    """A call that is written in one piece."""
    call = {**call, "index": index}
    if call.get("type") == "custom":  # a word that the types for streams do not know
        del call["type"]
    return call


# -- texts, thinking and refusals -----------------------------------------------------------------


class Channel(BlockQueue[OpenBlock]):
    """Texts or refusals of a choice, which are one text on this wire."""

    def __init__(self, choice: ChoiceWriter, key: str) -> None:
        super().__init__()
        self._choice = choice
        self._key = key

    def _open(self, index: int, block: Any) -> list[Frame]:
        open_block = self._current = OpenBlock(index)
        if not hasattr(block, "text"):
            return []
        frames, delta = self._prepare(block)
        open_block.spell_as(None, self._choice.chunk(delta))
        self._choice.open[index] = open_block
        return [*frames, *self._write_text(open_block, block.text)]

    def _prepare(self, block: Any) -> tuple[list[Frame], Wire]:
        """The frames needed before a block, and the delta of its pieces."""
        return [], {self._key: PIECE}

    def _end(self, open_block: OpenBlock, block: Any) -> list[Frame]:
        """The rest that was not streamed in pieces."""
        frames: list[Frame] = []
        if open_block.cuts is None:
            frames = self._open(open_block.index, block)
            open_block = self._current or open_block
        if hasattr(block, "text"):
            frames += self._write_text(open_block, block.text[open_block.length :])
        return [*frames, *self._rest(open_block, block), *self._close(open_block)]

    def _rest(self, open_block: OpenBlock, block: Block) -> list[Frame]:
        """The rest of a block beside its text: a document of text is sent as text."""
        if self._key != CONTENT or type(block) is TextBlock:
            return []
        choice = self._choice
        parts = write_parts((block,), choice.t.parts["assistant"], choice.target)
        texts = [part.get("text") for part in parts if type(part) is dict]
        return [choice.frame({CONTENT: text}) for text in texts if text]

    def _close(self, open_block: OpenBlock) -> list[Frame]:
        self._choice.open.pop(open_block.index, None)
        return super()._close(open_block)


class Thoughts(Channel):
    """Thinking: a string, and a list for items that a string cannot express."""

    _count = 0
    _unended: Wire | None = None
    """The thinking item that strings have carried, and no list so far."""

    @property
    def _list(self) -> str:
        """The key of the list."""
        return self._choice.t.answer_thinking[-1]

    def _prepare(self, block: Any) -> tuple[list[Frame], Wire]:
        """A piece of thinking, with marks under all its keys."""
        frames = self._next()
        delta: Wire = {}
        for key in self._choice.t.plain_thinking:
            if key in STRINGS:
                delta[key] = PIECE
            else:
                item = self._item(block.replace(signature=None)) or {"type": "reasoning.text"}
                bare = {name: item[name] for name in ("type", "format", "index") if name in item}
                delta[key] = [{**bare, TEXTS.get(item["type"], "text"): PIECE}]
        return frames, delta

    def _next(self) -> list[Frame]:
        """Another piece of thinking begins; if only strings had the one before, its end has to
        be written."""
        self._count += 1
        item, self._unended = self._unended, None
        if item is None or self._list in self._choice.t.plain_thinking:
            return []
        return [self._choice.frame({self._list: [item]})]

    def _item(self, block: Block) -> Wire | None:
        """The block's item in the list for thinking."""
        choice, key = self._choice, self._list
        wire: Wire = {}
        write_thinking(wire, (block,), (key,), choice.target, choice.by)
        items = wire.get(key)
        if not items:
            return None
        filler = {"format": format_of(choice.by)} if key == DETAILS else {}
        return {**filler, **items[0], "index": self._count - 1}

    def _rest(self, open_block: OpenBlock, block: Block) -> list[Frame]:
        """The list item for a piece of thinking that has ended."""
        frames = [] if isinstance(block, ThinkingBlock) else self._next()
        item = self._item(block)
        if item is None:
            return frames
        if self._list in self._choice.t.plain_thinking:  # which had the text
            item = {name: value for name, value in item.items() if name not in _TEXTS}
        if not item.keys() <= _BARE or not open_block.length:
            return [*frames, self._choice.frame({self._list: [item]})]
        self._unended = item
        return frames


class StreamWriter(stream_writer.StreamWriter):
    """One stream of Chat Completions."""

    tables: Tables = ANSWER_TABLES
    name = tables.name

    def _abroad(self, report: Report) -> ForeignWriter:
        return ForeignWriter(self.tables, report, self.source or self.name)
