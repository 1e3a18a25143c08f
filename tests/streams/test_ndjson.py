"""Newline-delimited JSON: bytes to frames and back."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from interlingua.streams import ndjson
from interlingua.streams.frames import Frame
from tests.streams.cutting import OBJECTS, cut, frames_of


@given(st.lists(OBJECTS, max_size=5), st.lists(st.integers(0), max_size=9))
def test_lines_of_json_come_back_however_they_are_cut(
    objects: list[Any], places: list[int]
) -> None:
    frames = [Frame(None, json.dumps(each, ensure_ascii=False)) for each in objects]
    data = b"".join(map(ndjson.encode, frames))
    assert frames_of(ndjson.Decoder(), cut(data, places)) == frames


def test_a_last_line_without_its_end_counts_when_it_is_whole() -> None:
    assert frames_of(ndjson.Decoder(), [b'{"a":1}\r\n\n{"b":2}']) == [
        Frame(None, '{"a":1}'),
        Frame(None, '{"b":2}'),
    ]
    assert frames_of(ndjson.Decoder(), [b'{"a":1}\n{"b":"}']) == [Frame(None, '{"a":1}')]
