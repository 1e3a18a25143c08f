"""The laws of transcripts over real session files."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from uuid import uuid4

import pytest

import interlingua as il
from interlingua import transcripts
from interlingua.model.blocks import ToolResultBlock, ToolUseBlock
from interlingua.transcripts import Transcript, TranscriptError, format_of, formats
from tests.effort import PART, THOROUGH
from tests.transcripts.facts import as_indexed, differences, facts_of
from tests.transcripts.samples import NO_SAMPLES, Sample, each_sample, samples


@each_sample(*formats())
def test_a_file_is_recognised(sample: Sample) -> None:
    assert transcripts.detect(sample.path).format == sample.format


@each_sample(*formats())
def test_the_facts_of_a_session_are_found(sample: Sample) -> None:
    transcript = transcripts.read(sample.path)
    if sample.facts is not None:
        odd = differences(as_indexed(facts_of(transcript), transcript), sample.facts)
        if sample.format == "gemini-cli":
            odd.pop("images", None)  # the index leaves out pictures beside results
        assert odd == {}


@each_sample(*formats())
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


@each_sample(*formats())
def test_a_session_that_is_written_anew_is_read_as_it_was(sample: Sample, tmp_path: Path) -> None:
    transcript = transcripts.read(sample.path)
    target = tmp_path / sample.path.name
    if format_of(sample.format).write is None:
        with pytest.raises(TranscriptError, match="can be read, but not written"):
            transcripts.write(transcript.replace(origin=None), target, sample.format)
        return
    transcripts.write(transcript.replace(origin=None), target, sample.format)
    again = transcripts.read(target)
    assert [il.dumps(each) for each in again.messages] == [
        il.dumps(each) for each in transcript.messages
    ]


AGENTS = [name for name in formats() if format_of(name).resume is not None]
TRAVELS = [
    pytest.param(sample, abroad, id=f"{sample.id}-{abroad}")
    for number, sample in enumerate(samples(*AGENTS))
    for place, abroad in enumerate(AGENTS)
    if THOROUGH or (number + place) % PART == 0
]
"""In the gate a session travels by one tool in three, and the sessions of a format by all."""


@pytest.mark.skipif(not TRAVELS, reason=NO_SAMPLES)
@pytest.mark.parametrize(("sample", "abroad"), TRAVELS)
def test_what_was_carried_by_another_tool_comes_back(
    sample: Sample, abroad: str, tmp_path: Path
) -> None:
    transcript = _read(sample.path)
    there = tmp_path / f"{uuid4()}.jsonl"
    transcripts.write(transcript.replace(origin=None), there, abroad)
    back = tmp_path / f"{uuid4()}.jsonl"
    transcripts.write(transcripts.read(there).replace(origin=None), back, sample.format)
    again = transcripts.read(back)
    assert _signed(again) == _signed(transcript)
    assert sorted(_named(again)) == sorted(_named(transcript))


_read = lru_cache(maxsize=1)(transcripts.read)
"""A session that travels by each of the tools is read once."""


def _signed(transcript: Transcript) -> list[str]:
    blocks = (block for message in transcript.messages for block in message.content)
    return [each.signature for each in blocks if getattr(each, "signature", None)]


def _named(transcript: Transcript) -> list[str]:
    calls = (block for m in transcript.messages for block in m.content)
    return [
        each.id if isinstance(each, ToolUseBlock) else each.tool_use_id
        for each in calls
        if isinstance(each, ToolUseBlock | ToolResultBlock)
    ]
