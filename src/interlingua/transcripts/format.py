"""The base class of transcript formats, and the registry: ours, and those of other packages."""

from __future__ import annotations

import os
import re
import stat
import warnings
from collections.abc import Callable, Iterator
from copy import copy
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from interlingua.errors import DetectError
from interlingua.model.losses import Report
from interlingua.model.reasons import because
from interlingua.plugins import contained, entry_points_of
from interlingua.transcripts.files import TranscriptError, VersionError, errors_as_ours
from interlingua.transcripts.transcript import Overview, Transcript
from interlingua.transcripts.values import encodable, seconds

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "interlingua.transcripts"
"""The entry points by which other packages add formats."""

_OWN = {
    "ag-ui": "ag_ui",
    "anthropic-batch": "batches",
    "atif": "atif",
    "chatgpt": "chat_exports",
    "claude-ai": "chat_exports",
    "claude-code": "claude_code",
    "codex": "codex",
    "copilot": "copilot",
    "gemini-cli": "gemini_cli",
    "hf-messages": "training",
    "llm": "llm",
    "openai-batch": "batches",
    "openai-finetune": "training",
    "opencode": "opencode",
    "otel": "otel",
    "pi": "pi",
    "sharegpt": "training",
    "ui-message": "ui_message",
}
"""Formats of this package, and the modules here that have them in `FORMATS`."""
_DATABASES = ("llm", "opencode")
_LOADED: dict[str, Format] = {}


class Sample(NamedTuple):
    """The sample by which a format is detected: the path and the first bytes of a file (of a folder
    none)."""

    path: Path
    head: bytes


class Draft(NamedTuple):
    """Files to write, the main one first, named relative to its folder, with their losses."""

    files: dict[str, bytes]
    report: Report


class Found(msgspec.Struct, frozen=True):
    """A session on this machine."""

    format: str
    path: Path
    id: str | None = None
    updated_at: float | None = None


class Skipped(msgspec.Struct, frozen=True):
    """A file among sessions that cannot be read, and why."""

    format: str
    path: Path
    reason: str

    def __str__(self) -> str:
        return f"skipped {self.path}: {self.reason}"


class Utterance(NamedTuple):
    """The conversation's part of a line: role, JSON content whose strings are searched, and time.

    Lines that repeat one message share its `id`."""

    role: str
    content: Any
    time: str | None = None
    id: str | None = None


class Format:
    """A transcript format; subclasses implement `detect`, `read` and whichever methods apply."""

    name: str
    title: str
    tested: str
    """The version that was tested last, and the date."""
    suffix: str = ".jsonl"
    rows: bool = False
    """Whether each line of a file is a conversation."""
    unsupported_fields: tuple[str, ...] = ()
    """Fields of a transcript that files cannot hold."""
    file_version: str | None = None
    """The newest tested version that files state themselves."""
    tested_tool: str | None = None
    """The newest version of the tool that was seen to continue sessions written here."""

    def detect(self, sample: Sample) -> str | None:
        """Evidence that a file is in this format; None if there is none."""
        raise NotImplementedError

    def read(self, path: Path) -> Transcript:
        """The session of a file (of several, the first or the newest)."""
        raise NotImplementedError

    read_all: Callable[[Path], Iterator[Transcript]] | None = None
    """Every session of a file."""
    session: Callable[[Path, str], Transcript] | None = None
    """The session with this id, of a file with many."""
    write: Callable[[Transcript, str], Draft] | None = None
    """The files of a transcript, the main one of this name."""
    patch: Callable[[Transcript, int, list[bytes]], list[bytes] | None] | None = None
    """The lines of the message at an index, changed in place; None if that is not possible."""
    append: Callable[[Transcript, int, bytes], bytes] | None = None
    """Lines for the messages from an index on, which follow the last line."""
    variant: Callable[[str], str] | None = None
    """The variant of the format for a file of this name; a file is only patched in its own
    variant."""
    overview: Callable[[Path, str | None], Overview | None] | None = None
    """The overview of a session in a list, without reading it whole; None if it has to be."""
    search_text: Callable[[dict[str, Any]], Utterance | None] | None = None
    """The text of a line for searching."""
    find: Callable[[Path], Iterator[Found | Skipped]] | None = None
    """The tool's sessions in a home folder."""
    id_in: Callable[[bytes], str | None] | None = None
    """The id of a session in the first line of its file, where the file's name does not have it."""
    root: Callable[[Path], Path] | None = None
    """The folder in a home that holds all sessions of the tool; by default the home itself."""
    place: Callable[[Transcript, Path], Path] | None = None
    """The tool's folder of sessions, below the home folder."""
    sidecars: Callable[[Transcript, Path], dict[Path, bytes]] | None = None
    """Small files that the tool needs near the session."""
    import_command: Callable[[Path], list[str]] | None = None
    """The command that imports a file into the tool, if the tool does not find files itself."""
    resume: Callable[[Transcript, Path], list[str]] | None = None
    """The command by which the tool continues a session."""

    def is_untested(self, transcript: Transcript) -> bool:
        """Whether a file is of a later version than the tested ones."""
        return is_later(transcript.details.get("version"), self.file_version)

    def with_version_note(self, transcript: Transcript) -> Transcript:
        """The transcript; its report warns of content that an untested version may hold."""
        if self.is_untested(transcript):
            version = transcript.details["version"]
            reason = because(
                "version_untested", title=self.title, version=version, tested=self.file_version
            )
            transcript.report.add("approximated", "version", reason)
        return transcript

    def require_tested(self, transcript: Transcript) -> None:
        """`VersionError` if a file is of a later version: such files are not changed."""
        if self.is_untested(transcript):
            version = transcript.details["version"]
            name = transcript.origin.files[0].path if transcript.origin else self.name
            reason = (
                f"{self.title} {version} cannot be written yet; tested up to {self.file_version}"
            )
            raise VersionError(name, reason)


def is_later(version: Any, known: str | None) -> bool:
    """Whether a version is of a later series than the known one; a third number marks repairs."""
    return known is not None and _series(str(version)) > _series(known)


def _series(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:2])


def formats() -> list[str]:
    """The names of all formats."""
    return [*_OWN, *(each.name for each in _plugged() if each.name not in _OWN)]


def format_of(name: str) -> Format:
    """The format of this name."""
    if name in _LOADED:
        return _LOADED[name]
    if name in _OWN:
        module = import_module(f"interlingua.transcripts.{_OWN[name]}")
        _LOADED.update({each.name: each for each in module.FORMATS})
        return _LOADED[name]
    for point in _plugged():
        if point.name == name:
            return _LOADED.setdefault(name, _checked(point))
    raise DetectError(f"unknown transcript format {name!r}", formats())


def all_formats() -> Iterator[Format]:
    """Every format that can be loaded; the others are named in warnings."""
    yield from load(formats())


def load(names: list[str]) -> Iterator[Format]:
    """Loads the formats of these names; a warning names those that cannot be loaded."""
    for name in names:
        try:
            yield format_of(name)
        except Exception as error:
            warnings.warn(f"transcript format {name!r} cannot be loaded: {error}", stacklevel=2)


def titles_of(names: list[str]) -> dict[str, str]:
    """The titles of these formats."""
    return {each.name: each.title for each in load(names)}


def formats_for(head: bytes) -> list[str]:
    """The formats that a file which begins so may have; databases are of few tools."""
    is_database = head.startswith(b"SQLite format 3\x00")
    excluded = set(_OWN).difference(_DATABASES) if is_database else {"llm"}
    return [name for name in formats() if name not in excluded]


def _plugged() -> tuple[EntryPoint, ...]:
    return entry_points_of(GROUP)


def _checked(point: EntryPoint) -> Format:
    """The format of another package; its errors are warnings if all formats are loaded."""
    with contained():
        found = point.load()
    if not isinstance(found, Format) or found.name != point.name:
        raise TypeError(f"{point.value} is not a format of that name")
    guarded = copy(found)
    guarded.detect = partial(_detect, found)  # type: ignore[method-assign]
    if found.find is not None:
        guarded.find = partial(_found, found.name, found.find)
    return guarded


def _detect(of: Format, sample: Sample) -> str | None:
    try:
        with contained():
            return of.detect(sample)
    except Exception as error:
        warnings.warn(
            f"transcript format {of.name!r} cannot recognize files: {error}", stacklevel=2
        )
        return None


def _found(
    name: str, find: Callable[[Path], Iterator[Found | Skipped]], home: Path
) -> Iterator[Found | Skipped]:
    try:
        with contained():
            sessions = iter(find(home))
        while True:
            # not around the yield, where GeneratorExit means that the caller stopped
            with contained():
                found = next(sessions, None)
            if found is None:
                return
            yield found
    except Exception as error:
        warnings.warn(f"transcript format {name!r} cannot find sessions: {error}", stacklevel=2)


def tool_folder(home: Path, variable: str, default: str) -> Path:
    """A tool's folder; in this user's own home, an environment variable may set another."""
    own = os.environ.get(variable)
    return Path(own) if own and home == Path.home() else home / default


def candidate(format: str, path: Path, id: str | None) -> Found | Skipped:
    """The session in a file; broken links, pipes and devices are skipped."""
    try:
        about = path.stat()
    except OSError as error:
        return Skipped(format, path, error.strerror or type(error).__name__)
    if not stat.S_ISREG(about.st_mode):
        return Skipped(format, path, "not a regular file")
    return Found(format, path, None if id is None else encodable(id), seconds(about.st_mtime))


def candidates(
    format: str, path: Path, sessions_of: Callable[[Path], list[tuple[str, float | None]]]
) -> Iterator[Found | Skipped]:
    """The sessions in a database, each with its id and the time of its last change."""
    if not path.exists() and not path.is_symlink():
        return
    file = candidate(format, path, None)
    if isinstance(file, Skipped):
        yield file
        return
    try:
        with errors_as_ours(path):
            known = sessions_of(path)
    except TranscriptError as error:
        yield Skipped(format, path, error.problem)
        return
    for name, time in known:
        yield Found(format, path, name, file.updated_at if time is None else time)
