"""Writing a stream that came from elsewhere: as this wire wants it, one block after the other."""

from __future__ import annotations

from typing import Any

import msgspec

from interlingua.dialects.bedrock import tables
from interlingua.dialects.bedrock.errors import write_exception
from interlingua.dialects.bedrock.messages import write_part, write_parts
from interlingua.dialects.bedrock.response import write_response
from interlingua.dialects.bedrock.tables import NAME
from interlingua.dialects.bedrock.text import write_citation
from interlingua.dialects.bedrock.usage import NO_USAGE
from interlingua.dialects.kernel import stream_writer
from interlingua.dialects.kernel.fields import QUIET
from interlingua.dialects.kernel.kept import kept
from interlingua.dialects.kernel.recorder import LossRecorder
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
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.exchange import Response
from interlingua.model.message import Message
from interlingua.streams.frames import Frame

_TEXT, _THINKING, _INPUT = 0, 1, 2
_PIECES: tuple[Wire, ...] = (
    {"text": PIECE},
    {"reasoningContent": {"text": PIECE}},
    {"toolUse": {"input": PIECE}},
)
_KINDS: dict[type[Block], int] = {TextBlock: _TEXT, RefusalBlock: _TEXT, ThinkingBlock: _THINKING}
"""Blocks that are told in pieces. All others come whole."""
_TOLD = frozenset({"text", "citationsContent", "reasoningContent"})
_SAYABLE = frozenset({*_TOLD, "toolUse", "toolResult", "image"})
"""The kinds of part that a stream has."""
_FILLED = {"toolUse": "input", "toolResult": "content", "image": "source"}
"""What a start does not say yet, by the key that says its kind."""
_STOPPED = ("stopReason", "additionalModelResponseFields")
"""What the end of a message says; all else is said after it."""
_NOT_STREAMED = "a stream has no place for it"


class Abroad(PieceWriter):
    """Events in, frames out. One block is open at a time; what others say meanwhile waits. Usage
    and stop reason are said at the end, and losses are counted there."""

    says_starts = True

    def _begin_anew(self) -> None:
        super()._begin_anew()
        self._count = 0
        self._open_as(0)
        self._current = None

    def _open_as(self, index: int, kind: int | None = None) -> OpenBlock:
        block = self._current = OpenBlock(index, kind)
        self._begun, self._citations = False, 0
        if kind is not None:
            block.spell_as(tables.DELTA, {"contentBlockIndex": self._count, "delta": _PIECES[kind]})
        return block

    # -- messages ---------------------------------------------------------------------------------

    def _begin(self, model: str | None, id: str | None) -> list[Frame]:
        return [spell(tables.BEGIN, {"role": "assistant"})]

    def _finish(self, response: Response, recorder: LossRecorder) -> list[Frame]:
        wire = write_response(response, recorder)
        _report_unstreamed(response.message, recorder)
        _report_around(response, recorder)
        end = {"stopReason": "end_turn", **{key: wire[key] for key in _STOPPED if key in wire}}
        after = {"usage": NO_USAGE, "metrics": tables.DEFAULT_METRICS}
        after |= {key: item for key, item in wire.items() if key not in ("output", *_STOPPED)}
        return [spell(tables.END, end), spell(tables.METADATA, after)]

    def _failure(self, response: Response, recorder: LossRecorder) -> Frame:
        return spell(*write_exception(response, recorder))

    def _account(self, partial: Message, recorder: LossRecorder) -> None:
        write_parts(partial.content, [], recorder, answer=True)
        _report_unstreamed(partial, recorder)

    # -- blocks -----------------------------------------------------------------------------------

    def _delta_frame(self, delta: Wire) -> Frame:
        self._begun = True
        return spell(tables.DELTA, {"contentBlockIndex": self._count, "delta": delta})

    def _opening(self, part: Wire) -> Frame:
        self._begun = True
        told = {
            key: {name: item for name, item in inner.items() if name != _FILLED.get(key)}
            for key, inner in part.items()
        }
        return spell(tables.START, {"contentBlockIndex": self._count, "start": told})

    def _open(self, index: int, block: Any) -> list[Frame]:
        """Text and reasoning begin with their first piece."""
        kind = _KINDS.get(type(block))
        if kind is not None and _TOLD.isdisjoint(_part_of(before_pieces(block)) or ()):
            kind = None
        said = self._open_as(index, kind)
        return [] if kind is None else self._say(said, block.text)

    def _open_call(self, event: ev.ToolUseStart) -> list[Frame]:
        """Free text has to be put into an object first."""
        part = _part_of(call_of(event)) if event.call_type is None else None
        self._open_as(event.index, None if part is None else _INPUT).start = event
        return [] if part is None else [self._opening(part)]

    def _delta(self, said: OpenBlock, event: ev.BlockDelta) -> list[Frame]:
        """A signature is said at the end of its block, whenever it came."""
        is_citation = event.field == "citations" and said.kind == _TEXT
        return [self._cite(event.value)] if is_citation else []

    def _cite(self, value: Any) -> Frame:
        """A citation; one that was stored with its event is plain JSON."""
        self._citations += 1
        citation = msgspec.convert(value, Citation)
        return self._delta_frame({"citation": write_citation(citation, QUIET)})

    def _end(self, said: OpenBlock, block: Any) -> list[Frame]:
        """What was not said in pieces, and the end."""
        if not (said.length or self._begun) and said.kind != _KINDS.get(type(block)):
            self._open(said.index, block.replace(text="") if type(block) in _KINDS else block)
            said = self._current or said
        if said.kind is None:
            return self._whole(said, block)
        if type(block) not in _KINDS:
            return self._close(said)
        frames = self._say(said, block.text[said.length :])
        frames += [self._cite(each) for each in getattr(block, "citations", ())[self._citations :]]
        signature = block.signature if type(block) is ThinkingBlock else None
        if signature or (said.length and signature is not None):
            frames.append(self._delta_frame({"reasoningContent": {"signature": signature}}))
        return frames + self._close(said)

    def _end_call(self, said: OpenBlock, event: ev.ToolUseEnd) -> list[Frame]:
        text = encode(event.input).decode()
        if said.kind is not None:
            return [*(self._say(said, text) if not said.length else ()), *self._close(said)]
        part = _part_of(call_of(said.start, event)) if said.start is not None else None
        if part is None:
            return self._close(said)
        said = self._open_as(said.index, _INPUT)
        return [self._opening(part), *self._say(said, text), *self._close(said)]

    def _whole(self, said: OpenBlock, block: Block) -> list[Frame]:
        kind, part = _sayable(_streamed(block))
        frames: list[Frame] = []
        if kind == "reasoningContent":
            frames = [self._delta_frame(part)]
        elif kind in ("toolResult", "image"):
            frames = [self._opening(part)]
            told = part[kind]
            told = told["content"] if kind == "toolResult" else {"source": told["source"]}
            if told:
                frames.append(self._delta_frame({kind: told}))
        return frames + self._close(said)

    def _close(self, said: OpenBlock) -> list[Frame]:
        self._current = None
        if not (said.length or self._begun):
            return []
        self._count += 1
        return [spell(tables.STOP, {"contentBlockIndex": self._count - 1})]


def _part_of(block: Block) -> Wire | None:
    """The block as a whole answer has it; None where it has no place."""
    return write_part(block, QUIET, True)


# -- what a stream has no place for although a whole answer has -----------------------------------


def _sayable(block: Block) -> tuple[str | None, Wire]:
    """The kind of part by which a stream says a block, and the part; None for one that it cannot
    say."""
    part = _part_of(block) or {}
    kind = next((key for key in part if key in _SAYABLE), None)
    return None if isinstance(block, UnknownBlock) else kind, part


def _is_empty(block: Block) -> bool:
    """Without a start there is nothing that could say such a block."""
    if isinstance(block, TextBlock):
        return not (block.text or block.citations)
    if isinstance(block, ThinkingBlock):
        return not (block.text or block.signature)
    return isinstance(block, RefusalBlock) and not block.text


def _streamed(block: Block) -> Block:
    """The block as far as a stream can say it: results hold texts alone."""
    if not isinstance(block, ToolResultBlock):
        return block
    texts = tuple([inner for inner in block.content if type(inner) is TextBlock])
    return block if len(texts) == len(block.content) else block.replace(content=texts)


def _report_unstreamed(message: Message, recorder: LossRecorder) -> None:
    """What a whole answer would have said of these blocks."""
    for block in message.content:
        kind, part = _sayable(block)
        if not part:
            continue  # nowhere a place, and told of already
        if _is_empty(block):
            recorder.dropped(block, "empty", "info")
        elif kind is None:
            recorder.dropped(block, _NOT_STREAMED)
        elif block.raw or block.cache or isinstance(block, ToolResultBlock):
            _report_inside(block, recorder)


def _report_inside(block: Block, recorder: LossRecorder) -> None:
    if block.cache is not None:
        recorder.lost(block, "cache", _NOT_STREAMED)
    if isinstance(block, ToolResultBlock):
        whole = _part_of(block.replace(content=()))
        for inner in block.content:
            if type(inner) is not TextBlock and _part_of(block.replace(content=(inner,))) != whole:
                recorder.dropped(inner, _NOT_STREAMED)
    elif not isinstance(block, ToolUseBlock):
        for key in kept(NAME, block.raw):
            recorder.lost(block, f"raw.{NAME}.{key}", _NOT_STREAMED, severity="info")


def _report_around(response: Response, recorder: LossRecorder) -> None:
    """What stands around the message, where a stream has nothing."""
    if "output" in kept(NAME, response.raw):
        recorder.lost(response, f"raw.{NAME}.output", _NOT_STREAMED, severity="info")
    for key in kept(NAME, response.message.metadata.provider_raw):
        field = f"metadata.provider_raw.{NAME}.{key}"
        recorder.lost(response.message, field, _NOT_STREAMED, severity="info")


class StreamWriter(stream_writer.StreamWriter):
    """One stream of Converse."""

    name, way = NAME, Abroad
