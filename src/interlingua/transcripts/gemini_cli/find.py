"""Where Gemini CLI keeps its sessions, and how it is asked to go on with one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from interlingua.transcripts.format import Found
from interlingua.transcripts.transcript import Transcript


def find(home: Path) -> Iterator[Found]:
    """A start with `--resume` may leave a stub with the same id behind: the longest file counts."""
    longest: dict[tuple[Path, str], Path] = {}
    for path in sorted((home / ".gemini" / "tmp").glob("*/chats/session-*.jsonl")):
        key = (path.parent, path.stem.rpartition("-")[2])
        if key not in longest or path.stat().st_size > longest[key].stat().st_size:
            longest[key] = path
    for path in longest.values():
        yield Found("gemini-cli", path, None, path.stat().st_mtime)


def place(transcript: Transcript, home: Path) -> Path:
    """The project's short name is in `projects.json`; a project that is not there gets its own."""
    folder = transcript.folder or str(Path.cwd())
    time = (transcript.created_at or datetime.now(UTC)).astimezone(UTC)
    name = f"session-{time:%Y-%m-%dT%H-%M}-{str(transcript.id)[:8]}.jsonl"
    return home / ".gemini" / "tmp" / _short_name(home, folder) / "chats" / name


def resume(transcript: Transcript, path: Path) -> list[str]:
    return ["gemini", "--resume", str(transcript.id)]


def _short_name(home: Path, folder: str) -> str:
    try:
        known = msgspec.json.decode((home / ".gemini" / "projects.json").read_bytes())
        name = known["projects"][folder]
    except (OSError, msgspec.DecodeError, KeyError, TypeError):
        name = None
    plain = re.sub(r"[^a-z0-9]+", "-", Path(folder).name.lower()).strip("-")
    return name if isinstance(name, str) else plain or "project"


def folder_of(path: Path) -> str | None:
    """The working folder of a session, which its project's folder knows."""
    try:
        return (path.parent.parent / ".project_root").read_text().strip() or None
    except OSError:
        pass
    try:
        known = msgspec.json.decode((path.parents[3] / "projects.json").read_bytes())
        names = {name: folder for folder, name in known["projects"].items()}
        return names.get(path.parent.parent.name)
    except (OSError, msgspec.DecodeError, KeyError, AttributeError, IndexError, TypeError):
        return None
