"""Every kind of item that the API knows: none is unknown, each goes home, and edits win."""

from __future__ import annotations

from typing import Any

import pytest
import typing_extensions as te

from interlingua.dialects.kernel.words import SUMMARY
from interlingua.dialects.openai_responses import DIALECT
from interlingua.model.blocks import (
    CompactionBlock,
    ImageBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.exchange import Request, Response
from interlingua.model.message import Changes, Message, ResponseFormat, Role, walk
from interlingua.model.rules import validate
from interlingua.model.tools import ToolDefinition
from tests.dialects.openai_responses.wires import (
    ASIDES,
    CALL,
    CALLS,
    OTHERS,
    OUTPUTS,
    RESULT,
    SECRET,
    TOOL,
    Wire,
    answer,
    body,
    read,
    read_whole,
    said,
    user,
    whole,
    write,
)
from tests.laws import laws


def name(item: Wire) -> str:
    return str(item.get("type"))


def only(items: list[Wire], kind: str) -> Wire:
    return next(item for item in items if item.get("type") == kind)


MADE = [*CALLS, *OUTPUTS, *OTHERS]


@pytest.mark.parametrize("item", [*MADE, *ASIDES], ids=name)
def test_an_item_of_a_request_is_known_and_goes_home(item: Wire) -> None:
    request = read(body(user(), item, user("Go on")))
    assert not [block for _, _, block in walk(request.messages) if type(block) is UnknownBlock]
    read(body(item))
    read(body(item, item))


@pytest.mark.parametrize("item", MADE, ids=name)
def test_an_item_of_a_response_is_known_and_goes_home(item: Wire) -> None:
    response = read_whole(whole(item, answer(said("Done"))))
    blocks = walk([response.message])
    assert not [block for _, _, block in blocks if type(block) is UnknownBlock]


@pytest.mark.parametrize("item", MADE, ids=name)
def test_an_edit_changes_the_item_there_or_is_reported(item: Wire) -> None:
    for value in (read(body(user(), item)), read_whole(whole(item))):
        for _, path, changed in laws.edits(value):
            assert laws.edited(DIALECT, value, path, changed) == []


def test_all_of_them_together_go_home() -> None:
    request = read(body(user(), *MADE, *ASIDES, *MADE, user("Go on")))
    assert not [block for _, _, block in walk(request.messages) if type(block) is UnknownBlock]


def test_no_kind_of_the_official_package_is_missing_here() -> None:
    from openai.types.responses import response_input_item_param, response_output_item

    def kinds(union: Any) -> set[str]:
        is_wrapped = te.get_origin(union) is te.Annotated
        words: set[str] = set()
        for member in te.get_args(te.get_args(union)[0] if is_wrapped else union):
            fields = getattr(member, "model_fields", None)
            hint = fields["type"].annotation if fields else te.get_type_hints(member)["type"]
            words |= {word for word in te.get_args(hint) if isinstance(word, str)}
        return words

    known = kinds(response_output_item.ResponseOutputItem)
    known |= {"item_reference", *kinds(response_input_item_param.ResponseInputItemParam)}
    assert known - {item.get("type") for item in [*MADE, *ASIDES]} == set()


def test_a_run_of_the_models_items_is_one_message() -> None:
    request = read(body(user(), SECRET, answer(said("I add")), CALL, RESULT, SECRET, CALL))
    roles = [message.role for message in request.messages]
    assert roles == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT]
    kinds = [type(block) for block in request.messages[1].content]
    assert kinds == [ThinkingBlock, TextBlock, ToolUseBlock]


def test_parts_of_one_message_and_two_messages_are_told_apart() -> None:
    one = read(body(answer(said("a"), said("b"))))
    two = read(body(answer(said("a")), answer(said("b"), id="msg_2")))
    mixed = read(body(answer(said("a")), {"role": "assistant", "content": "b"}))
    assert [b.text for b in one.messages[0].content if type(b) is TextBlock] == ["a", "b"]
    assert one.messages[0] == two.messages[0] == mixed.messages[0]


@pytest.mark.parametrize(
    "empty",
    [
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": []},
        answer(),
        answer(phase="commentary"),
    ],
)
def test_a_message_without_content_keeps_its_place(empty: Wire) -> None:
    read(body(user(), empty, user()))
    read(body(user(), SECRET, empty, CALL, empty))
    read_whole(whole(SECRET, empty, CALL))


@pytest.mark.requirement("P18")
def test_the_id_of_a_call_is_not_the_id_of_its_item() -> None:
    call = {**CALL, "id": "fc_1", "status": "completed"}
    block = read(body(call, RESULT)).messages[0].content[0]
    assert isinstance(block, ToolUseBlock)
    assert block.id == "call_1"


@pytest.mark.requirement("P18")
def test_a_result_that_names_the_item_answers_its_call() -> None:
    call = {**CALL, "id": "fc_1"}
    request = read(body(call, {**RESULT, "call_id": "fc_1"}))
    assert request.messages[1].metadata.parent_tool_use_id == "call_1"


@pytest.mark.requirement("P19", "P20")
def test_calls_without_an_id_get_distinct_ones_that_are_not_sent() -> None:
    bare = {key: value for key, value in CALL.items() if key != "call_id"}
    output = {"type": "function_call_output", "name": "add", "output": "2"}
    request = read(body(bare, bare, output, output))
    ids = [block.id for block in request.messages[0].content if isinstance(block, ToolUseBlock)]
    assert len(set(ids)) == 2
    assert [m.metadata.parent_tool_use_id for m in request.messages[1:]] == ids


@pytest.mark.requirement("P21")
def test_results_of_parallel_calls_pair_by_id() -> None:
    other = {**CALL, "call_id": "call_2"}
    request = read(body(CALL, other, {**RESULT, "call_id": "call_2"}, RESULT))
    assert [m.metadata.parent_tool_use_id for m in request.messages[1:]] == ["call_2", "call_1"]


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


def test_compacted_history_is_for_its_issuer_alone() -> None:
    request = read(body(only(OTHERS, "compaction"), user()))
    assert request.messages[0].content == (CompactionBlock(data="b64=="),)
    assert validate(request) == []


def test_compacted_history_that_can_be_read_is_labelled_text() -> None:
    wire, losses = write(Message.assistant([CompactionBlock("So far.", "Eq", "c2ln")]))
    assert wire["input"] == [{"role": "assistant", "content": SUMMARY.format("So far.")}]
    assert losses == [("downgraded", "$.messages[0].content[0]")]


def test_sealed_history_in_an_answer_has_an_id() -> None:
    written = DIALECT.write_response(Response(Message.assistant(CompactionBlock(data="b64=="))))
    (item,) = written.wire["output"]
    assert (item["type"], item["encrypted_content"]) == ("compaction", "b64==")
    assert item["id"].startswith("cmp_")


def test_what_a_text_is_for_is_a_field() -> None:
    items = [
        answer(said("Let me see."), id="msg_1", phase="commentary"),
        answer(said("Pier 3."), said("At noon."), id="msg_2", phase="final_answer"),
        {"role": "assistant", "content": "Bye", "phase": "final_answer"},
    ]
    request = read(body(user(), *items))
    assert [block.phase for block in request.messages[1].content] == [  # type: ignore[union-attr]  # all text
        "commentary",
        "final_answer",
        "final_answer",
        "final_answer",
    ]
    first, *rest = request.messages[1].content
    changed = request.messages[1].replace(content=(first.replace(phase=None), *rest))
    edited = request.replace(messages=(request.messages[0], changed))
    (before, *others) = DIALECT.write_request(edited).wire["input"][1:]
    assert "phase" not in before
    assert others == items[1:]


def test_texts_for_different_ends_are_messages_of_their_own() -> None:
    content = [TextBlock("Hm", phase="commentary"), TextBlock("Yes", phase="final_answer")]
    wire, losses = write(Message.assistant(content))
    assert [(item["content"], item["phase"]) for item in wire["input"]] == [
        ("Hm", "commentary"),
        ("Yes", "final_answer"),
    ]
    assert losses == []
    written = DIALECT.write_response(Response(Message.assistant(content)))
    assert [item["phase"] for item in written.wire["output"]] == ["commentary", "final_answer"]


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


def test_references_are_history_that_the_provider_keeps() -> None:
    reference = {"type": "item_reference", "id": "rs_9"}
    request = read(body(user(), reference, CALL, {"id": "fc_9"}, RESULT))
    assert request.continues is not None
    assert request.continues.items == ("rs_9", "fc_9")
    fewer = request.replace(continues=request.continues.replace(items=("fc_9",)))
    assert DIALECT.write_request(fewer).wire["input"] == [user(), CALL, {"id": "fc_9"}, RESULT]


def test_references_without_a_place_come_first() -> None:
    from interlingua.model.exchange import Continues

    wire, losses = write(Message.user("Hi"), continues=Continues(items=("rs_1",)))
    assert wire["input"] == [{"type": "item_reference", "id": "rs_1"}, user()]
    assert losses == []


def test_tools_that_come_later_are_tools() -> None:
    later = {"type": "additional_tools", "role": "developer", "tools": [{**TOOL, "name": "late"}]}
    request = read(body(user(), later, user(), tools=[TOOL]))
    assert [tool.name for tool in request.tools] == ["add", "late"]
    assert request.messages[1] == Message(Role.SYSTEM, changes=Changes(("late",)))
    alone = request.replace(messages=())
    assert [tool["name"] for tool in DIALECT.write_request(alone).wire["tools"]] == ["add", "late"]


def test_tools_that_come_between_a_call_and_its_result_keep_their_place() -> None:
    later = {"type": "additional_tools", "role": "developer", "tools": [{**TOOL, "name": "late"}]}
    wire = body(user(), CALL, later, RESULT, later, user())
    request = read(wire)
    assert [message.role.value for message in request.messages] == [
        *("user", "assistant", "tool", "system", "user")
    ]
    assert request.messages[1].changes == request.messages[3].changes == Changes(("late",))
    assert DIALECT.write_request(request).wire == wire


def test_tools_that_others_add_later_are_brought_by_an_item() -> None:
    tools = (ToolDefinition("add"), ToolDefinition("late"))
    more = Message(Role.SYSTEM, (TextBlock("Now with more."),), changes=Changes(("late",)))
    request = Request((Message.user("Hi"), more), "m", tools)
    wire = DIALECT.write_request(request).wire
    assert [tool["name"] for tool in wire["tools"]] == ["add"]
    assert wire["input"][1] == {"role": "system", "content": "Now with more."}
    assert wire["input"][2]["type"] == "additional_tools"
    assert [tool["name"] for tool in wire["input"][2]["tools"]] == ["late"]


def test_a_change_that_was_taken_back_is_not_written() -> None:
    later = {"type": "additional_tools", "role": "developer", "tools": [{**TOOL, "name": "late"}]}
    update = {"type": "configuration_update", "id": "cu_1", "reasoning": {"effort": "low"}}
    request = read(body(user(), later, update))
    plain = tuple([each for each in request.messages if each.changes is None])
    edited = DIALECT.write_request(request.replace(messages=plain)).wire
    assert edited["input"] == [user()]
    assert [tool["name"] for tool in edited["tools"]] == ["late"]
    high = request.messages[2].replace(changes=Changes(effort="high"))
    wire = DIALECT.write_request(request.replace(messages=(*request.messages[:2], high))).wire
    assert wire["input"][2] == {**update, "reasoning": {"effort": "high"}}


def test_settings_in_mid_conversation_are_changes() -> None:
    form = {"type": "json_schema", "name": "out", "schema": {"type": "object"}, "strict": True}
    both = {
        "type": "configuration_update",
        "reasoning": {"effort": "low"},
        "text": {"format": form},
    }
    odd = {"type": "configuration_update", "reasoning": {"effort": "low", "pace": "slow"}}
    wire = body(user(), both, odd, user())
    request = read(wire)
    wanted = ResponseFormat("json_schema", "out", {"type": "object"}, True)
    changes = Changes(effort="low", response_format=wanted)
    assert request.messages[1] == Message(Role.SYSTEM, changes=changes)
    assert request.messages[2] == Message.user("Hi")
    raw = request.messages[1].metadata.provider_raw
    assert raw is not None
    assert "$asides" in raw["openai-responses"], "what has no field is a loss elsewhere"
    assert DIALECT.write_request(request).wire == wire


def test_changes_that_only_others_have_are_told() -> None:
    changes = Changes(tools_removed=("add",), clear_at="next_user_message")
    message = Message(Role.SYSTEM, (TextBlock("Now"),), changes=changes)
    _, losses = write(Message.user("Hi"), message)
    assert [path for _, path in losses] == [
        "$.messages[1].changes.tools_removed",
        "$.messages[1].changes.clear_at",
    ]


def test_an_item_of_the_future_is_unknown_and_keeps_its_place() -> None:
    item = {"type": "hologram", "id": "h_1", "light": [1, 2]}
    request = read(body(user(), SECRET, item, CALL, RESULT))
    assert UnknownBlock({"openai-responses": item}) in request.messages[1].content
    assert read_whole(whole(item)).message.content == (UnknownBlock({"openai-responses": item}),)
