"""Server-sent events: bytes to frames and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.errors import WriteError
from interlingua.streams import sse
from interlingua.streams.frames import Frame
from tests.streams.cutting import NAMES, TEXTS, cut, frames_of


@given(
    st.lists(st.tuples(st.none() | NAMES, TEXTS), max_size=5), st.lists(st.integers(0), max_size=9)
)
def test_server_sent_events_come_back_however_they_are_cut(
    given_frames: list[tuple[str | None, str]], places: list[int]
) -> None:
    frames = [Frame(event, data) for event, data in given_frames]
    data = b"".join(map(sse.encode, frames))
    back = frames_of(sse.Decoder(), cut(data, places))
    assert [frame.event for frame in back] == [frame.event for frame in frames]
    for frame, again in zip(frames, back, strict=True):
        assert again.data == frame.data.replace("\r\n", "\n").replace("\r", "\n")


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_all_line_ends_and_all_pieces_give_the_same_frames(end: bytes, size: int) -> None:
    lines = [b"\xef\xbb\xbf: hello", b"", b"event: a", b"id: 7", b"data: one", b"data:two", b""]
    lines += [b"retry: 3", b"", b"data", b"", b"data: \xe2\x82\xac", b"", b""]
    data = end.join(lines)
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    expected = [Frame("a", "one\ntwo"), Frame(None, ""), Frame(None, "€")]
    assert frames_of(sse.Decoder(), pieces) == expected


def test_an_event_without_its_blank_line_counts_only_when_its_line_is_whole() -> None:
    assert frames_of(sse.Decoder(), [b"data: [DONE]\n"]) == [Frame(None, "[DONE]")]
    assert frames_of(sse.Decoder(), [b"data: [DONE]"]) == []


@pytest.mark.parametrize("name", ["a\nb", "a\rb", "a\0b", "\n\ndata: forged"])
def test_no_event_name_can_smuggle_a_line(name: str) -> None:
    with pytest.raises(WriteError, match="event"):
        sse.encode(Frame(name, "x"))


@given(TEXTS)
def test_no_data_can_forge_an_event(text: str) -> None:
    back = frames_of(sse.Decoder(), [sse.encode(Frame("real", text))])
    assert [frame.event for frame in back] == ["real"]


BLOCKS = [
    *(b"data: a\n\n", b"event: x\ndata: b\n\n", b": c\n\n", b"data: a\ndata: b\n\n", b"\n"),
    *(b"xdata: q\n\n", b"id: 3\ndata: z\n\n", b"event:x\ndata:y\n\n", b"data:\n\n", b"data: \n\n"),
    *(b"event: \ndata: k\n\n", b"event: only\n\n", b"event: a\nevent: b\ndata: c\n\n"),
    *(b"data: x\nevent: late\n\n", b"data: c\r\n\r\n", b"retry: 5\n", b"data: \xe2\x80\xa8u\n\n"),
]


@given(blocks=st.lists(st.sampled_from(BLOCKS), min_size=1, max_size=8))
def test_events_read_at_once_are_those_read_one_by_one(blocks: list[bytes]) -> None:
    data = b"".join(blocks)
    at_once, one_by_one = sse.Decoder(), sse.Decoder()
    slowly = [frame for byte in data for frame in one_by_one.feed(bytes([byte]))]
    assert [*at_once.feed(data), *at_once.close()] == [*slowly, *one_by_one.close()]
