"""Items to messages and back."""

from __future__ import annotations

from typing import Any

import pytest
import typing_extensions as te

from interlingua.dialects.kernel.words import SUMMARY
from interlingua.dialects.openai_responses import DIALECT
from interlingua.model.blocks import (
    CompactionBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.exchange import Response
from interlingua.model.message import Message, Role, walk
from interlingua.model.rules import validate
from tests.dialects.openai_responses.item_wires import only
from tests.dialects.openai_responses.wires import (
    ASIDES,
    CALL,
    CALLS,
    OTHERS,
    OUTPUTS,
    RESULT,
    SECRET,
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


def test_parts_of_one_message_and_two_messages_are_distinguished() -> None:
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


def test_an_item_of_the_future_is_unknown_and_keeps_its_place() -> None:
    item = {"type": "hologram", "id": "h_1", "light": [1, 2]}
    request = read(body(user(), SECRET, item, CALL, RESULT))
    assert UnknownBlock({"openai-responses": item}) in request.messages[1].content
    assert read_whole(whole(item)).message.content == (UnknownBlock({"openai-responses": item}),)
