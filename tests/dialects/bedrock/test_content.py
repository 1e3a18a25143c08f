"""Parts: text, thinking, calls, results, media and citations."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from interlingua.adapt.history.retell import retell
from interlingua.dialects.anthropic import DIALECT as ANTHROPIC
from interlingua.dialects.bedrock import DIALECT
from interlingua.dialects.bedrock.tables import EMPTY_ERROR
from interlingua.dialects.kernel.words import SUMMARY
from interlingua.model.blocks import (
    Citation,
    CompactionBlock,
    ImageBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.message import Changes, Message, Role
from tests.dialects.bedrock.wires import (
    CALL,
    PNG,
    TOOLS,
    assistant,
    block_of,
    body,
    losses,
    parts_of,
    read,
    result,
    text,
    user,
    write,
)


def signed(words: str, signature: str | None = "EqQB") -> dict[str, Any]:
    given = {"text": words} if signature is None else {"text": words, "signature": signature}
    return {"reasoningContent": {"reasoningText": given}}


# -- thinking -------------------------------------------------------------------------------------


@pytest.mark.requirement("P1", "P2", "P6")
def test_thinking_is_replayed_block_by_block_ahead_of_the_call() -> None:
    turn = assistant(signed("Hm."), signed("", "EqQC"), CALL)
    content = read(body(turn, user(result()), toolConfig=TOOLS)).messages[0].content
    assert content[:2] == (ThinkingBlock("Hm.", "EqQB"), ThinkingBlock("", "EqQC"))


@pytest.mark.requirement("P3", "P5")
def test_redacted_thinking_is_the_same_data_as_in_the_messages_api() -> None:
    blob = base64.b64encode(b"EuYBCoYB").decode()
    part = {"reasoningContent": {"redactedContent": blob}}
    block = block_of(part, "assistant")
    assert block == RedactedThinkingBlock("EuYBCoYB")
    request = DIALECT.read_request(body(assistant(part)))
    told = retell(request.replace(model=None), ANTHROPIC, source="bedrock")
    wire = ANTHROPIC.write_request(told.value, told.recorder).wire
    said = {"type": "redacted_thinking", "data": "EuYBCoYB"}
    assert wire["messages"][0]["content"] == [said]


def test_a_blob_that_is_no_text_goes_home() -> None:
    blob = base64.b64encode(bytes(range(200, 220))).decode()
    part = {"reasoningContent": {"redactedContent": blob}}
    assert block_of(part, "assistant") == RedactedThinkingBlock(blob)


@pytest.mark.requirement("P4", "P43")
def test_unsigned_thinking_of_others_is_left_out_and_never_becomes_text() -> None:
    wire, report = write(Message.assistant([ThinkingBlock("Hm."), TextBlock("Hello")]))
    assert wire == body(assistant(text("Hello")))
    assert losses(report) == [("dropped", "$.messages[0].content[0]")]


def test_unsigned_thinking_from_here_goes_back() -> None:
    assert block_of(signed("Hm.", None), "assistant") == ThinkingBlock("Hm.")


# -- calls and results ----------------------------------------------------------------------------


def test_input_that_is_no_object_goes_home() -> None:
    for given in ('{"city": "Oslo"}', [1], None, 5):
        part = {"toolUse": {"toolUseId": "t", "name": "f", "input": given, "type": "tool_use"}}
        block = block_of(part, "assistant")
        assert isinstance(block, ToolUseBlock)
        assert block.input == ({"city": "Oslo"} if isinstance(given, str) else {})


@pytest.mark.requirement("P40")
def test_calls_that_the_service_ran_stay_in_their_turn_with_their_results() -> None:
    use = {**CALL["toolUse"], "type": "server_tool_use"}
    ran = {"toolUseId": "tooluse_1", "content": [text("4")], "type": "nova_code_result"}
    message = read(body(assistant({"toolUse": use}, {"toolResult": ran}, text("Four.")))).messages
    call, answer, words = message[0].content
    assert isinstance(call, ToolUseBlock)
    assert call.executor == "provider"
    assert isinstance(answer, ToolResultBlock)
    assert answer.raw == {"bedrock": {"type": "nova_code_result"}}
    assert words == TextBlock("Four.")


@pytest.mark.requirement("P33")
def test_the_error_flag_is_the_status_both_ways() -> None:
    failed = block_of(result(status="error"))
    assert isinstance(failed, ToolResultBlock)
    assert failed.is_error
    good = block_of(result(status="success"))
    assert isinstance(good, ToolResultBlock)
    assert not good.is_error
    said = parts_of(Message.tool_result("tooluse_1", "12 degrees", is_error=True))
    assert said == [result(status="error")]


def test_a_failed_result_is_never_empty() -> None:
    said = parts_of(Message.tool_result("tooluse_1", is_error=True))
    assert said == [result(text(EMPTY_ERROR), status="error")]
    empty = {"toolResult": {"toolUseId": "tooluse_1", "content": [], "status": "error"}}
    assert block_of(empty) == ToolResultBlock("tooluse_1", is_error=True)


def test_a_json_result_is_text_and_json_again() -> None:
    request = read(body(user(result({"json": {"a": [1, 2.5, None]}})), toolConfig=TOOLS))
    block = request.messages[0].content[0]
    assert isinstance(block, ToolResultBlock)
    inner = block.content[0]
    assert inner == TextBlock('{"a":[1,2.5,null]}')
    changed = block.replace(content=(inner.replace(text="none"),))
    message = request.messages[0].replace(content=(changed,))
    wire = DIALECT.write_request(request.replace(messages=(message,))).wire
    assert wire["messages"][0]["content"] == [result(text("none"))]


# -- text -----------------------------------------------------------------------------------------


def test_text_and_images_for_guardrails_are_text_and_images() -> None:
    guarded = {"text": {"text": "Hi", "qualifiers": ["query"]}}
    assert block_of({"guardContent": guarded}) == TextBlock("Hi")
    image = {"image": {"format": "png", "source": {"bytes": PNG}}}
    assert isinstance(block_of({"guardContent": image}), ImageBlock)


def test_changes_of_the_tools_are_changes() -> None:
    added = {"toolAddition": {"tool": {"type": "toolSpec", "name": "get_weather"}}}
    removed = {"toolRemoval": {"tool": {"name": "add"}}}
    turn = {"role": "system", "content": [added, text("Now"), removed]}
    add = {"toolSpec": {"name": "add", "inputSchema": {"json": {"type": "object"}}}}
    wire = body(user(text("Hi")), turn, toolConfig={"tools": [*TOOLS["tools"], add]})
    request = read(wire)
    changes = Changes(("get_weather",), ("add",))
    assert request.messages[1] == Message(Role.SYSTEM, (TextBlock("Now"),), changes=changes)
    assert DIALECT.write_request(request).wire == wire
    fewer = request.messages[1].replace(changes=Changes(tools_removed=("add", "get_weather", "f")))
    written = DIALECT.write_request(request.replace(messages=(request.messages[0], fewer)))
    removal = {"toolRemoval": {"tool": {"name": "get_weather"}}}
    assert written.wire["messages"][1]["content"] == [text("Now"), removed, removal]
    assert losses(written.report) == [("dropped", "$.messages[1].changes.tools_removed")]


def test_compacted_history_is_labelled_text() -> None:
    wire, report = write(Message.user("Hi"), Message.assistant([CompactionBlock("So far.")]))
    assert wire["messages"][1]["content"] == [text(SUMMARY.format("So far."))]
    assert [loss.kind for loss in report] == ["downgraded"]


@pytest.mark.requirement("P41")
def test_text_that_cites_holds_its_citations() -> None:
    citations = [
        {
            "title": "T",
            "sourceContent": [text("So it is.")],
            "location": {"documentPage": {"documentIndex": 1, "start": 2, "end": 3}},
        },
        {"location": {"web": {"url": "https://a.b", "domain": "a.b"}}},
        {"source": "https://c.d", "location": {"searchResultLocation": {"searchResultIndex": 0}}},
    ]
    part = {"citationsContent": {"content": [text("It is "), text("so.")], "citations": citations}}
    block = block_of(part, "assistant")
    assert isinstance(block, TextBlock)
    assert block.text == "It is so."
    assert block.citations == (
        Citation("So it is.", title="T", document_index=1),
        Citation(url="https://a.b"),
        Citation(url="https://c.d"),
    )


def test_citations_of_others_are_said_as_far_as_there_is_a_place() -> None:
    cited = TextBlock("So.", citations=(Citation("a", "https://a.b", "A", start=0, end=2),))
    wire, report = write(Message.assistant([cited]))
    said = wire["messages"][0]["content"][0]["citationsContent"]
    assert said["content"] == [text("So.")]
    assert said["citations"][0]["location"] == {"web": {"url": "https://a.b"}}
    place = "$.messages[0].content[0].citations[0]"
    assert losses(report) == [("dropped", f"{place}.start"), ("dropped", f"{place}.end")]


def test_a_refusal_is_said_as_text() -> None:
    wire, report = write(Message.assistant([RefusalBlock("No.")]))
    assert wire == body(assistant(text("No.")))
    assert losses(report) == [("downgraded", "$.messages[0].content[0]")]


def test_unknown_parts_go_home_and_those_of_others_do_not_come() -> None:
    part = {"futureContent": {"a": 1}}
    assert block_of(part) == UnknownBlock({"bedrock": part})
    other = UnknownBlock({"gemini": {"future": 1}})
    _, report = write(Message(Role.USER, (TextBlock("Hi"), other)))
    assert losses(report) == [("dropped", "$.messages[0].content[1]")]
