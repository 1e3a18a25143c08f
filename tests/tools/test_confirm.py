"""Asking before a tool runs: who is asked, when, and whose answer counts."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

import interlingua as il
from interlingua.tools.dispatch import Dispatcher, Timeouts
from interlingua.tools.handlers import effects_of
from interlingua.tools.registry import ToolRegistry
from tests.tools.dispatching import SECRET, Traced, a_tool, call, registry_of, text_of


@pytest.mark.requirement("S002-45", "S002-46")
@pytest.mark.parametrize(
    ("effects", "asks"),
    [("none", False), ("read", False), ("write", True), ("execute", True), ("network", True)],
)
def test_side_effects_decide_whether_somebody_is_asked(effects: str, asks: bool) -> None:
    traced, registry = Traced(), ToolRegistry()
    questions: list[Any] = []
    registry.register(a_tool(effects=effects), lambda input: "ran")

    def confirm(question: Any) -> bool:
        questions.append((question.tool.name, question.input, question.side_effects))
        return True

    [result] = traced.run(Dispatcher(registry, confirm=confirm), call())
    assert text_of(result) == "ran"
    assert questions == ([("count", {"n": 1}, effects)] if asks else [])
    asked = ["tool.confirmation_requested", "tool.confirmation_resolved"] if asks else []
    assert traced.types() == [*asked, "tool.called", "tool.completed"]
    assert traced.events[-2].payload.side_effects == effects  # type: ignore[union-attr]


@pytest.mark.requirement("S002-46")
def test_a_tool_that_declares_nothing_counts_as_one_that_may_do_anything() -> None:
    assert effects_of(il.ToolDefinition("x")) == il.SideEffects.EXECUTE


def test_without_anybody_to_ask_nothing_with_side_effects_runs() -> None:
    traced, registry = Traced(), ToolRegistry()
    ran: list[Any] = []
    registry.register(a_tool(effects="write"), ran.append)
    [result] = traced.run(Dispatcher(registry), call())
    assert (ran, traced.classes()) == ([], ["permission_denied"])
    assert "this program cannot ask" in text_of(result)


async def says_yes(question: Any) -> bool:
    return True


async def says_no(question: Any) -> bool:
    return False


async def says_a_word(question: Any) -> Any:
    return "no"


async def fails(question: Any) -> bool:
    raise RuntimeError(SECRET)


async def says_nothing_ever(question: Any) -> bool:
    await asyncio.sleep(60)
    return True


def thinks_too_long(question: Any) -> bool:
    time.sleep(0.5)
    return True


def leaves_it_open(question: Any) -> None:
    threading.Timer(0.02, question.answer, [True]).start()


@pytest.mark.parametrize(
    ("confirm", "outcome", "error_class"),
    [
        (says_yes, "approved", None),
        (lambda question: True, "approved", None),
        (lambda question: says_yes(question), "approved", None),
        (leaves_it_open, "approved", None),
        (says_no, "denied", "user_denied"),
        (lambda question: False, "denied", "user_denied"),
        (says_a_word, "denied", "user_denied"),
        (fails, "denied", "permission_denied"),
        (says_nothing_ever, "timeout", "confirmation_timeout"),
        (lambda question: None, "timeout", "confirmation_timeout"),
        (thinks_too_long, "timeout", "confirmation_timeout"),
    ],
)
def test_the_answer_decides(confirm: Any, outcome: str, error_class: str | None) -> None:
    traced, registry = Traced(), ToolRegistry()
    ran: list[Any] = []
    registry.register(a_tool(effects="write"), lambda input: ran.append(input))
    timeouts = Timeouts(confirmation=0.2)
    [result] = traced.run(Dispatcher(registry, confirm=confirm, timeouts=timeouts), call())
    requested, resolved = traced.events[:2]
    assert requested.payload.timeout_ms == 200  # type: ignore[union-attr]
    assert resolved.payload.outcome == outcome  # type: ignore[union-attr]
    assert (requested.parent_event_id, resolved.parent_event_id) == (traced.completed, requested.id)
    assert traced.classes() == ([error_class] if error_class else [])
    assert (len(ran), result.is_error) == ((0, True) if error_class else (1, False))
    if error_class:
        assert traced.events[2].parent_event_id == requested.id


def test_the_first_answer_wins() -> None:
    ran: list[Any] = []
    registry = ToolRegistry()
    registry.register(a_tool(effects="write"), ran.append)

    async def confirm(question: Any) -> bool:
        question.answer(False)
        question.answer(True)
        await asyncio.sleep(0.05)
        return True

    [result] = Dispatcher(registry, confirm=confirm).run_sync([call()])
    assert (result.is_error, ran) == (True, [])


def test_a_person_at_a_terminal_is_asked_one_question_at_a_time() -> None:
    asked, most = [0], [0]
    registry = ToolRegistry()
    registry.register(a_tool(effects="write"), lambda input: "ran")

    def confirm(question: Any) -> bool:
        asked[0] += 1
        most[0] = max(most[0], asked[0])
        time.sleep(0.02)
        asked[0] -= 1
        return True

    results = Dispatcher(registry, confirm=confirm).run_sync([call(id) for id in "abcd"])
    assert [text_of(result) for result in results] == ["ran"] * 4
    assert most == [1]


def test_waiting_for_an_answer_keeps_nobody_else_from_running() -> None:
    registry = registry_of(count=lambda input: "ran")
    registry.register(a_tool("write_it", "write"), lambda input: "wrote")

    async def confirm(question: Any) -> bool:
        await asyncio.sleep(0.2)
        return True

    batch = Dispatcher(registry, confirm=confirm, at_once=1).batch(
        [call("a", "write_it"), call("b")]
    )

    async def watch() -> list[str]:
        task = asyncio.create_task(batch.run())
        await asyncio.sleep(0.1)
        early = [result.tool_use_id for result in batch.results]
        await task
        return early

    assert asyncio.run(watch()) == ["b"]
