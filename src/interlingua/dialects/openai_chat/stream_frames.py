"""What reading and writing a stream have in common: how the mark of a frame's first event keeps the
frame.

Its rest has the `chunk`, with holes where the events say what stood there, and without keys that
repeat those of the chunk that began the message. A piece of a block whose chunk differs from the
one before in nothing but the piece has no rest, or only its `pads`. `$data` is the text of frames
that are no chunks, or say nothing; `$form` counts the events, and lists what is absent."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from interlingua.dialects.base import Wire, encode
from interlingua.dialects.openai_chat.shape import NOTHING
from interlingua.model.base import same
from interlingua.streams.frames import Frame

DONE = "[DONE]"
CHUNK = "chat.completion.chunk"
PADS = ("obfuscation", "p")
"""Keys that hide the length of a chunk; they say nothing."""
SNAPSHOT = "message"
"""The key of a choice under which some hosts repeat the whole message so far."""

SAID = "$said"
_DEEPEST = 10
"""So deep there may be holes."""
_MARK = "\ufffc\u0000said\u0000\ufffc"
_STRING = r'\s*:\s*("(?:[^"\\]|\\.)*")'

_encode_text = msgspec.json.Encoder().encode
_new = tuple.__new__
_decode = msgspec.json.Decoder().decode
decode_text = msgspec.json.Decoder(str).decode

Cuts = tuple[str, ...]
"""The text of a chunk, cut where its piece stands."""


# -- chunks with holes ----------------------------------------------------------------------------


def hole(event: int, field: str) -> Wire:
    """Stands where an event of the frame says the value: its number there, and what of it."""
    return {SAID: [event, field]}


def _hole_in(node: Wire) -> tuple[int, str] | None:
    match node:
        case {"$said": [int(event), str(field)]} if len(node) == 1:
            return event, field
    return None


def fill(node: Any, say: Callable[[int, str], Any], depth: int = _DEEPEST) -> Any:
    """The chunk with its holes filled by `say(event, field)`."""
    if not depth:
        return node
    if type(node) is dict:
        found = _hole_in(node)
        if found is not None:
            return say(*found)
        return {key: fill(item, say, depth - 1) for key, item in node.items()}
    if type(node) is list:
        return [fill(item, say, depth - 1) for item in node]
    return node


def head_of(chunk: Wire) -> Wire:
    """What later chunks are supposed to repeat of the one that began the message."""
    return {
        key: item
        for key, item in chunk.items()
        if key != "choices" and key not in PADS and (key != "usage" or item is None)
    }


def shorten(chunk: Wire, head: Wire) -> Wire:
    """The chunk without what it repeats of the head."""
    own = {key: item for key, item in chunk.items() if not _repeats(item, head.get(key, chunk))}
    absent = [key for key in head if key not in chunk]
    return {"chunk": own, "$form": {"absent": absent}} if absent else {"chunk": own}


def _repeats(item: Any, before: Any) -> bool:
    """Whether both are the same JSON."""
    if type(item) is not type(before):
        return False
    return same(item, before) if type(item) in (dict, list) else bool(item == before)


def lengthen(rest: Wire, head: Wire) -> Wire:
    """The chunk, with what it repeats of the head."""
    absent = rest.get("$form", NOTHING).get("absent", ())
    return {**{key: item for key, item in head.items() if key not in absent}, **rest["chunk"]}


# -- pieces ---------------------------------------------------------------------------------------


def cut(chunk: Wire) -> Cuts | None:
    """The text of a chunk all of whose holes are for one piece; None if it cannot be cut so."""
    holes = 0

    def mark(event: int, field: str) -> str:
        nonlocal holes
        holes += 1
        return _MARK

    text = encode(fill(chunk, mark)).decode()
    cuts = tuple(text.split(encode(_MARK).decode()))
    return cuts if holes and len(cuts) == holes + 1 else None


def say(cuts: Cuts, text: str, pads: Wire | None = None) -> Frame:
    """A piece of a block: the frame that there are most of, so it is made the fastest way."""
    data = _encode_text(text).decode().join(cuts)
    if pads:
        data = f"{data[:-1]},{encode(pads).decode()[1:]}"
    return _new(Frame, (None, data))


class Pattern:
    """How the pieces of a block are spelled, found in one of them: all that is the same in each,
    in the wire's own spelling. A chunk that fits it needs no parsing but for its piece."""

    __slots__ = ("after", "before", "between", "ends", "pad", "starts")

    def __init__(self, literals: Sequence[str], pad: str | None) -> None:
        self.before, *self.between, self.after = literals
        self.starts, self.ends = len(self.before), -len(self.after)
        self.pad = pad

    def find(self, data: str) -> tuple[str, Wire | None] | None:
        """The piece, and the pad of the chunk, if it fits."""
        at, found = self.starts, []
        for literal in self.between:
            end = data.find(literal, at)
            if end < 0:
                return None
            found.append(data[at:end])
            at = end + len(literal)
        found.append(data[at : self.ends])
        pads = None if self.pad is None else {self.pad: decode_text(found.pop())}
        if any(each != found[0] for each in found):
            return None
        return decode_text(found[0]), pads


def pattern_of(data: str, keys: Sequence[str], rest: Wire, head: Wire) -> Pattern | None:
    """The pattern of a chunk that gave this rest, whose piece stands under these keys. It is right
    if the text with holes in it gives the same rest."""
    pad = next((key for key in PADS if f'"{key}"' in data), None)
    spots = [*keys] if pad is None else [*keys, pad]
    found = _places(data, spots)
    if found is None or (pad is not None and found[-1] != max(found)):
        return None
    literals = _split(data, sorted(found))
    holes = encode(hole(0, "text")).decode().join(literals[: len(keys) + 1])
    if pad is not None:
        holes = f'{holes}""{literals[-1]}'
    return Pattern(literals, pad) if _gives(holes, pad, rest, head) else None


def _gives(data: str, pad: str | None, rest: Wire, head: Wire) -> bool:
    try:
        chunk = _decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False
    if pad is not None:
        chunk.pop(pad, None)
    return shorten(chunk, head) == rest


def _places(data: str, keys: Sequence[str]) -> list[tuple[int, int]] | None:
    """Where the strings under these keys stand; the last is the pad, or a piece like the others."""
    found: list[tuple[int, int]] = []
    for key in keys:
        match = re.search(f'"{re.escape(key)}"{_STRING}', data)
        if match is None:
            return None
        found.append(match.span(1))
    return found


def _split(data: str, spots: Sequence[tuple[int, int]]) -> list[str]:
    starts = [0, *(end for _, end in spots)]
    ends = [*(start for start, _ in spots), len(data)]
    return [data[start:end] for start, end in zip(starts, ends, strict=True)]
