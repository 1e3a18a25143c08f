"""Whole translations, bytes in to bytes out through the public call, against a bare JSON parser
that reads and writes the same bytes without understanding them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

import interlingua as il
from bench import workloads
from bench.measure import Row, Timing, alone, compare, peak_growth, shown

REQUESTS = {"W1": 8.0, "W2": 1.7, "W3": 1.6, "W4": 1.4}
"""Chat requests said to Anthropic, and the most they may cost."""
RESPONSES = {"R1": 4.4, "R2": 2.8}
"""Anthropic responses said to a Chat client."""
NEXT_TURN = {"anthropic": 0.6, "openai-responses": 1.2}
"""What the next turn of W2 may cost, with a converter that remembers the turns before it. The
second target cannot have its thinking, so each turn reports again that this was dropped."""
SHORT = 1_000_000
"""Bytes up to which a workload is timed three times as often: it is short enough for a busy moment
of the machine to fall on one side alone."""
FITTED = {"W1": 1.1, "W2": 1.05, "R1": 1.05, "R2": 1.05}
"""What saying it to a model that is named with its provider may cost beside saying it to nobody in
particular: as good as nothing but for the shortest request. 5 % is what a quiet machine moves."""
MODELS = {"anthropic": "anthropic:claude-sonnet-4-5", "openai-chat": "openai:gpt-5"}
MEMORY = 3.0
LINEAR = 1.3


def request(data: bytes) -> Any:
    return il.convert(data, source="openai-chat", target="anthropic").json()


def response(data: bytes) -> Any:
    return il.convert(data, source="anthropic", target="openai-chat", kind="response").json()


def unfitted(data: bytes) -> Any:
    return il.convert(data, source="openai-chat", target="anthropic", profile=False).json()


def fitted(data: bytes) -> Any:
    model = MODELS["anthropic"]
    return il.convert(data, source="openai-chat", target="anthropic", model=model).json()


def to_model(data: bytes) -> Any:
    model = MODELS["openai-chat"]
    return il.convert(data, "anthropic", "openai-chat", kind="response", model=model).json()


def memory(data: bytes) -> Any:
    return request(data) if len(data) > 2 else request(workloads.request("W1"))


def bare(data: bytes) -> Any:
    return orjson.dumps(orjson.loads(data))


def rows(quick: bool) -> Iterator[Row]:
    rounds = 7 if quick else 21
    for name, target in REQUESTS.items():
        timing = alone("bench.translate:timed_request", name, rounds)
        yield Row(f"{name} Chat to Anthropic", shown(timing.floor), timing.ratio, target)
    for name, target in NEXT_TURN.items():
        timing = alone("bench.translate:timed_next_turn", name, rounds)
        label = "W6 the next turn of W2" if name == "anthropic" else f"W6 to {name}"
        yield Row(label, shown(timing.floor), timing.ratio, target)
    for name, target in RESPONSES.items():
        timing = alone("bench.translate:timed_response", name, rounds)
        yield Row(f"{name} Anthropic to Chat", shown(timing.floor), timing.ratio, target)
    for name, target in FITTED.items():
        timing = alone("bench.translate:timed_fitting", name, rounds)
        added = timing.candidate / timing.floor
        yield Row(f"{name} fitted to a model", shown(timing.floor), added, target)
    yield _memory_row()
    yield _linear_row(rounds)


def timed_request(name: str, rounds: int) -> Timing:
    data = workloads.request(name)
    times = rounds if len(data) > SHORT else rounds * 3
    return compare(lambda: request(data), lambda: bare(data), times)


def timed_next_turn(target: str, rounds: int) -> Timing:
    """A call and its result behind the others; the converter is in the same state each time,
    as if it had converted those alone."""
    before, after = workloads.next_turn()
    converter = il.Converter("openai-chat", target)
    converter.convert(before)
    conversations = converter._conversations
    held, size = conversations._held.copy(), conversations.size

    def candidate() -> Any:
        conversations._held, conversations.size = held.copy(), size
        return converter.convert(after).json()

    assert candidate() == il.convert(after, "openai-chat", target).json()
    return compare(candidate, lambda: bare(after), rounds * 3)


def timed_response(name: str, rounds: int) -> Timing:
    data = workloads.response(name)
    return compare(lambda: response(data), lambda: bare(data), rounds * 3)


def timed_fitting(name: str, rounds: int) -> Timing:
    """What fitting to a model adds, in turns with the same that is fitted to none; the best of each
    is compared, since the difference is smaller than what a busy machine adds to a median."""
    if name in REQUESTS:
        data = workloads.request(name)
        return compare(lambda: fitted(data), lambda: unfitted(data), rounds * 3)
    data = workloads.response(name)
    return compare(lambda: to_model(data), lambda: response(data), rounds * 3)


def _memory_row() -> Row:
    data = workloads.request("W4")
    grown = peak_growth("bench.translate:memory", data) / len(data)
    return Row("W4 peak memory", f"{len(data) / 1e6:.1f} MB", grown, MEMORY)


def _linear_row(rounds: int) -> Row:
    """How much more a message costs among 100,000 than among 10,000, as a ratio to the same for the
    bare parser, whose data outgrow the processor's caches as well."""
    some = workloads.encoded(workloads.chat_request(workloads.small(10_000)))
    many = workloads.encoded(workloads.chat_request(workloads.small(100_000)))
    times = max(rounds // 4, 3)
    ours = compare(lambda: request(many), lambda: request(some), times)
    theirs = compare(lambda: bare(many), lambda: bare(some), times)
    floor = f"{theirs.ratio / 10:.2f} x for the floor"
    return Row("per message, 100k / 10k", floor, ours.ratio / theirs.ratio, LINEAR)
