"""Writing a stream that came from this dialect: each frame as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interlingua.dialects.base import Wire
from interlingua.dialects.ollama.failure import write_error
from interlingua.dialects.ollama.response import COUNTS, write_response
from interlingua.dialects.ollama.stream_frames import NOT_KEYS, heads, say_at, spell
from interlingua.dialects.ollama.stream_said import QUIET
from interlingua.dialects.ollama.tables import NAME
from interlingua.dialects.streaming import FAILED, call_of, kept_in
from interlingua.model.blocks import Block, TextBlock, ThinkingBlock
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
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, MessageStatus
from interlingua.streams.frames import Frame


class _Held:
    """A line of one or more events, until the last of them has come."""

    def __init__(self, event: Event) -> None:
        mark = event.frame
        self.number = mark.number if mark is not None else None
        self.rest = kept_in(mark, NAME)
        self.form: Wire = self.rest.get("$form") or {}
        self.says = mark is not None and NAME in (mark.rest or ())
        self.count = 0
        self._start: ToolUseStart | None = None
        self._blocks: list[Block] = []
        self._fields: Wire = {"protocol": NAME, "status": MessageStatus.PARTIAL}
        self._failed: StreamError | None = None
        self.add(event)

    def add(self, event: Event) -> None:
        self.count += 1
        match event:
            case TextDelta():
                self._blocks.append(TextBlock(event.text))
            case ThinkingDelta():
                self._blocks.append(ThinkingBlock(event.text))
            case BlockStart() if event.block not in (TextBlock(""), ThinkingBlock("")):
                self._blocks.append(event.block)
            case ToolUseStart():
                self._start = event
            case ToolUseEnd() if self._start is not None:
                self._blocks.append(call_of(self._start, event))
            case Stop():
                self._fields["stop_reason"] = event.stop_reason
                self._fields["raw_stop_reason"] = event.raw_stop_reason
            case UsageUpdate():
                self._fields["usage"] = event.usage
            case MessageComplete():
                self._fields["status"] = MessageStatus.COMPLETE
            case StreamError():
                self._failed = event
            case _:
                return
        self.says = True

    def is_full(self) -> bool:
        awaited: int = self.form.get("events", 1)
        return self.count >= awaited

    def frame(self, model: str | None) -> Frame | None:
        name = self.rest.get("$event")
        if self._failed is not None:
            failed = Response(FAILED, error=self._failed.error)
            return spell(write_error(failed, self._failed.error, QUIET), name)
        if not self.says:
            return None
        raw = {key: item for key, item in self.rest.items() if key not in ("message", *NOT_KEYS)}
        if "model" not in (*self.form.get("absent", ()), *self.form.get("spelled", ())):
            self._fields["response_model"] = self.form.get("model", model)
        if "message" in self.rest:
            self._fields["provider_raw"] = {NAME: self.rest["message"]}
        metadata = MessageMetadata(**self._fields)
        message = Message(Role.ASSISTANT, tuple(self._blocks), metadata=metadata)
        wire = write_response(Response(message, raw={NAME: raw} if raw else None), QUIET)
        self._respell_counts(wire)
        return spell(wire, name)

    def _respell_counts(self, wire: Wire) -> None:
        """Only those counts that this line had, where usage has them of others as well."""
        said: list[str] | None = self.form.get("counts")
        if said is None:
            return
        spelled = self.form.get("spelled", {})
        for key in COUNTS:
            if key not in said:
                wire.pop(key, None)
            if key in spelled:
                wire[key] = spelled[key]


class Home:
    """Events in, frames out. A line of one event goes out at once, one of several with the last of
    them."""

    def __init__(self) -> None:
        self._model: str | None = None
        self._heads: tuple[str, str] | None = None
        self._held: _Held | None = None
        self._failed = False
        self.steps: dict[type, Callable[[Any], list[Frame]]] = {
            **dict.fromkeys((BlockStart, BlockDelta, BlockEnd, Stop, UsageUpdate), self._step),
            **dict.fromkeys((ToolUseStart, ToolUseInputDelta, ToolUseEnd), self._step),
            MessageStart: self._start,
            TextDelta: self._text,
            ThinkingDelta: self._thinking,
            MessageComplete: self._step,
            StreamError: self._fail,
            Other: self._other,
        }

    def close(self) -> list[Frame]:
        held, self._held = self._held, None
        frame = held.frame(self._model) if held is not None else None
        return [] if frame is None else [frame]

    def _text(self, event: TextDelta) -> list[Frame]:
        return self._piece(event, 0)

    def _thinking(self, event: ThinkingDelta) -> list[Frame]:
        return self._piece(event, 1)

    def _piece(self, event: TextDelta | ThinkingDelta, kind: int) -> list[Frame]:
        kept = kept_in(event.frame, NAME)
        time = kept.get("created_at")
        if self._heads is None or self._held is not None or len(kept) != 1:
            return self._step(event)
        if type(time) is not str or self._failed or not event.text:
            return self._step(event)
        return [say_at(self._heads[kind], event.text, time)]

    def _step(self, event: Event) -> list[Frame]:
        """Everything but a plain piece."""
        held, mark = self._held, event.frame
        if held is not None and mark is not None and mark.number == held.number:
            held.add(event)
            return self.close() if held.is_full() else []
        frames = self.close()
        if not self._failed:
            held = self._held = _Held(event)
            if held.is_full():
                frames += self.close()
        return frames

    def _start(self, event: MessageStart) -> list[Frame]:
        frames = self.close()
        self._model = event.model
        self._heads = heads(event.model, {}) if event.model is not None else None
        return [*frames, *self._step(event)]

    def _fail(self, event: StreamError) -> list[Frame]:
        frames = [*self._step(event), *self.close()]
        self._failed = True
        return frames

    def _other(self, event: Other) -> list[Frame]:
        frames = self.close()
        if self._failed or event.frame is None or NAME not in (event.frame.rest or ()):
            return frames
        rest = kept_in(event.frame, NAME)
        name = rest.get("$event")
        if "$data" in rest:
            return [*frames, Frame(name, rest["$data"])]
        wire = {key: item for key, item in rest.items() if key not in NOT_KEYS}
        return [*frames, spell(wire, name)]
