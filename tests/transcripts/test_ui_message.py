"""UI messages: steps, parts, and the stream that tells them."""

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
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.message import Message, Role
from interlingua.transcripts import Transcript
from interlingua.transcripts.ui_message.stream import fold, unfold
from interlingua.transcripts.ui_message.write import turns
from tests.transcripts.made import session

Ui = dict[str, Any]
SIGNED = {"google": {"thoughtSignature": "c2VhbGVk"}}
LOOP: Ui = {
    "id": "a1",
    "metadata": {"modelId": "gemini-3-pro", "totalUsage": {"inputTokens": 9, "outputTokens": 4}},
    "role": "assistant",
    "parts": [
        {"type": "step-start"},
        {"type": "reasoning", "id": "0", "text": "Two ovens.", "state": "done"},
        {
            "type": "tool-look",
            "toolCallId": "c1",
            "state": "output-available",
            "input": {"at": "oven"},
            "output": {"degrees": 180, "door": None},
            "callProviderMetadata": SIGNED,
            "resultProviderMetadata": SIGNED,
        },
        {
            "type": "dynamic-tool",
            "toolName": "ring",
            "title": "Bell",
            "toolCallId": "c2",
            "state": "output-error",
            "input": "twice",
            "errorText": "no bell",
        },
        {"type": "step-start"},
        {"type": "data-oven", "id": "d", "data": {"hot": True}},
        {
            "type": "tool-open",
            "toolCallId": "c3",
            "state": "output-denied",
            "input": {},
            "approval": {"id": "p", "approved": False, "reason": "too hot"},
        },
        {"type": "step-start"},
        {"type": "source-url", "sourceId": "s", "url": "https://example.com/bread"},
        {"type": "text", "text": "Wait.", "state": "done"},
    ],
}
PROMPT: Ui = {
    "id": "u1",
    "role": "user",
    "parts": [
        {"type": "text", "text": "Ready?"},
        {"type": "file", "mediaType": "application/pdf", "url": "https://example.com/a.pdf"},
        {
            "type": "file",
            "mediaType": "image/png",
            "filename": "a.png",
            "url": "",
            "providerReference": {"openai": "file-1"},
        },
    ],
}


def read(folder: Path, *messages: Ui, **around: Any) -> Transcript:
    path = folder / "chat.json"
    path.write_text(json.dumps({**around, "messages": list(messages)} if around else messages))
    assert transcripts.detect(path).format == "ui-message"
    return transcripts.read(path)


def anew(transcript: Transcript, folder: Path) -> Any:
    path = folder / "anew.json"
    transcripts.write(transcript.replace(origin=None), path, "ui-message")
    return json.loads(path.read_bytes())


def test_each_step_is_an_answer_followed_by_its_results(tmp_path: Path) -> None:
    arrived = read(tmp_path, PROMPT, LOOP)
    assert [str(message.role) for message in arrived.messages] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
        "tool",
        "assistant",
    ]
    look = arrived.messages[1].tool_calls[0]
    assert (look.name, look.input, look.signature) == ("look", {"at": "oven"}, "c2VhbGVk")
    ring = arrived.messages[1].tool_calls[1]
    assert (ring.call_type, ring.input) == ("custom", {"input": "twice"})
    results = [b for m in arrived.messages for b in m.content if isinstance(b, ToolResultBlock)]
    assert [(each.content[0].text, each.is_error) for each in results] == [  # type: ignore[union-attr]
        ('{"degrees":180,"door":null}', False),
        ("no bell", True),
        ("too hot", True),
    ]
    assert arrived.models == ("gemini-3-pro",)
    assert arrived.messages[1].metadata.protocol == "gemini"
    assert (arrived.usage.input_tokens, arrived.usage.output_tokens) == (9, 4)


def test_a_tool_loop_goes_home_as_one_message(tmp_path: Path) -> None:
    arrived = read(tmp_path, PROMPT, LOOP)
    assert [len(turn) for turn in turns(arrived.messages)] == [1, 6]
    assert anew(arrived, tmp_path) == [PROMPT, LOOP]


def test_two_messages_of_the_assistant_stay_two(tmp_path: Path) -> None:
    second = {"id": "a2", "role": "assistant", "parts": [{"type": "text", "text": "Now."}]}
    assert anew(read(tmp_path, LOOP, second), tmp_path) == [LOOP, second]


def test_what_a_person_says_between_two_steps_is_a_prompt(tmp_path: Path) -> None:
    fields = {"type": "steering-message", "id": "m", "parts": [{"type": "text", "text": "Hurry."}]}
    ui = {**LOOP, "parts": [*LOOP["parts"][:4], fields, *LOOP["parts"][4:]]}
    arrived = read(tmp_path, PROMPT, ui)
    assert [message.text for message in arrived.messages if message.role is Role.USER] == [
        "Ready?",
        "Hurry.",
    ]
    assert anew(arrived, tmp_path) == [PROMPT, ui]


def test_a_chat_keeps_what_stands_around_its_messages(tmp_path: Path) -> None:
    arrived = read(tmp_path, PROMPT, id="chat-1", title="Bread", trigger="submit-message")
    assert (arrived.id, arrived.title) == ("chat-1", "Bread")
    assert anew(arrived, tmp_path) == {
        "id": "chat-1",
        "title": "Bread",
        "trigger": "submit-message",
        "messages": [PROMPT],
    }


def test_files_are_pictures_and_documents(tmp_path: Path) -> None:
    _, pdf, picture = read(tmp_path, PROMPT).messages[0].content
    assert pdf == DocumentBlock(Source("url", "https://example.com/a.pdf"), "application/pdf")
    source = Source("file_id", "file-1", provider="openai")
    assert picture == ImageBlock(source, "image/png", "a.png")


def test_the_parts_of_an_item_share_a_signature_that_is_told_once(tmp_path: Path) -> None:
    about = {"openai": {"itemId": "rs_1", "reasoningEncryptedContent": "c2VhbGVk"}}
    parts = [
        {"type": "reasoning", "id": f"rs_1:{at}", "text": text, "providerMetadata": about}
        for at, text in enumerate(["One.", "Two."])
    ]
    ui = {"id": "a", "role": "assistant", "parts": [{"type": "step-start"}, *parts]}
    arrived = read(tmp_path, ui)
    thoughts = [b for b in arrived.messages[0].content if isinstance(b, ThinkingBlock)]
    assert [(each.id, each.signature) for each in thoughts] == [
        ("rs_1", None),
        ("rs_1", "c2VhbGVk"),
    ]
    assert anew(arrived, tmp_path) == [ui]


def test_an_edit_is_written_and_nothing_else_changes(tmp_path: Path) -> None:
    arrived = read(tmp_path, PROMPT, LOOP)
    *others, last = arrived.messages
    edited = last.replace(content=(*last.content[:-1], TextBlock("Bake on.")))
    changed = anew(arrived.replace(messages=(*others, edited)), tmp_path)
    assert changed[1]["parts"][-1] == {"type": "text", "text": "Bake on."}
    assert changed[1]["parts"][:-1] == LOOP["parts"][:-1]
    assert changed[0] == PROMPT


def test_a_result_that_was_edited_is_no_longer_json(tmp_path: Path) -> None:
    arrived = read(tmp_path, LOOP)
    result = arrived.messages[1].content[0]
    assert isinstance(result, ToolResultBlock)
    cold = Message.of_result(result.replace(content=(TextBlock("cold"),)))
    messages = (arrived.messages[0], cold, *arrived.messages[2:])
    assert anew(arrived.replace(messages=messages), tmp_path)[0]["parts"][2]["output"] == "cold"


def test_a_call_that_nobody_will_answer_is_shown_as_failed(tmp_path: Path) -> None:
    call = Message(Role.ASSISTANT, (ToolUseBlock("c", "look", {}),))
    messages = (Message.user("Go."), call, Message.user("Never mind."), call)
    asked = Transcript(format="made-up", messages=messages)
    report = transcripts.write(asked, tmp_path / "asked.json", "ui-message")
    assert [(loss.kind, loss.path) for loss in report.entries] == [
        ("approximated", "$.messages[1]")
    ]
    written = json.loads((tmp_path / "asked.json").read_bytes())
    states = [part["state"] for ui in written for part in ui["parts"] if "state" in part]
    assert states == ["output-error", "input-available"]
    arrived = transcripts.read(tmp_path / "asked.json")
    assert [*map(il.dumps, arrived.messages)] == [*map(il.dumps, messages)]


def test_a_result_of_nothing_is_told_and_comes_back(tmp_path: Path) -> None:
    stray = Message.of_result(ToolResultBlock("gone", (TextBlock("late"),)))
    messages = (stray, Message.user("Hi."), stray, Message.assistant("Hello."), stray)
    odd = Transcript(format="made-up", messages=messages)
    report = transcripts.write(odd, tmp_path / "odd.json", "ui-message")
    assert [loss.path for loss in report.entries] == [
        "$.messages[0]",
        "$.messages[2]",
        "$.messages[4]",
    ]
    arrived = transcripts.read(tmp_path / "odd.json")
    assert [*map(il.dumps, arrived.messages)] == [*map(il.dumps, messages)]


def test_metadata_that_are_no_object_stay_as_they_are(tmp_path: Path) -> None:
    odd = read(tmp_path, {**PROMPT, "metadata": ["mine"]})
    named = odd.messages[0].replace(name="baker")
    sent = odd.replace(messages=(named,), origin=None)
    report = transcripts.write(sent, tmp_path / "odd.json", "ui-message")
    assert [loss.path for loss in report.entries] == ["$.messages[0].metadata"]
    assert json.loads((tmp_path / "odd.json").read_bytes())[0]["metadata"] == ["mine"]


def test_the_same_answer_twice_is_two_answers(tmp_path: Path) -> None:
    again = Message(Role.ASSISTANT, (ToolUseBlock("c", "look", {}),))
    result = Message.of_result(ToolResultBlock("c", (TextBlock("hot"),), False, "look"))
    messages = (Message.user("Go."), again, result, again, result)
    transcript = Transcript(format="made-up", messages=messages)
    assert not transcripts.write(transcript, tmp_path / "twice.json", "ui-message")
    arrived = transcripts.read(tmp_path / "twice.json")
    assert [*map(il.dumps, arrived.messages)] == [*map(il.dumps, messages)]


def test_a_stream_tells_the_message(tmp_path: Path) -> None:
    folded = fold(unfold(LOOP, "stop"))
    assert folded.message == LOOP
    assert (folded.finish, folded.finished) == ("stop", True)


def test_a_recorded_stream_is_an_answer(tmp_path: Path) -> None:
    transcripts.write(read(tmp_path, PROMPT, LOOP), tmp_path / "answer.sse", "ui-message")
    path = tmp_path / "answer.sse"
    assert path.read_bytes().endswith(b"data: [DONE]\n\n")
    assert transcripts.detect(path).format == "ui-message"
    arrived = transcripts.read(path)
    assert not arrived.report.entries
    assert [message.text for message in arrived.messages if message.text][-1] == "Wait."
    assert arrived.messages[-1].metadata.stop_reason is il.StopReason.END_TURN
    transcripts.write(arrived, tmp_path / "home.sse", "ui-message")
    assert (tmp_path / "home.sse").read_bytes() == path.read_bytes()


def test_a_stream_tells_one_answer_and_the_report_names_the_rest(tmp_path: Path) -> None:
    report = transcripts.write(session(), tmp_path / "answer.sse", "ui-message")
    assert [loss.path for loss in report.entries] == [f"$.messages[{at}]" for at in range(7)]
    [answer] = transcripts.read(tmp_path / "answer.sse").messages
    assert il.dumps(answer) == il.dumps(session().messages[-1])


@pytest.mark.parametrize("lines", [1, 4, 9])
def test_a_stream_that_was_cut_is_a_part_of_an_answer(lines: int, tmp_path: Path) -> None:
    chunks = [b"data: " + json.dumps(chunk).encode() for chunk in unfold(LOOP, "stop")]
    path = tmp_path / "cut.sse"
    path.write_bytes(b"\n\n".join(chunks[:lines]) + b'\n\ndata: {"type": "te')
    arrived = transcripts.read(path, "ui-message")
    named = [loss.path for loss in arrived.report.entries]
    assert named == [f"line {2 * lines + 1}"] * 2
    last = [message for message in arrived.messages if message.role is Role.ASSISTANT][-1]
    assert last.metadata.status is il.MessageStatus.PARTIAL
