"""One walk finds what is in a request, whole or as it grows; steps that it does not concern change
nothing."""

from __future__ import annotations

import pytest

import interlingua as il
from interlingua.adapt import facts
from interlingua.adapt.facts import Facts, facts_of

IMAGE = il.ImageBlock(il.Source("url", "https://example.com/a.png"))
CALL = il.ToolUseBlock("c1", "look", {})
MESSAGES = (
    il.Message.system("Be brief."),
    il.Message.user([il.TextBlock("hi"), IMAGE]),
    il.Message.assistant([il.ThinkingBlock("hm"), CALL]),
    il.Message.tool_result("c1", "found", tool_name="look"),
    il.Message.developer("Shorter."),
    il.Message.assistant([il.TextBlock("ok", cache=il.Cache())]),
)
SEEN = (
    0,
    facts.USER | facts.OTHER,
    facts.ASSISTANT | facts.THINKING | facts.CALLS,
    facts.TOOL,
    facts.LATER | facts.DEVELOPER,
    facts.CACHE,
)


def test_each_message_adds_what_it_holds() -> None:
    expected, known = 0, Facts()
    for message, flags in zip(MESSAGES, SEEN, strict=True):
        expected |= flags
        known.extend([message])
        assert known.flags == known.content == expected
        assert known.last is message.role
        assert known.is_paired is (message is not MESSAGES[2])
    assert known.calls is not None
    assert known.calls.names == {"look"}
    assert [*known.calls.ids] == ["c1"]
    assert [*known.calls.thinking.values()] == [(MESSAGES[2], MESSAGES[2].content[0])]


SIGNED = il.TextBlock("a", signature="c2ln")
FAILED = il.MessageMetadata(status=il.MessageStatus.ERROR)
RESULT = il.Message.tool_result("c1", "found")
OTHER_RESULT = il.Message.tool_result("c2", "found")
OTHER_CALL = il.ToolUseBlock("c2", "look", {})
CALLED = (il.Message.user("hi"), il.Message.assistant([CALL]))
CALLED_TWICE = (il.Message.user("hi"), il.Message.assistant([CALL, OTHER_CALL]))
ANSWERED = facts.USER | facts.ASSISTANT


@pytest.mark.parametrize(
    ("messages", "flag"),
    [
        ((il.Message.assistant("hi"),), facts.MODEL_FIRST),
        ((il.Message.user(" "),), facts.BLANK),
        ((il.Message.system("\n"),), facts.BLANK),
        ((il.Message.system("x-anthropic-billing-header: a"),), facts.DIRECTIVE),
        ((il.Message.assistant([SIGNED]),), facts.ISSUED),
        ((il.Message.assistant([il.RedactedThinkingBlock("c2VjcmV0")]),), facts.ISSUED),
        ((il.Message.assistant("hi", FAILED),), facts.UNFINISHED),
        ((il.Message.assistant([CALL, il.TextBlock("a")]),), facts.TEXT_AFTER_CALLS),
        ((il.Message.assistant([CALL, il.RefusalBlock("a")]),), facts.TEXT_AFTER_CALLS),
        ((*CALLED, il.Message.user("wait")), facts.UNPAIRED),
        ((*CALLED, OTHER_RESULT), facts.UNPAIRED),
        ((*CALLED_TWICE, OTHER_RESULT, RESULT), facts.UNORDERED),
        ((*CALLED, RESULT, *CALLED, RESULT), facts.REPEATED_IDS),
        ((*CALLED, il.Message.tool_result("c1", " ")), facts.BLANK),
        ((*CALLED, il.Message.of_result(il.ToolResultBlock("c1", (IMAGE,)))), facts.RESULT_OTHER),
    ],
)
def test_what_a_target_may_refuse_is_a_fact(messages: tuple[il.Message, ...], flag: int) -> None:
    known = Facts()
    known.extend(messages)
    unusual = facts.ALL & ~(ANSWERED | facts.TOOL | facts.CALLS | facts.OTHER | facts.MODEL_FIRST)
    assert known.flags & (unusual | flag) == flag


@pytest.mark.parametrize("cut", range(len(MESSAGES) + 1))
def test_facts_that_grew_are_those_of_the_whole(cut: int) -> None:
    grown = Facts()
    grown.extend(MESSAGES[:cut])
    grown.extend(MESSAGES[cut:])
    assert grown == facts_of(il.Request(MESSAGES))


@pytest.mark.parametrize(
    ("request_", "flag"),
    [
        (il.Request(options=il.Options(max_output_tokens=5, stream=True)), 0),
        (il.Request(options=il.Options(temperature=0.5)), facts.OPTIONS),
        (il.Request(tools=(il.ToolDefinition("f"),)), facts.TOOLS),
        (
            il.Request(tools=(il.ToolDefinition("f", cache=il.Cache()),)),
            facts.TOOLS | facts.CACHE,
        ),
        (
            il.Request((il.Message.of_result(il.ToolResultBlock("c", (IMAGE,))),)),
            facts.TOOL | facts.UNPAIRED | facts.CALLS | facts.OTHER | facts.RESULT_OTHER,
        ),
        (il.Request(raw={"openai-chat": {"$form": {}}}), 0),
        (il.Request(raw={"openai-chat": {"store": True}}), facts.RAW),
        (il.Request(raw={"openai-chat": {"web_search_options": {}}}), facts.RAW | facts.BESIDE),
        (il.Request(continues=il.Continues(response_id="r")), facts.CONTINUES),
    ],
)
def test_options_tools_and_parts_of_results_are_facts(request_: il.Request, flag: int) -> None:
    assert facts_of(request_).flags == flag
