"""A history rewritten for its target, step by step."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any, TypeVar

import pytest

import interlingua as il
from interlingua.adapt.facts import ALL, CONTINUES, UNORDERED, Facts, facts_of
from interlingua.adapt.history import rewriter
from interlingua.dialects.kernel.words import PLACEHOLDER
from interlingua.dialects.record import Dialect, Traits
from interlingua.dialects.registry import dialect as dialect_of
from interlingua.errors import InterlinguaError
from interlingua.model.ids import IdGrammar
from tests.adapt.history.conversations import (
    SIGNED,
    USER,
    assistant,
    call,
    losses,
    result,
    target,
    told,
)


def test_a_message_of_which_nothing_is_left_gets_a_placeholder() -> None:
    out = told([USER, assistant(SIGNED, protocol="gemini"), USER], target())
    assert out.value[1].content == (il.TextBlock(PLACEHOLDER),)
    assert ("approximated", "$.messages[1].content") in losses(out)


def test_failed_and_cancelled_turns_are_left_out_with_their_results() -> None:
    failed = assistant(call(), status=il.MessageStatus.CANCELLED)
    out = told([USER, failed, result(), USER], target())
    assert out.value == (USER, USER)
    assert losses(out) == [("dropped", "$.messages[1]"), ("dropped", "$.messages[2]")]


@pytest.mark.parametrize(
    ("status", "severity"),
    [(il.MessageStatus.CANCELLED, "info"), (il.MessageStatus.ERROR, "error")],
)
def test_who_stopped_a_turn_does_not_miss_it(status: il.MessageStatus, severity: str) -> None:
    out = told([USER, assistant(call(), status=status), result(), USER], target())
    assert [loss.severity for loss in out.report.entries] == [severity, severity]


T = TypeVar("T")

MODULE = importlib.import_module("interlingua.adapt.history.retell")
"""The module itself: its name in the package is its function."""

TRAITS: dict[str, dict[str, Any]] = {
    "plain": {},
    "no family": {"family": None},
    "ordered results": {"ordered_results": True},
    "instructions first": {"system_anywhere": False},
    "signed calls": {"call_signature": lambda model: "c2ln"},
    "no empty answers": {"allowed_text": "answers"},
    "visible texts": {"allowed_text": "visible"},
    "user first": {"begins_with_model": False},
    "calls last": {"text_behind_calls": False},
}

MADE_UP = {
    name: Dialect(
        "anthropic",
        name,
        Traits(**{"family": "anthropic", "ids": IdGrammar("[a-zA-Z0-9_-]", 1, 64), **traits}),
        folder="nowhere",
    )
    for name, traits in TRAITS.items()
}
"""Dialects that differ in one trait: none of ours has it alone."""

TARGETS = {name: dialect_of(name) for name in il.dialects()} | MADE_UP

WAYS: tuple[dict[str, Any], ...] = (
    {},
    {"model": "claude-opus-4-5", "provider": "anthropic"},
    {"source": "anthropic", "strict_issuer": True},
)

TEXTS = ("", " ", "\u2003", "x-anthropic-billing-header: a")

MODELS = ("gpt-5", "claude-opus-4-5")

PROTOCOLS = ("anthropic", "openai-chat", "bedrock")

RAWS = (
    {"anthropic": {"a": 1}},
    {"openai-chat": {"a": 1}},
    {"openrouter": {"format": "anthropic-claude-v1"}},
)

OTHERS = (
    il.ThinkingBlock("hm"),
    il.ThinkingBlock(""),
    il.RefusalBlock("no"),
    il.RefusalBlock(""),
    il.RedactedThinkingBlock("c2VjcmV0"),
    il.CompactionBlock("earlier"),
    il.UnknownBlock({"anthropic": {"type": "new"}}),
)

IMAGE = il.ImageBlock(il.Source("url", "https://example.com/a.png"))


class Twist:
    """Makes a usual value, but for the choice of this number, where it takes another option."""

    def __init__(self, number: int = -1, option: int = 0) -> None:
        self.number, self.option = number, option
        self.choices: list[int] = []
        """How many options each choice had beside the usual one."""

    def pick(self, usual: Any, *others: Any) -> Any:
        self.choices.append(len(others))
        return others[self.option] if len(self.choices) - 1 == self.number else usual

    def text(self) -> il.TextBlock:
        text, signature = self.pick("ok", *TEXTS), self.pick(None, "c2ln")
        return il.TextBlock(text, signature=signature, raw=self.pick(None, *RAWS))

    def said(self) -> tuple[Any, ...]:
        text = self.text()
        return self.pick((text,), (IMAGE,), (text, IMAGE), ())  # type: ignore[no-any-return]  # blocks

    def call(self, number: int) -> il.ToolUseBlock:
        return il.ToolUseBlock(
            self.pick(f"call_{number}", "call_0", "not legal!", "c" * 80),
            "f",
            {},
            signature=self.pick(None, "c2ln"),
            executor=self.pick("client", "provider"),
        )

    def answer(self, number: int, calls: int, thinks: bool) -> list[il.Message]:
        """A model's turn, and the results of its calls."""
        made = [self.call(2 * number + at) for at in range(calls)]
        signed = il.ThinkingBlock("hm", "c2ln", raw=self.pick(None, *RAWS))
        thoughts = [self.pick(signed, *OTHERS)] if thinks else []
        behind = self.pick((), (il.TextBlock("behind"),), (il.RefusalBlock("behind"),))
        metadata = il.MessageMetadata(
            model=self.pick(None, *MODELS),
            protocol=self.pick(None, *PROTOCOLS),
            provider=self.pick(None, "openai"),
            status=self.pick(il.MessageStatus.COMPLETE, *il.MessageStatus),
        )
        turn = il.Message.assistant([*thoughts, self.text(), *made, *behind], metadata)
        return [turn, *self.results(made)]

    def results(self, calls: list[il.ToolUseBlock]) -> list[il.Message]:
        results: list[Any] = [
            il.ToolResultBlock(self.pick(call.id, "call_0", "call_9"), self.said())
            for call in calls
        ]
        orders = ("reversed", "one missing", "twice", "in one", "with text", "with another", "late")
        match self.pick("as called", *orders):
            case "reversed":
                results.reverse()
            case "one missing":
                results = results[1:]
            case "twice":
                results *= 2
            case "in one":
                return [il.Message(il.Role.TOOL, tuple(results))]
            case "with text":
                return [il.Message(il.Role.TOOL, (each, il.TextBlock("a"))) for each in results]
            case "with another":
                other = il.ToolResultBlock("call_9", (IMAGE,))
                return [il.Message(il.Role.TOOL, (each, other)) for each in results]
            case "late":
                told = [il.Message(il.Role.TOOL, (result,)) for result in results]
                return [il.Message.user("meanwhile"), *told]
        return [il.Message(il.Role.TOOL, (result,)) for result in results]

    def history(self, calls: int, thinks: bool, system: bool) -> tuple[il.Message, ...]:
        told = [il.Message(il.Role.SYSTEM, self.said())] if system else []
        for number in range(2):
            if self.pick("user first", "model first") == "user first":
                told.append(il.Message(il.Role.USER, self.said()))
            told += self.answer(number, calls, thinks)
            if self.pick("no more", "instructions") == "instructions":
                told.append(il.Message(il.Role.DEVELOPER, self.said()))
        return tuple(told)


def request(twist: Twist, calls: int, thinks: bool, system: bool) -> il.Request:
    return il.Request(
        twist.history(calls, thinks, system),
        twist.pick(None, *MODELS),
        options=il.Options(metadata=twist.pick(None, {"a": "b"})),
        continues=twist.pick(None, il.Continues(response_id="resp_1")),
    )


def question(twist: Twist, system: bool) -> il.Request:
    told = [il.Message(il.Role.SYSTEM, twist.said())] if system else []
    told += [il.Message(il.Role.USER, twist.said())]
    more = (il.Message.system("more"), il.Message.assistant("hm"), il.Message.tool_result("c", "a"))
    told += twist.pick([], *([each] for each in more))
    return il.Request(tuple(told), options=il.Options(metadata=twist.pick(None, {"a": "b"})))


def response(twist: Twist, calls: int, thinks: bool) -> il.Response:
    other = il.Message.assistant([il.ThinkingBlock("hm", "c2ln")])
    answer = twist.answer(0, calls, thinks)[0]
    return il.Response(answer, alternatives=twist.pick((), (other,)))


def variants(make: Callable[[Twist], T]) -> Iterator[T]:
    """The usual value, and each that differs from it in one choice."""
    usual = Twist()
    yield make(usual)
    for number, count in enumerate(usual.choices):
        for option in range(count):
            yield make(Twist(number, option))


def outcome(value: Any, to: Dialect, way: dict[str, Any]) -> Any:
    """What is retold, what is written of it, and all that was lost on the way."""
    told = il.retell(value, to, **way)
    retold = il.dumps(told.value), list(told.report.entries)
    if to.package == "nowhere":
        return retold
    try:
        done = (
            to.write_request(told.value, told.recorder)
            if isinstance(value, il.Request)
            else to.write_response(told.value)
        )
    except InterlinguaError as error:
        return retold, str(error)
    return retold, done.json(), done.report.entries


def require_agreement(place: Any, name: str, never: Any, values: list[Any], to: Dialect) -> None:
    """It makes no difference that a shortcut is never taken; asked where it was taken."""
    shortcut = getattr(place, name)
    answers: list[Any] = []

    def watched(*args: Any) -> Any:
        answers.append(shortcut(*args))
        return answers[-1]

    quick: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(place, name, watched)
        for value, way in product(values, WAYS):
            answers.clear()
            found = outcome(value, to, way)
            if any(answer != never for answer in answers):
                quick.append((value, way, found))
        patch.setattr(place, name, lambda *_: never)
        for value, way, found in quick:
            assert found == outcome(value, to, way), (value, way)


SHAPES = ((0, True, False), (1, True, True), (2, False, False))


def require_idle_steps(values: list[Any], to: Dialect) -> None:
    """It makes no difference that steps are taken which no fact concerns."""

    def every(value: il.Request) -> Facts:
        facts = facts_of(value)
        facts.flags |= ALL & ~(UNORDERED | CONTINUES)
        return facts

    for value, way in product(values, WAYS):
        found = outcome(value, to, way)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(MODULE, "facts_of", every)
            patch.setattr(rewriter, "facts_of", every)
            patch.setattr(rewriter, "_message_concerns", lambda _: ALL)
            assert found == outcome(value, to, way), (value, way)


@pytest.mark.parametrize("target", TARGETS)
def test_a_history_that_looks_clean_has_nothing_to_repair(target: str) -> None:
    makers = [
        partial(request, calls=calls, thinks=thinks, system=system)
        for calls, thinks, system in SHAPES
    ]
    require_idle_steps([value for make in makers for value in variants(make)], TARGETS[target])


@pytest.mark.parametrize("target", TARGETS)
def test_a_request_that_looks_simple_has_nothing_to_repair(target: str) -> None:
    makers = [partial(question, system=system) for system in (False, True)]
    require_idle_steps([value for make in makers for value in variants(make)], TARGETS[target])


@pytest.mark.parametrize("target", TARGETS)
def test_an_answer_that_looks_plain_is_told_as_any_other(target: str) -> None:
    makers = [partial(response, calls=calls, thinks=thinks) for calls, thinks, _ in SHAPES]
    values = [value for make in makers for value in variants(make)]
    require_agreement(MODULE, "plain_answer", None, values, TARGETS[target])
