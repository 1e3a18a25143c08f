"""The requests of a session, as the answers of its branches and helpers tell them."""

from __future__ import annotations

from interlingua.model.message import Message
from interlingua.model.metadata import MessageMetadata, Usage
from interlingua.transcripts import Branch, Transcript
from interlingua.transcripts.prices import requests_of
from interlingua.transcripts.transcript import Compaction, SubAgent, summary_message

SONNET = "anthropic:claude-sonnet-4-6"


def answer(text: str, tokens: int | None = 10) -> Message:
    usage = None if tokens is None else Usage(tokens, 1 if tokens else 0)
    return Message.assistant(text, MessageMetadata(model=SONNET, usage=usage)).replace(id=text)


def transcript(*messages: Message, **facts: object) -> Transcript:
    return Transcript.of("claude-code", messages, **facts)


def test_each_answer_is_a_request_with_what_is_new() -> None:
    one, two, first, second = Message.user("1"), Message.user("2"), answer("a"), answer("b")
    (asked,) = requests_of(transcript(one, first, two, second))
    assert [each.added for each in asked] == [(one,), (first, two)]
    assert [each.answer for each in asked] == [first, second]
    assert not any(each.restart for each in asked)


def test_a_summary_begins_the_prompt_anew() -> None:
    one, summary, two = Message.user("1"), summary_message("so far"), Message.user("2")
    messages = (one, answer("a"), Message.user("kept"), summary, two, answer("b"))
    (asked,) = requests_of(transcript(*messages, compactions=(Compaction(3, (2,)),)))
    assert [each.restart for each in asked] == [False, True]
    assert asked[1].added == (messages[2], summary, two)


def test_what_was_answered_without_tokens_is_no_request() -> None:
    (asked,) = requests_of(transcript(Message.user("1"), answer("broken", 0), answer("a")))
    assert [each.answer.text for each in asked] == ["a"]
    (asked,) = requests_of(transcript(Message.user("1"), answer("uncounted", None)))
    assert len(asked) == 1


def test_in_a_session_without_any_usage_each_answer_was_asked_for() -> None:
    bare = Message.assistant("a").replace(id="a")
    (asked,) = requests_of(transcript(Message.user("1"), bare, Message.user("2"), bare))
    assert [each.counts for each in asked] == [True, False]  # the same answer twice
    (asked,) = requests_of(transcript(Message.user("1"), bare, answer("b")))
    assert [each.answer.text for each in asked] == ["b"]


def test_an_answer_on_several_branches_counts_once() -> None:
    one, shared, left, right = Message.user("1"), answer("a"), answer("left"), answer("right")
    ways = (Branch(None, (one, shared, right), True), Branch(None, (one, shared, left)))
    counted = [
        [each.answer.text for each in asked if each.counts]
        for asked in requests_of(transcript(one, shared, right, branches=ways))
    ]
    assert counted == [["a", "right"], ["left"]]


def test_helpers_are_sessions_of_their_own() -> None:
    helper = SubAgent(transcript(Message.user("help"), answer("helped")))
    whole = transcript(Message.user("1"), answer("a"), subagents=(helper,))
    found = list(requests_of(whole, lambda each: each.text != "a"))
    assert [[each.answer.text for each in asked] for asked in found] == [["helped"]]
