"""From tokens to money: exact, by category, never guessed.

A count that was not reported is unknown, not zero. Without the fresh input or the output there is
no cost, unless that kind is free. The two cache counts are different: providers leave them out when
nothing was cached, and then all of the prompt is in the fresh count, so there None adds nothing.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from decimal import Context, Decimal, Inexact, InvalidOperation, Overflow
from typing import Any, NamedTuple

from interlingua.costs.table import (
    SHORT_LIFETIMES,
    Period,
    PriceTable,
    Rates,
    bundled,
    own_table,
)
from interlingua.errors import InterlinguaError, a_type
from interlingua.model.blocks import ToolUseBlock
from interlingua.model.message import Message
from interlingua.model.metadata import (
    USUAL_TIERS,
    CostBreakdown,
    MessageMetadata,
    Usage,
    reported_cost,
)
from interlingua.profiles.names import UnknownModelError

# Independent of the program's own decimal context; rounding would be an error, and cannot happen
# with prices of eighteen places and counts below 10 ** 18.
EXACT = Context(prec=80, traps=[Inexact, InvalidOperation, Overflow])
_MOST_TOKENS = 10**18


class UnknownCostError(InterlinguaError):
    """A model with a price, and tokens whose cost still cannot be computed."""

    def __init__(self, model: str, problem: str) -> None:
        self.model = model
        self.problem = problem
        super().__init__(f"cost of {model}: {problem}")


class Cost(NamedTuple):
    """The cost of a usage in US dollars, with the table entry that it comes from. `unpriced` lists
    parts without a price, which are not in the sums: runs of a tool, a service tier."""

    model: str
    pricing_version: str
    breakdown: CostBreakdown
    total: Decimal
    unpriced: tuple[str, ...] = ()

    @property
    def input(self) -> Decimal:
        return self.breakdown.input

    @property
    def output(self) -> Decimal:
        return self.breakdown.output

    @property
    def cached_input(self) -> Decimal:
        return self.breakdown.cached_input

    @property
    def cache_creation(self) -> Decimal:
        return self.breakdown.cache_creation

    @property
    def tools(self) -> Decimal:
        return self.breakdown.tools


def price(
    usage: Usage,
    model: str,
    table: PriceTable | None = None,
    at: datetime | date | None = None,
    cache_write_1h_tokens: int = 0,
) -> CostBreakdown:
    """The cost of a usage by category.

    `at` is when the call was made: prices change, and some depend on the hour; without it the
    prices at the table's version are used. `cache_write_1h_tokens` of the tokens written to the
    cache were written to the one-hour cache.
    """
    return cost_of(usage, model, table, at, cache_write_1h_tokens).breakdown


def priced(
    usage: Usage,
    model: str,
    table: PriceTable | None = None,
    at: datetime | date | None = None,
    cache_write_1h_tokens: int = 0,
) -> Usage:
    """The usage with its cost and the version of the table. Where counts are missing, the usage
    without a cost: unknown, which is not zero."""
    found: object = usage
    if not isinstance(found, Usage):
        raise TypeError(f"usage is il.Usage, as of an answer; found {a_type(found)}")
    try:
        cost = cost_of(usage, model, table, at, cache_write_1h_tokens)
    except UnknownCostError:
        return usage.replace(**dict.fromkeys(_MONEY))
    return with_cost(usage, cost)


_MONEY = ("cost_usd", "cost_breakdown", "pricing_version", "unpriced")


def with_cost(usage: Usage, cost: Cost) -> Usage:
    """The usage with this cost in place of its own."""
    found = (cost.total, cost.breakdown, cost.pricing_version, cost.unpriced or None)
    return usage.replace(**dict(zip(_MONEY, found, strict=True)))


def cost_of(
    usage: Usage,
    model: str,
    table: PriceTable | None = None,
    at: datetime | date | None = None,
    cache_write_1h_tokens: int = 0,
) -> Cost:
    """The cost with the entry and the version it was computed by."""
    table = bundled() if table is None else table
    id = table.find(model)
    rates = _rates(id, table, usage, at)
    counts = _counts(usage, id, rates, cache_write_1h_tokens)
    unpriced: list[str] = []
    mode, tools = _ONE, _ZERO
    if not is_usual(usage, id):
        mode = _mode(usage, id, table, unpriced)
        tools = _tools(usage, id, table, unpriced)
    parts = [_ZERO] * 4
    for count, rate, part in zip(counts, _prices(rates), _CATEGORIES, strict=True):
        if count:
            parts[part] = EXACT.add(parts[part], _dollars(count, rate, mode))
    for round, by in rounds_beside(usage) if usage.raw is not None else ():
        _add_round(round, by, id, table, at, parts, unpriced)
    breakdown = CostBreakdown(parts[0], parts[1], parts[2], parts[3], tools)
    return Cost(id, table.version, breakdown, total(*parts, tools), tuple(unpriced))


def unpriced_parts(
    usage: Usage, model: str | None, table: PriceTable | None = None
) -> tuple[str, ...]:
    """The parts of an answer without a price, which are therefore not in its cost: runs of a
    tool, a service tier, an advisor. A model without a price has no parts. A stored list counts
    before the table."""
    if usage.unpriced:
        return usage.unpriced
    if model is None or is_usual(usage, model):
        return ()
    table = own_table() if table is None else table
    try:
        id = table.find(model)
    except UnknownModelError:
        return ()
    unpriced: list[str] = []
    _mode(usage, id, table, unpriced)
    _tools(usage, id, table, unpriced)
    for _, by in rounds_beside(usage):
        if by is not None and f"{id.partition(':')[0]}:{by}" not in table:
            unpriced.append(f"the advisor {by}")
    return tuple(unpriced)


def cost_notes(usage: Usage, model: str | None) -> list[str]:
    """Notes on a cost: its missing parts, and the cost that the provider reports."""
    lacks = () if usage.cost_usd is None else unpriced_parts(usage, model)
    notes = [f"without {' and '.join(lacks)}, whose price is not known"] if lacks else []
    theirs = reported_cost(usage) if usage.raw is not None else None
    if theirs is not None:
        more = ", which is more than 2 % apart" if differs(usage.cost_usd, theirs) else ""
        notes.append(f"the provider reports ${theirs:f}{more}")
    return notes


def with_runs(message: Message) -> Usage | None:
    """The usage of an answer, with runs of the provider's tools that only its content shows: code,
    searches that Gemini counts nowhere. Answers of Responses are counted as they are read."""
    metadata, usage = message.metadata, message.metadata.usage
    counted = _COUNTED.get(metadata.protocol or "", frozenset())
    if usage is None or counted is None:
        return usage
    runs: dict[str, int] = {}
    for block in message.content:
        if type(block) is ToolUseBlock and block.executor == "provider" and block.name in _RUNS:
            kind = _RUNS[block.name]
            runs[kind] = runs.get(kind, 0) + 1
    if metadata.provider_raw is not None:
        runs |= _grounded(metadata)
    if not runs:
        return usage
    runs = {kind: number for kind, number in runs.items() if kind not in counted}
    known = usage.tool_uses or {}
    if runs.keys() <= known.keys():
        return usage
    return usage.replace(tool_uses=dict(sorted((runs | known).items())))


_RUNS = {
    **dict.fromkeys(("code_execution", "code_interpreter", "python"), "code_execution"),
    **dict.fromkeys(("bash_code_execution", "text_editor_code_execution"), "code_execution"),
    **dict.fromkeys(("codeExecution", "nova_code_interpreter"), "code_execution"),
    **dict.fromkeys(("web_search", "google_search", "GOOGLE_SEARCH_WEB"), "web_search"),
    **dict.fromkeys(("search", "browser_search", "nova_grounding"), "web_search"),
    **{kind: kind for kind in ("file_search", "image_generation", "web_fetch", "x_search")},
}
"""The providers' names of their tools, and the kinds that are counted."""
_COUNTED = {"anthropic": frozenset({"web_search", "web_fetch"}), "openai-responses": None}
"""Tool runs that the usage of a dialect always counts; None means all of them."""
_BY_PROMPT = re.compile(r"gemini-[12]\b")
"""Models whose searches are billed once for each prompt, and not for each query (Google's page of
prices, read 2026-11)."""


def _grounded(metadata: MessageMetadata) -> dict[str, int]:
    """The searches that an answer of Gemini rests on: queries that are not empty, each once."""
    own = (metadata.provider_raw or {}).get("gemini")
    found = own.get("groundingMetadata") if isinstance(own, dict) else None
    if type(found) is not dict:
        return {}
    queries, chunks = found.get("webSearchQueries"), found.get("groundingChunks")
    runs: dict[str, int] = {}
    if type(queries) is list and (unique := {str(query) for query in queries if query}):
        by_prompt = _BY_PROMPT.search(metadata.response_model or "")
        runs["web_search"] = 1 if by_prompt else len(unique)
    if type(chunks) is list and any(type(each) is dict and "maps" in each for each in chunks):
        runs["maps"] = 1
    return runs


def rounds_beside(usage: Usage) -> list[tuple[Usage, str | None]]:
    """Rounds of an answer whose tokens are not in its counts, and the model of each where that is
    another: Anthropic counts compactions and advisors apart (`anthropic` 2.9.0 and the page of the
    advisor tool, read 2026-11)."""
    found = []
    for each in raw_rounds_beside(usage):
        by = each.get("model") if each["type"] == "advisor_message" else None
        counts = [each[key] for key in _ROUND]
        found.append((Usage(*counts), by if isinstance(by, str) else None))
    return found


def raw_rounds_beside(usage: Usage) -> list[dict[str, Any]]:
    """The same as reported, without anything that their cost does not depend on."""
    found = []
    for own in (usage.raw or {}).values():
        rounds = own.get("iterations") if isinstance(own, dict) else None
        for each in rounds if isinstance(rounds, list) else ():
            if isinstance(each, dict) and each.get("type") in _BESIDE:
                counts: list[Any] = [each.get(key) for key in _ROUND]
                if all(type(count) is int and 0 <= count < _MOST_TOKENS for count in counts):
                    found.append({key: each[key] for key in _OF_ROUND if key in each})
    return found


def is_usual(usage: Usage, model: str) -> bool:
    """Whether its counts at list prices are the whole cost."""
    if _SEARCHES in model or not usage.is_plain:
        return False
    return usage.raw is None or not billed_beside(usage)


def billed_beside(usage: Usage) -> dict[str, Any]:
    """Fields of the provider's usage beside the counts that change the price."""
    found: dict[str, Any] = {}
    for own in (usage.raw or {}).values():
        if isinstance(own, dict):
            found |= {key: own[key] for key in _BILLED if key in own and _is_billed(key, own[key])}
    if rounds := raw_rounds_beside(usage):
        found["iterations"] = rounds
    return found


_SURCHARGED = {"speed": "speed", "inference_geo": "region"}
"""Anthropic's faster answers, and a region (its pages of prices, read 2026-11)."""
_LIST_PRICES = frozenset({"", "standard", "global", "not_available"})
_TOOL_TOKENS = ("toolUsePromptTokenCount", "total_tool_use_tokens")
"""Google's counts of the tokens that its own tools added to a prompt, which are not part of the
prompt count."""
_XAI_RUNS = "server_side_tool_usage_details"
_XAI_KINDS = {
    "web_search_calls": "web_search",
    "x_search_calls": "x_search",
    "code_interpreter_calls": "code_execution",
    "file_search_calls": "file_search",
    "document_search_calls": "file_search",
}
_BILLED = (*_SURCHARGED, *_TOOL_TOKENS, _XAI_RUNS)
_SEARCHES = "-search-"
"""In the name of a model that searches the web for each answer and counts no searches."""


def _is_billed(key: str, value: Any) -> bool:
    if key in _SURCHARGED:
        return isinstance(value, str) and value not in _LIST_PRICES
    if key == _XAI_RUNS:
        return isinstance(value, dict) and any(_xai_runs(value).values())
    return type(value) is int and 0 < value < _MOST_TOKENS


def _xai_runs(counts: dict[str, Any]) -> dict[str, int]:
    runs: dict[str, int] = {}
    for word, kind in _XAI_KINDS.items():
        number = counts.get(word)
        if type(number) is int and 0 < number < _MOST_TOKENS:
            runs[kind] = runs.get(kind, 0) + number
    return runs


def _tool_tokens(usage: Usage) -> int:
    """The tokens that Google's tools added to the prompt, which cost as much as other input; search
    results are free."""
    if "web_search" in (usage.tool_uses or ()):
        return 0
    beside = billed_beside(usage)
    return sum([beside.get(key, 0) for key in _TOOL_TOKENS])


def _runs(usage: Usage, id: str) -> dict[str, int]:
    """Runs of the provider's tools, including those counted in xAI's own fields, and the one search
    of a model that always searches."""
    runs = {} if usage.raw is None else _xai_runs(billed_beside(usage).get(_XAI_RUNS, {}))
    if _SEARCHES in id:
        runs["web_search"] = 1
    return runs | (usage.tool_uses or {})


_BESIDE = frozenset({"compaction", "advisor_message"})
_ROUND = (
    *("input_tokens", "output_tokens"),
    *("cache_read_input_tokens", "cache_creation_input_tokens"),
)
_OF_ROUND = ("type", "model", *_ROUND)


def _add_round(
    round: Usage,
    by: str | None,
    id: str,
    table: PriceTable,
    at: datetime | date | None,
    parts: list[Decimal],
    unpriced: list[str],
) -> None:
    """Adds the cost of one round to the parts of the sum."""
    model = id if by is None else f"{id.partition(':')[0]}:{by}"
    try:
        cost = cost_of(round, model, table, at).breakdown
    except UnknownModelError:
        unpriced.append(f"the advisor {by}")
        return
    each = (cost.input, cost.cached_input, cost.cache_creation, cost.output)
    parts[:] = [EXACT.add(part, more) for part, more in zip(parts, each, strict=True)]


_CATEGORIES = (0, 0, 0, 1, 2, 2, 2, 3, 3, 3)
"""The category of each count: fresh input, cached input, a cache write or output."""
_ONE = Decimal(1)


NOTABLE = Decimal("0.02")
"""The part by which a provider's own cost may differ from ours before it is shown."""


def differs(ours: Decimal | None, theirs: Decimal | None) -> bool:
    """Whether the provider's cost is notably another."""
    if ours is None or theirs is None:
        return False
    return abs(EXACT.subtract(theirs, ours)) > EXACT.multiply(max(ours, theirs), NOTABLE)


def _counts(usage: Usage, id: str, rates: Rates, longer: int) -> list[int]:
    """Tokens in the order of `_prices`."""
    fresh = _known(usage.input_tokens, "input_tokens", rates.input, id)
    if usage.raw is not None:
        fresh += _tool_tokens(usage)
    output = _known(usage.output_tokens, "output_tokens", rates.output, id)
    cached = _count(usage.cached_input_tokens or 0, "cached_input_tokens")
    written = _count(usage.cache_creation_input_tokens or 0, "cache_creation_input_tokens")
    hours = day = 0
    if usage.cache_writes:
        for lifetime, count in usage.cache_writes.items():
            if lifetime == "1h":
                hours += count
            elif lifetime not in SHORT_LIFETIMES:
                day += count
        hours, day = min(hours, written), min(day, written - min(hours, written))
    elif longer:
        hours = _count(longer, "cache_write_1h_tokens")
        if hours > written:
            raise ValueError(f"{hours} tokens in the one-hour cache, but only {written} written")
    ins, outs = (fresh, 0, 0), (output, 0, 0)
    if usage.input_modalities:
        ins = _apart(usage.input_modalities, fresh, rates.audio_input, rates.image_input)
    if usage.output_modalities:
        outs = _apart(usage.output_modalities, output, rates.audio_output, rates.image_output)
    return [*ins, cached, written - hours - day, hours, day, *outs]


def _apart(
    modalities: dict[str, int], whole: int, audio: Decimal | None, image: Decimal | None
) -> tuple[int, int, int]:
    """Tokens of text, audio and images, if these have prices of their own. Cached tokens are
    taken to be text as far as there is any."""
    sound = min(modalities.get("audio", 0), whole) if audio is not None else 0
    images = min(modalities.get("image", 0), whole - sound) if image is not None else 0
    return whole - sound - images, sound, images


def _prices(rates: Rates) -> tuple[Decimal, ...]:
    """Text, sound and images of the input; reads; writes by lifetime; the same of the output."""
    write = rates.input if rates.cache_write is None else rates.cache_write
    hour = write if rates.cache_write_1h is None else rates.cache_write_1h
    return (
        rates.input,
        rates.input if rates.audio_input is None else rates.audio_input,
        rates.input if rates.image_input is None else rates.image_input,
        rates.input if rates.cached_read is None else rates.cached_read,
        write,
        hour,
        hour if rates.cache_write_12h is None else rates.cache_write_12h,
        rates.output,
        rates.output if rates.audio_output is None else rates.audio_output,
        rates.output if rates.image_output is None else rates.image_output,
    )


def _mode(usage: Usage, id: str, table: PriceTable, unpriced: list[str]) -> Decimal:
    """The factor of the tier that served the request, of a faster answer and of its region."""
    tier = usage.service_tier
    words = {} if tier is None or tier in USUAL_TIERS else {"service tier": tier}
    if usage.raw is not None:
        beside = billed_beside(usage)
        words |= {name: beside[key] for key, name in _SURCHARGED.items() if key in beside}
    factors = _ONE
    for name, word in words.items():
        factor = table.mode(id, word)
        if factor is None:
            unpriced.append(f"{name} {word}")
        else:
            factors = EXACT.multiply(factors, factor)
    return factors


def _tools(usage: Usage, id: str, table: PriceTable, unpriced: list[str]) -> Decimal:
    """The cost of the provider's own tools."""
    amount = _ZERO
    for kind, count in _runs(usage, id).items():
        price = table.use(id, kind)
        if price is not None:
            amount = EXACT.add(amount, _times(_count(count, f"tool_uses.{kind}"), price, -3))
        elif count:
            unpriced.append(kind)
    return amount


class Costs:
    """The exact cost of many usages. Those with the same rates are counted together, and their
    tokens priced once, which gives the same sum."""

    def __init__(self, table: PriceTable) -> None:
        self.table = table
        self._counts: dict[tuple[int, Decimal], list[int]] = {}
        self._rates: dict[int, Rates] = {}
        self._tools = _ZERO

    def add(
        self,
        usage: Usage,
        model: str,
        at: datetime | date | None = None,
        longer: int = 0,
        known: tuple[str, Rates] | None = None,
    ) -> tuple[str, Rates]:
        """Raises the errors of `cost_of`, and then counts nothing. Returns the entry and the
        rates that apply, which are `known` from a similar usage."""
        if known is None:
            name = self.table.find(model)
            rates = _rates(name, self.table, usage, at)
        else:
            name, rates = known
        counted = _counts(usage, name, rates, longer)
        mode = _ONE
        if not is_usual(usage, name):
            mode = _mode(usage, name, self.table, [])
            self._tools = EXACT.add(self._tools, _tools(usage, name, self.table, []))
        for round, by in rounds_beside(usage) if usage.raw is not None else ():
            parts = [_ZERO] * 4
            _add_round(round, by, name, self.table, at, parts, [])
            self._tools = total(self._tools, *parts)
        self._rates[id(rates)] = rates
        counts = self._counts.setdefault((id(rates), mode), [0] * len(counted))
        for kind, count in enumerate(counted):
            counts[kind] += count
        return name, rates

    @property
    def total(self) -> Decimal:
        return total(
            self._tools, *(self._cost(*key, counts) for key, counts in self._counts.items())
        )

    def _cost(self, key: int, mode: Decimal, counts: list[int]) -> Decimal:
        prices = _prices(self._rates[key])
        return total(*(_dollars(n, rate, mode) for n, rate in zip(counts, prices, strict=True)))


def total(*amounts: Decimal) -> Decimal:
    """The exact sum, independent of the program's decimal context."""
    sum = Decimal(0)
    for amount in amounts:
        sum = EXACT.add(sum, amount)
    return _plain(sum)


def _rates(id: str, table: PriceTable, usage: Usage, at: datetime | date | None) -> Rates:
    entry = table.entries[id]
    if isinstance(at, datetime):
        if at.tzinfo is None:
            raise ValueError("the time of a call needs a time zone")
        at = at.astimezone(UTC)
    period = entry.period(at.date() if isinstance(at, datetime) else at)
    if period is None:
        raise UnknownCostError(id, f"price table {table.version} has no price for {at}")
    if period.hours:
        if not isinstance(at, datetime):
            raise UnknownCostError(id, "the price depends on the time of day; pass a time")
        return next((hours for hours in period.hours if hours.holds(at.time())), period)
    return _tier(period, usage)


def _tier(period: Period, usage: Usage) -> Rates:
    prompt = usage.prompt_tokens or 0
    reached = [tier for tier in period.tiers if prompt > tier.above_prompt_tokens]
    return max(reached, key=lambda tier: tier.above_prompt_tokens, default=period)


def _known(count: int | None, name: str, rate: Decimal, id: str) -> int:
    if count is not None:
        return _count(count, name)
    if rate == 0:
        return 0
    raise UnknownCostError(id, f"{name} is unknown")


def _count(count: int, name: str) -> int:
    if not 0 <= count < _MOST_TOKENS:
        raise ValueError(f"{name} is not a valid token count: {count}")
    return count


def _dollars(count: int, rate: Decimal, mode: Decimal) -> Decimal:
    if not count:
        return _ZERO
    rate = rate if mode is _ONE else EXACT.multiply(rate, mode)
    return _plain(EXACT.scaleb(EXACT.multiply(Decimal(count), rate), -6))


def _times(count: int, rate: Decimal, zeros: int) -> Decimal:
    return _plain(EXACT.scaleb(EXACT.multiply(Decimal(count), rate), zeros))


_ZERO = Decimal(0)


def _plain(amount: Decimal) -> Decimal:
    """One spelling for equal amounts: no zeros at the end, no exponent above zero."""
    short = EXACT.normalize(amount)
    exponent = short.as_tuple().exponent
    if isinstance(exponent, int) and exponent > 0:
        return EXACT.quantize(short, Decimal(1))
    return short
