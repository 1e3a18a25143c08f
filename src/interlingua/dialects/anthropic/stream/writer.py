"""Writing a stream that came from elsewhere: as this wire wants it, one block after the other."""

from __future__ import annotations

from typing import Any

import msgspec

from interlingua.dialects.anthropic import tables
from interlingua.dialects.anthropic.response import write_response
from interlingua.dialects.anthropic.tables import NAME
from interlingua.dialects.anthropic.text import ANSWER, WRITERS, write_citation, write_parts
from interlingua.dialects.kernel import stream_writer
from interlingua.dialects.kernel.kept import mine_of
from interlingua.dialects.kernel.recorder import LossRecorder, quiet
from interlingua.dialects.kernel.stream_reader import call_of
from interlingua.dialects.kernel.stream_writer import (
    PIECE,
    OpenBlock,
    PieceWriter,
    before_pieces,
    spell,
)
from interlingua.dialects.kernel.wire import Wire, encode
from interlingua.model import events as ev
from interlingua.model.blocks import (
    Block,
    Citation,
    CompactionBlock,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
)
from interlingua.model.exchange import Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata
from interlingua.streams.frames import Frame

_TEXT, _THINKING, _INPUT = 0, 1, 2
_PIECES = (tables.PIECES["text"], tables.PIECES["thinking"], tables.PIECES["tool_use"])
_KINDS: dict[type[Block], tuple[str, int]] = {
    TextBlock: ("text", _TEXT),
    RefusalBlock: ("text", _TEXT),
    ThinkingBlock: ("thinking", _THINKING),
}
"""Blocks that are told in pieces: the part they become, and its pieces. All others come whole."""
_STARTED = frozenset({"id", "type", "role", "model", "content", "usage"})
"""What the end of a message does not say again."""
_BESIDE = frozenset({"context_management", "input_transformations"})
"""What it says beside its delta."""
_LATER = frozenset({"text", "thinking", "citations", "signature", "input"})
"""What a block may say after its start."""
_TOO_LATE = "a block says it at its start, when it was not known"
_QUIET = quiet(NAME)


class Abroad(PieceWriter):
    """Events in, frames out. One block is open at a time; what others say meanwhile waits. Usage
    and stop reason are said at the end, and losses are counted there."""

    says_starts = True

    def _begin_anew(self) -> None:
        super()._begin_anew()
        self._opened: list[Wire] = []
        self._cited = 0
        """The citations that were said of the open block."""

    # -- messages ---------------------------------------------------------------------------------

    def _begin(self, model: str | None, id: str | None) -> list[Frame]:
        told = MessageMetadata(response_model=model, response_id=id)
        wire = write_response(Response(Message(Role.ASSISTANT, metadata=told)), _QUIET)
        return [_spell({"type": "message_start", "message": wire})]

    def _finish(self, response: Response, recorder: LossRecorder) -> list[Frame]:
        wire = write_response(response, recorder)
        self._report_late(response.message, wire, recorder)
        changes = {key: item for key, item in wire.items() if key not in _STARTED}
        beside = {key: changes.pop(key) for key in _BESIDE & changes.keys()}
        change: Wire = {"type": "message_delta", "delta": changes, **beside}
        change["usage"] = wire.get("usage") or {"output_tokens": 0}
        return [_spell(change), _spell({"type": "message_stop"})]

    def _report_late(self, message: Message, wire: Wire, recorder: LossRecorder) -> None:
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
        written = [block for block in message.content if _part_of(block) is not None]
        for block, keys in zip(written, late, strict=True):
            if "cache_control" in keys:
                recorder.lost(block, "cache", _TOO_LATE)
            for key in sorted(keys & mine_of(NAME, block.raw).keys()):
                recorder.lost(block, f"raw.{NAME}.{key}", _TOO_LATE)

    def _failure(self, response: Response, recorder: LossRecorder) -> Frame:
        return spell("error", write_response(response, recorder))

    def _account(self, partial: Message, recorder: LossRecorder) -> None:
        write_parts(partial.content, ANSWER, recorder)

    # -- blocks -----------------------------------------------------------------------------------

    def _open(self, index: int, block: Any) -> list[Frame]:
        kind, number = _KINDS.get(type(block), (None, None))
        self._current = OpenBlock(index)
        if number is None:
            return []
        part = _part_of(before_pieces(block))
        if part is None or part["type"] != kind:
            return []
        said = self._current = OpenBlock(index, number)
        return [self._opening(said, part), *self._say(said, block.text)]

    def _open_call(self, event: ev.ToolUseStart) -> list[Frame]:
        """Free text has to be put into an object first, and whose a hosted tool is may be told at
        the end only."""
        part = _part_of(call_of(event)) if event.call_type is None else None
        said = self._current = OpenBlock(event.index, None if part is None else _INPUT)
        said.start = event
        return [] if part is None else [self._opening(said, part)]

    def _opening(self, said: OpenBlock, part: Wire) -> Frame:
        index, self._cited = len(self._opened), 0
        self._opened.append(part)
        if said.kind is not None:
            delta, key = _PIECES[said.kind]
            piece = {
                "type": tables.BLOCK_DELTA,
                "index": index,
                "delta": {"type": delta, key: PIECE},
            }
            said.spell_as(tables.BLOCK_DELTA, piece)
        return _spell({"type": tables.BLOCK_START, "index": index, "content_block": part})

    def _delta(self, said: OpenBlock, event: ev.BlockDelta) -> list[Frame]:
        """A signature is said at the end of its block, whenever it came."""
        if event.field != "citations" or said.cuts is None:
            return []
        # One that was stored with its event is plain JSON.
        citation = write_citation(msgspec.convert(event.value, Citation), _QUIET, answering=True)
        return [] if citation is None else [self._cite(citation)]

    def _cite(self, citation: Wire) -> Frame:
        self._cited += 1
        return self._tell_beside("citations_delta", "citation", citation)

    def _tell_beside(self, kind: str, key: str, value: Any) -> Frame:
        index = len(self._opened) - 1
        return _spell(
            {"type": tables.BLOCK_DELTA, "index": index, "delta": {"type": kind, key: value}}
        )

    def _end(self, said: OpenBlock, block: Block) -> list[Frame]:
        """What was not said in pieces, and the end."""
        part = _part_of(block)
        if said.kind is None:
            return self._whole(said, part)
        frames: list[Frame] = []
        if part is not None:
            frames += self._say(said, (part.get(_PIECES[said.kind][1]) or "")[said.length :])
            frames += [self._cite(each) for each in (part.get("citations") or ())[self._cited :]]
            if said.kind == _THINKING and part.get("signature"):
                frames.append(self._tell_beside("signature_delta", "signature", part["signature"]))
        return frames + self._close(said)

    def _end_call(self, said: OpenBlock, event: ev.ToolUseEnd) -> list[Frame]:
        text = encode(event.input).decode()
        if said.kind is not None:
            return [*(self._say(said, text) if not said.length else ()), *self._close(said)]
        part = _part_of(call_of(said.start, event)) if said.start is not None else None
        if part is None:
            return self._whole(said, None)
        said.kind = _INPUT
        opening = self._opening(said, {**part, "input": {}})
        return [opening, *self._say(said, text), *self._close(said)]

    def _whole(self, said: OpenBlock, part: Wire | None) -> list[Frame]:
        self._current = None
        return [] if part is None else [self._opening(said, part), self._closing()]

    def _close(self, said: OpenBlock) -> list[Frame]:
        self._current = None
        return [] if said.kind is None else [self._closing()]

    def _closing(self) -> Frame:
        return _spell({"type": tables.BLOCK_STOP, "index": len(self._opened) - 1})


def _part_of(block: Block) -> Wire | None:
    """The block as an answer has it; None where it has no place."""
    return WRITERS[type(block)](block, ANSWER, _QUIET)


def _spell(wire: Wire) -> Frame:
    return spell(wire["type"], wire)


class StreamWriter(stream_writer.StreamWriter):
    """One stream of the Messages API."""

    name, way = NAME, Abroad

    def _keeps(self, block: CompactionBlock) -> bool:
        return True
