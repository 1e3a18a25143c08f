"""Streams of one dialect said in another, as their bytes arrive."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import interlingua as il
from interlingua.adapt.history.stream import LATE
from interlingua.adapt.stream_convert import ENOUGH, StreamConverter, detect_stream
from interlingua.dialects.framing import decoder, encoder
from interlingua.errors import DetectError, ReadError
from interlingua.model.events import MessageComplete, StreamError
from tests.adapt.streamed import CALL, DIALECTS, TEXT, answer, events_of, stream_of
from tests.effort import examples
from tests.laws import strategies, streams

PAIRS = list(permutations(DIALECTS, 2))
OTHER = {name: "anthropic" if name != "anthropic" else "openai-chat" for name in DIALECTS}
"""For each dialect another one."""

EMPTY = il.ToolUseBlock("call_2", "now", {})


def converted(data: bytes, source: str, target: str, size: int | None = None) -> bytes:
    chunks = [data] if size is None else [data[at : at + size] for at in range(0, len(data), size)]
    return b"".join(il.stream_convert(chunks, source, target))


def is_failed(name: str, data: bytes) -> bool:
    events = events_of(name, data)
    return isinstance(events[-1], StreamError) and not any(
        isinstance(event, MessageComplete) for event in events
    )


# -- bytes in, bytes out ------------------------------------------------------------------------


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_chunks_may_be_cut_anywhere_and_waited_for(source: str, target: str) -> None:
    data = stream_of(source, TEXT, CALL, EMPTY)
    expected = converted(data, source, target)

    async def chunks() -> AsyncIterator[bytes]:
        for at in range(0, len(data), 7):
            yield data[at : at + 7]

    async def all_pieces() -> bytes:
        found = il.stream_convert(chunks(), source, target)
        return b"".join([piece async for piece in found])

    assert converted(data, source, target, 1) == expected
    assert asyncio.run(all_pieces()) == expected
    assert il.fold(events_of(target, expected)).message.text == TEXT.text


@given(
    response=strategies.responses(),
    source=st.sampled_from(DIALECTS),
    target=st.sampled_from(DIALECTS),
    data=st.data(),
)
@settings(max_examples=examples(60))
def test_any_answer_cut_anywhere_gives_the_same_bytes(
    response: il.Response, source: str, target: str, data: st.DataObject
) -> None:
    result = il.retell(response, source).value
    frames = streams.write(il.dialect(source), il.unfold(result))
    wire = b"".join(map(encoder(source), frames))
    at = data.draw(st.integers(0, len(wire)))
    pieces = il.stream_convert([wire[:at], b"", wire[at:]], source, target)
    assert b"".join(pieces) == converted(wire, source, target)


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_the_first_byte_goes_out_before_the_last_one_comes_in(source: str, target: str) -> None:
    data = stream_of(source, il.TextBlock("Hello"), CALL)
    taken = 0

    def chunks() -> Iterator[bytes]:
        nonlocal taken
        for at in range(len(data)):
            taken = at + 1
            yield data[at : at + 1]

    when = [(piece, taken) for piece in il.stream_convert(chunks(), source, target)]
    assert when[0][1] < len(data)
    text = next(at for piece, at in when if b"Hello" in piece)
    assert text < data.index(b"sum_up"), "the text went out before the call came in"


@pytest.mark.parametrize("name", DIALECTS)
def test_the_same_dialect_on_both_sides_gives_the_stream_back(name: str) -> None:
    data = stream_of(name, il.ThinkingBlock("Hm.", "c2ln"), TEXT, CALL, EMPTY)
    found = il.stream_convert([data], name, name)
    again = b"".join(found)
    frames = [[*pieces.feed(each), *pieces.close()] for each, pieces in _decoded(name, data, again)]
    assert [list(map(streams.parsed, each)) for each in frames] == [
        list(map(streams.parsed, frames[0]))
    ] * 2
    assert list(found.report.entries) == []


def _decoded(name: str, *wires: bytes) -> list[tuple[bytes, Any]]:
    return [(wire, decoder(name)) for wire in wires]


# -- ends -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_source_that_breaks_off_ends_with_an_error_and_never_with_a_success(
    source: str, target: str
) -> None:
    pieces = decoder(source)
    frames = pieces.feed(stream_of(source, TEXT, CALL))
    encode = encoder(source)
    whole = il.fold(streams.read(il.dialect(source), frames))
    tried = 0
    for count in range(len(frames)):
        if not isinstance(streams.read(il.dialect(source), frames[:count])[-1], StreamError):
            continue  # the end was said, only what comes behind it is missing
        tried += 1
        data = b"".join(map(encode, frames[:count]))
        out = converted(data, source, target)
        assert out
        assert is_failed(target, out), f"after {count} frames"
        error = il.fold(events_of(target, out)).error
        assert error is not None
        assert error.message
    assert tried > 1
    assert whole.error is None


@pytest.mark.parametrize("target", DIALECTS)
def test_a_source_that_fails_ends_with_its_error(target: str) -> None:
    error = il.ProviderError(il.ErrorKind.RATE_LIMIT, "slow down")
    source = OTHER[target]
    response = il.Response(answer(il.TextBlock("Hel")).message, error=error)
    frames = streams.write(il.dialect(source), il.unfold(response))
    pieces = il.stream_convert(map(encoder(source), frames), source, target)
    out = b"".join(pieces)
    found = il.fold(events_of(target, out))
    assert is_failed(target, out)
    assert found.error is not None
    assert "slow down" in found.error.message
    lost = "$.error.kind" in {loss.path for loss in pieces.report.entries}
    assert lost or found.error.kind is il.ErrorKind.RATE_LIMIT


NO_STREAM = {
    "sse": b"data: {\n\n",
    "ndjson": b'{"model": \n',
    "aws": b"\0\0\0\x20 this is no message of AWS",
}


def no_stream(name: str) -> bytes:
    return NO_STREAM[{"ollama": "ndjson", "bedrock": "aws"}.get(name, "sse")]


@pytest.mark.parametrize("target", DIALECTS)
@pytest.mark.parametrize("source", DIALECTS)
def test_bytes_that_are_no_stream_end_with_an_error_and_raise(source: str, target: str) -> None:
    started = decoder(source).feed(stream_of(source, TEXT, CALL))[:1]
    begun = b"".join(map(encoder(source), started))
    for start in (b"", begun):
        found: list[bytes] = []
        with pytest.raises(ReadError):
            found.extend(il.stream_convert([start, no_stream(source)], source, target))
        out = b"".join(found)
        assert out
        assert is_failed(target, out)


def test_bytes_that_are_no_stream_raise_for_those_who_wait_too() -> None:
    found: list[bytes] = []

    async def chunks() -> AsyncIterator[bytes]:
        yield no_stream("openai-chat")

    async def all_pieces() -> None:
        async for piece in il.stream_convert(chunks(), "openai-chat", "anthropic"):
            found.append(piece)

    with pytest.raises(ReadError):
        asyncio.run(all_pieces())
    assert is_failed("anthropic", b"".join(found))


@pytest.mark.parametrize("target", DIALECTS)
def test_a_converter_is_fed_and_closed_or_fails(target: str) -> None:
    source = OTHER[target]
    data = stream_of(source, TEXT, CALL)
    one, other = StreamConverter(source, target), StreamConverter(source, target)
    out = one.feed(data[:100]) + one.feed(b"") + one.feed(data[100:]) + one.close()
    assert out == converted(data, source, target)
    assert isinstance(events_of(target, out)[-1], MessageComplete)
    broken = other.feed(data[: len(data) // 2]) + other.fail(OSError("reset by peer"))
    assert is_failed(target, broken)
    error = il.fold(events_of(target, broken)).error
    assert error is not None
    assert "reset by peer" in error.message


def test_a_dialect_that_does_not_exist_is_named_at_once() -> None:
    with pytest.raises(il.InterlinguaError, match="parrot"):
        il.stream_convert([], "parrot", "anthropic")


# -- what cannot be said --------------------------------------------------------------------------


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_the_report_is_that_of_the_whole_answer(source: str, target: str) -> None:
    thought = il.ThinkingBlock("Hm.", "c2ln")
    data = stream_of(source, thought, TEXT, CALL, EMPTY)
    found = il.stream_convert([data], source, target)
    assert b"".join(found)
    whole = il.fold(events_of(source, data))
    result = il.retell(whole, target, source=source)
    written = il.dialect(target).write_response(result.value, result.recorder)
    content, lost = (
        sorted((x.kind, x.path) for x in r) for r in (found.report.entries, written.report.entries)
    )
    assert content == lost


def test_what_comes_after_its_block_is_lost_only_where_blocks_are_closed() -> None:
    """Gemini says what a text rests on at the very end, behind the calls that follow the text."""
    cited = il.TextBlock("So", citations=(il.Citation("So", "https://example.com/", "E"),))
    data = stream_of("gemini", cited, CALL)
    closing = ("anthropic", "bedrock", "gemini-interactions")
    for target in DIALECTS:
        found = il.stream_convert([data], "gemini", target)
        out = b"".join(found)
        late = [loss.path for loss in found.report.entries if loss.code == LATE.code]
        assert late == (["$.message.content[0].citations[0]"] if target in closing else [])
        text = il.fold(events_of(target, out)).message.content[0]
        assert isinstance(text, il.TextBlock)
        has_place = target not in (*closing, "ollama")
        assert bool(text.citations) is has_place


# -- which dialect it is --------------------------------------------------------------------------


@pytest.mark.parametrize("name", DIALECTS)
def test_the_first_frames_tell_the_dialect(name: str) -> None:
    data = stream_of(name, TEXT, CALL)
    expected = "openai-chat" if name == "openrouter" else name  # only its own words tell
    found = {detect_stream(data[:size]) for size in range(len(data) + 1)}
    assert found == {None, expected}
    assert detect_stream(data) == expected
    assert detect_stream(b"") is None


def test_openrouter_is_told_by_its_own_words() -> None:
    wire = {"id": "1", "provider": "X", "choices": [], "object": "chat.completion.chunk"}
    assert detect_stream(b": OPENROUTER PROCESSING\n\n") is None
    assert detect_stream(b"data: " + json.dumps(wire).encode() + b"\n\n") == "openrouter"


def test_an_array_and_a_byte_order_mark_are_known() -> None:
    assert detect_stream(b'[{"candidates": []}') == "gemini"
    assert detect_stream(b'\xef\xbb\xbfdata: {"type": "ping"}\n\n') == "anthropic"


@pytest.mark.parametrize("data", [b"data: \xff\n\n", b"data: x\n\n" * (ENOUGH // 8)])
def test_what_is_no_stream_that_we_know_is_said_so(data: bytes) -> None:
    with pytest.raises(DetectError):
        detect_stream(data)


# -- the command line -----------------------------------------------------------------------------

SOURCE = Path(__file__).parents[2] / "src"
COMMAND = [sys.executable, "-m", "interlingua", "convert", "--kind", "stream"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(SOURCE)}


def run(*arguments: str, stdin: bytes) -> subprocess.CompletedProcess[bytes]:
    command = [*COMMAND, *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, env=ENVIRONMENT, check=False)


@pytest.mark.parametrize("source", ["openai-chat", "auto"])
def test_a_pipe_gives_its_first_output_before_its_input_ends(source: str) -> None:
    data = stream_of("openai-chat", TEXT, CALL)
    command = [*COMMAND, "--from", source, "--to", "anthropic"]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(data[: len(data) // 2])
        process.stdin.flush()
        first = process.stdout.readline()
        assert process.poll() is None
        process.stdin.write(data[len(data) // 2 :])
        process.stdin.close()
        rest = process.stdout.read()
        assert process.stderr is not None
        assert (b"read as openai-chat stream" in process.stderr.read()) is (source == "auto")
    assert first == b"event: message_start\n"
    assert process.returncode == 0
    assert first + rest == converted(data, "openai-chat", "anthropic")


def test_losses_of_a_stream_are_told_and_strict_fails_on_them(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    arguments = ("--from", "anthropic", "--to", "ollama", "--strict")
    data = stream_of("anthropic", il.ThinkingBlock("Hm.", "c2ln"), TEXT)
    done = run(*arguments, "--report", str(file), stdin=data)
    assert done.returncode == 3
    assert b"signature" in done.stderr
    assert done.stdout == converted(data, "anthropic", "ollama")
    paths = [loss["path"] for loss in json.loads(file.read_bytes())["losses"]]
    assert "$.message.content[0].signature" in paths
    plain = stream_of("anthropic", TEXT, response_id=None, usage=il.Usage(1, 2))
    found = il.stream_convert([plain], "anthropic", "openai-chat")
    assert b"".join(found)
    assert list(found.report.entries) == []
    chat = ("--from", "anthropic", "--to", "openai-chat", "--strict")
    assert run(*chat, stdin=plain).returncode == 0


def test_lines_and_streams_do_not_go_together() -> None:
    done = run("--from", "anthropic", "--to", "ollama", "--lines", stdin=b"")
    assert done.returncode == 2
    assert b"--lines" in done.stderr


@pytest.mark.parametrize("source", ["anthropic", "auto"])
def test_what_is_no_stream_is_exit_1(source: str) -> None:
    done = run("--from", source, "--to", "openai-chat", stdin=b"data: \xff\n\n")
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr
    assert (done.stdout == b"") is (source == "auto")


def test_a_view_has_no_streams() -> None:
    done = run("--from", "flat", "--to", "anthropic", stdin=b"")
    assert done.returncode == 2
    assert b"has no streams" in done.stderr


@pytest.mark.parametrize("name", sorted({*DIALECTS} - {"ollama", "bedrock"}))
@pytest.mark.parametrize("line", [b"data:", b"data: ", b"event: ping\ndata: ", b"data:  \t"])
def test_blank_events_that_keep_a_connection_open_are_not_read(name: str, line: bytes) -> None:
    data = stream_of(name, TEXT, CALL)
    blank = line + b"\n\n"
    padded = blank + data.replace(b"\n\n", b"\n\n" + blank)
    assert il.fold(events_of(name, padded)) == il.fold(events_of(name, data))
    assert converted(padded, name, OTHER[name]) == converted(data, name, OTHER[name])
    assert decoder(name).feed(converted(padded, name, name)) == decoder(name).feed(padded)


@pytest.mark.parametrize("name", DIALECTS)
def test_frames_after_the_end_go_home(name: str) -> None:
    frames = decoder(name).feed(stream_of(name, TEXT))
    more = [frames[0]._replace(event=None, data=data) for data in ("[DONE]", "{}", "", "null")]
    events = streams.read(il.dialect(name), [*frames, *more])
    assert streams.write(il.dialect(name), events) == [*frames, *more]


def wires_of(name: str, data: bytes) -> list[dict[str, Any]]:
    """The JSON of each frame, as an SDK gives it."""
    pieces = decoder(name)
    frames = [each for each in (*pieces.feed(data), *pieces.close()) if each.data != "[DONE]"]
    wires = [(each.event, json.loads(each.data)) for each in frames]
    return [{event: wire} if name == "bedrock" else wire for event, wire in wires]


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("block", [TEXT, CALL], ids=["text", "call"])
def test_dicts_lines_text_and_bytes_give_the_same(name: str, block: il.Block) -> None:
    data, target = stream_of(name, block), OTHER[name]
    expected = converted(data, name, target)
    assert b"".join(il.stream_convert(wires_of(name, data), name, target)) == expected
    assert b"".join(il.stream_convert(wires_of(name, data), to=target)) == expected
    assert b"".join(il.stream_convert(data, to=target)) == expected
    if name != "bedrock":  # its frames are binary
        lines = data.decode().splitlines()
        assert b"".join(il.stream_convert(lines, name, target)) == expected
        assert b"".join(il.stream_convert(iter(data.splitlines()), to=target)) == expected
        assert b"".join(il.stream_convert([data.decode()], to=target)) == expected
        filled = [line for line in lines if line]
        assert b"".join(il.stream_convert(filled, to=target)) == expected


@pytest.mark.parametrize("name", DIALECTS)
def test_a_stream_that_is_stored_as_json_lines_is_read(name: str) -> None:
    data, target = stream_of(name, TEXT), OTHER[name]
    expected = converted(data, name, target)
    lines = [json.dumps(wire) for wire in wires_of(name, data)]
    text = "\n".join(lines)
    for source in (name, None):
        stream = il.stream_convert(lines, source, target)
        assert b"".join(stream) == expected
        assert b"".join(il.stream_convert(text, source, target)) == expected
        cut = [text[at : at + 5] for at in range(0, len(text), 5)]
        again = il.stream_convert(cut, source, target)
        assert b"".join(again) == expected
        whole = il.stream_convert([data], name, target)
        assert b"".join(whole) == expected
        assert str(again.report) == str(whole.report)


def test_chunks_of_sdks_are_converted() -> None:
    openai = pytest.importorskip("openai.types.chat")
    data = stream_of("openai-chat", TEXT)
    chunks = [openai.ChatCompletionChunk.model_validate(w) for w in wires_of("openai-chat", data)]
    stream = il.stream_convert(chunks, to="anthropic")
    assert b"".join(stream) == converted(data, "openai-chat", "anthropic")
    assert stream.report == il.stream_convert([data], "openai-chat", "anthropic").report

    genai = pytest.importorskip("google.genai.types")
    data = stream_of("gemini", TEXT)
    pieces = [genai.GenerateContentResponse.model_validate(w) for w in wires_of("gemini", data)]
    assert b"".join(il.stream_convert(pieces, to="anthropic")) == converted(
        data, "gemini", "anthropic"
    )


def test_objects_are_converted_while_they_are_waited_for() -> None:
    data = stream_of("anthropic", TEXT)

    async def chunks() -> AsyncIterator[dict[str, Any]]:
        for wire in wires_of("anthropic", data):
            yield wire

    async def main() -> bytes:
        stream = il.stream_convert(chunks(), to="openai")
        out = b"".join([piece async for piece in stream])
        assert stream.report is not None
        return out

    assert asyncio.run(main()) == converted(data, "anthropic", "openai-chat")


@pytest.mark.parametrize("chunks", [["hello", "world"], [b"data: x\n\n", b"data: {}\n\n"]])
def test_a_stream_whose_format_is_unknown_at_its_end_is_an_error(chunks: list[Any]) -> None:
    with pytest.raises(DetectError, match="pass source="):
        list(il.stream_convert(chunks, to="anthropic"))


def test_the_report_of_an_empty_stream_can_be_read() -> None:
    stream = il.stream_convert([], "openai-chat", "anthropic")
    assert b"error" in b"".join(stream)
    assert "timeout_error" in str(stream.report)


@pytest.mark.parametrize("value", [3, {"type": "message_start"}, [3], [None], None])
def test_what_is_no_stream_is_a_type_error_that_says_what_is_taken(value: Any) -> None:
    with pytest.raises(TypeError, match="takes bytes, text, lines, dicts and chunks of an SDK"):
        list(il.stream_convert(value, "anthropic", "openai-chat"))
    with pytest.raises(TypeError, match="needs a target"):
        il.stream_convert([b""], "anthropic")
