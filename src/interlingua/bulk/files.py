"""Which files are read, and into which parts they are cut: the same parts every time."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from glob import glob, has_magic
from pathlib import Path
from typing import IO, NamedTuple

from interlingua.errors import InterlinguaError
from interlingua.streams import packed


class BulkError(InterlinguaError):
    """A run that cannot begin, or go on: files that are not there, or are another run's."""


SUFFIXES = (".parquet", ".jsonl", ".jsonl.gz", ".jsonl.zst", ".ndjson")
"""How the names of files end that hold a conversation in each row."""
PARQUET = ".parquet"
PART = 8 * 1024 * 1024
"""Bytes of lines in a part, at the least; a longer line is a part alone."""


class Part(NamedTuple):
    """Some rows of a file: bytes of it, or lines that were cut out of a packed one, or a group of
    rows of a Parquet file."""

    path: Path
    number: int
    size: int
    """Bytes, as far as a bar that grows is concerned."""
    start: int = 0
    data: bytes | None = None


def suffix_of(name: str | os.PathLike[str]) -> str | None:
    """How a name ends that is one of a bulk file; None for any other."""
    lower = os.fspath(name).lower()
    return next((each for each in SUFFIXES if lower.endswith(each)), None)


def stem_of(path: Path) -> str:
    return path.name[: len(path.name) - len(suffix_of(path) or path.suffix)]


def found(names: Iterable[str | os.PathLike[str]], output: Path) -> list[Path]:
    """The files that are meant by files, folders and patterns, each once, in order; none that is
    the output, or was made for it."""
    files: dict[Path, None] = {}
    for name in [os.fspath(name) for name in names]:
        these = [each for each in _found(name) if not _is_made(each, output)]
        if not these:
            raise BulkError(f"{name}: no such file or folder with {', '.join(SUFFIXES)}")
        files.update(dict.fromkeys(these))
    return list(files)


def _is_made(path: Path, output: Path) -> bool:
    """Whether a file is the output or lies in it, or in the folder of its parts, or has its name
    and more."""
    path, output = path.resolve(), output.resolve()
    beside = path.parent == output.parent and path.name.startswith(f"{output.name}.")
    inside = (output, output.with_name(f"{output.name}.parts"))
    return beside or any(path.is_relative_to(folder) for folder in inside)


def _found(name: str) -> Iterator[Path]:
    path = Path(name)
    if path.is_file():
        yield path
    elif path.is_dir():
        yield from sorted(each for each in path.rglob("*") if _is_wanted(each, path))
    elif has_magic(name):
        for each in sorted(glob(name, recursive=True)):
            if os.path.isfile(each):
                yield Path(each)


def _is_wanted(path: Path, folder: Path) -> bool:
    """Names that begin with a dot or an underscore are a program's own, as everywhere."""
    inside = path.relative_to(folder).parts
    own = any(part.startswith((".", "_")) for part in inside)
    return not own and suffix_of(path) is not None and path.is_file()


def parts_of(path: Path, size: int = PART) -> Iterator[Part]:
    if suffix_of(path) == PARQUET:
        return _row_groups(path)
    with path.open("rb") as file:
        head = file.read(4)
    return _cut(path, size) if packed.is_packed(head) else _stretches(path, size)


def _stretches(path: Path, size: int) -> Iterator[Part]:
    """Only the ends of lines are looked for; who works on a part reads it."""
    start, number, whole = 0, 0, path.stat().st_size
    with path.open("rb") as file:
        while start < whole:
            file.seek(start + size - 1)
            file.readline()
            end = min(file.tell(), whole)
            yield Part(path, number, end - start, start)
            start, number = end, number + 1


def _cut(path: Path, size: int) -> Iterator[Part]:
    """Pieces of what a packed file holds; a bar counts their part of the file itself."""
    number = before = 0
    whole = path.stat().st_size
    with packed.opened(path) as file:
        while data := _piece(file, size, path):
            share = min(whole, before + len(data) // 4)
            yield Part(path, number, share - before, data=data)
            before, number = share, number + 1


def _piece(file: IO[bytes], size: int, path: Path) -> bytes:
    """So many bytes, to the end of a line."""
    with _damage_as_ours(path):
        data = file.read(size)
        return data if data.endswith(b"\n") else data + file.readline()


def first_line(path: Path) -> bytes:
    """The first line of a file that has something in it."""
    with _damage_as_ours(path), packed.opened(path) as file:
        return next((line for line in file if not line.isspace()), b"")


@contextmanager
def _damage_as_ours(path: Path) -> Iterator[None]:
    try:
        yield
    except packed.broken() + (OSError,) as error:  # noqa: RUF005  # mypy knows only this
        raise BulkError(f"{path}: cannot decompress it: {error}") from error


def _row_groups(path: Path) -> Iterator[Part]:
    from interlingua.bulk.tables import group_sizes

    for number, size in enumerate(group_sizes(path)):
        yield Part(path, number, size)
