"""A session on its way to another tool: where that tool looks for it, and how it goes on.

Nothing that is there is changed: a session gets an id that no session of the tool has, and files
are new ones. Which versions of a tool take what is written here was tried with the tools; a later
one is refused until somebody has seen it go on.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from uuid import NAMESPACE_URL, uuid4, uuid5

from interlingua.model.losses import Report
from interlingua.transcripts import draft
from interlingua.transcripts.files import (
    TranscriptError,
    VersionError,
    os_errors_as_ours,
    place,
    require_inside,
)
from interlingua.transcripts.format import Format, Found, format_of, is_later
from interlingua.transcripts.sessions import here
from interlingua.transcripts.transcript import Transcript

_PATIENCE = 20
"""Seconds that a tool may take to say its version."""
_ID = re.compile(r"ses_[0-9A-Za-z]{1,64}|[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
"""The ids that tools make, all of them harmless in a path."""


class Plan(NamedTuple):
    """What to write, its losses, and the commands; no files if the tool has the session."""

    format: Format
    id: str | None
    folder: str | None
    path: Path
    root: Path
    files: dict[Path, Iterable[bytes]]
    report: Report
    commands: list[list[str]]


def agents() -> list[str]:
    """The formats of tools that can be asked to go on."""
    from interlingua.transcripts.format import all_formats

    return [each.name for each in all_formats() if each.place and each.resume and each.write]


def plan(
    transcript: Transcript, format: str, home: Path | None = None, found: Found | None = None
) -> Plan:
    """How a tool continues this session; `found` is where it is stored, if unchanged."""
    to, transcript = format_of(format), transcript.encodable()
    if to.place is None or to.resume is None:
        raise TranscriptError(format, f"no tool can continue from it: {', '.join(agents())}")
    folder = Path.home() if home is None else home
    root = to.root(folder) if to.root is not None else folder
    known = here(folder, [format])
    if found is not None and (found.format, found.path) in [(k.format, k.path) for k in known]:
        go_on = [to.resume(transcript, found.path)]
        lies = (transcript.id, transcript.folder, found.path, root)
        return Plan(to, *lies, {}, Report(format), go_on)
    with os_errors_as_ours(root):
        transcript, path = _free(transcript, to, folder, root, known)
    if transcript.origin is None:
        # Gemini CLI removes sessions at its start that nobody touched for a month (0.61.0, seen
        # 2026-11-17): one that goes on today is touched today.
        transcript = transcript.replace(updated_at=datetime.now(UTC))
    files, report = draft(transcript, format, path.name)
    main, *beside = files
    places = {path: files[main]} | {path.parent / name: files[name] for name in beside}
    if to.sidecars is not None:
        wanted = to.sidecars(transcript, path).items()
        places |= {each: (data,) for each, data in wanted if not each.exists()}
    commands = [
        *([to.import_command(path)] if to.import_command else []),
        to.resume(transcript, path),
    ]
    return Plan(to, transcript.id, transcript.folder, path, root, places, report, commands)


def carry_out(plan: Plan) -> None:
    """Write the files, all or none."""
    place(plan.files, plan.root)


def _free(
    transcript: Transcript, to: Format, home: Path, root: Path, known: list[Found]
) -> tuple[Transcript, Path]:
    """The session under an id that the tool does not have yet, and its path."""
    assert to.place is not None
    taken = {each.id for each in known}
    own = (
        transcript.id
        if transcript.format == to.name and _ID.fullmatch(transcript.id or "")
        else None
    )
    made = str(uuid5(NAMESPACE_URL, f"{to.name}:{transcript.format}:{transcript.id}"))
    for name in (own or made, made if transcript.id else str(uuid4()), str(uuid4())):
        named = transcript if name == own else transcript.replace(id=name, origin=None)
        path = to.place(named, home)
        require_inside(path, root)
        if name not in taken and path.stem not in taken and not path.exists():
            break
    return named, path


def installed_version(program: str) -> str | None:
    """What the tool on this machine says its version is; None if there is none, or it says none."""
    where = shutil.which(program)
    if where is None:
        return None
    try:
        ask = [where, "--version"]
        process = subprocess.run(
            ask, capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return None
    number = re.search(r"\d+(\.\d+)+", process.stdout)
    return number[0] if number else None


def require_known(to: Format, program: str, version: str | None) -> None:
    """`VersionError` where the tool is of a later series than any that was tried."""
    if version is not None and is_later(version, to.tested_tool):
        raise VersionError(
            f"{program} {version}",
            f"not supported yet: {to.tested_tool} is the newest tested version",
        )
