"""Files that somebody has changed: whatever a value is, what can be read is read, and nothing but
an error of ours is raised. The files are made-up sessions; the changes are always the same."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

import interlingua as il
from interlingua import transcripts
from interlingua.streams import packed
from interlingua.transcripts import SubAgent, format_of, formats
from tests.transcripts.made import session

WRITTEN = [name for name in formats() if format_of(name).write is not None]
ODD = [None, 7, -1, 1.5, True, "", "x", [], {}, [1], {"a": 1}, [None], [{}], "[", '{"a":1}']
ODD += [{"type": 5}, {"type": "text"}, 10**30]
TRIES = 12


def changed(value: Any, chance: Random, rate: float) -> Any:
    """The same value with some of its parts replaced, or left out."""
    if chance.random() < rate:
        return chance.choice(ODD)
    if isinstance(value, list):
        return [changed(each, chance, rate) for each in value]
    if isinstance(value, dict):
        inside = {key: changed(each, chance, rate) for key, each in value.items()}
        return {key: each for key, each in inside.items() if chance.random() >= rate / 2}
    if isinstance(value, str) and value.startswith(("[{", "{")):
        return json.dumps(changed(json.loads(value), chance, rate))
    return value


def lines_of(data: bytes) -> list[Any]:
    """One value, or one a line."""
    try:
        return [json.loads(data)]
    except ValueError:
        return [json.loads(line) for line in data.split(b"\n") if line]


@pytest.mark.parametrize("name", WRITTEN)
def test_odd_values_are_read_or_refused_with_words(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"session{format_of(name).suffix}"
    transcripts.write(session().replace(subagents=(SubAgent(session(), "toolu_a"),)), path, name)
    values = lines_of(path.read_bytes())
    for number in range(TRIES):
        chance = Random(f"{name}:{number}")
        rate = chance.choice([0.005, 0.02, 0.08])
        odd = tmp_path / f"odd{number}{path.suffix}"
        odd.write_text("\n".join(json.dumps(changed(each, chance, rate)) for each in values))
        try:
            for each in transcripts.read_all(odd, name):
                again = tmp_path / f"again{number}"
                transcripts.write(each.replace(origin=None), again, name)
                again.unlink()
        except il.InterlinguaError:
            continue  # said with words


@pytest.mark.parametrize(
    ("name", "key"), [("pi", "parentId"), ("claude-code", "parentUuid"), ("copilot", "parentId")]
)
def test_a_circle_is_cut_where_it_closes(name: str, key: str, tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    transcripts.write(session(), path, name)
    lines = lines_of(path.read_bytes())
    own = "uuid" if key == "parentUuid" else "id"
    for line in lines:
        line[key] = line.get(own)
    lines[-1][key] = lines[1][own]
    lines[1][key] = lines[-1][own]
    path.write_text("\n".join(map(json.dumps, lines)))
    assert transcripts.read(path, name).messages


@pytest.mark.parametrize("mark", [b"\x28\xb5\x2f\xfd", b"\x1f\x8b"])
def test_a_compressed_session_that_is_broken_is_reported(tmp_path: Path, mark: bytes) -> None:
    path = tmp_path / "rollout.jsonl.zst"
    path.write_bytes(mark + b"\x00" * 40)
    with pytest.raises(il.InterlinguaError):
        transcripts.read(path)


@pytest.mark.parametrize("suffix", [".zst", ".gz"])
def test_a_compressed_session_is_read_and_goes_home_unpacked(tmp_path: Path, suffix: str) -> None:
    plain = tmp_path / "rollout.jsonl"
    transcripts.write(session(), plain, "codex")
    path = tmp_path / f"packed.jsonl{suffix}"
    path.write_bytes(packed.packed(plain.read_bytes(), path.name))
    assert transcripts.detect(path).format == "codex"
    read = transcripts.read(path)
    assert read.messages == transcripts.read(plain).messages
    transcripts.write(read, tmp_path / "home.jsonl", "codex")
    assert (tmp_path / "home.jsonl").read_bytes() == plain.read_bytes()


def test_a_zst_session_without_the_package_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rollout.jsonl.zst"
    path.write_bytes(packed.packed(b"{}\n", path.name))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(il.MissingExtraError, match=r"interlingua\[zstd\]"):
        transcripts.read(path)


def test_codex_finds_its_packed_sessions(tmp_path: Path) -> None:
    day = tmp_path / ".codex" / "sessions" / "2026" / "03" / "01"
    day.mkdir(parents=True)
    thread = "0199d0b6-0000-7000-8000-000000000001"
    path = day / f"rollout-2026-03-01T12-00-00-{thread}.jsonl.zst"
    transcripts.write(session(), tmp_path / "plain.jsonl", "codex")
    path.write_bytes(packed.packed((tmp_path / "plain.jsonl").read_bytes(), path.name))
    [found] = [each for each in transcripts.find(tmp_path) if each.format == "codex"]
    assert (found.id, found.path) == (thread, path)
