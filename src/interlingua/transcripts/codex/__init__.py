"""Codex: rollouts as JSON Lines of Responses items; a file may go on from another one."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from interlingua.transcripts.codex.history import OUTPUTS
from interlingua.transcripts.codex.read import (
    THREAD,
    detect_file,
    overview_at,
    read_file,
    rollouts_in,
)
from interlingua.transcripts.codex.write import VERSION, append_lines, patch_lines, write_file
from interlingua.transcripts.format import Format, Found, Skipped, Utterance, candidate, tool_folder
from interlingua.transcripts.transcript import Transcript

_SEARCHED = ("content", "summary", "name", "arguments", "input", "output", "message", "action")
"""The texts of items, by key."""


class Codex(Format):
    name = "codex"
    title = "Codex"
    tested = "0.166.0, 2026-11-17"
    file_version = VERSION
    tested_tool = VERSION
    unsupported_fields = ("title", "tools")

    detect = staticmethod(detect_file)
    read = staticmethod(read_file)
    write = staticmethod(write_file)
    patch = staticmethod(patch_lines)
    append = staticmethod(append_lines)
    overview = staticmethod(overview_at)

    def root(self, home: Path) -> Path:
        return tool_folder(home, "CODEX_HOME", ".codex") / "sessions"

    def find(self, home: Path) -> Iterator[Found | Skipped]:
        """One file per thread; if a thread was rolled back, the file that was written last."""
        last: dict[str, Found] = {}
        for folder in ("sessions", "archived_sessions"):
            for path in rollouts_in(
                (tool_folder(home, "CODEX_HOME", ".codex") / folder).rglob("rollout-*.jsonl*")
            ):
                name = THREAD.fullmatch(path.name)
                found = candidate(self.name, path, name and name["thread"])
                if isinstance(found, Skipped):
                    yield found
                    continue
                before = last.get(found.id or path.name)
                if before is None or (found.updated_at or 0.0) >= (before.updated_at or 0.0):
                    last[found.id or path.name] = found
        yield from last.values()

    def place(self, transcript: Transcript, home: Path) -> Path:
        time = (transcript.created_at or datetime.now(UTC)).astimezone(UTC)
        name = f"rollout-{time:%Y-%m-%dT%H-%M-%S}-{transcript.id}.jsonl"
        return self.root(home) / f"{time:%Y/%m/%d}" / name

    def resume(self, transcript: Transcript, path: Path) -> list[str]:
        name = THREAD.fullmatch(path.name)
        return ["codex", "resume", name["thread"] if name else str(transcript.id)]

    def search_text(self, value: dict[str, Any]) -> Utterance | None:
        """Only items are history; events repeat them."""
        item = value.get("payload")
        if value.get("type") not in ("response_item", "compacted") or not isinstance(item, dict):
            return None
        content = [item.get(key) for key in _SEARCHED]
        role = item.get("role") or ("tool" if str(item.get("type")) in OUTPUTS else "assistant")
        return Utterance(role, content, value.get("timestamp"))


FORMATS = (Codex(),)
