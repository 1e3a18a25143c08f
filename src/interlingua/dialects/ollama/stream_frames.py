"""What reading and writing a stream have in common: what a frame's mark keeps, and how a line is
spelled."""

from __future__ import annotations

import msgspec

from interlingua.dialects.base import Wire, encode
from interlingua.streams.frames import Frame

NOT_KEYS = frozenset({"$event", "$data"})
"""What a mark keeps beside the keys of the line."""

_encode_text = msgspec.json.Encoder().encode


def spell(wire: Wire, name: str | None = None) -> Frame:
    return Frame(name, encode(wire).decode())


def heads(model: str, more: Wire) -> tuple[str, str]:
    """How the lines begin that say a piece of text, and those that say a piece of thinking."""
    start = encode({"model": model, **more}).decode()[:-1] + ',"message":{"role":"assistant",'
    return f'{start}"content":', f'{start}"content":"","thinking":'


def say(head: str, text: str, tail: str = '},"done":false}') -> Frame:
    """A piece of a block: the frame that there are most of, so it is made the fastest way."""
    return tuple.__new__(Frame, (None, f"{head}{_encode_text(text).decode()}{tail}"))


def say_at(head: str, text: str, time: str) -> Frame:
    """The same, with its time."""
    tail = f'}},"done":false,"created_at":{_encode_text(time).decode()}}}'
    return tuple.__new__(Frame, (None, f"{head}{_encode_text(text).decode()}{tail}"))
