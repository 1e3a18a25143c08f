"""Recorded conversations through the cache simulator: predicted tokens against reported ones.

    python -m tests.costs.cache_replay            a table by rule
    python -m tests.costs.cache_replay --all      and every answer

What the rules decide is settled without looking at whether the prediction is right. With marks:
how many tokens are read or written together, and in a recording that begins with a cold cache, how
many of them are read. With a cache that promises no hit: how many are read, if any are, in a
recording that begins cold. Not decided are answers to requests with parts that the recording does
not have, reads from a cache that unrecorded requests had warmed, and hits that were possible and
did not happen: routing and eviction.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Literal, NamedTuple

import interlingua as il
from interlingua.costs.ahead import Measured
from interlingua.costs.caching import CachePrediction, CacheRule, CacheSimulator, cache_rules
from interlingua.costs.elsewhere import Asked, Elsewhere
from interlingua.costs.table import bundled
from interlingua.profiles.estimate.estimator import Estimator
from interlingua.transcripts.prices import requests_of
from interlingua.transcripts.sessions import at, opened
from tests.laws.corpus import Record, records
from tests.laws.streams import frames_of, read
from tests.profiles.estimate.recorded import LARGE, PROVIDERS, UNSEEN
from tests.transcripts.samples import samples

NEAR = 0.05
"""The part of a prompt's tokens by which a prediction may be off."""
Verdict = Literal["near", "far", "unseen", "warm", "missed", "idle"]
COLUMNS: tuple[Verdict, ...] = ("near", "far", "missed", "warm", "unseen")


class Compared(NamedTuple):
    record: Record
    rule: CacheRule
    usage: il.Usage
    predicted: CachePrediction
    seen: bool
    """Whether the recording has all parts of the prompt."""
    warm: bool
    """Whether the recording's first request to this model read from the cache."""

    @property
    def verdict(self) -> Verdict:
        predicted, total = self.predicted, self.usage.prompt_tokens or 0
        read = self.usage.cached_input_tokens or 0
        written = self.usage.cache_creation_input_tokens or 0
        if not read and not written and not predicted.cached and not predicted.written:
            return "idle"
        if not self.seen:
            return "unseen"
        room = NEAR * total
        if self.rule.finds == "marks":
            covered = abs(predicted.cached + predicted.written - read - written) <= room
            if self.warm:
                return "warm" if covered else "far"
            return "near" if covered and abs(predicted.cached - read) <= room else "far"
        if self.warm:
            return "warm"
        if not read and not written:
            return "missed"
        if predicted.cached and not read:
            return "missed"
        return "near" if abs(predicted.cached - read) <= room else "far"


def usage_of(record: Record) -> il.Usage | None:
    dialect = il.dialect(record.dialect or "")
    if record.response is not None:
        response = dialect.read_response(record.response)
    elif record.stream:
        response = il.fold(read(dialect, frames_of(record)))
    else:
        return None
    return response.message.metadata.usage


def conversations(dialects: tuple[str, ...] = ()) -> Iterator[list[Record]]:
    """The exchanges of each recording, in order; fixtures have none."""
    groups: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for dialect in dialects or (None,):
        for record in records(dialect):
            if record.accepted and record.request is not None and record.provenance != "fixture":
                groups[record.source, record.source_path].append(record)
    for group in groups.values():
        yield sorted(group, key=lambda record: record.exchange)


def compared(dialects: tuple[str, ...] = ()) -> Iterator[Compared]:
    for conversation in conversations(dialects):
        caches: dict[str, tuple[CacheSimulator, Measured, bool]] = {}
        for record in conversation:
            usage = usage_of(record)
            if usage is None or not usage.prompt_tokens:
                continue
            provider = PROVIDERS.get(record.provider, record.provider)
            request = il.dialect(record.dialect or "").read_request(record.request, record.model)
            model = f"{provider}:{request.model or record.model}"
            if model not in caches:
                simulator = CacheSimulator(model)
                ruler = Measured(Estimator(model), simulator.rule.finds == "prefix")
                caches[model] = simulator, ruler, bool(usage.cached_input_tokens)
            simulator, ruler, warm = caches[model]
            predicted = simulator.send(ruler.prompt(request, usage.prompt_tokens))
            yield Compared(
                record, simulator.rule, usage, predicted, _is_seen(record, request), warm
            )


def _is_seen(record: Record, request: il.Request) -> bool:
    hidden = any(UNSEEN & each.keys() for each in (request.raw or {}).values())
    server = any(tool.executor != "client" for tool in request.tools)
    return not (hidden or server or request.continues or "server_tool" in record.features)


def tables(found: list[Compared]) -> list[str]:
    """Two tables: what rules decide, with sessions of agents, and what they guess at."""
    counts: dict[str, Counter[Verdict]] = defaultdict(Counter)
    for each in found:
        counts[each.rule.id][each.verdict] += 1
    counts["claude, agents' sessions"] = agents()
    guessed = {rule.id for rule in cache_rules() if rule.guess}
    lines: list[str] = []
    for title, chosen in (("rule", counts.keys() - guessed), ("guessed", counts.keys() & guessed)):
        lines += [*([""] if lines else []), f"| {title} | within 5 % | {' | '.join(COLUMNS)} |"]
        lines.append("| --- |" + " ---: |" * (len(COLUMNS) + 1))
        total: Counter[Verdict] = Counter()
        for name in sorted(chosen):
            if any(counts[name][column] for column in COLUMNS):
                lines.append(_row(name, counts[name]))
                total.update(counts[name])
        lines.append(_row("all", total))
    return lines


def _row(name: str, counts: Counter[Verdict]) -> str:
    judged = counts["near"] + counts["far"]
    share = f"{100 * counts['near'] / judged:.0f} %" if judged else "-"
    return f"| {name} | {share} | {' | '.join(str(counts[each]) for each in COLUMNS)} |"


def agents() -> Counter[Verdict]:
    """The same for sessions of agents on Claude whose answers report cached tokens."""
    verdicts: Counter[Verdict] = Counter()
    for sample in samples():
        if sample.format not in AGENTS or sample.name.startswith("made"):
            continue  # made against a scripted model
        for asked in requests_of(opened(at(sample.path, sample.format))):
            verdicts.update(_verdicts(asked))
    return verdicts


AGENTS = ("claude-code", "pi", "opencode", "cline")


def _verdicts(asked: list[Asked]) -> Iterator[Verdict]:
    costs = Elsewhere((), bundled())
    costs.predictions = []
    costs.replay(asked)
    for number, (model, usage, predicted) in enumerate(costs.predictions):
        total = usage.prompt_tokens or 0
        read = usage.cached_input_tokens or 0
        if "claude" not in model or total < LARGE or not (read or predicted.cached):
            continue
        if number == 0:
            yield "warm"
        elif not read:
            yield "missed"
        else:
            yield "near" if abs(predicted.cached - read) <= NEAR * total else "far"


if __name__ == "__main__":
    found = list(compared())
    if "--all" in sys.argv:
        for each in found:
            if each.verdict != "idle":
                u, p = each.usage, each.predicted
                counts = f"read {u.cached_input_tokens} for {p.cached}, written"
                counts += f" {u.cache_creation_input_tokens} for {p.written}"
                place = f"{each.record.source_path[-40:]} #{each.record.exchange}"
                print(f"{each.verdict:7}{each.rule.id:20}{u.prompt_tokens:>7} {counts}  {place}")
    print(*tables(found), sep="\n")
