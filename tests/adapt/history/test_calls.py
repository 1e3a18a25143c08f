"""Calls and results: every call answered behind its turn, under ids that the target accepts."""

from __future__ import annotations

import pytest

import interlingua as il
from interlingua.adapt.history.calls import NO_RESULT
from interlingua.adapt.history.retell import retell
from interlingua.model.ids import IdGrammar
from tests.adapt.history.conversations import (
    GRAMMAR,
    USER,
    assistant,
    by_host,
    call,
    losses,
    result,
    target,
    told,
)

TEN_CHARACTERS = IdGrammar("[a-zA-Z0-9]", 10, 10)


@pytest.mark.requirement("P24", "P25")
def test_an_orphaned_call_gets_a_neutral_error_result() -> None:
    out = told([USER, assistant(call()), USER], target())
    (answer,) = out.value[2].content
    assert out.value[2].role is il.Role.TOOL
    assert (answer.tool_use_id, answer.is_error, answer.content[0].text) == (
        "call_1",
        True,
        NO_RESULT,
    )
    assert "user" not in NO_RESULT.lower()
    assert losses(out) == [("approximated", "$.messages[1].content[0]")]


def test_a_result_without_a_call_becomes_user_text() -> None:
    out = told([USER, result("lost")], target())
    assert [message.role for message in out.value] == [il.Role.USER, il.Role.USER]
    assert out.value[1].content[-1].text == "done"
    assert losses(out) == [("downgraded", "$.messages[1]")]


def test_history_that_the_provider_keeps_may_hold_the_call() -> None:
    request = il.Request((result("lost"),), continues=il.Continues(response_id="r1"))
    out = retell(request, target(), source="anthropic")
    assert out.value.messages == request.messages
    abroad = retell(request, target(), source="openai-responses")
    assert [(loss.path, loss.severity) for loss in abroad.report.entries] == [
        ("$.messages[0]", "error"),
        ("$.continues", "error"),
    ]
    assert abroad.value.continues is None
    assert abroad.value.messages[0].role is il.Role.USER


@pytest.mark.requirement("P21", "P22")
def test_results_are_paired_by_id_and_put_in_call_order_where_that_is_demanded() -> None:
    message = assistant(call("a"), call("b"))
    history = [USER, message, result("b"), result("a")]
    assert told(history, target()).value == tuple(history)
    out = told(history, target(ordered_results=True))
    answered = [m.content[0].tool_use_id for m in out.value[2:]]
    assert answered == ["a", "b"]
    assert {kind for kind, _ in losses(out)} == {"moved"}


@pytest.mark.requirement("P23")
def test_results_come_before_what_the_user_said_meanwhile() -> None:
    out = told([USER, assistant(call()), il.Message.user("wait"), result()], target())
    assert [m.role.value for m in out.value] == ["user", "assistant", "tool", "user"]
    assert losses(out) == [("moved", "$.messages[3]")]


@pytest.mark.requirement("P13", "P15", "P27")
@pytest.mark.parametrize("id", ["functions.Bash:0", "fc_1|call_2", "x" * 449, "", "ünï"])
def test_illegal_ids_are_mapped_alike_in_call_and_result(id: str) -> None:
    out = told([USER, assistant(call(id)), result(id)], target())
    new = out.value[1].content[0].id
    assert GRAMMAR.legal(new)
    assert out.value[2].content[0].tool_use_id == new == out.value[2].metadata.parent_tool_use_id
    assert out.report.entries == []  # ids are no content


@pytest.mark.requirement("P16", "P12")
def test_the_mapping_depends_on_the_destination_and_legal_ids_pass() -> None:
    history = [USER, assistant(call("toolu_01")), result("toolu_01")]
    assert told(history, target()).value[1].content[0].id == "toolu_01"
    short = told(history, target(ids=TEN_CHARACTERS)).value[1].content[0].id
    assert TEN_CHARACTERS.legal(short)


@pytest.mark.requirement("P17")
def test_an_id_that_is_used_again_becomes_another_one() -> None:
    round_trip = [assistant(call("call_0")), result("call_0")]
    out = told([USER, *round_trip, USER, *round_trip], target())
    first, second = out.value[1].content[0].id, out.value[4].content[0].id
    assert first == "call_0" != second
    assert out.value[5].content[0].tool_use_id == second


@pytest.mark.requirement("P34")
def test_images_inside_results_follow_the_whole_batch() -> None:
    image = il.ImageBlock(il.Source("base64", "aGk="), "image/png")
    history = [USER, assistant(call("a"), call("b")), result("a", image), result("b")]
    out = told(history, target(result_media=frozenset()))
    assert [m.role.value for m in out.value] == ["user", "assistant", "tool", "tool", "user"]
    assert out.value[4].content == (image,)
    assert out.value[2].content[0].content[0].text == "[image of a follows]"
    assert losses(out) == [("moved", "$.messages[2].content[0].content[0]")]
    allowed = told(history, target(result_media=frozenset({"image"})))
    assert allowed.value == tuple(history)


def test_a_host_gets_its_own_ids_back_and_others_fitted_ones() -> None:
    chat = target("openai-chat", family=None, ids=TEN_CHARACTERS)
    long = "chatcmpl-tool-0123456789"
    history = [USER, by_host(call(long)), result(long)]
    assert told(history, chat, provider="deepseek").value == tuple(history)
    assert TEN_CHARACTERS.legal(told(history, chat, provider="groq").value[1].content[0].id)
