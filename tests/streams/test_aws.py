"""AWS event streams: bytes to frames and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.errors import ReadError
from interlingua.streams import aws
from interlingua.streams.frames import Frame
from tests.streams.cutting import NAMES, TEXTS, cut, frames_of


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
