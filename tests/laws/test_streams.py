"""The laws of streams: over generated answers, and over recorded streams where they are there.

All recorded streams with all laws are `make laws`; here it is a part of them.
"""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import pytest
from hypothesis import given, settings

import interlingua as il
from interlingua.streams.fold import fold
from interlingua.streams.frames import Frame
from tests.laws import laws, streams, strategies

DIALECTS = il.dialects()
PAIRS = list(permutations(DIALECTS, 2))


def streamed(response: il.Response, name: str) -> list[Frame]:
    """A generated answer as a stream of this dialect."""
    dialect = il.dialect(name)
    return streams.write(dialect, il.unfold(il.retell(response, dialect).value))


@pytest.mark.parametrize(("source", "target"), PAIRS)
@given(response=strategies.responses())
@settings(max_examples=40)
def test_to_translate_a_stream_and_fold_is_to_fold_and_translate(
    source: str, target: str, response: il.Response
) -> None:
    assert streams.square(source, target, streamed(response, source)) == []


@pytest.mark.parametrize("name", DIALECTS)
@given(response=strategies.responses())
@settings(max_examples=60)
def test_the_same_answer_streamed_and_whole_agree(name: str, response: il.Response) -> None:
    dialect = il.dialect(name)
    told = il.retell(response, dialect).value
    writer = dialect.stream_writer()
    frames = [frame for event in il.unfold(told) for frame in writer.feed(event)]
    frames += writer.close()
    written = dialect.write_response(told)
    whole = dialect.read_response(written.json())
    assert streams.unlike(fold(streams.read(dialect, frames)), whole) == []
    if told.error is None:
        said = Counter((loss.kind, loss.path) for loss in writer.report)
        assert said == Counter((loss.kind, loss.path) for loss in written.report)


@pytest.mark.parametrize("name", DIALECTS)
@given(response=strategies.responses())
@settings(max_examples=60)
def test_a_stream_that_was_written_goes_home_and_folds(name: str, response: il.Response) -> None:
    frames = streamed(response, name)
    assert streams.home(il.dialect(name), frames) == []
    assert streams.folds(il.dialect(name), frames) == []
