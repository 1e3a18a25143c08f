"""Running one handler: in time, too late, or stopped."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

from interlingua.tools.dispatch import Dispatcher, Timeouts, ToolRun
from tests.tools.dispatching import Traced, a_tool, call, registry_of, text_of


def test_the_defaults_are_the_documented_times() -> None:
    timeouts = Timeouts()
    times = [timeouts.of(a_tool(effects=e)) for e in ("none", "read", "write")]
    assert times == [60, 60, 60]
    assert [timeouts.of(a_tool(effects=e)) for e in ("execute", "network")] == [600, 600]
    assert timeouts.confirmation == 300
    assert Timeouts(tools={"count": 5}).of(a_tool(effects="execute")) == 5


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
    content, complaint = process.communicate(timeout=20)
    assert content == ("cleaned\n" if kind == "coroutine" else "")
    assert complaint.strip().endswith("KeyboardInterrupt")
