"""Files of other tools: read within bounds, written all or none, and their errors.

In the format it was read from, a transcript is written as a copy of its files: only lines of
changed messages are replaced, and added messages follow the last line."""

from __future__ import annotations

import gc
import os
import re
import sqlite3
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from io import BufferedReader
from itertools import islice
from pathlib import Path
from tempfile import NamedTemporaryFile
from time import monotonic
from typing import IO, TYPE_CHECKING, Any, cast

from interlingua.errors import InterlinguaError
from interlingua.streams import packed
from interlingua.transcripts.transcript import Origin, OriginFile, Span, Transcript

if TYPE_CHECKING:
    from interlingua.model.losses import Loss
    from interlingua.model.message import Message
    from interlingua.transcripts.format import Format


class TranscriptError(InterlinguaError):
    """A file that cannot be read as a session, or a place that cannot be written to."""

    def __init__(self, path: object, problem: str) -> None:
        self.path = str(path)
        self.problem = problem
        super().__init__(f"{path}: {problem}")


class VersionError(TranscriptError):
    """A version of a tool's format that cannot be written yet."""


LONGEST_LINE = 1 << 27
LARGEST = 1 << 30
"""Bytes of a line, and of a file that is read as a whole, unpacked."""
MOST_ROWS = 1 << 20
"""Lines of a session, and rows of a query."""
_SECONDS = 20.0
"""The time limit of one query."""
_STEPS = 100_000
"""SQLite's instructions between two looks at the clock."""
_DATABASE_SUFFIXES = ("-wal", "-shm", "-journal")


def opened(path: Path, buffer: int = -1) -> IO[bytes]:
    """A regular file to read, unpacked on the way; pipes, devices and folders are refused."""
    return packed.unpacked(cast(BufferedReader, open(path, "rb", buffer, opener=_open)))


def _open(name: str, flags: int) -> int:
    # Without O_NONBLOCK (Windows has none) opening a pipe waits for a writer.
    file = os.open(name, flags | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise TranscriptError(name, "not a regular file")
    return file


def contents(path: Path, most: int = LARGEST) -> bytes:
    """All of a file, unpacked."""
    with opened(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise TranscriptError(path, f"it is larger than {most:,} bytes")
    return data


def lines_in(file: IO[bytes], path: Path) -> Iterator[bytes]:
    """The lines of a file with their ends."""
    for line in iter(partial(file.readline, LONGEST_LINE), b""):
        if len(line) == LONGEST_LINE:
            raise TranscriptError(path, f"it has a line longer than {LONGEST_LINE:,} bytes")
        yield line


@contextmanager
def errors_as_ours(path: object) -> Iterator[None]:
    """Raises errors of the system, of packers and of databases as `TranscriptError`."""
    try:
        yield
    except OSError as error:
        raise TranscriptError(path, error.strerror or str(error)) from error
    except packed.broken() as error:
        raise TranscriptError(path, f"cannot decompress it: {error}") from error
    except sqlite3.Error as error:
        raise TranscriptError(path, f"cannot read the database: {error}") from error
    except UnicodeDecodeError as error:
        raise TranscriptError(path, f"its text is not UTF-8: {error.reason}") from error
    except RecursionError as error:
        raise TranscriptError(path, "its values are nested too deeply") from error
    except MemoryError as error:
        raise TranscriptError(path, "it is too large for the memory of this machine") from error


class Database:
    """A tool's SQLite file, opened without writing anything beside it. Tables alone are read, and
    each query is bounded in time, rows and bytes: a view may go on for ever."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._late = 0.0
        opened(path).close()
        beside = [path.with_name(path.name + end) for end in _DATABASE_SUFFIXES]
        for each in beside:
            if each.exists() and not stat.S_ISREG(each.stat().st_mode):
                raise TranscriptError(each, "not a regular file")
        how = "mode=ro" if beside[0].exists() else "mode=ro&immutable=1"
        self._database = sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True)
        self._database.text_factory = lambda data: data.decode(errors="replace")
        self._database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_LINE)
        self._database.set_progress_handler(lambda: monotonic() > self._late, _STEPS)

    def require_tables(self, *names: str) -> None:
        """`TranscriptError` unless these are tables."""
        found = self.rows("SELECT name FROM sqlite_master WHERE type = 'table'")
        missing = set(names).difference(row["name"] for row in found)
        if missing:
            raise TranscriptError(self.path, f"it has no table {min(missing)!r}")

    def rows(self, query: str, *values: Any) -> Iterator[dict[str, Any]]:
        """The rows that a query gives."""
        self._late = monotonic() + _SECONDS
        size = 0
        with closing(self._database.execute(query, values)) as cursor:
            names = [each[0] for each in cursor.description]
            for row in islice(cursor, MOST_ROWS):
                size += sum(len(each) for each in row if isinstance(each, str | bytes))
                if size > LARGEST:
                    break
                yield dict(zip(names, row, strict=True))
                self._late = monotonic() + _SECONDS
            else:
                if cursor.fetchone() is None:
                    return
        raise TranscriptError(self.path, "a query gives more than can be read")

    def close(self) -> None:
        self._database.close()


_PIECE = 1 << 20
_NOT_IN_NAMES = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters and lone surrogates, which no file that is written here has in its name."""


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """Pauses the garbage collector: transcripts are large trees without cycles."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def place(files: dict[Path, Iterable[bytes]], root: Path) -> None:
    """Writes all files, then moves them in place; none outside `root`, none over another."""
    with os_errors_as_ours(root):
        for path in files:
            require_inside(path, root)
            if path.exists():
                raise TranscriptError(path, "the file exists and is not overwritten")
        _place(files)


def require_inside(path: Path, root: Path) -> None:
    """`TranscriptError` unless a file of this path would lie in the folder `root`."""
    if _NOT_IN_NAMES.search(str(path).removeprefix(str(root))):
        raise TranscriptError(repr(str(path)), "its name has control characters")
    try:
        inside = path.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError) as error:  # a loop of links; RuntimeError before Python 3.13
        raise TranscriptError(path, str(error)) from error
    if not inside:
        raise TranscriptError(path, f"it would lie outside {root} and is not written")


@contextmanager
def os_errors_as_ours(path: Path) -> Iterator[None]:
    """Raises `OSError` as `TranscriptError`."""
    try:
        yield
    except OSError as error:
        raise TranscriptError(error.filename or path, error.strerror or str(error)) from error


def _place(files: dict[Path, Iterable[bytes]]) -> None:
    waiting: dict[Path, Path] = {}
    try:
        for path, pieces in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            waiting[path] = _written(path, pieces)
        for path, made in waiting.items():
            _move(made, path)
    finally:
        for made in waiting.values():
            made.unlink(missing_ok=True)


def copied(path: Path, size: int, start: int = 0) -> Iterator[bytes]:
    """The bytes of a file from `start` to `size`, piece by piece."""
    with opened(path) as file:
        packed.skip(file, start)
        while start < size:
            piece = file.read(min(_PIECE, size - start))
            if not piece:
                raise TranscriptError(
                    path, f"it changed while in use: it has {start} bytes now, {size} were read"
                )
            start += len(piece)
            yield piece


def _written(path: Path, pieces: Iterable[bytes]) -> Path:
    with NamedTemporaryFile(dir=path.parent, prefix=".interlingua-", delete=False) as file:
        made = Path(file.name)
        try:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            made.unlink()
            raise
    return made


def _move(made: Path, path: Path) -> None:
    """A hard link fails where a file is; where there are no links, look once more and rename."""
    try:
        os.link(made, path)
    except FileExistsError:
        raise TranscriptError(path, "the file exists and is not overwritten") from None
    except OSError:
        if path.exists():
            raise TranscriptError(path, "it already exists") from None
        with suppress(FileNotFoundError):
            os.replace(made, path)


Edits = dict[int, list[tuple[Span, bytes]]]
"""By file: which bytes are replaced by which."""


def home(transcript: Transcript, to: Format, name: str) -> dict[str, Iterator[bytes]] | None:
    """The original files with changes applied, in pieces; None if they must be written anew."""
    origin = transcript.origin
    if origin is None or origin.format != to.name:
        return None
    if to.variant is not None and to.variant(name) != to.variant(origin.files[0].name):
        return None
    edits = _edits(transcript, origin, to)
    added = _added(transcript, origin, to)
    if edits is None or added is None:
        return None
    if edits or added:
        to.require_tested(transcript)
    return {
        file.name: _pieces(file, edits.get(number, []), b"" if number else added)
        for number, file in enumerate(origin.files)
        if not file.aside or origin.files[0].name == name
    }


def _added(transcript: Transcript, origin: Origin, to: Format) -> bytes | None:
    """Lines for new messages; None if the format cannot append."""
    count = len(origin.messages)
    if len(transcript.messages) == count:
        return b""
    if len(transcript.messages) < count or to.append is None or not count:
        return None
    spans = [span for spans in origin.spans for span in spans if span.file == 0]
    if not spans:
        return None
    last = max(spans, key=lambda span: span.start)
    return to.append(transcript, count, _bytes(origin.files[0], last))


def _edits(transcript: Transcript, origin: Origin, to: Format) -> Edits | None:
    edits: Edits = {}
    pairs = zip(origin.messages, transcript.messages, strict=False)
    for index, (old, new) in enumerate(pairs):
        if old is new:
            continue
        spans = origin.spans[index]
        lines = [_bytes(origin.files[span.file], span) for span in spans]
        made = to.patch(transcript, index, lines) if to.patch is not None and lines else None
        if made is None:
            return None
        for span, line in zip(spans, made, strict=True):
            edits.setdefault(span.file, []).append((span, line))
    return edits


class LineSource:
    """Finds the lines of a session's files that the losses of its messages are about."""

    def __init__(self, transcript: Transcript, messages: Sequence[Message]) -> None:
        self._origin = transcript.origin
        self._messages = messages

    def places(self, entries: Sequence[Loss]) -> list[tuple[str, ...]]:
        """The file and the line of each entry; none where no line corresponds to it."""
        origin = self._origin
        if origin is None or not origin.files:
            return [entry.at for entry in entries]
        whole = (origin.files[0].name,)
        spans = {id(each): own for each, own in zip(origin.messages, origin.spans, strict=False)}
        found = [self._spans(entry, spans) for entry in entries]
        lines = _line_numbers(origin, {span for own in found for span in own})
        return [
            _joined(own, origin, lines) or (entry.at if own is _NO_LINES else whole)
            for entry, own in zip(entries, found, strict=True)
        ]

    def _spans(self, entry: Loss, spans: dict[int, tuple[Span, ...]]) -> tuple[Span, ...]:
        match = _MESSAGE.match(entry.path)
        index = int(match[1]) if match else len(self._messages)
        if match is None or index >= len(self._messages):
            return _NO_LINES
        message = self._messages[index]
        own = spans.get(id(message)) or (_WHOLE_FILE,)
        if match[2] and len(own) == len(message.content) > int(match[2]):
            return (own[int(match[2])],)  # each block has a line of its own
        return own


_NO_LINES: tuple[Span, ...] = ()
_WHOLE_FILE = Span(-1, -1)
"""The span of messages in formats whose files have no lines."""
_MESSAGE = re.compile(r"\$\.messages\[(\d+)\](?:\.content\[(\d+)\])?")


def _joined(spans: Sequence[Span], origin: Origin, lines: dict[Span, int]) -> tuple[str, ...]:
    """Lines as `session.jsonl:19`, or `session.jsonl:19-24` for all from the first to the last."""
    places = []
    for number, file in enumerate(origin.files):
        if own := [lines[span] for span in spans if span.file == number and span in lines]:
            first, last = min(own), max(own)
            places.append(f"{file.name}:{first}" + (f"-{last}" if last > first else ""))
    return tuple(places)


def _line_numbers(origin: Origin, spans: set[Span]) -> dict[Span, int]:
    """The line that each span begins on, counted from one."""
    found: dict[Span, int] = {}
    for number, file in enumerate(origin.files):
        line, start = 1, 0
        own = [each for each in spans if each.file == number and each is not _WHOLE_FILE]
        with suppress(OSError), opened(file.path) as data:  # it may be gone by now
            for span in sorted(own, key=lambda each: each.start):
                while start < span.start and (piece := data.read(min(_PIECE, span.start - start))):
                    start += len(piece)
                    line += piece.count(b"\n")
                found[span] = line
    return found


def _bytes(file: OriginFile, span: Span) -> bytes:
    return b"".join(copied(file.path, span.end, span.start))


def _pieces(file: OriginFile, edits: list[tuple[Span, bytes]], added: bytes) -> Iterator[bytes]:
    at = file.start
    for span, line in sorted(edits, key=lambda edit: edit[0].start):
        yield from copied(file.path, span.start, at)
        yield line
        at = span.end
    last = b"\n"
    for piece in copied(file.path, file.size, at):
        last = piece[-1:]
        yield piece
    if added:
        if last != b"\n":
            yield b"\n"
        yield added
