"""Files that somebody has changed: whatever a value is, what can be read is read, and nothing but
an error of ours is raised. The files are made-up sessions; the changes are always the same."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

import interlingua as il
from interlingua import transcripts
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


@pytest.mark.parametrize(
    ("mark", "how"), [(b"\x28\xb5\x2f\xfd", "zstd -d"), (b"\x1f\x8b", "gunzip")]
)
def test_a_compressed_session_is_named_with_how_to_unpack_it(
    tmp_path: Path, mark: bytes, how: str
) -> None:
    path = tmp_path / "rollout.jsonl.zst"
    path.write_bytes(mark + b"\x00" * 40)
    with pytest.raises(transcripts.TranscriptError, match=how):
        transcripts.read(path)
