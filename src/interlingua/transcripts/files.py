"""Files on their way to the disk: all or none, and never over one that is there."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

from interlingua import packed
from interlingua.transcripts.errors import TranscriptError

_PIECE = 1 << 20


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """What is read are trees without cycles, and many of them: looking for garbage among them again
    and again finds none."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def place(files: dict[Path, Iterable[bytes]]) -> None:
    """Write files beside their places first, then put each in its place; none is overwritten."""
    for path in files:
        if path.exists():
            raise TranscriptError(path, "the file exists and is not overwritten")
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
    with packed.opened(path) as file:
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
