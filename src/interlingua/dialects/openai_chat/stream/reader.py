"""Reading a stream: frames in, events out.

The wire has no starts and ends: a block begins with its first real content and ends when another
one begins, when its choice has a reason to end, or with the stream. A `finish_reason` for every
choice is the end; a missing `[DONE]` after it is noted, except for hosts that repeat the whole
message with every chunk, which send none. A `[DONE]` before it is an end without a reason, and no
answer at all if there was no content."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from interlingua.dialects.kernel.errors import ShapeError, at_path, require
from interlingua.dialects.kernel.stream_reader import BROKEN_OFF, Pattern, Spot, json_of, pattern_of
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.openai_chat.response import is_failure, read_failure
from interlingua.dialects.openai_chat.stream.answer import (
    BLOCK_CONTENT,
    GROQ,
    PADS,
    Choice,
    Item,
    ResponseBuilder,
)
from interlingua.dialects.openai_chat.tables import ANSWER_TABLES, COUNTS, DONE, Tables
from interlingua.dialects.openai_usage import read_usage
from interlingua.errors import DepthError
from interlingua.model import codec
from interlingua.model import events as ev
from interlingua.model.events import Event
from interlingua.model.exchange import ErrorKind, ProviderError
from interlingua.model.metadata import StopReason
from interlingua.streams.frames import MANY, Frame, thin

NO_CONTENT = "the stream ended without an answer"

_TRIES = 64
"""So many patterns are looked for; in a stream whose frames are never alike that costs little."""


class StreamReader:
    """One stream of Chat Completions. Pieces that are spelled like those before them are read by
    comparing texts, without parsing the whole chunk."""

    tables: Tables = ANSWER_TABLES

    def __init__(self, tables: Tables | None = None) -> None:
        self.tables = tables or self.tables
        self.waits = False
        """Whether more may follow the error of a stream: a `[DONE]`, and with OpenAI's gpt-audio a
        chunk as well (recorded streams, read 2026-11)."""
        self._answer = ResponseBuilder(self.tables)
        self._live: list[tuple[Item, Pattern]] = []
        self.piece: tuple[Item, Pattern] | None = None
        """The block of the last piece, and the spelling of its pieces."""
        self._tries = _TRIES
        self._is_over = False

    def feed(self, frame: Frame) -> list[Event]:
        for live in self._live:
            item, pattern = live
            text = pattern.find(frame.data)
            if text:
                self.piece = live
                pieces = item.pieces
                pieces.append(text)
                if len(pieces) > MANY:
                    thin(pieces)
                return [item.event(item.index, text, choice=item.choice)]
        return self._feed(frame)

    def close(self) -> list[Event]:
        """The stream has ended; a message that has not is broken off."""
        if self._is_over:
            return []
        self._end()
        if self._answer.has_stopped() and not self._answer.goes_on():
            self._answer.begin()
            self._finish(self._answer.is_whole())
            return self._answer.events
        error = ProviderError(ErrorKind.NETWORK, BROKEN_OFF)
        return [ev.StreamError(error, self._answer.partial(error))]

    def choice_so_far(self, number: int) -> Wire:
        """A choice so far, in the form of a whole answer."""
        choice = self._answer.choices.get(number)
        return {} if choice is None else choice.wire()

    def _end(self) -> None:
        self._is_over, self._live = True, []

    # -- frames -----------------------------------------------------------------------------------

    def _feed(self, frame: Frame) -> list[Event]:
        if self._is_over:
            return []
        name = f"{self.tables.name} stream"
        self.piece = None
        self._answer.begin()
        try:
            if frame.data.strip() == DONE:
                self._finish(has_done=True)
                self._end()
            elif type(wire := json_of(frame, name)) is dict:
                self._read(wire)
                self._learn(frame.data, wire)
        except ShapeError as error:
            raise error.error(name) from None
        except RecursionError:
            raise DepthError(name, codec.STORED_DEPTH) from None
        return self._answer.events or [ev.Other()]

    def _learn(self, data: str, wire: Wire) -> None:
        """Records how the pieces of an item are spelled, so that the next ones are read by it. A
        frame that is not a plain piece may change the block of the next ones."""
        piece = self._answer.piece
        if piece is None or not _is_plain(wire, piece[1]) or len(self._answer.events) > 1:
            self._live = []
        elif self._tries:
            self._tries -= 1
            pad = next((key for key in PADS if type(wire.get(key)) is str), None)
            pattern = pattern_of(data, wire, piece[1], pad)
            self._live = [each for each in self._live if each[0] is not piece[0]]
            if pattern is not None:
                self._live.append((piece[0], pattern))

    # -- chunks -----------------------------------------------------------------------------------

    def _read(self, wire: Wire) -> None:
        choices = wire.get("choices")
        error: ProviderError | None = None
        if is_failure(wire):  # which may be in a chunk with other members
            body = {key: item for key, item in wire.items() if key not in ("choices", "usage")}
            error = read_failure(body, self.tables).error
        if error is None or type(choices) is list:
            self._answer.merge(wire)
            if choices is not None:
                self._read_choices(require(choices, list, ".choices"), wire)
            position, path = _place_of_usage(wire)
            if position.get("usage") is not None:
                self._read_usage(require(position["usage"], dict, f"{path}.usage"), wire)
        if error is not None:
            self._end()
            self.waits = True
            self._answer.events.append(ev.StreamError(error, self._answer.partial(error)))

    def _read_choices(self, choices: list[Any], wire: Wire) -> None:
        for position, choice in enumerate(choices):
            path = f".choices[{position}]"
            index = require(choice, dict, path).get("index")
            builder = self._begin(index if type(index) is int else position, wire)
            at_path(path, builder.read, choice)

    def _begin(self, number: int, wire: Wire) -> Choice:
        choice = self._answer.choices.get(number)
        if choice is not None:
            return choice
        model, id = (
            value if type(value := wire.get(key)) is str and value else None
            for key in ("model", "id")
        )
        self._answer.events.append(ev.MessageStart(model, id, choice=number))
        return self._answer.choice(number)

    def _read_usage(self, counts: Wire, wire: Wire) -> None:
        if not self._answer.choices:
            self._begin(0, wire)
        self._answer.usage = counts
        self._answer.is_closed |= wire.get("choices") == []
        usage, _ = read_usage(counts, self.tables.name, COUNTS)
        usage = self._answer.tiered(usage)
        self._answer.events.append(ev.UsageUpdate(usage, choice=min(self._answer.choices)))

    def _finish(self, has_done: bool) -> None:
        """The end of all choices, and of the message."""
        answer = self._answer
        if answer.is_void():
            error = ProviderError(ErrorKind.SERVER_ERROR, NO_CONTENT)
            answer.events.append(ev.StreamError(error, answer.partial(error)))
            return
        for choice in answer.choices.values():
            choice.finish()
            if choice.word is None and not answer.is_proper(has_done):
                answer.events.append(ev.Stop(StopReason.OTHER, choice=choice.number))
        answer.events.append(ev.MessageComplete(answer.ended(has_done)))


def _is_plain(wire: Wire, spots: Sequence[Spot]) -> bool:
    """Whether a chunk with such a piece adds nothing but the piece, also when it is repeated:
    its blocks are at these places, and nothing in it accumulates."""
    choices = wire["choices"]
    choice = choices[0] if len(choices) == 1 else {}
    delta = choice.get("delta")
    if type(delta) is not dict or delta.get("annotations") or type(choice.get("logprobs")) is dict:
        return False
    values = [value for key, value in delta.items() if value and key in BLOCK_CONTENT]
    is_one = all(type(value) is not list or len(value) == 1 for value in values)
    return is_one and len(values) == len(spots) and not any(each.get("name") for each, _ in spots)


def _place_of_usage(wire: Wire) -> tuple[Wire, str]:
    """The object of a chunk that has the counts, and its path: the chunk itself, or what a host
    puts them into."""
    if wire.get("usage") is None:
        choices = wire.get("choices")
        only = choices[0] if type(choices) is list and len(choices) == 1 else None
        for inner, path in ((wire.get(GROQ), f".{GROQ}"), (only, ".choices[0]")):
            if type(inner) is dict and type(inner.get("usage")) is dict:
                return inner, path
    return wire, ""
