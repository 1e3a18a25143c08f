"""Predicts the cache read and the cost of a conversation's next request, before it is sent.

For the cache simulator, a request is parts in the order in which vendors read them: tools come
first, then instructions, then the other messages, block by block. A part's key stands for
everything up to it, without the marks, which vendors do not compare.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from itertools import accumulate, pairwise
from typing import NamedTuple

from interlingua.costs.caching import CachePrediction, CacheSimulator, Prompt, seconds_of
from interlingua.costs.cost import UnknownCostError, cost_of
from interlingua.costs.elsewhere import estimate_error
from interlingua.costs.table import PriceTable
from interlingua.model.blocks import Block, Cache
from interlingua.model.codec import dumps
from interlingua.model.exchange import Request
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Usage
from interlingua.model.tools import ToolDefinition
from interlingua.profiles.estimate.estimator import Estimator
from interlingua.profiles.names import UnknownModelError

_INSTRUCT = frozenset({Role.SYSTEM, Role.DEVELOPER})


_CHUNK = 64
"""Letters of a text that are one part, where vendors compare token by token."""


class _Part(NamedTuple):
    key: Hashable
    tokens: float
    mark: Cache | None = None
    answer: bool = False


def prompt_of(
    request: Request, estimator: Estimator, total: int | None = None, fine: bool = False
) -> Prompt:
    """The prompt of a request; `total` is how many tokens it has, if that is known: each part then
    has its share of them by the estimate. In a `fine` one, long texts are several parts."""
    parts = list(_parts(request, estimator))
    if fine:
        parts = [chunk for part in parts for chunk in _chunks(part)]
    whole = estimator.tokens(request.messages, request.tools, request.options)
    ends = list(accumulate(part.tokens for part in parts))
    head = max(whole - ends[-1], 0.0) if ends else 0.0  # the overhead before the first part
    scale = 1.0 if total is None or not whole else total / (ends[-1] + head if ends else whole)
    ends = [(end + head) * scale for end in ends]
    options = request.options
    life = options.cache_ttl
    marks = {at: part.mark.ttl or life for at, part in enumerate(parts, 1) if part.mark is not None}
    if options.cache is not None:
        marks[len(parts)] = options.cache.ttl or life
    keys = list(accumulate((part.key for part in parts), lambda last, key: hash((last, key))))
    answers = frozenset(at for at, part in enumerate(parts, 1) if part.answer)
    explicit = options.cache_mode == "explicit"
    return Prompt(keys, ends, len(parts), marks, explicit, answers, life)


def _chunks(part: _Part) -> Iterator[_Part]:
    role, data = part.key if isinstance(part.key, tuple) else ("", part.key)
    if not isinstance(data, bytes) or len(data) <= _CHUNK:
        yield part
        return
    for start in range(0, len(data), _CHUNK):
        piece = data[start : start + _CHUNK]
        share = part.tokens * len(piece) / len(data)
        last = start + _CHUNK >= len(data)
        yield _Part((role, piece), share, part.mark if last else None, part.answer)


def _parts(request: Request, estimator: Estimator) -> Iterator[_Part]:
    for tool in request.tools:
        yield _Part(_bytes(tool), estimator.of_tool(tool), tool.cache)
    first = [each for each in request.messages if each.role in _INSTRUCT]
    others = [each for each in request.messages if each.role not in _INSTRUCT]
    settings = (request.options.tool_choice, request.options.reasoning)
    for message in first:
        for block in message.content:
            yield _Part(_bytes(block), estimator.of_block(block), block.cache)
    begins = True
    for message in others:
        around = estimator.per_message
        for block in message.content:
            # A change of these settings leaves tools and instructions in the cache, and no more.
            key = (f"{message.role}{settings if begins else ''}", _bytes(block))
            tokens = estimator.of_block(block) + around
            yield _Part(key, tokens, block.cache, message.role is Role.ASSISTANT)
            around, begins = 0.0, False


def _bytes(value: Block | ToolDefinition) -> bytes:
    return dumps(value.replace(cache=None) if value.cache is not None else value)


class Measured:
    """Prompts whose parts are measured by the totals that a vendor reported before: where a prompt
    begins with an earlier one, that beginning has the tokens of the earlier one."""

    def __init__(self, estimator: Estimator, fine: bool = False) -> None:
        self.estimator = estimator
        self.fine = fine
        self._known: dict[Hashable, float] = {}

    def prompt(self, request: Request, total: int) -> Prompt:
        """The prompt of a request that the vendor counted as `total` tokens."""
        prompt = prompt_of(request, self.estimator, total, self.fine)
        anchors = [(0, 0.0, 0.0)]
        for at, (key, end) in enumerate(zip(prompt.keys, prompt.ends, strict=True), 1):
            tokens = float(total) if at == prompt.length else self._known.get(key)
            if tokens is not None and anchors[-1][2] <= tokens <= total:
                anchors.append((at, end, tokens))
        ends: list[float] = []
        for (start, low, least), (stop, high, most) in pairwise(anchors):
            scale = (most - least) / (high - low) if high > low else 0.0
            ends += [least + (prompt.ends[at] - low) * scale for at in range(start, stop - 1)]
            ends.append(most)
        if prompt.length:
            self._known[prompt.keys[-1]] = float(total)
        return prompt._replace(ends=ends)


_LOOKED_AT = 4
"""The last answers of a model whose prompts may be in its cache."""
_SHORT = frozenset({None, "in_memory", "5m"})
"""Lifetimes that become the shortest one; all others become the longest."""
_HEAD = frozenset({Role.SYSTEM, Role.DEVELOPER})


class Ahead(NamedTuple):
    """The prompt of the next request: its tokens, and their cost without an answer; None where no
    price is known. `sure` is False where the vendor promises no hit."""

    cached: int
    written: int
    fresh: int
    cost_usd: Decimal | None
    sure: bool
    reason: str | None = None
    """Why nothing of it is read from the cache, if a rule decides that."""
    unknown: tuple[str, ...] = ()
    """Unknown parts of the prediction."""

    @property
    def text(self) -> str:
        """For people: where the tokens come from."""
        whole = self.cached + self.written + self.fresh
        why = "" if self.reason is None else f" ({self.reason})"
        if not self.cached and not self.written:
            return f"{whole:,} tokens, none of them cached{why}"
        likely = "" if self.sure else " if they are still there"
        cache = "it" if self.cached else "the cache"
        parts = [
            f"{self.cached:,} from the cache{likely}" if self.cached else "",
            f"{self.written:,} written to {cache}" if self.written else "",
            f"{self.fresh:,} fresh" if self.fresh else "",
        ]
        return f"{whole:,} tokens, {', '.join(part for part in parts if part)}{why}"


def ahead(
    request: Request,
    model: str,
    at: datetime,
    table: PriceTable | None = None,
    caching: str = "auto",
) -> Ahead:
    """The predicted usage of a request on a model. The answers of this model among its messages
    show which prompts its cache has seen, and how many tokens they had; `caching` is the mode in
    which the request is sent."""
    cache, estimator = CacheSimulator(model), Estimator(model)
    fine = cache.rule.finds == "prefix"
    scale, last, seen, measured = 1.0, 0, None, False
    for length, answer in _answers(request.messages, model):
        beginning = request.replace(messages=request.messages[:length])
        earlier = prompt_of(beginning, estimator, fine=fine)
        usage, estimate = answer.metadata.usage, earlier.tokens(earlier.length)
        if usage is not None and usage.prompt_tokens and estimate:
            scale, measured = usage.prompt_tokens / estimate, True
        if answer.created_at is not None:
            seen = answer.created_at
            cache.send(_sent(cache, earlier, beginning, scale, last, caching), seen.timestamp())
            last = earlier.length
    prompt = prompt_of(request, estimator, fine=fine)
    prompt = _sent(cache, prompt, request, scale, last, caching)
    predicted = cache.send(prompt, at.timestamp())
    cost = _cost(predicted, model, table, at)
    reason = None if predicted.cached else _reason(cache, prompt, seen, at)
    unknown = tuple(_unknown(cache, predicted, cost, measured, reason))
    return Ahead(*predicted[:3], cost, predicted.sure, reason, unknown)


def _answers(history: Sequence[Message], model: str) -> Iterator[tuple[int, Message]]:
    """The last answers of this model, each with the number of messages before it."""
    own = [
        (at, message)
        for at, message in enumerate(history)
        if message.role is Role.ASSISTANT and message.metadata.model == model
    ]
    yield from own[-_LOOKED_AT:]


def _sent(
    cache: CacheSimulator, prompt: Prompt, request: Request, scale: float, last: int, caching: str
) -> Prompt:
    """The request as it is sent: with the marks that the package sets behind tools, instructions
    and the last two prompts, unless the request has its own; without any if caching is off."""
    prompt = prompt._replace(ends=[end * scale for end in prompt.ends])
    if caching == "off":
        return prompt._replace(marks={}, explicit=False)
    if cache.rule.finds != "marks" or caching == "pass" or prompt.marks or prompt.explicit:
        return prompt
    tools = len(request.tools)
    head = sum(len(each.content) for each in request.messages if each.role in _HEAD)
    marks = (tools, tools + head, last, prompt.length)
    life = prompt.lifetime if prompt.lifetime in _SHORT else cache.rule.lifetimes[-1]
    return prompt._replace(marks={at: life for at in marks if at})


def _reason(
    cache: CacheSimulator, prompt: Prompt, seen: datetime | None, at: datetime
) -> str | None:
    """Why nothing is read from the cache."""
    rule = cache.rule
    if rule.finds == "none":
        return None
    if prompt.tokens(prompt.length) < (rule.minimum or 0):
        return f"the model caches prompts of {rule.minimum:,} tokens or more"
    if rule.finds == "marks" and not prompt.marks:
        return "the request has no breakpoints"
    if seen is not None and (at - seen).total_seconds() > seconds_of(rule.lifetimes[0]):
        minutes = round((at - seen).total_seconds() / 60)
        sent = f"the last prompt was sent {minutes:,} minutes ago"
        return f"{sent} and is cached for {rule.lifetimes[0]}"
    return None


def _unknown(
    cache: CacheSimulator,
    predicted: CachePrediction,
    cost: Decimal | None,
    measured: bool,
    reason: str | None,
) -> Iterator[str]:
    rule, model = cache.rule, cache.model
    if not measured:
        error = f"{estimate_error(model) * 100:.0f} %"
        yield f"how many tokens the prompt has (estimated, typically to within {error})"
    if rule.finds == "none":
        yield f"how {model} caches (no rule is known)"
    elif predicted.cached and not predicted.sure:
        yield f"whether the prompt is still cached ({model.partition(':')[0]} promises no hit)"
    elif not predicted.cached and reason is None:
        yield "whether earlier requests of other conversations are still in the cache"
    if cost is None:
        yield f"the cost (the price table has no price for {model})"


def _cost(
    predicted: CachePrediction, model: str, table: PriceTable | None, at: datetime
) -> Decimal | None:
    longer = predicted.long_written
    writes = {"1h": longer, "5m": predicted.written - longer} if longer else None
    usage = Usage(predicted.fresh, 0, predicted.cached, predicted.written, cache_writes=writes)
    try:
        return cost_of(usage, model, table, at).total
    except (UnknownModelError, UnknownCostError):
        return None
