"""`convert`, `inspect` and `check` on whatever people have on their disks."""

from __future__ import annotations

import bz2
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import interlingua as il
from interlingua import transcripts
from interlingua.cli.inputs import shape_of
from interlingua.cli.main import commands
from interlingua.formats import names
from interlingua.presets import PRESETS
from tests.dialects import everyday

PLAIN = {"model": "gpt-5", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
SEEDED = {**PLAIN, "seed": 7}
ANSWER = {
    "id": "c1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-5",
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}
    ],
}


def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {
        "id": "c1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "gpt-5",
        "choices": [choice],
    }


CHUNKS = [chunk({"role": "assistant", "content": "Hi"}), chunk({}, "stop")]
SSE = b"".join(b"data: %b\n\n" % json.dumps(each).encode() for each in CHUNKS)
STREAM = SSE + b"data: [DONE]\n\n"
CUT = SSE[: SSE.index(b"\n\n") + 2]


def run(*arguments: str | Path, stdin: bytes = b"") -> Result:
    result = CliRunner().invoke(commands(), list(map(str, arguments)), input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def as_bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else json.dumps(value).encode()


def lines_of(*values: Any) -> bytes:
    return b"".join(as_bytes(value) + b"\n" for value in values)


# What it is


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


BARE = {
    "openai-chat": [
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://a.b/c"}}]}
    ],
    "anthropic": [
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}],
        }
    ],
    "gemini": [{"role": "user", "parts": [{"text": "hi"}]}],
    "bedrock": [{"role": "user", "content": [{"text": "hi"}]}],
    "openai-responses": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}
    ],
    "flat": [{"role": "user", "content": "hi"}],
}


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


@pytest.mark.parametrize(
    ("head", "shape"),
    [
        (b" \n", None),
        (b"da", None),
        (b"event: message_start\n", "stream"),
        (b": OPENROUTER PROCESSING\n", "stream"),
        (b"\0\0\0\x90", "stream"),
        (b'[{\n  "candidates": [', "stream"),
        (b'{"model":"m","message":{},"done":false}\n', "stream"),
        (b'{"type":"message_start"}\n{', "stream"),
        (b'{"a":', None),
        (b'{"a":1}\n', None),
        (b'{"a":1}\n{', "lines"),
        (b'{"a":\n{"b":1}\n', "lines"),
        (b'{\n  "a": 1,\n', "json"),
        (b'[\n{"role":"user"}\n]', "json"),
        (b"name,age\n", "text"),
    ],
)
def test_the_first_bytes_tell_the_shape_as_soon_as_they_can(head: bytes, shape: str | None) -> None:
    assert shape_of(head, is_whole=False) == shape


@pytest.mark.parametrize(
    ("data", "shape"), [(b"\n", "empty"), (b'{"a":1}\n', "json"), (b"{", "json"), (b"id", "text")]
)
def test_the_end_tells_what_was_not_clear(data: bytes, shape: str) -> None:
    assert shape_of(data, is_whole=True) == shape


# Packed, empty, damaged


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
@pytest.mark.parametrize(
    "data",
    [as_bytes(PLAIN), lines_of(PLAIN, PLAIN), STREAM],
    ids=["one", "lines", "stream"],
)
def test_packed_files_are_unpacked(
    pack: Callable[[bytes], bytes], data: bytes, tmp_path: Path
) -> None:
    file = tmp_path / "packed"
    file.write_bytes(pack(data))
    plain = run("convert", "--to", "anthropic", stdin=data)
    assert plain.exit_code == 0, plain.stderr
    for packed in (
        run("convert", file, "--to", "anthropic"),
        run("convert", "--to", "anthropic", stdin=pack(data)),
    ):
        assert packed.exit_code == 0, packed.stderr
        assert packed.stdout == plain.stdout


def test_zstandard_is_unpacked_where_its_extra_is_installed() -> None:
    zstandard = pytest.importorskip("zstandard")
    data = zstandard.compress(lines_of(PLAIN, PLAIN))
    done = run("convert", "--to", "anthropic", stdin=data)
    assert done.exit_code == 0, done.stderr
    assert len(done.stdout.splitlines()) == 2


@pytest.mark.parametrize("command", [("convert", "--to", "gemini"), ("inspect",), ("check",)])
@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (gzip.compress(as_bytes(PLAIN), mtime=0)[:-9], "a damaged gzip file"),
        (b"PK\x03\x04rest", "unzip -p"),
        (b"\xfd7zXZ\0rest", "xz -dc"),
        ("{}".encode("utf-16"), "iconv"),
        (b"name,age\nAda,36\n", "it begins with 'name,age'"),
    ],
    ids=["empty", "blank", "cut gzip", "zip", "xz", "utf-16", "csv"],
)
def test_what_cannot_be_read_is_named(
    command: tuple[str, ...], data: bytes, says: str, tmp_path: Path
) -> None:
    file = tmp_path / "talk.json"
    file.write_bytes(data)
    done = run(command[0], file, *command[1:])
    assert done.exit_code == 1
    [line] = done.stderr.splitlines()
    assert str(file) in line
    assert says in line


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


# Options


def test_the_short_options_are_those_that_people_know(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    arguments = ("-f", "openai-chat", "-t", "anthropic", "-m", "claude-sonnet-4-6")
    done = run("convert", *arguments, "-o", out, stdin=as_bytes(PLAIN))
    assert done.exit_code == 0, done.stderr
    assert done.stdout == ""
    assert json.loads(out.read_bytes())["model"] == "claude-sonnet-4-6"


def test_the_output_may_be_the_input_and_stays_where_nothing_can_be_read(tmp_path: Path) -> None:
    file = tmp_path / "talk.json"
    file.write_bytes(as_bytes(PLAIN))
    assert run("convert", file, "-t", "anthropic", "-o", file).exit_code == 0
    after = file.read_bytes()
    assert b'"type":"text"' in after
    broken = tmp_path / "broken.json"
    broken.write_bytes(b"{")
    assert run("convert", broken, "-t", "gemini", "-o", file).exit_code == 1
    assert file.read_bytes() == after
    assert sorted(each.name for each in tmp_path.iterdir()) == ["broken.json", "talk.json"]


def test_a_folder_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    done = run("convert", "-t", "gemini", "-o", tmp_path / "no" / "a.json", stdin=as_bytes(PLAIN))
    assert done.exit_code == 1
    assert "there is no folder" in done.stderr


@pytest.mark.parametrize("target", ["anthropic", "openai-responses", "openai-chat"])
@pytest.mark.parametrize("data", [PLAIN, ANSWER, STREAM], ids=["request", "response", "stream"])
def test_the_model_is_set_in_requests_responses_and_streams(data: Any, target: str) -> None:
    given = as_bytes(data)
    done = run("convert", "-t", target, "-m", "other-1", stdin=given)
    assert done.exit_code == 0, done.stderr
    assert "other-1" in done.stdout
    assert "gpt-5" not in done.stdout
    many = run("convert", "-t", target, "-m", "other-1", "--envelope", stdin=lines_of(ANSWER))
    assert "other-1" in many.stdout
    assert "gpt-5" not in many.stdout


def test_a_model_that_the_body_does_not_say_is_told() -> None:
    assert "gpt-5" in run("convert", "-t", "gemini", stdin=as_bytes(PLAIN)).stderr


def test_the_formats_are_listed_without_anything_else() -> None:
    done = run("convert", "--list-formats")
    assert done.exit_code == 0
    listed = [line.split()[0] for line in done.stdout.splitlines()]
    assert listed == [*names(), *PRESETS]


# Lines


def test_lines_give_the_target_format_a_line_each() -> None:
    for more in ((), ("--lines",)):
        done = run("convert", "-t", "anthropic", *more, stdin=lines_of(SEEDED, PLAIN, ANSWER))
        assert done.exit_code == 0, done.stderr
        wires = [json.loads(line) for line in done.stdout.splitlines()]
        assert [wire.get("type", "request") for wire in wires] == ["request", "request", "message"]
        assert "3 lines, 0 unreadable" in done.stderr
        assert "1 x warning: dropped at $.options.seed" in done.stderr


def test_a_line_that_cannot_be_read_is_told_and_the_others_are_converted(tmp_path: Path) -> None:
    file, report = tmp_path / "talks.jsonl", tmp_path / "report.jsonl"
    file.write_bytes(lines_of(SEEDED) + b"\n{oops}\n" + lines_of(PLAIN))
    done = run("convert", file, "-t", "anthropic", "--report", report)
    assert done.exit_code == 1
    assert len(done.stdout.splitlines()) == 2
    assert f"{file}, line 3: column 2: expected JSON, found " in done.stderr
    told = [json.loads(line) for line in report.read_bytes().splitlines()]
    assert [each["line"] for each in told] == [1, 3]
    assert told[0]["losses"][0]["path"] == "$.options.seed"
    assert "error" in told[1]


def test_the_envelope_has_the_losses_and_flaws_beside_each_line() -> None:
    data = lines_of(SEEDED) + b"{oops}\n"
    done = run("convert", "-t", "anthropic", "--envelope", "--lines", stdin=data)
    first, second = map(json.loads, done.stdout.splitlines())
    assert first["ok"] is True
    assert first["wire"]["messages"]
    assert first["losses"][0]["path"] == "$.options.seed"
    assert second["ok"] is False
    assert second["error"]


def test_a_value_over_several_lines_is_one_line_too() -> None:
    data = json.dumps(PLAIN, indent=2).encode()
    done = run("convert", "-t", "anthropic", "--envelope", stdin=data)
    assert done.exit_code == 0, done.stderr
    [line] = done.stdout.splitlines()
    assert json.loads(line)["ok"] is True


def test_strict_lines_fail_on_a_loss_and_only_then() -> None:
    arguments = ("convert", "-t", "anthropic", "--strict")
    assert run(*arguments, stdin=lines_of(SEEDED, PLAIN)).exit_code == 3
    assert run(*arguments, stdin=lines_of(PLAIN, PLAIN)).exit_code == 0


# Streams


def test_streams_are_recognised_however_they_were_kept() -> None:
    expected = run("convert", "-t", "anthropic", "--kind", "stream", stdin=STREAM).stdout
    assert "event: message_stop" in expected
    for kept in (STREAM, lines_of(*CHUNKS)):
        done = run("convert", "-t", "anthropic", stdin=kept)
        assert done.exit_code == 0, done.stderr
        assert "read as openai-chat stream" in done.stderr
        assert done.stdout == expected


@pytest.mark.parametrize("name", il.dialects())
def test_the_streams_of_every_dialect_are_recognised(name: str, tmp_path: Path) -> None:
    file = tmp_path / "stream"
    there = run("convert", "-t", name, "-o", file, stdin=STREAM)
    assert there.exit_code == 0, there.stderr
    back = run("convert", file, "-t", "openai-chat")
    assert back.exit_code == 0, back.stderr
    known = name if name != "openrouter" else "openai-chat"  # which its frames look like
    assert f"read as {known} stream" in back.stderr
    assert '"content":"Hi"' in back.stdout.replace('": ', '":')


@pytest.mark.parametrize("target", ["anthropic", "openai-chat", "ollama"])
def test_a_cut_stream_ends_with_a_code_and_says_so(target: str) -> None:
    done = run("convert", "-t", target, stdin=CUT)
    assert done.exit_code == 1
    assert "was cut" in done.stderr
    assert "Hi" in done.stdout


def test_an_error_that_the_provider_sent_is_converted_like_anything_else() -> None:
    error = b'data: {"error": {"message": "busy", "type": "server_error"}}\n\n'
    done = run("convert", "-t", "anthropic", "-f", "openai-chat", "--kind", "stream", stdin=error)
    assert "busy" in done.stdout
    assert done.exit_code == 0, done.stderr


# Looking at them


def test_inspect_shows_a_stream_as_the_answer_that_it_tells() -> None:
    done = run("inspect", stdin=STREAM)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("openai-chat stream: gpt-5, end_turn")
    assert "text: Hi" in done.stdout
    cut = run("inspect", "--kind", "stream", "--from", "openai-chat", stdin=CUT)
    assert "text: Hi" in cut.stdout
    assert "error: stream ended before the message was complete" in cut.stdout
    assert json.loads(run("inspect", "--json", stdin=STREAM).stdout)["message"]["role"]


def test_inspect_shows_each_line() -> None:
    done = run("inspect", stdin=lines_of(PLAIN, ANSWER))
    assert "line 1: openai-chat request: gpt-5" in done.stdout
    assert "line 2: openai-chat response: gpt-5" in done.stdout
    odd = run("inspect", "--lines", stdin=lines_of(PLAIN) + b"{\n" + lines_of(ANSWER))
    assert odd.exit_code == 1
    assert "standard input, at line 2, column 2: expected more of the JSON" in odd.stderr
    assert "line 3: openai-chat response" in odd.stdout


@pytest.mark.parametrize(
    "data",
    [STREAM, as_bytes(PLAIN), as_bytes(BARE["openai-chat"])],
    ids=["stream", "request", "messages"],
)
def test_check_takes_streams_and_messages_alone(data: bytes) -> None:
    done = run("check", stdin=data)
    assert done.exit_code == 0, done.output
    assert "1 of 1 keep the laws" in done.stderr


def test_check_says_that_a_stream_was_cut() -> None:
    done = run("check", stdin=CUT)
    assert done.exit_code == 1
    assert "its end: stream ended before the message was complete" in done.stdout


def test_check_takes_lines_as_they_come() -> None:
    done = run("check", stdin=lines_of(PLAIN, ANSWER, {"hello": "world"}))
    assert done.exit_code == 1
    assert "line 3: " in done.stdout
    assert "2 of 3 keep the laws" in done.stderr


# Everyday files


@pytest.mark.parametrize("name", list(everyday.files()))
def test_an_everyday_file_is_not_taken_for_a_conversation(name: str, tmp_path: Path) -> None:
    file = tmp_path / Path(name).name
    file.write_bytes(everyday.files()[name])
    done = run("convert", file, "--to", "anthropic")
    assert done.exit_code == 1, done.stdout
    assert done.stdout == ""
    assert str(file) in done.stderr
    with pytest.raises(il.InterlinguaError):
        transcripts.detect(file)


@pytest.mark.parametrize("name", list(everyday.VALUES))
def test_everyday_json_fits_no_dialect(name: str) -> None:
    with pytest.raises(il.DetectError, match="no dialect"):
        il.detect(everyday.VALUES[name])


# Batches, lists, sessions of agents

BATCHES: dict[str, list[Any]] = {
    "openai-chat request": [
        {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": PLAIN}
    ],
    "openai-responses request": [
        {
            "custom_id": "a",
            "method": "POST",
            "url": "/v1/responses",
            "body": {"model": "gpt-5", "input": "hi"},
        }
    ],
    "openai-chat response": [
        {"id": "b", "custom_id": "a", "response": {"status_code": 200, "body": ANSWER}}
    ],
    "openai-chat error": [
        {"custom_id": "a", "response": None, "error": {"code": "expired", "message": "late"}}
    ],
    "anthropic request": [{"custom_id": "a", "params": {**PLAIN, "model": "claude-sonnet-4-6"}}],
    "anthropic response": [
        {
            "custom_id": "a",
            "result": {
                "type": "succeeded",
                "message": {"type": "message", "role": "assistant", "content": []},
            },
        }
    ],
    "anthropic error": [
        {
            "custom_id": "a",
            "result": {
                "type": "errored",
                "error": {"type": "error", "error": {"type": "api_error", "message": "No"}},
            },
        }
    ],
}


@pytest.mark.parametrize("name", list(BATCHES))
def test_rows_of_batches_are_converted_and_what_stood_around_them_is_told(name: str) -> None:
    [row] = BATCHES[name]
    for data in (lines_of(row), lines_of(row, row), json.dumps([row, row], indent=2).encode()):
        done = run("convert", "-t", "gemini", stdin=data)
        assert done.exit_code == 0, done.stderr
        key = "contents" if name.endswith("request") else "error"
        wire = json.loads(done.stdout.splitlines()[0])
        assert (key in wire) is not name.endswith("response")
        assert "warning: dropped at $.custom_id" in done.stderr


def test_a_list_of_conversations_gives_a_line_each() -> None:
    done = run("convert", "-t", "anthropic", stdin=json.dumps([PLAIN, SEEDED], indent=2).encode())
    assert done.exit_code == 0, done.stderr
    assert [json.loads(line)["max_tokens"] for line in done.stdout.splitlines()] == [9, 9]


SHAREGPT = {"conversations": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "Hello."}]}
CODEX = lines_of(
    {
        "timestamp": "2026-11-01T10:00:00.000Z",
        "type": "session_meta",
        "payload": {"id": "s", "cwd": "/home/me", "cli_version": "0.166.0"},
    },
    {
        "timestamp": "2026-11-01T10:00:01.000Z",
        "type": "response_item",
        "payload": {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "hi"}],
        },
    },
)


@pytest.mark.parametrize(
    ("name", "data", "count"),
    [("codex", CODEX, 1), ("sharegpt", lines_of(SHAREGPT, SHAREGPT), 2)],
)
def test_sessions_of_other_tools_are_requests_that_go_on_with_them(
    name: str, data: bytes, count: int, tmp_path: Path
) -> None:
    file = tmp_path / "session.jsonl"
    file.write_bytes(data)
    for done in (
        run("convert", file, "-t", "anthropic", "-m", "claude-sonnet-4-6"),
        run("convert", "-t", "anthropic", "-m", "claude-sonnet-4-6", stdin=data),
        run("convert", file, "-f", name, "-t", "anthropic", "-m", "claude-sonnet-4-6"),
    ):
        assert done.exit_code == 0, done.stderr
        assert f"read as {name} transcript" in done.stderr
        wires = [json.loads(line) for line in done.stdout.splitlines()]
        assert len(wires) == count
        assert wires[0]["model"] == "claude-sonnet-4-6"
        assert wires[0]["messages"][0]["content"][0]["text"] == "hi"


def test_inspect_names_the_command_for_sessions_of_other_tools(tmp_path: Path) -> None:
    file = tmp_path / "export.json"
    file.write_bytes(json.dumps([SHAREGPT], indent=2).encode())
    done = run("inspect", file)
    assert done.exit_code == 1
    assert "a transcript of sharegpt: interlingua transcripts show" in done.stderr


def test_a_file_of_lines_is_what_it_is_wherever_its_output_goes(tmp_path: Path) -> None:
    [row] = BATCHES["openai-chat request"]
    kept = {
        "batch": lines_of(row, row),
        "session": CODEX,
        "stream": lines_of(*CHUNKS),
    }
    for name, data in kept.items():
        file, out = tmp_path / f"{name}.jsonl", tmp_path / f"{name}.out.jsonl"
        file.write_bytes(data)
        shown = run("convert", file, "-t", "openai-responses")
        assert shown.exit_code == 0, shown.stderr
        written = run("convert", file, "-t", "openai-responses", "-o", out)
        assert written.exit_code == 0, written.stderr
        assert out.read_text(encoding="utf-8") == shown.stdout
