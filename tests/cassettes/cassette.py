"""A cassette: exchanges on tape, as a file that can be read and reviewed.

A body is kept as JSON where writing it again gives the same bytes, as text where it is text, else
in base 64; so every byte comes back. A stream is kept in the chunks that it came in."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from interlingua.dialects.kernel.wire import encode
from interlingua.streams import aws
from interlingua.streams.frames import Frame
from tests.replay.answers import Piece
from tests.replay.exchanges import Exchange
from tests.replay.routes import Route, route_of

FOLDER = Path(__file__).parent / "recorded"
FORMAT = 1


class Taped(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One exchange. `request`, `response` and each of `chunks` are spelled as `spell` does."""

    name: str
    path: str
    request_headers: dict[str, str] = {}
    request: Any = None
    status: int = 200
    headers: dict[str, str] = {}
    response: Any = None
    chunks: list[Any] | None = None
    method: str = "POST"

    @property
    def asked(self) -> bytes:
        return unspell(self.request)

    @property
    def route(self) -> Route:
        """What its path and body say."""
        url = urlsplit(self.path)
        found = route_of(url.path, url.query, self.asked)
        if found is None:
            raise ValueError(f"{self.name}: no dialect has the path {url.path}")
        return found

    @property
    def pieces(self) -> list[bytes]:
        """The stream's chunks."""
        return [unspell(chunk) for chunk in self.chunks or ()]

    @property
    def answered(self) -> bytes:
        return b"".join(self.pieces) if self.chunks is not None else unspell(self.response)


class Cassette(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A set of exchanges in one dialect; `source` says who answered."""

    format: int
    source: str
    dialect: str
    case: str
    exchanges: list[Taped]

    @property
    def place(self) -> Path:
        """Where it lies, below a folder of cassettes or of golden files."""
        return Path(self.source, self.dialect, f"{self.case}.json")

    def replayed(self) -> Iterator[Exchange]:
        """Its exchanges, for the replay server."""
        for taped in self.exchanges:
            is_stream = taped.chunks is not None
            yield Exchange(
                f"{self.source}.{self.dialect}.{taped.name}",
                self.dialect,
                taped.path,
                taped.asked,
                taped.status,
                b"" if is_stream else taped.answered,
                pieces=tuple(Piece(data) for data in taped.pieces) if is_stream else None,
                framing=taped.route.framing,
                headers=tuple(taped.headers.items()),
                method=taped.method,
            )


def spell(body: bytes, is_aws: bool = False) -> Any:
    """Bytes as they stand in the file: the form that is easiest to read and loses nothing."""
    if is_aws:
        return _spell_frames(body)
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(body).decode()}
    try:
        value = msgspec.json.decode(body)
        if isinstance(value, dict) and encode(value) == body:
            return {"json": value}
    except (msgspec.MsgspecError, RecursionError):
        pass
    return text


def _spell_frames(body: bytes) -> Any:
    frames = aws.Decoder().feed(body)
    if b"".join(map(aws.encode, frames)) == body:
        return {"frames": [[frame.event, frame.data] for frame in frames]}
    return {"base64": base64.b64encode(body).decode()}


def unspell(spelled: Any) -> bytes:
    match spelled:
        case None:
            return b""
        case {"json": value}:
            return encode(value)
        case str(text):
            return text.encode()
        case {"base64": str(data)}:
            return base64.b64decode(data)
        case {"frames": list(frames)}:
            return b"".join(aws.encode(Frame(event, data)) for event, data in frames)
    raise ValueError("a body on a cassette is a text, or has json, base64 or frames")


def load(path: Path) -> Cassette:
    tape = msgspec.json.decode(path.read_bytes(), type=Cassette)
    if tape.format != FORMAT:
        raise ValueError(f"{path.name}: format {tape.format}, expected {FORMAT}")
    return tape


def to_bytes(tape: Cassette) -> bytes:
    return msgspec.json.format(msgspec.json.encode(tape), indent=2) + b"\n"


def save(tape: Cassette, folder: Path = FOLDER) -> Path:
    path = folder / tape.place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(to_bytes(tape))
    return path


def committed(folder: Path = FOLDER) -> list[Cassette]:
    return [load(path) for path in sorted(folder.rglob("*.json"))]
