"""What a target refuses for its form alone."""

from __future__ import annotations

import interlingua as il
from interlingua.dialects.kernel.words import EARLIER, PLACEHOLDER
from tests.adapt.history.conversations import USER, assistant, call, losses, result, target, told


def test_a_history_that_begins_with_the_model_is_opened_where_that_is_refused() -> None:
    gemini = target("gemini", family="google", begins_with_model=False)
    system = il.Message.system("be kind")
    history = [system, assistant(il.TextBlock("I look.")), assistant(call()), result()]
    out = told(history, gemini)
    assert [m.role.value for m in out.value] == ["system", "user", "assistant", "assistant", "tool"]
    assert out.value[1].text == EARLIER
    assert losses(out) == [("approximated", "$.messages[1]")]
    assert told(history, target()).value == tuple(history)
    assert told(history[:2], gemini).value == out.value[:3], "and so it stays when it grows"
    dialect = [USER, *history[1:]]
    assert told(dialect, gemini).value == tuple(dialect)


def test_texts_that_say_nothing_are_left_out_or_stood_in_for() -> None:
    blank = il.Message.user([il.TextBlock(" \n"), il.TextBlock("and?")])
    nothing = il.Message.user(" ")
    strict = target(allowed_text="visible")
    out = told([blank, assistant(il.TextBlock("")), nothing], strict)
    assert [m.text for m in out.value] == ["and?", PLACEHOLDER, PLACEHOLDER]
    assert losses(out) == [
        ("dropped", "$.messages[0].content[0]"),
        ("approximated", "$.messages[1].content"),
        ("approximated", "$.messages[2].content"),
    ]
    assert {loss.severity for loss in out.report.entries} == {"info"}
    assert told([nothing], target()).value == (nothing,)


def test_only_a_models_text_must_say_something_to_some() -> None:
    gemini = target("gemini", family="google", allowed_text="answers")
    empty = il.Message.user([il.TextBlock("")])
    content = assistant(il.TextBlock(""), call())
    out = told([empty, content, result()], gemini)
    assert out.value == (empty, assistant(call()), result())
    assert losses(out) == [("dropped", "$.messages[1].content[0]")]


def test_blank_instructions_and_blanks_inside_results_are_left_out() -> None:
    strict = target(allowed_text="visible")
    blank = il.Message.system(" ")
    inside = result("call_1", il.TextBlock("\n"), il.TextBlock("yes"))
    out = told([blank, USER, assistant(call()), inside], strict)
    assert [m.role.value for m in out.value] == ["user", "assistant", "tool"]
    assert out.value[2].content[0].content == (il.TextBlock("yes"),)
    assert losses(out) == [
        ("dropped", "$.messages[0].content"),
        ("dropped", "$.messages[3].content[0].content[0]"),
    ]


def test_what_a_model_said_itself_stays_as_it_said_it() -> None:
    strict = target(allowed_text="visible", text_behind_calls=False)
    message = assistant(call(), il.TextBlock("\n\n"), protocol="anthropic")
    assert told([USER, message, result()], strict).value[1] == message


def test_text_behind_the_last_call_comes_before_the_calls_where_that_is_asked_for() -> None:
    text, more = il.TextBlock("first"), il.TextBlock("later")
    message = assistant(text, call("a"), call("b"), more, protocol="gemini")
    history = [USER, message, result("a"), result("b")]
    out = told(history, target(text_behind_calls=False))
    assert out.value[1].content == (text, more, call("a"), call("b"))
    assert losses(out) == [("moved", "$.messages[1].content[3]")]
    assert told(history, target()).value == tuple(history)
