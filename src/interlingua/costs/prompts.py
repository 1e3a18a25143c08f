"""Requests as prompts for the cache simulator: parts in the order in which vendors read them.

Tools come first, then instructions, then the other messages, block by block. A part's key stands
for everything up to it, without the marks, which vendors do not compare.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import accumulate, pairwise
from typing import NamedTuple

from interlingua.costs.caching import Prompt
from interlingua.model.blocks import Block, Cache
from interlingua.model.codec import dumps
from interlingua.model.exchange import Request
from interlingua.model.message import Role
from interlingua.model.tools import ToolDefinition
from interlingua.profiles.estimate.estimator import Estimator

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
    head = max(whole - ends[-1], 0.0) if ends else 0.0  # what stands around the first part
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
