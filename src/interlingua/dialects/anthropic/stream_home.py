"""Writing a stream that came from this dialect: each frame as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interlingua.dialects.anthropic.failure import write_failure
from interlingua.dialects.anthropic.response import write_response
from interlingua.dialects.anthropic.stream_frames import INPUT, Piece, piece_of, spell
from interlingua.dialects.anthropic.stream_said import QUIET, Said, cited, part_of, say
from interlingua.dialects.anthropic.tables import NAME, NEAR_STOP_REASONS, STOP_REASONS
from interlingua.dialects.anthropic.usage import write_usage
from interlingua.dialects.base import Wire, encode
from interlingua.dialects.streaming import FAILED, call_of, kept_in
from interlingua.model.blocks import Block
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
from interlingua.model.metadata import MessageMetadata
from interlingua.streams.fold import Folder
from interlingua.streams.frames import Frame


class _Held:
    """A frame of several events, until the last of them has come."""

    def __init__(self, event: Event) -> None:
        self.number = event.frame.number if event.frame is not None else None
        self.rest = kept_in(event.frame, NAME)
        self.start = event if type(event) is MessageStart else None
        self.folder = Folder()
        self.folder.feed(event)

    def frame(self) -> Frame:
        rest, message = self.rest, self.folder.message()
        told = message.metadata
        if self.start is None:
            return _spell_change(told, rest)
        told = told.replace(
            response_model=self.start.model, response_id=self.start.response_id
        )  # blank ones too
        raw = {NAME: rest["message"]} if "message" in rest else None
        wire = write_response(Response(message.replace(metadata=told), raw=raw), QUIET)
        beyond = {key: item for key, item in rest.items() if key != "message"}
        return spell({"type": "message_start", "message": wire}, beyond)


def _spell_change(told: MessageMetadata, rest: Wire) -> Frame:
    form = rest.get("$form") or {}
    without = form.get("without") or ()
    delta: Wire = {"stop_reason": _stop_word(told), "stop_sequence": None}
    for key in (*without, *(rest.get("delta") or ())):
        if delta.get(key) is None:
            delta.pop(key, None)
    wire: Wire = {"type": "message_delta"}
    if delta or "delta" not in without:
        wire["delta"] = delta
    if told.usage is not None:
        counts, nulls = write_usage(told.usage, QUIET), rest.get("usage") or ()
        said = [key for key in form.get("usage", counts) if key in counts and key not in nulls]
        wire["usage"] = {key: counts[key] for key in said}
    return spell(wire, rest)


def _stop_word(told: MessageMetadata) -> Any:
    word: Any = told.raw_stop_reason
    reason = told.stop_reason
    if reason is None or (word is not None and STOP_REASONS.read(word) is reason):
        return word
    return STOP_REASONS.write(reason) or NEAR_STOP_REASONS.get(reason, "end_turn")


class Home:
    """Events in, frames out. Pieces go out at once; only what begins or changes a message waits for
    the other events of its frame."""

    def __init__(self) -> None:
        self._said: dict[int, Said] = {}
        self._count = 0
        self._held: _Held | None = None
        self._failed = False
        self.steps: dict[type, Callable[[Any], list[Frame]]] = dict.fromkeys(_STEPS, self._step)
        for kind in (TextDelta, ThinkingDelta, ToolUseInputDelta):
            self.steps[kind] = self._piece

    def close(self) -> list[Frame]:
        held, self._held = self._held, None
        if held is None:
            return []
        self._count += len(held.folder.message().content)
        return [held.frame()]

    def _piece(self, event: TextDelta | ThinkingDelta | ToolUseInputDelta) -> list[Frame]:
        said = self._said.get(event.index)
        mark = event.frame
        if (
            said is None
            or said.head is None
            or self._held is not None
            or (mark is not None and mark.rest is not None)
        ):
            return self._step(event)
        return [say(said.head, event.text)]

    def _step(self, event: Event) -> list[Frame]:
        """Everything but a plain piece."""
        held, mark = self._held, event.frame
        if held is not None and mark is not None and mark.number == held.number:
            held.folder.feed(event)
            return []
        frames = self.close()
        if not self._failed:
            rest = kept_in(mark, NAME)
            form = rest.get("$form") or {}
            frame = _STEPS[type(event)](self, event, rest, form)
            if frame is not None and "within" not in form:
                frames.append(frame)
            frames += [_as_it_was(kept) for kept in rest.get("$after", ())]
        return frames

    # -- one frame each; None for those that have none, or not yet --------------------------------

    def _start(self, event: MessageStart, rest: Wire, form: Wire) -> None:
        self._said, self._count = {}, 0
        if "within" not in form:
            self._held = _Held(event)

    def _change(self, event: Stop | UsageUpdate, rest: Wire, form: Wire) -> None:
        self._held = _Held(event)

    def _block(self, event: BlockStart, rest: Wire, form: Wire) -> Frame | None:
        return self._open(event.index, event.block, None, rest, form)

    def _call(self, event: ToolUseStart, rest: Wire, form: Wire) -> Frame | None:
        return self._open(event.index, call_of(event), INPUT, rest, form)

    def _open(
        self, index: int, block: Block, piece: Piece | None, rest: Wire, form: Wire
    ) -> Frame | None:
        part = part_of(block)
        if part is None:
            return None
        piece = piece or piece_of(part)
        said = self._said[index] = Said(index, form.get("index", self._count), piece)
        self._count += 1
        return spell(said.opening(part), rest)

    def _text(self, event: Any, rest: Wire, form: Wire) -> Frame | None:
        said = self._said.get(event.index)
        if said is None or said.piece is None:
            return None
        return spell(said.delta(*said.piece, event.text), rest)

    def _delta(self, event: BlockDelta, rest: Wire, form: Wire) -> Frame | None:
        said = self._said.get(event.index)
        if said is None:
            return None
        if event.field == "text" and said.piece is not None:
            return spell(said.delta(*said.piece, event.value), rest)
        if event.field == "signature":
            return spell(said.delta("signature_delta", "signature", event.value), rest)
        citation = cited(event.value) if event.field == "citations" else None
        if citation is None:
            return None
        return spell(said.delta("citations_delta", "citation", citation), rest)

    def _end(self, event: BlockEnd | ToolUseEnd, rest: Wire, form: Wire) -> Frame | None:
        said = self._said.pop(event.index, None)
        return None if said is None else spell(said.closing(), rest)

    def _complete(self, event: MessageComplete, rest: Wire, form: Wire) -> Frame:
        self._said = {}
        return spell({"type": "message_stop"}, rest)

    def _fail(self, event: StreamError, rest: Wire, form: Wire) -> Frame:
        self._said, self._failed = {}, True
        beyond = {key: item for key, item in rest.items() if key != "$event"}
        raw = {NAME: beyond} if beyond else None
        wire = write_failure(Response(FAILED, error=event.error, raw=raw), event.error, QUIET)
        return Frame(rest.get("$event", "error"), encode(wire).decode())

    def _other(self, event: Other, rest: Wire, form: Wire) -> Frame | None:
        if event.frame is None or NAME not in (event.frame.rest or ()):
            return None
        return _as_it_was(rest)


def _as_it_was(rest: Wire) -> Frame:
    """A frame that said nothing."""
    if "$data" in rest:
        return Frame(rest.get("$event"), rest["$data"])
    wire = {key: item for key, item in rest.items() if key != "$event"}
    name = rest.get("$event", wire.get("type"))
    return Frame(name if type(name) is str else None, encode(wire).decode())


_STEPS: dict[type, Callable[[Home, Any, Wire, Wire], Frame | None]] = {
    MessageStart: Home._start,
    Stop: Home._change,
    UsageUpdate: Home._change,
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
