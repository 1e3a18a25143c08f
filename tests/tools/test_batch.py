"""The calls of one message: run side by side, cancelled together."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import Any

import interlingua as il
from interlingua.events import Bus
from interlingua.tools.dispatch import CallContext, Dispatcher
from tests.tools.dispatching import Traced, a_tool, call, registry_of, text_of


def test_four_calls_of_a_message_run_at_once_and_not_more() -> None:
    running, most = [0], [0]

    async def handler(input: Any) -> str:
        running[0] += 1
        most[0] = max(most[0], running[0])
        await asyncio.sleep(0.01)
        running[0] -= 1
        return "ran"

    calls = [call(str(number)) for number in range(12)]
    assert len(Dispatcher(registry_of(count=handler)).run_sync(calls)) == 12
    assert most == [4]
    most[0] = 0
    Dispatcher(registry_of(count=handler), at_once=2).run_sync(calls)
    assert most == [2]


def test_cancelling_a_batch_gives_every_call_a_result() -> None:
    traced, stopped = Traced(), []

    async def slow(input: Any) -> str:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            stopped.append(input["n"])
            raise
        return "never"

    registry = registry_of(count=slow, quick=lambda input: "done")
    batch = Dispatcher(registry, at_once=2).batch(
        [call("q", "quick"), *[call(f"c{n}", n=n) for n in range(4)]], traced.context
    )

    async def cancelled() -> list[il.ToolResultBlock]:
        task = asyncio.create_task(batch.run())
        await asyncio.sleep(0.1)
        threading.Thread(target=batch.cancel).start()
        results = await asyncio.wait_for(task, 10)
        assert len(asyncio.all_tasks()) == 1  # this one
        return results

    results = asyncio.run(cancelled())
    assert [result.tool_use_id for result in results] == ["q", "c0", "c1", "c2", "c3"]
    assert text_of(results[0]) == "done"
    assert all(text_of(result).startswith("cancelled") for result in results[1:])
    assert traced.classes() == ["cancelled"] * 4
    assert sorted(stopped) == [0, 1]


def test_a_batch_cancelled_before_it_began_runs_nothing() -> None:
    traced = Traced()
    ran: list[Any] = []
    batch = Dispatcher(registry_of(count=ran.append)).batch([call("a"), call("b")], traced.context)
    batch.cancel()
    results = asyncio.run(batch.run())
    assert [result.is_error for result in results] == [True, True]
    assert (ran, traced.classes()) == ([], ["cancelled", "cancelled"])


def test_cancelling_who_waits_stops_the_calls_and_keeps_their_results() -> None:
    traced, registry = Traced(), registry_of(quick=lambda input: "done")
    registry.register(a_tool("count", "write"), lambda input: "never")

    async def wait_for_answer(question: Any) -> bool:
        await asyncio.sleep(30)
        return True

    batch = Dispatcher(registry, confirm=wait_for_answer).batch(
        [call("a", "quick"), call("b")], traced.context
    )

    async def cancelled() -> None:
        task = asyncio.create_task(batch.run())
        await asyncio.sleep(0.1)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        assert task.cancelled()
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(cancelled())
    assert [text_of(result)[:9] for result in batch.results] == ["done", "cancelled"]
    resolved = [e for e in traced.events if e.type == "tool.confirmation_resolved"]
    assert [e.payload.outcome for e in resolved] == ["cancelled"]  # type: ignore[union-attr]
    assert traced.classes() == ["cancelled"]


def test_the_events_of_a_run_name_what_caused_them() -> None:
    traced = Traced()
    traced.run(Dispatcher(registry_of(count=lambda input: "12345")), call())
    called, completed = traced.events
    assert (called.type, called.parent_event_id) == ("tool.called", traced.completed)
    assert (completed.type, completed.parent_event_id) == ("tool.completed", called.id)
    assert (called.payload.input_size, called.payload.side_effects) == (7, "none")  # type: ignore[union-attr]
    assert (completed.payload.success, completed.payload.output_size) == (True, 5)  # type: ignore[union-attr]


def test_without_a_turn_the_parents_are_the_same_and_events_go_to_the_bus() -> None:
    traced = Traced()
    dispatcher = Dispatcher(registry_of(count=lambda input: 1), bus=traced.bus)
    context = CallContext("ses_2", "turn_2", parent_event_id="01PARENT")
    dispatcher.run_sync([call()], context)
    called, completed = traced.events
    assert (called.session_id, called.turn_id) == ("ses_2", "turn_2")
    assert (called.parent_event_id, completed.parent_event_id) == ("01PARENT", called.id)


def test_without_a_turn_a_failure_names_the_step_it_came_from() -> None:
    def fail(input: Any) -> None:
        raise ValueError

    traced, registry = Traced(), registry_of(count=fail)
    registry.register(a_tool("write_it", "write"), fail)
    dispatcher = Dispatcher(registry, bus=traced.bus, confirm=lambda question: False)
    context = CallContext("ses_2", parent_event_id="01PARENT")
    dispatcher.run_sync([call()], context)
    dispatcher.run_sync([call("b", "write_it")], context)
    dispatcher.run_sync([call("c", "missing")], context)
    called, failed, requested, resolved, refused, missing = traced.events
    assert [called.type, requested.type] == ["tool.called", "tool.confirmation_requested"]
    assert (failed.parent_event_id, resolved.parent_event_id) == (called.id, requested.id)
    assert (refused.parent_event_id, missing.parent_event_id) == (requested.id, "01PARENT")


def test_a_full_queue_of_events_stops_no_tool() -> None:
    bus = Bus(capacity=1)
    dispatcher = Dispatcher(registry_of(count=lambda input: "ran"), bus=bus)
    [result] = dispatcher.run_sync([call()])
    assert (text_of(result), bus.waiting) == ("ran", 1)
