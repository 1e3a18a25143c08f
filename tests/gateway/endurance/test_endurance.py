"""Small versions of the long runs: clients that leave, many requests, slow clients, huge bodies.

The long ones are `python -m tests.gateway.endurance.leave`, `memory_run` and `slow`, and
`bench.gateway`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from interlingua.gateway.shared.state import Arrival, Decision, Exchange
from interlingua.gateway.telemetry.records import MOST_LOSSES, TOGETHER, Losses
from interlingua.model.losses import Report
from tests.gateway.endurance import leave, memory_run, slow
from tests.gateway.endurance.outside import MEGABYTE

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


BUSY = 3.0
"""Seconds that others may take here, where other tests run as well; `python -m
tests.gateway.endurance.slow` is for a quiet machine, and stricter."""


def test_clients_that_leave_a_process_leave_nothing_behind(tmp_path: Path) -> None:
    seen = asyncio.run(leave.leave(tmp_path, 300, warm=100, at_once=BUSY))
    assert set(seen.moments) == set(leave.MOMENTS)
    assert seen.asked > 100
    assert seen.slowest_ms < BUSY * 1000


def test_memory_does_not_grow_with_requests(tmp_path: Path) -> None:
    seen = asyncio.run(memory_run.run(tmp_path, 1000))
    assert set(seen.kinds) == set(memory_run.STATUSES)
    assert seen.peak < 150 * MEGABYTE


def test_clients_that_read_slowly_hold_little_and_are_left_in_the_end(tmp_path: Path) -> None:
    seen = asyncio.run(slow.readers(tmp_path, 20, 1.6, stalled=3.0, floor=BUSY))
    assert seen.peak < 150 * MEGABYTE
    assert seen.seconds < 30


def test_clients_that_send_slowly_are_not_waited_for(tmp_path: Path) -> None:
    seen = asyncio.run(slow.senders(tmp_path, 60, limit=2.0, floor=BUSY))
    assert seen.seconds < 20


def test_a_body_of_gigabytes_is_refused_while_it_comes(tmp_path: Path) -> None:
    found = asyncio.run(slow.giant(tmp_path, 0.25))
    assert [sent.status for sent in found.values()] == [413] * 4
    assert all(sent.bytes < 100 * MEGABYTE for sent in found.values())


def test_loss_reports_are_bounded_together() -> None:
    losses = Losses()
    report = Report("anthropic")
    for number in range(MOST_LOSSES):
        report.add("dropped", f"$.messages[{number}]", "it has no place there")
    for number in range(3 * TOGETHER // MOST_LOSSES):
        arrival = Arrival(f"req_{number}", "openai-chat")
        losses.keep(Exchange(arrival, Decision(report=report)))
    assert len(losses) == TOGETHER // MOST_LOSSES
