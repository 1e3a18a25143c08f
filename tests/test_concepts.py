"""What a conversation says beside words: compacted history, changes in mid-conversation, what a
text is for. Between those who have a word for it, and for those who have none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua.adapt.fit.fit import fit
from interlingua.dialects.kernel.words import SUMMARY
from tests.adapt.fit.asking import profile

Wire = dict[str, Any]
SCHEMA = {"type": "object", "properties": {"pier": {"type": "integer"}}, "required": ["pier"]}
FUNCTION = {"type": "function", "name": "late", "parameters": SCHEMA, "strict": False}
LATE = {"name": "late", "input_schema": SCHEMA, "defer_loading": True}
HELLO = {"role": "user", "content": "Hello"}
AGAIN = {"role": "user", "content": "And now?"}
SUMMED = "So far: the user waits at pier 3."
WITHOUT = ["openai-chat", "gemini", "ollama", "openrouter", "bedrock"]
"""Dialects that have no word for compacted history."""


def anthropic(*turns: Any, **more: Any) -> Wire:
    return {"model": "claude-opus-4-8", "max_tokens": 900, "messages": list(turns), **more}


def responses(*items: Any, **more: Any) -> Wire:
    return {"model": "gpt-6", "input": list(items), **more}


def system(*parts: Any, **more: Any) -> Wire:
    return {"role": "system", "content": list(parts), **more}


def change(kind: str, name: str = "late") -> Wire:
    return {"type": kind, "tool": {"type": "tool_reference", "name": name}}


def told(report: Any, *ends: str) -> list[tuple[str, str, str]]:
    """Kind, severity and place of the losses whose path ends like this, or has it inside."""
    return [
        (loss.kind, loss.severity, loss.path)
        for loss in report
        if any(end in loss.path for end in ends)
    ]


# -- compacted history ----------------------------------------------------------------------------

SUMMARISED = anthropic(
    HELLO,
    {"role": "assistant", "content": [{"type": "compaction", "content": SUMMED, "signature": "s"}]},
    AGAIN,
)


@pytest.mark.requirement("S002-115")
@pytest.mark.parametrize("target", [*WITHOUT, "openai-responses"])
def test_compacted_history_is_told_abroad_and_nothing_before_it_is_erased(target: str) -> None:
    done = il.convert(SUMMARISED, "anthropic", target)
    content = done.json().decode()
    for words in ("Hello", SUMMARY.format(SUMMED).split("\n")[0], SUMMED, "And now?"):
        assert words in content
    assert "[nothing" not in content
    assert told(done.report.entries, ".content") == [
        ("downgraded", "warning", "$.messages[1].content[0]")
    ]


@pytest.mark.parametrize("target", [*WITHOUT, "anthropic"])
def test_sealed_history_cannot_be_told_and_that_is_an_error(target: str) -> None:
    sealed = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA"}
    done = il.convert(responses(sealed, HELLO), "openai-responses", target)
    assert "gAAA" not in done.json().decode()
    lost = [loss for loss in done.report.entries if loss.block_type == "compaction"]
    assert [(loss.kind, loss.severity) for loss in lost] == [("dropped", "error")]


def test_a_compaction_that_failed_says_nothing_and_is_no_error() -> None:
    failed = {"role": "assistant", "content": [{"type": "compaction", "content": None}]}
    done = il.convert(anthropic(HELLO, failed, AGAIN), "anthropic", "openai-chat")
    lost = [loss.severity for loss in done.report.entries if loss.block_type == "compaction"]
    assert lost == ["info"]


def test_compacted_history_goes_back_to_the_model_that_made_it_and_to_no_other() -> None:
    dialect = il.dialect("anthropic")
    wire = {**SUMMARISED, "messages": SUMMARISED["messages"][1:]}
    request = dialect.read_request(wire)
    block = il.CompactionBlock(SUMMED, signature="s")
    by = il.MessageMetadata(model="anthropic:claude-opus-4-8", protocol="anthropic")
    made = request.replace(messages=(il.Message.assistant(block, by), *request.messages[1:]))
    for model, kind in (("claude-opus-4-8", "compaction"), ("claude-fable-5", "text")):
        retold = il.retell(made, "anthropic", model)
        written = dialect.write_request(retold.value, retold.recorder).wire
        assert written["messages"][0]["content"][0]["type"] == kind


@pytest.mark.requirement("S002-115")
def test_compacted_history_is_as_it_was_after_other_dialects_were_spoken() -> None:
    request = il.dialect("anthropic").read_request(SUMMARISED)
    before = il.dumps(request)
    for target in il.dialects():
        il.retell(request, target)
    assert il.dumps(request) == before
    assert il.dialect("anthropic").write_request(il.loads(before, il.Request)).wire == SUMMARISED


def test_compacted_history_of_an_earlier_version_still_goes_home() -> None:
    raw = {"anthropic": {"type": "compaction", "encrypted_content": "Eq"}}
    old = il.Message.assistant(il.ThinkingBlock(SUMMED, "s", raw=raw))
    read = il.loads(il.dumps(old))
    assert read.content == (il.CompactionBlock(SUMMED, "Eq", "s"),)
    (turn,) = il.dialect("anthropic").write_request(il.Request((read,))).wire["messages"]
    part = {"type": "compaction", "content": SUMMED, "encrypted_content": "Eq", "signature": "s"}
    assert turn["content"] == [part]
    form = {"$form": {"item": {"type": "compaction", "id": "cmp_1"}}}
    block = il.RedactedThinkingBlock("gAAA", raw={"openai-responses": form})
    sealed = il.loads(il.dumps([il.Message.assistant(block)]), list[il.Message])
    assert sealed[0].content == (il.CompactionBlock(data="gAAA"),)
    item = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA"}
    request = il.Request(tuple(sealed))
    assert il.dialect("openai-responses").write_request(request).wire["input"] == [item]
    for unread, dialect in ((old, "anthropic"), (il.Message.assistant(block), "openai-responses")):
        wire = il.dialect(dialect).write_request(il.Request((unread,))).wire
        assert "compaction" in json.dumps(wire)


def frames(*steps: Wire) -> list[bytes]:
    return [f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode() for each in steps]


COMPACTING = frames(
    {
        "type": "message_start",
        "message": {
            **{"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-4-8"},
            **{"content": [], "stop_reason": None, "stop_sequence": None},
            "usage": {"input_tokens": 9, "output_tokens": 1},
        },
    },
    {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "compaction", "content": None},
    },
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "compaction_delta", "content": SUMMED, "encrypted_content": "Eq"},
    },
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Noon."}},
    {"type": "content_block_stop", "index": 1},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {"output_tokens": 9},
    },
    {"type": "message_stop"},
)


@pytest.mark.parametrize("target", [name for name in il.dialects() if name != "anthropic"])
def test_compacted_history_is_written_in_streams(target: str) -> None:
    converter = il.StreamConverter("anthropic", target)
    data = b"".join([*map(converter.feed, COMPACTING), converter.close()])
    assert SUMMED.encode() in data
    assert b"end of the summary" in data
    assert told(converter.report.entries, ".content[0]")[0][:2] == ("downgraded", "warning")


def test_compacted_history_in_a_stream_is_that_of_the_whole_answer() -> None:
    reader, decoder = il.dialect("anthropic").stream_reader(), il.sse.Decoder()
    events = [
        event for data in COMPACTING for frame in decoder.feed(data) for event in reader.feed(frame)
    ]
    folded = il.fold([*events, *reader.close()])
    assert folded.message.content == (il.CompactionBlock(SUMMED, "Eq"), il.TextBlock("Noon."))
    assert il.fold(il.unfold(folded)).message.content == folded.message.content
    partly = il.fold(events[:4])
    assert partly.message.content == (il.CompactionBlock(SUMMED),)


@pytest.mark.parametrize("target", il.dialects())
def test_a_streams_writer_tells_compacted_history_that_nobody_retold(target: str) -> None:
    content = [il.CompactionBlock(SUMMED), il.TextBlock("Noon.")]
    metadata = il.MessageMetadata(stop_reason=il.StopReason.END_TURN)
    writer = il.dialect(target).stream_writer()
    events = il.unfold(il.Response(il.Message.assistant(content, metadata)))
    data = "".join([frame.data for event in events for frame in writer.feed(event)])
    assert SUMMED in data
    assert ("end of the summary" in data) is (target != "anthropic")


# -- changes in mid-conversation ------------------------------------------------------------------


def test_a_tool_that_openai_adds_later_is_added_later_by_anthropic() -> None:
    added = {"type": "additional_tools", "role": "developer", "tools": [FUNCTION]}
    done = il.convert(responses(HELLO, added, AGAIN), "openai-responses", "anthropic")
    assert done.wire["tools"] == [LATE | {"strict": False}]
    assert system(change("tool_addition")) in done.wire["messages"]
    assert told(done.report.entries, ".changes") == []
    assert told(done.report.entries, "$.tools") == [("approximated", "info", "$.tools[0].deferred")]


def test_a_tool_that_anthropic_adds_later_is_added_later_by_openai() -> None:
    wire = anthropic(HELLO, system(change("tool_addition")), AGAIN, tools=[LATE])
    done = il.convert(wire, "anthropic", "openai-responses")
    assert "tools" not in done.wire
    (item,) = [each for each in done.wire["input"] if each.get("type") == "additional_tools"]
    assert [tool["name"] for tool in item["tools"]] == ["late"]
    assert "defer_loading" not in item["tools"][0]
    assert done.wire["input"].index(item) == 1


@pytest.mark.parametrize("target", ["openai-chat", "gemini", "ollama", "openrouter"])
def test_a_tool_that_is_added_later_is_there_from_the_start_elsewhere(target: str) -> None:
    wire = anthropic(HELLO, system(change("tool_addition")), AGAIN, tools=[LATE])
    done = il.convert(wire, "anthropic", target)
    content = done.json().decode()
    assert '"late"' in content
    assert '""' not in content
    assert "[system]" not in content
    assert told(done.report.entries, ".changes") == [
        ("moved", "info", "$.messages[1].changes.tools_added")
    ]
    assert told(done.report.entries, "$.tools")[0][0] == "approximated"


@pytest.mark.parametrize("target", ["openai-chat", "openai-responses", "gemini", "ollama"])
def test_a_tool_that_was_removed_is_not_there_elsewhere(target: str) -> None:
    other = {"name": "add", "input_schema": SCHEMA}
    wire = anthropic(HELLO, system(change("tool_removal")), AGAIN, tools=[LATE, other])
    done = il.convert(wire, "anthropic", target)
    assert "late" not in done.json().decode()
    assert told(done.report.entries, "$.tools[0]", ".changes") == [
        ("moved", "info", "$.messages[1].changes.tools_removed"),
        ("dropped", "warning", "$.tools[0]"),
    ]
    back = anthropic(
        HELLO, system(change("tool_removal")), system(change("tool_addition")), tools=[LATE]
    )
    assert "late" in il.convert(back, "anthropic", target).json().decode()


def test_an_effort_from_a_message_on_crosses_between_those_who_have_it() -> None:
    update = {"type": "configuration_update", "reasoning": {"effort": "low"}}
    wire = responses(HELLO, update, AGAIN)
    done = il.convert(wire, "openai-responses", "anthropic")
    assert done.wire["messages"][1] == system(output_config={"effort": "low"})
    routed = il.convert(done.wire, "anthropic", "openrouter")
    asked = {"configuration_update": {"reasoning": {"effort": "low"}}}
    assert routed.wire["messages"][1] == {"role": "system", "content": "", **asked}
    again = il.convert(routed.wire, "openrouter", "openai-responses")
    assert again.wire["input"][1] == update
    for each in (done, routed, again):
        assert told(each.report.entries, ".changes") == []


def test_settings_from_a_message_on_hold_for_all_of_it_elsewhere() -> None:
    form = {"type": "json_schema", "name": "out", "schema": SCHEMA}
    first = {"type": "configuration_update", "reasoning": {"effort": "high"}}
    last = {
        "type": "configuration_update",
        "reasoning": {"effort": "low"},
        "text": {"format": form},
    }
    wire = responses(HELLO, first, AGAIN, last, HELLO, reasoning={"effort": "medium"})
    done = il.convert(wire, "openai-responses", "openai-chat")
    assert done.wire["reasoning_effort"] == "low"
    assert done.wire["response_format"]["json_schema"]["schema"] == SCHEMA
    assert [each["content"] for each in done.wire["messages"]] == ["Hello", "And now?", "Hello"]
    assert told(done.report.entries, ".changes", "$.options") == [
        ("moved", "info", "$.messages[1].changes.effort"),
        ("moved", "info", "$.messages[3].changes.effort"),
        ("moved", "info", "$.messages[3].changes.response_format"),
        ("approximated", "info", "$.options.reasoning"),
        ("approximated", "info", "$.options.response_format"),
    ]


@pytest.mark.parametrize("target", ["openai-chat", "openai-responses", "gemini", "ollama"])
def test_instructions_that_have_expired_are_left_out(target: str) -> None:
    brief = system({"type": "text", "text": "Be brief."}, clear_at="next_user_message")
    done = il.convert(anthropic(HELLO, brief, AGAIN), "anthropic", target)
    assert "Be brief." not in done.json().decode()
    assert ("dropped", "warning", "$.messages[1].content[0]") in told(
        done.report.entries, "$.messages[1]"
    )
    still = il.convert(anthropic(HELLO, brief), "anthropic", target)
    assert "Be brief." in still.json().decode()
    assert ("dropped", "info", "$.messages[1].changes.clear_at") in told(
        still.report.entries, ".changes"
    )
    forever = system({"type": "text", "text": "Be brief."}, clear_at="never")
    stored = il.convert(anthropic(HELLO, forever, AGAIN), "anthropic", target)
    assert "Be brief." in stored.json().decode()
    assert told(stored.report.entries, ".changes", ".content") == []


def test_a_change_in_the_midst_of_a_turn_follows_its_results_elsewhere() -> None:
    call = {"type": "function_call", "call_id": "call_1", "name": "add", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "call_1", "output": "3"}
    added = {"type": "additional_tools", "role": "developer", "tools": [FUNCTION]}
    tools = [{**FUNCTION, "name": "add"}]
    wire = responses(HELLO, call, added, result, tools=tools)
    done = il.convert(wire, "openai-responses", "anthropic")
    assert [turn["role"] for turn in done.wire["messages"]] == [
        *("user", "assistant", "user", "system")
    ]
    assert done.wire["messages"][3] == system(change("tool_addition"))


def test_what_a_model_takes_no_changes_of_is_said_for_the_whole_request() -> None:
    added = il.Message(il.Role.SYSTEM, changes=il.Changes(("late",), effort="low"))
    tool = il.ToolDefinition("late", input_schema=SCHEMA, deferred=True)
    request = il.Request((il.Message.user("Hi"), added, il.Message.user("Go")), "m", (tool,))
    older, newer = (
        fit(request, profile(f"anthropic:{name}", dialect="anthropic"))
        for name in ("claude-sonnet-4-5", "claude-opus-4-8")
    )
    assert [message.changes for message in older.value.messages] == [None, None]
    assert older.value.tools[0].deferred is None
    assert any(message.changes is not None for message in newer.value.messages)
    assert newer.value.tools[0].deferred is True


# -- what a text is for ---------------------------------------------------------------------------


@pytest.mark.parametrize("target", [name for name in il.dialects() if name != "openai-responses"])
def test_what_a_text_is_for_is_told_where_it_has_no_place(target: str) -> None:
    fields = {"type": "output_text", "text": "Let me see.", "annotations": []}
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
    wire = {
        **{"id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-6"},
        **{"status": "completed", "parallel_tool_calls": True, "tool_choice": "auto", "tools": []},
        "output": [{**item, "content": [fields], "phase": "commentary"}],
    }
    answer = il.convert(wire, "openai-responses", target, kind="response")
    assert told(answer.report.entries, ".phase") == [
        ("dropped", "warning", "$.message.content[0].phase")
    ]
    history = responses(HELLO, {**item, "content": [fields], "phase": "commentary"}, AGAIN)
    request = il.convert(history, "openai-responses", target)
    assert [path for _, _, path in told(request.report.entries, ".phase")] == [
        "$.messages[1].content[0].phase"
    ]


# -- views, and what is kept ----------------------------------------------------------------------

VIEWS = ["flat", "parts", "camel", "openai-ui"]


@pytest.mark.parametrize("name", VIEWS)
def test_views_tell_compacted_history_and_what_they_have_no_place_for(name: str) -> None:
    summary = il.Message.assistant(
        [il.CompactionBlock(SUMMED), il.TextBlock("a", phase="commentary")]
    )
    changed = il.Message.user("Hi").replace(changes=il.Changes(effort="low"))
    sealed = il.Message.assistant([il.CompactionBlock(data="gAAA"), il.TextBlock("b")])
    written = il.view(name).write([changed, summary, sealed])
    assert SUMMED in json.dumps(written.wire)
    assert "gAAA" not in json.dumps(written.wire)
    found = {(loss.kind, loss.severity, loss.path) for loss in written.report.entries}
    assert found >= {
        ("downgraded", "warning", "$[1].content[0]"),
        ("dropped", "error", "$[2].content[0]"),
        ("dropped", "warning", "$[1].content[1].phase"),
        ("dropped", "warning", "$[0].changes"),
    }


def test_a_store_keeps_changes_compacted_history_and_phases(tmp_path: Path) -> None:
    store = il.open_store(f"sqlite:///{tmp_path}/a.db")
    session = store.create_session("demo")
    changes = il.Changes(("late",), ("old",), "low", il.ResponseFormat("json"), "never")
    value = il.MessageMetadata(provider_raw={"openai-responses": {"$form": {}}})
    messages = [
        il.Message(il.Role.SYSTEM, changes=changes),
        il.Message(il.Role.SYSTEM, metadata=il.MessageMetadata(), changes=changes),
        il.Message(il.Role.SYSTEM, metadata=value, changes=changes),
        il.Message.user([il.CompactionBlock(SUMMED, replaces=3), il.TextBlock("a", phase="x")]),
    ]
    stored = store.append(session.id, messages).messages
    assert [il.dumps(each) for each in store.messages(session.id)] == [*map(il.dumps, stored)]
    assert [each.changes for each in stored] == [changes, changes, changes, None]
    store.close()
