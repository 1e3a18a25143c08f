"""The places of a stream's losses: the frame, counted from one, and the path in it."""

from __future__ import annotations

import json
from typing import Any

import pytest

import interlingua as il
from interlingua.adapt import stream_places
from interlingua.adapt.places import steps, value_at
from interlingua.adapt.stream_convert import StreamConverter
from interlingua.adapt.stream_places import StreamSource
from tests.laws.corpus import corpus_or_skip, records
from tests.laws.streams import frames_of

USAGE = {"input_tokens": 5, "output_tokens": 1, "inference_geo": "us"}
START = {"id": "m", "type": "message", "role": "assistant", "model": "c", "content": []}


def _block(what: str, **rest: Any) -> dict[str, Any]:
    return {"type": f"content_block_{what}", "index": 0, **rest}


FRAMES: list[dict[str, Any]] = [
    {"type": "message_start", "message": {**START, "usage": USAGE}},
    _block("start", content_block={"type": "thinking", "thinking": ""}),
    _block("delta", delta={"type": "thinking_delta", "thinking": "hm"}),
    _block("delta", delta={"type": "signature_delta", "signature": "s"}),
    _block("stop"),
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}},
    {"type": "message_stop"},
]

DATA = b"".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode() for each in FRAMES)
PLACES = {
    "unverified": ("#4 $.delta.signature",),
    "vendor_field_known": ("#1 $.message.usage.inference_geo",),
}


@pytest.mark.parametrize(
    "chunks",
    [DATA, [DATA[:700], DATA[700:]], DATA.decode().splitlines(), FRAMES],
    ids=["bytes", "pieces", "lines", "dicts"],
)
def test_a_loss_names_the_frame_and_the_key_in_it(chunks: Any) -> None:
    converted = il.stream_convert(chunks, to="ollama")
    for _ in converted:
        pass
    report = converted.report
    assert {entry.code: entry.at for entry in (*report.losses, *report.notes)} == PLACES


def test_a_stream_that_is_too_long_is_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_places, "LARGEST", len(DATA) - 1)
    converted = il.stream_convert(DATA, to="ollama")
    for _ in converted:
        pass
    assert [entry.at for entry in converted.report.losses] == [()]


def test_nearly_every_recorded_loss_has_a_frame_that_has_the_key() -> None:
    corpus_or_skip()
    total = placed = 0
    for number, record in enumerate(each for each in records() if each.stream):
        if number % 97:
            continue
        for target in ("anthropic", "openai-chat"):
            if target == record.dialect or record.dialect is None:
                continue
            converter, source = (
                StreamConverter(record.dialect, target),
                StreamSource(record.dialect),
            )
            for frame in frames_of(record):
                converter.feed_frame(frame)
                source.add(frame)
            converter.close()
            places = source.places(converter.report.entries)
            total += len(places)
            placed += sum(map(bool, places))
            for at in places:
                _require_present(at, source)
    assert placed >= total * 0.97


def _require_present(places: tuple[str, ...], source: StreamSource) -> None:
    frames = source.frames()
    for place in places:
        number, _, path = place.removeprefix("#").partition(" ")
        value_at(json.loads(frames[int(number) - 1].data), steps(path))


def test_the_remembered_frames_are_those_of_the_stream() -> None:
    source = StreamSource("anthropic")
    for start in range(0, len(DATA), 50):
        source.add(DATA[start : start + 50])
    assert [json.loads(frame.data) for frame in source.frames()] == FRAMES


def _chunk(**choice: Any) -> dict[str, Any]:
    about = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return {**about, "choices": [{"index": 0, **choice}]}


TOKEN = {"token": "hi", "logprob": -1, "bytes": None, "top_logprobs": []}
CHAT = [
    _chunk(delta={"role": "assistant", "content": ""}, finish_reason=None),
    _chunk(delta={"content": "hi"}, logprobs={"content": [TOKEN]}, finish_reason=None),
    _chunk(delta={}, finish_reason="stop"),
]
CITED = {"type": "char_location", "cited_text": "x", "document_index": 0, "document_title": "t"}
CITED = {**CITED, "start_char_index": 0, "end_char_index": 1}
CLAUDE = [
    {"type": "message_start", "message": {**START, "usage": USAGE, "stop_sequence": None}},
    _block("start", content_block={"type": "text", "text": "", "citations": []}),
    _block("delta", delta={"type": "citations_delta", "citation": CITED}),
    _block("delta", delta={"type": "text_delta", "text": "hey"}),
    _block("stop"),
    {
        "type": "message_delta",
        "delta": {"stop_reason": "stop_sequence", "stop_sequence": "END"},
        "usage": {"output_tokens": 9},
    },
    {"type": "message_stop"},
]


def _sse(frames: list[dict[str, Any]]) -> bytes:
    return b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in frames)


@pytest.mark.parametrize(
    ("chunks", "source", "target", "path", "at"),
    [
        (CHAT, "openai-chat", "anthropic", "logprobs", "#2 $.choices[0].logprobs"),
        (
            _sse(CHAT) + b"data: [DONE]\n\n",
            "openai-chat",
            "anthropic",
            "logprobs",
            "#2 $.choices[0].logprobs",
        ),
        (CLAUDE, "anthropic", "openai-chat", "citations[0]", "#3 $.delta.citation"),
        (CLAUDE, "anthropic", "gemini", "raw.anthropic.type", "#3 $.delta.citation.type"),
        (CLAUDE, "anthropic", "gemini", "raw.anthropic.stop_sequence", "#6 $.delta.stop_sequence"),
    ],
)
def test_a_place_is_that_of_the_value_itself(
    chunks: Any, source: str, target: str, path: str, at: str
) -> None:
    converted = il.stream_convert(chunks, source, target)
    for _ in converted:
        pass
    entries = converted.report.located()
    assert [entry.at for entry in entries if entry.path.endswith(path)] == [(at,)]
