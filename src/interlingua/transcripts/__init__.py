"""Session files of coding agents and interchange formats: one folder per format.

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

from interlingua.errors import DepthError, DetectError, ReadError
from interlingua.model.codec import parse
from interlingua.model.losses import Report as Report
from interlingua.model.message import Role
from interlingua.model.reasons import because
from interlingua.transcripts.files import (
    LineSource,
    collector_at_rest,
    contents,
    errors_as_ours,
    lines_in,
    opened,
    place,
)
from interlingua.transcripts.files import TranscriptError as TranscriptError
from interlingua.transcripts.files import VersionError as VersionError
from interlingua.transcripts.files import home as way_home
from interlingua.transcripts.format import Format as Format
from interlingua.transcripts.format import Found as Found
from interlingua.transcripts.format import Sample, formats_for, load
from interlingua.transcripts.format import Skipped as Skipped
from interlingua.transcripts.format import format_of as format_of
from interlingua.transcripts.format import formats as formats
from interlingua.transcripts.transcript import Branch as Branch
from interlingua.transcripts.transcript import Compaction as Compaction
from interlingua.transcripts.transcript import ModelChange as ModelChange
from interlingua.transcripts.transcript import Origin as Origin
from interlingua.transcripts.transcript import SubAgent as SubAgent
from interlingua.transcripts.transcript import Transcript as Transcript

HEAD = 1 << 16
_BEGINNINGS = (
    ("codex", b'"session_meta"'),
    ("pi", b'{"type":"session",'),
    ("claude-code", b'{"parentUuid":'),
    ("gemini-cli", b'"projectHash":'),
    ("copilot", b'"session.start"'),
    ("opencode", b'"ses_'),
    ("otel", b'"resourceSpans"'),
    ("atif", b'"ATIF-'),
    ("sharegpt", b'"conversations"'),
    ("claude-ai", b'"chat_messages"'),
)
_BEGINNING = 200
"""The bytes of the first line that contain those marks."""
AnyPath = str | os.PathLike[str]


class Detected(msgspec.Struct, frozen=True):
    """The format of a file, and the evidence for it."""

    format: str
    evidence: str

    def __str__(self) -> str:
        return f"{self.format} ({self.evidence})"


def detect(path: AnyPath) -> Detected:
    """The format of this file; `DetectError` if it is unknown or ambiguous."""
    sample = _sample(Path(path))
    found = _by_beginning(sample) or recognized(sample)
    if not found:
        raise DetectError(f"{path} is not a known transcript format", formats())
    if len(found) > 1:
        raise DetectError(f"{path} matches several formats", [str(each) for each in found])
    if format_of(found[0].format).rows:
        _require_rows(Path(path), found[0].format)
    return found[0]


def _require_rows(path: Path, format: str) -> None:
    """Refuse a file that is cut off or mistyped in its first row: the beginning of a request may
    look like a row."""
    with errors_as_ours(path), opened(path) as file:
        first = next((line for line in lines_in(file, path) if not line.isspace()), b"")
        try:
            parse(first, "JSON")
        except DepthError:
            return  # its reader raises with the reason
        except ReadError:
            pass
        else:
            return
    try:
        parse(contents(path), "JSON")
    except DepthError:
        return
    except ReadError as error:
        read = f"format={format!r} (`--from {format}`) reads what is there"
        raise TranscriptError(path, f"{error}; {read}") from None


def _by_beginning(sample: Sample) -> list[Detected]:
    """The agent whose files alone begin so: the other formats need not be loaded."""
    for name, mark in _BEGINNINGS:
        if mark in sample.head[:_BEGINNING]:
            sign = format_of(name).detect(sample)
            if sign is not None:
                return [Detected(name, sign)]
    return []


def recognized(sample: Sample) -> list[Detected]:
    """All formats that the beginning of a file may be of."""
    signs = ((each.name, each.detect(sample)) for each in load(formats_for(sample.head)))
    return [Detected(name, sign) for name, sign in signs if sign is not None]


def read(path: AnyPath, format: str | None = None) -> Transcript:
    """The session in this file (of a file with several, the first: `read_all` gives each)."""
    path = Path(path)
    to_read = format_of(format or detect(path).format)
    with collector_at_rest(), errors_as_ours(path):
        return to_read.with_version_note(to_read.read(path).encodable())


def read_all(path: AnyPath, format: str | None = None) -> Iterator[Transcript]:
    """Every session of a file."""
    path = Path(path)
    to_read = format_of(format or detect(path).format)
    if to_read.read_all is None:
        yield read(path, to_read.name)
    else:
        with errors_as_ours(path):
            for each in to_read.read_all(path):
                yield to_read.with_version_note(each.encodable())


_ROLES = (Role.USER, Role.ASSISTANT, Role.TOOL, Role.SYSTEM, Role.DEVELOPER)
"""The roles that formats write; a message of a later one is refused."""


class Made(NamedTuple):
    """Files to write, the main one first, with their bytes in pieces and their losses."""

    files: dict[str, Iterable[bytes]]
    report: Report


def draft(transcript: Transcript, format: str, name: str | None = None) -> Made:
    """The content that `write` would give a file of this name."""
    to, transcript = format_of(format), transcript.encodable()
    name = name or f"{transcript.id or 'session'}.jsonl"
    own_files = way_home(transcript, to, name)
    if own_files is not None:
        main, *beside = own_files
        renamed = {
            _inside(each, Path(main).stem, Path(name).stem): own_files[each] for each in beside
        }
        return Made({name: own_files[main], **renamed}, Report(to.name))
    if to.write is None:
        raise TranscriptError(name, f"files of {to.title} can be read, but not written")
    for message in transcript.messages:
        if message.role not in _ROLES:
            raise TranscriptError(
                name, f"{to.name} has no equivalent of the role {message.role.value!r}"
            )
    with errors_as_ours(name):
        files, report = to.write(transcript, name)
    for fact in to.unsupported_fields:
        if getattr(transcript, fact):
            report.add("dropped", f"$.{fact}", because("unsupported"))
    report.source = LineSource(transcript, transcript.messages)
    return Made({each: (data,) for each, data in files.items()}, report)


def write(
    transcript: Transcript, path: AnyPath, format: str, root: AnyPath | None = None
) -> Report:
    """Writes a session and its sidecar files, all or none, inside `root` (the folder of `path`)."""
    path = Path(path)
    files, report = draft(transcript, format, path.name)
    write_files(files, path, None if root is None else Path(root))
    return report


def write_files(files: dict[str, Iterable[bytes]], path: Path, root: Path | None = None) -> None:
    """Writes files, the main one at `path`, inside `root`; existing files are not overwritten."""
    main, *beside = files
    places = {path: files[main]}
    for name in beside:
        places[path.parent / _inside(name, Path(main).stem, path.stem)] = files[name]
    place(places, path.parent if root is None else root)


def find(home: AnyPath | None = None, skipped: list[Skipped] | None = None) -> Iterator[Found]:
    """Every session of every agent in a home folder; `skipped` collects unreadable files."""
    from interlingua.transcripts import sessions

    yield from sessions.find(None if home is None else Path(home), (), skipped)


def _sample(path: Path) -> Sample:
    if path.is_dir():
        return Sample(path, b"")
    with errors_as_ours(path), opened(path) as file:
        return Sample(path, file.read(HEAD))


def _inside(name: str, stem: str, new: str) -> str:
    """A file beside the main one, or in a folder with its name."""
    parts = Path(name).parts
    if Path(name).is_absolute() or ".." in parts:
        raise TranscriptError(name, "files beside the main one must be in its folder")
    return "/".join((new if parts[0] == stem else parts[0], *parts[1:]))
