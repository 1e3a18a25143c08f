"""Copilot CLI: a folder a session, with its events as JSON Lines; those of helpers are between
them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from interlingua.transcripts.copilot.read import EVENTS, VERSION, detect_file, read_file
from interlingua.transcripts.copilot.write import append_lines, patch_lines, write_file
from interlingua.transcripts.format import Format, Found, Skipped, Utterance, candidate, tool_folder
from interlingua.transcripts.transcript import Transcript

_SPEAKERS = {
    "user.message": "user",
    "assistant.message": "assistant",
    "tool.execution_complete": "tool",
    "system.message": "system",
    "system.notification": "system",
    "session.compaction_complete": "system",
}
_SEARCHED = ("content", "reasoningText", "toolRequests", "error", "summaryContent")
"""The texts of events, by key."""


class Copilot(Format):
    name = "copilot"
    title = "Copilot CLI"
    tested = "1.0.102, 2026-11-17"
    tested_tool = VERSION
    unsupported_fields = ("tools",)

    detect = staticmethod(detect_file)
    read = staticmethod(read_file)
    write = staticmethod(write_file)
    patch = staticmethod(patch_lines)
    append = staticmethod(append_lines)

    def root(self, home: Path) -> Path:
        return tool_folder(home, "COPILOT_HOME", ".copilot") / "session-state"

    def find(self, home: Path) -> Iterator[Found | Skipped]:
        for path in sorted(each / EVENTS for each in self.root(home).glob("*")):
            if os.path.lexists(path):
                yield candidate(self.name, path, path.parent.name)

    def place(self, transcript: Transcript, home: Path) -> Path:
        return self.root(home) / str(transcript.id) / EVENTS

    def resume(self, transcript: Transcript, path: Path) -> list[str]:
        return ["copilot", f"--resume={path.parent.name}"]

    def search_text(self, value: dict[str, Any]) -> Utterance | None:
        """Messages, results and summaries."""
        role, data = _SPEAKERS.get(str(value.get("type"))), value.get("data")
        if role is None or not isinstance(data, dict):
            return None
        result = data.get("result")
        shown = result.get("content") if isinstance(result, dict) else None
        content = [shown, *(data.get(key) for key in _SEARCHED)]
        return Utterance(role, content, value.get("timestamp"))


FORMATS = (Copilot(),)
