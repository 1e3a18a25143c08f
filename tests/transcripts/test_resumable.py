"""What the tools need to go on with a session that we wrote, each seen with the tool itself: see
`python -m tests.transcripts.resume`, which asks them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua import transcripts
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata
from interlingua.transcripts import Compaction, Transcript, VersionError
from tests.transcripts.resume.sessions import AGENTS, made

LINES = [agent for agent in AGENTS if agent != "opencode"]


def written(session: Transcript, agent: str, folder: Path) -> Path:
    path = folder / f"{session.id}.{'json' if agent == 'opencode' else 'jsonl'}"
    transcripts.write(session, path, agent)
    return path


def values(path: Path) -> list[dict[str, Any]]:
    """The lines of a file, or the messages of an export, as plain JSON."""
    data = path.read_bytes()
    if path.suffix == ".json":
        messages: list[dict[str, Any]] = json.loads(data)["messages"]
        return messages
    return [json.loads(line) for line in data.split(b"\n") if line]


def saying(message: Message, *others: Message) -> Transcript:
    """A session of these messages behind a first prompt."""
    messages = (Message.user("Hello."), message, *others)
    return Transcript(format="made-up", messages=messages, id=made().id)


@pytest.mark.parametrize("agent", LINES)
def test_no_line_ends_for_a_reader_that_knows_more_ends_than_one(
    agent: str, tmp_path: Path
) -> None:
    session = saying(Message.user("before\u2028after\u2029end"))
    data = written(session, agent, tmp_path).read_bytes()
    assert data.decode().splitlines() == data.decode().split("\n")[:-1]
    assert transcripts.read(tmp_path / f"{session.id}.jsonl").messages[1].text == (
        "before\u2028after\u2029end"
    )


@pytest.mark.parametrize("agent", AGENTS)
def test_what_a_model_still_sees_is_the_same(agent: str, tmp_path: Path) -> None:
    session = made(compacted=True)
    arrived = transcripts.read(written(session, agent, tmp_path))
    assert len(arrived.messages) == len(session.messages)
    assert [message.text for message in arrived.live] == [m.text for m in session.live]
    assert arrived.compactions == session.compactions


@pytest.mark.parametrize("agent", AGENTS)
def test_prompts_that_were_picked_are_still_seen_behind_a_summary(
    agent: str, tmp_path: Path
) -> None:
    session = made(compacted=True)
    prompts = [at for at, m in enumerate(session.messages[:10]) if m.role is Role.USER]
    summary = session.compactions[0].at
    picked = session.replace(compactions=(Compaction(summary, tuple(prompts)),))
    path = written(picked, agent, tmp_path)
    arrived = transcripts.read(path)
    if agent == "opencode":
        times = [each["info"]["time"]["created"] for each in values(path)]
        assert times == sorted(times)
    assert arrived.compactions == picked.compactions
    assert [message.text for message in arrived.messages] == [m.text for m in picked.messages]


@pytest.mark.parametrize("agent", AGENTS)
def test_instructions_of_the_other_tool_stay_behind_and_notes_of_what_happened_go_along(
    agent: str, tmp_path: Path
) -> None:
    switch = Message.developer("<model_switch>\nYou are somebody else now.")
    hook = Message(Role.SYSTEM, (il.TextBlock("Stop hook feedback: not yet."),), "claude-code")
    session = saying(Message.assistant("Hi."), switch, Message.user("Go on."), hook)
    session = session.replace(messages=(*session.messages, Message.user("Now?")))
    path = written(session, agent, tmp_path)
    plain = [{key: each[key] for key in each if key != "interlingua"} for each in values(path)]
    if agent == "opencode":
        plain = [{"parts": each["parts"]} for each in values(path)]
    assert "Stop hook feedback: not yet." in json.dumps(plain)
    assert "You are somebody else" not in json.dumps(plain)
    report = transcripts.write(session, tmp_path / "again", agent)
    assert "$.messages[2]" in {loss.path for loss in report.entries}
    back = transcripts.read(path).messages
    assert [message.text for message in back] == [message.text for message in session.messages]


def test_codex_gets_lists_as_content_and_no_provider_that_it_would_insist_on(
    tmp_path: Path,
) -> None:
    lines = values(written(made(), "codex", tmp_path))
    assert "model_provider" not in lines[0]["payload"]
    dialect = [each["payload"] for each in lines if each["payload"].get("type") == "message"]
    assert len(dialect) == 5
    assert all(isinstance(each["content"], list) for each in dialect)
    assert {part["type"] for each in dialect for part in each["content"]} == {
        "input_text",
        "output_text",
        "input_image",
    }


def test_a_failed_result_that_codex_has_no_word_for_is_reported(tmp_path: Path) -> None:
    report = transcripts.write(made(), tmp_path / "session.jsonl", "codex")
    assert "$.messages[3].content[0].is_error" in {loss.path for loss in report.entries}


def test_nothing_is_told_of_what_arrives(tmp_path: Path) -> None:
    call = Message(Role.ASSISTANT, (il.ToolUseBlock("toolu_1", "look", {"n": 1}, '{"n": 1}'),))
    result = Message.of_result(il.ToolResultBlock("toolu_1", (il.TextBlock("seen"),), False))
    session = saying(call, result, Message.assistant("There."))
    for agent in AGENTS:
        report = transcripts.write(session, tmp_path / agent, agent)
        reported = [loss for loss in report.entries if "stand-in" not in loss.reason]
        assert reported == [], agent


def test_codex_is_told_what_is_kept_as_it_was_written(tmp_path: Path) -> None:
    lines = values(written(made(compacted=True), "codex", tmp_path))
    (compacted,) = [each["payload"] for each in lines if each["type"] == "compacted"]
    stored = compacted["replacement_history"]
    assert [each["role"] for each in stored] == ["user", "assistant"]
    assert stored[1]["content"] == [{"type": "output_text", "text": "Gladly."}]


def test_every_line_of_what_claude_code_keeps_is_named_with_its_summary(tmp_path: Path) -> None:
    session = made(compacted=True)
    stored = session.replace(compactions=(Compaction(10, (1, 2, 3, 4)),))
    lines = values(written(stored, "claude-code", tmp_path))
    boundary = next(at for at, each in enumerate(lines) if each["type"] == "system")
    about = lines[boundary]["compactMetadata"]
    anchor = lines[boundary + 1]["uuid"]
    named = [each["uuid"] for each in lines[:7]]
    assert about["preservedMessages"] == {
        "anchorUuid": anchor,
        "uuids": named,
        "allUuids": named,
    }
    assert about["preservedSegment"] == {
        "headUuid": named[0],
        "anchorUuid": anchor,
        "tailUuid": named[-1],
    }


def test_gemini_cli_gets_pictures_beside_results_and_without_names(tmp_path: Path) -> None:
    picture = made().messages[6].content[0].content[1]  # type: ignore[union-attr]  # a result
    named = picture.replace(name="crumb.png")
    result = il.ToolResultBlock("toolu_1", (named,), False, "look")
    call = Message(Role.ASSISTANT, (il.ToolUseBlock("toolu_1", "look", {}),))
    session = saying(call, Message.of_result(result), Message.user(["See?", named]))
    lines = values(written(session, "gemini-cli", tmp_path))
    parts = [*lines[2]["toolCalls"][0]["result"], *lines[3]["content"]]
    assert [list(part) for part in parts] == [
        ["functionResponse"],
        ["inlineData"],
        ["text"],
        ["inlineData"],
    ]
    assert "parts" not in parts[0]["functionResponse"]
    assert {tuple(sorted(part["inlineData"])) for part in (parts[1], parts[3])} == {
        ("data", "mimeType")
    }


def test_a_prompt_that_looks_like_a_command_is_a_prompt_to_gemini_cli(tmp_path: Path) -> None:
    session = saying(Message.user("/etc/hosts is odd"), Message.assistant("So it is."))
    path = written(session, "gemini-cli", tmp_path)
    assert values(path)[2]["content"] == [{"text": "/etc/hosts is odd", "thought": False}]
    assert transcripts.read(path).messages[1].text == "/etc/hosts is odd"


def test_gemini_cli_keeps_the_texts_of_an_answer_apart(tmp_path: Path) -> None:
    answer = Message(Role.ASSISTANT, (il.TextBlock("One."), il.TextBlock("Two.")))
    path = written(saying(answer), "gemini-cli", tmp_path)
    assert values(path)[2]["content"] == [{"text": "One."}, {"text": "Two."}]
    blocks = transcripts.read(path).messages[1].content
    assert [block.text for block in blocks if isinstance(block, il.TextBlock)] == ["One.", "Two."]


def test_gemini_cli_goes_back_to_the_beginning_where_a_summary_stands(tmp_path: Path) -> None:
    lines = values(written(made(compacted=True), "gemini-cli", tmp_path))
    (at,) = [at for at, line in enumerate(lines) if "$rewindTo" in line]
    assert lines[at]["$rewindTo"] == lines[1]["id"]
    summary, stored, prompt = lines[at + 1 : at + 4]
    assert summary["content"][0]["text"].startswith("The dough has risen")
    assert (stored["id"], stored["content"]) == (lines[at - 1]["id"], "Gladly.")
    assert prompt["content"] == [{"text": "And the oven?"}]


def test_an_answer_that_gemini_cli_says_again_is_counted_once(tmp_path: Path) -> None:
    session = made(compacted=True)
    answers = sum(message.role is Role.ASSISTANT for message in session.messages)
    arrived = transcripts.read(written(session, "gemini-cli", tmp_path))
    assert arrived.usage.output_tokens == 5 * answers


def test_opencode_gets_times_steps_and_ids_in_all_its_parts(tmp_path: Path) -> None:
    answers = [
        each
        for each in values(written(made(), "opencode", tmp_path))
        if each["info"]["role"] == "assistant"
    ]
    for answer in answers:
        kinds = [part["type"] for part in answer["parts"]]
        assert (kinds[0], kinds[-1]) == ("step-start", "step-finish")
        timed = [part for part in answer["parts"] if part["type"] in ("text", "reasoning")]
        assert all(part["time"]["start"] > 0 for part in timed)
    picture = answers[1]["parts"][1]["state"]["attachments"][0]
    assert picture["messageID"] == answers[1]["info"]["id"]
    assert picture["id"].startswith("prt_")


def test_opencode_is_asked_for_a_summary_that_came_to_its_end(tmp_path: Path) -> None:
    messages = values(written(made(compacted=True), "opencode", tmp_path))
    at = next(at for at, each in enumerate(messages) if each["info"].get("summary"))
    asked, summary = messages[at - 1], messages[at]
    assert summary["info"]["parentID"] == asked["info"]["id"]
    assert summary["info"]["finish"] == "stop"
    (part,) = asked["parts"]
    assert (part["type"], part["tail_start_id"]) == ("compaction", messages[at - 2]["info"]["id"])


def test_texts_of_a_result_are_apart_in_opencode(tmp_path: Path) -> None:
    call = Message(Role.ASSISTANT, (il.ToolUseBlock("toolu_1", "look", {}),))
    texts = (il.TextBlock("One."), il.TextBlock("Two."))
    path = written(
        saying(call, Message.of_result(il.ToolResultBlock("toolu_1", texts))), "opencode", tmp_path
    )
    assert values(path)[1]["parts"][1]["state"]["output"] == "One.\nTwo."
    result = transcripts.read(path).messages[2].content[0]
    assert isinstance(result, il.ToolResultBlock)
    assert result.content == texts


def test_opencode_goes_on_with_the_model_that_answered(tmp_path: Path) -> None:
    about = MessageMetadata(model="gemini:gemini-3-pro", provider="gemini", protocol="gemini")
    session = saying(Message(Role.ASSISTANT, (il.TextBlock("Hi."),), metadata=about))
    asked, answer = values(written(session, "opencode", tmp_path))
    assert asked["info"]["model"] == {"providerID": "google", "modelID": "gemini-3-pro"}
    assert answer["info"]["providerID"] == "google"


def test_pi_finds_the_result_of_a_call_that_is_named_by_its_item_too(tmp_path: Path) -> None:
    items = [
        {"type": "message", "role": "user", "content": "Look."},
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_1",
            "name": "look",
            "arguments": "{}",
        },
        {"type": "function_call_output", "call_id": "call_1", "output": "seen"},
    ]
    messages = il.dialect("openai-responses").read_request({"input": items}).messages
    metadata = MessageMetadata(protocol="openai-responses", provider="openai", model="openai:gpt")
    answered = [m.replace(metadata=metadata) if m.tool_calls else m for m in messages]
    session = Transcript(format="codex", messages=tuple(answered), id=made().id)
    _, _, call, result = values(written(session, "pi", tmp_path))
    assert call["message"]["content"][0]["id"] == "call_1|fc_1"
    assert result["message"]["toolCallId"] == "call_1|fc_1"


def test_a_summary_of_pi_that_keeps_nothing_names_itself(tmp_path: Path) -> None:
    session = made(compacted=True)
    session = session.replace(compactions=(Compaction(10),))
    entries = values(written(session, "pi", tmp_path))
    (summary,) = [entry for entry in entries if entry["type"] == "compaction"]
    assert summary["firstKeptEntryId"] == summary["id"]


LATER = {
    "claude-code": (b'"version":"2.1.325"', b'"version":"3.0.1"'),
    "codex": (b'"cli_version":"0.166.0"', b'"cli_version":"0.200.0"'),
    "pi": (b'"version":3', b'"version":4'),
    "opencode": (b'"version": "1.18.33"', b'"version": "2.0.0"'),
}


@pytest.mark.parametrize("agent", LATER)
def test_a_later_version_is_told_and_goes_home_but_nothing_is_added_to_it(
    agent: str, tmp_path: Path
) -> None:
    path = written(made(), agent, tmp_path)
    assert LATER[agent][0] in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(*LATER[agent]))
    later = transcripts.read(path)
    assert [loss.path for loss in later.report.entries] == ["version"]
    home = tmp_path / "home" / path.name
    transcripts.write(later, home, agent)
    assert home.read_bytes() == path.read_bytes()
    longer = later.replace(messages=(*later.messages, Message.user("One more thing.")))
    if agent == "opencode":
        return  # its exports are always written anew
    with pytest.raises(VersionError, match="cannot be written yet"):
        transcripts.write(longer, tmp_path / "longer.jsonl", agent)


@pytest.mark.parametrize("agent", LATER)
def test_repairs_of_a_version_that_was_seen_are_no_news(agent: str, tmp_path: Path) -> None:
    path = written(made(), agent, tmp_path)
    data = path.read_bytes().replace(b"2.1.325", b"2.1.999").replace(b"0.166.0", b"0.166.9")
    path.write_bytes(data.replace(b"1.18.33", b"1.18.99"))
    assert not transcripts.read(path).report.entries
