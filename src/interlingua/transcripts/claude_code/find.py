"""Where Claude Code keeps its sessions, and how it is asked to go on with one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from interlingua.transcripts.format import Found, Utterance
from interlingua.transcripts.transcript import Transcript

NAME = "claude-code"


def find(home: Path) -> Iterator[Found]:
    for path in sorted((_config(home) / "projects").glob("*/*.jsonl")):
        yield Found(NAME, path, path.stem, path.stat().st_mtime)


def place(transcript: Transcript, home: Path) -> Path:
    """The folder is named after the working folder, all but letters and digits as dashes."""
    folder = re.sub("[^A-Za-z0-9]", _dashes, transcript.folder or str(Path.cwd()))
    return _config(home) / "projects" / folder / f"{transcript.id}.jsonl"


def _dashes(match: re.Match[str]) -> str:
    """One for each code unit, as JavaScript counts characters."""
    return "-" * (len(match[0].encode("utf-16-le", "surrogatepass")) // 2)


def resume(transcript: Transcript, path: Path) -> list[str]:
    return ["claude", "--resume", path.stem]


def _config(home: Path) -> Path:
    """`CLAUDE_CONFIG_DIR` says where, for this user's own home."""
    own = os.environ.get("CLAUDE_CONFIG_DIR")
    return Path(own) if own and home == Path.home() else home / ".claude"


def said(value: dict[str, Any]) -> Utterance | None:
    """What a line says to the model or is its answer."""
    message = value.get("message")
    if value.get("type") not in ("user", "assistant") or not isinstance(message, dict):
        return None
    return Utterance(value["type"], message.get("content"), value.get("timestamp"))
