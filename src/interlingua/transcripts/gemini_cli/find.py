"""Where Gemini CLI keeps its sessions, and how it is asked to go on with one."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from interlingua.transcripts.format import Found, Utterance
from interlingua.transcripts.gemini_cli.log import ANSWER
from interlingua.transcripts.transcript import Transcript


def find(home: Path) -> Iterator[Found]:
    """A start with `--resume` may leave a stub with the same id behind: the longest file counts."""
    longest: dict[tuple[Path, str], Path] = {}
    for path in sorted((home / ".gemini" / "tmp").glob("*/chats/session-*.jsonl")):
        key = (path.parent, path.stem.rpartition("-")[2])
        if key not in longest or path.stat().st_size > longest[key].stat().st_size:
            longest[key] = path
    for path in longest.values():
        yield Found("gemini-cli", path, _id(path), path.stat().st_mtime)


def _id(path: Path) -> str | None:
    """The first line names the session; the file has the beginning of its id."""
    try:
        with path.open("rb") as file:
            about = msgspec.json.decode(file.readline())
    except (OSError, msgspec.DecodeError):
        return None
    name = about.get("sessionId") if isinstance(about, dict) else None
    return name if isinstance(name, str) else None


def place(transcript: Transcript, home: Path) -> Path:
    """The project's short name is in `projects.json`; a project that is not there gets its own."""
    folder = transcript.folder or str(Path.cwd())
    time = (transcript.created_at or datetime.now(UTC)).astimezone(UTC)
    name = f"session-{time:%Y-%m-%dT%H-%M}-{str(transcript.id)[:8]}.jsonl"
    return home / ".gemini" / "tmp" / _short_name(home, folder) / "chats" / name


def resume(transcript: Transcript, path: Path) -> list[str]:
    return ["gemini", "--resume", str(transcript.id)]


def beside(transcript: Transcript, path: Path) -> dict[Path, bytes]:
    """The mark by which a project finds its folder again (ProjectRegistry of Gemini CLI 0.61.0,
    read 2026-11-17); the list of projects is the tool's own and stays as it is."""
    folder = transcript.folder or str(Path.cwd())
    return {path.parent.parent / ".project_root": folder.encode()}


def _short_name(home: Path, folder: str) -> str:
    """The name that the tool has for a folder, or would give it."""
    projects, places = _projects(home / ".gemini" / "projects.json"), home / ".gemini" / "tmp"
    if folder in projects and _owner(places / projects[folder]) in (None, folder):
        return projects[folder]
    for marked in sorted(places.glob("*/.project_root")):
        if _owner(marked.parent) == folder:
            return marked.parent.name
    plain = re.sub("[^a-z0-9]+", "-", Path(folder).name.lower()).strip("-") or "project"
    names = (plain if not count else f"{plain}-{count}" for count in itertools.count())
    taken = set(projects.values())
    return next(n for n in names if n not in taken and _owner(places / n) in (None, folder))


def _projects(path: Path) -> dict[str, str]:
    try:
        known = msgspec.json.decode(path.read_bytes())["projects"]
    except (OSError, msgspec.DecodeError, KeyError, TypeError):
        return {}
    pairs = known.items() if isinstance(known, dict) else ()
    return {folder: name for folder, name in pairs if isinstance(name, str)}


def _owner(place: Path) -> str | None:
    try:
        return (place / ".project_root").read_text().strip() or None
    except OSError:
        return None


def folder_of(path: Path) -> str | None:
    """The working folder of a session, which its project's folder knows."""
    owner = _owner(path.parent.parent)
    if owner is not None or len(path.parents) < 4:
        return owner
    projects = _projects(path.parents[3] / "projects.json")
    names = {name: folder for folder, name in projects.items()}
    return names.get(path.parent.parent.name)


def said(value: dict[str, Any]) -> Utterance | None:
    """Prompts and answers, with the calls in them."""
    kind = value.get("type")
    if kind not in ("user", ANSWER):
        return None
    calls = [
        [call.get("name"), call.get("args"), call.get("result")]
        for call in value.get("toolCalls") or ()
        if isinstance(call, dict)
    ]
    told = [value.get("content"), value.get("thoughts"), calls]
    role = "user" if kind == "user" else "assistant"
    return Utterance(role, told, value.get("timestamp"), value.get("id"))
