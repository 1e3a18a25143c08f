"""What all framings share."""

import time
from typing import Any

import pytest

from interlingua.errors import ReadError
from interlingua.streams import jsonarray, ndjson, sse


def feed_all(decoder: Any, pieces: list[bytes]) -> None:
    for piece in pieces:
        decoder.feed(piece)


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
