"""Calls of functions and custom tools, their arguments, and what came of them."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il
from interlingua.adapt.history.retell import retell
from interlingua.dialects.kernel.words import ERROR_MARK, PLACEHOLDER
from interlingua.dialects.openai_responses import DIALECT
from interlingua.model.blocks import (
    AudioBlock,
    Cache,
    ImageBlock,
    Source,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.message import Message, Role
from tests.dialects.openai_responses.item_wires import only
from tests.dialects.openai_responses.wires import (
    CALL,
    CALLS,
    OUTPUTS,
    RESULT,
    body,
    read,
    text,
    user,
    write,
)

IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "auto"}


def call(arguments: Any) -> ToolUseBlock:
    block = read(body({**CALL, "arguments": arguments})).messages[0].content[0]
    assert isinstance(block, ToolUseBlock)
    return block


def result(output: Any) -> ToolResultBlock:
    block = read(body(CALL, {**RESULT, "output": output})).messages[1].content[0]
    assert isinstance(block, ToolResultBlock)
    return block


@pytest.mark.parametrize("spelled", ['{"a":1}', '{"a": 1}', ' {"a":1.0} '])
def test_arguments_are_an_object_and_keep_their_spelling(spelled: str) -> None:
    assert call(spelled).input == {"a": 1}


def test_edited_input_wins_over_the_spelling() -> None:
    request = read(body({**CALL, "arguments": '{"a": 1}'}))
    message = request.messages[0]
    block: Any = message.content[0]
    edited = message.replace(content=(block.replace(input={"a": 2}),))
    wire = DIALECT.write_request(request.replace(messages=(edited,))).wire
    assert wire["input"] == [{**CALL, "arguments": '{"a":2}'}]


@pytest.mark.parametrize("broken", ['{"a": "C:\\dir"}', '{"a": 1', "none", ""])
def test_broken_arguments_go_home_and_leave_a_word(broken: str) -> None:
    request = read(body({**CALL, "arguments": broken}))
    noted = request.messages[0].metadata.diagnostics
    assert [each.type for each in noted] == ["tool_arguments_recovered"] * (broken != "")


@pytest.mark.parametrize("odd", [{"a": 1}, None])
def test_arguments_that_are_no_text_go_home(odd: Any) -> None:
    assert call(odd).input == (odd or {})


def test_a_custom_call_has_free_text() -> None:
    item = {"type": "custom_tool_call", "call_id": "c", "name": "sh", "input": "ls -l"}
    output = {"type": "custom_tool_call_output", "call_id": "c", "output": "a"}
    request = read(body(item, output))
    assert request.messages[0].content[0] == ToolUseBlock(
        "c", "sh", {"input": "ls -l"}, call_type="custom"
    )


def test_a_custom_call_from_elsewhere_is_answered_in_kind() -> None:
    block = ToolUseBlock("c", "sh", {"input": "ls"}, call_type="custom")
    wire, losses = write(Message.assistant([block]), Message.tool_result("c", "a"))
    assert [item["type"] for item in wire["input"]] == [
        "custom_tool_call",
        "custom_tool_call_output",
    ]
    assert losses == []


def test_a_custom_call_with_other_input_is_approximated() -> None:
    block = ToolUseBlock("c", "sh", {"cmd": "ls"}, call_type="custom")
    wire, losses = write(Message.assistant([block]))
    assert wire["input"][0]["input"] == '{"cmd":"ls"}'
    assert losses == [("approximated", "$.messages[0].content[0].input")]


def test_what_a_call_cannot_carry_is_reported() -> None:
    block = ToolUseBlock("c", "f", {}, signature="sig", call_type="odd", cache=Cache())
    _, losses = write(Message.assistant([block]))
    paths = {path.rpartition(".")[2] for _, path in losses}
    assert paths == {"signature", "call_type", "cache"}


@pytest.mark.parametrize(
    ("output", "content"),
    [
        ("2", (TextBlock("2"),)),
        ("", ()),
        ([], ()),
        (None, ()),
        ([text("2")], (TextBlock("2"),)),
        ([text("")], (TextBlock(""),)),
        (
            [text("a"), IMAGE],
            (TextBlock("a"), ImageBlock(Source("base64", "AAAA"), "image/png", detail="auto")),
        ),
    ],
)
def test_a_result_is_text_or_parts(output: Any, content: Any) -> None:
    assert result(output).content == content


@pytest.mark.requirement("P34")
def test_images_and_documents_stay_inside_their_result() -> None:
    image = ImageBlock(Source("base64", "AAAA"), "image/png")
    request = [
        Message.assistant([ToolUseBlock("call_1", "add", {"a": 1})]),
        Message.tool_result("call_1", ["Look:", image]),
    ]
    outcome = retell(request, DIALECT)
    wire, losses = write(*outcome.value)
    assert wire["input"][1]["output"] == [text("Look:"), IMAGE]
    assert (losses, len(outcome.report.entries)) == ([], 0)


@pytest.mark.requirement("P33")
@pytest.mark.parametrize(
    "content", [("no",), (), (ImageBlock(Source("url", "u")),), (TextBlock(""),)]
)
def test_a_failed_result_says_so_in_its_text_and_reads_as_failed(content: Any) -> None:
    wire, losses = write(Message.tool_result("call_1", content, is_error=True))
    assert ERROR_MARK in str(wire)
    assert ("downgraded", "$.messages[0].content[0].is_error") in losses
    block = read(wire).messages[0].content[0]
    assert isinstance(block, ToolResultBlock)
    assert block.is_error
    assert len(block.content) == len(content)


@pytest.mark.requirement("P33")
def test_a_result_that_only_looks_failed_is_reported() -> None:
    _, losses = write(Message.tool_result("call_1", ERROR_MARK + "in a log"))
    assert losses == [("approximated", "$.messages[0].content[0].is_error")]


def test_an_edit_of_the_flag_takes_the_mark_away() -> None:
    request = read(body(CALL, {**RESULT, "output": ERROR_MARK + "no"}))
    block: Any = request.messages[1].content[0]
    fine = Message.of_result(block.replace(is_error=False))
    wire = DIALECT.write_request(request.replace(messages=(request.messages[0], fine))).wire
    assert wire["input"][1] == {**RESULT, "output": "no"}


@pytest.mark.requirement("P38")
def test_a_breakpoint_after_the_last_part_is_the_results() -> None:
    marked = {**text("2"), "prompt_cache_breakpoint": {"mode": "explicit"}}
    assert result([marked]).cache == Cache()
    inner = TextBlock("2", cache=Cache())
    wire, losses = write(Message.tool_result("call_1", [inner]))
    assert wire["input"][0]["output"] == [text("2")]
    assert losses == [("dropped", "$.messages[0].content[0].content[0].cache")]


def test_a_result_of_which_nothing_is_left_is_a_placeholder() -> None:
    sound = AudioBlock(Source("base64", "AAAA"), "audio/wav")
    wire, losses = write(Message.tool_result("call_1", [sound]))
    assert wire["input"][0]["output"] == PLACEHOLDER
    assert ("dropped", "$.messages[0].content[0].content[0]") in losses


def test_the_name_of_a_tool_goes_with_its_result_where_the_call_does_not_say_it() -> None:
    called = Message.assistant([ToolUseBlock("call_1", "add", {"a": 1})])
    result = Message.tool_result("call_1", "2", tool_name="add")
    assert write(called, result) == ({"input": [CALL, RESULT]}, [])
    wire, losses = write(result)
    assert (wire["input"], losses) == ([{**RESULT, "name": "add"}], [])
    assert read(wire).messages == (result,)
    read(body(CALL, {**RESULT, "name": "add"}))


@pytest.mark.requirement("P13", "P15")
def test_ids_are_made_legal_for_call_and_result_alike() -> None:
    odd = "functions.add:0|" + "x" * 80
    history = [
        Message.user("Hi"),
        Message.assistant([ToolUseBlock(odd, "add", {})]),
        Message.tool_result(odd, "2"),
    ]
    items = DIALECT.write_request(retell(_request(history), DIALECT).value).wire["input"]
    assert items[0] == user()
    assert items[1]["call_id"] == items[2]["call_id"]
    assert DIALECT.traits.ids.legal(items[1]["call_id"])


def _request(history: list[Message]) -> Any:
    from interlingua.model.exchange import Request

    return Request(tuple(history))


@pytest.mark.parametrize(
    "item",
    [
        {"type": "shell_call_output", "call_id": "c", "output": [{"stdout": "x"}]},
        {"type": "apply_patch_call_output", "call_id": "c", "status": "in_progress", "output": ""},
        {"type": "mcp_approval_response", "approval_request_id": "c", "approve": 1, "reason": ""},
        {"type": "local_shell_call_output", "id": "c", "output": "[tool error] no", "status": None},
        {"type": "web_search_call", "id": "c", "action": {}, "": 1},
        {"type": "mcp_list_tools", "id": "c", "server_label": "s", "tools": None, "error": "no"},
    ],
    ids=lambda item: item["type"],
)
def test_an_item_of_the_vendors_tools_goes_home_however_odd(item: Any) -> None:
    wire = body(user(), item)
    written = DIALECT.write_request(read(wire))
    assert written.wire == wire
    assert list(written.report.entries) == []


@pytest.mark.requirement("P40")
def test_a_hosted_call_and_its_result_are_two_blocks_of_one_turn() -> None:
    item = only(CALLS, "file_search_call")
    call, result = read(body(item)).messages[0].content
    assert isinstance(call, ToolUseBlock)
    assert isinstance(result, ToolResultBlock)
    assert (call.executor, call.name, call.call_type) == ("provider", "file_search", item["type"])
    assert call.input == {"queries": ["rain"]}
    assert (result.tool_use_id, result.content[0]) == ("fs_1", TextBlock("It rains."))


@pytest.mark.requirement("P40")
def test_hosted_calls_without_a_call_of_ours_are_reported() -> None:
    call = ToolUseBlock("srv_1", "web_search", {"query": "x"}, executor="provider")
    result = ToolResultBlock("srv_1", (TextBlock("found"),))
    wire, losses = write(Message.assistant([call, result, TextBlock("Here.")]))
    assert wire["input"] == [{"role": "assistant", "content": "Here."}]
    assert [path for _, path in losses] == [f"$.messages[0].content[{n}]" for n in (0, 1)]


def test_a_failed_mcp_call_is_a_failed_result() -> None:
    item = [item for item in CALLS if item["type"] == "mcp_call"][1]
    call, result = read(body(item)).messages[0].content
    assert isinstance(call, ToolUseBlock)
    assert isinstance(result, ToolResultBlock)
    assert (call.name, call.input, result.is_error) == ("ask", {}, True)


def test_a_generated_image_is_an_image() -> None:
    block = read(body(only(CALLS, "image_generation_call"))).messages[0].content[0]
    assert isinstance(block, ImageBlock)
    assert (block.source, block.media_type) == (Source("base64", "AAAA"), "image/webp")


def test_an_image_made_elsewhere_is_a_generated_image() -> None:
    wire, losses = write(Message.assistant([ImageBlock(Source("base64", "AAAA"), "image/png")]))
    item = wire["input"][0]
    assert (item["type"], item["result"], item["output_format"]) == (
        "image_generation_call",
        "AAAA",
        "png",
    )
    assert losses == []


def test_an_approval_is_a_result_and_a_refusal_of_it_a_failed_one() -> None:
    asked, answered = only(CALLS, "mcp_approval_request"), only(OUTPUTS, "mcp_approval_response")
    request = read(body(asked, answered))
    assert [message.role for message in request.messages] == [Role.ASSISTANT, Role.TOOL]
    result = request.messages[1].content[0]
    assert isinstance(result, ToolResultBlock)
    assert (result.is_error, result.content) == (True, (TextBlock("not now"),))


def test_a_shell_in_a_container_is_the_providers() -> None:
    shell, output = only(CALLS, "shell_call"), only(OUTPUTS, "shell_call_output")
    local = read(body(shell, output))
    hosted = read(body({**shell, "environment": {"type": "container_reference"}}, output))
    assert [len(request.messages) for request in (local, hosted)] == [2, 1]


def test_programs_keep_what_must_be_echoed_as_their_signature() -> None:
    block = read(body(only(CALLS, "program"), only(OUTPUTS, "program_output"))).messages[0]
    call, result = block.content
    assert isinstance(call, ToolUseBlock)
    assert isinstance(result, ToolResultBlock)
    assert (call.signature, result.tool_use_id) == ("opaque", call.id)


def test_the_code_that_made_a_call_is_known_and_its_issuers_alone() -> None:
    by = {"type": "program", "caller_id": "call_p"}
    wire = body(user("hi"), {**CALL, "caller": by}, RESULT)
    called: Any = read(wire).messages[1].content[0]
    assert called.caller == "call_p"
    plain: Any = read(body({**CALL, "caller": {"type": "direct"}})).messages[0].content[0]
    assert plain.caller is None
    written = il.convert(wire, "openai-responses", "anthropic")
    assert "caller" not in str(written.wire)
    noted = [(each.code, each.severity) for each in written.report.notes]
    assert ("program_left_out", "info") in noted
