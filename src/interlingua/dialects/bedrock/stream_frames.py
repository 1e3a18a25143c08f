"""What reading and writing a stream have in common: the names of its frames, how the pieces of a
block are told, and what a frame's mark keeps."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from interlingua.dialects.base import Wire, encode
from interlingua.dialects.shape import merge
from interlingua.streams.frames import Frame

BEGIN = "messageStart"
START = "contentBlockStart"
DELTA = "contentBlockDelta"
STOP = "contentBlockStop"
END = "messageStop"
METADATA = "metadata"
KINDS = frozenset({BEGIN, START, DELTA, STOP, END, METADATA})
EXCEPTION = "Exception"
"""What the names of frames end with that tell of an error."""

_MARKS = (
    ("delta", DELTA),
    ("start", START),
    ("contentBlockIndex", STOP),
    ("stopReason", END),
    ("usage", METADATA),
    ("metrics", METADATA),
    ("role", BEGIN),
)


def kind_of(wire: Wire) -> str | None:
    """What a frame without a name is, by its keys."""
    return next((kind for key, kind in _MARKS if key in wire), None)


def code_of(kind: str) -> str:
    """The type of an error whose frame is called so."""
    return kind[:1].upper() + kind[1:]


def name_of(code: str) -> str:
    """What the frame of such an error is called."""
    return code[:1].lower() + code[1:]


class Piece(NamedTuple):
    """How a piece of a block is told: the key of its text, and the key of the object around it."""

    key: str
    around: str | None = None

    def delta(self, text: str) -> Wire:
        return {self.key: text} if self.around is None else {self.around: {self.key: text}}

    def head(self, at: int) -> str:
        """How a frame begins that says a piece; it ends with as many braces as `tail` says."""
        around = "" if self.around is None else f'"{self.around}":{{'
        return f'{{"contentBlockIndex":{at},"delta":{{{around}"{self.key}":'

    @property
    def tail(self) -> str:
        return "}" if self.around is None else "}}"


TEXT = Piece("text")
THINKING = Piece("text", "reasoningContent")
INPUT = Piece("input", "toolUse")

_encode_text = msgspec.json.Encoder().encode


def say(head: str, text: str, tail: str) -> Frame:
    """A piece of a block: the frame that there are most of, so it is made the fastest way."""
    return tuple.__new__(Frame, (DELTA, f"{head}{_encode_text(text).decode()}{tail}}}"))


def say_padded(head: str, text: str, tail: str, padding: str) -> Frame:
    """The same, with what hides its length."""
    end = f'{tail},"p":{_encode_text(padding).decode()}}}'
    return tuple.__new__(Frame, (DELTA, f"{head}{_encode_text(text).decode()}{end}"))


def spell(kind: str | None, wire: Wire, rest: Wire | None = None) -> Frame:
    """A frame of this data, and of what else it had said."""
    if not rest:
        return Frame(kind, encode(wire).decode())
    wire = merge({key: item for key, item in rest.items() if key[:1] != "$"}, wire)
    wire |= rest.get("$keys", {})
    if rest.get("$wrapped") and kind is not None:
        return Frame(rest.get("$event"), encode({kind: wire}).decode())
    return Frame(rest.get("$event", kind), encode(wire).decode())
