"""The cost of sessions on other models, from their recorded usage.

The recorded usage is the anchor. It fixes how many tokens each prompt had, including system prompts
and tools that a file does not hold; the estimator gives the ratio by which another model counts the
same text, the cache simulator what that model's vendor would have read and written, the price table
what that costs. The answers are assumed to be the same, word for word.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from interlingua.costs.caching import CachePrediction, CacheSimulator, Prompt, cache_rule
from interlingua.costs.cost import Costs, UnknownCostError, unpriced_parts
from interlingua.costs.table import PriceTable, Rates
from interlingua.model.blocks import Block
from interlingua.model.message import Message
from interlingua.model.metadata import Usage
from interlingua.profiles.estimate.estimator import (
    BlockCounts,
    Estimator,
    block_counts,
    family_of,
)
from interlingua.profiles.names import UnknownModelError


class Asked(NamedTuple):
    """One request of a session: the part of its prompt that is new, and the answer. With `restart`,
    that part is the whole prompt, as after a compaction. Without `count`, it is a copy of a request
    that was counted in another file."""

    added: Sequence[Message]
    answer: Message
    restart: bool = False
    counts: bool = True


class Spending:
    """The cost of requests on one model. `cost_usd` is exact for recorded usage, otherwise the
    middle of the range from `low_usd` to `high_usd`. `unpriced` requests are in none of them, or
    only without the parts in `lacks`."""

    def __init__(self, model: str, table: PriceTable) -> None:
        self.model = model
        self.requests = self.unpriced = self._unknown = 0
        self.lacks: dict[str, None] = {}
        self.fresh = self.cached = self.written = self.output = 0
        self._sums = tuple(Costs(table) for _ in range(3))

    def add(self, usages: tuple[Usage, Usage, Usage], model: str, at: datetime | None) -> None:
        """A request as it is likely, at the least and at the most."""
        self.requests += 1
        usage = usages[0]
        self.fresh += usage.input_tokens or 0
        self.cached += usage.cached_input_tokens or 0
        self.written += usage.cache_creation_input_tokens or 0
        self.output += usage.output_tokens or 0
        try:
            known = _add(self._sums[0], usage, model, at)
            for sum, each in zip(self._sums[1:], usages[1:], strict=True):
                sum.add(each, model, known=known)
        except (UnknownModelError, UnknownCostError, ValueError):
            self._unknown += 1
            self.unpriced += 1
        else:
            lacks = unpriced_parts(usage, model, self._sums[0].table)
            self.unpriced += bool(lacks)
            self.lacks.update(dict.fromkeys(lacks))

    @property
    def prompt(self) -> int:
        return self.fresh + self.cached + self.written

    @property
    def cost_usd(self) -> Decimal | None:
        return self._total(0)

    @property
    def low_usd(self) -> Decimal | None:
        return self._total(1)

    @property
    def high_usd(self) -> Decimal | None:
        return self._total(2)

    def _total(self, which: int) -> Decimal | None:
        return None if self.requests == self._unknown else self._sums[which].total


def _add(costs: Costs, usage: Usage, model: str, at: datetime | None) -> tuple[str, Rates]:
    """By the prices of that day; by those of the table where the model had none yet."""
    try:
        return costs.add(usage, model, at)
    except UnknownCostError:
        return costs.add(usage, model)


ERRORS = {
    "claude": 0.051,
    "gpt": 0.046,
    "cl100k": 0.046,
    "deepseek": 0.045,
    "nova": 0.030,
    "gemini": 0.084,
    "grok": 0.100,
    "mistral": 0.030,
}
"""The estimator's median error by family, as measured on recorded prompts (`docs/prices.md`)."""
_OTHER = 0.1
_UNANCHORED = 0.2
"""The part of a prompt by which an estimate alone may be off, without recorded usage."""
_MOST_SCALE = 1.5
"""The largest correction: beyond it a prompt that grew faster than its messages holds text that no
file has."""
_SHRUNK = 0.9


def estimate_error(model: str) -> float:
    """The part by which an estimate for this model is typically off."""
    family = family_of(model).name
    return next((error for name, error in ERRORS.items() if family.startswith(name)), _OTHER)


class Elsewhere:
    """Replays sessions on other models, and adds up the costs there and on the original models."""

    def __init__(self, models: Sequence[str], table: PriceTable) -> None:
        self.table = table
        self.spent = {model: Spending(model, table) for model in models}
        self.recorded = Spending("", table)
        self.models: dict[str, int] = {}
        """The models that were used, with the number of their requests."""
        self.unanchored = 0
        """Requests without recorded usage, whose prompts are estimated."""
        self.hidden = 0.0
        """Tokens of all prompts that are not in the files: system prompts, tools, additions of
        agents."""
        self.predictions: list[tuple[str, Usage, CachePrediction]] | None = None
        """Pairs of reported and predicted usage for the original model, if a list is set here for
        comparison."""
        self._estimators: dict[str, Estimator] = {}

    def replay(self, session: Iterable[Asked]) -> None:
        """One session, from its first request to its last."""
        replay = _Replay(self)
        for asked in session:
            replay.ask(asked)

    def is_sure(self, model: str) -> bool:
        """Whether its cache promises hits, or all of its usage is recorded."""
        return cache_rule(model).sure or set(self.models) == {model}

    def estimator(self, model: str) -> Estimator:
        if model not in self._estimators:
            self._estimators[model] = Estimator(model)
        return self._estimators[model]


class _Lane:
    """One model's view of a session: its tokens by part, and its cache."""

    def __init__(self, model: str, estimator: Estimator) -> None:
        self.model = model
        self.estimator = estimator
        self.ends: list[float] = []
        self.cache = CacheSimulator(model)

    def grow(self, tokens: float) -> None:
        self.ends.append((self.ends[-1] if self.ends else 0.0) + tokens)


class _Replay:
    def __init__(self, all: Elsewhere) -> None:
        self.all = all
        self._keys: list[int] = []
        self._known: dict[int, tuple[Block, BlockCounts]] = {}
        self._lanes: list[_Lane] = []
        """First the model that was used in the beginning, then the others."""
        self._used: str | None = None
        self._total = 0.0
        """Tokens of the last prompt, as recorded or else as estimated."""
        self._head = 0.0
        """Tokens before the first message, and those of them that other sessions share."""
        self._shared = 0.0
        self._scale = 1.0
        self._anchored = False
        """Whether any usage was recorded so far."""
        self._last = 0
        self._time = 0.0

    def ask(self, asked: Asked) -> None:
        metadata = asked.answer.metadata
        usage = metadata.usage or Usage()
        used = metadata.model or self._used or ""
        if not self._lanes:
            models = [used, *self.all.spent]
            self._lanes = [_Lane(model, self.all.estimator(model)) for model in models]
        if asked.answer.created_at is not None:
            self._time = max(self._time, asked.answer.created_at.timestamp())
        self._grow(asked, usage, used)
        blocks = self._blocks([asked.answer])
        if asked.counts:
            self._count(asked.answer, usage, used)
        self._compare(usage, used)
        for lane in self._lanes[1:]:
            predicted = self._send(lane)
            if asked.counts:
                self._spend(lane, asked.answer, usage, used, predicted, blocks)
        self._last, self._used = len(self._keys), used

    def _send(self, lane: _Lane) -> CachePrediction:
        """Sends a prompt with the breakpoints that the package sets: at the end of the last two
        prompts, and after instructions and tools."""
        length = len(self._keys)
        marks = dict.fromkeys(at for at in (1, 2, self._last, length) if at)
        return lane.cache.send(Prompt(self._keys, lane.ends, length, marks), self._time)

    def _compare(self, usage: Usage, used: str) -> None:
        """If the original model guarantees hits and reported fewer, a part of the prompt that the
        file lacks had changed; assume the same change for the other model."""
        own = self._lanes[0]
        if used != own.model:
            return
        cached, known = usage.cached_input_tokens or 0, usage.prompt_tokens
        predicted = self._send(own)
        if self.all.predictions is not None:
            self.all.predictions.append((used, usage, predicted))
        if known and own.cache.rule.sure and cached < predicted.cached / 2:
            same = sum(end <= cached / _SHRUNK for end in own.ends[:2])
            keys, self._keys = self._keys, self._keys[:same]
            for key in keys[same:]:
                self._key(hash((key, id(usage), len(keys))))
            self._send(own)

    def _blocks(self, messages: Iterable[Message]) -> list[tuple[Block, BlockCounts]]:
        """The blocks of messages with their counts, which an answer needs twice."""
        found: list[tuple[Block, BlockCounts]] = []
        for message in messages:
            for block in message.content:
                known = self._known.get(id(block))
                if known is None or known[0] is not block:
                    known = self._known[id(block)] = (block, block_counts(block))
                found.append(known)
        return found

    def _count(self, answer: Message, usage: Usage, used: str) -> None:
        all = self.all
        all.recorded.add((usage, usage, usage), used, answer.created_at)
        all.models[used] = all.models.get(used, 0) + 1
        all.hidden += self._head
        if not usage.prompt_tokens:
            all.unanchored += 1

    def _grow(self, asked: Asked, usage: Usage, used: str) -> None:
        total = usage.prompt_tokens or None
        blocks = self._blocks(asked.added)
        estimator = self.all.estimator(used)
        around = estimator.per_message * len(asked.added)
        estimate = sum(estimator.of_counts(*each) for each in blocks) + around
        shrunk = total is not None and total < self._total * _SHRUNK and not asked.restart
        if asked.restart or shrunk or not self._keys:
            self._restart(used, usage, 0.0 if shrunk else estimate)
        elif total is not None and not self._anchored:
            self._shift(max(total - self._total - estimate, 0.0), used)
        self._anchored = self._anchored or total is not None
        grown = estimate if total is None else max(total - self._total, 0.0)
        hidden = 0.0
        if total is None or (self._used not in (None, used)):
            scale = self._scale
        else:
            scale = min(grown / estimate, _MOST_SCALE) if estimate else 0.0
            hidden = grown - scale * estimate
            self._scale = scale or self._scale
        self._total = float(total) if total is not None else self._total + estimate
        for each in blocks:
            self._key(id(each[0]))
            for lane in self._lanes:
                around = lane.estimator.per_message * len(asked.added) / len(blocks)
                lane.grow((lane.estimator.of_counts(*each) + around) * scale)
        if hidden > 0:
            self._part(-len(self._keys), hidden, used)

    def _restart(self, used: str, usage: Usage, estimate: float) -> None:
        """Starts the prompt again with the part that no file contains, which stays the same in a
        session. What the first request read from the cache came from another session."""
        total, shared = usage.prompt_tokens, 0.0
        if not self._keys:
            self._head = max(total - estimate, 0.0) if total else 0.0
            shared = self._shared = min(usage.cached_input_tokens or 0, self._head)
        self._keys, self._last = [], 0
        for lane in self._lanes:
            lane.ends = []
        head = min(self._head, total) if total else self._head
        self._part(0, min(self._shared, head), used)
        self._part(0, max(head - self._shared, 0.0), used)
        for lane in self._lanes if shared else ():
            lane.cache.warm(self._keys[0], self._time)
        self._total = head

    def _shift(self, head: float, used: str) -> None:
        """The first recorded usage shows how much stood before a prompt that has begun."""
        self._head, self._total = head, self._total + head
        own = self.all.estimator(used).per_text
        for lane in self._lanes:
            more = head * lane.estimator.per_text / own
            lane.ends = [end + more for end in lane.ends]

    def _part(self, key: int, tokens: float, used: str) -> None:
        """A part that is known by its tokens on the model that was used."""
        own = self.all.estimator(used).per_text
        self._key(key)
        for lane in self._lanes:
            lane.grow(tokens * lane.estimator.per_text / own)

    def _key(self, key: int) -> None:
        self._keys.append(hash((self._keys[-1] if self._keys else 0, key)))

    def _spend(
        self,
        lane: _Lane,
        answer: Message,
        usage: Usage,
        used: str,
        predicted: CachePrediction,
        blocks: Sequence[tuple[Block, BlockCounts]],
    ) -> None:
        spending, at = self.all.spent[lane.model], answer.created_at
        if lane.model == used and usage.input_tokens is not None:
            spending.add((usage, usage, usage), used, at)
            return
        written = self._output(lane, usage, used, blocks)
        error = _UNANCHORED
        if usage.prompt_tokens:
            error = estimate_error(lane.model) + estimate_error(used)
        tools = usage.tool_uses
        likely = _usage(predicted, written, 1.0, 1.0).replace(tool_uses=tools)
        least = _usage(predicted, written, 1 - error, 1.0).replace(tool_uses=tools)
        most = _usage(predicted, written, 1 + error, lane.cache.rule.realised)
        spending.add((likely, least, most.replace(tool_uses=tools)), lane.model, at)

    def _output(
        self,
        lane: _Lane,
        usage: Usage,
        used: str,
        blocks: Sequence[tuple[Block, BlockCounts]],
    ) -> float:
        here = sum(lane.estimator.of_counts(*each) for each in blocks)
        if usage.output_tokens is None:
            return here
        there = sum(self.all.estimator(used).of_counts(*each) for each in blocks)
        text = lane.estimator.per_text / self.all.estimator(used).per_text
        return usage.output_tokens * (here / there if there else text)


def _usage(predicted: CachePrediction, output: float, scale: float, realised: float) -> Usage:
    """The prediction with more or fewer tokens, and with a part of its hits missed: those are
    written again where the vendor writes at all."""
    cached = round(predicted.cached * scale * realised)
    missed = round(predicted.cached * scale) - cached
    writes = bool(predicted.written)
    return Usage(
        round(predicted.fresh * scale) + (0 if writes else missed),
        round(output * scale),
        cached,
        round(predicted.written * scale) + (missed if writes else 0),
    )
