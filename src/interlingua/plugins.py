"""Finds plug-ins of other packages by their entry points.

The standard library's way to look for them takes longer to load than most commands take in all, so
it is used only if some package's list names the group."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_METADATA = (".dist-info", ".egg-info")


@contextmanager
def contained() -> Iterator[None]:
    """Code of another package runs inside: ending the program is an error like others."""
    try:
        yield
    except (Exception, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise RuntimeError(f"it raised {type(error).__name__}: {error}") from error


def entry_points_of(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of a group; packages change where the path does."""
    return _points(group, tuple(sys.path))


@lru_cache(maxsize=8)
def _points(group: str, path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    if not any(_names(folder or ".", group) for folder in path):
        return ()
    from importlib.metadata import entry_points

    return tuple(entry_points(group=group))


def _names(folder: str, group: str) -> bool:
    """Whether the list of some package in a folder names the group."""
    word = f"[{group}]".encode()
    try:
        found = [each.path for each in os.scandir(folder) if each.name.endswith(_METADATA)]
    except OSError:
        return False
    return any(word in _read(os.path.join(each, "entry_points.txt")) for each in found)


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
