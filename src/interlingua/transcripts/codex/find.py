"""Where Codex keeps its rollouts, and how it is asked to go on with one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from interlingua.transcripts.codex.tables import OUTPUTS
from interlingua.transcripts.format import Found, Utterance
from interlingua.transcripts.transcript import Transcript

THREAD = re.compile(
    r"rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-(?P<thread>[0-9a-f-]{36})(?P<part>_[0-9a-f-]{36})?\.jsonl"
    r"(?P<packed>\.zst)?"
)

_TOLD = ("content", "summary", "name", "arguments", "input", "output", "message", "action")
"""What items say, by key."""


def find(home: Path) -> Iterator[Found]:
    """One for each thread: where it was set back, the file that was written last goes on."""
    last: dict[str, Found] = {}
    for folder in ("sessions", "archived_sessions"):
        for path in _rollouts((_config(home) / folder).rglob("rollout-*.jsonl*")):
            name = THREAD.fullmatch(path.name)
            found = Found("codex", path, name and name["thread"], path.stat().st_mtime)
            before = last.get(found.id or path.name)
            if before is None or (found.updated_at or 0.0) >= (before.updated_at or 0.0):
                last[found.id or path.name] = found
    yield from last.values()


def place(transcript: Transcript, home: Path) -> Path:
    time = (transcript.created_at or datetime.now(UTC)).astimezone(UTC)
    name = f"rollout-{time:%Y-%m-%dT%H-%M-%S}-{transcript.id}.jsonl"
    return _config(home) / "sessions" / f"{time:%Y/%m/%d}" / name


def resume(transcript: Transcript, path: Path) -> list[str]:
    name = THREAD.fullmatch(path.name)
    return ["codex", "resume", name["thread"] if name else str(transcript.id)]


def rollouts_of(thread: str, beside: Path) -> list[Path]:
    """The files of a thread: in the folder of another rollout, or anywhere in its tree."""
    here = _rollouts(beside.parent.glob(f"rollout-*-{thread}*.jsonl*"))
    if here:
        return here
    tree = next((each for each in beside.parents if each.name == "sessions"), None)
    return _rollouts(tree.rglob(f"rollout-*-{thread}*.jsonl*")) if tree else []


def _rollouts(paths: Iterable[Path]) -> list[Path]:
    """Old ones are packed (Codex 0.156, seen 2026-11)."""
    return sorted(path for path in paths if path.name.endswith((".jsonl", ".jsonl.zst")))


def _config(home: Path) -> Path:
    """`CODEX_HOME` says where, for this user's own home."""
    own = os.environ.get("CODEX_HOME")
    return Path(own) if own and home == Path.home() else home / ".codex"


def said(value: dict[str, Any]) -> Utterance | None:
    """Items alone are history; events say the same again."""
    item = value.get("payload")
    if value.get("type") not in ("response_item", "compacted") or not isinstance(item, dict):
        return None
    told = [item.get(key) for key in _TOLD]
    role = item.get("role") or ("tool" if str(item.get("type")) in OUTPUTS else "assistant")
    return Utterance(role, told, value.get("timestamp"))
