"""A frame on its way home: its events make a small response, which is written as any other."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Wire
from interlingua.dialects.gemini.response import stop_reason, write_response
from interlingua.dialects.gemini.stream_frames import MODEL_VERSION, RESPONSE_ID, spell_frame
from interlingua.dialects.gemini.stream_said import QUIET
from interlingua.dialects.gemini.tables import NAME
from interlingua.model.blocks import Block, UnknownBlock
from interlingua.model.events import Stop
from interlingua.model.exchange import Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, StopReason, Usage
from interlingua.streams.frames import Frame

_OWN = frozenset({"candidates", MODEL_VERSION, RESPONSE_ID, "$event"})


class Held:
    """A frame, until the last of its events has come. `items` are the blocks of each answer, with
    the index of the block that each is, or is a piece of."""

    def __init__(self, number: int, rest: Wire) -> None:
        self.number = number
        self.rest = rest
        self.form: Wire = rest.get("$form") or {}
        self.due: int | None = self.form.get("events")
        self.count = 0
        self.items: dict[int, list[tuple[int, Block]]] = {}
        self.stops: dict[int, Stop] = {}
        self.usage: Usage | None = None

    def add(self, choice: int, index: int, block: Block) -> None:
        self.items.setdefault(choice, []).append((index, block))

    def frame(self, model: str | None, id: str | None) -> Frame:
        """All of it. `model` and `id` are those of the stream, which most frames repeat."""
        rest, without = self.rest, self.form.get("without") or ()
        shared: dict[str, Any] = {
            "response_model": rest.get(MODEL_VERSION, None if MODEL_VERSION in without else model),
            "response_id": rest.get(RESPONSE_ID, None if RESPONSE_ID in without else id),
            "usage": self.usage,
        }
        candidates = rest.get("candidates") or [{}]
        messages = [self._message(each, {} if at else shared) for at, each in enumerate(candidates)]
        if self._is_hollow() and not messages[0].content and 0 not in self.stops:
            told = messages[0].metadata.replace(stop_reason=StopReason.CONTENT_FILTER)
            messages[0] = messages[0].replace(metadata=told)
        body = {key: item for key, item in rest.items() if key not in _OWN}
        raw = {NAME: body} if body else None
        wire = write_response(Response(messages[0], tuple(messages[1:]), raw=raw), QUIET)
        return spell_frame(wire, rest.get("$event"))

    def _is_hollow(self) -> bool:
        """Whether the frame had no candidates."""
        form = self.form
        return "void" in form or "candidates" in (*form.get("absent", ()), *form.get("nil", ()))

    def _message(self, left: Wire, shared: dict[str, Any]) -> Message:
        """One candidate; `left` is what was kept of it."""
        form = left.get("$form") or {}
        choice, pieces = form.get("choice", 0), form.get("pieces") or ()
        blocks = [block for index, block in self.items.get(choice, ()) if index not in pieces]
        for at, note in (form.get("parts") or {}).items():
            if "part" in note:
                blocks.insert(int(at), UnknownBlock({NAME: note["part"]}))
            elif int(at) < len(blocks):
                blocks[int(at)] = blocks[int(at)].replace(raw=note["raw"])
        raw = {NAME: left} if left else None
        metadata = MessageMetadata(protocol=NAME, provider_raw=raw, **shared)
        stop = self.stops.get(choice)
        if stop is not None:
            metadata = metadata.replace(
                stop_reason=_reason(stop, blocks), raw_stop_reason=stop.raw_stop_reason
            )
        return Message(Role.ASSISTANT, tuple(blocks), metadata=metadata)


def _reason(stop: Stop, blocks: list[Block]) -> StopReason | None:
    """Why it ended, as this frame alone would tell it: calls may have come before."""
    word = stop.raw_stop_reason
    if word is not None and stop.stop_reason is StopReason.TOOL_USE:
        alone = stop_reason(word, blocks)
        if alone is StopReason.END_TURN:
            return alone
    return stop.stop_reason
