"""The recorded traffic is there, whole, and covers every dialect."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import pytest

from tests.laws.corpus import (
    DIALECT_OF,
    SUFFIX,
    VARIABLE,
    corpus_files,
    corpus_or_skip,
    records,
    records_in,
)
from tests.laws.strategies import DIALECTS

LINE = b"""{"id": "1", "dialect": "%s", "provider": "%s", "source": "a/b", "source_path": "c",
"exchange": 0, "status": 200, "provenance": "recorded", "request": {"x": 1}}""".replace(b"\n", b"")


def write(folder: Path, wire: str, *lines: bytes) -> None:
    (folder / f"{wire}{SUFFIX}").write_bytes(gzip.compress(b"\n".join(lines)))


def test_every_record_of_the_corpus_is_read() -> None:
    folder = corpus_or_skip()
    kinds = {path.name.removesuffix(SUFFIX) for path in corpus_files(folder)}
    assert kinds == set(DIALECT_OF)
    counts: Counter[str | None] = Counter()
    for path in corpus_files(folder):
        for record in records_in(path):
            assert record.wire == path.name.removesuffix(SUFFIX)
            assert record.response is None or record.stream is None
            counts[record.dialect] += 1
    assert set(counts) - {None} == set(DIALECTS)
    assert all(counts.values())


def test_records_of_one_dialect_come_from_all_its_files(tmp_path: Path) -> None:
    write(tmp_path, "mistral", LINE % (b"mistral", b"mistral"))
    compatible = b"other-openai-compatible"
    lines = [LINE % (compatible, b"groq"), LINE % (compatible, b"openrouter")]
    write(tmp_path, "other-openai-compatible", *lines)
    providers = [record.provider for record in records("openai-chat", tmp_path)]
    assert providers == ["mistral", "groq"]
    assert [record.provider for record in records("openrouter", tmp_path)] == ["openrouter"]
    assert len(list(records(folder=tmp_path))) == 3


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    write(tmp_path, "mistral", LINE % (b"mistral", b"mistral"), b"{")
    with pytest.raises(ValueError, match=r"mistral\.jsonl\.gz, line 2"):
        list(records(folder=tmp_path))


def test_no_folder_is_a_skip_and_an_empty_one_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "missing"))
    with pytest.raises(pytest.skip.Exception, match="no recorded traffic"):
        corpus_or_skip()
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with pytest.raises(pytest.fail.Exception, match="holds no"):
        corpus_or_skip()
