"""The input of a command: a file or standard input, unpacked, and the shape of its content. Only as
much is read as detection needs, so that a stream is converted as it arrives."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

import click
import msgspec

from interlingua.cli.main import put
from interlingua.errors import DetectError, ReadError

STDIN = "-"
HEAD = 64 * 1024
CHUNK = 64 * 1024

Shape = Literal["json", "lines", "stream", "text", "empty"]
"""One JSON value; a value a line; a recorded stream; other text; nothing."""


class Packing(NamedTuple):
    """A packing that is detected by its first bytes, and how to unpack it; one that cannot be read
    here has advice instead."""

    name: str
    mark: bytes
    unpacked: Callable[[IO[bytes]], IO[bytes]] | None = None
    advice: str = "it holds no conversations that could be read"


def _gzip(file: IO[bytes]) -> IO[bytes]:
    import gzip

    return gzip.GzipFile(fileobj=file)  # type: ignore[return-value]  # it reads like a file


def _zstd(file: IO[bytes]) -> IO[bytes]:
    from interlingua.streams.packed import unpacked_zstd

    return unpacked_zstd(file)


def _bzip2(file: IO[bytes]) -> IO[bytes]:
    import bz2

    return bz2.BZ2File(file)


PACKINGS = (
    Packing("gzip", b"\x1f\x8b", _gzip),
    Packing("bzip2", b"BZh", _bzip2),
    Packing("xz", b"\xfd7zXZ\0", advice="unpack it first: xz -dc FILE | interlingua …"),
    Packing("zstd", b"\x28\xb5\x2f\xfd", _zstd),
    Packing("ZIP", b"PK\x03\x04", advice="unpack it first: unzip -p FILE | interlingua …"),
    Packing("UTF-16", b"\xff\xfe", advice="make it UTF-8 first: iconv -f utf-16 -t utf-8 FILE"),
    Packing("UTF-16", b"\xfe\xff", advice="make it UTF-8 first: iconv -f utf-16 -t utf-8 FILE"),
    Packing("Parquet", b"PAR1", advice="pass the file by name, and an output with -o"),
    Packing("SQLite", b"SQLite format 3\0", advice="`interlingua transcripts` reads some of them"),
    Packing("PDF", b"%PDF-"),
    Packing("PNG", b"\x89PNG"),
    Packing("JPEG", b"\xff\xd8\xff"),
)


class Input:
    """A file whose first bytes were looked at. `path` is where others can read the same bytes,
    `place` where the file lies, packed or not."""

    def __init__(
        self, name: str, file: IO[bytes], path: Path | None = None, place: Path | None = None
    ) -> None:
        self.name = name
        self.path = path
        self.place = place or path
        self._file = file
        self._head = b""
        self._is_whole = False

    def head(self, size: int = HEAD) -> bytes:
        """The first bytes, as many as there are up to this size."""
        while len(self._head) < size and not self._is_whole:
            self._more()
        return self._head

    def _more(self) -> None:
        """Reads more: what is available now, and more if much was already read."""
        chunk = self._file.read1(max(CHUNK, len(self._head)))  # type: ignore[attr-defined]  # buffered
        self._head += chunk
        self._is_whole = not chunk

    def shape(self) -> Shape:
        while (found := shape_of(self._head, self._is_whole)) is None:
            self._more()
        return found

    def first_line(self) -> bytes:
        """The first line that is not blank; of a long one without an end, the part that was
        read."""
        return self._head.lstrip(BLANK).partition(b"\n")[0]

    def read(self) -> bytes:
        if not self._is_whole:
            self._head += self._file.read()
            self._is_whole = True
        return self._head

    def chunks(self) -> Iterator[bytes]:
        """All of it in pieces, as they arrive."""
        if self._head:
            yield self._head
        while not self._is_whole and (chunk := self._file.read1(CHUNK)):  # type: ignore[attr-defined]  # as above
            yield chunk

    def file(self) -> IO[bytes]:
        """All of it as a file."""
        if self.path is not None:
            self._file.seek(0)
            return self._file
        if self._is_whole:
            return io.BytesIO(self._head)
        return io.BufferedReader(_Pieces(self.chunks()), CHUNK)


class _Pieces(io.RawIOBase):
    """Pieces of bytes that read like a file."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._rest or next(self._pieces, b"")
        size = min(len(buffer), len(data))
        buffer[:size] = data[:size]
        self._rest = data[size:]
        return size


class _Unpacking(io.RawIOBase):
    """The content of a packed file; damage is reported with the file's name."""

    def __init__(self, name: str, packing: str, file: IO[bytes]) -> None:
        self._name = name
        self._packing = packing
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        from interlingua.streams.packed import broken

        try:
            data = self._file.read(len(buffer))
        except broken() + (OSError, ValueError) as error:  # noqa: RUF005  # mypy knows only this
            problem = f"a damaged {self._packing} file ({error})"
            raise ReadError(self._name, found=problem) from None
        buffer[: len(data)] = data
        return len(data)


FOLDER_SUFFIXES = (".json", ".jsonl", ".jsonl.gz", ".jsonl.zst", ".ndjson", ".sse")
"""Suffixes of the files that are read in a folder."""


def all_files(names: tuple[str, ...], suffixes: tuple[str, ...] = FOLDER_SUFFIXES) -> list[str]:
    """These files, and those in these folders; without any name, standard input."""
    files: list[str] = []
    for name in names or (STDIN,):
        if not os.path.isdir(name):
            files.append(name)
            continue
        inside = sorted(map(str, Path(name).rglob("*")))
        found = [each for each in inside if each.lower().endswith(suffixes)]
        if not found:
            raise DetectError(f"{name} has no {', '.join(suffixes)} files")
        files += found
    return files


def bytes_of(names: list[str]) -> int:
    """The size of these files, for progress; 0, which is unknown, if one is packed or a pipe."""
    paths = [Path(name) for name in names]
    if any(not path.is_file() or path.suffix in _PACKED for path in paths):
        return 0
    return sum(path.stat().st_size for path in paths)


_PACKED = (".gz", ".zst", ".bz2")


@contextmanager
def opened(file: str) -> Iterator[Input]:
    """The file of this name, or standard input, unpacked where it is packed."""
    if file == STDIN:
        if sys.stdin.isatty():
            sys.stderr.write("reading from the terminal; end with Ctrl-D\n")
        yield _unpacked(Input("standard input", sys.stdin.buffer))
        return
    path = Path(file)
    with path.open("rb") as opened_file:
        yield _unpacked(Input(file, opened_file, path if path.is_file() else None))


def _unpacked(input: Input) -> Input:
    head = input.head(max(len(each.mark) for each in PACKINGS))
    packing = next((each for each in PACKINGS if head.startswith(each.mark)), None)
    if packing is None:
        return input
    if packing.unpacked is None:
        raise DetectError(f"{input.name} is a {packing.name} file; {packing.advice}")
    inside = _Unpacking(input.name, packing.name, packing.unpacked(input.file()))
    return Input(input.name, io.BufferedReader(inside, CHUNK), place=input.path)


BOM = b"\xef\xbb\xbf"
BLANK = b" \t\r\n" + BOM
_FRAME = re.compile(rb"(data|event|id|retry)?:")
_ARRAY = re.compile(rb'\[\s*\{\s*"candidates"')
"""The beginning of Gemini's streams that are not server-sent events."""


def shape_of(head: bytes, is_whole: bool) -> Shape | None:
    """The shape of content that begins so; None while there is too little to decide."""
    start = head.lstrip(BLANK)
    if not start:
        return "empty" if is_whole else None
    if start[:1] == b"\0":
        return "stream"  # the length of a message in AWS's framing
    if start[:1] in (b"{", b"["):
        return "stream" if _ARRAY.match(start) else _shape_of_json(start, is_whole)
    if len(start) < len(b"event:") and not is_whole:
        return None
    return "stream" if _FRAME.match(start) else "text"


def _shape_of_json(start: bytes, is_whole: bool) -> Shape | None:
    line, has_end, rest = start.partition(b"\n")
    if not has_end or not (rest := rest.lstrip(BLANK)):
        if is_whole:
            return "json"
        return "stream" if has_end and _is_frame(line) else None
    if _parsed(line) is not None:
        return "stream" if _is_frame(line) else "lines"
    if line[:1] == b"[":
        return "json"
    second, has_end, _ = rest.partition(b"\n")
    if not has_end and not is_whole:
        return None
    # No object begins with another: the first line is one that is damaged.
    return "lines" if second[:1] == b"{" and _parsed(second) is not None else "json"


def _parsed(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def _is_frame(line: bytes) -> bool:
    """Whether a line is a chunk of a stream: Ollama streams lines, and some tools store each event
    of a stream as a line."""
    value = _parsed(line)
    if not isinstance(value, dict):
        return False
    kind = value.get("type")
    return (
        value.get("done") is False
        or value.get("object") == "chat.completion.chunk"
        or (isinstance(kind, str) and (kind == "message_start" or kind.startswith("response.")))
    )


STDOUT = "-"
Put = Callable[[bytes | memoryview], object]


@contextmanager
def written(file: str | None) -> Iterator[Put]:
    """Returns a writer. A file is first written under a temporary name, so it may also be the
    input."""
    if file is None or file == STDOUT:
        yield put
        return
    path = Path(file)
    if path.exists() and not path.is_file():  # a pipe, a device
        with path.open("wb") as special:
            yield special.write
        return
    from tempfile import NamedTemporaryFile  # which takes a while to load

    target = path.resolve()
    if not target.parent.is_dir():
        raise click.FileError(file, f"folder {target.parent} does not exist")
    with NamedTemporaryFile(dir=target.parent, prefix=f".{path.name}.", delete=False) as made:
        try:
            yield made.write
        except BaseException:
            with suppress(OSError):
                os.unlink(made.name)
            raise
    os.chmod(made.name, target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~_umask())
    os.replace(made.name, target)


def _umask() -> int:
    """The umask; reading it needs setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
