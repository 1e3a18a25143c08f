"""The law of Parquet: canonical to Parquet to canonical is the same value, byte for byte."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import interlingua as il
from interlingua import transcripts
from interlingua.bulk import arrow
from interlingua.bulk.arrow.parts import TranscriptRest, apart
from interlingua.transcripts import Transcript, formats
from tests.effort import examples
from tests.laws import filled
from tests.laws.corpus import corpus_or_skip
from tests.laws.parquet import differing, recorded, through_parquet
from tests.laws.strategies import DIALECTS, requests, responses
from tests.transcripts.samples import Sample, each_sample

EACH = 5
"""Every fifth body here; `make laws` takes all of them."""


@pytest.mark.parametrize("dialect", DIALECTS)
def test_recorded_traffic_comes_back_from_parquet_byte_for_byte(dialect: str) -> None:
    corpus_or_skip()
    values = list(recorded(dialect, EACH))
    assert values
    assert differing(values) == []


@settings(max_examples=examples(20), deadline=None)
@given(st.lists(st.one_of(requests(with_raw=True), responses(with_raw=True)), max_size=3))
def test_generated_values_come_back_byte_for_byte(values: list[Any]) -> None:
    assert differing(values) == []


def test_values_of_which_every_field_is_filled_come_back() -> None:
    values = [*filled.requests(), *filled.responses()]
    assert differing(values) == []


@each_sample(*formats())
def test_transcripts_come_back_but_for_where_their_files_lay(sample: Sample) -> None:
    transcript = transcripts.read(sample.path)
    [back] = through_parquet([transcript])
    assert told(back) == told(transcript)
    assert back.report.entries == transcript.report.entries
    assert back.origin is None


def told(transcript: Transcript) -> tuple[Any, TranscriptRest]:
    """A transcript in a form that can be compared; its report cannot."""
    messages, rest = apart(transcript)
    return [il.dumps(message) for message in messages], rest


def test_a_table_of_no_rows_is_a_table() -> None:
    assert list(arrow.to_batches([])) == []
    assert list(arrow.from_batches(arrow.SCHEMA.empty_table())) == []
    assert isinstance(arrow.SCHEMA.empty_table(), pa.Table)
