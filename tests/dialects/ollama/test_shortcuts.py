"""Each shortcut gives what the long way gives."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

import interlingua as il
from interlingua.dialects.kernel.calls import OpenCalls
from interlingua.dialects.kernel.preserved import Preserved
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.ollama import messages, response
from interlingua.dialects.ollama import messages as calls
from interlingua.dialects.ollama.stream import StreamReader
from interlingua.errors import ReadError
from interlingua.model.losses import Report
from interlingua.streams.frames import Frame

TEXTS = st.sampled_from(["", "a", "[tool error] b", "il_0123456789abcdef", None, 5])
IDS = st.sampled_from(["", "call_1", "il_0123456789abcdef", None, 5])
ARGUMENTS = st.sampled_from([{}, {"a": 1}, '{"a":1}', "{a:1", None])
FUNCTIONS = st.fixed_dictionaries({"name": st.just("f")}, optional={"arguments": ARGUMENTS})
CALLS = st.fixed_dictionaries({"function": FUNCTIONS}, optional={"id": IDS, "type": st.just("x")})
RESULTS = st.fixed_dictionaries(
    {"role": st.just("tool")},
    optional={"content": TEXTS, "tool_name": TEXTS, "tool_call_id": IDS, "x": st.none()},
)
MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "system", "developer", "Control"])},
    optional={"content": TEXTS, "thinking": TEXTS, "tool_calls": st.lists(CALLS, max_size=2)},
)


def outcome(way: Any, *args: Any) -> Any:
    """What a way gives: a value, to the last byte, or the error with its place."""
    try:
        given = way(*args)
    except il.InterlinguaError as error:
        return str(error)
    except Exception as error:  # a ShapeError, which only the whole reader makes a ReadError
        return (type(error).__name__, getattr(error, "path", None))
    return msgspec.json.encode(given)


@given(MESSAGES)
def test_a_message_that_is_read_at_once(wire: Any) -> None:
    short = outcome(messages._read_message, wire, 0, OpenCalls())
    assert short == outcome(messages._read_other, wire, 0, OpenCalls())


@given(RESULTS)
def test_a_result_that_is_read_at_once(wire: Any) -> None:
    short = outcome(messages._read_result, wire, 0, OpenCalls())
    assert short == outcome(messages._read_any_result, wire, 0, OpenCalls())


@given(CALLS)
def test_a_call_that_is_read_at_once(wire: Any) -> None:
    assert outcome(calls.read_call, wire, 0, 0, []) == outcome(calls._read_call, wire, 0, 0, [])


@given(
    st.builds(
        il.ToolUseBlock,
        id=st.sampled_from(["call_1", "il_0123456789abcdef"]),
        name=st.just("f"),
        input=st.sampled_from([{}, {"a": 1}]),
        raw_arguments=st.none() | st.just('{"a": 1}'),
        signature=st.none() | st.just("s"),
    )
)
def test_a_call_that_is_written_at_once(call: il.ToolUseBlock) -> None:
    short, long = Report("ollama"), Report("ollama")
    one = calls.write_call(call, LossRecorder("ollama", None, short))
    assert one == calls.CALL.write_value(call, LossRecorder("ollama", None, long))
    assert short == long


@given(MESSAGES)
def test_a_message_that_is_written_at_once(wire: Any) -> None:
    try:
        message = messages._read_message(wire, 0, OpenCalls())
    except Exception:  # what cannot be read is not written
        return
    remaining: Any = {"ollama": {}}  # an account of nothing takes the long way
    result = message.metadata
    long = message.replace(metadata=result.replace(provider_raw=result.provider_raw or remaining))
    recorder = LossRecorder("ollama", None, Report("ollama"))
    assert messages.write_message(message, recorder) == messages.write_message(long, recorder)


@given(st.sampled_from(["call_1", "il_0123456789abcdef"]), st.none() | st.just("f"), TEXTS)
def test_a_result_that_is_written_at_once(id: str, name: str | None, text: Any) -> None:
    content = (il.TextBlock(text),) if type(text) is str else ()
    block = il.ToolResultBlock(id, content, tool_name=name)
    written = []
    for each in (block, block.replace(raw={"ollama": {}})):
        opened = OpenCalls()
        opened.add(id, "g")
        recorder = LossRecorder("ollama", None, Report("ollama"))
        written.append(messages._write_result(each, opened, recorder))
    assert written[0] == written[1]


COUNTS = st.integers(-2, 5) | st.none() | st.just(3.0)


@given(COUNTS, COUNTS)
def test_counts_that_are_read_at_once(prompt: Any, output: Any) -> None:
    wire = {"prompt_eval_count": prompt, "eval_count": output}
    preserved = Preserved()
    fields = {key: value for key, value in wire.items() if value is not None}
    long = (
        il.Usage(**response.USAGE.read(fields, preserved), raw=preserved.raw("ollama"))
        if fields
        else None
    )
    assert outcome(response.read_usage, wire, []) == msgspec.json.encode(long)


LINES = st.lists(
    st.fixed_dictionaries(
        {
            "model": st.sampled_from(["m", "n"]),
            "created_at": st.sampled_from(["t", "u"]),
            "message": st.fixed_dictionaries(
                {"role": st.sampled_from(["assistant", "model"]), "content": TEXTS},
                optional={"thinking": TEXTS},
            ),
            "done": st.booleans(),
        },
        optional={"x": st.none()},
    ),
    max_size=5,
)


@given(LINES)
def test_a_line_that_is_read_at_once(lines: Any) -> None:
    short, long = StreamReader(), StreamReader()
    for line in lines:
        frame = Frame(None, msgspec.json.encode(line).decode())
        try:
            emitted: Any = short.feed(frame)
        except ReadError as error:
            emitted = str(error)
        try:
            wanted: Any = long._feed(frame)
        except ReadError as error:
            wanted = str(error)
        assert emitted == wanted
    assert msgspec.json.encode(short.close()) == msgspec.json.encode(long.close())
