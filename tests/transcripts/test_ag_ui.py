"""AG-UI: what events build up, and how it is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua import transcripts
from interlingua.model.blocks import (
    DocumentBlock,
    ImageBlock,
    RedactedThinkingBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
)
from interlingua.model.message import Message, Role
from interlingua.transcripts import Transcript
from tests.transcripts.made import session

Event = dict[str, Any]
PROMPT: Event = {"id": "u1", "role": "user", "content": "Ready?"}


def run(number: int, *events: Event, **about: Any) -> list[Event]:
    ids = {"threadId": "t", "runId": f"r{number}"}
    start = {"type": "RUN_STARTED", "timestamp": 1_772_366_400_000 + number, **ids, **about}
    return [start, *events, {"type": "RUN_FINISHED", **ids}]


def asked(number: int, *messages: Event) -> Event:
    ids = {"threadId": "t", "runId": f"r{number}"}
    return {**ids, "messages": list(messages), "tools": [], "context": [], "forwardedProps": {}}


def text(name: str, said: str, **about: Any) -> list[Event]:
    return [
        {"type": "TEXT_MESSAGE_START", "messageId": name, **about},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": name, "delta": said[:2]},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": name, "delta": said[2:]},
        {"type": "TEXT_MESSAGE_END", "messageId": name},
    ]


def call(name: str, tool: str, given: str, **about: Any) -> list[Event]:
    return [
        {"type": "TOOL_CALL_START", "toolCallId": name, "toolCallName": tool, **about},
        {"type": "TOOL_CALL_ARGS", "toolCallId": name, "delta": given},
        {"type": "TOOL_CALL_END", "toolCallId": name},
    ]


def result(name: str, content: Any) -> Event:
    about = {"messageId": f"m-{name}", "toolCallId": name, "content": content}
    return {"type": "TOOL_CALL_RESULT", **about}


def read(folder: Path, *events: Event) -> Transcript:
    path = folder / "events.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    assert transcripts.detect(path).format == "ag-ui"
    return transcripts.read(path)


def roles(transcript: Transcript) -> list[str]:
    return [str(message.role) for message in transcript.messages]


def test_reasoning_belongs_to_the_answer_that_follows_it(tmp_path: Path) -> None:
    thought = [
        {"type": "REASONING_START", "messageId": "th"},
        {"type": "REASONING_MESSAGE_START", "messageId": "th", "role": "reasoning"},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "th", "delta": "Two "},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "th", "delta": "ovens."},
        {"type": "REASONING_MESSAGE_END", "messageId": "th"},
        {
            "type": "REASONING_ENCRYPTED_VALUE",
            "subtype": "message",
            "entityId": "th",
            "encryptedValue": '{"id": "rs_1", "signature": "c2Vh", "provider_name": "openai"}',
        },
        {"type": "REASONING_END", "messageId": "th"},
    ]
    events = [*thought, *text("a", "I look."), *call("c", "look", '{"at": 1}', parentMessageId="a")]
    arrived = read(tmp_path, asked(1, PROMPT), *run(1, *events, result("c", "hot")))
    assert roles(arrived) == ["user", "assistant", "tool"]
    answer = arrived.messages[1]
    assert answer.content[0] == ThinkingBlock("Two ovens.", "c2Vh", "rs_1")
    assert (answer.id, answer.text, answer.tool_calls[0].input) == ("a", "I look.", {"at": 1})
    assert (answer.metadata.provider, answer.metadata.protocol) == ("openai", "openai-responses")
    [answered] = arrived.messages[2].content
    assert answered == ToolResultBlock("c", (TextBlock("hot"),), False, "look")


def test_a_value_that_is_not_understood_is_a_signature_as_a_whole(tmp_path: Path) -> None:
    sealed = {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "th"}
    arrived = read(tmp_path, *run(1, {**sealed, "encryptedValue": "c2VhbGVk"}, *text("a", "Yes.")))
    assert arrived.messages[0].content[0] == ThinkingBlock("", "c2VhbGVk")


def test_older_words_and_shorthand_are_understood(tmp_path: Path) -> None:
    arrived = read(
        tmp_path,
        *run(
            1,
            {"type": "THINKING_START", "title": "Ovens"},
            {"type": "THINKING_TEXT_MESSAGE_START"},
            {"type": "THINKING_TEXT_MESSAGE_CONTENT", "delta": "Two."},
            {"type": "THINKING_TEXT_MESSAGE_END"},
            {"type": "THINKING_END"},
            {"type": "TEXT_MESSAGE_CHUNK", "messageId": "a", "role": "assistant", "delta": "I "},
            {"type": "TEXT_MESSAGE_CHUNK", "delta": "look."},
            {"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": "look", "delta": "{"},
            {"type": "TOOL_CALL_CHUNK", "delta": "}"},
        ),
    )
    [answer] = arrived.messages
    assert [block.type for block in answer.content] == ["thinking", "text", "tool_use"]
    assert (answer.reasoning, answer.text) == ("Two.", "I look.")


def test_calls_at_once_are_one_answer(tmp_path: Path) -> None:
    events = [*call("c1", "look", "{}"), *call("c2", "look", "{}"), result("c2", "2")]
    arrived = read(tmp_path, *run(1, *events, result("c1", "1")))
    assert roles(arrived) == ["assistant", "tool", "tool"]


def test_messages_that_are_told_together_are_kept_apart(tmp_path: Path) -> None:
    first, second = text("a", "Yes."), text("s", "Note.", role="system")
    mixed = [event for pair in zip(first, second, strict=True) for event in pair]
    arrived = read(tmp_path, *run(1, *mixed))
    assert [(str(m.role), m.text) for m in arrived.messages] == [
        ("assistant", "Yes."),
        ("system", "Note."),
    ]


def test_a_snapshot_takes_the_place_of_what_was_there(tmp_path: Path) -> None:
    snapshot = {"type": "MESSAGES_SNAPSHOT", "messages": [PROMPT, {**PROMPT, "id": "u2"}]}
    arrived = read(tmp_path, *run(1, *text("a", "Yes."), snapshot))
    assert [message.id for message in arrived.messages] == ["u1", "u2"]


def test_inputs_repeat_history_and_say_where_it_goes_on(tmp_path: Path) -> None:
    usage = [{"model": "m-1", "inputTokens": 9, "cachedInputTokens": 4, "outputTokens": 2}]
    first = run(1, *text("a1", "Yes."))
    first[-1]["usage"] = usage
    answer = {"id": "a1", "role": "assistant", "content": "Yes."}
    again, other = ({**PROMPT, "id": name, "content": name} for name in ("u2", "u3"))
    arrived = read(
        tmp_path,
        asked(1, PROMPT),
        *first,
        asked(2, PROMPT, answer, again),
        *run(2, *text("a2", "No.")),
        asked(3, PROMPT, answer, other),
        *run(3, *text("a3", "Well.")),
    )
    assert [message.id for message in arrived.messages] == ["u1", "a1", "u3", "a3"]
    ways = [[message.id for message in branch.messages] for branch in arrived.branches]
    assert ways == [["u1", "a1", "u2", "a2"], ["u1", "a1", "u3", "a3"]]
    assert [branch.active for branch in arrived.branches] == [False, True]
    assert (arrived.usage.input_tokens, arrived.usage.cached_input_tokens) == (5, 4)
    assert arrived.models == ("m-1",)


def test_a_run_that_goes_on_from_an_earlier_one_is_a_branch(tmp_path: Path) -> None:
    fields = {"threadId": "t", "runId": "r3", "messages": [{**PROMPT, "id": "u3"}]}
    events = [
        *run(1, *text("a1", "One.")),
        *run(2, *text("a2", "Two.")),
        *run(3, *text("a3", "Three."), parentRunId="r1", input=fields),
    ]
    arrived = read(tmp_path, *events)
    assert [message.id for message in arrived.messages] == ["a1", "u3", "a3"]
    assert len(arrived.branches) == 2


def test_helpers_have_conversations_of_their_own(tmp_path: Path) -> None:
    began = {"type": "SUBAGENT_STARTED", "name": "baker", "parentToolCallId": "c"}
    inside = [began, *text("h", "Hot.")]
    arrived = read(
        tmp_path,
        *run(
            1,
            *call("c", "ask", "{}"),
            *({**event, "subagentRunId": "s"} for event in inside),
            result("c", "Hot."),
        ),
    )
    assert roles(arrived) == ["assistant", "tool"]
    [helper] = arrived.subagents
    assert (helper.tool_use_id, helper.transcript.title) == ("c", "baker")
    assert [message.text for message in helper.transcript.messages] == ["Hot."]


def test_a_run_that_failed_says_why(tmp_path: Path) -> None:
    events = run(1)[:-1]
    arrived = read(tmp_path, asked(1, PROMPT), *events, {"type": "RUN_ERROR", "message": "no oven"})
    last = arrived.messages[-1]
    assert (last.role, last.metadata.status) == (Role.ASSISTANT, il.MessageStatus.ERROR)
    assert last.metadata.error_message == "no oven"


def test_a_run_that_does_not_end_is_reported(tmp_path: Path) -> None:
    arrived = read(tmp_path, *run(1, *text("a", "Yes."))[:-2])
    assert arrived.messages[-1].metadata.status is il.MessageStatus.PARTIAL
    assert [loss.path for loss in arrived.report.entries] == ["line 4"]


def test_parts_are_pictures_and_documents(tmp_path: Path) -> None:
    parts = [
        {"type": "image", "source": {"type": "data", "value": "YQ==", "mimeType": "image/png"}},
        {"type": "document", "source": {"type": "file", "value": "f", "provider": "openai"}},
        {"type": "binary", "mimeType": "image/gif", "url": "https://example.com/a.gif"},
    ]
    [prompt] = read(tmp_path, asked(1, {**PROMPT, "content": parts})).messages
    assert prompt.content == (
        ImageBlock(Source("base64", "YQ=="), "image/png"),
        DocumentBlock(Source("file_id", "f", provider="openai")),
        ImageBlock(Source("url", "https://example.com/a.gif"), "image/gif"),
    )


def test_a_list_of_messages_is_read_where_it_is_asked_for(tmp_path: Path) -> None:
    failed = {"id": "x", "role": "tool", "toolCallId": "c", "content": "", "error": "no oven"}
    calls = [{"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}]
    listed = [PROMPT, {"id": "a", "role": "assistant", "toolCalls": calls}, failed]
    path = tmp_path / "messages.json"
    path.write_text(json.dumps(listed))
    arrived = transcripts.read(path, "ag-ui")
    assert roles(arrived) == ["user", "assistant", "tool"]
    [answered] = arrived.messages[2].content
    assert answered == ToolResultBlock("c", (TextBlock("no oven"),), True, "look")


def test_sealed_thinking_crosses(tmp_path: Path) -> None:
    about = il.MessageMetadata(provider="anthropic", protocol="anthropic")
    content = (RedactedThinkingBlock("c2VhbGVk"), TextBlock("Yes."))
    answer = Message(Role.ASSISTANT, content, metadata=about)
    sent = Transcript(format="made-up", messages=(answer,))
    assert not transcripts.write(sent, tmp_path / "a.jsonl", "ag-ui")
    arrived = transcripts.read(tmp_path / "a.jsonl")
    assert [*map(il.dumps, arrived.messages)] == [il.dumps(answer)]


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.sse"])
def test_each_form_comes_back_and_goes_home(name: str, tmp_path: Path) -> None:
    transcripts.write(session(), tmp_path / name, "ag-ui")
    assert transcripts.detect(tmp_path / name).format == "ag-ui"
    arrived = transcripts.read(tmp_path / name)
    assert [*map(il.dumps, arrived.messages)] == [*map(il.dumps, session().messages)]
    assert (arrived.title, arrived.folder) == ("Bread", "/home/user/bakery")
    transcripts.write(arrived, tmp_path / "home" / name, "ag-ui")
    assert (tmp_path / "home" / name).read_bytes() == (tmp_path / name).read_bytes()


@pytest.mark.parametrize("name", ["a.jsonl", "a.sse"])
def test_what_is_added_comes_behind_the_last_event(name: str, tmp_path: Path) -> None:
    transcripts.write(session(), tmp_path / name, "ag-ui")
    arrived = transcripts.read(tmp_path / name)
    more = (Message.user("One more thing."), Message.assistant("Yes?"))
    longer = arrived.replace(messages=(*arrived.messages, *more))
    transcripts.write(longer, tmp_path / "home" / name, "ag-ui")
    data = (tmp_path / "home" / name).read_bytes()
    assert data.startswith((tmp_path / name).read_bytes())
    again = transcripts.read(tmp_path / "home" / name)
    assert [*map(il.dumps, again.messages)] == [*map(il.dumps, longer.messages)]


def test_events_that_are_no_messages_go_home_and_are_told_abroad(tmp_path: Path) -> None:
    state = {"type": "STATE_SNAPSHOT", "snapshot": {"oven": "hot"}}
    arrived = read(tmp_path, *run(1, state, *text("a", "Yes.")))
    assert not transcripts.write(arrived, tmp_path / "home.jsonl", "ag-ui")
    edited = arrived.replace(messages=(arrived.messages[0].replace(content=(TextBlock("No."),)),))
    report = transcripts.write(edited, tmp_path / "edited.jsonl", "ag-ui")
    assert [loss.path for loss in report.entries] == ["$.details.beside"]


def test_events_in_lower_case_are_events(tmp_path: Path) -> None:
    picture = {
        "type": "image",
        "source": {"type": "data", "value": "aGk=", "mimeType": "image/png"},
    }
    fields = {
        "id": "u1",
        "role": "user",
        "content": [{"type": "text", "text": "What is this?"}, picture],
    }
    events = [
        {"type": "run_started", "threadId": "t", "runId": "r"},
        {"type": "messages_snapshot", "messages": [fields]},
        {"type": "run_finished", "threadId": "t", "runId": "r"},
    ]
    path = tmp_path / "events.jsonl"
    path.write_text("\n".join(map(json.dumps, events)))
    read = transcripts.read(path)
    assert [block.type for block in read.messages[0].content] == ["text", "image"]
    transcripts.write(read, tmp_path / "session.jsonl", "gemini-cli")
    [arrived] = transcripts.read(tmp_path / "session.jsonl", "gemini-cli").messages
    assert [block.type for block in arrived.content] == ["text", "image"]


def test_a_private_key_of_a_result_is_no_dropped_result(tmp_path: Path) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    messages = [
        {"id": "u", "role": "user", "content": "Look."},
        {"id": "a", "role": "assistant", "toolCalls": [call]},
        {"id": "r", "role": "tool", "toolCallId": "c1", "content": "seen", "encryptedValue": "e"},
    ]
    path = tmp_path / "messages.json"
    path.write_text(json.dumps({"threadId": "t", "runId": "r", "messages": messages}))
    report = transcripts.write(
        transcripts.read(path, "ag-ui"), tmp_path / "out.jsonl", "claude-code"
    )
    [loss] = [each for each in report.entries if "encryptedValue" in each.path]
    assert (loss.block_type, loss.severity) == (None, "info")
