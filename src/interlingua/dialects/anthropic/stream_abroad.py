"""Writing a stream that came from elsewhere: as this wire wants it, one block after the other."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.anthropic.content import write_parts
from interlingua.dialects.anthropic.failure import write_failure
from interlingua.dialects.anthropic.kept import mine_of
from interlingua.dialects.anthropic.parts import ANSWER
from interlingua.dialects.anthropic.response import write_response
from interlingua.dialects.anthropic.stream_frames import INPUT, TEXT, THINKING, Piece, spell
from interlingua.dialects.anthropic.stream_said import QUIET, Said, cited, part_of, say
from interlingua.dialects.anthropic.tables import NAME
from interlingua.dialects.base import Scribe, Wire, encode
from interlingua.dialects.streaming import NO_TURN, InPieces, beside_error, call_of
from interlingua.model.blocks import Block, RefusalBlock, TextBlock, ThinkingBlock
from interlingua.model.events import (
    BlockDelta,
    MessageComplete,
    MessageStart,
    StreamError,
    TextDelta,
    ThinkingDelta,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
)
from interlingua.model.exchange import Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata
from interlingua.streams.frames import Frame

_PIECES: dict[type[Block], tuple[str, Piece]] = {
    TextBlock: ("text", TEXT),
    RefusalBlock: ("text", TEXT),
    ThinkingBlock: ("thinking", THINKING),
}
"""Blocks that are told in pieces: the part they become, and its pieces. All others come whole."""
_EMPTY: Wire = {"text": "", "citations": (), "signature": None}
_STARTED = frozenset({"id", "type", "role", "model", "content", "usage"})
"""What the end of a message does not say again."""
_BESIDE = frozenset({"context_management", "input_transformations"})
"""What it says beside its delta."""
_LATER = frozenset({"text", "thinking", "citations", "signature", "input"})
"""What a block may say after its start."""
_TOO_LATE = "a block says it at its start, when it was not known"


class Abroad(InPieces[Said]):
    """Events in, frames out. One block is open at a time; what others say meanwhile waits. Usage
    and stop reason are said at the end, and losses are counted there."""

    def _begin_anew(self) -> None:
        super()._begin_anew()
        self._started = False
        self._opened: list[Wire] = []

    def _piece(self, event: TextDelta | ThinkingDelta | ToolUseInputDelta) -> list[Frame]:
        said = self._current
        if said is None or said.index != event.index or said.head is None or event.choice:
            return self._block(event)
        text = event.text
        said.length += len(text)
        return [say(said.head, text)]

    # -- messages ---------------------------------------------------------------------------------

    def _start(self, event: MessageStart) -> list[Frame]:
        if event.choice or self._started or self._failed:
            return []
        self._begin_anew()
        self._started = True
        told = MessageMetadata(response_model=event.model, response_id=event.response_id)
        wire = write_response(Response(Message(Role.ASSISTANT, metadata=told)), QUIET)
        return [spell({"type": "message_start", "message": wire})]

    def _complete(self, event: MessageComplete) -> list[Frame]:
        if self._failed:
            return []
        response = event.response
        told = response.message.metadata
        frames = self._start(MessageStart(told.response_model, told.response_id))
        while self._current is not None:
            frames += [*self._close(self._current), *self._go_on()]
        scribe = Scribe(NAME, response, self._report)
        wire = write_response(response, scribe)
        self._report_late(response.message, wire, scribe)
        changes = {key: item for key, item in wire.items() if key not in _STARTED}
        beside = {key: changes.pop(key) for key in _BESIDE & changes.keys()}
        change: Wire = {"type": "message_delta", "delta": changes, **beside}
        change["usage"] = wire.get("usage") or {"output_tokens": 0}
        self._begin_anew()
        return [*frames, spell(change), spell({"type": "message_stop"})]

    def _report_late(self, message: Message, wire: Wire, scribe: Scribe) -> None:
        """What a block has to say at its start, and was not known by then."""
        parts = wire.get("content") or []
        if [part.get("type") for part in parts] != [part.get("type") for part in self._opened]:
            return
        late = [
            part.keys() - start.keys() - _LATER
            for part, start in zip(parts, self._opened, strict=True)
        ]
        if not any(late):
            return
        written = [block for block in message.content if part_of(block) is not None]
        for block, keys in zip(written, late, strict=True):
            if "cache_control" in keys:
                scribe.lost(block, "cache", _TOO_LATE)
            for key in sorted(keys & mine_of(block.raw).keys()):
                scribe.lost(block, f"raw.{NAME}.{key}", _TOO_LATE)

    def _fail(self, event: StreamError) -> list[Frame]:
        if self._failed:
            return []
        self._failed, self._current = True, None
        error = event.error
        blank, scribe = beside_error(event, NAME, self._report)
        if event.partial is not None:
            self._report_partial(event.partial, scribe)
        wire = write_failure(Response(blank, error=error), error, scribe)
        return [Frame("error", encode(wire).decode())]

    def _report_partial(self, partial: Message, scribe: Scribe) -> None:
        """What was said before the end is no loss, what still waited is."""
        for block, had_turn in self._with_turns(partial, self._waiting):
            if had_turn:
                write_parts((block,), ANSWER, scribe)
            else:
                scribe.dropped(block, NO_TURN)

    # -- blocks -----------------------------------------------------------------------------------

    def _say(self, said: Said, text: str) -> list[Frame]:
        if said.head is None or not text:
            return []
        said.length += len(text)
        return [say(said.head, text)]

    def _open(self, index: int, block: Any) -> list[Frame]:
        kind, piece = _PIECES.get(type(block), (None, None))
        self._current = Said(index, len(self._opened), None)
        if piece is None:
            return []
        empty = {name: item for name, item in _EMPTY.items() if name in block.__struct_fields__}
        part = part_of(block.replace(**empty))
        if part is None or part["type"] != kind:
            return []
        said = self._current = Said(index, len(self._opened), piece)
        return [self._opening(said, part), *self._say(said, block.text)]

    def _opening(self, said: Said, part: Wire) -> Frame:
        self._opened.append(part)
        return spell(said.opening(part))

    def _open_call(self, event: ToolUseStart) -> list[Frame]:
        """Free text has to be put into an object first, and whose a hosted tool is may be told at
        the end only."""
        part = part_of(call_of(event)) if event.call_type is None else None
        piece = INPUT if part is not None else None
        said = self._current = Said(event.index, len(self._opened), piece)
        said.start = event
        return [] if part is None else [self._opening(said, part)]

    def _delta(self, said: Said, event: BlockDelta) -> list[Frame]:
        """A signature is said at the end of its block, whenever it came."""
        if event.field == "text" and type(event.value) is str:
            return self._say(said, event.value)
        citation = cited(event.value) if event.field == "citations" and said.head else None
        if citation is None:
            return []
        said.citations += 1
        return [spell(said.delta("citations_delta", "citation", citation))]

    def _end(self, said: Said, block: Block) -> list[Frame]:
        """What was not said in pieces, and the end."""
        part = part_of(block)
        if said.piece is None:
            return self._whole(said, part)
        frames: list[Frame] = []
        if part is not None:
            frames += self._say(said, (part.get(said.piece.key) or "")[said.length :])
            for citation in (part.get("citations") or ())[said.citations :]:
                frames.append(spell(said.delta("citations_delta", "citation", citation)))
            if said.piece is THINKING and part.get("signature"):
                frames.append(spell(said.delta("signature_delta", "signature", part["signature"])))
        return frames + self._close(said)

    def _end_call(self, said: Said, event: ToolUseEnd) -> list[Frame]:
        text = encode(event.input).decode()
        if said.piece is not None:
            return [*(self._say(said, text) if not said.length else ()), *self._close(said)]
        part = part_of(call_of(said.start, event)) if said.start is not None else None
        if part is None:
            return self._whole(said, None)
        said = Said(said.index, said.at, INPUT)
        opening = self._opening(said, {**part, "input": {}})
        return [opening, *self._say(said, text), *self._close(said)]

    def _whole(self, said: Said, part: Wire | None) -> list[Frame]:
        self._current = None
        if part is None:
            return []
        return [self._opening(said, part), spell(said.closing())]

    def _close(self, said: Said) -> list[Frame]:
        self._current = None
        return [] if said.piece is None else [spell(said.closing())]
