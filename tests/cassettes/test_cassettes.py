"""Cassettes are kept as files that lose no byte, and those that are committed are current."""

from __future__ import annotations

from pathlib import Path

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

import interlingua as il
from interlingua.streams import aws
from tests.cassettes import __main__ as command
from tests.cassettes import audit, cases, cassette
from tests.cassettes.record import record, record_generated
from tests.replay import faults
from tests.replay.exchanges import Exchange
from tests.replay.server import ReplayServer


@pytest.mark.requirement("S002-111")
@pytest.mark.parametrize("dialect", il.dialects())
def test_recording_again_gives_what_is_committed(dialect: str) -> None:
    """A wire format or a writer that changed shows here: record again, review the difference."""
    tapes = record_generated(dialect)
    assert len(tapes) >= 4
    for tape in tapes:
        remaining = (cassette.FOLDER / tape.place).read_bytes()
        assert cassette.to_bytes(tape) == remaining, "run python -m tests.cassettes record"


@pytest.mark.requirement("S002-111")
def test_what_is_committed_has_nothing_wrong_with_it() -> None:
    assert audit.problems() == []


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    tape = cassette.load(cassette.FOLDER / "generated" / "anthropic" / "text.json")
    cassette.save(tape, tmp_path / "recorded")
    (problem,) = audit.problems(tmp_path / "recorded", tmp_path / "golden")
    assert "no golden file" in problem
    old = tmp_path / "golden" / tape.place
    old.parent.mkdir(parents=True)
    old.write_bytes(b"{}\n")
    (problem,) = audit.problems(tmp_path / "recorded", tmp_path / "golden")
    assert problem.startswith("golden generated/anthropic/text.json: byte 1")


@given(st.binary() | st.text().map(str.encode) | st.sampled_from([b'{"a":1}', b'{"a": 1}', b"1e2"]))
def test_every_byte_of_a_body_comes_back(body: bytes) -> None:
    assert cassette.unspell(cassette.spell(body)) == body


@given(st.lists(st.tuples(st.sampled_from(["chunk", "messageStop"]), st.text())), st.booleans())
def test_every_byte_of_a_frame_comes_back(frames: list[tuple[str, str]], is_damaged: bool) -> None:
    body = b"".join(aws.encode(il.Frame(*frame)) for frame in frames)
    body = body[:-1] if is_damaged else body
    assert cassette.unspell(cassette.spell(body, is_aws=True)) == body


def test_a_body_that_is_json_can_be_read_in_the_file() -> None:
    assert cassette.spell(b'{"a":[1,2]}') == {"json": {"a": [1, 2]}}
    assert cassette.spell(b'{"a": [1,2]}') == '{"a": [1,2]}'
    assert cassette.spell(b"\xff") == {"base64": "/w=="}


def test_a_file_of_another_format_is_refused(tmp_path: Path) -> None:
    path = cassette.save(cassette.Cassette(2, "s", "anthropic", "c", []), tmp_path)
    with pytest.raises(ValueError, match="format 2, expected 1"):
        cassette.load(path)


def test_a_recording_keeps_the_pieces_of_a_stream() -> None:
    """Also those that come at once, and in pieces that are no frames."""
    exchange = cases.exchanges("openai-chat")[1]
    with ReplayServer([exchange]) as server:
        server.stage(faults.drip(50, 0))
        tape = record(server.url, [exchange], "s", "c")
    (taped,) = tape.exchanges
    assert {len(piece) for piece in taped.pieces[:-1]} == {50}
    assert taped.answered == exchange.answer().body


def test_an_error_in_place_of_a_stream_is_taped_as_a_body() -> None:
    exchange = cases.exchanges("bedrock")[1]
    with ReplayServer([exchange]) as server:
        server.stage(faults.rate_limited(7))
        (taped,) = record(server.url, [exchange], "s", "c").exchanges
    assert taped.chunks is None
    assert (taped.status, taped.headers["retry-after"]) == (429, "7")
    assert taped.response == {"json": {"message": "slow down", "__type": "ThrottlingException"}}


def test_a_connection_that_breaks_is_no_recording() -> None:
    exchange = cases.exchanges("openai-chat")[1]
    with ReplayServer([exchange]) as server:
        server.stage(faults.cut(100, "rst"))
        with pytest.raises(aiohttp.ClientError):
            record(server.url, [exchange], "s", "c")


def test_the_command_records_from_any_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cassette.save, "__defaults__", (tmp_path,))
    monkeypatch.setattr(cassette, "FOLDER", tmp_path)
    monkeypatch.setenv("SOME_KEY", "a-key-that-nobody-has")
    base = ["record", "--source", "somebody", "--dialect", "openai-chat", "--key-env", "SOME_KEY"]
    with ReplayServer(_for("openai-chat", "m-1")) as server:
        assert command.main([*base, "--base-url", server.url, "--model", "m-1"]) == 0
        sent = {each.header("authorization") for each in server.received}
    assert sent == {"Bearer a-key-that-nobody-has"}
    assert "somebody/openai-chat/text.json" in capsys.readouterr().out
    tape = cassette.load(tmp_path / "somebody" / "openai-chat" / "text.json")
    assert tape.exchanges[0].request["json"]["model"] == "m-1"
    assert tape.exchanges[0].status == 200
    files = b"".join(path.read_bytes() for path in tmp_path.rglob("*.json"))
    assert b"a-key-that-nobody-has" not in files
    monkeypatch.delenv("SOME_KEY")
    assert command.main([*base, "--base-url", "http://127.0.0.1:9"]) == 2
    assert "SOME_KEY is not set" in capsys.readouterr().err


def _for(dialect: str, model: str) -> list[Exchange]:
    """The cases, asked of another model."""
    from tests.cassettes.live import asked

    return [each for case in cases.cases(dialect) for each in asked(dialect, case, model)]
