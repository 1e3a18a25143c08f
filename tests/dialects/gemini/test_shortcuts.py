"""Each shortcut gives what the long way gives."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

import interlingua as il
from interlingua.dialects.gemini import calls, messages, response
from interlingua.dialects.gemini import parts as _parts
from interlingua.dialects.gemini.calls import Calls
from interlingua.dialects.gemini.parts import Turn
from interlingua.dialects.gemini.stream import StreamReader
from interlingua.dialects.kernel.preserved import Preserved
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.model.blocks import Cache, Source
from interlingua.model.losses import Report
from interlingua.streams.frames import Frame


def outcome(way: Any, *args: Any) -> Any:
    """What a way gives: a value, to the last byte, or the error with its place."""
    try:
        given = way(*args)
    except il.InterlinguaError as error:
        return str(error)
    except Exception as error:  # which only the reader of the whole makes a ReadError
        return (type(error).__name__, getattr(error, "path", None))
    return msgspec.json.encode(given)


# -- reading --------------------------------------------------------------------------------------

IDS = st.sampled_from(["", "c1", "il_0123456789abcdef", "il_x", None, 5])
ARGUMENTS = st.sampled_from([{}, {"a": 1}, None, "x"])
NAMES = st.sampled_from(["f", "g", "", None, 5])
SIGNATURES = st.sampled_from(["c2ln", "", None, 5])
CALL = st.fixed_dictionaries({"name": NAMES, "args": ARGUMENTS}, optional={"id": IDS})
SIGNED = {
    "thoughtSignature": SIGNATURES,
    "thought_signature": SIGNATURES,
    "thought": st.booleans() | st.none(),
}
BESIDE = {**SIGNED, "text": st.just("a")}
CALLS = st.one_of(
    st.fixed_dictionaries({"functionCall": CALL}, optional=BESIDE),
    st.fixed_dictionaries({"function_call": CALL}, optional=BESIDE),
)
SAID = st.sampled_from(["", "a", 1, None, False, {}, {"b": [1]}, "{}"])
RESPONSES = st.dictionaries(
    st.sampled_from(["output", "result", "error", "temperature"]), SAID, max_size=2
) | st.sampled_from([None, "x"])
RESULT = st.fixed_dictionaries(
    {"name": NAMES, "response": RESPONSES},
    optional={"id": IDS, "parts": st.just([]), "scheduling": st.just("SILENT")},
)
RESULTS = st.one_of(
    st.fixed_dictionaries({"functionResponse": RESULT}, optional=SIGNED),
    st.fixed_dictionaries({"function_response": RESULT}, optional=SIGNED),
)
TYPES = st.sampled_from(["image/png", "application/pdf", "", None, 5])
MEDIA = st.fixed_dictionaries(
    {},
    optional={
        "inlineData": st.fixed_dictionaries(
            {"mimeType": TYPES, "data": st.sampled_from(["iVBORw0KGgo", "", None])},
            optional={"displayName": st.just("a.png")},
        ),
        "inline_data": st.fixed_dictionaries(
            {"mime_type": TYPES, "data": st.sampled_from(["iVBORw0KGgo", "", None])},
        ),
        "file_data": st.fixed_dictionaries(
            {"file_uri": st.sampled_from(["files/1", 5]), "mime_type": TYPES},
        ),
        "fileData": st.fixed_dictionaries(
            {"fileUri": st.sampled_from(["files/1", "https://example.com/a.pdf", 5])},
            optional={"mimeType": TYPES},
        ),
        "mediaResolution": st.just({"level": "LOW"}),
    },
)
TEXTS = st.fixed_dictionaries({"text": st.sampled_from(["", "a", None, 5])}, optional=SIGNED)


def some_calls(model: bool) -> Calls:
    known = Calls()
    known.turn(0, True)
    known.called("c9", "f")
    known.called(None, "g")
    known.turn(1, model)
    return known


@given(CALLS | RESULTS | MEDIA | TEXTS, st.booleans())
def test_a_part_that_is_read_at_once(part: Any, model: bool) -> None:
    short = outcome(messages.read_part, part, some_calls(model))
    assert short == outcome(messages._read_part, part, some_calls(model))


@given(st.lists(CALLS | TEXTS, max_size=2), st.sampled_from(["user", "model", "tool", None]))
def test_a_content_that_is_read_at_once(parts: list[Any], role: Any) -> None:
    collected = []
    for way in (messages._read_content, messages._read_any_content):
        read: list[il.Message] = []
        word = outcome(way, {"role": role, "parts": parts}, 1, "user", some_calls(False), read)
        collected.append((word, msgspec.json.encode(read)))
    assert collected[0] == collected[1]


COUNTS = st.integers(-2, 5) | st.none() | st.just(3.0)
USAGES = st.fixed_dictionaries(
    {"promptTokenCount": COUNTS, "totalTokenCount": st.integers(0, 12)},
    optional={
        "candidatesTokenCount": COUNTS,
        "thoughtsTokenCount": COUNTS,
        "cachedContentTokenCount": COUNTS,
        "toolUsePromptTokenCount": COUNTS,
        "prompt_token_count": COUNTS,
        "trafficType": st.just("X"),
    },
)


@given(USAGES)
def test_counts_that_are_read_at_once(wire: Any) -> None:
    def the_long_way() -> Any:
        preserved = Preserved()
        return response.COUNTS._read(response.USAGE.usual(wire, preserved), "gemini", preserved)

    assert outcome(response.read_usage, wire) == outcome(the_long_way)


# -- frames ---------------------------------------------------------------------------------------

PARTS = st.fixed_dictionaries(
    {"text": st.sampled_from(["", "a", "ü"])},
    optional={"thought": st.sampled_from([True, False]), "thoughtSignature": st.just("c2ln")},
)
CONTENTS = st.fixed_dictionaries(
    {"parts": st.lists(PARTS, min_size=1, max_size=2), "role": st.sampled_from(["model", "x"])}
)
CANDIDATES = st.fixed_dictionaries(
    {"content": CONTENTS},
    optional={"index": st.sampled_from([0, 1, None]), "finishReason": st.just("STOP")},
)
FRAMES = st.fixed_dictionaries(
    {"candidates": st.lists(CANDIDATES, min_size=1, max_size=2)},
    optional={
        "usageMetadata": USAGES,
        "modelVersion": st.sampled_from(["m", "n"]),
        "responseId": st.sampled_from(["r", "s"]),
        "createTime": st.sampled_from(["then", None]),
        "promptFeedback": st.just({"blockReason": "SAFETY"}),
    },
)
PLAIN = st.builds(
    lambda text: {"candidates": [{"content": {"parts": [{"text": text}], "role": "model"}}]},
    st.sampled_from(["a", "b"]),
)


@given(st.lists(PLAIN | FRAMES, max_size=6))
def test_frames_that_are_read_at_once(wires: list[Any]) -> None:
    short, long = StreamReader(), StreamReader()
    for wire in wires:
        frame = Frame(None, json.dumps(wire))
        assert outcome(short.feed, frame) == outcome(long._feed, frame)
    assert outcome(short.close) == outcome(long.close)


# -- writing --------------------------------------------------------------------------------------

RAWS = st.sampled_from(
    [
        None,
        {"gemini": {"x": 1}},
        {"openai-chat": {"x": 1}},
        {"gemini": {"$form": {"said": {"key": "result"}}}},
        {"gemini": {"$form": {"said": {"json": True}, "paired": "c1"}}},
        {"gemini": {"$form": {"kind": "functionResponse"}}},
    ]
)
CACHES = st.none() | st.just(Cache("5m"))
WORDS = st.sampled_from(["", "a", '{"b":1}'])
USED = st.sampled_from(["c1", "il_0123456789abcdef", "il_x"])
SAID_TEXTS = st.builds(
    il.TextBlock,
    WORDS,
    st.none() | st.just("c2ln"),
    phase=st.none() | st.just("commentary"),
    cache=CACHES,
    raw=RAWS,
)
SAID_MEDIA = st.builds(
    lambda kind, source, media_type, raw: kind(source, media_type, raw=raw),
    st.sampled_from([il.ImageBlock, il.AudioBlock, il.DocumentBlock]),
    st.sampled_from([Source("base64", "AAAA"), Source("url", "https://example.com/a.png")]),
    st.sampled_from([None, "image/png", "application/pdf"]),
    RAWS,
)
BLOCKS: Any = st.one_of(
    SAID_TEXTS,
    st.builds(
        il.ToolUseBlock,
        USED,
        st.just("f"),
        st.just({"a": 1}),
        raw_arguments=st.none() | st.just("{a:1"),
        signature=st.none() | st.just("c2ln"),
        executor=st.sampled_from(["client", "provider"]),
        call_type=st.none() | st.just("custom"),
        cache=CACHES,
        raw=RAWS,
    ),
    st.builds(
        il.ToolResultBlock,
        USED,
        st.lists(SAID_TEXTS | SAID_MEDIA, max_size=2).map(tuple),
        st.booleans(),
        st.none() | st.just("g"),
        cache=CACHES,
        raw=RAWS,
    ),
)
LONG: dict[type, Any] = {
    il.TextBlock: _parts._write_text,
    il.ToolUseBlock: calls._write_call,
    il.ToolResultBlock: calls._write_any_result,
}


def written(block: Any, way: Any, model: bool) -> Any:
    report = Report("gemini")
    message = il.Message(il.Role.ASSISTANT, (block,))
    turn = Turn(LossRecorder("gemini", il.Response(message), report), model)
    turn.names["c1"] = "f"
    return way(block, turn), report


@given(BLOCKS, st.booleans())
def test_a_block_that_is_written_at_once(block: Any, model: bool) -> None:
    short = written(block, messages.WRITERS[type(block)], model)
    assert short == written(block, LONG[type(block)], model)


@given(st.sampled_from(["model", "user", None, 5]), st.lists(TEXTS, max_size=2) | st.just({}))
def test_parts_of_a_candidate_that_are_found_at_once(role: Any, parts: Any) -> None:
    content = {"role": role, "parts": parts}
    short, long = Preserved(), Preserved()
    one = outcome(response.take_parts, {"content": content}, short)
    assert one == outcome(response._take_any_parts, content, long)
    assert short == long
