"""Golden files: what each cassette says in canonical form, and how both are compared.

A golden file has `il.dumps` of every request, response and event, indented so that people can
review it; without the indentation it is byte for byte what `il.dumps` gives."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec

import interlingua as il
from interlingua.dialects.framing import decoder
from interlingua.dialects.registry import traits_of
from interlingua.model.base import difference
from interlingua.model.events import Event
from tests.cassettes import home
from tests.cassettes.cassette import Cassette, Taped
from tests.replay.exchanges import framed, spelling

FOLDER = Path(__file__).parent / "golden"


@dataclass(frozen=True)
class Said:
    """One exchange in canonical form, each part as its own JSON."""

    request: bytes
    response: bytes
    """Of a stream it is what its events fold to."""
    events: bytes = b""
    """Of a stream alone."""


def said(tape: Cassette, taped: Taped) -> Said:
    """What an exchange reads as now."""
    route = taped.route
    asked = home.read_request(tape.dialect, taped.asked, route.model, bool(route.is_stream))
    if taped.chunks is None:
        response = il.dialect(tape.dialect).read_response(taped.answered)
        return Said(il.dumps(asked), il.dumps(response))
    events = home.read_frames(tape.dialect, frames(tape, taped))
    return Said(il.dumps(asked), il.dumps(il.fold(events)), il.dumps(events))


def frames(tape: Cassette, taped: Taped) -> list[il.Frame]:
    reading = decoder(tape.dialect)
    return [frame for piece in taped.pieces for frame in reading.feed(piece)] + reading.close()


def to_bytes(tape: Cassette) -> bytes:
    """The golden file of a cassette as it would be now."""
    parts = {
        taped.name: {
            part: msgspec.Raw(data) for part, data in asdict(said(tape, taped)).items() if data
        }
        for taped in tape.exchanges
    }
    return msgspec.json.format(msgspec.json.encode(parts), indent=2) + b"\n"


def load(tape: Cassette, folder: Path = FOLDER) -> dict[str, Said]:
    """What was reviewed, by the exchange's name, without indentation."""
    data = msgspec.json.format((folder / tape.place).read_bytes(), indent=-1)
    parts = msgspec.json.decode(data, type=dict[str, dict[str, msgspec.Raw]])
    return {
        name: Said(**{part: bytes(raw) for part, raw in each.items()})
        for name, each in parts.items()
    }


def save(tape: Cassette, folder: Path = FOLDER) -> Path:
    path = folder / tape.place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(to_bytes(tape))
    return path


# -- comparing ------------------------------------------------------------------------------------


def problems(tape: Cassette, taped: Taped, golden: Said) -> list[str]:
    """What differs: reading the tape from the golden file, or writing the latter from the tape."""
    return [
        f"{tape.dialect} {taped.name}, {what}: {problem}"
        for what, problem in [*_reading(tape, taped, golden), *_writing(tape, taped, golden)]
        if problem is not None
    ]


def _reading(tape: Cassette, taped: Taped, golden: Said) -> list[tuple[str, str | None]]:
    now = said(tape, taped)
    return [
        (
            f"read {part}",
            first_difference(getattr(golden, part), getattr(now, part)),
        )
        for part in ("request", "response", "events")
    ]


def _writing(tape: Cassette, taped: Taped, golden: Said) -> list[tuple[str, str | None]]:
    """From the golden file alone: what was stored is enough to say it again."""
    exact = tape.source == "generated"
    asked = home.write_request(tape.dialect, il.loads(golden.request, il.Request))
    collected = [("written request", _compare(taped.asked, asked, exact))]
    if not golden.events:
        value = il.loads(golden.response, il.Response)
        again = home.write_response(tape.dialect, value)
        return [*collected, ("written response", _compare(taped.answered, again, exact))]
    events = il.loads(golden.events, list[Event])
    again_frames = home.write_frames(tape.dialect, events)
    if not exact:
        return [*collected, ("written stream", _compare_frames(frames(tape, taped), again_frames))]
    again = b"".join(framed(again_frames, taped.route.framing or traits_of(tape.dialect).framing))
    return [*collected, ("written stream", first_difference(taped.answered, again))]


def _compare_frames(wire: list[il.Frame], again: list[il.Frame]) -> str | None:
    if len(wire) != len(again):
        return f"{len(wire)} frames, found {len(again)}"
    for number, (one, other) in enumerate(zip(wire, again, strict=True)):
        if one.event != other.event:
            return f"frame {number} is called {one.event}, found {other.event}"
        if problem := _compare(one.data.encode(), other.data.encode(), exact=False):
            return f"frame {number}, {problem}"
    return None


def _compare(wire: bytes, again: bytes, exact: bool) -> str | None:
    """To the byte; what a server of others sent has an order of keys that is not kept."""
    if exact:
        return first_difference(wire, again)
    return first_difference(spelling(wire), spelling(again))


def first_difference(expected: bytes, found: bytes) -> str | None:
    """Where two texts part, and how each goes on; in JSON also the pointer to the place."""
    if expected == found:
        return None
    at = next(
        (i for i, (a, b) in enumerate(zip(expected, found, strict=False)) if a != b),
        min(len(expected), len(found)),
    )
    start = max(at - 20, 0)
    sides = [side[start : at + 40].decode("utf-8", "replace") for side in (expected, found)]
    return f"byte {at}{_pointer(expected, found)}: expected …{sides[0]!r}, found …{sides[1]!r}"


def _pointer(expected: bytes, found: bytes) -> str:
    try:
        place = difference(msgspec.json.decode(expected), msgspec.json.decode(found))
    except (msgspec.MsgspecError, UnicodeError):
        return ""
    return f" ({place})" if place else " (only the order of keys)"
