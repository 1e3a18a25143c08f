"""`POST /convert`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua import transcripts
from interlingua.model.message import Message
from interlingua.transcripts import Transcript
from tests.adapt.test_stream_places import DATA
from tests.gateway.page.conftest import apart
from tests.gateway.serving import Served, served
from tests.transcripts.made import session

CHAT = '{"model": "gpt-4.1", "messages": [{"role": "user", "content": "hi"}], "seed": 7}'


def converted(home: Path, *bodies: dict[str, Any]) -> list[tuple[int, Any]]:
    async def work(gateway: Served) -> list[tuple[int, Any]]:
        return [(await gateway.ask("POST", "/v1/convert", body))[:2] for body in bodies]

    async def serve() -> list[tuple[int, Any]]:
        async with served(home) as gateway:
            return await work(gateway)

    return apart(serve())


def test_a_body_is_recognised_and_said_in_another_form(tmp_path: Path) -> None:
    ((status, result),) = converted(tmp_path, {"text": CHAT, "target": "anthropic"})
    assert (status, result["source"], result["kind"]) == (200, "openai-chat", "request")
    assert result["evidence"]
    expected = il.convert(CHAT, "openai-chat", "anthropic")
    assert json.loads(result["text"]) == expected.wire
    assert result["losses"] == json.loads(expected.report.to_json())["losses"]
    assert [loss["at"] for loss in result["losses"] if "seed" in loss["path"]] == [["$.seed"]]


def test_numbers_stay_as_they_were_said(tmp_path: Path) -> None:
    call = {"name": "f", "arguments": '{"n": 12345678901234567890, "x": 1.0}'}
    body = {
        "model": "m",
        "messages": [
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "tool_calls": [{"id": "1", "type": "function", "function": call}],
            },
        ],
    }
    ((_, result),) = converted(tmp_path, {"text": json.dumps(body), "target": "anthropic"})
    assert "12345678901234567890" in result["text"]
    assert "1.0" in result["text"]


def test_what_was_said_of_a_body_counts(tmp_path: Path) -> None:
    message = '[{"role": "user", "content": [{"type": "text", "text": "hi"}]}]'
    ((status, result),) = converted(
        tmp_path, {"text": message, "source": "canonical", "target": "gemini", "model": "x"}
    )
    assert (status, result["source"], result["losses"]) == (200, "canonical", [])
    assert json.loads(result["text"])["contents"]


def test_what_cannot_be_converted_is_told_with_a_reason(tmp_path: Path) -> None:
    replies = converted(
        tmp_path,
        {"text": "{", "target": "anthropic"},
        {"text": '{"messages": [{"role": "user"', "target": "anthropic"},
        {"text": '{"a": 1}', "target": "anthropic"},
        {"text": CHAT, "target": "nobody"},
        {"text": CHAT, "target": "anthropic", "source": "nobody"},
        {"text": "[" * 100_000, "target": "anthropic"},
        {"text": CHAT, "target": "anthropic", "kind": "poem"},
        {"text": CHAT},
    )
    assert [status for status, _ in replies] == [400] * 8
    assert "line 1, column 30" in replies[1][1]["error"]["message"]
    assert [reported["error"]["code"] for _, reported in replies] == [
        *(
            "not_convertible",
            "not_convertible",
            "format_unknown",
            "format_unknown",
            "format_unknown",
        ),
        *("not_convertible", "invalid_request", "invalid_request"),
    ]


def test_a_body_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlingua.gateway.convert.MOST_BYTES", 1000)
    ((status, result),) = converted(tmp_path, {"text": "x" * 1000, "target": "anthropic"})
    assert (status, result["error"]["code"]) == (413, "request_too_large")


def test_files_and_addresses_that_a_body_names_are_not_opened(tmp_path: Path) -> None:
    secret = tmp_path / "secret.png"
    secret.write_bytes(b"canary")
    source = {"kind": "file_ref", "data": str(secret)}
    block = {"type": "image", "source": source, "media_type": "image/png"}
    text = json.dumps([{"role": "user", "content": [block]}])
    bodies = [
        {"text": text, "source": "canonical", "target": name, "model": "x"}
        for name in ("openai-chat", "anthropic", "gemini", "flat", "canonical")
    ]
    for status, reported in converted(tmp_path, *bodies):
        assert status == 200, reported
        assert "Y2FuYXJ5" not in reported["text"]
        assert "canary" not in reported["text"]


def test_a_stream_is_recognized_and_its_losses_name_frames(tmp_path: Path) -> None:
    text = DATA.decode()
    (status, found), (refused, why) = converted(
        tmp_path, {"text": text, "target": "openai-chat"}, {"text": text, "target": "bedrock"}
    )
    assert (status, found["source"], found["kind"]) == (200, "anthropic", "stream")
    assert found["text"].endswith("data: [DONE]\n\n")
    assert [loss["at"] for loss in found["losses"]] == [["#4 $.delta.signature"]]
    assert refused == 400
    assert "not text" in why["error"]["message"]


@pytest.mark.parametrize(("name", "is_foreign"), [("claude-sonnet-4-6", False), ("gpt-5", True)])
def test_a_request_made_of_a_transcript_names_its_model(
    tmp_path: Path, name: str, is_foreign: bool
) -> None:
    path = tmp_path / "made.jsonl"
    messages = (Message.user("hi"), Message.assistant("hello", il.MessageMetadata(model=name)))
    transcripts.write(Transcript.of("claude-code", messages), path, "claude-code")
    ((_, found),) = converted(tmp_path, {"text": path.read_text(), "target": "anthropic"})
    assert json.loads(found["text"])["model"] == name
    assert any(note["code"] == "foreign_model" for note in found["notes"]) == is_foreign


@pytest.mark.parametrize("target", ["openai-chat", "codex"])
def test_a_transcript_is_recognized_and_its_losses_name_lines(tmp_path: Path, target: str) -> None:
    path = tmp_path / "made.jsonl"
    transcripts.write(session(), path, "claude-code")
    body = {"text": path.read_text(), "target": target}
    ((status, found),) = converted(tmp_path / "home", body)
    assert (status, found["source"], found["kind"]) == (200, "claude-code", "transcript")
    places = [loss["at"] for loss in found["losses"] if loss["path"].startswith("$.messages")]
    assert places
    assert all(place.startswith("session.jsonl:") for at in places for place in at)
    assert json.loads(found["text"].splitlines()[0] if target == "codex" else found["text"])
