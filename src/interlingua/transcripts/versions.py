"""Versions that files and tools say of themselves, and whether they are later than what was seen.

A third number marks repairs, so that the first two of a tool's version are its series. A later file
is read as far as it is known, and told; nothing is added to it.
"""

from __future__ import annotations

import re
from typing import Any

from interlingua.transcripts.errors import VersionError
from interlingua.transcripts.format import Format
from interlingua.transcripts.transcript import Transcript


def is_later(found: Any, known: str | None) -> bool:
    """Whether a version is of a later series than the known one."""
    return known is not None and series(str(found)) > series(known)


def series(version: str) -> tuple[int, ...]:
    """The first two numbers; none of what is no version."""
    return tuple(int(number) for number in re.findall(r"\d+", version)[:2])


def with_version_note(transcript: Transcript, of: Format) -> Transcript:
    """The transcript, whose report says where its file may hold things that nobody has seen."""
    found = transcript.details.get("version")
    if is_later(found, of.file_version):
        reason = f"files of {of.title} {found} are untested; tested up to {of.file_version}"
        transcript.report.add("approximated", "version", reason, "warning")
    return transcript


def require_seen(transcript: Transcript, of: Format) -> None:
    """Nothing is added to a file, or changed in it, that is of a later version."""
    found = transcript.details.get("version")
    if is_later(found, of.file_version):
        name = transcript.origin.files[0].path if transcript.origin else of.name
        reason = f"{of.title} {found} cannot be written yet; tested up to {of.file_version}"
        raise VersionError(name, reason)
