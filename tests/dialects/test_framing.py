"""Bytes to frames and back, for every framing, however the bytes are cut."""

import json
from typing import Any

import pytest
from hypothesis import given

from interlingua.dialects.framing import decoder, encoder
from interlingua.streams.frames import Frame
from tests.streams.cutting import OBJECTS, frames_of


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf", b"\r\n "])
@pytest.mark.parametrize("size", [1, 2, 1000])
@pytest.mark.parametrize(
    "data", [b'[{"a": 1},\r\n{"b": 2}]', b'data: {"a": 1}\n\ndata: {"b": 2}\n\n']
)
def test_gemini_sends_events_or_an_array(data: bytes, size: int, mark: bytes) -> None:
    if mark == b"\r\n " and data[:1] == b"d":
        mark = b"\r\n"  # a space would be a part of the first line
    data = mark + data
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    assert frames_of(decoder("gemini"), pieces) == [
        Frame(None, '{"a": 1}'),
        Frame(None, '{"b": 2}'),
    ]


@pytest.mark.parametrize("dialect", ["gemini", "ollama"])
@given(value=OBJECTS)
def test_frames_for_clients_that_end_lines_at_any_mark_are_one_line(
    dialect: str, value: dict[str, Any]
) -> None:
    value["marks"] = "a\u2028b\u2029c\x85d"
    encoded = encoder(dialect)(Frame(None, json.dumps(value, ensure_ascii=False)))
    assert len(encoded.decode().rstrip("\n").splitlines()) == 1
    (frame,) = decoder(dialect).feed(encoded)
    assert json.loads(frame.data) == value
