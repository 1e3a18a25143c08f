"""Writing a stream that came from elsewhere: as this wire wants it, one block after the other."""

from __future__ import annotations

from typing import Any

from interlingua import arguments
from interlingua.dialects.cohere.citations import write_citation
from interlingua.dialects.cohere.messages import write_parts
from interlingua.dialects.cohere.response import write_response
from interlingua.dialects.cohere.tables import DEFAULT_ID, DONE, JOINER, NAME
from interlingua.dialects.cohere.text import is_commentary
from interlingua.dialects.kernel import stream_writer
from interlingua.dialects.kernel.fields import QUIET
from interlingua.dialects.kernel.kept import NOTHING
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.stream_reader import call_of
from interlingua.dialects.kernel.stream_writer import (
    KINDS,
    PIECE,
    TEXT,
    OpenBlock,
    PieceWriter,
    spell,
)
from interlingua.dialects.kernel.wire import Wire
from interlingua.model import events as ev
from interlingua.model.blocks import Block, TextBlock
from interlingua.model.exchange import Response
from interlingua.model.message import Message
from interlingua.streams.frames import Frame

_INPUT, _HELD = 2, 3
"""Other pieces than those of texts and thoughts."""
_KEYS = ("text", "thinking")
_BEGUN: Wire = {
    "role": "assistant",
    "content": [],
    "tool_plan": "",
    "tool_calls": [],
    "citations": [],
}
"""The message of the first frame."""
_SAID_BEFORE = frozenset({"id", "message", "logprobs"})
"""What the end of a message does not say again."""


class Abroad(PieceWriter):
    """Events in, frames out. One block is open at a time; what others say meanwhile waits.
    Citations, usage and stop reason are said at the end, and losses are counted there."""

    def _begin_anew(self) -> None:
        super()._begin_anew()
        self._items = 0
        """How many items of content there are."""
        self._calls = 0
        self._held: list[TextBlock] = []
        """Commentary of which it is not known yet whether a call follows."""
        self._planned = False
        self._cited: list[Wire] = []
        """Citations that were said."""

    # -- messages ---------------------------------------------------------------------------------

    def _begin(self, model: str | None, id: str | None) -> list[Frame]:
        known = DEFAULT_ID if id is None else id
        return [_spell({"type": "message-start", "id": known, "delta": {"message": _BEGUN}})]

    def _finish(self, response: Response, recorder: LossRecorder) -> list[Frame]:
        frames = self._say_held()
        wire = write_response(response, recorder)
        frames += self._say_rest(wire["message"])
        delta = {key: item for key, item in wire.items() if key not in _SAID_BEFORE}
        return [*frames, _spell({"type": "message-end", "delta": delta}), Frame(None, DONE)]

    def _say_rest(self, message: Wire) -> list[Frame]:
        """What came with no event: a placeholder, and citations that were known at the end."""
        frames: list[Frame] = []
        if not (self._items or self._calls or self._planned):
            for part in message.get("content") or ():
                frames += [self._item(part), self._item_end()]
        said = [*self._cited]
        for citation in message.get("citations") or ():
            if citation in said:
                said.remove(citation)
            else:
                frames += self._cite(citation)
        return frames

    def _cite(self, citation: Wire) -> list[Frame]:
        number, delta = len(self._cited), {"message": {"citations": citation}}
        self._cited.append(citation)
        return [
            _spell({"type": "citation-start", "index": number, "delta": delta}),
            _spell({"type": "citation-end", "index": number}),
        ]

    def _cite_all(self, block: Any, index: int | None) -> list[Frame]:
        cited = [write_citation(each, block, index, QUIET) for each in block.citations]
        return [frame for citation in cited for frame in self._cite(citation)]

    def _failure(self, response: Response, recorder: LossRecorder) -> Frame:
        wire = write_response(response, recorder)
        text = wire.pop("message")
        return _spell(
            {"type": "message-end", "delta": {**wire, "finish_reason": "ERROR", "error": text}}
        )

    def _account(self, partial: Message, recorder: LossRecorder) -> None:
        write_parts(partial.content, NOTHING, recorder)

    # -- content ----------------------------------------------------------------------------------

    def _open(self, index: int, block: Any) -> list[Frame]:
        held = type(block) is TextBlock and is_commentary(block.replace(text="-"))
        frames = [] if held else self._say_held()
        kind = _HELD if held else KINDS.get(type(block))
        said = self._current = OpenBlock(index, kind)
        return frames if kind is None else [*frames, *self._say(said, block.text)]

    def _first(self, said: OpenBlock, text: str) -> list[Frame]:
        if said.kind is None:
            return []
        said.length += len(text)
        if said.kind == _HELD:
            said.before += text
            return []
        return [self._opening(said), self._frame(said, text)]

    def _opening(self, said: OpenBlock) -> Frame:
        """The start of an item that is told in pieces."""
        key = _KEYS[said.kind or TEXT]
        _spell_as(said, "content-delta", self._items, {"content": {key: PIECE}})
        return self._item({"type": key, key: ""})

    def _item(self, part: Wire) -> Frame:
        self._items += 1
        said = {"message": {"content": part}}
        return _spell({"type": "content-start", "index": self._items - 1, "delta": said})

    def _end(self, said: OpenBlock, block: Any) -> list[Frame]:
        """What was not said in pieces, and the end."""
        frames: list[Frame] = []
        if not said.length and said.kind != self._kind_of(block):
            frames = self._open(said.index, block)
            said = self._current or said
        elif said.kind is not None and type(block) in KINDS:
            frames = self._say(said, block.text[said.length :])
        if said.kind == _HELD:
            self._held.append(block.replace(text=said.before))
            self._current = None
            return frames
        if said.cuts is None:
            self._current = None
            return [*frames, *self._whole(block)]
        if type(block) is TextBlock:
            frames += self._cite_all(block, self._items - 1)
        return [*frames, *self._close(said)]

    def _kind_of(self, block: Any) -> int | None:
        return _HELD if is_commentary(block) else KINDS.get(type(block))

    def _whole(self, block: Block) -> list[Frame]:
        """An item that is not told in pieces, or has none."""
        _, content = write_parts((block,), NOTHING, QUIET)
        frames: list[Frame] = []
        for part in content:
            frames.append(self._item(part))
            if type(block) is TextBlock:
                frames += self._cite_all(block, self._items - 1)
            frames.append(self._item_end())
        return frames

    def _item_end(self) -> Frame:
        return _spell({"type": "content-end", "index": self._items - 1})

    def _close(self, said: OpenBlock) -> list[Frame]:
        self._current = None
        if said.cuts is None:
            return []
        if said.kind != _INPUT:
            return [self._item_end()]
        return [_spell({"type": "tool-call-end", "index": self._calls - 1})]

    # -- plans and calls --------------------------------------------------------------------------

    def _say_held(self, before_call: bool = False) -> list[Frame]:
        """Commentary is the plan where a call follows, and content elsewhere."""
        held, self._held = self._held, []
        frames: list[Frame] = []
        for block in held:
            frames += self._say_plan(block) if before_call else self._whole(block)
        return frames

    def _say_plan(self, block: TextBlock) -> list[Frame]:
        """One plan is all that there is: further ones go on with it."""
        plan = JOINER + block.text if self._planned else block.text
        cited = [] if self._planned else self._cite_all(block, None)
        self._planned = True
        said = {"message": {"tool_plan": plan}}
        return [_spell({"type": "tool-plan-delta", "delta": said}), *cited]

    def _open_call(self, event: ev.ToolUseStart) -> list[Frame]:
        """Free text has to be put into an object first."""
        if event.executor != "client":
            self._current = OpenBlock(event.index)
            return self._say_held()
        is_text = event.call_type is not None
        said = self._current = OpenBlock(event.index, None if is_text else _INPUT)
        said.start = event
        frames = self._say_held(before_call=True)
        return frames if is_text else [*frames, self._call(said)]

    def _call(self, said: OpenBlock) -> Frame:
        assert said.start is not None
        parts, _ = write_parts((call_of(said.start),), NOTHING, QUIET)
        (call,) = parts.tool_calls or [{}]
        call["function"] = {**call["function"], "arguments": ""}
        index, self._calls = self._calls, self._calls + 1
        piece = {"tool_calls": {"function": {"arguments": PIECE}}}
        _spell_as(said, "tool-call-delta", index, piece)
        delta = {"message": {"tool_calls": call}}
        return _spell({"type": "tool-call-start", "index": index, "delta": delta})

    def _end_call(self, said: OpenBlock, event: ev.ToolUseEnd) -> list[Frame]:
        if said.start is None:
            self._current = None
            return []
        frames: list[Frame] = []
        if said.cuts is None:
            said.kind = _INPUT
            frames = [self._call(said)]
        if not said.length:
            frames += self._say(said, arguments.to_text(event.input))
        return [*frames, *self._close(said)]


def _spell_as(said: OpenBlock, kind: str, index: int, message: Wire) -> None:
    said.spell_as(kind, {"type": kind, "index": index, "delta": {"message": message}})


def _spell(wire: Wire) -> Frame:
    return spell(wire["type"], wire)


class StreamWriter(stream_writer.StreamWriter):
    """One stream of the chat."""

    name, way = NAME, Abroad
