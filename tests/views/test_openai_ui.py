"""The chat-completion shapes between a task and its page: messages, usage, envelopes."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.errors import ReadError, WriteError
from interlingua.model.base import same
from interlingua.model.blocks import (
    ImageBlock,
    RefusalBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.losses import Loss, Report
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, StopReason, Usage
from interlingua.views import openai_ui
from tests.laws.strategies import conversations, messages, usages
from tests.views.comparing import Comparison, few
from tests.views.wires import Wire, argument_texts, objects, some, texts, words

CALL = ToolUseBlock("call_1", "read_file", {"path": "a"})
CALL_WIRE = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "read_file", "arguments": '{"path":"a"}'},
}


def out(message: Message) -> Wire:
    [wire] = openai_ui.write([message]).wire
    result: Wire = wire
    return result


def one(wire: Any) -> Message:
    [message] = openai_ui.read([wire])
    return message


def comes_home(wire: Wire) -> bool:
    return same(out(one(wire)), wire)


def rank(block_type: str) -> int:
    return 1 if block_type == "tool_use" else 0


# The laws


@few
@given(
    st.tuples(st.booleans(), st.booleans()).flatmap(lambda how: conversations(*how, failures=True))
)
def test_what_reading_back_misses_is_what_the_report_lists(history: tuple[Message, ...]) -> None:
    wire, report = openai_ui.write(history)
    Comparison("openai-ui", report, rank).check(history, openai_ui.read(wire))


def text_parts() -> st.SearchStrategy[Wire]:
    return objects({"type": st.just("text"), "text": texts()}, {})


def ui_messages() -> st.SearchStrategy[Wire]:
    function = objects({"name": words(), "arguments": argument_texts()}, {})
    call = objects({"id": words(), "type": st.just("function"), "function": function}, {})
    content = {"content": texts() | some(text_parts())}
    plain = {"role": st.sampled_from(("system", "user"))}
    return st.one_of(
        objects(plain, {**content, "name": words()}),
        objects({"role": st.just("assistant")}, {**content, "tool_calls": some(call)}),
        objects({"role": st.just("tool"), "tool_call_id": words()}, content),
    )


@given(some(ui_messages(), 3))
def test_messages_come_home_unchanged(wire: list[Wire]) -> None:
    before = deepcopy(wire)
    home, report = openai_ui.write(openai_ui.read(wire))
    assert same(home, before)
    assert same(wire, before)
    assert not report.entries


@few
@given(messages(Role.ASSISTANT, with_raw=True), st.none() | usages(with_raw=True))
def test_a_finished_answer_misses_what_its_report_lists(
    message: Message, usage: Usage | None
) -> None:
    message = message.replace(metadata=message.metadata.replace(usage=usage))
    wire, report = openai_ui.write_request_completed(message)
    back = openai_ui.read_request_completed(wire)
    listed = [
        Loss(loss.kind, loss.path.replace("$", "$[0]", 1), loss.reason) for loss in report.entries
    ]
    Comparison("openai-ui", Report("openai-ui", listed), rank).check([message], [back])


# Messages


@pytest.mark.requirement("S004-2", "S004-3")
@pytest.mark.parametrize("role", ["system", "user", "assistant"])
def test_content_is_a_string_or_text_parts(role: str) -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert one({"role": role, "content": "a"}).content == (TextBlock("a"),)
    assert one({"role": role, "content": parts}).content == (TextBlock("a"), TextBlock("b"))
    assert one({"role": role, "content": [{"text": "a"}]}).content == (TextBlock("a"),)
    for content in ("a", parts, parts[:1], [], "", None):
        assert comes_home({"role": role, "content": content})


@pytest.mark.requirement("S004-2")
def test_a_part_is_written_with_its_type() -> None:
    bare = one({"role": "user", "content": [{"text": "a"}, {"text": "b"}]})
    assert out(bare)["content"] == [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]


@pytest.mark.requirement("S004-2")
@pytest.mark.parametrize(
    ("content", "path"),
    [
        (3, "$[0].content"),
        ([None], "$[0].content[0]"),
        ([{"type": "image_url", "image_url": {}}], "$[0].content[0].type"),
        ([{"type": "text"}], "$[0].content[0].text"),
    ],
)
def test_anything_but_text_is_refused(content: Any, path: str) -> None:
    with pytest.raises(ReadError) as error:
        openai_ui.read([{"role": "user", "content": content}])
    assert error.value.path == path


@pytest.mark.requirement("S004-3")
@pytest.mark.parametrize("role", ["developer", "function", None])
def test_there_are_four_roles(role: Any) -> None:
    assert set(openai_ui.ROLES) == {"system", "user", "assistant", "tool"}
    with pytest.raises(ReadError) as error:
        openai_ui.read([{"role": role, "content": "x"}])
    assert error.value.path == "$[0].role"


@pytest.mark.requirement("S004-7", "S004-10")
def test_a_constructor_for_each_role() -> None:
    made = [
        openai_ui.system_message("a"),
        openai_ui.user_message("b"),
        openai_ui.assistant_message("c", [CALL]),
        openai_ui.assistant_message("d"),
        openai_ui.tool_message("e", "call_1"),
    ]
    assert made == [
        Message.system("a"),
        Message.user("b"),
        Message.assistant(["c", CALL]),
        Message.assistant("d"),
        Message.tool_result("call_1", "e"),
    ]
    assert openai_ui.read(openai_ui.write(made).wire) == tuple(made)


@pytest.mark.requirement("S004-8")
@pytest.mark.parametrize("text", [None, "", "{}"])
def test_arguments_may_be_null(text: str | None) -> None:
    wire = {"id": "c", "type": "function", "function": {"name": "f", "arguments": text}}
    call, diagnostics = openai_ui.tool_call_from_openai(wire)
    assert call.input == {}
    assert diagnostics == ()
    home = openai_ui.tool_call_to_openai(call)
    assert home["function"]["arguments"] == (text or "")


@pytest.mark.requirement("S004-14")
def test_the_json_of_each_message() -> None:
    assert out(Message.system("a")) == {"role": "system", "content": "a"}
    assert out(Message.user("a")) == {"role": "user", "content": "a"}
    assert out(Message.assistant("a")) == {"role": "assistant", "content": "a"}
    assert out(Message.assistant(["a", CALL])) == {
        "role": "assistant",
        "content": [{"type": "text", "text": "a"}],
        "tool_calls": [CALL_WIRE],
    }
    assert out(Message.assistant(CALL)) == {"role": "assistant", "tool_calls": [CALL_WIRE]}
    assert out(Message.tool_result("call_1", "x")) == {
        "role": "tool",
        "content": "x",
        "tool_call_id": "call_1",
    }


@pytest.mark.requirement("S004-15")
@pytest.mark.parametrize("role", ["system", "user", "assistant", "tool"])
def test_misplaced_fields_are_refused(role: str) -> None:
    fields = {"tool_calls": [CALL_WIRE], "tool_call_id": "call_1"}
    owners = {"assistant": "tool_calls", "tool": "tool_call_id"}
    for name, value in fields.items():
        if owners.get(role) == name:
            continue
        with pytest.raises(ReadError) as error:
            openai_ui.read([{"role": "user", "content": "x"}, {"role": role, name: value}])
        assert error.value.path == f"$[1].{name}"


@pytest.mark.requirement("S004-15")
def test_an_answer_of_a_tool_names_the_call() -> None:
    with pytest.raises(ReadError) as error:
        openai_ui.read([{"role": "tool", "content": "x"}])
    assert error.value.path == "$[0].tool_call_id"


# Conversions


@pytest.mark.requirement("S004-12")
def test_messages_to_params_and_back() -> None:
    for message in (
        Message.user("a"),
        Message.assistant(["a", CALL]),
        Message.tool_result("c", "x"),
    ):
        wire, report = openai_ui.message_to_param(message)
        assert openai_ui.message_from_param(wire) == message
        assert not report.entries


@pytest.mark.requirement("S004-12")
def test_tool_calls_both_ways() -> None:
    assert openai_ui.tool_call_to_openai(CALL) == CALL_WIRE
    assert openai_ui.tool_call_from_openai(CALL_WIRE) == (CALL, ())
    cut = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1'}}
    call, [diagnostic] = openai_ui.tool_call_from_openai(cut)
    assert call.input == {"a": 1}
    assert diagnostic.details == {"mode": "closed", "call_id": "c"}
    assert openai_ui.tool_call_to_openai(call) == cut


@pytest.mark.requirement("S004-12")
def test_a_message_from_a_response() -> None:
    answer = {"role": "assistant", "content": "hi", "refusal": None, "tool_calls": [CALL_WIRE]}
    response = {
        "id": "chatcmpl-1",
        "model": "gpt-5",
        "choices": [{"index": 0, "message": answer, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7},
    }
    message = openai_ui.message_from_response(response)
    assert message.content == (TextBlock("hi"), CALL)
    assert message.metadata == MessageMetadata(
        response_model="gpt-5",
        response_id="chatcmpl-1",
        usage=Usage(5, 2),
        stop_reason=StopReason.TOOL_USE,
        raw_stop_reason="tool_calls",
    )
    refused = {"choices": [{"message": {"role": "assistant", "content": None, "refusal": "no"}}]}
    assert openai_ui.message_from_response(refused).content == (RefusalBlock("no"),)


@pytest.mark.requirement("S004-9", "S004-12")
def test_usage_includes_the_cache_there_and_not_here() -> None:
    wire = {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "total_tokens": 15,
        "prompt_tokens_details": {"cached_tokens": 4},
    }
    usage = openai_ui.usage_from_openai(wire)
    assert usage == Usage(input_tokens=6, output_tokens=5, cached_input_tokens=4)
    assert usage is not None
    assert usage.total_tokens == 15
    assert openai_ui.usage_to_openai(usage) == wire


@pytest.mark.requirement("S004-9")
def test_an_unknown_cache_count_is_null_and_not_0() -> None:
    wire = openai_ui.usage_to_openai(Usage(6, 5))
    assert wire["prompt_tokens_details"] == {"cached_tokens": None}
    assert openai_ui.usage_from_openai(wire) == Usage(6, 5)
    known = openai_ui.usage_to_openai(Usage(6, 5, 0))
    assert known["prompt_tokens_details"] == {"cached_tokens": 0}
    assert openai_ui.usage_from_openai(known) == Usage(6, 5, 0)
    bare = {"prompt_tokens": 6, "completion_tokens": 5, "total_tokens": 11}
    read = openai_ui.usage_from_openai(bare)
    assert read == Usage(6, 5)
    assert read is not None
    assert openai_ui.usage_to_openai(read) == bare


@pytest.mark.requirement("S004-12")
def test_the_total_is_counted_again() -> None:
    usage = openai_ui.usage_from_openai(
        {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 99}
    )
    assert usage is not None
    assert openai_ui.usage_to_openai(usage)["total_tokens"] == 3


def test_more_cached_than_prompted_is_clamped_and_kept() -> None:
    wire = {
        "prompt_tokens": 1,
        "completion_tokens": 2,
        "prompt_tokens_details": {"cached_tokens": 4},
    }
    usage = openai_ui.usage_from_openai(wire)
    assert usage == Usage(0, 2, 4)
    assert usage is not None
    assert openai_ui.usage_to_openai(usage)["prompt_tokens"] == 1


# Envelopes


def test_a_message_that_was_added() -> None:
    for message in (Message.user("hi"), Message.system("s"), Message.tool_result("c", "x")):
        wire, report = openai_ui.write_message_added(message)
        assert wire == {"msg": "MessageAdded", "message": out(message)}
        assert openai_ui.read_message_added(wire) == message
        assert not report.entries
    with pytest.raises(ReadError) as error:
        openai_ui.read_message_added({"msg": "Cancelled"})
    assert error.value.path == "$.msg"


@pytest.mark.requirement("S004-5", "S004-17")
def test_a_finished_answer_is_one_string_with_its_calls() -> None:
    usage = Usage(6, 5, 4)
    message = Message.assistant(["a", "b", CALL], MessageMetadata(usage=usage))
    wire, report = openai_ui.write_request_completed(message)
    assert wire == {
        "msg": "RequestCompleted",
        "usage": [openai_ui.usage_to_openai(usage)],
        "message": {"role": "assistant", "content": "ab", "tool_calls": [CALL_WIRE]},
    }
    assert [(loss.kind, loss.path) for loss in report.entries] == [("approximated", "$.content")]
    back = openai_ui.read_request_completed(wire)
    assert back.content == (TextBlock("ab"), CALL)
    assert back.metadata.usage == usage


@pytest.mark.requirement("S004-5", "S004-17")
def test_a_finished_answer_always_has_calls_and_may_have_no_usage() -> None:
    wire = openai_ui.write_request_completed(Message.assistant("")).wire
    assert wire["message"] == {"role": "assistant", "content": "", "tool_calls": []}
    assert wire["usage"] is None
    assert openai_ui.read_request_completed(wire) == Message.assistant("")


@pytest.mark.requirement("S004-17")
@pytest.mark.parametrize("usage", [{}, [], [{}, {}], 3])
def test_usage_is_null_or_a_list_of_one(usage: Any) -> None:
    wire = {"msg": "RequestCompleted", "usage": usage, "message": {"role": "assistant"}}
    with pytest.raises(ReadError) as error:
        openai_ui.read_request_completed(wire)
    assert error.value.path == "$.usage"


def test_only_an_assistant_finishes_an_answer() -> None:
    with pytest.raises(WriteError):
        openai_ui.write_request_completed(Message.user("hi"))


def test_queued_messages_have_their_ids() -> None:
    queue = [("1", Message.user("a")), ("2", Message.user("b"))]
    wire, report = openai_ui.write_queue(queue)
    assert wire == [
        {"id": "1", "message": {"role": "user", "content": "a"}},
        {"id": "2", "message": {"role": "user", "content": "b"}},
    ]
    assert openai_ui.read_queue(wire) == queue
    assert not report.entries
    with pytest.raises(ReadError) as error:
        openai_ui.read_queue([{"id": "1", "message": {"role": "user", "tool_call_id": "c"}}])
    assert error.value.path == "$[0].message.tool_call_id"


# What is lost


def test_everything_but_text_and_calls_is_lost() -> None:
    image = ImageBlock(Source("base64", "AAAA"), "image/png")
    history = [
        Message.developer("a"),
        Message.user(["b", image]),
        Message.assistant([ThinkingBlock("hm"), CALL, "c", RefusalBlock("no")]),
        Message.tool_result("call_1", ["x", image], is_error=True),
    ]
    report = openai_ui.write(history).report
    assert [(loss.kind, loss.path) for loss in report.entries] == [
        ("approximated", "$[0].role"),
        ("dropped", "$[1].content[1]"),
        ("dropped", "$[2].content[0]"),
        ("downgraded", "$[2].content[3]"),
        ("moved", "$[2].content"),
        ("dropped", "$[3].content[0].is_error"),
        ("dropped", "$[3].content[0].content[1]"),
    ]


def test_calls_of_anyone_but_the_assistant_have_no_place() -> None:
    report = openai_ui.write([Message.user(["x", CALL])]).report
    assert [(loss.kind, loss.path) for loss in report.entries] == [("dropped", "$[0].content[1]")]


def test_odd_tool_messages_are_reported() -> None:
    two = Message(Role.TOOL, (ToolResultBlock("a"), ToolResultBlock("b")))
    wire, report = openai_ui.write([two, Message(Role.TOOL, ())])
    assert [message["tool_call_id"] for message in wire] == ["a", "b"]
    assert [loss.path for loss in report.entries] == ["$[0].content", "$[1]"]
    assert openai_ui.message_to_param(Message(Role.TOOL, ())).wire is None


@pytest.mark.requirement("S004-12")
def test_the_message_of_an_answer_can_be_read_alone() -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    alone = {"role": "assistant", "content": "Hm.", "refusal": "No.", "tool_calls": [call]}
    message = openai_ui.message_from_response(alone)
    whole = openai_ui.message_from_response(
        {"choices": [{"message": alone, "finish_reason": "tool_calls"}]}
    )
    assert message.content == whole.content
    assert [block.type for block in message.content] == ["text", "tool_use", "refusal"]
    assert message.metadata.stop_reason is None


@pytest.mark.requirement("S004-14")
def test_a_tool_message_made_here_has_a_string() -> None:
    made = openai_ui.tool_message("out", "call_1")
    wire = openai_ui.message_to_param(made).wire
    assert wire == {"role": "tool", "content": "out", "tool_call_id": "call_1"}
    listed = {**wire, "content": [{"type": "text", "text": "out"}]}
    for each in (wire, listed):
        assert openai_ui.message_to_param(openai_ui.message_from_param(each)).wire == each
