"""What is Copilot's own: events of helpers between those of the session, bytes kept apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

import interlingua as il
from interlingua import transcripts
from interlingua.model.message import Role
from interlingua.transcripts import Compaction, SubAgent, Transcript, format_of
from interlingua.transcripts.sessions import Hit, hits_in
from interlingua.transcripts.transcript import summary_message
from tests.transcripts.made import session
from tests.transcripts.said import said

SCHEMAS = ".cache/copilot/pkg/*/*/schemas/session-events.schema.json"


def events_of(*events: tuple[str, Any], agent: str | None = None) -> list[dict[str, Any]]:
    whose = {"agentId": agent} if agent else {}
    return [{"type": kind, "data": data, **whose} for kind, data in events]


def read(folder: Path, *events: dict[str, Any]) -> Transcript:
    start = {"type": "session.start", "data": {"sessionId": "s", "context": {"cwd": "/w"}}}
    lines = [{**each, "id": f"e{at}"} for at, each in enumerate((start, *events))]
    path = folder / "events.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert transcripts.detect(path).format == "copilot"
    return transcripts.read(path)


def asked(text: str) -> tuple[str, Any]:
    return "user.message", {"content": text, "interactionId": "i"}


def answered(text: str, **more: Any) -> tuple[str, Any]:
    return "assistant.message", {"messageId": "m", "model": "m-1", "content": text, **more}


def test_instructions_come_before_the_prompt_that_they_were_sent_with(tmp_path: Path) -> None:
    instructed = ("system.message", {"role": "system", "content": "Rules.", "interactionId": "i"})
    arrived = read(tmp_path, *events_of(asked("Hi."), instructed, answered("Ho.")))
    assert [message.text for message in arrived.messages] == ["Rules.", "Hi.", "Ho."]


def test_what_was_rewound_is_a_branch_that_was_left(tmp_path: Path) -> None:
    back = ("session.snapshot_rewind", {"upToEventId": "e3", "eventsRemoved": 2})
    turns = (asked("Hi."), answered("Ho."), asked("No!"), answered("Sorry."))
    arrived = read(tmp_path, *events_of(*turns, back, asked("Yes."), answered("Good.")))
    assert [message.text for message in arrived.messages] == ["Hi.", "Ho.", "Yes.", "Good."]
    left = next(each for each in arrived.branches if not each.active)
    assert [message.text for message in left.messages] == ["Hi.", "Ho.", "No!", "Sorry."]


def test_pieces_of_one_answer_are_one_message_and_are_counted_once(tmp_path: Path) -> None:
    used = {"apiCallId": "a", "inputTokens": 9, "outputTokens": 4, "cacheReadTokens": 3}
    pieces = (
        answered(text, apiCallId="a", chunkIndex=at, chunkCount=2)
        for at, text in enumerate(["One.", "Two."])
    )
    counted = ("session.usage_record", {"usage": {**used, "modelProvider": "openai"}})
    arrived = read(tmp_path, *events_of(asked("Count."), counted, *pieces))
    answer = arrived.messages[1]
    assert [block.text for block in answer.content] == ["One.", "Two."]  # type: ignore[union-attr]
    assert arrived.usage == il.Usage(input_tokens=6, output_tokens=4, cached_input_tokens=3)
    assert answer.metadata.model == "openai:m-1"


def test_blocks_keep_their_own_order_where_it_is_told(tmp_path: Path) -> None:
    ordered = [
        {"type": "thinking", "thinking": "First.", "signature": "czE="},
        {"type": "tool_use", "id": "c1"},
        {"type": "thinking", "thinking": "Then.", "signature": "czI="},
        {"type": "text", "text": "Both."},
    ]
    about = {"provider": "anthropic-messages", "orderedBlocks": ordered}
    calls = [{"toolCallId": "c1", "name": "look", "arguments": {}}]
    result = answered("Both.", reasoningBlocks=about, toolRequests=calls)
    answer = read(tmp_path, *events_of(result)).messages[0]
    kinds = [block.type for block in answer.content]
    assert kinds == ["thinking", "tool_use", "thinking", "text"]


def test_bytes_are_found_by_their_name(tmp_path: Path) -> None:
    asset = {"assetId": "sha256:1", "mimeType": "image/png", "data": "cGljdHVyZQ=="}
    named = {"type": "image", "assetId": "sha256:1", "mimeType": "image/png"}
    result = {"content": "seen", "binaryResultsForLlm": [named, {"omittedReason": "size"}]}
    done = ("tool.execution_complete", {"toolCallId": "c", "success": True, "result": result})
    [message] = read(tmp_path, *events_of(("session.binary_asset", asset), done)).messages
    [block] = message.content
    assert isinstance(block, il.ToolResultBlock)
    _, picture, missing = block.content
    assert isinstance(picture, il.ImageBlock)
    assert picture.source.data == "cGljdHVyZQ=="
    assert isinstance(missing, il.UnknownBlock)


def test_a_helper_that_was_never_started_is_named(tmp_path: Path) -> None:
    stray = events_of(answered("Boo."), agent="ghost")
    arrived = read(tmp_path, *events_of(asked("Hi.")), *stray)
    assert arrived.subagents == ()
    assert [loss.path for loss in arrived.report.entries] == ["line 3"]


def test_helpers_arrive_between_the_events_of_their_caller(tmp_path: Path) -> None:
    inner = session().replace(id="514696de-30a8-49f6-9cb9-9ae19b0f6a1b", title="Looker")
    outer = session().replace(subagents=(SubAgent(inner, "toolu_a"),))
    transcripts.write(outer, tmp_path / "x.jsonl", "copilot")
    arrived = transcripts.read(tmp_path / "x.jsonl")
    assert said(arrived) == said(session())
    [helper] = arrived.subagents
    assert helper.tool_use_id == "toolu_a"
    assert helper.transcript.id == inner.id
    assert [*map(il.dumps, helper.transcript.messages)] == [*map(il.dumps, inner.messages)]


def test_a_summary_is_written_with_the_prompts_before_it(tmp_path: Path) -> None:
    done = ("session.compaction_complete", {"success": True, "summaryContent": "Short."})
    failed = ("session.compaction_complete", {"success": False, "error": "no"})
    turns = events_of(asked("Hi."), answered("Ho."), failed, done)
    ended = read(tmp_path, *turns)
    assert len(ended.compactions) == 1
    assert ended.live == ended.messages  # nobody has been told yet
    went_on = read(tmp_path, *turns, *events_of(asked("So?"), answered("So.")))
    assert [message.role for message in went_on.live] == [
        Role.USER,
        Role.SYSTEM,
        Role.USER,
        Role.ASSISTANT,
    ]


def test_answers_that_another_tool_keeps_behind_a_summary_are_reported(tmp_path: Path) -> None:
    messages = (*session().messages[:6], summary_message("Short."), *session().messages[6:])
    compacted = session().replace(messages=messages, compactions=(Compaction(6, (1, 5)),))
    report = transcripts.write(compacted, tmp_path / "x.jsonl", "copilot")
    assert "$.messages[5]" in {loss.path for loss in report.entries}


def test_what_copilot_does_not_send_when_it_goes_on_is_reported(tmp_path: Path) -> None:
    report = transcripts.write(session(), tmp_path / "x.jsonl", "copilot")
    reported = {loss.path: loss.reason for loss in report.entries}
    assert reported["$.messages[3]"] == "message dropped: copilot does not send that it failed"
    own = transcripts.read(tmp_path / "x.jsonl").replace(origin=None)
    assert "$.messages[3]" not in {
        loss.path for loss in transcripts.write(own, tmp_path / "y.jsonl", "copilot")
    }


def test_the_folder_of_a_session_goes_home_with_its_events(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "workspace.yaml").write_text("id: s\nname: 'It''s bread'\n")
    (folder / "checkpoints" / "index.md").write_text("# none\n")
    arrived = read(folder, *events_of(asked("Hi.")))
    assert arrived.title == "It's bread"
    transcripts.write(arrived, tmp_path / "home" / "events.jsonl", "copilot")
    found = {each.name for each in (tmp_path / "home").rglob("*") if each.is_file()}
    assert found == {"events.jsonl", "workspace.yaml", "index.md"}
    transcripts.write(arrived, tmp_path / "other" / "mine.jsonl", "copilot")
    assert [each.name for each in (tmp_path / "other").iterdir()] == ["mine.jsonl"]


def test_a_prompt_that_was_changed_is_no_longer_sent_as_it_was(tmp_path: Path) -> None:
    sent = ("user.message", {"content": "Hi.", "transformedContent": "<now>1</now> Hi."})
    arrived = read(tmp_path, *events_of(sent, answered("Ho.")))
    changed = (arrived.messages[0].replace(content=(il.TextBlock("Hey."),)), arrived.messages[1])
    transcripts.write(arrived.replace(messages=changed), tmp_path / "new.jsonl", "copilot")
    assert b"<now>" not in (tmp_path / "new.jsonl").read_bytes()
    assert transcripts.read(tmp_path / "new.jsonl").messages[0].text == "Hey."


def test_an_answer_that_was_changed_changes_there_alone(tmp_path: Path) -> None:
    about = {"provider": "anthropic-messages", "blocks": [{"type": "thinking", "thinking": "Hm."}]}
    about["blocks"][0]["signature"] = "czE="  # type: ignore[index]
    call = {"toolCallId": "c1", "name": "look", "arguments": {}, "intentionSummary": "to look"}
    result = answered("Ho.", reasoningBlocks=about, reasoningText="Hm.", toolRequests=[call])
    arrived = read(tmp_path, *events_of(result))
    answer = arrived.messages[0]
    thought, text, called = answer.content
    for name, content in {
        "text": (thought, il.TextBlock("Hey."), called),
        "thought": (text, called),
        "called": (thought, text),
    }.items():
        changed = arrived.replace(messages=(answer.replace(content=content),))
        transcripts.write(changed, tmp_path / name, "copilot")
        said = json.loads((tmp_path / name).read_bytes().split(b"\n")[1])["data"]
        assert transcripts.read(tmp_path / name, "copilot").messages[0].content == content
        expected = {
            "text": {**result[1], "content": "Hey."},
            "thought": {key: each for key, each in result[1].items() if "reasoning" not in key},
            "called": {**result[1], "toolRequests": []},
        }
        assert said == expected[name]


def test_sessions_are_found_where_copilot_keeps_them(tmp_path: Path) -> None:
    copilot = format_of("copilot")
    assert copilot.place is not None
    assert copilot.resume is not None
    path = copilot.place(session(), tmp_path)
    transcripts.write(session(), path, "copilot")
    [found] = [each for each in transcripts.find(tmp_path) if each.format == "copilot"]
    assert (found.path, found.id) == (path, session().id)
    assert copilot.resume(session(), path) == ["copilot", f"--resume={session().id}"]
    [hit] = hits_in(found, "It has RISEN")
    assert isinstance(hit, Hit)
    assert (hit.role, hit.text) == ("assistant", "It has risen.")
    assert [*hits_in(found, "claude-sonnet")] == []  # nobody said it


def test_events_obey_the_schema_that_copilot_carries() -> None:
    found = sorted(Path.home().glob(SCHEMAS))
    if not found:
        pytest.skip(f"Copilot is not installed here: no {SCHEMAS} in the home folder")
    schema = json.loads(found[-1].read_bytes())
    judge = jsonschema_rs.validator_for(schema)
    helper = SubAgent(session(), "toolu_a")
    write = format_of("copilot").write
    assert write is not None
    draft = write(session().replace(subagents=(helper,)), "events.jsonl")
    for line in draft.files["events.jsonl"].splitlines():
        event = json.loads(line)
        event.pop("interlingua", None)  # which Copilot ignores
        judge.validate(event)
