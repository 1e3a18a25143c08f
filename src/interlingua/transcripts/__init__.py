"""Sessions of coding agents, exports and interchange files: read into canonical messages, written
in any other format that can say them, with what was lost in a report.

    from interlingua import transcripts

    session = transcripts.read("rollout.jsonl")
    transcripts.write(session, "session.jsonl", "claude-code")
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from interlingua import packed
from interlingua.errors import DetectError
from interlingua.losses import Report
from interlingua.transcripts.errors import TranscriptError, VersionError
from interlingua.transcripts.files import collector_at_rest, place
from interlingua.transcripts.format import Format, Found, Sample, all_formats, format_of, formats
from interlingua.transcripts.home import home as way_home
from interlingua.transcripts.transcript import (
    Branch,
    Compaction,
    ModelChange,
    Origin,
    SubAgent,
    Transcript,
)
from interlingua.transcripts.versions import with_version_note

HEAD = 1 << 16
AnyPath = str | os.PathLike[str]


class Detected(msgspec.Struct, frozen=True):
    """Which format a file is in, and by what it was recognised."""

    format: str
    evidence: str

    def __str__(self) -> str:
        return f"{self.format} ({self.evidence})"


def detect(path: AnyPath) -> Detected:
    """Which format this file is in; `DetectError` if it is none that we know, or several."""
    found = recognized(_sample(Path(path)))
    if not found:
        raise DetectError(f"{path} is not a known transcript format", formats())
    if len(found) > 1:
        raise DetectError(f"{path} matches several formats", [str(each) for each in found])
    return found[0]


def recognized(sample: Sample) -> list[Detected]:
    """All formats that the beginning of a file may be of."""
    signs = ((each.name, each.signs(sample)) for each in all_formats())
    return [Detected(name, sign) for name, sign in signs if sign is not None]


def read(path: AnyPath, format: str | None = None) -> Transcript:
    """The session in this file (of a file with several, the first: `read_all` gives each)."""
    path = Path(path)
    to_read = format_of(format or detect(path).format)
    try:
        with collector_at_rest():
            return with_version_note(to_read.read(path), to_read)
    except OSError as error:
        raise TranscriptError(path, error.strerror or str(error)) from error
    except packed.broken() as error:
        raise TranscriptError(path, f"cannot decompress it: {error}") from error


def read_all(path: AnyPath, format: str | None = None) -> Iterator[Transcript]:
    """Every session of a file."""
    path = Path(path)
    to_read = format_of(format or detect(path).format)
    if to_read.read_all is None:
        yield read(path, to_read.name)
    else:
        yield from (with_version_note(each, to_read) for each in to_read.read_all(path))


class Made(NamedTuple):
    """Files that are not written yet: their names beside the main one, which comes first, and
    their bytes in pieces; and what could not be said in them."""

    files: dict[str, Iterable[bytes]]
    report: Report


def draft(transcript: Transcript, format: str, name: str | None = None) -> Made:
    """What `write` would write to a file of this name."""
    to = format_of(format)
    name = name or f"{transcript.id or 'session'}.jsonl"
    kept = way_home(transcript, to, name)
    if kept is not None:
        main, *beside = kept
        renamed = {_inside(each, Path(main).stem, Path(name).stem): kept[each] for each in beside}
        return Made({name: kept[main], **renamed}, Report(to.name))
    if to.write is None:
        raise TranscriptError(name, f"{to.name} is read-only")
    files, report = to.write(transcript, name)
    for fact in to.unsaid:
        if getattr(transcript, fact):
            report.add("dropped", f"$.{fact}", f"{to.title} has no place for it", "info")
    return Made({each: (data,) for each, data in files.items()}, report)


def write(transcript: Transcript, path: AnyPath, format: str) -> Report:
    """Write a session. A file that is there is not overwritten; files beside it (of helpers)
    are written with it, all or none."""
    path = Path(path)
    files, report = draft(transcript, format, path.name)
    write_files(files, path)
    return report


def write_files(files: dict[str, Iterable[bytes]], path: Path) -> None:
    """Put files where they belong, the main one at `path`; none over one that is there."""
    main, *beside = files
    places = {path: files[main]}
    for name in beside:
        places[path.parent / _inside(name, Path(main).stem, path.stem)] = files[name]
    place(places)


def find(home: AnyPath | None = None) -> Iterator[Found]:
    """Every session of every agent in a home folder (this user's, if none is given)."""
    folder = Path.home() if home is None else Path(home)
    for each in all_formats():
        if each.find is not None:
            yield from each.find(folder)


def _sample(path: Path) -> Sample:
    if path.is_dir():
        return Sample(path, b"")
    try:
        with packed.opened(path) as file:
            return Sample(path, file.read(HEAD))
    except OSError as error:
        raise TranscriptError(path, error.strerror or str(error)) from error
    except packed.broken() as error:
        raise TranscriptError(path, f"cannot decompress it: {error}") from error


def _inside(name: str, stem: str, new: str) -> str:
    """A file beside the main one; a folder that is named like that one goes with its name."""
    parts = Path(name).parts
    if Path(name).is_absolute() or ".." in parts:
        raise TranscriptError(name, "files beside the main one must be in its folder")
    return "/".join((new if parts[0] == stem else parts[0], *parts[1:]))


__all__ = [
    "Branch",
    "Compaction",
    "Detected",
    "Format",
    "Found",
    "Made",
    "ModelChange",
    "Origin",
    "Report",
    "SubAgent",
    "Transcript",
    "TranscriptError",
    "VersionError",
    "detect",
    "draft",
    "find",
    "format_of",
    "formats",
    "read",
    "read_all",
    "write",
    "write_files",
]
