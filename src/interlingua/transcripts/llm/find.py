"""Where llm keeps its log."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from interlingua.errors import InterlinguaError
from interlingua.transcripts.format import Found
from interlingua.transcripts.llm.read import NAME, threads_of


def find(home: Path) -> Iterator[Found]:
    """Its threads; a log of older versions, or none of llm's, has no threads that can be told."""
    path = _config(home) / "logs.db"
    if not path.is_file():
        return
    try:
        threads = threads_of(path)
    except InterlinguaError:
        return
    changed = path.stat().st_mtime
    for name, time in threads:
        yield Found(NAME, path, name, time.timestamp() if time else changed)


def _config(home: Path) -> Path:
    """`LLM_USER_PATH` says where, for this user's own home."""
    own = os.environ.get("LLM_USER_PATH")
    if own and home == Path.home():
        return Path(own)
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "io.datasette.llm"
    return home / ".config" / "io.datasette.llm"
