"""Each shortcut gives what the long way gives."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

import interlingua as il
from interlingua.dialects.bedrock import messages, text
from interlingua.dialects.bedrock.stream import StreamReader
from interlingua.dialects.kernel.errors import ShapeError
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.errors import ReadError
from interlingua.model.losses import Report
from interlingua.streams.frames import Frame

TEXTS: Any = st.sampled_from(["", "a", None, 5])
IDS = st.sampled_from(["", "a"])
INPUTS: Any = st.sampled_from([{}, {"a": 1}, '{"a":1}', "{a", None, [1]])
PARTS = st.one_of(
    st.fixed_dictionaries({"text": TEXTS}, optional={"type": st.just("text")}),
    st.just({"cachePoint": {"type": "default"}}),
    st.just({"smell": 1}),
)


def outcome(way: Any, *args: Any) -> Any:
    """What a way gives: a value, to the last byte, or the place of an error."""
    try:
        return msgspec.json.encode(way(*args))
    except ShapeError as error:
        return error.path
    except ReadError as error:
        return str(error)


def is_text(part: Any) -> bool:
    return part.keys() == {"text"} and isinstance(part["text"], str)


@given(PARTS, st.booleans())
def test_a_text_that_is_read_at_once(part: Any, answer: bool) -> None:
    if not is_text(part):
        return
    ((short,), _) = messages.read_parts([part], "", answer)
    long = messages.read_part(part)
    # in an answer everything is as the service made it, so that nothing in it is odd
    assert short == long
    assert msgspec.json.encode(short) == msgspec.json.encode(long) or (answer and not part["text"])


CALLS = st.fixed_dictionaries(
    {"toolUseId": IDS, "name": IDS},
    optional={"input": INPUTS, "type": st.sampled_from(["server_tool_use", "tool_use", None])},
)


@given(CALLS)
def test_a_call_that_is_read_at_once(wire: Any) -> None:
    assert outcome(messages.read_call, wire) == outcome(messages._read_call, wire)


TOOL_USES = st.builds(
    il.ToolUseBlock,
    id=st.just("tooluse_1"),
    name=st.just("f"),
    input=st.sampled_from([{}, {"a": 1}]),
    raw_arguments=st.none() | st.sampled_from(['{"a": 1}', "{a"]),
    signature=st.none() | st.sampled_from(["", "s"]),
    executor=st.sampled_from(["client", "provider"]),
    call_type=st.none() | st.just("custom"),
)


@given(TOOL_USES)
def test_a_call_that_is_written_at_once(call: il.ToolUseBlock) -> None:
    short, report = Report("bedrock"), Report("bedrock")
    one = messages.write_call(call, LossRecorder("bedrock", None, short), False)
    long = messages.CALL.write_value(call, LossRecorder("bedrock", None, report))
    assert one == {"toolUse": long}
    assert short == report


RESULTS = st.fixed_dictionaries(
    {"toolUseId": IDS, "content": st.lists(PARTS, max_size=2)},
    optional={"status": st.sampled_from(["success", "error", None, 5]), "x": st.none()},
)


def _inside(part: Any) -> Any:
    return messages.read_part(part, messages._INSIDE_READERS)


def _read_result_the_long_way(wire: Any) -> Any:
    content = [_inside(part) for part in wire["content"]]
    return messages._read_result(wire, tuple(content))


@given(RESULTS)
def test_a_result_that_is_read_at_once(wire: Any) -> None:
    short = outcome(messages.read_result, wire, _inside)
    long = outcome(_read_result_the_long_way, wire)
    # the list of an error's place is known to who reads the list
    assert short == long or (isinstance(short, str) and isinstance(long, str))


TEXT_BLOCKS = st.builds(
    il.TextBlock,
    text=st.sampled_from(["", "a"]),
    signature=st.none() | st.sampled_from(["", "s"]),
    citations=st.sampled_from([(), (il.Citation(title="t"),)]),
    phase=st.none() | st.just("commentary"),
    cache=st.none() | st.just(il.Cache()),
)


@given(TEXT_BLOCKS, st.booleans())
def test_a_text_that_is_written_at_once(block: il.TextBlock, answer: bool) -> None:
    one: list[Any] = []
    short, report = Report("bedrock"), Report("bedrock")
    bare = block.replace(cache=None)
    messages.write_parts([bare], one, LossRecorder("bedrock", None, short), answer)
    long = text.write_text(bare, LossRecorder("bedrock", None, report), answer)
    assert one == ([] if long is None else [long])
    assert short == report


@given(TEXT_BLOCKS)
def test_a_text_in_a_result_that_is_written_at_once(block: il.TextBlock) -> None:
    stored = block.replace(raw={"bedrock": {"$form": {}}})  # an account of nothing: the long way
    short, report = Report("bedrock"), Report("bedrock")
    one = messages.write_text(block, LossRecorder("bedrock", None, short), False)
    assert one == messages.write_text(stored, LossRecorder("bedrock", None, report), False)
    assert short == report


PIECES = st.one_of(
    st.fixed_dictionaries({"text": TEXTS}),
    st.fixed_dictionaries({"reasoningContent": st.fixed_dictionaries({"text": TEXTS})}),
    st.fixed_dictionaries({"toolUse": st.fixed_dictionaries({"input": TEXTS})}),
    st.just({"text": "a", "toolUse": {"input": "b"}}),
)
STARTED = {"start": {"toolUse": {"toolUseId": "t", "name": "f"}}}
INDEX = st.integers(0, 1)
FRAMES = st.one_of(
    st.tuples(
        st.just("contentBlockDelta"),
        st.fixed_dictionaries(
            {"contentBlockIndex": INDEX, "delta": PIECES},
            optional={"p": st.sampled_from(["ab", None]), "x": st.none()},
        ),
    ),
    st.tuples(
        st.just("contentBlockStart"), INDEX.map(lambda at: {"contentBlockIndex": at, **STARTED})
    ),
    st.tuples(st.just("contentBlockStop"), INDEX.map(lambda at: {"contentBlockIndex": at})),
)


@given(st.lists(FRAMES, max_size=6))
def test_a_frame_that_is_read_at_once(frames: Any) -> None:
    short, long = StreamReader(), StreamReader()
    for name, wire in frames:
        frame = Frame(name, msgspec.json.encode(wire).decode())
        assert outcome(short.feed, frame) == outcome(long._feed, frame)
    assert msgspec.json.encode(short.close()) == msgspec.json.encode(long.close())
