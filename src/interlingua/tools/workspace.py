"""A folder that tools and file references are confined to.

Paths are relative and are walked one name at a time from the folder itself, each step opened
without following links, so that a link swapped in between is refused as well. Links are refused
even where they stay inside: a path is what it says. Only regular files are read.

On systems that cannot open relative to a folder (Windows), every step is checked before the file is
opened, and the opened file is compared with the one that was checked.
"""

from __future__ import annotations

import errno
import os
import stat
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from interlingua.tools.handlers import WorkspaceError

READ_LIMIT = 20 * 1024 * 1024
MAX_PATH = 4096

_STEPWISE = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
# Folders above may allow passing through but not listing, which O_PATH (Linux) does not need.
_SEARCH = getattr(os, "O_PATH", os.O_RDONLY)
_DEVICES = frozenset(
    {"con", "prn", "aux", "nul", "conin$", "conout$", "clock$"}
    | {f"{port}{number}" for port in ("com", "lpt") for number in "0123456789¹²³"}
)


class Workspace:
    """`root` must exist. It is the only path that is not checked."""

    def __init__(self, root: str | PathLike[str]) -> None:
        self.root = Path(root).resolve()
        if not self.root.is_dir():
            raise WorkspaceError(str(root), "the workspace is not a folder", "not_found")

    @classmethod
    def of(cls, workspace: Workspace | str | PathLike[str]) -> Workspace:
        return workspace if isinstance(workspace, Workspace) else cls(workspace)

    def __repr__(self) -> str:
        return f"Workspace({str(self.root)!r})"

    def path(self, path: str | PathLike[str]) -> Path:
        """The path of a file of the workspace, for libraries that need one.

        It was a regular file without links in its path a moment ago; a program that can change the
        workspace can change that. `open` and `read` have no such moment.
        """
        names = parts_of(path)
        self.open(path).close()
        return self.root.joinpath(*names)

    def inner(self, folder: str) -> Workspace:
        """The workspace of a folder below this one, reached without a link."""
        names = parts_of(folder.rstrip("/") or "/")
        place = self.root.joinpath(*names)
        inner = Workspace(place)
        if inner.root != place:
            raise WorkspaceError(folder, "the path contains a symbolic link", "link")
        return inner

    def open(self, path: str | PathLike[str]) -> BinaryIO:
        """A regular file of the workspace, open for reading."""
        names, shown = parts_of(path), os.fspath(path)
        try:
            handle = self._open(names) if _STEPWISE else self._open_looking(names, shown)
        except OSError as problem:
            raise _refused(shown, problem) from None
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise WorkspaceError(shown, "not a regular file", "not_a_file")
            return os.fdopen(handle, "rb")
        except BaseException:
            os.close(handle)
            raise

    def read(self, path: str | PathLike[str], limit: int = READ_LIMIT) -> bytes:
        """The bytes of a file that has no more than `limit` of them."""
        with self.open(path) as file:
            data = file.read(limit + 1)
        if len(data) > limit:
            raise WorkspaceError(os.fspath(path), f"larger than {limit} bytes", "too_large")
        return data

    def open_root(self) -> int:
        """A descriptor of the folder itself, reached without following a link: the folder, or one
        above it, may have been replaced by a link since it was resolved."""
        folder = os.open(self.root.anchor, _SEARCH | os.O_DIRECTORY)
        for name in self.root.parts[1:]:
            outer = folder
            try:
                folder = os.open(name, _SEARCH | os.O_DIRECTORY | _FLAGS, dir_fd=outer)
            except OSError as problem:
                raise _refused(str(self.root), problem) from None
            finally:
                os.close(outer)
        return folder

    def _open(self, names: list[str]) -> int:
        folder = self.open_root()
        try:
            for name in names[:-1]:
                inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | _FLAGS, dir_fd=folder)
                os.close(folder)
                folder = inner
            # Without O_NONBLOCK, opening a pipe waits for a writer.
            return os.open(names[-1], os.O_RDONLY | os.O_NONBLOCK | _FLAGS, dir_fd=folder)
        finally:
            os.close(folder)

    def _open_looking(self, names: list[str], shown: str) -> int:
        place = self.root
        if place.resolve() != place:
            raise WorkspaceError(shown, "the workspace was replaced by a link", "link")
        for name in names:
            place = place / name
            seen = os.lstat(place)
            # A junction is a link that lstat calls a folder; its reparse tag shows it.
            if stat.S_ISLNK(seen.st_mode) or getattr(seen, "st_reparse_tag", None):
                raise WorkspaceError(shown, "the path contains a symbolic link", "link")
        if not stat.S_ISREG(seen.st_mode):
            raise WorkspaceError(shown, "not a regular file", "not_a_file")
        handle = os.open(place, os.O_RDONLY | getattr(os, "O_BINARY", 0) | _FLAGS)
        opened = os.fstat(handle)
        if (opened.st_dev, opened.st_ino) != (seen.st_dev, seen.st_ino):
            os.close(handle)
            raise WorkspaceError(shown, "the file was replaced while it was being opened", "link")
        return handle


def parts_of(path: str | PathLike[str], windows: bool = os.name == "nt") -> list[str]:
    """The names in a relative path. What leads out of the folder, or means something else than a
    name on this system, is refused."""
    shown = os.fspath(path)
    if not isinstance(shown, str):
        raise WorkspaceError(repr(shown), "expected text", "bad_name")
    if not shown or len(shown) > MAX_PATH or any(ord(sign) < 32 for sign in shown):
        raise WorkspaceError(shown, "empty, too long or with control characters", "bad_name")
    try:
        shown.encode()
    except UnicodeEncodeError:
        raise WorkspaceError(shown, "it contains a lone surrogate", "bad_name") from None
    # A backslash is a separator on one system and part of a name on another: neither is meant.
    if shown.startswith("/") or "\\" in shown or (windows and ":" in shown):
        raise WorkspaceError(shown, "only relative paths with / are allowed", "outside")
    if shown.endswith("/"):
        raise WorkspaceError(shown, "it names a folder", "not_a_file")
    names = [name for name in shown.split("/") if name not in ("", ".")]
    if ".." in names:
        raise WorkspaceError(shown, "it leaves the workspace with ..", "outside")
    if not names:
        raise WorkspaceError(shown, "it names a folder", "not_a_file")
    if windows:
        for name in names:
            if name[-1] in ". " or name.split(".")[0].rstrip().lower() in _DEVICES:
                raise WorkspaceError(shown, "a reserved device name", "bad_name")
    return names


def _refused(shown: str, problem: OSError) -> WorkspaceError:
    # A link gives ELOOP, or ENOTDIR where a folder was wanted (Linux, macOS; EMLINK on FreeBSD).
    if problem.errno in (errno.ELOOP, errno.EMLINK):
        return WorkspaceError(shown, "the path contains a symbolic link", "link")
    if problem.errno == errno.ENOTDIR:
        return WorkspaceError(shown, "a folder of it is a file or a link", "link")
    if problem.errno == errno.ENOENT:
        return WorkspaceError(shown, "no such file", "not_found")
    if problem.errno in (errno.EISDIR, errno.ENXIO):
        return WorkspaceError(shown, "not a regular file", "not_a_file")
    if problem.errno == errno.ENAMETOOLONG:
        return WorkspaceError(shown, "a name in it is too long", "bad_name")
    return WorkspaceError(shown, os.strerror(problem.errno or 0), "unreadable")
