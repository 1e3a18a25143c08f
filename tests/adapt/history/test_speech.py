"""Spoken answers for dialects whose answers have no sound."""

from __future__ import annotations

import json
from typing import Any

import pytest

import interlingua as il
from interlingua.dialects.framing import decoder

SOUND = {"id": "audio_1", "data": "T2dnUwAC", "expires_at": 9, "transcript": "beep beep"}
SILENT = ("anthropic", "openai-responses", "bedrock", "ollama", "cohere")


def chunk(delta: dict[str, Any] | None, reason: str | None = None, **more: Any) -> bytes:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": reason}]
    wire = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return f"data: {json.dumps({**wire, 'choices': choices, **more})}\n\n".encode()


@pytest.mark.parametrize("target", SILENT)
def test_the_transcript_is_written_as_text(target: str) -> None:
    message = {"role": "assistant", "content": None, "audio": SOUND}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    done = il.convert(body, "openai-chat", target, kind="response")
    assert il.dialect(target).read_response(done.wire).message.text == "beep beep"
    assert ("downgraded", "$.message.content[0]") in [(x.kind, x.path) for x in done.report.entries]


@pytest.mark.parametrize("target", SILENT)
def test_the_transcript_of_a_stream_is_written_as_text(target: str) -> None:
    sound = {key: SOUND[key] for key in ("id", "data")}
    pieces = [
        chunk({"role": "assistant", "audio": {**sound, "transcript": "beep "}}),
        chunk({"audio": {"transcript": "beep"}}),
        chunk({}, "stop"),
        b"data: [DONE]\n\n",
    ]
    done = il.stream_convert(pieces, "openai-chat", target)
    data = b"".join(done)
    reader = il.dialect(target).stream_reader()
    frames = decoder(target)
    events = [e for f in (*frames.feed(data), *frames.close()) for e in reader.feed(f)]
    assert il.fold([*events, *reader.close()]).message.text == "beep beep"
    assert ("downgraded", "$.message.content[0]") in [(x.kind, x.path) for x in done.report.entries]


@pytest.mark.parametrize("target", ["gemini", "openrouter", "gemini-interactions"])
def test_sound_stays_sound_where_answers_may_be_spoken(target: str) -> None:
    message = {"role": "assistant", "content": None, "audio": SOUND}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    done = il.convert(body, "openai-chat", target, kind="response")
    assert "T2dnUwAC" in json.dumps(done.wire)


def test_the_type_of_sound_for_gemini_is_that_of_its_first_bytes() -> None:
    for data, kind in (
        ("T2dnUwAC", "audio/ogg"),
        ("UklGRg==", "audio/wav"),
        ("SUQzBAAA", "audio/mp3"),
    ):
        message = il.Message.assistant([il.AudioBlock(il.Source("base64", data))])
        done = il.dialect("gemini").write_response(il.Response(message))
        (part,) = done.wire["candidates"][0]["content"]["parts"]
        assert part["inlineData"]["mimeType"] == kind
        (filled,) = [loss for loss in done.report.entries if "media_type" in loss.path]
        assert (filled.severity, kind in filled.reason) == ("info", True)
