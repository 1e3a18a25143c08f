"""Finds the frames of a source stream that losses are about: `#12 $.delta.signature`.

When places are needed, beginnings of the stream are read again: the first frame after which a value
is there is the one it came from, and the key without which it is missing is its place in it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from interlingua.adapt.places import Steps, _is_gone, _walk, step, steps, value_at
from interlingua.dialects.framing import decoder
from interlingua.dialects.registry import dialect
from interlingua.errors import InterlinguaError
from interlingua.model.exchange import Response
from interlingua.model.losses import Loss
from interlingua.streams.fold import Folder
from interlingua.streams.frames import Frame

LARGEST = 2 * 2**20
"""Bytes of a stream that are remembered; the losses of a longer one have no places."""
SECONDS = 5.0
"""The most time to search; values not found by then have no place."""
_DEPTH = 8
_STRUCTURE = ("type", "event_type", "index", "item_id", "output_index", "content_index")
"""Keys without which a frame cannot be read: never the place of a value."""


class StreamSource:
    """The frames of a stream, held for as long as the places of its losses may be requested."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._pieces: list[bytes | Frame] | None = []
        self._room = LARGEST

    def add(self, piece: bytes | Frame) -> None:
        """The next bytes or the next frame."""
        if self._pieces is not None:
            self._room -= len(piece.data if isinstance(piece, Frame) else piece)
            self._pieces.append(piece)
            if self._room < 0:
                self._pieces = None

    def frames(self) -> list[Frame]:
        """The frames that were remembered."""
        found: list[Frame] = []
        bytes_decoder = decoder(self.name)
        for piece in self._pieces or ():
            found += [piece] if isinstance(piece, Frame) else bytes_decoder.feed(piece)
        return [*found, *bytes_decoder.close()]

    def places(self, entries: Sequence[Loss]) -> list[tuple[str, ...]]:
        """The place of each entry; none where no frame corresponds to it."""
        if self._pieces is None:
            return [entry.at for entry in entries]
        try:
            search = _Search(self.name, self.frames())
        except InterlinguaError:
            return [entry.at for entry in entries]
        return [search.place(entry) for entry in entries]


class _Search:
    def __init__(self, name: str, frames: list[Frame]) -> None:
        self.name = name
        self.frames = frames
        self.wires = [_parsed(frame) for frame in frames]
        self.until = time.monotonic() + SECONDS
        self.known: dict[int, Response | None] = {}

    def place(self, entry: Loss) -> tuple[str, ...]:
        if not self.frames:
            return ()
        path = steps(entry.path)
        if self.name in path:  # a private key, which stands in its frame under the same name
            named = self._frame_with(path[path.index(self.name) + 1], path)
            if named is not None:
                return (_shown(*named),)
        number = self._first_with(path)
        if number is not None and self._is_end(number, path):
            named = self._frame_with(path[-1], path)
            return () if named is None else (_shown(*named),)
        return () if number is None else (_shown(number, self._key(number, path)),)

    def _is_end(self, number: int, path: Steps) -> bool:
        """Whether the end of the stream repeats an earlier value."""
        if self.wires[number] is None or number + 1 < len(self.frames):
            return self.wires[number] is None
        return _is_gone(_walk(self._read(self.frames), path))

    def _frame_with(self, key: str | int, path: Steps) -> tuple[int, Steps] | None:
        """The first frame with a key that has the value at a path of the answer, or any other."""
        self._is_there(len(self.frames), path)
        value = _walk(self.known[len(self.frames)], path)
        first = None
        for number, wire in enumerate(self.wires):
            for way in _ways(wire, key):
                if value_at(wire, way) == value:
                    return number, way
                first = first or (number, way)
        return first

    def _first_with(self, path: Steps) -> int | None:
        """The first frame after which there is a value at a path of the answer."""
        low, high = 0, len(self.frames)
        if not self._is_there(high, path):
            return None
        while high - low > 1:
            middle = (low + high) // 2
            if self._is_there(middle, path):
                high = middle
            else:
                low = middle
        return None if time.monotonic() > self.until else high - 1

    def _is_there(self, count: int, path: Steps) -> bool:
        if count not in self.known:
            self.known[count] = self._read(self.frames[:count], count == len(self.frames))
        return not _is_gone(_walk(self.known[count], path))

    def _read(self, frames: Sequence[Frame], whole: bool = False) -> Response | None:
        if time.monotonic() > self.until:
            return None
        reader, folder = dialect(self.name).stream_reader(), Folder()
        try:
            for frame in frames:
                for event in reader.feed(frame):
                    folder.feed(event)
            for event in reader.close() if whole else ():
                folder.feed(event)
        except (InterlinguaError, TypeError, KeyError, ValueError):
            return None
        return folder.response()

    def _key(self, number: int, path: Steps) -> Steps:
        """The smallest part of a frame without which the value is missing."""
        frame, wire = self.frames[number], self.wires[number]
        best: Steps = ()
        whole = not self._is_there(number + 1, path)  # only the end of the stream shows it
        behind = self.frames[number + 1 :] if whole else []
        for inside in _parts(wire):
            if inside[: len(best)] != best or inside[-1] in _STRUCTURE:
                continue
            changed = Frame(frame.event, msgspec.json.encode(_without(wire, inside)).decode())
            answer = self._read([*self.frames[:number], changed, *behind], whole)
            if answer is not None and _is_gone(_walk(answer, path)):
                best = inside
        # Some cannot be missing: their name is a hint.
        name = path[-1] if isinstance(path[-1], str) else str(path[-2]).removesuffix("s")
        return best or next(iter(_ways(wire, name)), ())


def _parsed(frame: Frame) -> Any:
    try:
        return msgspec.json.decode(frame.data)
    except (msgspec.DecodeError, UnicodeError):
        return None


def _parts(wire: Any, depth: int = _DEPTH) -> Iterator[Steps]:
    """The keys and indexes of a value, each before those inside it."""
    if not isinstance(wire, (dict, list)):
        return
    for key, item in wire.items() if isinstance(wire, dict) else enumerate(wire):
        yield (key,)
        if depth:
            yield from ((key, *more) for more in _parts(item, depth - 1))


def _ways(wire: Any, key: str | int) -> list[Steps]:
    """The paths of a key in a frame, the shortest first."""
    return sorted((way for way in _parts(wire) if way[-1] == key), key=len)


def _without(wire: Any, path: Steps) -> Any:
    """A copy without the value at a path."""
    key, rest = path[0], path[1:]
    if isinstance(wire, list):
        inner = [_without(wire[int(key)], rest)] if rest else []
        return [*wire[: int(key)], *inner, *wire[int(key) + 1 :]]
    if not rest:
        return {name: item for name, item in wire.items() if name != key}
    return {name: _without(item, rest) if name == key else item for name, item in wire.items()}


def _shown(number: int, inside: Steps | None) -> str:
    """A frame, counted from one, and the path in it."""
    where = "".join(map(step, inside or ()))
    return f"#{number + 1} ${where}" if where else f"#{number + 1}"
