"""Session files with facts about each, where they are there: a folder `shared/transcripts` beside
the repository, or `INTERLINGUA_TRANSCRIPTS`. They are never copied into the project."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = Path(os.environ.get("INTERLINGUA_TRANSCRIPTS", ROOT.parent / "shared" / "transcripts"))
NO_SAMPLES = f"no session files in {FOLDER.name}; INTERLINGUA_TRANSCRIPTS names their folder"


class Sample(NamedTuple):
    format: str
    name: str
    path: Path
    facts: dict[str, Any] | None
    resume: Path | None

    @property
    def id(self) -> str:
        return f"{self.format}-{self.name}"


def samples(*formats: str) -> list[Sample]:
    """All samples of these formats (of all, if none is named)."""
    index = FOLDER / "index.jsonl"
    if not index.is_file():
        return []
    found = []
    for line in index.read_bytes().split(b"\n"):
        if line:
            entry = json.loads(line)
            if not formats or entry["format"] in formats:
                resume = entry.get("resume")
                found.append(
                    Sample(
                        entry["format"],
                        entry["name"],
                        FOLDER / entry["file"],
                        entry["facts"],
                        FOLDER / resume if resume else None,
                    )
                )
    return found


def each_sample(*formats: str) -> pytest.MarkDecorator:
    """Runs a test once for each sample; skipped with a word where there are none."""
    found = samples(*formats)
    if not found:
        return pytest.mark.parametrize(
            "sample", [pytest.param(None, marks=pytest.mark.skip(NO_SAMPLES))]
        )
    return pytest.mark.parametrize("sample", found, ids=lambda sample: sample.id)
