"""Where Copilot keeps its sessions, and how it is asked to go on with one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from interlingua.transcripts.format import Found, Utterance
from interlingua.transcripts.transcript import OriginFile, Transcript

EVENTS = "events.jsonl"
_SPEAKERS = {
    "user.message": "user",
    "assistant.message": "assistant",
    "tool.execution_complete": "tool",
    "system.message": "system",
    "system.notification": "system",
    "session.compaction_complete": "system",
}
_TOLD = ("content", "reasoningText", "toolRequests", "error", "summaryContent")
"""What events say, by key."""


def find(home: Path) -> Iterator[Found]:
    for path in sorted((_config(home) / "session-state").glob(f"*/{EVENTS}")):
        yield Found("copilot", path, path.parent.name, path.stat().st_mtime)


def place(transcript: Transcript, home: Path) -> Path:
    return _config(home) / "session-state" / str(transcript.id) / EVENTS


def resume(transcript: Transcript, path: Path) -> list[str]:
    return ["copilot", f"--resume={path.parent.name}"]


def said(value: dict[str, Any]) -> Utterance | None:
    """Messages, results and summaries."""
    role, data = _SPEAKERS.get(str(value.get("type"))), value.get("data")
    if role is None or not isinstance(data, dict):
        return None
    result = data.get("result")
    shown = result.get("content") if isinstance(result, dict) else None
    return Utterance(role, [shown, *(data.get(key) for key in _TOLD)], value.get("timestamp"))


def beside(path: Path) -> tuple[OriginFile, ...]:
    """What else lies in a session's folder: its name, checkpoints, snapshots of files."""
    if path.name != EVENTS or not (path.parent / "workspace.yaml").is_file():
        return ()
    files = (each for each in sorted(path.parent.rglob("*")) if each.is_file() and each != path)
    return tuple(
        OriginFile(each, each.relative_to(path.parent).as_posix(), each.stat().st_size, aside=True)
        for each in files
    )


def _config(home: Path) -> Path:
    """`COPILOT_HOME` says where, for this user's own home."""
    own = os.environ.get("COPILOT_HOME")
    return Path(own) if own and home == Path.home() else home / ".copilot"
