"""Writing a stream that came from elsewhere: as this wire wants it, one block after the other."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Scribe, Wire, encode
from interlingua.dialects.bedrock.content import write_parts
from interlingua.dialects.bedrock.response import write_response
from interlingua.dialects.bedrock.stream_frames import (
    BEGIN,
    DELTA,
    END,
    INPUT,
    METADATA,
    START,
    STOP,
    TEXT,
    THINKING,
    Piece,
    say,
    spell,
)
from interlingua.dialects.bedrock.stream_losses import (
    report_around,
    report_unstreamed,
    sayable,
    streamed,
    write_exception,
)
from interlingua.dialects.bedrock.stream_said import Said, cited, part_of, start_of
from interlingua.dialects.bedrock.tables import DEFAULT_METRICS, NAME
from interlingua.dialects.bedrock.usage import NO_USAGE
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
from interlingua.model.message import Message
from interlingua.streams.frames import Frame

_PIECES: dict[type[Block], Piece] = {TextBlock: TEXT, RefusalBlock: TEXT, ThinkingBlock: THINKING}
"""Blocks that are told in pieces. All others come whole."""
_TOLD = frozenset({"text", "citationsContent", "reasoningContent"})
_EMPTY: Wire = {"text": "", "citations": (), "signature": None}
_STOPPED = ("stopReason", "additionalModelResponseFields")
"""What the end of a message says; all else is said after it."""


class Abroad(InPieces[Said]):
    """Events in, frames out. One block is open at a time; what others say meanwhile waits. Usage
    and stop reason are said at the end, and losses are counted there."""

    def _begin_anew(self) -> None:
        super()._begin_anew()
        self._started = False
        self._count = 0

    def _piece(self, event: TextDelta | ThinkingDelta | ToolUseInputDelta) -> list[Frame]:
        said = self._current
        if said is None or said.index != event.index or said.head is None or event.choice:
            return self._block(event)
        text = event.text
        if not text:
            return []
        said.length += len(text)
        return [say(said.head, text, said.tail)]

    # -- messages ---------------------------------------------------------------------------------

    def _start(self, event: MessageStart) -> list[Frame]:
        if event.choice or self._started or self._failed:
            return []
        self._begin_anew()
        self._started = True
        return [spell(BEGIN, {"role": "assistant"})]

    def _complete(self, event: MessageComplete) -> list[Frame]:
        if self._failed:
            return []
        response = event.response
        frames = self._start(MessageStart())
        while self._current is not None:
            frames += [*self._close(self._current), *self._go_on()]
        scribe = Scribe(NAME, response, self._report)
        wire = write_response(response, scribe)
        report_unstreamed(response.message, scribe)
        report_around(response, scribe)
        end = {"stopReason": "end_turn", **{key: wire[key] for key in _STOPPED if key in wire}}
        after = {"usage": NO_USAGE, "metrics": DEFAULT_METRICS}
        after |= {key: item for key, item in wire.items() if key not in ("output", *_STOPPED)}
        self._begin_anew()
        return [*frames, spell(END, end), spell(METADATA, after)]

    def _fail(self, event: StreamError) -> list[Frame]:
        if self._failed:
            return []
        error = event.error
        blank, scribe = beside_error(event, NAME, self._report)
        if event.partial is not None:
            self._report_partial(event.partial, scribe)
        self._failed, self._current = True, None
        return [write_exception(Response(blank, error=error), error, scribe)]

    def _report_partial(self, partial: Message, scribe: Scribe) -> None:
        """What was said before the end is no loss, what still waited is."""
        said = self._current
        unsaid = set(self._waiting)
        if said is not None and said.piece is None:
            unsaid.add(said.index)
        told = []
        for block, had_turn in self._with_turns(partial, unsaid):
            if had_turn:
                told.append(block)
            else:
                scribe.dropped(block, NO_TURN)
        write_parts(told, [], scribe, answer=True)
        report_unstreamed(partial.replace(content=tuple(told)), scribe)

    # -- blocks -----------------------------------------------------------------------------------

    def _say(self, said: Said, text: str) -> list[Frame]:
        if said.head is None or not text:
            return []
        said.length += len(text)
        return [say(said.head, text, said.tail)]

    def _open(self, index: int, block: Any) -> list[Frame]:
        """Text and reasoning begin with their first piece."""
        piece = _PIECES.get(type(block))
        self._current = Said(index, self._count)
        if piece is None:
            return []
        empty = {name: item for name, item in _EMPTY.items() if name in block.__struct_fields__}
        part = part_of(block.replace(**empty))
        if part is None or not _TOLD & part.keys():
            return []
        said = self._current = Said(index, self._count, piece)
        return self._say(said, block.text)

    def _open_call(self, event: ToolUseStart) -> list[Frame]:
        """Free text has to be put into an object first."""
        part = part_of(call_of(event)) if event.call_type is None else None
        said = self._current = Said(event.index, self._count, INPUT if part is not None else None)
        said.start = event
        return [] if part is None else [self._opening(said, part)]

    def _opening(self, said: Said, part: Wire) -> Frame:
        said.opened = True
        return spell(START, said.opening(start_of(part)))

    def _delta(self, said: Said, event: BlockDelta) -> list[Frame]:
        """A signature is said at the end of its block, whenever it came."""
        if event.field == "text" and type(event.value) is str:
            return self._say(said, event.value)
        if event.field != "citations" or said.piece is not TEXT:
            return []
        said.citations += 1
        return [spell(DELTA, said.delta({"citation": cited(event.value)}))]

    def _end(self, said: Said, block: Any) -> list[Frame]:
        """What was not said in pieces, and the end."""
        if not said.begun and said.piece is not _PIECES.get(type(block)):
            self._open(said.index, block.replace(text="") if type(block) in _PIECES else block)
            said = self._current or said
        if said.piece is None:
            return self._whole(said, block)
        if type(block) not in _PIECES:
            return self._close(said)
        frames = self._say(said, block.text[said.length :])
        for citation in getattr(block, "citations", ())[said.citations :]:
            said.citations += 1
            frames.append(spell(DELTA, said.delta({"citation": cited(citation)})))
        signature = block.signature if type(block) is ThinkingBlock else None
        if signature or (said.length and signature is not None):
            said.signed = 1
            frames.append(spell(DELTA, said.delta({"reasoningContent": {"signature": signature}})))
        return frames + self._close(said)

    def _end_call(self, said: Said, event: ToolUseEnd) -> list[Frame]:
        text = encode(event.input).decode()
        if said.piece is not None:
            return [*(self._say(said, text) if not said.length else ()), *self._close(said)]
        part = part_of(call_of(said.start, event)) if said.start is not None else None
        if part is None:
            return self._close(said)
        said = Said(said.index, said.at, INPUT)
        return [self._opening(said, part), *self._say(said, text), *self._close(said)]

    def _whole(self, said: Said, block: Block) -> list[Frame]:
        kind, part = sayable(streamed(block))
        frames: list[Frame] = []
        if kind == "reasoningContent":
            said.opened = True
            frames = [spell(DELTA, said.delta(part))]
        elif kind in ("toolResult", "image"):
            frames = [self._opening(said, part)]
            told = part[kind]
            told = told["content"] if kind == "toolResult" else {"source": told["source"]}
            if told:
                frames.append(spell(DELTA, said.delta({kind: told})))
        return frames + self._close(said)

    def _close(self, said: Said) -> list[Frame]:
        self._current = None
        if not said.begun:
            return []
        self._count += 1
        return [spell(STOP, said.closing())]
