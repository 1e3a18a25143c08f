"""Views are formats like dialects: of `convert`, of `detect`, and on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua.adapt.formats import names
from interlingua.views import VIEWS
from tests.cli.running import run

ASKED = "How many legs has a spider?"
CALL = il.ToolUseBlock("call_1", "read_file", {"path": "a.txt"})
CALLS: list[il.Message] = [
    il.Message.system("Be brief."),
    il.Message.user("What is in a.txt?"),
    il.Message.assistant(
        ["Let me see.", il.ToolUseBlock("call_1", "read_file", {"path": "a.txt"})]
    ),
    il.Message.tool_result("call_1", "Nothing.", tool_name="read_file"),
    il.Message.assistant("It is empty."),
    il.Message.user("Thanks."),
]


@pytest.mark.parametrize("target", il.dialects())
@pytest.mark.parametrize("source", list(VIEWS))
def test_a_view_is_written_in_every_dialect(source: str, target: str) -> None:
    wire = VIEWS[source].write(CALLS).wire
    written = il.convert(wire, source, target, model="m")
    back = il.dialect(target).read_request(written.wire, model=written.model)
    assert [call.name for m in back.messages for call in m.tool_calls] == ["read_file"]
    assert back.model == "m"
    assert "It is empty." in [message.text for message in back.messages]
    assert not [loss for loss in written.report.entries if loss.severity == "error"]


@pytest.mark.parametrize("target", list(VIEWS))
def test_every_dialect_is_written_as_a_view(target: str) -> None:
    for source in il.dialects():
        wire = il.dialect(source).write_request(il.Request(tuple(CALLS), "m")).wire
        written = il.convert(wire, source, target, model="m")
        back = VIEWS[target].read(written.wire)
        assert [m.text for m in back if m.role == "assistant"] == ["Let me see.", "It is empty."]
        assert written.json()


def test_views_are_written_as_views_and_in_the_canonical_form() -> None:
    flat = VIEWS["flat"].write(CALLS).wire
    parts = il.convert(flat, "flat", "parts").wire
    assert parts[1] == {
        "role": "USER",
        "content": [{"kind": "TEXT", "text": "What is in a.txt?"}],
    }
    canonical = il.convert(json.dumps(parts), "parts", "canonical")
    assert [m["role"] for m in canonical.wire["messages"]] == [m.role for m in CALLS]
    again = il.convert(canonical.wire, "canonical", "flat").wire
    assert [m["content"] for m in again] == [m["content"] for m in flat]


def test_an_answer_is_a_response() -> None:
    answer = il.convert(
        {"role": "assistant", "content": "Eight."}, "flat", "openai-chat", "response"
    )
    assert answer.wire["choices"][0]["message"]["content"] == "Eight."
    back = il.convert(answer.wire, "openai-chat", "flat", "response")
    assert back.wire[0]["content"] == "Eight."
    with pytest.raises(il.ReadError, match="one assistant message"):
        il.convert([{"role": "user", "content": "hi"}], "flat", "anthropic", "response")


def test_an_unknown_format_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(il.DetectError) as error:
        il.convert({}, "cubist", "anthropic")
    assert error.value.candidates == names()


# Detecting


ALIKE = {"openai-agents": "openai-responses"}
"""Items that say nothing of another provider are the dialect's own."""


@pytest.mark.parametrize("name", list(VIEWS))
def test_each_view_is_recognized(name: str) -> None:
    found = il.detect(VIEWS[name].write(CALLS).wire)
    assert (found.dialect, found.kind) == (ALIKE.get(name, name), "request")
    assert found.evidence


@pytest.mark.parametrize("name", il.dialects())
def test_dialects_are_still_recognized(name: str) -> None:
    wire = il.dialect(name).write_request(il.Request(tuple(CALLS), "m")).wire
    found = il.detect(wire)
    assert found.dialect in (name, "openai-chat")  # OpenRouter's usual requests are Chat's


CHAT = {"messages": [{"role": "user", "content": ASKED}]}
CONTEXT = {"systemPrompt": "Be brief.", **CHAT}


@pytest.mark.parametrize(
    ("data", "name", "kind"),
    [
        ([{"role": "user", "content": ASKED}], "flat", "request"),
        ({"role": "assistant", "content": "Eight."}, "flat", "response"),
        ({"role": "ASSISTANT", "content": []}, "parts", "response"),
        (CONTEXT, "camel", "request"),
        ({"model": "m", **CHAT}, "openai-chat", "request"),
    ],
)
def test_bare_messages_are_of_a_view(data: Any, name: str, kind: str) -> None:
    found = il.detect(data)
    assert (found.dialect, found.kind) == (name, kind)


PICTURE = {"type": "image_url", "image_url": {"url": "https://x.org/a.png"}}
TOOL_CALLS = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
ITEM = {"type": "input_image", "image_url": "https://x.org/a.png"}
OF_CLAUDE = {"type": "image", "source": {"type": "url", "url": "https://x.org/a.png"}}


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ({"role": "user", "content": [{"type": "text", "text": "hi"}, PICTURE]}, "openai-chat"),
        (
            {"role": "user", "content": [{"type": "input_text", "text": "hi"}, ITEM]},
            "openai-responses",
        ),
        ({"role": "user", "content": [{"type": "text", "text": "hi"}, OF_CLAUDE]}, "anthropic"),
        ({"role": "user", "parts": [{"text": "hi"}]}, "gemini"),
        ({"role": "user", "content": [{"text": "hi"}]}, "bedrock"),
    ],
)
def test_one_message_is_of_the_format_of_a_list_with_it(message: Any, name: str) -> None:
    for data in (message, json.dumps(message), [message]):
        written = il.convert(data, to="canonical")
        if name != "bedrock":  # whose text alone is also that of openai-ui
            assert il.detect(data).dialect == name
        assert not written.report
        (read,) = il.convert(data, name, "canonical").wire["messages"]
        assert read["content"][0] == {"type": "text", "text": "hi"}
        assert read["content"] == written.wire["messages"][0]["content"]
        target = "anthropic" if name != "anthropic" else "openai-chat"
        assert not [
            loss
            for loss in il.convert(data, to=target).report.losses
            if "max_tokens" not in loss.code
        ]


def test_chat_messages_with_a_picture_and_calls_are_no_view() -> None:
    user = {"role": "user", "content": [{"type": "text", "text": "hi"}, PICTURE]}
    answer = {"role": "assistant", "content": None, "tool_calls": TOOL_CALLS}
    result = {"role": "tool", "tool_call_id": "c", "content": "x"}
    assert il.detect([user, answer, result]).dialect == "openai-chat"
    assert il.detect([answer, result]).dialect == "openai-ui"


@pytest.mark.parametrize("data", [[], [1], [{}], {"role": 5}, [{"role": "cook", "content": "hi"}]])
def test_what_is_no_conversation_is_no_view(data: Any) -> None:
    with pytest.raises(il.DetectError, match="no format matches this JSON"):
        il.detect(data)


# The command line


@pytest.mark.parametrize("name", list(VIEWS))
def test_the_command_converts_views_and_finds_out_which(name: str, tmp_path: Path) -> None:
    file = tmp_path / "talk.json"
    file.write_bytes(VIEWS[name].write(CALLS).json())
    done = run("convert", file, "--to", "anthropic")
    assert done.exit_code == 0, done.output
    assert f"read as {ALIKE.get(name, name)} request" in done.stderr
    assert json.loads(done.stdout)["messages"][0]["role"] == "user"


def test_lines_of_a_view_are_converted(tmp_path: Path) -> None:
    line = json.dumps([{"role": "user", "content": ASKED}])
    file = tmp_path / "talks.jsonl"
    file.write_text(f"{line}\n{line}\n", encoding="utf-8")
    for source in ("flat", "auto"):
        many = ("--lines", "--jobs", "1")
        done = run("convert", file, *many, "--from", source, "--to", "anthropic")
        assert done.exit_code == 0, done.output
        rows = [json.loads(row) for row in done.stdout.splitlines()]
        assert [row["messages"][0]["content"][0]["text"] for row in rows] == [ASKED] * 2


def test_what_no_format_fits_says_what_is_wrong_with_the_nearest() -> None:
    with pytest.raises(il.DetectError, match=r"messages\[0\].role: expected .*, found 'usr'"):
        il.detect({"messages": [{"role": "usr", "content": "Hi"}]})
    with pytest.raises(il.DetectError, match="pass source='openai-chat'"):
        il.detect({"model": "gpt-5", "messages": []})


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ("", "it is empty"),
        ('{"a": tru}', r"invalid character \(line 1, column 11\)"),
        ('{"a": 1,\n "b"', r"it ends too early \(line 2, column 5\)"),
        ('{"a": 1\n', r"it ends too early \(line 1, column 8\)"),
        ('{"a" 1}', r"expected ':' \(line 1, column 6\)"),
    ],
)
def test_text_that_is_not_json_is_named_with_its_place(data: str, problem: str) -> None:
    with pytest.raises(il.ReadError, match=f"^invalid JSON: {problem}$"):
        il.convert(data, to="anthropic")


GEMINI = {"contents": [{"role": "user", "parts": [{"text": ASKED}]}]}
ANTHROPIC_ANSWER = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-4-6",
    "content": [{"type": "text", "text": "Eight."}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 14, "output_tokens": 7},
}


@pytest.mark.parametrize("kind", ["request", None])
@pytest.mark.parametrize("source", sorted(set(il.dialects()) - {"gemini"}))
def test_a_wrong_source_is_an_error_that_names_the_format_which_fits(
    source: str, kind: Any, tmp_path: Path
) -> None:
    others = [name for name in ("openai-chat", "anthropic", "flat") if name != source]
    for data in (GEMINI, json.dumps(GEMINI).encode()):
        for target in others:
            with pytest.raises(il.ReadError, match="it looks like a gemini request: pass source="):
                il.convert(data, source, target, kind, model="m")
    path = tmp_path / "body.json"
    path.write_text(json.dumps(GEMINI))
    options = ("--from", source, "--to", others[0], *(("--kind", kind) if kind else ()))
    for many in ((), ("--lines",)):
        done = run("convert", path, *options, *many)
        assert done.exit_code == 1
        assert "it looks like a gemini request: use --from gemini" in done.stderr
        assert not done.stdout


@pytest.mark.parametrize("source", sorted(set(il.dialects()) - {"anthropic"}))
def test_an_answer_with_a_wrong_source_is_not_read_as_a_request(source: str) -> None:
    with pytest.raises(il.DetectError, match="it looks like an anthropic response"):
        il.convert(ANTHROPIC_ANSWER, source, "flat")


@pytest.mark.parametrize("name", il.dialects())
def test_a_request_without_messages_is_converted_if_no_other_format_fits(name: str) -> None:
    body = il.dialect(name).write_request(il.Request((), "m")).wire
    target = "anthropic" if name != "anthropic" else "gemini"
    assert il.convert(body, name, target, "request").wire is not None
    assert il.convert(body, name, target).wire is not None
