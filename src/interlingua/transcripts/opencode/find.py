"""Where OpenCode keeps its sessions, and how it is asked to go on with one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from interlingua.transcripts.format import Found
from interlingua.transcripts.opencode.database import sessions_of
from interlingua.transcripts.opencode.read import NAME
from interlingua.transcripts.opencode.write import session_id
from interlingua.transcripts.transcript import Transcript


def find(home: Path) -> Iterator[Found]:
    path = _data(home) / "opencode" / "opencode.db"
    for name, time in sessions_of(path) if path.is_file() else ():
        yield Found(NAME, path, name, time)


def place(transcript: Transcript, home: Path) -> Path:
    """Sessions live in a database, which is the tool's own: an export is put beside what this
    package keeps, and the tool imports it."""
    return _data(home) / "interlingua" / "opencode" / f"{session_id(transcript)}.json"


def bring(path: Path) -> list[str]:
    return ["opencode", "import", str(path)]


def resume(transcript: Transcript, path: Path) -> list[str]:
    return ["opencode", "--session", session_id(transcript)]


def _data(home: Path) -> Path:
    """`XDG_DATA_HOME` says where, for this user's own home."""
    own = os.environ.get("XDG_DATA_HOME", "")
    return Path(own) if os.path.isabs(own) and home == Path.home() else home / ".local" / "share"
