"""What is changed on the way to llama.cpp and back, and that nothing else is."""

from __future__ import annotations

import json
from typing import Any

import pytest

import interlingua as il
from interlingua.local import fixes
from interlingua.local.model import CONTEXT, USUAL_OUTPUT


def request(**options: Any) -> il.Request:
    return il.Request((il.Message.user("hi"),), "m", options=il.Options(**options))


@pytest.mark.parametrize(("temperature", "cached"), [(0.0, False), (0.7, True), (None, True)])
def test_only_greedy_turns_do_without_the_cache(temperature: float | None, cached: bool) -> None:
    wire = {"model": "m"}
    for dialect in ("openai-chat", "openai-responses"):
        body = fixes.request_body(dialect, wire, request(temperature=temperature))
        assert body == {"model": "m", "cache_prompt": cached}
    assert fixes.request_body("anthropic", wire, request(temperature=temperature)) == wire
    assert wire == {"model": "m"}


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses"])
def test_nothing_is_held_against_what_json_repeats(dialect: str) -> None:
    shape = il.ResponseFormat("json_schema", "it", {"type": "object"})
    asked = request(response_format=shape)
    wire = il.dialect(dialect).write_request(asked).wire
    assert fixes.request_body(dialect, wire, asked)["frequency_penalty"] == 0.0
    assert (
        fixes.request_body(dialect, {**wire, "frequency_penalty": 0.5}, asked)["frequency_penalty"]
        == 0.5
    ), "whoever asks for it gets it"
    assert "frequency_penalty" not in fixes.request_body(dialect, {"model": "m"}, request())


@pytest.mark.parametrize(
    ("given", "made", "limit", "cut"),
    [
        (10, 4, 4, True),
        (10, 3, 4, False),
        (10, USUAL_OUTPUT, None, True),
        (CONTEXT - 3, 3, None, True),
        (10, 3, None, False),
    ],
)
def test_a_responses_answer_without_room_is_incomplete(
    given: int, made: int, limit: int | None, cut: bool
) -> None:
    body = {
        "status": "completed",
        "output": [{"type": "message", "status": "completed"}],
        "usage": {"input_tokens": given, "output_tokens": made},
    }
    asked = request(max_output_tokens=limit)
    fixed = fixes.response_body("openai-responses", body, asked)
    assert (fixed["status"] == "incomplete") is cut
    assert (fixed is body) is not cut
    frames = fixes.Frames("openai-responses", asked)
    data = json.dumps({"type": "response.completed", "response": body})
    last = frames.fixed(il.Frame("response.completed", data))
    assert last.event == ("response.incomplete" if cut else "response.completed")


def test_frames_of_responses_get_their_places() -> None:
    frames = fixes.Frames("openai-responses", request())
    sent: list[dict[str, Any]] = [
        {"type": "response.created", "response": {}},
        {"type": "response.output_item.added", "item": {"id": "a"}},
        {"type": "response.output_text.delta", "item_id": "a", "delta": "x"},
        {"type": "response.output_item.added", "item": {"id": "b"}},
    ]
    parsed = [json.loads(frames.fixed(il.Frame(f["type"], json.dumps(f))).data) for f in sent]
    assert [each["sequence_number"] for each in parsed] == [0, 1, 2, 3]
    assert [each.get("output_index") for each in parsed] == [None, 0, 0, 1]
    assert [each.get("content_index") for each in parsed] == [None, None, 0, None]


@pytest.mark.parametrize("dialect", ["openai-chat", "anthropic"])
def test_other_frames_pass_as_they_are(dialect: str) -> None:
    frames = fixes.Frames(dialect, request())
    for frame in (il.Frame(None, "[DONE]"), il.Frame("message_delta", '{"delta":{}}')):
        assert frames.fixed(frame) is frame


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"error": 3}', b'{"error": {}}'])
def test_an_unreadable_complaint_is_a_server_error(body: bytes) -> None:
    error = fixes.failure(502, body).error
    assert error is not None
    assert (error.kind, error.status) == ("server_error", 500)
