"""Claude Code: a file of JSON Lines a session, a tree by `parentUuid`, helpers in files beside."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from interlingua.transcripts.claude_code.read import detect_file, overview_at, read_file, variant_of
from interlingua.transcripts.claude_code.write import VERSION, append_lines, patch_lines, write_file
from interlingua.transcripts.format import Format, Found, Skipped, Utterance, candidate, tool_folder
from interlingua.transcripts.transcript import Transcript


def _dashes(match: re.Match[str]) -> str:
    """One for each code unit, as JavaScript counts characters."""
    return "-" * (len(match[0].encode("utf-16-le", "surrogatepass")) // 2)


class ClaudeCode(Format):
    name = "claude-code"
    title = "Claude Code"
    tested = "2.1.325, 2026-11-17"
    file_version = VERSION
    tested_tool = VERSION
    unsupported_fields = ("title", "tools")

    detect = staticmethod(detect_file)
    read = staticmethod(read_file)
    write = staticmethod(write_file)
    patch = staticmethod(patch_lines)
    append = staticmethod(append_lines)
    variant = staticmethod(variant_of)
    overview = staticmethod(overview_at)

    def root(self, home: Path) -> Path:
        return tool_folder(home, "CLAUDE_CONFIG_DIR", ".claude") / "projects"

    def find(self, home: Path) -> Iterator[Found | Skipped]:
        for path in sorted(self.root(home).glob("*/*.jsonl")):
            yield candidate(self.name, path, path.stem)

    def place(self, transcript: Transcript, home: Path) -> Path:
        """The folder is named after the working folder, all but letters and digits as dashes."""
        folder = re.sub("[^A-Za-z0-9]", _dashes, transcript.folder or str(Path.cwd()))
        return self.root(home) / folder / f"{transcript.id}.jsonl"

    def resume(self, transcript: Transcript, path: Path) -> list[str]:
        return ["claude", "--resume", path.stem]

    def search_text(self, value: dict[str, Any]) -> Utterance | None:
        """A line's text that the model sees or has written."""
        message = value.get("message")
        if value.get("type") not in ("user", "assistant") or not isinstance(message, dict):
            return None
        return Utterance(value["type"], message.get("content"), value.get("timestamp"))


FORMATS = (ClaudeCode(),)
