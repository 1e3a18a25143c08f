"""The parts view: roles in upper case, parts told apart by `kind`."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.errors import ReadError
from interlingua.model.base import same
from interlingua.model.blocks import (
    AudioBlock,
    DocumentBlock,
    ImageBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.message import Message, Role
from interlingua.views import parts
from tests.laws.strategies import conversations
from tests.views.comparing import Comparison, few
from tests.views.wires import (
    Wire,
    base64_texts,
    json_objects,
    objects,
    some,
    texts,
    urls,
    words,
)

IMAGE = ImageBlock(Source("base64", "AAAA"), "image/png")


def block_of(part: Wire, role: str = "ASSISTANT") -> Any:
    [message] = parts.read([{"role": role, "content": [part]}])
    return message.content[0]


def part_of(block: Any) -> Wire:
    [message] = parts.write([Message.assistant([block])]).wire
    [part] = message["content"]
    result: Wire = part
    return result


def comes_home(wire: Any) -> bool:
    return same(parts.write(parts.read(wire)).wire, wire)


# The laws


@few
@given(
    st.tuples(st.booleans(), st.booleans()).flatmap(lambda how: conversations(*how, failures=True))
)
def test_what_reading_back_misses_is_what_the_report_lists(messages: tuple[Message, ...]) -> None:
    wire, report = parts.write(messages)
    Comparison("parts", report).check(messages, parts.read(wire))


def kind(name: str, key: str, data: st.SearchStrategy[Any]) -> st.SearchStrategy[Wire]:
    return objects({"kind": st.just(name), key: data}, {})


def media(**more: st.SearchStrategy[Any]) -> st.SearchStrategy[Wire]:
    optional = {"media_type": st.sampled_from(("image/png", "x/y")), **more}
    inline = objects({"data": base64_texts()}, {"url": urls(), **optional})
    return inline | objects({"url": urls()}, optional)


def texts_only() -> st.SearchStrategy[Wire]:
    return kind("TEXT", "text", texts())


def results() -> st.SearchStrategy[Wire]:
    data = objects({"tool_call_id": words(), "content": texts()}, {"is_error": st.booleans()})
    return kind("TOOL_RESULT", "tool_result", data)


def spoken_parts() -> st.SearchStrategy[Wire]:
    call = objects({"id": words(), "name": words(), "arguments": json_objects()}, {})
    return st.one_of(
        texts_only(),
        kind("IMAGE", "image", media(detail=st.sampled_from(("auto", "low", "high")))),
        kind("AUDIO", "audio", media()),
        kind("DOCUMENT", "document", media(file_name=words())),
        kind("TOOL_CALL", "tool_call", call),
        kind("THINKING", "thinking", objects({"text": texts()}, {"signature": words()})),
        kind("REDACTED_THINKING", "thinking", objects({"text": texts()}, {})),
        results(),
    )


def part_messages() -> st.SearchStrategy[Wire]:
    roles = st.sampled_from(("SYSTEM", "USER", "ASSISTANT", "DEVELOPER"))
    dialect = objects({"role": roles, "content": some(spoken_parts())}, {"name": words()})
    tool = {"role": st.just("TOOL")}
    answers = st.lists(results(), min_size=1, max_size=2)
    return st.one_of(
        dialect,
        objects({**tool, "content": answers}, {"name": words(), "tool_call_id": words()}),
        objects({**tool, "content": some(texts_only()), "tool_call_id": words()}, {}),
    )


@given(some(part_messages(), 3))
def test_part_messages_come_home_unchanged(wire: list[Wire]) -> None:
    before = deepcopy(wire)
    home, report = parts.write(parts.read(wire))
    assert same(home, before)
    assert same(wire, before)
    assert not report.entries


# The shape


@pytest.mark.requirement("S001-1", "S001-16")
def test_a_tool_message_names_the_call_twice() -> None:
    message = Message.tool_result("call_1", "18 degrees", is_error=True)
    data = {"tool_call_id": "call_1", "content": "18 degrees", "is_error": True}
    wire = {
        "role": "TOOL",
        "content": [{"kind": "TOOL_RESULT", "tool_result": data}],
        "tool_call_id": "call_1",
    }
    assert parts.write([message]).wire == [wire]
    assert parts.read([wire]) == (message,)


@pytest.mark.requirement("S001-1")
def test_other_messages_have_role_and_content_alone() -> None:
    [wire] = parts.write([Message.user("hi")]).wire
    assert wire == {"role": "USER", "content": [{"kind": "TEXT", "text": "hi"}]}


@pytest.mark.requirement("S001-2")
def test_a_conversation_keeps_its_order() -> None:
    messages = (Message.system("a"), Message.user("b"), Message.assistant("c"), Message.user("d"))
    assert parts.read(parts.write(messages).wire) == messages


@pytest.mark.requirement("S001-3")
@pytest.mark.parametrize("content", ["hi", None, {"kind": "TEXT", "text": "hi"}])
def test_content_is_a_list_and_nothing_else(content: Any) -> None:
    with pytest.raises(ReadError) as error:
        parts.read([{"role": "USER", "content": content}])
    assert error.value.path == "$[0].content"


@pytest.mark.requirement("S001-4", "S001-5")
def test_five_roles_and_the_developer_is_one_of_its_own() -> None:
    assert set(parts.ROLES) == {"SYSTEM", "USER", "ASSISTANT", "TOOL", "DEVELOPER"}
    messages = (Message.system("a"), Message.developer("b"))
    wire, report = parts.write(messages)
    assert [message["role"] for message in wire] == ["SYSTEM", "DEVELOPER"]
    assert parts.read(wire) == messages
    assert not report.entries


@pytest.mark.requirement("S001-4")
@pytest.mark.parametrize("role", ["user", "MODEL", None])
def test_other_roles_are_refused(role: Any) -> None:
    with pytest.raises(ReadError) as error:
        parts.read([{"role": role, "content": []}])
    assert error.value.path == "$[0].role"


SIGNED = ThinkingBlock("hm", "sig")
EIGHT: dict[str, tuple[Any, str, Any]] = {
    "TEXT": (TextBlock("hi"), "text", "hi"),
    "IMAGE": (IMAGE, "image", {"data": "AAAA", "media_type": "image/png"}),
    "AUDIO": (
        AudioBlock(Source("url", "https://e.com/a"), "audio/wav"),
        "audio",
        {"url": "https://e.com/a", "media_type": "audio/wav"},
    ),
    "TOOL_CALL": (
        ToolUseBlock("c", "add", {"a": 1}),
        "tool_call",
        {"id": "c", "name": "add", "arguments": {"a": 1}},
    ),
    "TOOL_RESULT": (
        ToolResultBlock("c", (TextBlock("3"),)),
        "tool_result",
        {"tool_call_id": "c", "content": "3", "is_error": False},
    ),
    "THINKING": (SIGNED, "thinking", {"text": "hm", "signature": "sig"}),
    "REDACTED_THINKING": (RedactedThinkingBlock("opaque"), "thinking", {"text": "opaque"}),
    "DOCUMENT": (
        DocumentBlock(Source("base64", "AAAA"), "application/pdf", "a.pdf"),
        "document",
        {"data": "AAAA", "media_type": "application/pdf", "file_name": "a.pdf"},
    ),
}


@pytest.mark.requirement("S001-10", "S001-11")
def test_there_are_eight_kinds() -> None:
    assert set(parts.KINDS) == set(EIGHT)
    with pytest.raises(ReadError) as error:
        parts.read([{"role": "USER", "content": [{"kind": "VIDEO"}]}])
    assert error.value.path == "$[0].content[0].kind"


@pytest.mark.requirement("S001-10", "S001-11")
@pytest.mark.parametrize("kind", list(EIGHT))
def test_each_kind_has_its_data_under_its_own_key(kind: str) -> None:
    block, key, data = EIGHT[kind]
    assert part_of(block) == {"kind": kind, key: data}
    assert block_of({"kind": kind, key: data}) == block


@pytest.mark.requirement("S001-11")
def test_keys_of_other_kinds_may_be_null() -> None:
    empty = dict.fromkeys(("image", "audio", "tool_call", "tool_result", "thinking", "document"))
    part = {"kind": "TEXT", "text": "hi", **empty}
    assert block_of(part) == TextBlock("hi")
    assert comes_home([{"role": "USER", "content": [part], "name": None, "tool_call_id": None}])


@pytest.mark.requirement("S001-12")
def test_redacted_thinking_passes_unchanged() -> None:
    opaque = "\u00e9\x00 {not json} =="
    message = Message.assistant([RedactedThinkingBlock(opaque), "hi"])
    wire, report = parts.write([message])
    assert parts.read(wire) == (message,)
    assert not report.entries


@pytest.mark.requirement("S001-13")
def test_an_image_is_a_url_or_inline_data() -> None:
    def image(**data: str) -> Any:
        return block_of({"kind": "IMAGE", "image": data}, "USER")

    assert image(url="https://e.com/i").source == Source("url", "https://e.com/i")
    assert image(data="AAAA", media_type="image/png") == IMAGE
    assert image(data="AAAA").media_type is None
    assert image(url="data:image/png;base64,AAAA") == IMAGE
    with pytest.raises(ReadError) as error:
        image(media_type="image/png")
    assert error.value.path == "$[0].content[0].image"


@pytest.mark.requirement("S001-15")
def test_arguments_are_a_mapping() -> None:
    for arguments in ('{"a": 1}', None, [1]):
        data = {"id": "c", "name": "add", "arguments": arguments}
        with pytest.raises(ReadError) as error:
            block_of({"kind": "TOOL_CALL", "tool_call": data})
        assert error.value.path == "$[0].content[0].tool_call.arguments"


@pytest.mark.requirement("S001-16")
def test_a_result_is_one_string() -> None:
    joined = Message.tool_result("c", ["a", "b"])
    wire, report = parts.write([joined])
    assert wire[0]["content"][0]["tool_result"]["content"] == "ab"
    assert [(loss.kind, loss.path) for loss in report.entries] == [
        ("approximated", "$[0].content[0].content")
    ]
    report = parts.write([Message.tool_result("c", ["a", IMAGE])]).report
    assert [(loss.kind, loss.path) for loss in report.entries] == [
        ("dropped", "$[0].content[0].content[1]")
    ]


@pytest.mark.requirement("S001-16")
def test_several_results_become_messages_and_come_home_as_one() -> None:
    def result(id: str) -> Wire:
        data = {"tool_call_id": id, "content": id, "is_error": False}
        return {"kind": "TOOL_RESULT", "tool_result": data}

    wire = [{"role": "TOOL", "content": [result("a"), result("b")], "tool_call_id": "a"}]
    first, second = parts.read(wire)
    assert first == Message.tool_result("a", "a")
    assert second == Message.tool_result("b", "b")
    assert comes_home(wire)


def test_text_in_a_tool_message_answers_the_call_that_it_names() -> None:
    wire = {"role": "TOOL", "content": [{"kind": "TEXT", "text": "3"}], "tool_call_id": "c"}
    assert parts.read([wire]) == (Message.tool_result("c", "3"),)
    assert comes_home([wire])
    del wire["tool_call_id"]
    with pytest.raises(ReadError) as error:
        parts.read([wire])
    assert error.value.path == "$[0].tool_call_id"


def test_media_in_a_tool_message_is_refused() -> None:
    image = {"kind": "IMAGE", "image": {"data": "AAAA"}}
    with pytest.raises(ReadError) as error:
        parts.read([{"role": "TOOL", "content": [image], "tool_call_id": "c"}])
    assert error.value.path == "$[0].content[0].kind"


@pytest.mark.requirement("S001-17")
def test_signed_thinking_stays_with_its_signature() -> None:
    message = Message.assistant([SIGNED, ThinkingBlock("", "only signed"), ThinkingBlock("un")])
    wire, report = parts.write([message, Message.user("go on")])
    assert parts.read(wire)[0].content == message.content
    assert not report.entries


@pytest.mark.requirement("S001-19", "S001-20")
def test_a_user_message_from_a_string_or_from_parts() -> None:
    assert Message.user("hi").content == (TextBlock("hi"),)
    wire = parts.write([Message.user(["what is this?", IMAGE])]).wire
    assert [part["kind"] for part in wire[0]["content"]] == ["TEXT", "IMAGE"]


@pytest.mark.requirement("S001-21")
def test_audio_and_documents_by_url_and_inline() -> None:
    for source in (Source("url", "https://e.com/x"), Source("base64", "AAAA")):
        for block in (AudioBlock(source, "audio/wav"), DocumentBlock(source, None, "a.pdf")):
            wire, report = parts.write([Message.user(block)])
            assert parts.read(wire) == (Message.user(block),)
            assert not report.entries


@pytest.mark.requirement("S001-22")
def test_constructors_and_text() -> None:
    messages = (
        Message.system("be brief"),
        Message.assistant(["a", SIGNED, "b"]),
        Message.tool_result("c", "no", is_error=True),
    )
    assert parts.read(parts.write(messages).wire) == messages
    assert messages[1].text == "ab"
    assert Message.user(IMAGE).text == ""


@pytest.mark.requirement("S001-23")
@pytest.mark.parametrize("detail", ["auto", "low", "high"])
def test_sender_name_and_image_detail(detail: str) -> None:
    message = Message.user(IMAGE.replace(detail=detail), name="ada")
    wire, report = parts.write([message])
    assert wire[0]["name"] == "ada"
    assert wire[0]["content"][0]["image"]["detail"] == detail
    assert parts.read(wire) == (message,)
    assert not report.entries


# What is lost


def test_a_refusal_is_written_as_text() -> None:
    wire, report = parts.write([Message.assistant([RefusalBlock("no")])])
    assert [(loss.kind, loss.path) for loss in report.entries] == [
        ("downgraded", "$[0].content[0]")
    ]
    assert parts.read(wire)[0].content == (TextBlock("no"),)


def test_tools_that_the_provider_ran_are_known_by_their_result() -> None:
    call = ToolUseBlock("c", "web_search", {}, executor="provider")
    ran = Message.assistant([call, ToolResultBlock("c", (TextBlock("found"),))])
    assert not parts.write([ran]).report.entries
    assert parts.read(parts.write([ran]).wire) == (ran,)
    [loss] = parts.write([Message.assistant(call)]).report
    assert loss.path == "$[0].content[0].executor"


def test_a_text_document_becomes_inline_data() -> None:
    document = DocumentBlock(Source("text", "h\u00e9"), "text/plain")
    wire, report = parts.write([Message.user(document)])
    assert wire[0]["content"][0]["document"] == {"data": "aMOp", "media_type": "text/plain"}
    assert [(loss.kind, loss.path) for loss in report.entries] == [
        ("approximated", "$[0].content[0]")
    ]


def test_files_of_a_provider_and_of_the_workspace_have_no_place() -> None:
    files = [
        ImageBlock(Source("file_id", "f", provider="openai")),
        ImageBlock(Source("file_ref", "a")),
    ]
    report = parts.write([Message.user(files)]).report
    assert [(loss.path, loss.severity) for loss in report.entries] == [
        ("$[0].content[0]", "error"),
        ("$[0].content[1]", "error"),
    ]


def test_odd_tool_messages_are_reported() -> None:
    wire, report = parts.write([Message(Role.TOOL, (TextBlock("x"),))])
    assert wire == []
    assert [loss.path for loss in report.entries] == ["$[0].content[0]", "$[0]"]
