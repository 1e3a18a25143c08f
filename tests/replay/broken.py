"""Faults of the connection: it breaks, stalls, drips, or ends when nobody expects it."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from tests.replay.answers import (
    SETTLE,
    Answer,
    Close,
    Pause,
    Piece,
    Reset,
    Send,
    Silence,
    Step,
    chunk,
    first_bytes,
)
from tests.replay.fault import Play, named

How = Literal["end", "fin", "rst"]
_ENDS: dict[str, Step] = {"fin": Close(), "rst": Reset()}


@named
def cut(after: int = 0, how: How = "fin") -> Play:
    """The body breaks off after so many bytes (negative: before its end). `end` is an HTTP message
    that is well-formed and too short, `fin` and `rst` end the connection inside it."""

    def play(answer: Answer) -> list[Step]:
        stored = first_bytes(answer.pieces, after)
        if how == "end":
            return replace(answer, pieces=stored).steps()
        begun: list[Step] = [Send(answer.head()), *answer.body_steps(stored)]
        return [*begun, SETTLE, _ENDS[how]]

    return play


@named
def cut_head(after: int = 20, how: Literal["fin", "rst"] = "fin") -> Play:
    """The connection ends inside the status line or the headers."""
    return lambda answer: [Send(answer.head()[:after]), SETTLE, _ENDS[how]]


@named
def dropped(how: Literal["fin", "rst"] = "rst") -> Play:
    """The connection ends before the first byte."""
    return lambda answer: [_ENDS[how]]


@named
def silence(after: int | None = None) -> Play:
    """No byte at all; or, with a number, headers and so many bytes of the body, then nothing."""

    def play(answer: Answer) -> list[Step]:
        if after is None:
            return [Silence()]
        stored = first_bytes(answer.pieces, after)
        return [Send(answer.head()), *answer.body_steps(stored), Silence()]

    return play


@named
def late(seconds: float = 0.2) -> Play:
    """The whole answer, after a while."""
    return lambda answer: [Pause(seconds), *answer.steps()]


@named
def drip(size: int = 1, pause: float = 0.001) -> Play:
    """The body in pieces of so many bytes with a pause before each, wherever that cuts."""

    def play(answer: Answer) -> list[Step]:
        body = answer.body
        cuts = range(0, len(body), size)
        return replace(
            answer, pieces=tuple(Piece(body[at : at + size], pause) for at in cuts)
        ).steps()

    return play


@named
def close_idle(after: float = 0.0) -> Play:
    """A whole answer on a connection that may be used again, which is closed while it is idle."""
    return lambda answer: [*answer.steps(), Pause(after), Close()]


@named
def wrong_length(by: int = 100) -> Play:
    """A body that is shorter (`by` above 0) or longer than was said."""

    def play(answer: Answer) -> list[Step]:
        body = answer.body
        head = answer.head(max(len(body) + by, 0))
        return [Send(head), Send(body), SETTLE, Close()]

    return play


@named
def half_chunk() -> Play:
    """The body's last piece is announced as longer than what comes of it, and the connection ends:
    what is left of an answer when a proxy dies."""

    def play(answer: Answer) -> list[Step]:
        *most, last = answer.pieces
        announced = chunk(last.data) if answer.is_stream else last.data
        begun: list[Step] = [Send(answer.head()), *answer.body_steps(most)]
        return [*begun, Send(announced[: len(announced) // 2]), SETTLE, Close()]

    return play
