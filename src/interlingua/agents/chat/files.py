"""Files of a chat: those attached to a message, and tools for the folder it was started in.

Reading and listing need no consent, writing does. Links are not followed, and nothing outside the
folder is reached.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from interlingua.errors import InterlinguaError
from interlingua.model.blocks import (
    AudioBlock,
    DocumentBlock,
    ImageBlock,
    Source,
    UserBlock,
    VideoBlock,
)
from interlingua.model.tools import SideEffects, ToolDefinition
from interlingua.tools.attach import AUDIO, DOCUMENTS, IMAGES, VIDEO
from interlingua.tools.handlers import Handler, ToolRun, WorkspaceError
from interlingua.tools.registry import ToolRegistry
from interlingua.tools.workspace import Workspace, parts_of

MOST = 20 * 1024 * 1024
"""Bytes of one file."""
MOST_TOGETHER = 64 * 1024 * 1024


class AttachmentError(InterlinguaError):
    """A file that cannot be attached; `path` is as the user wrote it."""

    def __init__(self, path: str, problem: str) -> None:
        self.path = path
        self.problem = problem
        super().__init__(f"attachment {path}: {problem}")


def attached(paths: tuple[str, ...]) -> list[UserBlock]:
    """A block for each file, or for each address that begins with https://."""
    blocks: list[UserBlock] = []
    left = MOST_TOGETHER
    for path in paths:
        if path.startswith(("https://", "http://")):
            blocks.append(_block(path, Source("url", path), _ending(path.partition("?")[0])))
            continue
        data = _read(path, min(MOST, left), left < MOST)
        left -= len(data)
        blocks.append(_of_file(path, data))
    return blocks


def _read(path: str, limit: int, is_rest: bool) -> bytes:
    try:
        # Without O_NONBLOCK, opening a pipe waits for a writer.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(Path(path).expanduser(), flags), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise AttachmentError(path, "not a regular file")
            data = file.read(limit + 1)
    except OSError as error:
        raise AttachmentError(path, error.strerror or type(error).__name__) from None
    if len(data) > limit:
        size = f"all together have more than {MOST_TOGETHER}" if is_rest else f"more than {MOST}"
        raise AttachmentError(path, f"{size} bytes")
    if not data:
        raise AttachmentError(path, "it is empty")
    return data


def _of_file(path: str, data: bytes) -> UserBlock:
    name, ending = Path(path).name, _ending(path)
    is_media = any(ending in table for table in (IMAGES, AUDIO, VIDEO))
    known = DOCUMENTS.get(ending)
    if not is_media and (known is None or known.startswith(("text/", "application/json"))):
        try:
            return DocumentBlock(Source("text", data.decode()), known or "text/plain", name)
        except UnicodeDecodeError:
            if known is None:
                raise AttachmentError(
                    path, "neither text in UTF-8 nor of a type that is known by its ending"
                ) from None
    return _block(name, Source.from_bytes(data), ending)


def _block(name: str, source: Source, ending: str) -> UserBlock:
    if ending in IMAGES:
        return ImageBlock(source, IMAGES[ending])
    if ending in VIDEO:  # before sounds: of what may be either, most files are films
        return VideoBlock(source, VIDEO[ending])
    if ending in AUDIO:
        return AudioBlock(source, AUDIO[ending])
    short = None if source.kind == "url" else name
    return DocumentBlock(source, DOCUMENTS.get(ending), short)


def _ending(path: str) -> str:
    return Path(path).suffix.removeprefix(".").lower()


MOST_CHARACTERS = 100_000
"""The most characters of a file in one result."""
MOST_NAMES = 1_000
_MOST_LOOKED_AT = 100_000
_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
_STEPWISE = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")

_PATH = {"type": "string", "description": "Relative to the workspace, with /."}
READ_FILE = ToolDefinition(
    "read_file",
    "Reads a text file of the workspace. Long files are cut: read on with first_line.",
    {
        "type": "object",
        "properties": {
            "path": _PATH,
            "first_line": {"type": "integer", "minimum": 1, "description": "Default: 1."},
        },
        "required": ["path"],
    },
    SideEffects.READ,
)
LIST_FILES = ToolDefinition(
    "list_files",
    "Lists the files of the workspace, or of one of its folders. Hidden ones are left out.",
    {
        "type": "object",
        "properties": {
            "folder": {"type": "string", "description": "Relative; default: everything."},
            "pattern": {"type": "string", "description": "Only names that fit, as *.py"},
        },
    },
    SideEffects.READ,
)
WRITE_FILE = ToolDefinition(
    "write_file",
    "Writes a text file of the workspace, replacing its content. The user is asked first.",
    {
        "type": "object",
        "properties": {"path": _PATH, "text": {"type": "string"}},
        "required": ["path", "text"],
    },
    SideEffects.WRITE,
)


def register_files(registry: ToolRegistry) -> None:
    """Put the three tools into a registry."""
    handlers: list[tuple[ToolDefinition, Handler]] = [
        (READ_FILE, read_file),
        (LIST_FILES, list_files),
        (WRITE_FILE, write_file),
    ]
    for tool, handler in handlers:
        registry.register(tool, handler)


def read_file(input: dict[str, Any], run: ToolRun) -> str:
    try:
        text = _workspace(run).read(input["path"]).decode()
    except UnicodeDecodeError:
        raise WorkspaceError(input["path"], "it is not UTF-8 text", "unreadable") from None
    first = int(input.get("first_line", 1))
    lines = text.splitlines(keepends=True)
    rest = "".join(lines[first - 1 :])
    if len(rest) <= MOST_CHARACTERS:
        return rest
    shown = rest[:MOST_CHARACTERS]
    last = first + shown.count("\n") - 1
    if last < first:
        return f"{shown}\n(line {first} is longer than this)"
    shown = shown[: shown.rindex("\n") + 1]
    return f"{shown}(lines {first} to {last} of {len(lines)})"


def list_files(input: dict[str, Any], run: ToolRun) -> str:
    folder = input.get("folder") or "."
    names = [] if folder in (".", "./") else parts_of(folder.rstrip("/") or "/")
    pattern = input.get("pattern") or "*"
    found: list[str] = []
    looked_at = 0
    for place, files in _folders(_workspace(run), names, folder):
        for name in sorted(files):
            looked_at += 1
            if not name.startswith(".") and fnmatchcase(name, pattern):
                found.append(Path(*names, place, name).as_posix())
        if len(found) > MOST_NAMES or looked_at > _MOST_LOOKED_AT or run.stopped.is_set():
            found = found[:MOST_NAMES]
            return "\n".join([*found, "(there are more)"])
    return "\n".join(found) or "(no files)"


def _folders(workspace: Workspace, names: list[str], shown: str) -> Iterator[tuple[str, list[str]]]:
    """Each folder from there on, relative to it, and the files in it. Folders are opened step by
    step, each relative to the open one before: a folder that becomes a link meanwhile leads
    nowhere."""
    if not _STEPWISE:
        raise WorkspaceError(shown, "this system cannot list without following links", "link")
    start = _opened(workspace, names, shown)
    try:
        for place, folders, files, _ in os.fwalk(".", dir_fd=start):
            folders[:] = sorted(each for each in folders if not each.startswith("."))
            yield place, files
    finally:
        os.close(start)


def _opened(workspace: Workspace, names: list[str], shown: str) -> int:
    """The folder, reached without a link."""
    folder = workspace.open_root()
    for name in names:
        outer = folder
        try:
            folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | _FLAGS, dir_fd=outer)
        except OSError:
            if _is_link(name, outer):
                raise WorkspaceError(shown, "the path contains a symbolic link", "link") from None
            raise WorkspaceError(shown, "no such folder", "not_found") from None
        finally:
            os.close(outer)
    return folder


def _is_link(name: str, folder: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


def write_file(input: dict[str, Any], run: ToolRun) -> str:
    path, data = input["path"], input["text"].encode()
    names = parts_of(path)
    try:
        _write(_workspace(run), names, data, path)
    except OSError as error:
        raise WorkspaceError(path, error.strerror or type(error).__name__, "unreadable") from None
    run.files_modified.append("/".join(names))
    return f"{len(data)} bytes written to {path}"


def _write(workspace: Workspace, names: list[str], data: bytes, shown: str) -> None:
    """Writes to a temporary name and renames it, so that no partial file is ever visible."""
    if not _STEPWISE:
        raise WorkspaceError(shown, "this system cannot write without following links", "link")
    folder = workspace.open_root()
    try:
        for name in names[:-1]:
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=folder)
            inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | _FLAGS, dir_fd=folder)
            os.close(folder)
            folder = inner
        mode = _mode_of(names[-1], folder, shown)
        new = f".{names[-1][:100]}.{secrets.token_hex(4)}"
        file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, mode, dir_fd=folder)
        try:
            with os.fdopen(file, "wb") as target:
                target.write(data)
            os.replace(new, names[-1], src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            os.unlink(new, dir_fd=folder)
            raise
    finally:
        os.close(folder)


def _mode_of(name: str, folder: int, shown: str) -> int:
    """The permissions of the new file: those of the old one, if there was one."""
    try:
        seen = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return 0o666
    if not stat.S_ISREG(seen.st_mode):
        raise WorkspaceError(shown, "not a regular file", "not_a_file")
    return stat.S_IMODE(seen.st_mode)


def _workspace(run: ToolRun) -> Workspace:
    assert run.workspace is not None  # the dispatcher does not run such a tool without one
    return run.workspace
