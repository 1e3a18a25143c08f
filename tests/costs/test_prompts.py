"""Requests as prompts of the cache simulator."""

from __future__ import annotations

import interlingua as il
from interlingua.costs.ahead import Measured, prompt_of
from interlingua.costs.caching import CacheSimulator
from interlingua.model.blocks import Cache
from interlingua.model.exchange import Options
from interlingua.profiles.estimate.estimator import Estimator

SONNET = "anthropic:claude-sonnet-4-6"
SOL = "openai:gpt-6.1-sol"
RULES = "Answer as a miller would. " * 300


def asked(*texts: str, mark: bool = True, options: Options | None = None) -> il.Request:
    last = il.TextBlock(texts[-1], cache=Cache() if mark else None)
    messages = [il.Message.system(RULES)]
    for at, text in enumerate(texts[:-1]):
        messages.append(il.Message.user(text) if at % 2 == 0 else il.Message.assistant(text))
    messages.append(il.Message(il.Role.USER, (last,)))
    tool = il.ToolDefinition("weigh", "Weighs flour.", {"type": "object"})
    return il.Request(tuple(messages), SONNET, (tool,), options or Options())


def test_parts_are_tools_then_instructions_then_messages() -> None:
    estimator = Estimator(SONNET)
    request = asked("Which flour?")
    prompt = prompt_of(request, estimator)
    assert (prompt.length, prompt.marks) == (3, {3: None})
    whole = estimator.tokens(request.messages, request.tools, request.options)
    assert abs(prompt.ends[-1] - whole) < 1
    assert list(prompt.ends) == sorted(prompt.ends)
    assert prompt.ends[1] - prompt.ends[0] > 1000  # the instructions
    assert prompt_of(request, estimator, total=5000).ends[-1] == 5000


def test_marks_do_not_change_a_prompt_and_its_words_do() -> None:
    estimator = Estimator(SONNET)
    marked, plain = (prompt_of(asked("Rye?", mark=mark), estimator) for mark in (True, False))
    assert marked.keys == plain.keys
    other = prompt_of(asked("Wheat?"), estimator)
    assert other.keys[:2] == plain.keys[:2]
    assert other.keys[2] != plain.keys[2]


def test_a_forced_tool_leaves_only_tools_and_instructions_in_the_cache() -> None:
    estimator = Estimator(SONNET)
    forced = Options(tool_choice=il.ToolChoice("any"))
    one, two = (
        prompt_of(asked("Rye?"), estimator),
        prompt_of(asked("Rye?", options=forced), estimator),
    )
    assert one.keys[:2] == two.keys[:2]
    assert one.keys[2] != two.keys[2]


def test_the_automatic_mark_stands_at_the_end() -> None:
    request = asked("Rye?", mark=False, options=Options(cache=Cache("1h")))
    assert prompt_of(request, Estimator(SONNET)).marks == {3: "1h"}


def test_openai_options_say_where_and_for_how_long() -> None:
    options = Options(cache_mode="explicit", cache_ttl="12h")
    prompt = prompt_of(asked("Rye?", options=options), Estimator(SOL))
    assert (prompt.explicit, prompt.marks, prompt.lifetime) == (True, {3: "12h"}, "12h")
    implicit = prompt_of(
        asked("Rye?", mark=False, options=Options(cache_ttl="12h")), Estimator(SOL)
    )
    cache = CacheSimulator(SOL)
    written = cache.send(implicit, 0)
    assert written.long_written == written.written > 1024
    assert cache.send(implicit, 11 * 3600).cached == written.written


def test_reported_totals_measure_the_beginnings_of_later_prompts() -> None:
    measured, cache = Measured(Estimator(SONNET)), CacheSimulator(SONNET)
    first = cache.send(measured.prompt(asked("Rye?"), 3210), 0)
    assert (first.cached, first.written) == (0, 3210)
    second = cache.send(measured.prompt(asked("Rye?", "Yes.", "Why?"), 3300), 10)
    assert (second.cached, second.written, second.fresh) == (3210, 90, 0)


def test_long_texts_are_compared_piece_by_piece_where_tokens_are() -> None:
    model = "openai:gpt-4o"
    cache, measured = CacheSimulator(model), Measured(Estimator(model), fine=True)
    book = "It was a mill by the river, and it had a wheel. " * 200
    cache.send(measured.prompt(il.Request((il.Message.user(book + "A haiku."),), model), 2400), 0)
    again = il.Request((il.Message.user(book + "A sonnet."),), model)
    predicted = cache.send(measured.prompt(again, 2400), 1)
    assert 2200 < predicted.cached <= 2400
    assert predicted.cached % 128 == 0
