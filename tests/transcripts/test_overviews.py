"""The overview of a session says what reading it says."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from bench.agents import AGENTS
from interlingua import transcripts
from interlingua.cli.resume import cost_of_answer
from interlingua.model.metadata import Usage
from interlingua.transcripts import Found, format_of
from interlingua.transcripts.prices import Prices
from interlingua.transcripts.sessions import Hit, Overviews, here, hits_in, look, overviews
from interlingua.transcripts.transcript import Overview, overview_of
from tests.transcripts.made import session
from tests.transcripts.samples import Sample, each_sample

QUICK = [name for name in transcripts.formats() if format_of(name).overview is not None]


def looked(path: Path, format: str) -> Overview | None:
    overview = format_of(format).overview
    return overview(path, None) if overview is not None else None


@each_sample(*QUICK)
def test_an_overview_says_what_reading_says(sample: Sample) -> None:
    found = looked(sample.path, sample.format)
    assert found is None or found == overview_of(transcripts.read(sample.path, sample.format))


@pytest.mark.parametrize("format", QUICK)
def test_plain_sessions_are_not_read_whole_for_their_overview(format: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"".join(AGENTS[format](20, 7)))
    read = transcripts.read(path, format)
    assert looked(path, format) == overview_of(read)
    assert len(read.messages) >= 80
    assert read.usage.output_tokens


_opened: Counter[str] = Counter()


def _count_opening(event: str, values: tuple[object, ...]) -> None:
    # `os.open` has no mode: `open` with an opener would be counted twice.
    if event == "open" and values[1] is not None:
        _opened[str(values[0])] += 1


sys.addaudithook(_count_opening)


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("format", [name for name in AGENTS if name != "opencode"])
def test_a_file_is_opened_once_to_be_listed_searched_or_read(
    format: str, kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, home, cache = tmp_path / "a.jsonl", tmp_path / "home", tmp_path / "cache"
    made.write_bytes(b"".join(AGENTS[format](1, 0)))
    transcript, of = transcripts.read(made, format), format_of(format)
    assert of.place is not None
    path = of.place(transcript, home)
    path.parent.mkdir(parents=True)
    made.rename(path)
    monkeypatch.setattr(Overviews, "least", 0 if kept else 1 << 20)
    known = Overviews(Prices(), cache)
    _opened.clear()
    for at_most in (1, 1 if kept else 2):
        [(found, listed)] = overviews(here(home, named=False), known.of)
        assert not isinstance(listed, str)
        assert listed.overview.id == transcript.id
        assert _opened[str(path)] == at_most
    assert cache.exists() is kept
    _opened.clear()
    [hit] = hits_in(found, "Turn 0.")
    assert isinstance(hit, Hit)
    assert hit.session == transcript.id
    assert _opened[str(path)] == 1
    _opened.clear()
    assert len(transcripts.read(path, format).messages) == len(transcript.messages)
    assert _opened[str(path)] == 1
    assert [each.id for each in here(home)] == [transcript.id]


@pytest.mark.parametrize("format", list(AGENTS))
def test_made_up_files_are_read_whole(format: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{format_of(format).suffix}"
    path.write_bytes(b"".join(AGENTS[format](3, 7)))
    assert transcripts.detect(path).format == format
    read = transcripts.read(path)
    assert not read.report.entries
    assert sum(len(message.tool_calls) for message in read.messages) == 3


@pytest.mark.parametrize("format", QUICK)
def test_notes_of_another_tool_are_read(format: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    transcripts.write(session(), path, format)
    assert looked(path, format) is None
    assert look(Found(format, path)).messages == len(session().messages)


@pytest.mark.parametrize("format", QUICK)
def test_damaged_files_are_looked_at_as_they_are_read(format: str, tmp_path: Path) -> None:
    whole = b"".join(AGENTS[format](3, 7))
    path = tmp_path / "a.jsonl"
    for cut in range(len(whole) // 2, len(whole), 997):
        path.write_bytes(whole[:cut])
        assert looked(path, format) == overview_of(transcripts.read(path, format))


def test_a_folder_that_cannot_be_written_to_is_no_reason_to_fail(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"".join(AGENTS["pi"](1, 0)))
    in_the_way = tmp_path / "file"
    in_the_way.write_bytes(b"")
    stored = Overviews(Prices(), in_the_way / "cache").of(Found("pi", path))
    assert (stored.overview.messages, stored.unpriced) == (4, 0)


@pytest.mark.parametrize("format", list(AGENTS))
def test_a_sum_of_costs_is_the_sum_of_the_costs(format: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"".join(AGENTS[format](9, 7)))
    prices = Prices()
    answers = look(Found(format, path)).answers
    costs = [cost_of_answer(answer, prices.table) for answer in answers]
    assert prices(answers) == (sum(cost for cost in costs if cost is not None), 0)
    odd = [msgspec.structs.replace(each, model="acme:odd", usage=Usage(1, 2)) for each in answers]
    assert prices(odd) == (None, len(odd))
    assert prices((*answers, *odd)) == (prices(answers)[0], len(odd))
