"""`interlingua check`."""

from __future__ import annotations

import pytest

from tests.cli.samples import ANSWER, BARE, CUT, PLAIN, STREAM, as_bytes, lines_of, run


@pytest.mark.parametrize(
    "data",
    [STREAM, as_bytes(PLAIN), as_bytes(BARE["openai-chat"])],
    ids=["stream", "request", "messages"],
)
def test_check_takes_streams_and_messages_alone(data: bytes) -> None:
    done = run("check", stdin=data)
    assert done.exit_code == 0, done.output
    assert "1 of 1 unchanged after a round trip" in done.stderr


def test_check_says_that_a_stream_was_cut() -> None:
    done = run("check", stdin=CUT)
    assert done.exit_code == 1
    assert "incomplete: stream ended before the message was complete" in done.stdout


def test_check_takes_lines_as_they_come() -> None:
    done = run("check", stdin=lines_of(PLAIN, ANSWER, {"hello": "world"}))
    assert done.exit_code == 1
    assert "line 3: " in done.stdout
    assert "2 of 3 unchanged after a round trip" in done.stderr
