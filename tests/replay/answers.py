"""What the replay server is going to do on a connection: an answer, and the steps it is told in.

An `Answer` is what a provider would say. `steps` turns it into bytes and pauses; faults change the
answer, or the steps, and nothing else knows about them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import NamedTuple

Header = tuple[str, str]


class Piece(NamedTuple):
    """Bytes of a body that go out together, `pause` seconds after those before."""

    data: bytes
    pause: float = 0.0


class Send(NamedTuple):
    data: bytes


class Pause(NamedTuple):
    seconds: float


class Silence(NamedTuple):
    """Nothing more, until the client leaves or the server's patience ends."""


class Close(NamedTuple):
    """The connection ends as TCP ends it: everything was sent, then FIN."""


class Reset(NamedTuple):
    """The connection is torn down: RST."""


Step = Send | Pause | Silence | Close | Reset

SETTLE = Pause(0.03)
"""Before a connection is torn down, so that the client has what was sent until then."""


@dataclass(frozen=True)
class Answer:
    """A whole body has one piece and says its length; a stream has a piece per frame."""

    dialect: str
    status: int
    headers: tuple[Header, ...]
    pieces: tuple[Piece, ...]
    framing: str | None = None
    """How the pieces are framed, where it is a stream."""

    @property
    def is_stream(self) -> bool:
        return self.framing is not None

    @property
    def body(self) -> bytes:
        return b"".join(piece.data for piece in self.pieces)

    def head(self, length: int | None = None) -> bytes:
        """Status line and headers. `length` is said instead of the body's own."""
        if self.is_stream and length is None:
            size: Header = ("transfer-encoding", "chunked")
        else:
            size = ("content-length", str(len(self.body) if length is None else length))
        lines = [f"HTTP/1.1 {self.status} {reason(self.status)}"]
        lines += [f"{name}: {value}" for name, value in (*self.headers, size)]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")

    def steps(self, is_whole: bool = True) -> list[Step]:
        """The way it is told; without its end if it is not to be whole."""
        steps: list[Step] = [Send(self.head()), *self.body_steps(self.pieces)]
        if self.is_stream and is_whole:
            steps.append(Send(b"0\r\n\r\n"))
        return steps

    def body_steps(self, pieces: Iterable[Piece]) -> list[Step]:
        steps: list[Step] = []
        for data, pause in pieces:
            if pause:
                steps.append(Pause(pause))
            if data:
                steps.append(Send(chunk(data) if self.is_stream else data))
        return steps


def chunk(data: bytes) -> bytes:
    """A chunk of a body whose length is not said before."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def reason(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Overloaded" if status == 529 else "Unknown"


def first_bytes(pieces: Sequence[Piece], count: int) -> tuple[Piece, ...]:
    """The pieces up to a number of bytes; a negative one counts from the end."""
    if count < 0:
        count = max(sum(len(piece.data) for piece in pieces) + count, 0)
    remaining: list[Piece] = []
    for data, pause in pieces:
        if count <= 0:
            break
        remaining.append(Piece(data[:count], pause))
        count -= len(data)
    return tuple(remaining)
