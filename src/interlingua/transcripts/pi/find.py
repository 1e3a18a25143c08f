"""Where pi keeps its sessions, and how it is asked to go on with one."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from interlingua.transcripts.format import Found, Utterance
from interlingua.transcripts.times import to_iso
from interlingua.transcripts.transcript import Transcript


def find(home: Path) -> Iterator[Found]:
    for path in sorted((home / ".pi" / "agent" / "sessions").glob("*/*.jsonl")):
        yield Found("pi", path, path.stem.partition("_")[2] or path.stem, path.stat().st_mtime)


def place(transcript: Transcript, home: Path) -> Path:
    """Folders are named after the working folder, files after time and id."""
    folder = (transcript.folder or str(Path.cwd())).removeprefix("/")
    for mark in "/\\:":
        folder = folder.replace(mark, "-")
    time = to_iso(transcript.created_at or datetime.now(UTC))
    name = f"{time.replace(':', '-').replace('.', '-')}_{transcript.id}.jsonl"
    return home / ".pi" / "agent" / "sessions" / f"--{folder}--" / name


def resume(transcript: Transcript, path: Path) -> list[str]:
    return ["pi", "--session", str(path)]


def said(value: dict[str, Any]) -> Utterance | None:
    """Messages and summaries."""
    message = value.get("message")
    if isinstance(message, dict):
        told = [message.get(key) for key in ("content", "sections", "command", "output")]
        role = "tool" if message.get("role") == "toolResult" else str(message.get("role"))
        return Utterance(role, told, value.get("timestamp"))
    summary = value.get("summary") or value.get("content")
    return Utterance("system", summary, value.get("timestamp")) if summary else None
