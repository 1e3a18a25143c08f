"""Calls and results: ids, order, what a tool said, tools that Google runs."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.adapt.history.retell import retell
from interlingua.dialects.gemini import DIALECT
from interlingua.dialects.gemini.tables import SENTINEL
from interlingua.model.blocks import (
    DocumentBlock,
    ImageBlock,
    Source,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.exchange import Request
from interlingua.model.ids import is_synthetic_tool_id
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata
from tests.dialects.gemini.wires import (
    PNG,
    Wire,
    body,
    call,
    losses,
    model,
    read,
    result,
    text,
    user,
    write,
)

HI = user(text("Hi"))


def result_of(response: Any, **more: Any) -> ToolResultBlock:
    """The result that an answer reads as; it goes home unchanged."""
    last = read(body(HI, model(call()), user(result(response, **more)))).messages[-1]
    assert last.role is Role.TOOL
    [block] = last.content
    assert isinstance(block, ToolResultBlock)
    assert last.metadata.parent_tool_use_id == block.tool_use_id
    return block


def calls_of(request: Request) -> list[ToolUseBlock]:
    return [b for m in request.messages for b in m.content if isinstance(b, ToolUseBlock)]


def results_of(request: Request) -> list[ToolResultBlock]:
    return [b for m in request.messages for b in m.content if isinstance(b, ToolResultBlock)]


# -- ids ------------------------------------------------------------------------------------------


@pytest.mark.requirement("P19", "P20")
def test_calls_without_ids_get_distinct_stable_ones_that_are_not_written() -> None:
    wire = body(HI, model(call(), call()), user(result({"output": "a"}), result({"output": "b"})))
    request = read(wire)
    ids = [block.id for block in calls_of(request)]
    assert len(set(ids)) == 2
    assert all(map(is_synthetic_tool_id, ids))
    assert [block.tool_use_id for block in results_of(request)] == ids
    assert calls_of(read(wire))[0].id == ids[0]


@pytest.mark.requirement("P20", "P21")
def test_given_ids_are_kept_and_results_pair_by_them() -> None:
    answers = [result({"output": "b"}, id="c2"), result({"output": "a"}, id="c1")]
    request = read(body(HI, model(call(id="c1"), call(id="c2")), user(*answers)))
    assert [block.id for block in calls_of(request)] == ["c1", "c2"]
    assert [block.tool_use_id for block in results_of(request)] == ["c2", "c1"]


def test_a_result_without_an_id_answers_the_first_open_call_of_its_name() -> None:
    turn = model(call("add", id="c1"), call("weather", id="c2"), call("add", id="c3"))
    answers = [result({"output": n}, n) for n in ("weather", "add", "add")]
    request = read(body(HI, turn, user(*answers)))
    assert [block.tool_use_id for block in results_of(request)] == ["c2", "c1", "c3"]


def test_a_later_call_of_the_same_name_is_answered_before_an_abandoned_one() -> None:
    contents = [HI, model(call(id="c1")), HI, model(call(id="c2")), user(result({"output": "x"}))]
    assert [block.tool_use_id for block in results_of(read(body(*contents)))] == ["c2"]


@pytest.mark.requirement("P27")
def test_an_empty_id_is_repaired_and_its_result_kept() -> None:
    request = read(body(HI, model(call(id="")), user(result({"output": "x"}, id=""))))
    assert calls_of(request)[0].id == results_of(request)[0].tool_use_id != ""


def test_a_made_up_id_that_stood_on_the_wire_is_written_again() -> None:
    id = "il_0123456789abcdef"
    request = read(body(HI, model(call(id=id)), user(result({"output": "x"}, id=id))))
    assert calls_of(request)[0].id == id


# -- turns ----------------------------------------------------------------------------------------


@pytest.mark.requirement("S000-21", "P22")
def test_all_results_of_a_turn_share_one_content() -> None:
    wire, report = write(
        Message.user("Hi"),
        Message.assistant([ToolUseBlock("c1", "add", {}), ToolUseBlock("c2", "weather", {})]),
        Message.tool_result("c1", "3"),
        Message.tool_result("c2", "Rain"),
        Message.user("And?"),
    )
    parts = wire["contents"][2]["parts"]
    assert [list(part) for part in parts] == [["functionResponse"]] * 2 + [["text"]]
    assert [part["functionResponse"]["name"] for part in parts[:2]] == ["add", "weather"]
    assert len(wire["contents"]) == 3
    assert not report.entries


@pytest.mark.requirement("P11", "P9")
def test_a_batch_of_calls_stays_in_one_content_with_its_one_signature() -> None:
    first = {**call(), "thoughtSignature": "c2ln"}
    wire = body(HI, model(first, call()), user(result({"output": "a"}), result({"output": "b"})))
    signatures = [block.signature for block in calls_of(read(wire))]
    assert signatures == ["c2ln", None]


@pytest.mark.parametrize(("name", "sentinel"), [("gemini-3-pro", SENTINEL), ("gemini-2.5", None)])
@pytest.mark.requirement("P9", "P10")
def test_calls_from_elsewhere_stay_calls_and_the_first_gets_the_stand_in(
    name: str, sentinel: str | None
) -> None:
    turn = Message.assistant([ToolUseBlock("c1", "add", {}), ToolUseBlock("c2", "add", {})])
    history = (Message.user("Hi"), turn, *[Message.tool_result(i, "x") for i in ("c1", "c2")])
    outcome = retell(Request(history), DIALECT, name, source="anthropic")
    parts = DIALECT.write_request(outcome.value, outcome.recorder).wire["contents"][1]["parts"]
    assert [part.get("thoughtSignature") for part in parts] == [sentinel, None]
    assert all("functionCall" in part for part in parts)
    assert (("approximated", "$.messages[1].content[0].signature") in losses(outcome.report)) is (
        sentinel is not None
    )


def test_results_and_text_of_one_content_go_home_as_one() -> None:
    mixed = user(text("See:"), result({"output": "a"}), text("and?"))
    roles = [m.role for m in read(body(HI, model(call()), mixed)).messages]
    assert roles[2:] == [Role.USER, Role.TOOL, Role.USER]


# -- what a tool said -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("response", "said", "is_error"),
    [
        ({"output": "Rain"}, "Rain", False),
        ({"result": "Rain"}, "Rain", False),
        ({"result": 42}, "42", False),
        ({"output": [1, {"a": None}]}, '[1,{"a":null}]', False),
        ({"output": None}, "null", False),
        ({"celsius": 4, "wind": "W"}, '{"celsius":4,"wind":"W"}', False),
        ({"error": "No such city."}, "No such city.", True),
        ({"error": {"code": 5}}, '{"code":5}', True),
        ({"error": "x", "retry": True}, '{"error":"x","retry":true}', True),
        ({"error": None, "output": "x"}, '{"error":null,"output":"x"}', False),
    ],
)
@pytest.mark.requirement("P33")
def test_what_a_tool_said_is_text_and_comes_back_as_it_was(
    response: Any, said: str, is_error: bool
) -> None:
    block = result_of(response)
    assert block.content == (TextBlock(said),)
    assert block.is_error is is_error
    assert block.tool_name == "weather"


@pytest.mark.parametrize("response", [{}, {"output": ""}, {"result": ""}, None])
def test_a_result_may_be_empty(response: Any) -> None:
    assert result_of(response).content == ()
    assert result_of({"error": ""}).is_error


@pytest.mark.parametrize(
    ("response", "change", "told"),
    [
        ({"result": 42}, {"content": (TextBlock("43"),)}, {"result": 43}),
        ({"result": 42}, {"content": (TextBlock("no"),)}, {"result": "no"}),
        ({"a": 1}, {"content": (TextBlock("no"),)}, {"output": "no"}),
        ({"a": 1}, {"is_error": True}, {"error": '{"a":1}'}),
        ({"error": "x"}, {"is_error": False}, {"output": "x"}),
    ],
)
def test_an_edited_result_wins_over_its_spelling(response: Any, change: Any, told: Any) -> None:
    request = read(body(HI, model(call()), user(result(response))))
    edited = Message.of_result(results_of(request)[0].replace(**change))
    wire = DIALECT.write_request(request.replace(messages=(*request.messages[:-1], edited))).wire
    assert wire["contents"][2]["parts"][0]["functionResponse"]["response"] == told


def test_media_inside_a_result_are_blocks_of_it() -> None:
    parts: list[Wire] = [
        {"inlineData": {"mimeType": "image/png", "data": PNG}},
        {"file_data": {"file_uri": "gs://b/a.pdf", "mime_type": "application/pdf"}},
        {"hologram": 1},
    ]
    block = result_of({"output": "See."}, parts=parts)
    assert block.content == (
        TextBlock("See."),
        ImageBlock(Source("base64", PNG), "image/png"),
        DocumentBlock(Source("url", "gs://b/a.pdf"), "application/pdf"),
        UnknownBlock({"gemini": {"hologram": 1}}),
    )
    result_of({"output": "x"}, parts=[], willContinue=True, scheduling="SILENT")


def test_texts_of_a_result_are_joined_and_come_first() -> None:
    image = ImageBlock(Source("base64", PNG), "image/png")
    content = (TextBlock("a"), image, TextBlock("b"))
    wire, report = write(Message.of_result(ToolResultBlock("c1", content, tool_name="see")))
    inner = wire["contents"][0]["parts"][0]["functionResponse"]
    assert inner["response"] == {"output": "a\nb"}
    assert len(inner["parts"]) == 1
    assert ("moved", "$.messages[0].content[0].content[2]") in losses(report)


# -- tools that Google runs -----------------------------------------------------------------------


@pytest.mark.parametrize("ids", [{}, {"id": "x1"}])
@pytest.mark.requirement("P40")
def test_code_and_its_result_stay_in_their_turn(ids: Wire) -> None:
    parts = [
        {"executableCode": {"language": "PYTHON", "code": "1", **ids}, "thoughtSignature": "AA=="},
        {"codeExecutionResult": {"outcome": "OUTCOME_DEADLINE_EXCEEDED", "output": "1\n", **ids}},
        text("One."),
    ]
    message = read(body(HI, model(*parts))).messages[1]
    code, outcome, content = message.content
    assert isinstance(code, ToolUseBlock)
    assert isinstance(outcome, ToolResultBlock)
    assert (code.executor, code.name, code.input["code"]) == ("provider", "codeExecution", "1")
    assert (code.signature, code.id) == ("AA==", outcome.tool_use_id)
    assert (outcome.content, outcome.is_error) == ((TextBlock("1\n"),), True)
    assert content == TextBlock("One.")


@pytest.mark.parametrize("kind", ["GOOGLE_SEARCH_WEB", "SOMETHING_NEW"])
@pytest.mark.requirement("P40")
def test_server_tools_are_pairs_of_the_model_turn(kind: str) -> None:
    parts = [
        {"toolCall": {"id": "t1", "toolType": kind, "args": {"queries": ["x"]}}},
        {"toolResponse": {"id": "t1", "tool_type": kind, "response": {"html": "<b>"}}},
        {"toolCall": {"id": "t2", "toolType": kind}},
        {"toolResponse": {"id": "t2", "toolType": kind}, "thoughtSignature": "AA=="},
    ]
    content = read(body(HI, model(*parts))).messages[1].content
    assert [getattr(b, "executor", None) for b in content] == ["provider", None, "provider", None]
    assert [getattr(b, "name", None) or getattr(b, "tool_name", None) for b in content] == [
        kind
    ] * 4


def test_tools_that_others_run_are_not_known_here() -> None:
    turn = [ToolUseBlock("s1", "web_search", {}, executor="provider"), ToolResultBlock("s1")]
    wire, report = write(Message.assistant([*turn, TextBlock("x")]))
    assert wire["contents"] == [model(text("x"))]
    assert [path for _, path in losses(report)] == [f"$.messages[0].content[{n}]" for n in (0, 1)]


def test_arguments_that_were_recovered_are_reported() -> None:
    block = ToolUseBlock("c1", "add", {"a": 1}, raw_arguments='{"a": 1', call_type="custom")
    outcome = losses(write(Message.assistant([block], MessageMetadata()))[1])
    assert outcome == [
        ("downgraded", "$.messages[0].content[0].call_type"),
        ("dropped", "$.messages[0].content[0].raw_arguments"),
    ]


@pytest.mark.parametrize(
    "part",
    [
        {"functionCall": {"name": "f"}},
        {"functionCall": {"name": "f", "args": None, "willContinue": True}},
        {"function_call": {"args": {}}, "thought_signature": "AA=="},
        {"functionResponse": {"name": "f", "response": {"output": "x"}}},
        {"codeExecutionResult": {"outcome": None, "output": ""}},
        {"codeExecutionResult": {"output": "x"}},
        {"toolResponse": {}},
        {"executableCode": {}},
    ],
)
def test_odd_spellings_go_home_in_either_turn(part: Wire) -> None:
    read(body(HI, model(part), user(part)))
