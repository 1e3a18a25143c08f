"""One question, three dialects, with and without a stream: one answer."""

from __future__ import annotations

import json

import pytest

import interlingua as il
from interlingua import local
from interlingua.local.model import INSTRUCTIONS, USUAL_OUTPUT
from tests.effort import THOROUGH
from tests.local.conftest import DIALECTS, Answer, Ask, send

BRIEF = il.Message.system("Answer with one word.")

QUESTION = il.Message.user("Say hello.")


def told(answer: Answer) -> tuple[str, str | None, int, int]:
    """What has to agree: text, stop reason, and all tokens in and out."""
    assert answer.status == 200, answer.body
    message = answer.response().message
    usage = message.metadata.usage
    assert usage is not None
    items = [usage.input_tokens, usage.cached_input_tokens, usage.cache_creation_input_tokens]
    made = usage.output_tokens
    assert made is not None
    return message.text, message.metadata.stop_reason, sum(each or 0 for each in items), made


def test_a_greedy_question_has_one_answer_in_all_dialects_streamed_or_not(ask: Ask) -> None:
    answers = {
        (dialect, stream): told(ask(dialect, BRIEF, il.Message.user("Say yes."), stream=stream))
        for dialect in DIALECTS
        for stream in (False, True)
    }
    assert len(set(answers.values())) == 1, answers
    text, stop, value, made = answers["anthropic", True]
    assert text == "Yes."
    assert stop == "end_turn"
    assert value == 22
    assert made == 3


def test_an_answer_that_is_cut_off_says_so_in_all_dialects(ask: Ask) -> None:
    answers = [
        told(ask(dialect, BRIEF, QUESTION, max_output_tokens=2, stream=stream))
        for dialect in DIALECTS
        for stream in (False, True)
    ]
    assert len(set(answers)) == 1, answers
    assert answers[0][1] == "max_tokens"
    assert answers[0][3] == 2


def test_instructions_and_history_reach_the_model_alike(ask: Ask) -> None:
    history = (
        BRIEF,
        il.Message.user("Say yes."),
        il.Message.assistant("Yes"),
        il.Message.user("Again."),
    )
    answers = {told(ask(dialect, *history, max_output_tokens=3)) for dialect in DIALECTS}
    assert len(answers) == 1, answers


def test_a_stop_sequence_is_named_where_the_dialect_can(ask: Ask) -> None:
    yes, stop = il.Message.user("Say yes."), ("es",)
    whole, streamed = (
        ask("anthropic", BRIEF, yes, stop=stop, stream=stream).response().message
        for stream in (False, True)
    )
    assert whole.metadata.stop_reason == streamed.metadata.stop_reason == "stop_sequence"
    assert whole.text == streamed.text == "Y"
    assert ask("openai-chat", BRIEF, yes, stop=stop).response().message.text == "Y"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_prompt_that_is_too_long_is_an_overflow_in_the_client_s_dialect(
    ask: Ask, dialect: str
) -> None:
    answer = ask(dialect, il.Message.user("word " * 9000))
    assert answer.status == 400
    error = answer.response().error
    assert error is not None
    assert error.kind == "context_overflow"
    assert "8192" in error.message


@pytest.mark.parametrize(
    ("path", "body", "key", "status", "kind"),
    [
        ("/v1/messages", {"messages": 3}, None, 400, "invalid_request"),
        ("/v1/responses", {}, None, 400, "invalid_request"),
        ("/v1/chat/completions", [], None, 400, "invalid_request"),
        ("/v1/messages", {}, "wrong", 401, "auth"),
        ("/v1/chat/completions", {}, "wrong", 401, "auth"),
        ("/v1/elsewhere", {}, None, 404, None),
    ],
)
def test_errors_are_written_in_the_client_s_dialect(
    server: local.LocalServer,
    path: str,
    body: object,
    key: str | None,
    status: int,
    kind: str | None,
) -> None:
    answer = send(server, path, body, key)
    assert answer.status == status
    error = answer.response().error
    assert error is not None
    assert kind is None or error.kind == kind


def test_tokens_are_counted_without_answering(server: local.LocalServer, ask: Ask) -> None:
    wire = {"model": "m", "messages": [{"role": "user", "content": "Say hello."}]}
    counted = send(server, "/v1/messages/count_tokens", wire)
    assert (
        json.loads(counted.body)["input_tokens"]
        == told(ask("anthropic", QUESTION, max_output_tokens=1))[2]
    )


def test_who_brings_no_instructions_gets_those_of_the_template(ask: Ask) -> None:
    """They are a part of the model as it is served, and of no request."""
    question = il.Message.user("What is the capital of France?")
    plain = ask("openai-chat", question, max_output_tokens=16).response().message
    told = ask("openai-chat", il.Message.system(INSTRUCTIONS), question, max_output_tokens=16)
    assert plain.metadata.usage == told.response().message.metadata.usage
    assert plain.text == told.response().message.text
    assert "Paris" in plain.text
    other = ask("openai-chat", il.Message.system("Be."), question, max_output_tokens=1).response()
    assert plain.metadata.usage is not None
    assert other.message.metadata.usage is not None
    assert other.message.metadata.usage.input_tokens != plain.metadata.usage.input_tokens


@pytest.mark.skipif(not THOROUGH, reason="two hundred words; `make local-questions` asks fifty")
def test_an_everyday_question_comes_to_an_end_by_itself(ask: Ask) -> None:
    """Nothing but the question; greedy, since a test is to be the same each time. Without the
    usual settings it went on in a loop to its limit."""
    question = il.Message.user("How do I boil an egg?")
    answer = ask("openai-chat", question, max_output_tokens=None).response().message
    assert answer.metadata.stop_reason is il.StopReason.END_TURN
    assert answer.metadata.usage is not None
    assert (answer.metadata.usage.output_tokens or 0) < USUAL_OUTPUT
