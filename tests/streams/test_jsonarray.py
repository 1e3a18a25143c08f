"""One JSON array whose items arrive one by one."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from interlingua.streams import jsonarray
from interlingua.streams.frames import Frame
from tests.streams.cutting import OBJECTS, cut, frames_of


@given(st.lists(OBJECTS, max_size=5), st.lists(st.integers(0), max_size=9))
def test_items_of_an_array_come_back_however_they_are_cut(
    objects: list[Any], places: list[int]
) -> None:
    encoder = jsonarray.Encoder()
    frames = [Frame(None, json.dumps(each, ensure_ascii=False)) for each in objects]
    data = b"".join(map(encoder.feed, frames)) + encoder.close()
    assert json.loads(data) == objects
    assert frames_of(jsonarray.Decoder(), cut(data, places)) == frames
