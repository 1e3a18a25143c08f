"""Writing a stream that came from this dialect: each frame as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interlingua.dialects.base import Wire
from interlingua.dialects.bedrock.failure import write_error
from interlingua.dialects.bedrock.response import read_word
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
    code_of,
    name_of,
    say,
    say_padded,
    spell,
)
from interlingua.dialects.bedrock.stream_said import QUIET, Said, cited, part_of, start_of
from interlingua.dialects.bedrock.tables import NAME, NEAR_STOP_REASONS, STOP_REASONS
from interlingua.dialects.bedrock.usage import write_usage
from interlingua.dialects.streaming import FAILED, call_of, kept_in
from interlingua.model.blocks import (
    Block,
    RedactedThinkingBlock,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    UnknownBlock,
)
from interlingua.model.events import (
    BlockDelta,
    BlockEnd,
    BlockStart,
    Event,
    MessageComplete,
    MessageStart,
    Other,
    Stop,
    StreamError,
    TextDelta,
    ThinkingDelta,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
    UsageUpdate,
)
from interlingua.model.exchange import Response
from interlingua.streams.frames import Frame

_PIECES: dict[type[Block], Piece] = {TextBlock: TEXT, RefusalBlock: TEXT, ThinkingBlock: THINKING}


class Home:
    """Events in, frames out; each frame with its first event."""

    def __init__(self) -> None:
        self._said: dict[int, Said] = {}
        self._count = 0
        self._failed = False
        self.steps: dict[type, Callable[[Any], list[Frame]]] = dict.fromkeys(_STEPS, self._step)
        for kind in (TextDelta, ThinkingDelta, ToolUseInputDelta):
            self.steps[kind] = self._piece

    def close(self) -> list[Frame]:
        return []

    def _piece(self, event: TextDelta | ThinkingDelta | ToolUseInputDelta) -> list[Frame]:
        said, mark = self._said.get(event.index), event.frame
        if said is None or said.head is None:
            return self._step(event)
        if mark is None or mark.rest is None:
            return [say(said.head, event.text, said.tail)]
        kept = kept_in(mark, NAME)
        if len(kept) == 1 and type(padding := kept.get("p")) is str:
            return [say_padded(said.head, event.text, said.tail, padding)]
        return self._step(event)

    def _step(self, event: Event) -> list[Frame]:
        """Everything but a plain piece."""
        if self._failed:
            return []
        rest = kept_in(event.frame, NAME)
        form = rest.get("$form") or {}
        frame = _STEPS[type(event)](self, event, rest, form)
        return [] if frame is None or "within" in form else [frame]

    # -- one frame each; None for those that have none --------------------------------------------

    def _start(self, event: MessageStart, rest: Wire, form: Wire) -> Frame:
        self._said, self._count = {}, 0
        unsaid = "role" in rest or form.get("without") == "role"
        return spell(BEGIN, {} if unsaid else {"role": "assistant"}, rest)

    def _stop(self, event: Stop, rest: Wire, form: Wire) -> Frame:
        word, reason = event.raw_stop_reason, event.stop_reason
        if reason is not None and (word is None or read_word(word) is not reason):
            word = NEAR_STOP_REASONS.get(reason) or STOP_REASONS.write(reason) or "end_turn"
        return spell(END, {"stopReason": word}, rest)

    def _usage(self, event: UsageUpdate, rest: Wire, form: Wire) -> Frame:
        return spell(METADATA, {"usage": write_usage(event.usage, QUIET)}, rest)

    def _complete(self, event: MessageComplete, rest: Wire, form: Wire) -> Frame | None:
        """A frame of its own where it was the first to say something."""
        self._said = {}
        ours = event.frame is not None and NAME in (event.frame.rest or ())
        return spell(METADATA, {}, rest) if ours else None

    def _block(self, event: BlockStart, rest: Wire, form: Wire) -> Frame | None:
        """Text and reasoning have no start; what nobody can read is one piece."""
        said = self._open(event.index, _PIECES.get(type(event.block)), form)
        part = part_of(event.block) if said.piece is None else None
        if part is None:
            return None
        if type(event.block) is RedactedThinkingBlock:
            return spell(DELTA, said.delta(part), rest)
        if type(event.block) is not UnknownBlock:
            part = start_of(part)
        return spell(START, said.opening(part), rest)

    def _call(self, event: ToolUseStart, rest: Wire, form: Wire) -> Frame | None:
        said = self._open(event.index, INPUT, form)
        part = part_of(call_of(event))
        return None if part is None else spell(START, said.opening(start_of(part)), rest)

    def _open(self, index: int, piece: Piece | None, form: Wire) -> Said:
        said = self._said[index] = Said(index, form.get("index", self._count), piece)
        self._count += 1
        return said

    def _text(self, event: Any, rest: Wire, form: Wire) -> Frame | None:
        said = self._said.get(event.index)
        if said is None or said.piece is None:
            return None
        return spell(DELTA, said.delta(said.piece.delta(event.text)), rest)

    def _delta(self, event: BlockDelta, rest: Wire, form: Wire) -> Frame | None:
        said, value = self._said.get(event.index), event.value
        if said is None:
            return None
        if event.field == "citations":
            return spell(DELTA, said.delta({"citation": cited(value)}), rest)
        if event.field == "signature" and type(value) is str:
            more, said.signed = value[said.signed :], len(value)
            return spell(DELTA, said.delta({"reasoningContent": {"signature": more}}), rest)
        if event.field == "data" and type(value) is str:
            part = part_of(RedactedThinkingBlock(value, raw={NAME: {"$form": form}}))
            return None if part is None else spell(DELTA, said.delta(part), rest)
        return None

    def _end(self, event: BlockEnd | ToolUseEnd, rest: Wire, form: Wire) -> Frame | None:
        said = self._said.pop(event.index, None)
        return None if said is None else spell(STOP, said.closing(), rest)

    def _fail(self, event: StreamError, rest: Wire, form: Wire) -> Frame:
        self._said, self._failed = {}, True
        error = event.error
        wire = write_error(Response(FAILED, error=error), error, QUIET)
        kind = form.get("kind")
        typed = form.get("typed") or "kind" not in form
        if typed:
            code = wire.pop("__type", None) or code_of("internalServerException")
            kind = kind if kind is not None and code_of(kind) == code else name_of(code)
        return spell(kind, wire, rest)

    def _other(self, event: Other, rest: Wire, form: Wire) -> Frame | None:
        if event.frame is None or NAME not in (event.frame.rest or ()):
            return None
        if "$data" in rest:
            return Frame(rest.get("$event"), rest["$data"])
        return spell(rest.get("$kind"), {}, rest)


_STEPS: dict[type, Callable[[Home, Any, Wire, Wire], Frame | None]] = {
    MessageStart: Home._start,
    Stop: Home._stop,
    UsageUpdate: Home._usage,
    BlockStart: Home._block,
    ToolUseStart: Home._call,
    TextDelta: Home._text,
    ThinkingDelta: Home._text,
    ToolUseInputDelta: Home._text,
    BlockDelta: Home._delta,
    BlockEnd: Home._end,
    ToolUseEnd: Home._end,
    MessageComplete: Home._complete,
    StreamError: Home._fail,
    Other: Home._other,
}
