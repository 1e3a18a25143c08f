"""How many run at once, for how long, and how they are stopped."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

import interlingua as il
from interlingua.tools.dispatch import Dispatcher, Timeouts, ToolRun
from tests.tools.dispatching import Traced, a_tool, call, registry_of, text_of


def test_the_defaults_are_the_documented_times() -> None:
    timeouts = Timeouts()
    times = [timeouts.of(a_tool(effects=e)) for e in ("none", "read", "write")]
    assert times == [60, 60, 60]
    assert [timeouts.of(a_tool(effects=e)) for e in ("execute", "network")] == [600, 600]
    assert timeouts.confirmation == 300
    assert Timeouts(tools={"count": 5}).of(a_tool(effects="execute")) == 5


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


@pytest.mark.parametrize("kind", ["coroutine", "thread"])
def test_a_tool_that_takes_too_long_is_stopped(kind: str) -> None:
    traced, cleaned = Traced(), threading.Event()

    async def coroutine(input: Any) -> None:
        try:
            await asyncio.sleep(30)
        finally:
            cleaned.set()

    def thread(input: Any, run: ToolRun) -> None:
        run.stopped.wait(30)
        cleaned.set()

    handler = coroutine if kind == "coroutine" else thread
    dispatcher = Dispatcher(registry_of(count=handler), timeouts=Timeouts(usual=0.05))
    [result] = traced.run(dispatcher, call())
    assert cleaned.is_set()
    assert (result.is_error, traced.classes()) == (True, ["timeout"])
    assert "0.05 s" in text_of(result)
    assert traced.types() == ["tool.called", "tool.failed"]
    assert traced.events[1].parent_event_id == traced.events[0].id
    assert dispatcher.threads.left == 0
    assert traced.events[1].payload.latency_ms >= 50  # type: ignore[union-attr]


def test_threads_that_do_not_listen_are_left_behind_up_to_a_limit() -> None:
    release = threading.Event()
    dispatcher = Dispatcher(
        registry_of(count=lambda input: release.wait(30), add=lambda input: "ran"),
        timeouts=Timeouts(usual=0.02),
        most_threads_left=2,
    )
    start = time.monotonic()
    results = dispatcher.run_sync([call("a"), call("b")])
    assert time.monotonic() - start < 5  # the loop ends although they do not
    assert ["stopped" in text_of(result) for result in results] == [True, True]
    assert dispatcher.threads.left == 2
    [refused] = dispatcher.run_sync([call("c", "add")])
    assert refused.is_error
    assert "2 earlier calls are still running" in text_of(refused)
    release.set()
    deadline = time.monotonic() + 5
    while dispatcher.threads.left and time.monotonic() < deadline:
        time.sleep(0.01)
    [result] = dispatcher.run_sync([call("d", "add")])
    assert text_of(result) == "ran"


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


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("kind", ["coroutine", "thread"])
def test_a_program_that_is_interrupted_ends_at_once(kind: str) -> None:
    code = """
import asyncio, sys, time
import interlingua as il
from interlingua.tools.dispatch import Dispatcher
async def coroutine(input):
    print("running", flush=True)
    try:
        await asyncio.sleep(60)
    finally:
        print("cleaned", flush=True)
def thread(input):
    print("running", flush=True)
    time.sleep(60)
tool = il.ToolDefinition("t", "T.", {"type": "object"}, il.SideEffects.NONE, False)
registry = il.ToolRegistry()
registry.register(tool, globals()[sys.argv[1]])
Dispatcher(registry).run_sync([il.ToolUseBlock("a", "t", {})])
"""
    command = [sys.executable, "-c", code, kind]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "running\n"
    process.send_signal(signal.SIGINT)
    said, complaint = process.communicate(timeout=20)
    assert said == ("cleaned\n" if kind == "coroutine" else "")
    assert complaint.strip().endswith("KeyboardInterrupt")
