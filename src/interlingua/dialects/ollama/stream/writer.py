"""Writing a stream that came from elsewhere: as this wire wants it, one block after the other."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.kernel import stream_writer
from interlingua.dialects.kernel.fields import QUIET
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.stream_reader import call_of
from interlingua.dialects.kernel.stream_writer import PIECE, OpenBlock, PieceWriter, spell
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.ollama.messages import says_nothing, usual_wire, write_parts
from interlingua.dialects.ollama.response import write_response
from interlingua.dialects.ollama.tables import DEFAULT_MODEL, DEFAULT_TIME, NAME
from interlingua.model.blocks import Block, RefusalBlock, TextBlock, ThinkingBlock
from interlingua.model.events import (
    ToolUseEnd,
    ToolUseStart,
)
from interlingua.model.exchange import Response
from interlingua.model.message import Message, Role
from interlingua.streams.frames import Frame

_TEXT, _THINKING = 0, 1
_KINDS: dict[type[Block], int] = {TextBlock: _TEXT, RefusalBlock: _TEXT, ThinkingBlock: _THINKING}
"""Blocks that are told in pieces. All others come whole."""
_PIECES: tuple[Wire, ...] = (
    {"role": "assistant", "content": PIECE},
    {"role": "assistant", "content": "", "thinking": PIECE},
)
_PARTS = frozenset({"content", "thinking", "images", "tool_calls"})


class Abroad(PieceWriter):
    """Events in, frames out. One block is open at a time; what others say meanwhile waits. Usage
    and stop reason are said at the end, and losses are counted there."""

    def _begin_anew(self) -> None:
        super()._begin_anew()
        self._line: Wire = {}
        self._last: int | None = None
        self._silent = True

    # -- messages ---------------------------------------------------------------------------------

    def _begin(self, model: str | None, id: str | None) -> list[Frame]:
        """The first line is one that says something, or the last."""
        model = DEFAULT_MODEL if model is None else model
        self._line = {"model": model, "created_at": DEFAULT_TIME}
        return []

    def _finish(self, response: Response, recorder: LossRecorder) -> list[Frame]:
        wire = write_response(response, recorder)
        message = wire.get("message") or {"role": "assistant"}
        if not self._silent:
            message = {key: item for key, item in message.items() if key not in _PARTS}
        last = {**self._line, **wire, "message": {"content": "", **message}, "done": True}
        if response.message.metadata.response_model is None:
            last["model"] = self._line["model"]
        return [spell(None, last)]

    def _failure(self, response: Response, recorder: LossRecorder) -> Frame:
        return spell(None, write_response(response, recorder))

    def _account(self, partial: Message, recorder: LossRecorder) -> None:
        write_parts(partial.content, partial.role, recorder, is_answer=True)

    # -- blocks -----------------------------------------------------------------------------------

    def _open(self, index: int, block: Any) -> list[Frame]:
        kind = _KINDS.get(type(block))
        if kind is None:
            self._current = OpenBlock(index)
            return []
        # Thoughts that follow each other are one here; so are texts, which go on without a gap.
        before = "\n" if kind == self._last == _THINKING else ""
        self._current = OpenBlock(index, kind, before)
        return self._say(self._current, block.text)

    def _open_call(self, event: ToolUseStart) -> list[Frame]:
        self._current = OpenBlock(event.index)
        self._current.start = event
        return []

    def _say(self, said: OpenBlock, text: str) -> list[Frame]:
        if said.kind is None or not text:
            return []
        said.length += len(text)
        if said.cuts is not None:
            return [self._frame(said, text)]
        said.spell_as(None, self._line_of(_PIECES[said.kind]))
        self._last, self._silent = said.kind, False
        return [self._frame(said, said.before + text)]

    def _line_of(self, message: Wire) -> Wire:
        return {**self._line, "message": message, "done": False}

    def _end(self, said: OpenBlock, block: Any) -> list[Frame]:
        """What was not said in pieces."""
        if not said.length and said.kind != _KINDS.get(type(block)):
            self._open(said.index, block.replace(text="") if type(block) in _KINDS else block)
            said = self._current or said
        self._current = None
        if said.kind is None:
            return self._whole(block)
        return self._say(said, block.text[said.length :]) if type(block) in _KINDS else []

    def _end_call(self, said: OpenBlock, event: ToolUseEnd) -> list[Frame]:
        self._current = None
        return [] if said.start is None else self._whole(call_of(said.start, event))

    def _whole(self, block: Block) -> list[Frame]:
        parts = write_parts((block,), Role.ASSISTANT, QUIET, is_answer=True)
        if says_nothing(parts):
            return []
        self._last, self._silent = None, False
        return [spell(None, self._line_of(usual_wire(parts)))]


class StreamWriter(stream_writer.StreamWriter):
    """One stream of the chat."""

    name, way = NAME, Abroad
