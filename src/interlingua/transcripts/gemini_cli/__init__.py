"""Gemini CLI: a log of records, of which the last with an id counts; helpers in files beside."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from interlingua.transcripts.format import Format, Found, Skipped, Utterance, candidate
from interlingua.transcripts.gemini_cli.read import (
    ANSWER,
    detect_file,
    owner_of,
    projects_in,
    read_file,
)
from interlingua.transcripts.gemini_cli.write import append_lines, write_file
from interlingua.transcripts.transcript import Transcript
from interlingua.transcripts.values import decoded, members


def _short_name(home: Path, places: Path, folder: str) -> str:
    """The tool's short name for a folder, or the one it would choose."""
    projects = projects_in(home / ".gemini" / "projects.json")
    if folder in projects and owner_of(places / projects[folder]) in (None, folder):
        return projects[folder]
    for marked in sorted(places.glob("*/.project_root")):
        if owner_of(marked.parent) == folder:
            return marked.parent.name
    plain = re.sub("[^a-z0-9]+", "-", Path(folder).name.lower()).strip("-") or "project"
    names = (plain if not count else f"{plain}-{count}" for count in itertools.count())
    taken = set(projects.values())
    return next(n for n in names if n not in taken and owner_of(places / n) in (None, folder))


class GeminiCLI(Format):
    name = "gemini-cli"
    title = "Gemini CLI"
    tested = "0.61.0, 2026-11-17"
    tested_tool = "0.61.0"
    unsupported_fields = ("title", "folder", "tools")

    detect = staticmethod(detect_file)
    read = staticmethod(read_file)
    write = staticmethod(write_file)
    append = staticmethod(append_lines)

    def root(self, home: Path) -> Path:
        return home / ".gemini" / "tmp"

    def find(self, home: Path) -> Iterator[Found | Skipped]:
        """`--resume` may leave a stub with the same id behind: the longest file counts."""
        longest: dict[tuple[Path, str], tuple[int, Found]] = {}
        for path in sorted(self.root(home).glob("*/chats/session-*.jsonl")):
            found = candidate(self.name, path, None)
            if isinstance(found, Skipped):
                yield found
                continue
            key, size = (path.parent, path.stem.rpartition("-")[2]), path.stat().st_size
            if key not in longest or size > longest[key][0]:
                longest[key] = (size, found)
        for _, found in longest.values():
            yield found

    def id_in(self, line: bytes) -> str | None:
        """The first line names the session; the file's name has the beginning of its id."""
        name = members(decoded(line)).get("sessionId")
        return name if isinstance(name, str) else None

    def place(self, transcript: Transcript, home: Path) -> Path:
        """`projects.json` has the short name of a project; a new one gets its own."""
        folder = transcript.folder or str(Path.cwd())
        time = (transcript.created_at or datetime.now(UTC)).astimezone(UTC)
        name = f"session-{time:%Y-%m-%dT%H-%M}-{str(transcript.id)[:8]}.jsonl"
        return self.root(home) / _short_name(home, self.root(home), folder) / "chats" / name

    def sidecars(self, transcript: Transcript, path: Path) -> dict[Path, bytes]:
        """The mark by which the tool finds a project's folder (0.61.0, read 2026-11-17)."""
        folder = transcript.folder or str(Path.cwd())
        return {path.parent.parent / ".project_root": folder.encode()}

    def resume(self, transcript: Transcript, path: Path) -> list[str]:
        return ["gemini", "--resume", str(transcript.id)]

    def search_text(self, value: dict[str, Any]) -> Utterance | None:
        """Prompts and answers, with the calls in them."""
        kind = value.get("type")
        if kind not in ("user", ANSWER):
            return None
        calls = [
            [call.get("name"), call.get("args"), call.get("result")]
            for call in value.get("toolCalls") or ()
            if isinstance(call, dict)
        ]
        content = [value.get("content"), value.get("thoughts"), calls]
        role = "user" if kind == "user" else "assistant"
        return Utterance(role, content, value.get("timestamp"), value.get("id"))


FORMATS = (GeminiCLI(),)
