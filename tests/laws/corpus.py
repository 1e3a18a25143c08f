"""Recorded traffic of providers: one JSON object a line, one compressed file per kind of wire.

The folder lies beside the repository and is no part of it; `INTERLINGUA_CORPUS` names another.
Tests ask `corpus_or_skip`: no folder is a skip, a folder without records is a failure.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

VARIABLE = "INTERLINGUA_CORPUS"
BESIDE = Path(__file__).parents[3] / "shared" / "corpus"
SUFFIX = ".jsonl.gz"

DIALECT_OF: dict[str, str | None] = {
    "anthropic-messages": "anthropic",
    "bedrock-converse": "bedrock",
    "cohere": "cohere",
    "gemini": "gemini",
    "gemini-interactions": "gemini-interactions",
    "mistral": "openai-chat",
    "ollama-chat": "ollama",
    "openai-chat": "openai-chat",
    "openai-responses": "openai-responses",
    "other-openai-compatible": "openai-chat",
}
"""The recording's word for a wire to the dialect that reads it; None is not covered yet."""

PROVIDER_DIALECTS: dict[tuple[str, str], str] = {
    ("other-openai-compatible", "openrouter"): "openrouter",
}
"""Providers whose traffic of one kind has a dialect of its own."""


class RecordedFrame(msgspec.Struct, frozen=True):
    """One step of a stream: `data` is parsed JSON, or text such as `[DONE]`."""

    event: str | None = None
    data: Any = None


class Record(msgspec.Struct, frozen=True, rename={"wire": "dialect"}):
    """One HTTP exchange. `wire` is the recording's word, `dialect` ours."""

    id: str
    wire: str
    provider: str
    source: str
    source_path: str
    exchange: int
    status: int
    provenance: str
    endpoint: str | None = None
    model: str | None = None
    framing: str | None = None
    request: Any = None
    response: Any = None
    stream: list[RecordedFrame] | None = None
    features: list[str] = []

    @property
    def dialect(self) -> str | None:
        """The dialect that reads it, None where none does."""
        own = PROVIDER_DIALECTS.get((self.wire, self.provider))
        return own or DIALECT_OF[self.wire]

    @property
    def accepted(self) -> bool:
        """The provider took the request; refusing to read it would be our failure."""
        return self.status == 200

    def __str__(self) -> str:
        return f"{self.id} ({self.wire}, {self.source}/{self.source_path} #{self.exchange})"


_decoder = msgspec.json.Decoder(Record)


def corpus_folder() -> Path:
    return Path(os.environ.get(VARIABLE) or BESIDE)


def corpus_files(folder: Path | None = None) -> list[Path]:
    return sorted((folder or corpus_folder()).glob(f"*{SUFFIX}"))


def records_in(path: Path) -> Iterator[Record]:
    """The records of one file, read one at a time."""
    with gzip.open(path, "rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                yield _decoder.decode(line)
            except msgspec.MsgspecError as error:
                raise ValueError(f"{path.name}, line {number}: {error}") from error


def records(dialect: str | None = None, folder: Path | None = None) -> Iterator[Record]:
    """All records that some dialect reads, or those of one dialect."""
    for path in corpus_files(folder):
        wire = path.name.removesuffix(SUFFIX)
        if dialect is not None and dialect not in _dialects_in(wire):
            continue
        for record in records_in(path):
            if record.dialect is not None and dialect in (None, record.dialect):
                yield record


def _dialects_in(wire: str) -> set[str | None]:
    """The dialects that a file may hold records of."""
    own = {dialect for (kind, _), dialect in PROVIDER_DIALECTS.items() if kind == wire}
    return {DIALECT_OF[wire], *own}


def corpus_or_skip() -> Path:
    """The folder; skips the test where there is none, fails it where it holds nothing."""
    folder = corpus_folder()
    if not folder.is_dir():
        pytest.skip(f"no recorded traffic: {VARIABLE} or a folder shared/corpus names none")
    if not corpus_files(folder):
        pytest.fail(f"the folder for recorded traffic is there and holds no *{SUFFIX} file")
    return folder
