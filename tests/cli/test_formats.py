"""Which format some JSON is in, and what is wrong with what is no JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import interlingua as il
from tests.cli.samples import ANSWER, BARE, PLAIN, as_bytes, run
from tests.dialects import everyday


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("claude-sonnet-4-6", "anthropic"),
        ("us.anthropic.claude-sonnet-4-6-v1:0", "anthropic"),
        ("gpt-5", "openai-chat"),
        ("mistral-large-latest", "openai-chat"),
        ("anthropic/claude-sonnet-4.5", "openai-chat"),
    ],
)
def test_the_models_name_breaks_the_tie_of_the_plainest_request(model: str, name: str) -> None:
    done = run("convert", "--to", "gemini", stdin=as_bytes({**PLAIN, "model": model}))
    assert done.exit_code == 0, done.stderr
    assert f"read as {name} request" in done.stderr


def test_a_tie_that_no_name_breaks_names_the_option() -> None:
    done = run("convert", "--to", "gemini", stdin=as_bytes({**PLAIN, "model": "house-model-1"}))
    assert done.exit_code == 1
    assert "openai-chat request" in done.stderr
    assert "anthropic request" in done.stderr
    assert "--from" in done.stderr


@pytest.mark.parametrize("name", list(BARE))
def test_messages_alone_are_a_request(name: str) -> None:
    done = run("convert", "--to", "canonical", "--model", "m", stdin=as_bytes(BARE[name]))
    assert done.exit_code == 0, done.stderr
    assert f"read as {name} request" in done.stderr
    read = json.loads(done.stdout)
    assert read["model"] == "m"
    assert len(read["messages"]) == 1


def test_messages_alone_are_a_request_in_python_too() -> None:
    for data in (BARE["openai-chat"], json.dumps(BARE["openai-chat"])):
        wire = il.convert(data, "openai-chat", "anthropic", model="claude-sonnet-4-6").wire
        assert wire["messages"][0]["content"][0]["type"] == "image"


def test_the_canonical_form_is_recognised() -> None:
    canonical = il.dumps(il.Request((il.Message.user("hi"),), "m"))
    done = run("convert", "--to", "anthropic", stdin=canonical)
    assert "read as canonical request" in done.stderr
    assert json.loads(done.stdout)["model"] == "m"


def test_a_format_that_is_named_need_not_be_told_a_kind() -> None:
    done = run("convert", "--from", "openai-chat", "--to", "anthropic", stdin=as_bytes(ANSWER))
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["type"] == "message"


@pytest.mark.parametrize("command", [("convert", "--to", "gemini"), ("inspect",), ("check",)])
@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b'{\n  "model": "m",\n}', "line 3, column 1"),
        (b'{"model": "h\xc3\xa9", oops}', "line 1, column 17"),
        (b'{\n  "model": "m"', "line 2, column 15"),
        (b'{"model": "\xff"}', "line 1, column 12"),
    ],
)
def test_json_that_is_wrong_is_told_by_file_line_and_column(
    command: tuple[str, ...], data: bytes, place: str, tmp_path: Path
) -> None:
    file = tmp_path / "talk.json"
    file.write_bytes(data)
    done = run(command[0], file, *command[1:])
    assert done.exit_code == 1
    assert f"{file}, at {place}" in done.stderr
    assert "(byte" not in done.stderr


@pytest.mark.parametrize("name", list(everyday.VALUES))
def test_everyday_json_fits_no_dialect(name: str) -> None:
    with pytest.raises(il.DetectError, match="no format matches"):
        il.detect(everyday.VALUES[name])


def test_a_model_as_the_target_names_the_option_for_models() -> None:
    done = run("convert", "--to", "sonnet", stdin=b"{}")
    assert done.exit_code == 2
    assert "'sonnet' is a model: use --to anthropic -m sonnet" in done.stderr
    assert "did you mean 'gemini'?" in run("convert", "--to", "gemin").stderr
