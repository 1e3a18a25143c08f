"""`interlingua convert` of one conversation, or of a recorded stream."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.samples import ANSWER, CUT, PLAIN, STREAM, as_bytes, lines_of, run

# Options


def test_the_short_options_are_those_that_people_know(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    arguments = ("-f", "openai-chat", "-t", "anthropic", "-m", "claude-sonnet-4-6")
    done = run("convert", *arguments, "-o", out, stdin=as_bytes(PLAIN))
    assert done.exit_code == 0, done.stderr
    assert done.stdout == ""
    assert json.loads(out.read_bytes())["model"] == "claude-sonnet-4-6"


@pytest.mark.parametrize("target", ["anthropic", "openai-responses", "openai-chat"])
@pytest.mark.parametrize("data", [PLAIN, ANSWER, STREAM], ids=["request", "response", "stream"])
def test_the_model_is_set_in_requests_responses_and_streams(data: Any, target: str) -> None:
    value = as_bytes(data)
    done = run("convert", "-t", target, "-m", "other-1", stdin=value)
    assert done.exit_code == 0, done.stderr
    assert "other-1" in done.stdout
    assert "gpt-5" not in done.stdout
    many = run("convert", "-t", target, "-m", "other-1", "--envelope", stdin=lines_of(ANSWER))
    assert "other-1" in many.stdout
    assert "gpt-5" not in many.stdout


def test_a_model_that_the_body_does_not_say_is_reported() -> None:
    assert "gpt-5" in run("convert", "-t", "gemini", stdin=as_bytes(PLAIN)).stderr


# Streams


@pytest.mark.parametrize("target", ["anthropic", "openai-chat", "ollama"])
def test_a_truncated_stream_ends_with_an_exit_code_and_a_message(target: str) -> None:
    done = run("convert", "-t", target, stdin=CUT)
    assert done.exit_code == 1
    assert "ended early" in done.stderr
    assert "Hi" in done.stdout


def test_an_error_that_the_provider_sent_is_converted_like_anything_else() -> None:
    error = b'data: {"error": {"message": "busy", "type": "server_error"}}\n\n'
    done = run("convert", "-t", "anthropic", "-f", "openai-chat", "--kind", "stream", stdin=error)
    assert "busy" in done.stdout
    assert done.exit_code == 0, done.stderr
