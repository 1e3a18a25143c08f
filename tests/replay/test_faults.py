"""Each fault that the replay server stages is really there: a bare client sees it."""

from __future__ import annotations

import gzip
import socket
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime

import msgspec
import pytest

import interlingua as il
from interlingua.dialects.framing import decoder
from interlingua.model.events import StreamError
from tests.cassettes import cases, home
from tests.replay import bare, faults
from tests.replay.bare import ask
from tests.replay.exchanges import Exchange
from tests.replay.faults import FaultError, fault_from
from tests.replay.server import ReplayServer

EXCHANGES = {each.id: each for dialect in il.dialects() for each in cases.exchanges(dialect)}
WHOLE = EXCHANGES["anthropic.text"]
STREAM = EXCHANGES["anthropic.text.stream"]
STREAMS = [f"{dialect}.text.stream" for dialect in il.dialects()]
HTTP_DATE = format_datetime(datetime(2026, 11, 1, tzinfo=UTC) + timedelta(seconds=90), usegmt=True)


@pytest.fixture(scope="module")
def running() -> Iterator[ReplayServer]:
    with ReplayServer(EXCHANGES.values(), patience=5) as server:
        yield server


@pytest.fixture
def server(running: ReplayServer) -> ReplayServer:
    running.clear()
    return running


def bytes_of(exchange: Exchange) -> bytes:
    return exchange.answer().body


# -- the connection -------------------------------------------------------------------------------


@pytest.mark.parametrize("exchange", [WHOLE, STREAM], ids=["whole", "stream"])
@pytest.mark.parametrize("how", ["end", "fin", "rst"])
@pytest.mark.parametrize("after", [0, 1, 100, -1])
def test_a_body_is_cut_after_so_many_bytes(
    server: ReplayServer, exchange: Exchange, how: str, after: int
) -> None:
    server.stage(f"cut after={after} how={how}")
    raw = ask(server.url, exchange)
    whole = bytes_of(exchange)
    assert raw.body == (whole[:after] if after else b"")
    assert raw.end == ("rst" if how == "rst" else "fin")
    assert raw.is_well_formed == (how == "end")


@pytest.mark.parametrize("how", ["fin", "rst"])
def test_a_connection_ends_inside_the_headers(server: ReplayServer, how: str) -> None:
    server.stage(f"cut_head after=12 how={how}")
    raw = ask(server.url, WHOLE)
    assert (raw.data, raw.end) == (b"HTTP/1.1 200", how)


@pytest.mark.parametrize("how", ["fin", "rst"])
def test_a_connection_ends_before_the_first_byte(server: ReplayServer, how: str) -> None:
    server.stage(f"dropped how={how}")
    raw = ask(server.url, WHOLE)
    assert (raw.data, raw.end) == (b"", how)
    assert len(server.received) == 1, "the request had arrived"


def test_nothing_comes_at_all(server: ReplayServer) -> None:
    server.stage(faults.silence())
    raw = ask(server.url, STREAM, seconds=0.2)
    assert (raw.data, raw.end) == (b"", "silence")


def test_a_stream_stops_and_says_nothing_more(server: ReplayServer) -> None:
    server.stage(faults.silence(after=50))
    raw = ask(server.url, STREAM, seconds=0.2)
    assert (raw.body, raw.end) == (bytes_of(STREAM)[:50], "silence")


def test_silence_ends_when_the_server_has_waited_long_enough() -> None:
    with ReplayServer([WHOLE], patience=0.1) as server:
        server.stage(faults.silence())
        raw = ask(server.url, WHOLE)
    assert (raw.data, raw.end) == (b"", "fin")


def test_an_answer_comes_late(server: ReplayServer) -> None:
    server.stage(faults.late(0.3))
    raw = ask(server.url, WHOLE)
    assert raw.body == bytes_of(WHOLE)
    assert raw.seconds > 0.2


@pytest.mark.parametrize("size", [1, 7])
def test_a_stream_drips(server: ReplayServer, size: int) -> None:
    server.stage(faults.drip(size, pause=0.0002))
    raw = ask(server.url, STREAM)
    assert raw.body == bytes_of(STREAM)
    assert {len(chunk) for chunk in raw.chunks[:-1]} == {size}
    assert raw.seconds > 0.0001 * len(raw.chunks)


def test_an_idle_connection_is_closed_without_a_word(server: ReplayServer) -> None:
    server.stage(faults.close_idle(0.1))
    with socket.create_connection((server.host, server.port), timeout=2) as connection:
        connection.sendall(bare.request("", WHOLE, keep=True))
        raw = bare.read(connection, until=bytes_of(WHOLE)[-20:])
        assert raw.header("connection") is None
        assert raw.body == bytes_of(WHOLE)
        after = bare.read(connection)
    assert (after.data, after.end) == (b"", "fin")


@pytest.mark.parametrize("by", [100, -20])
@pytest.mark.parametrize("exchange", [WHOLE, STREAM], ids=["whole", "stream"])
def test_a_length_is_wrong(server: ReplayServer, by: int, exchange: Exchange) -> None:
    server.stage(faults.wrong_length(by))
    raw = ask(server.url, exchange)
    assert raw.header("content-length") == str(len(bytes_of(exchange)) + by)
    assert raw.body == bytes_of(exchange)
    assert raw.end == "fin"


def test_a_chunk_is_announced_and_not_given(server: ReplayServer) -> None:
    server.stage(faults.half_chunk())
    raw = ask(server.url, STREAM)
    assert not raw.is_well_formed
    assert bytes_of(STREAM).startswith(raw.body)
    assert len(bytes_of(STREAM)) - 60 < len(raw.body) < len(bytes_of(STREAM))


# -- other answers --------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", il.dialects())
@pytest.mark.parametrize(
    "retry_after", [None, 2, 0, -1, 0.5, 10**12, HTTP_DATE, "soon"], ids=lambda value: f"{value}"
)
def test_a_limit_is_reached(
    server: ReplayServer, dialect: str, retry_after: str | float | None
) -> None:
    server.stage(faults.rate_limited(retry_after))
    raw = ask(server.url, EXCHANGES[f"{dialect}.text"])
    assert raw.status == 429
    assert raw.header("retry-after") == (None if retry_after is None else str(retry_after))
    error = il.dialect(dialect).read_response(raw.body).error
    assert error is not None
    assert (error.message, error.kind) == ("slow down", _kind(dialect))


def _kind(dialect: str) -> il.ErrorKind:
    # Ollama and Cohere say the kind in the HTTP status alone.
    return il.ErrorKind.OTHER if dialect in ("ollama", "cohere") else il.ErrorKind.RATE_LIMIT


def test_a_date_to_wait_for_is_a_date_and_milliseconds_have_their_own_header(
    server: ReplayServer,
) -> None:
    server.stage(faults.rate_limited(HTTP_DATE, retry_after_ms=1500))
    raw = ask(server.url, WHOLE)
    assert parsedate_to_datetime(raw.header("retry-after") or "").year == 2026
    assert raw.header("retry-after-ms") == "1500"


@pytest.mark.parametrize("status", [529, 503, 502, 504, 400, 401, 403, 404, 413, 422])
@pytest.mark.parametrize("dialect", il.dialects())
def test_an_error_has_the_shape_of_its_dialect(
    server: ReplayServer, dialect: str, status: int
) -> None:
    server.stage(faults.failing(status, "no"))
    raw = ask(server.url, EXCHANGES[f"{dialect}.text.stream"])
    assert raw.status == status
    error = il.dialect(dialect).read_response(raw.body).error
    assert error is not None
    assert error.message == "no"


def test_an_overloaded_provider_says_529(server: ReplayServer) -> None:
    server.stage(faults.overloaded())
    raw = ask(server.url, WHOLE)
    assert raw.head.startswith(b"HTTP/1.1 529 Overloaded\r\n")


def test_an_error_may_be_a_page(server: ReplayServer) -> None:
    server.stage(faults.html_error(502))
    raw = ask(server.url, STREAM)
    assert raw.status == 502
    assert (raw.header("content-type") or "").startswith("text/html")
    assert raw.body.startswith(b"<html>")


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_leads_elsewhere(server: ReplayServer, status: int) -> None:
    server.stage(faults.redirect(f"{server.url}/elsewhere", status))
    raw = ask(server.url, WHOLE)
    assert (raw.status, raw.header("location")) == (status, f"{server.url}/elsewhere")


def test_garbage_comes_in_place_of_a_body(server: ReplayServer) -> None:
    server.stage(faults.garbage(size=300))
    raw = ask(server.url, WHOLE)
    assert raw.is_well_formed
    assert len(raw.body) == 300
    with pytest.raises(msgspec.MsgspecError):
        msgspec.json.decode(raw.body)


def test_garbage_comes_in_place_of_everything(server: ReplayServer) -> None:
    server.stage(faults.garbage("head", 300))
    raw = ask(server.url, WHOLE)
    assert len(raw.data) == 300
    assert not raw.data.startswith(b"HTTP/")


# -- told oddly -----------------------------------------------------------------------------------


def test_headers_are_very_large(server: ReplayServer) -> None:
    server.stage(faults.large_headers(100_000, count=3))
    raw = ask(server.url, WHOLE)
    assert len(raw.head) > 300_000
    assert raw.body == bytes_of(WHOLE)


@pytest.mark.parametrize("exchange", [WHOLE, STREAM], ids=["whole", "stream"])
def test_an_answer_is_compressed_and_each_piece_can_be_read_as_it_comes(
    server: ReplayServer, exchange: Exchange
) -> None:
    server.stage(faults.gzipped())
    raw = ask(server.url, exchange)
    assert raw.header("content-encoding") == "gzip"
    assert gzip.decompress(raw.body) == bytes_of(exchange)
    first = zlib.decompressobj(wbits=31).decompress(raw.chunks[0])
    assert first == exchange.answer().pieces[0].data


def test_a_compressed_body_is_cut(server: ReplayServer) -> None:
    server.stage(faults.truncated_gzip(0.5))
    raw = ask(server.url, WHOLE)
    assert raw.is_well_formed
    with pytest.raises(EOFError):
        gzip.decompress(raw.body)


def test_a_small_body_becomes_a_large_one(server: ReplayServer) -> None:
    size = 32 * 2**20
    server.stage(faults.gzip_bomb(size))
    raw = ask(server.url, WHOLE)
    assert len(raw.body) < 100_000
    opened = gzip.decompress(raw.body)
    assert len(opened) == size + len(bytes_of(WHOLE))
    assert opened.endswith(bytes_of(WHOLE))


@pytest.mark.parametrize("id", ["anthropic.text", "anthropic.text.stream", "ollama.text.stream"])
def test_text_is_no_text(server: ReplayServer, id: str) -> None:
    server.stage(faults.invalid_utf8("c328"))
    raw = ask(server.url, EXCHANGES[id])
    assert len(raw.body) == len(bytes_of(EXCHANGES[id])) + 2
    with pytest.raises(UnicodeDecodeError):
        raw.body.decode()


@pytest.mark.parametrize("end", ["crlf", "cr"])
def test_lines_end_otherwise_and_are_cut_inside_their_ends(server: ReplayServer, end: str) -> None:
    server.stage(f"line_ends end={end}")
    raw = ask(server.url, STREAM)
    assert b"\r" in raw.chunks
    assert raw.body == bytes_of(STREAM).replace(b"\n", b"\r\n" if end == "crlf" else b"\r")


@pytest.mark.parametrize("id", [f"{name}.text.stream" for name in ("openrouter", "ollama")])
def test_nothing_is_said_between_frames(server: ReplayServer, id: str) -> None:
    server.stage(faults.keep_alive(count=2, pause=0.001))
    raw = ask(server.url, EXCHANGES[id])
    nothing = b"\n" if id.startswith("ollama") else b": keep-alive\n\n"
    assert raw.chunks[:2] == [nothing, nothing]
    assert len(raw.chunks) == 3 * len(EXCHANGES[id].answer().pieces)
    assert b"".join(raw.chunks[2::3]) == bytes_of(EXCHANGES[id])


@pytest.mark.parametrize("id", STREAMS)
def test_the_end_comes_twice(server: ReplayServer, id: str) -> None:
    server.stage(faults.duplicate_end(times=2))
    raw = ask(server.url, EXCHANGES[id])
    last = EXCHANGES[id].answer().pieces[-1].data
    assert raw.body == bytes_of(EXCHANGES[id]) + last + last


@pytest.mark.parametrize("id", STREAMS)
def test_an_error_comes_in_the_middle_of_a_stream(server: ReplayServer, id: str) -> None:
    exchange = EXCHANGES[id]
    server.stage(faults.error_event(message="gone"))
    raw = ask(server.url, exchange)
    assert raw.status == 200
    assert raw.is_well_formed
    events = home.read_frames(exchange.dialect, decoder(exchange.dialect).feed(raw.body))
    last = events[-1]
    assert isinstance(last, StreamError)
    assert last.error.message == "gone"
    assert last.partial is not None
    assert last.partial.text
    assert cases.GREETING.startswith(last.partial.text)


def test_an_error_comes_in_the_middle_of_an_array(server: ReplayServer) -> None:
    exchange = EXCHANGES["gemini.text.stream"]
    server.stage(faults.error_event(after=1, message="gone"))
    path = exchange.path.partition("?")[0]
    raw = ask(server.url_of(exchange), Exchange("", "gemini", path))
    items = msgspec.json.decode(raw.body)
    assert len(items) == 2
    assert items[1]["error"]["message"] == "gone"


# -- by name --------------------------------------------------------------------------------------


def test_a_fault_can_be_asked_for_in_a_header(server: ReplayServer) -> None:
    assert ask(server.url, WHOLE, fault="failing status=503").status == 503
    assert ask(server.url, WHOLE).status == 200


def test_a_script_is_played_in_order_and_then_what_is_always_done(server: ReplayServer) -> None:
    server.stage("overloaded", None, "rate_limited", always="html_error")
    assert [ask(server.url, WHOLE).status for _ in range(5)] == [529, 200, 429, 500, 500]
    assert [each.fault for each in server.received] == [
        "overloaded",
        None,
        "rate_limited",
        "html_error",
        "html_error",
    ]


@pytest.mark.parametrize("text", ["sneeze", "cut when=now"])
def test_an_unknown_fault_is_an_error_that_lists_the_known_ones(text: str) -> None:
    with pytest.raises(FaultError, match=r"known: close_idle, cut,|it has after, how"):
        fault_from(text)


def test_a_fault_that_cannot_be_staged_fails_the_test_that_wanted_it() -> None:
    server = ReplayServer([WHOLE])
    server.__enter__()
    server.stage("keep_alive")
    assert ask(server.url, WHOLE).status == 500
    with pytest.raises(FaultError, match="a whole body cannot be told like this"):
        server.__exit__(None, None, None)
