"""Canonical JSON in and out, and validation, against a bare JSON parser on the same bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

import interlingua as il
from bench import workloads
from bench.measure import Row, Timing, compare, peak_growth, shown

MESSAGES = 10_000
READ_WRITE = 1.5
MEMORY = 4.0
VALIDATE = 1.0
LINEAR = 1.3


def ours(data: bytes) -> Any:
    """The values and the bytes, so that both are there at the end."""
    messages = il.loads(data, list[il.Message])
    return messages, il.dumps(messages)


def bare(data: bytes) -> Any:
    plain = orjson.loads(data)
    return plain, orjson.dumps(plain)


def rows(quick: bool) -> Iterator[Row]:
    rounds = 5 if quick else 15
    for name, stored in (("W3 canonical", False), ("W3 in a session", True)):
        messages = workloads.canonical(workloads.large(MESSAGES), stored)
        data = il.dumps(messages)
        yield _time_row(f"{name}, loads + dumps", data, rounds)
        yield _memory_row(f"{name}, peak memory", data)
        yield _validate_row(f"{name}, validate / loads", messages, data, rounds)
        del messages, data
    yield _linear_row("validate, per message, 100k / 10k", rounds)
    yield _small_row(rounds)


def _time_row(name: str, data: bytes, rounds: int) -> Row:
    timing = compare(lambda: ours(data), lambda: bare(data), rounds)
    return _row(name, timing, READ_WRITE)


def _small_row(rounds: int) -> Row:
    """Short messages, where objects count for more than text; no target, to see what it costs."""
    data = il.dumps(workloads.canonical(workloads.small(MESSAGES)))
    timing = compare(lambda: ours(data), lambda: bare(data), rounds)
    return _row("10k short messages, loads + dumps", timing, None)


def _validate_row(name: str, messages: list[il.Message], data: bytes, rounds: int) -> Row:
    problems = il.validate(messages)
    if problems:
        raise SystemExit(f"the workload breaks a rule: {problems[0]}")
    read = compare(lambda: il.validate(messages), lambda: il.loads(data, list[il.Message]), rounds)
    return _row(name, read, VALIDATE)


def _linear_row(name: str, rounds: int) -> Row:
    """Ten times the messages take ten times as long, or the value is more than 1."""
    some = workloads.canonical(workloads.small(MESSAGES), stored=True)
    many = workloads.canonical(workloads.small(10 * MESSAGES), stored=True)
    timing = compare(lambda: il.validate(many), lambda: il.validate(some), rounds)
    return _row(name, timing._replace(ratio=timing.ratio / 10), LINEAR)


def _memory_row(name: str, data: bytes) -> Row:
    grown = peak_growth("bench.canonical:ours", data) / len(data)
    base = peak_growth("bench.canonical:bare", data) / len(data)
    return Row(name, f"{len(data) / 1e6:.1f} MB (bare: {base:.1f} x)", grown, MEMORY)


def _row(name: str, timing: Timing, target: float | None) -> Row:
    return Row(name, shown(timing.floor), timing.ratio, target)
