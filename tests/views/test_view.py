"""What holds for all views."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import ollama
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.errors import DetectError, ReadError, WriteError
from interlingua.model.blocks import TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from interlingua.model.exchange import Options, Request
from interlingua.model.message import Message, Role
from interlingua.model.tools import ToolDefinition
from interlingua.views import VIEWS, view
from tests.laws.strategies import blocks, json_values, raws
from tests.views.comparing import Comparison, few

RANKS: dict[str, dict[str, int]] = {
    "flat": {"thinking": -2, "redacted_thinking": -2, "refusal": 1, "tool_use": 2},
    "openai-ui": {"tool_use": 1},
    "parts": {},
}


def test_every_view_is_found_by_its_name() -> None:
    assert list(VIEWS)[:4] == ["flat", "parts", "camel", "openai-ui"]
    assert all(view(name).name == name for name in VIEWS)
    with pytest.raises(DetectError) as error:
        view("cubist")
    assert error.value.candidates == list(VIEWS)


def test_what_json_cannot_hold_is_an_error_and_no_null() -> None:
    call = ToolUseBlock("c", "f", {"a": float("nan")})
    with pytest.raises(WriteError):
        view("parts").write([Message.assistant(call)]).json()
    with pytest.raises(WriteError) as error:
        view("flat").write([Message.assistant(["hi", call])])
    assert error.value.path == "$[0].content[1].input.a"


def odd_messages() -> st.SearchStrategy[Message]:
    """Blocks where they do not belong."""
    content = st.lists(blocks(), max_size=3).map(tuple)
    return st.builds(Message, st.sampled_from(Role), content, name=st.none() | st.just("ada"))


@pytest.mark.parametrize("name", list(RANKS))
@few
@given(st.lists(odd_messages(), max_size=2))
def test_messages_against_the_rules_are_written_and_accounted_for(
    name: str, messages: list[Message]
) -> None:
    wire, report = view(name).write(messages)
    back = view(name).read(wire)
    if all(_has_at_most_one_result(message) for message in messages):
        comparison = Comparison(name, report, lambda word: RANKS[name].get(word, 0))
        comparison.check(messages, back)


def _has_at_most_one_result(message: Message) -> bool:
    results = [block for block in message.content if isinstance(block, ToolResultBlock)]
    return message.role is not Role.TOOL or len(results) <= 1


@few
@given(st.lists(odd_messages(), max_size=3))
def test_camel_writes_messages_against_the_rules(messages: list[Message]) -> None:
    view("camel").read(view("camel").write(messages).wire)


@pytest.mark.parametrize("name", list(VIEWS))
@given(json_values(12))
def test_any_json_is_read_or_refused(name: str, plain: Any) -> None:
    with suppress(ReadError):
        view(name).read(plain)


@pytest.mark.parametrize("name", list(VIEWS))
@few
@given(raws(("flat", "parts", "camel", "openai-ui")))
def test_odd_memories_do_not_break_a_writer(name: str, raw: dict[str, Any]) -> None:
    keys = ("spelled", "inside", "missing", "content", "thinking_blocks", "thought_signatures")
    odd = [3, [], {}, *({key: item} for key in keys for item in (3, [3], {"usage": 3}, "x"))]
    spelling = [{name: {"$form": form}} for form in odd]
    for memory in (raw, {name: 3}, {name: None}, *spelling):
        message = Message.assistant([ThinkingBlock("hm", "s"), TextBlock("hi", "s")])
        metadata = message.metadata.replace(provider_raw=memory)
        answer = Message.tool_result("c", "x")
        answer = answer.replace(metadata=answer.metadata.replace(provider_raw=memory))
        view(name).write([message.replace(metadata=metadata), answer])


@pytest.mark.parametrize("name", list(VIEWS))
def test_a_request_is_written_whole_or_accounted_for(name: str) -> None:
    tool = ToolDefinition("add", "Adds.", {"type": "object"})
    request = Request((Message.user("hi"),), "gpt-5", (tool,), Options(seed=1), raw={"x": {"y": 1}})
    wire, report = view(name).write_request(request)
    back = view(name).read_request(wire)
    assert back.messages == request.messages
    lost = {loss.path for loss in report.entries}
    assert lost >= {"$.model", "$.options.seed", "$.raw.x.y"}
    assert (back.tools == request.tools) != ("$.tools[0]" in lost)


@pytest.mark.parametrize("name", list(VIEWS))
def test_losses_of_a_request_are_placed_in_the_request(name: str) -> None:
    message = Message(Role.USER, (), session_id="s")
    report = view(name).write_request(Request((message,))).report
    assert [loss.path for loss in report.entries] == ["$.messages[0].session_id"]


def test_the_command_line_knows_the_names_of_all_views() -> None:
    from interlingua.cli.formats import VIEW_NAMES

    assert tuple(VIEWS) == VIEW_NAMES


@pytest.mark.parametrize("name", sorted(VIEWS))
def test_a_view_writes_dicts_and_objects_of_sdks(name: str) -> None:
    plain = {"role": "user", "content": "hi"}
    taken = ("hi", Message.user("hi"), plain, [ollama.Message(**plain)], {"messages": [plain]})
    wire = view(name).write([Message.user("hi")]).wire
    assert [view(name).write(each).wire for each in taken] == [wire] * len(taken)
    with pytest.raises(TypeError, match="messages are text"):
        view(name).write(3)  # type: ignore[arg-type]
