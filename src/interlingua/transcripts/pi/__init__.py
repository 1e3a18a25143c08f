"""pi: a file of JSON Lines a session, a tree by `parentId`; each answer says which API made it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from interlingua.transcripts.format import Format, Found, Skipped, Utterance, candidate
from interlingua.transcripts.pi.read import VERSION, detect_file, read_file
from interlingua.transcripts.pi.write import append_lines, patch_lines, write_file
from interlingua.transcripts.transcript import Transcript
from interlingua.transcripts.values import to_iso


class Pi(Format):
    name = "pi"
    title = "pi"
    tested = "0.87.1 (file version 3), 2026-11-17"
    file_version = str(VERSION)
    tested_tool = "0.87.1"
    unsupported_fields = ("title", "tools")

    detect = staticmethod(detect_file)
    read = staticmethod(read_file)
    write = staticmethod(write_file)
    patch = staticmethod(patch_lines)
    append = staticmethod(append_lines)

    def root(self, home: Path) -> Path:
        return home / ".pi" / "agent" / "sessions"

    def find(self, home: Path) -> Iterator[Found | Skipped]:
        for path in sorted(self.root(home).glob("*/*.jsonl")):
            yield candidate(self.name, path, path.stem.partition("_")[2] or path.stem)

    def place(self, transcript: Transcript, home: Path) -> Path:
        """Folders are named after the working folder, files after time and id."""
        folder = (transcript.folder or str(Path.cwd())).removeprefix("/")
        for mark in "/\\:":
            folder = folder.replace(mark, "-")
        time = to_iso(transcript.created_at or datetime.now(UTC))
        name = f"{time.replace(':', '-').replace('.', '-')}_{transcript.id}.jsonl"
        return self.root(home) / f"--{folder}--" / name

    def resume(self, transcript: Transcript, path: Path) -> list[str]:
        return ["pi", "--session", str(path)]

    def search_text(self, value: dict[str, Any]) -> Utterance | None:
        """Messages and summaries."""
        message = value.get("message")
        if isinstance(message, dict):
            content = [message.get(key) for key in ("content", "sections", "command", "output")]
            role = "tool" if message.get("role") == "toolResult" else str(message.get("role"))
            return Utterance(role, content, value.get("timestamp"))
        summary = value.get("summary") or value.get("content")
        return Utterance("system", summary, value.get("timestamp")) if summary else None


FORMATS = (Pi(),)
