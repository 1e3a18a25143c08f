"""What holds for every interchange format, with a made-up session: no file of others is needed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua import transcripts
from interlingua.transcripts import Transcript, format_of, formats
from tests.transcripts.made import session
from tests.transcripts.said import said

INTERCHANGE = [
    name
    for name in formats()
    if format_of(name).resume is None and format_of(name).write is not None
]
ROWS = [name for name in INTERCHANGE if format_of(name).read_all is not None and name != "otel"]
"""A line of `otel` is a part of a trace, and no conversation of its own."""


@pytest.fixture(params=INTERCHANGE)
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


def written(name: str, folder: Path) -> Path:
    path = folder / "session.jsonl"
    transcripts.write(session(), path, name)
    return path


def test_a_session_of_an_agent_arrives(name: str, tmp_path: Path) -> None:
    path = written(name, tmp_path)
    assert transcripts.detect(path).format == name
    arrived = transcripts.read(path)
    assert said(arrived) == said(session())
    assert len(arrived.branches) == 1
    assert not [loss for loss in arrived.report.entries if loss.severity != "info"]


def test_what_does_not_arrive_is_reported(name: str, tmp_path: Path) -> None:
    report = transcripts.write(session(), tmp_path / "session", name)
    arrived = transcripts.read(tmp_path / "session", name)
    if _signatures(arrived) != _signatures(session()):
        assert any(loss.path.startswith("$.messages[2]") for loss in report.entries)
    if arrived.usage.output_tokens is None:
        assert any("usage" in loss.reason for loss in report.entries)


def test_the_same_bytes_go_home(name: str, tmp_path: Path) -> None:
    path = written(name, tmp_path)
    home = tmp_path / "home" / path.name
    assert not transcripts.write(transcripts.read(path), home, name)
    assert home.read_bytes() == path.read_bytes()


def test_a_message_that_was_added_is_written(name: str, tmp_path: Path) -> None:
    arrived = transcripts.read(written(name, tmp_path))
    longer = arrived.replace(messages=(*arrived.messages, il.Message.user("One more thing.")))
    transcripts.write(longer, tmp_path / "longer.jsonl", name)
    again = transcripts.read(tmp_path / "longer.jsonl")
    assert [message.text for message in again.messages] == [m.text for m in longer.messages]


@pytest.mark.parametrize("keep", [0, 1, 40, 200, 0.3, 0.5, 0.9, 0.99])
def test_a_file_that_was_cut_gives_what_can_be_read(name: str, keep: float, tmp_path: Path) -> None:
    data = written(name, tmp_path).read_bytes()
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(data[: int(keep * len(data)) if isinstance(keep, float) else keep])
    try:
        arrived = transcripts.read(cut, name)
    except il.InterlinguaError:
        return  # said with words
    assert arrived.report.entries


@pytest.mark.parametrize("garbage", [b"\xff\xfe", b"{", b"[1, 2]", b"null", b'{"a": 7}', b"\x00"])
@pytest.mark.parametrize("name", ROWS)
def test_garbled_rows_are_named_and_left_out(name: str, garbage: bytes, tmp_path: Path) -> None:
    line = written(name, tmp_path).read_bytes()
    odd = tmp_path / "odd.jsonl"
    odd.write_bytes(line + garbage + b"\n" + line)
    found = list(transcripts.read_all(odd, name))
    assert [said(each) for each in found] == [said(session())] * 2
    assert [
        loss.path for each in found for loss in each.report.entries if loss.severity == "error"
    ] == ["line 2"]


@pytest.mark.parametrize("name", ROWS)
def test_each_row_is_a_conversation_and_goes_home_alone(name: str, tmp_path: Path) -> None:
    line = written(name, tmp_path).read_bytes()
    both = tmp_path / "both.jsonl"
    other = line.replace(b"It has risen.", b"It has not.")
    both.write_bytes(line + other)
    assert "more conversations" in str(transcripts.read(both).report.entries[0])
    first, second = transcripts.read_all(both)
    assert not first.report.entries
    transcripts.write(second, tmp_path / "second.jsonl", name)
    assert (tmp_path / "second.jsonl").read_bytes() == other.rstrip(b"\n")
    assert said(transcripts.read(tmp_path / "second.jsonl")) == said(second)


def test_fine_tuning_keeps_weights_and_calls_that_nobody_answered(tmp_path: Path) -> None:
    call = {"id": "call_id", "type": "function", "function": {"name": "go", "arguments": "{}"}}
    row = {
        "messages": [
            {"role": "user", "content": "Go."},
            {"role": "assistant", "content": "No.", "weight": 0},
            {"role": "user", "content": "Go!"},
            {"role": "assistant", "tool_calls": [call]},
        ],
        "parallel_tool_calls": False,
    }
    assert _anew(row, "openai-finetune", tmp_path) == row


def test_a_message_that_cannot_be_read_is_named_and_the_others_are_there(tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_text('{"messages": [{"role": "user", "content": "Go."}, {"role": 7}]}\n')
    arrived = transcripts.read(path, "openai-finetune")
    assert [message.text for message in arrived.messages] == ["Go."]
    assert [loss.path for loss in arrived.report.entries] == ["$.messages[1]"]


def _chat(*messages: Any) -> list[Any]:
    return [{"role": role, "content": text} for role, text in messages]


def test_a_request_of_a_batch_keeps_what_is_no_message(tmp_path: Path) -> None:
    body = {
        "model": "gpt-5.4",
        "temperature": 0.5,
        "messages": _chat(("user", "Hi."), ("assistant", "Hello.")),
        "odd": [1],
    }
    row = {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": body}
    assert _anew(row, "openai-batch", tmp_path) == row
    assert transcripts.read(tmp_path / "row.jsonl").id == "a"


def test_a_batch_may_speak_responses(tmp_path: Path) -> None:
    body = {"model": "gpt-5.4", "input": [{"role": "user", "content": "Hi."}]}
    row = {"custom_id": "a", "method": "POST", "url": "/v1/responses", "body": body}
    assert _anew(row, "openai-batch", tmp_path) == row


def test_several_answers_of_a_batch_are_branches(tmp_path: Path) -> None:
    choices = [
        {"index": at, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        for at, text in enumerate(["Yes.", "No."])
    ]
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "gpt-5.4"}
    body |= {"choices": choices, "usage": usage}
    response = {"status_code": 200, "request_id": "r", "body": body}
    row = {"id": "b", "custom_id": "a", "response": response, "error": None}
    assert _anew(row, "openai-batch", tmp_path) == row
    arrived = transcripts.read(tmp_path / "row.jsonl")
    assert [each.messages[-1].text for each in arrived.branches] == ["Yes.", "No."]
    assert arrived.usage.output_tokens == 2
    assert arrived.messages[0].metadata.usage.service_tier == "batch", "at the price of batches"
    body["service_tier"] = "default"
    other = tmp_path / "other"
    other.mkdir()
    assert _anew(row, "openai-batch", other) == row


@pytest.mark.parametrize(
    ("name", "row"),
    [
        (
            "openai-batch",
            {
                "id": "b",
                "custom_id": "a",
                "response": {
                    "status_code": 400,
                    "request_id": "r",
                    "body": {"error": {"message": "too long", "type": "invalid_request_error"}},
                },
                "error": None,
            },
        ),
        (
            "openai-batch",
            {
                "id": "b",
                "custom_id": "a",
                "response": None,
                "error": {"code": "batch_expired", "message": "too late"},
            },
        ),
        (
            "anthropic-batch",
            {
                "custom_id": "a",
                "result": {
                    "type": "errored",
                    "error": {
                        "type": "error",
                        "error": {"type": "invalid_request_error", "message": "too long"},
                    },
                },
            },
        ),
        ("anthropic-batch", {"custom_id": "a", "result": {"type": "expired"}}),
    ],
    ids=["refused", "late", "errored", "expired"],
)
def test_a_request_of_a_batch_that_failed_says_why(name: str, row: Any, tmp_path: Path) -> None:
    assert _anew(row, name, tmp_path) == row
    [message] = transcripts.read(tmp_path / "row.jsonl").messages
    assert message.metadata.status is not il.MessageStatus.COMPLETE
    assert message.metadata.error_message


def test_thinking_keeps_its_signature_in_a_batch_of_its_own_provider(tmp_path: Path) -> None:
    path = written("anthropic-batch", tmp_path)
    assert _signatures(transcripts.read(path)) == _signatures(session())
    params = json.loads(path.read_bytes())["params"]
    assert params["model"] == "claude-sonnet-4-6"
    assert params["max_tokens"]


def test_columns_of_a_dataset_are_kept(tmp_path: Path) -> None:
    function = {"name": "look", "arguments": {"at": "<image>"}}
    row = {
        "messages": [
            *_chat(("user", "<image>Who?")),
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"type": "function", "id": "call_7", "function": function}],
            },
            {"role": "tool", "tool_call_id": "call_7", "content": "a cat"},
        ],
        "images": ["cats/1.jpg"],
        "source": "a cat's diary",
    }
    anew = _anew(row, "hf-messages", tmp_path)
    assert anew == row
    arrived = transcripts.read(tmp_path / "row.jsonl")
    assert arrived.messages[0].text == "<image>Who?"
    assert [loss.path for loss in arrived.report.entries] == ["$.details.row.images"]


def test_a_dataset_that_is_one_list_goes_home(tmp_path: Path) -> None:
    rows = [{"messages": _chat(("user", "Hi."))}, {"messages": _chat(("user", "Ho."))}]
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(rows, indent=1))
    first, second = transcripts.read_all(path)
    assert [first.messages[0].text, second.messages[0].text] == ["Hi.", "Ho."]
    transcripts.write(second, tmp_path / "second.json", "hf-messages")
    assert json.loads((tmp_path / "second.json").read_bytes()) == rows[1:]


def test_turns_have_no_ids_and_results_follow_their_calls(tmp_path: Path) -> None:
    calls = [{"name": "look", "arguments": {"at": each}} for each in ("oven", "dough")]
    row = {
        "conversations": [
            {"from": "human", "value": "Ready?"},
            {"from": "function_call", "value": json.dumps(calls)},
            {"from": "observation", "value": "hot"},
            {"from": "observation", "value": "risen"},
            {"from": "gpt", "value": "Yes."},
        ],
        "system": "Be brief.",
        "tools": json.dumps([{"name": "look", "description": "", "parameters": {}}]),
    }
    anew = _anew(row, "sharegpt", tmp_path)
    assert json.loads(anew["conversations"][1].pop("value")) == calls
    row["conversations"][1].pop("value")  # type: ignore[index]
    assert anew == row
    arrived = transcripts.read(tmp_path / "row.jsonl")
    assert [tool.name for tool in arrived.tools] == ["look"]
    results = [b for m in arrived.messages for b in m.content if isinstance(b, il.ToolResultBlock)]
    assert [result.tool_use_id for result in results] == ["call_1", "call_2"]


def test_pictures_of_turns_stand_where_they_were(tmp_path: Path) -> None:
    transcripts.write(session(), tmp_path / "row.json", "sharegpt")
    [row] = json.loads((tmp_path / "row.json").read_bytes())
    assert row["conversations"][1]["value"] == "Is the dough ready?\u2028Look.<image>"
    assert row["images"][0].startswith("data:image/png;base64,")
    prompt = transcripts.read(tmp_path / "row.json").messages[1]
    assert [type(block) for block in prompt.content] == [il.TextBlock, il.ImageBlock]


def test_steps_keep_what_has_no_field(tmp_path: Path) -> None:
    refs = [{"session_id": "helper", "trajectory_path": "helper.json"}]
    row = {
        "schema_version": "ATIF-v1.7",
        "session_id": "s",
        "agent": {"name": "baker", "version": "2"},
        "steps": [
            {"step_id": 1, "source": "user", "message": "Bake.", "is_copied_context": True},
            {
                "step_id": 2,
                "source": "agent",
                "model_name": "m-1",
                "message": "",
                "reasoning_content": "An oven.",
                "observation": {"results": [{"content": "hot"}]},
                "metrics": {"prompt_tokens": 9, "cached_tokens": 4, "logprobs": [0.5]},
            },
            {
                "step_id": 3,
                "source": "system",
                "message": "",
                "observation": {"results": [{"subagent_trajectory_ref": refs}]},
                "extra": {"odd": 1},
            },
        ],
        "final_metrics": {"total_steps": 3},
        "continued_trajectory_ref": "more.json",
    }
    assert _anew(row, "atif", tmp_path)["steps"][2] == row["steps"][2]  # type: ignore[index]
    anew, old = transcripts.read(tmp_path / "anew.jsonl"), transcripts.read(tmp_path / "row.jsonl")
    assert [il.dumps(each) for each in anew.messages] == [il.dumps(each) for each in old.messages]
    assert anew.details == old.details
    assert [each.transcript.id for each in anew.subagents] == ["helper"]
    assert (old.usage.input_tokens, old.usage.cached_input_tokens) == (5, 4)
    assert [str(message.role) for message in old.messages] == [
        "user",
        "assistant",
        "tool",
        "system",
    ]


@pytest.mark.parametrize("name", ["ag-ui", "atif", "otel", "ui-message"])
def test_what_a_format_keeps_beside_comes_back(name: str, tmp_path: Path) -> None:
    arrived = transcripts.read(written(name, tmp_path))
    assert [*map(il.dumps, arrived.messages)] == [*map(il.dumps, session().messages)]


def _anew(row: Any, name: str, folder: Path) -> Any:
    """A row, read and written without the help of the bytes that are there."""
    (folder / "row.jsonl").write_text(json.dumps(row) + "\n")
    assert transcripts.detect(folder / "row.jsonl").format == name
    arrived = transcripts.read(folder / "row.jsonl").replace(origin=None)
    transcripts.write(arrived, folder / "anew.jsonl", name)
    return json.loads((folder / "anew.jsonl").read_bytes())


def _signatures(transcript: Transcript) -> list[str]:
    blocks = (block for message in transcript.messages for block in message.content)
    return [each.signature for each in blocks if getattr(each, "signature", None)]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"content": [{"type": "text", "text": "hi"}, "*"]}, "a part of type None"),
        ({"tool_calls": [{"id": "a", "type": "function", "function": None}]}, "calls only"),
        (
            {"tool_calls": [{"id": "a", "type": "custom", "custom": {"name": "x", "input": "y"}}]},
            "calls only",
        ),
    ],
)
def test_what_is_no_part_and_no_call_is_reported(
    answer: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", **answer}]
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps({"messages": messages}))
    there = transcripts.draft(transcripts.read(file, "hf-messages"), "sharegpt")
    assert any(reason in loss.reason for loss in there.report)


@pytest.mark.parametrize(
    "cut", [b'{"messages":[{"role":"user","content":"hi"', b'{\n "messages": [\n  {"role": "user"}']
)
def test_json_that_is_cut_off_is_no_row_unless_its_format_is_named(
    tmp_path: Path, cut: bytes
) -> None:
    path = tmp_path / "request.json"
    path.write_bytes(cut)
    place = f"line {cut.count(10) + 1}, column {len(cut.splitlines()[-1]) + 1}"
    for read in (transcripts.detect, transcripts.read):
        with pytest.raises(transcripts.TranscriptError, match=place):
            read(path)
    assert len(transcripts.read(path, "openai-finetune").messages) == 1
    path.write_bytes(b'{"messages":[{"role":"user","content":"hi"}]}\n' + cut)
    assert transcripts.detect(path).format == "openai-finetune"
