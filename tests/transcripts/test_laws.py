"""The laws of transcripts over real session files."""

from __future__ import annotations

from pathlib import Path

import interlingua as il
from interlingua import transcripts
from tests.transcripts.facts import differences, facts_of
from tests.transcripts.samples import Sample, each_sample


@each_sample("claude-code")
def test_a_file_is_recognised(sample: Sample) -> None:
    assert transcripts.detect(sample.path).format == sample.format


@each_sample("claude-code")
def test_the_facts_of_a_session_are_found(sample: Sample) -> None:
    transcript = transcripts.read(sample.path)
    if sample.facts is not None:
        assert differences(facts_of(transcript), sample.facts) == {}


@each_sample("claude-code")
def test_a_session_goes_home_byte_for_byte(sample: Sample, tmp_path: Path) -> None:
    transcript = transcripts.read(sample.path)
    target = tmp_path / sample.path.name
    transcripts.write(transcript, target, sample.format)
    assert target.read_bytes() == sample.path.read_bytes()
    beside = sample.path.with_suffix("")
    for file in beside.rglob("*") if beside.is_dir() else ():
        if file.is_file():
            copy = tmp_path / file.relative_to(sample.path.parent)
            assert copy.read_bytes() == file.read_bytes()


@each_sample("claude-code")
def test_a_session_that_is_written_anew_is_read_as_it_was(sample: Sample, tmp_path: Path) -> None:
    transcript = transcripts.read(sample.path)
    target = tmp_path / sample.path.name
    transcripts.write(transcript.replace(origin=None), target, sample.format)
    again = transcripts.read(target)
    assert [il.dumps(each) for each in again.messages] == [
        il.dumps(each) for each in transcript.messages
    ]
