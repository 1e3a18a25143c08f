"""Bytes to frames and back, for every framing, however the bytes are cut."""

import itertools
import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.dialects.framing import decoder, encoder
from interlingua.errors import ReadError, WriteError
from interlingua.streams import aws, jsonarray, ndjson, sse
from interlingua.streams.frames import Frame

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
OBJECTS = st.dictionaries(TEXTS, TEXTS | st.integers() | st.lists(TEXTS, max_size=2), max_size=3)
NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=10)


def frames_of(decoder: Any, pieces: list[bytes]) -> list[Frame]:
    found = [frame for piece in pieces for frame in decoder.feed(piece)]
    return found + decoder.close()


def feed_all(decoder: Any, pieces: list[bytes]) -> None:
    for piece in pieces:
        decoder.feed(piece)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    at = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[a:b] for a, b in itertools.pairwise(at)]


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


@given(st.lists(OBJECTS, max_size=5), st.lists(st.integers(0), max_size=9))
def test_items_of_an_array_come_back_however_they_are_cut(
    objects: list[Any], places: list[int]
) -> None:
    encoder = jsonarray.Encoder()
    frames = [Frame(None, json.dumps(each, ensure_ascii=False)) for each in objects]
    data = b"".join(map(encoder.feed, frames)) + encoder.close()
    assert json.loads(data) == objects
    assert frames_of(jsonarray.Decoder(), cut(data, places)) == frames


@given(st.lists(st.tuples(NAMES, TEXTS), max_size=5), st.lists(st.integers(0), max_size=9))
def test_aws_messages_come_back_however_they_are_cut(
    given_frames: list[tuple[str, str]], places: list[int]
) -> None:
    frames = [Frame(event, data) for event, data in given_frames]
    data = b"".join(map(aws.encode, frames))
    assert frames_of(aws.Decoder(), cut(data, places)) == frames


def test_aws_messages_are_those_that_the_official_parser_reads() -> None:
    from botocore.eventstream import EventStreamBuffer

    buffer = EventStreamBuffer()
    buffer.add_data(aws.encode(Frame("messageStart", '{"role":"assistant"}')))
    (message,) = list(buffer)
    assert message.headers[":event-type"] == "messageStart"
    assert message.payload == b'{"role":"assistant"}'


def test_a_damaged_aws_message_is_refused() -> None:
    data = bytearray(aws.encode(Frame("messageStart", "{}")))
    data[-6] ^= 1
    with pytest.raises(ReadError, match="checksum"):
        aws.Decoder().feed(bytes(data))


@pytest.mark.parametrize("end", ["feed", "close"])
def test_aws_messages_before_a_damaged_one_are_read_first(end: str) -> None:
    whole = Frame("messageStart", "{}")
    decoder = aws.Decoder()
    assert decoder.feed(aws.encode(whole) + b"this is no message of AWS") == [whole]
    with pytest.raises(ReadError, match="checksum"):
        decoder.feed(b"") if end == "feed" else decoder.close()


@pytest.mark.parametrize("module", [sse, ndjson, jsonarray])
def test_a_frame_without_end_is_refused_at_its_limit(module: Any) -> None:
    decoder = module.Decoder(limit=1000)
    with pytest.raises(ReadError, match="1000 bytes"):
        feed_all(decoder, [b'{"a":"aaaaaaa'] * 200)


@pytest.mark.parametrize("module", [sse, ndjson, jsonarray])
def test_a_large_frame_in_small_pieces_costs_linear_time(module: Any) -> None:
    def seconds(count: int) -> float:
        decoder = module.Decoder()
        started = time.thread_time()  # a busy machine does not count
        decoder.feed(b'{"a":"')
        for _ in range(count):
            decoder.feed(b"data: xxx\n" if module is sse else b"0123456789")
        return time.thread_time() - started

    seconds(1000)
    small, large = min(seconds(20_000) for _ in range(3)), min(seconds(80_000) for _ in range(3))
    assert large < small * 12


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
