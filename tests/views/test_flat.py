"""The flat view: reasoning, refusal and calls beside the content, signatures in `extra`."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.errors import LossError, ReadError
from interlingua.model.base import same
from interlingua.model.blocks import (
    AudioBlock,
    DocumentBlock,
    ImageBlock,
    RefusalBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    VideoBlock,
)
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata
from interlingua.views import flat, view
from interlingua.views.flat import PARTS
from tests.laws.strategies import conversations
from tests.views.comparing import Comparison, few
from tests.views.wires import (
    Wire,
    argument_texts,
    base64_texts,
    json_values,
    objects,
    some,
    texts,
    urls,
    words,
)

RANKS = {"thinking": 0, "redacted_thinking": 0, "refusal": 2, "tool_use": 3}


def one(wire: Any) -> Message:
    [message] = flat.read([wire])
    return message


def written(*messages: Message) -> list[Wire]:
    result: list[Wire] = flat.write(messages).wire
    return result


def comes_home(wire: Any) -> bool:
    return same(flat.write(flat.read(wire)).wire, wire)


# The laws


@few
@given(
    st.tuples(st.booleans(), st.booleans()).flatmap(lambda how: conversations(*how, failures=True))
)
def test_what_reading_back_misses_is_what_the_report_lists(messages: tuple[Message, ...]) -> None:
    wire, report = flat.write(messages)
    comparison = Comparison("flat", report, lambda block_type: RANKS.get(block_type, 1))
    comparison.check(messages, flat.read(wire))


def parts() -> st.SearchStrategy[Wire]:
    media = {
        "format": st.sampled_from(("png", "jpg", "image/png", "pdf", "wav", "x/y")),
        "name": words(),
        "url": urls(),
        "data": base64_texts(),
        "file_id": words(),
    }
    kinds = {"type": st.sampled_from(("image", "audio", "file"))}
    return objects({"type": st.just("text"), "text": texts()}, {}) | objects(kinds, media)


def text_content() -> st.SearchStrategy[Any]:
    return texts() | some(objects({"type": st.just("text"), "text": texts()}, {}))


def extras() -> st.SearchStrategy[Wire]:
    thinking = objects({"type": st.just("thinking"), "thinking": texts()}, {"signature": words()})
    redacted = objects({"type": st.just("redacted_thinking"), "data": texts()}, {})
    own = objects(
        {}, {"thinking_blocks": some(thinking | redacted), "thought_signatures": some(words())}
    )
    keys = st.sampled_from(("claude", "gemini", "openai"))
    return st.dictionaries(keys, own | json_values(2), max_size=2)


def flat_messages() -> st.SearchStrategy[Wire]:
    call = objects(
        {"name": words(), "arguments": argument_texts()}, dict.fromkeys(("id", "call_id"), words())
    )
    dialect = objects(
        {
            "role": st.sampled_from(("system", "developer", "user", "assistant")),
            "content": texts() | some(parts()),
        },
        {
            "reasoning": text_content(),
            "refusal": text_content(),
            "tool_calls": some(call),
            "id": words(),
            "name": words(),
            "extra": extras(),
        },
    )
    answer = objects(
        {"role": st.just("tool"), "content": texts() | some(parts())},
        {"call_id": words(), "id": words(), "name": words()},
    )
    return dialect | answer


@given(some(flat_messages(), 3))
def test_flat_messages_come_home_unchanged(wire: list[Wire]) -> None:
    before = deepcopy(wire)
    messages = flat.read(wire)
    home, report = flat.write(messages)
    assert same(home, before)
    assert same(wire, before)
    assert not report.entries


def test_thinking_beside_its_own_text_comes_home_unchanged() -> None:
    thinking = [
        {"type": "thinking", "thinking": "first", "signature": "s1"},
        {"type": "redacted_thinking", "data": "opaque"},
        {"type": "thinking", "thinking": "second"},
    ]
    extra = {"claude": {"thinking_blocks": thinking}}
    texts = [{"type": "text", "text": "first"}, {"type": "text", "text": "second"}]
    for reasoning in (
        {"reasoning": "first\nsecond"},
        {"reasoning": texts},
        {"reasoning": None},
        {},
    ):
        wire = {"role": "assistant", "content": "hi", **reasoning, "extra": extra}
        assert len(one(wire).content) == 4
        assert comes_home([wire])


# The shape


@pytest.mark.requirement("S000-1", "S000-2")
def test_one_message_type_for_every_role() -> None:
    roles = ("system", "developer", "user", "assistant", "tool")
    messages = flat.read([{"role": role, "content": "x", "call_id": "c"} for role in roles])
    assert {type(message) for message in messages} == {Message}
    assert [message.role.value for message in messages] == list(roles)


@pytest.mark.requirement("S000-2")
@pytest.mark.parametrize("role", [None, 3, "narrator", ""])
def test_role_is_required_and_known(role: Any) -> None:
    with pytest.raises(ReadError) as error:
        flat.read([{"role": "user", "content": ""}, {"role": role, "content": "x"}])
    assert error.value.path == "$[1].role"


@pytest.mark.requirement("S000-3")
def test_content_is_a_string_or_parts_in_order() -> None:
    assert one({"role": "user", "content": "hi"}).content == (TextBlock("hi"),)
    listed = [{"type": "text", "text": "a"}, {"type": "image", "url": "https://e.com/i"}]
    content = one({"role": "user", "content": listed}).content
    assert [type(block) for block in content] == [TextBlock, ImageBlock]
    assert written(Message.user("hi"))[0]["content"] == "hi"
    assert written(Message.user(["a", "b"]))[0]["content"] == [
        {"type": "text", "text": "a"},
        {"type": "text", "text": "b"},
    ]


@pytest.mark.requirement("S000-3")
def test_empty_content_is_no_block_and_an_empty_part_is_one() -> None:
    assert one({"role": "user", "content": ""}).content == ()
    assert one({"role": "user", "content": [{"type": "text", "text": ""}]}).content == (
        TextBlock(""),
    )
    assert written(Message.user(()))[0] == {"role": "user", "content": ""}
    assert written(Message.user([""]))[0]["content"] == [{"type": "text", "text": ""}]


@pytest.mark.requirement("S000-4")
def test_reasoning_is_thinking_one_block_a_part() -> None:
    assert one({"role": "assistant", "content": "", "reasoning": "hm"}).reasoning == "hm"
    message = Message.assistant([ThinkingBlock("a"), ThinkingBlock("b"), TextBlock("c")])
    [wire] = written(message)
    assert wire["reasoning"] == [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert one(wire) == message


@pytest.mark.requirement("S000-5")
def test_refusal_stands_beside_the_content() -> None:
    message = Message.assistant([RefusalBlock("I cannot do that.")])
    [wire] = written(message)
    assert wire == {"role": "assistant", "content": "", "refusal": "I cannot do that."}
    assert one(wire) == message


@pytest.mark.requirement("S000-6", "S000-13")
def test_calls_are_a_side_list_with_json_text() -> None:
    call = ToolUseBlock("call_1", "add", {"a": 1})
    [wire] = written(Message.assistant(["Adding.", call]))
    assert wire["tool_calls"] == [{"id": "call_1", "name": "add", "arguments": '{"a":1}'}]
    assert one(wire).content == (TextBlock("Adding."), call)


@pytest.mark.requirement("S000-13")
def test_argument_text_is_kept_and_damage_is_noted() -> None:
    calls = [
        {"id": "1", "name": "f", "arguments": '{ "a": 1 }'},
        {"id": "2", "name": "f", "arguments": '{"a": "cut'},
    ]
    wire = {"role": "assistant", "content": "", "tool_calls": calls}
    message = one(wire)
    first, second = message.tool_calls
    assert (first.input, first.raw_arguments) == ({"a": 1}, '{ "a": 1 }')
    assert (second.input, second.raw_arguments) == ({"a": "cut"}, '{"a": "cut')
    [diagnostic] = message.metadata.diagnostics
    assert diagnostic.type == "tool_arguments_recovered"
    assert diagnostic.details == {"mode": "closed", "call_id": "2"}
    home, report = flat.write([message])
    assert home == [wire]
    assert not report.entries


@pytest.mark.requirement("S000-13")
@pytest.mark.parametrize(
    "call", [{"arguments": "{}"}, {"name": "f"}, {"name": "f", "arguments": {}}]
)
def test_a_call_needs_a_name_and_text(call: Wire) -> None:
    with pytest.raises(ReadError) as error:
        flat.read([{"role": "assistant", "content": "", "tool_calls": [call]}])
    assert error.value.path.startswith("$[0].tool_calls[0].")


@pytest.mark.requirement("S000-7", "S000-9")
def test_id_and_name_are_optional() -> None:
    message = one({"role": "user", "content": "x", "id": "m1", "name": "ada"})
    assert (message.id, message.name) == ("m1", "ada")
    assert written(message) == [{"role": "user", "content": "x", "id": "m1", "name": "ada"}]
    assert written(Message.user("x")) == [{"role": "user", "content": "x"}]


@pytest.mark.requirement("S000-8")
def test_call_id_names_the_answered_call() -> None:
    [wire] = written(Message.tool_result("call_1", "42", tool_name="add"))
    assert wire == {"role": "tool", "name": "add", "call_id": "call_1", "content": "42"}
    assert one(wire) == Message.tool_result("call_1", "42", tool_name="add")


@pytest.mark.requirement("S000-8")
def test_an_answer_without_ids_belongs_to_the_first_open_call_of_its_name() -> None:
    calls = [{"name": "f", "arguments": "{}"}, {"name": "g", "arguments": "{}"}]
    wire = [
        {"role": "assistant", "content": "", "tool_calls": calls},
        {"role": "tool", "content": "g's", "name": "g"},
        {"role": "tool", "content": "f's"},
    ]
    asked, *answers = flat.read(wire)
    ids = {call.name: call.id for call in asked.tool_calls}
    assert [answer.metadata.parent_tool_use_id for answer in answers] == [ids["g"], ids["f"]]
    assert comes_home(wire)


@pytest.mark.requirement("S000-8", "S000-15")
def test_where_call_id_is_missing_id_is_the_call() -> None:
    wire = {"role": "tool", "content": "42", "id": "call_1"}
    [block] = one(wire).content
    assert isinstance(block, ToolResultBlock)
    assert (block.tool_use_id, one(wire).id) == ("call_1", None)
    assert comes_home([wire])
    for answer in (wire, {"role": "tool", "content": "42", "id": "m1", "call_id": "call_1"}):
        [param] = view("openai-ui").write(flat.read([answer])).wire
        assert param["tool_call_id"] == "call_1"


@pytest.mark.requirement("S000-11")
def test_there_are_four_kinds_of_part() -> None:
    kinds = {"text": TextBlock, "image": ImageBlock, "audio": AudioBlock, "file": DocumentBlock}
    assert set(PARTS) == set(kinds)
    for kind, cls in kinds.items():
        part = {"type": kind, "text": "x"} if kind == "text" else {"type": kind, "data": "AAAA"}
        assert type(one({"role": "user", "content": [part]}).content[0]) is cls
    with pytest.raises(ReadError) as error:
        one({"role": "user", "content": [{"type": "text", "text": ""}, {"type": "video"}]})
    assert error.value.path == "$[0].content[1].type"


# What goes into `extra`


def signed(*blocks: Any, protocol: str | None = None) -> Message:
    return Message.assistant(blocks, MessageMetadata(protocol=protocol))


# What is lost


def test_the_order_among_the_four_places_is_a_note() -> None:
    call = ToolUseBlock("c", "f", {})
    wire, report = flat.write([Message.assistant([call, "after"])])
    [loss] = report.notes
    assert (loss.kind, loss.path) == ("moved", "$[0].content")
    assert one(wire[0]).content == (TextBlock("after"), call)


def test_what_has_no_place_is_reported_where_it_was() -> None:
    video = VideoBlock(Source("url", "https://e.com/v"))
    result = Message.tool_result("c", "no", is_error=True)
    report = flat.write([Message.user(["look", video]), result]).report
    assert [(loss.path, loss.severity) for loss in report.entries] == [
        ("$[0].content[1]", "error"),
        ("$[1].content[0].is_error", "warning"),
    ]


def test_each_dropped_block_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    video = VideoBlock(Source("url", "https://e.com/v"))
    flat.write([Message(Role.USER, (video,), id="m", session_id="s")])
    [entry] = caplog.records
    assert entry.__dict__["message_id"] == "m"
    assert entry.__dict__["session_id"] == "s"
    assert entry.__dict__["block_type"] == "video"


@pytest.mark.parametrize("critical", [True, (1,)])
def test_a_critical_block_fails_the_write(critical: Any) -> None:
    video = VideoBlock(Source("url", "https://e.com/v"))
    metadata = MessageMetadata(critical=critical)
    with pytest.raises(LossError) as error:
        flat.write([Message(Role.USER, (TextBlock("x"), video), metadata=metadata)])
    assert error.value.path == "$[0].content[1]"


def test_odd_tool_messages_are_reported() -> None:
    two = Message(Role.TOOL, (ToolResultBlock("a"), ToolResultBlock("b")))
    wire, report = flat.write([two, Message(Role.TOOL, ())])
    assert [message["call_id"] for message in wire] == ["a", "b"]
    assert [loss.path for loss in report.entries] == ["$[0].content", "$[1]"]


@pytest.mark.parametrize(
    ("wire", "path"),
    [
        (3, "$"),
        ([3], "$[0]"),
        ([{"role": "user", "content": 3}], "$[0].content"),
        ([{"role": "user", "content": [None]}], "$[0].content[0]"),
        ([{"role": "user", "content": [{"type": "text"}]}], "$[0].content[0].text"),
        ([{"role": "user", "content": "", "extra": []}], "$[0].extra"),
        ([{"role": "user", "content": "", "id": 3}], "$[0].id"),
        ([{"role": "user", "content": "", "$form": {}}], "$[0].$form"),
    ],
)
def test_errors_name_the_place(wire: Any, path: str) -> None:
    with pytest.raises(ReadError) as error:
        flat.read(wire)
    assert error.value.path == path
