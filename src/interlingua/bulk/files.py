"""Finds input files and splits them into parts, always in the same way."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from glob import glob, has_magic
from itertools import count
from pathlib import Path
from typing import IO, NamedTuple

from interlingua.errors import InterlinguaError
from interlingua.streams import packed


class BulkError(InterlinguaError):
    """A run that cannot begin, or go on: files that are not there, or are another run's."""


SUFFIXES = (".parquet", ".jsonl", ".jsonl.gz", ".jsonl.zst", ".ndjson", ".json")
"""Suffixes of files that hold a conversation in each row, or one in all."""
PARQUET = ".parquet"
JSON = ".json"
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
    is_only: bool = False
    """Whether it is all of its file."""


def suffix_of(name: str | os.PathLike[str]) -> str | None:
    """The suffix of a bulk file's name; None for any other file."""
    lower = os.fspath(name).lower()
    return next((each for each in SUFFIXES if lower.endswith(each)), None)


def split_name(name: str, suffix: str | None = None) -> tuple[str, str]:
    """The name of an output file without its ending, and the ending: its own unless one is set."""
    return _stem(name), suffix or suffix_of(name) or ".jsonl"


def part_name(name: str, part: Part, suffix: str | None) -> str:
    """The output file of a part: the name of its input, numbered where that has several parts."""
    stem, suffix = split_name(name, suffix)
    return f"{stem}{suffix}" if part.is_only else f"{stem}-{part.number:05}{suffix}"


def found(names: Iterable[str | os.PathLike[str]], output: Path | None = None) -> list[Path]:
    """The files that are meant by files, folders and patterns, each once, in order; none that is
    the output, or was made for it."""
    return list(found_names(names, output))


def found_names(
    names: Iterable[str | os.PathLike[str]], output: Path | None = None
) -> dict[Path, str]:
    """The same files, each with its name in an output folder: its path inside the given folder."""
    files: dict[Path, str] = {}
    taken: set[str] = set()
    for name in [os.fspath(name) for name in names]:
        root = Path(name) if os.path.isdir(name) else _fixed_part(name)
        these = [each for each in _found(name) if output is None or not _is_made(each, output)]
        if not these:
            raise BulkError(f"{name}: no such file, or no {', '.join(SUFFIXES)} in this folder")
        for path in these:
            if path not in files:
                files[path] = _unused(path.relative_to(root).as_posix(), taken)
                taken.add(_stem(files[path]))
    return files


def _fixed_part(name: str) -> Path:
    """The folder of a file, or the part of a pattern before its first wildcard."""
    path = Path(name)
    return next(each for each in path.parents if not has_magic(str(each)))


def _unused(name: str, taken: Collection[str]) -> str:
    """The name, with a number where another file has the same one but for its ending."""
    stem = _stem(name)
    if stem not in taken:
        return name
    new = next(new for number in count(2) if (new := f"{stem}-{number}") not in taken)
    return new + name.removeprefix(stem)


def _stem(name: str) -> str:
    return name.removesuffix(suffix_of(name) or Path(name).suffix)


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
        yield from sorted(each for each in path.rglob("*") if _is_input(each, path))
    elif has_magic(name):
        for each in sorted(glob(name, recursive=True)):
            if os.path.isfile(each):
                yield Path(each)


def _is_input(path: Path, folder: Path) -> bool:
    """Names that begin with a dot or an underscore are a program's own, as everywhere."""
    inside = path.relative_to(folder).parts
    own = any(part.startswith((".", "_")) for part in inside)
    return not own and suffix_of(path) is not None and path.is_file()


def parts_of(path: Path, size: int = PART) -> Iterator[Part]:
    if suffix_of(path) == PARQUET:
        return _row_groups(path)
    if suffix_of(path) == JSON:
        return iter((Part(path, 0, path.stat().st_size, is_only=True),))
    with path.open("rb") as file:
        head = file.read(4)
    return _cut(path, size) if packed.is_packed(head) else _stretches(path, size)


def _stretches(path: Path, size: int) -> Iterator[Part]:
    """Looks only for ends of lines; the worker of a part reads it."""
    start, number, whole = 0, 0, path.stat().st_size
    with path.open("rb") as file:
        while start < whole:
            file.seek(start + size - 1)
            file.readline()
            end = min(file.tell(), whole)
            yield Part(path, number, end - start, start, is_only=not start and end == whole)
            start, number = end, number + 1


def _cut(path: Path, size: int) -> Iterator[Part]:
    """Parts of a compressed file; progress counts their share of the file itself."""
    number = before = 0
    whole = path.stat().st_size
    with packed.opened(path) as file:
        data = _piece(file, size, path)
        while data:
            following = _piece(file, size, path)
            share = min(whole, before + len(data) // 4) if following else whole
            only = not number and not following
            yield Part(path, number, share - before, data=data, is_only=only)
            before, number, data = share, number + 1, following


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

    sizes = group_sizes(path)
    for number, size in enumerate(sizes):
        yield Part(path, number, size, is_only=len(sizes) == 1)
