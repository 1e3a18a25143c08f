"""Metadata of a message: its model, its end, its cost."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, get_args

from interlingua.model.base import JsonObject, Raw, Value, check_words, plain_members

UNKNOWN = "unknown"
"""The provider, or the model's name, of an answer in a session that names none."""
KEY_ID = "gateway_key_id"
"""Under `extra`: the key of the gateway that paid for an answer."""
PROMPT_PARTS = "prompt_parts"
"""Under `extra`: the names of the parts that a system message is made of."""
OWN_EXTRAS = frozenset({KEY_ID, PROMPT_PARTS})
"""The keys that this version itself writes to `extra`, and reads without a warning."""


@plain_members
class MessageStatus(StrEnum):
    """The progress of a message."""

    COMPLETE = "complete"
    PARTIAL = "partial"
    CANCELLED = "cancelled"
    ERROR = "error"


@plain_members
class StopReason(StrEnum):
    """Why an answer ended, the same for all providers."""

    END_TURN = "end_turn"
    STOP_SEQUENCE = "stop_sequence"
    MAX_TOKENS = "max_tokens"
    """The limit of tokens, or a full context window."""
    TOOL_USE = "tool_use"
    CONTENT_FILTER = "content_filter"
    """A filter on the answer, or a blocked prompt."""
    REFUSAL = "refusal"
    PAUSE = "pause"
    CANCELLED = "cancelled"
    ERROR = "error"
    OTHER = "other"
    """Malformed output, turn limits, unknown reasons."""


StatusWord = Literal["complete", "partial", "cancelled", "error"]
StopWord = Literal[
    "end_turn",
    "stop_sequence",
    "max_tokens",
    "tool_use",
    "content_filter",
    "refusal",
    "pause",
    "cancelled",
    "error",
    "other",
]


@plain_members
class RoutingMode(StrEnum):
    """Why a model was the one of a turn."""

    OVERRIDE = "override"
    MANUAL = "manual"
    RULE = "rule"
    PATTERN = "pattern"
    DELEGATE = "delegate"
    DEFAULT = "default"


RoutingWord = Literal["override", "manual", "rule", "pattern", "delegate", "default"]


class RoutingRecord(Value, frozen=True):
    """Which model was chosen for a turn and why; the whole chain is in the trace."""

    mode: RoutingMode
    chosen_model: str
    reason: str
    rule_name: str | None = None
    confidence: float | None = None
    alternatives_considered: tuple[str, ...] = ()

    if TYPE_CHECKING:

        def __init__(
            self,
            mode: RoutingMode | RoutingWord,
            chosen_model: str,
            reason: str,
            rule_name: str | None = None,
            confidence: float | None = None,
            alternatives_considered: tuple[str, ...] = (),
        ) -> None: ...

    def __post_init__(self) -> None:
        check_words(self)


RoutingDecisionRecord = RoutingRecord


class CostBreakdown(Value, frozen=True):
    """US dollars by category; the categories of a price table."""

    input: Decimal = Decimal(0)
    cached_input: Decimal = Decimal(0)
    cache_creation: Decimal = Decimal(0)
    output: Decimal = Decimal(0)
    tools: Decimal = Decimal(0)
    """Runs of the provider's own tools, such as searches."""

    @property
    def total(self) -> Decimal:
        tokens = self.input + self.cached_input + self.cache_creation + self.output
        return tokens + self.tools


MOST_TOKENS = 10**9
"""No answer uses more tokens of one kind; a provider that reports more is mistaken."""


class Usage(Value, frozen=True):
    """Tokens. The three input counts are disjoint and add up to the prompt; reasoning is a part of
    output. None is unknown, which is not 0. Money and latency are filled in by a session.

    The breakdowns split the same tokens, and count what is paid for beside them; a provider may
    leave parts of them out."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: Decimal | None = None
    cost_breakdown: CostBreakdown | None = None
    pricing_version: str | None = None
    latency_ms: int | None = None
    estimated: bool = False
    service_tier: str | None = None
    """The tier that served the request: `default`, `flex`, `priority`, `batch`, `scale`, …"""
    tool_uses: dict[str, int] | None = None
    """Runs of the provider's own tools that are paid for, by kind: `web_search`, `web_fetch`, …"""
    cache_writes: dict[str, int] | None = None
    """`cache_creation_input_tokens` by lifetime in the cache: `5m`, `30m`, `1h`, `12h`, …"""
    input_modalities: dict[str, int] | None = None
    """Tokens of the whole prompt by modality: `text`, `image`, `audio`, `video`, `document`."""
    output_modalities: dict[str, int] | None = None
    """The same for the output."""
    unpriced: tuple[str, ...] | None = None
    """Parts that are not in `cost_usd` because they have no price: runs of a tool, a service
    tier."""
    raw: Raw | None = None

    @property
    def is_known(self) -> bool:
        """Whether any count, cost or time is set."""
        return self != _NOTHING

    @property
    def prompt_tokens(self) -> int | None:
        """The whole prompt: fresh, read from cache and written to cache."""
        fresh, cached = self.input_tokens, self.cached_input_tokens
        written = self.cache_creation_input_tokens
        if fresh is None and cached is None and written is None:
            return None
        return (fresh or 0) + (cached or 0) + (written or 0)

    @property
    def total_tokens(self) -> int | None:
        prompt = self.prompt_tokens
        if prompt is None and self.output_tokens is None:
            return None
        return (prompt or 0) + (self.output_tokens or 0)

    @property
    def is_plain(self) -> bool:
        """Whether nothing but tokens at the usual rates was used."""
        return (
            self.service_tier in USUAL_TIERS
            and self.tool_uses is None
            and self.cache_writes is None
            and self.input_modalities is None
            and self.output_modalities is None
        )

    def plausible(self) -> Usage:
        """The same without counts that cannot be true: fractions, negative ones, and those above
        `MOST_TOKENS`. The same object where all of them can."""
        wrong: list[str] = []
        for index, count in enumerate(_counts(self)):
            if count is not None and not (type(count) is int and 0 <= count <= MOST_TOKENS):
                wrong.append(_COUNTS[index])
        breakdowns = _breakdowns(self)
        if breakdowns != _NO_BREAKDOWNS:
            for name, counts in zip(BREAKDOWNS, breakdowns, strict=True):
                if counts and not all(0 <= number <= MOST_TOKENS for number in counts.values()):
                    wrong.append(name)
        return self.replace(**dict.fromkeys(wrong)) if wrong else self


_COUNTS = (
    "input_tokens",
    "output_tokens",
    "cached_input_tokens",
    "cache_creation_input_tokens",
    "reasoning_tokens",
)
BREAKDOWNS = ("tool_uses", "cache_writes", "input_modalities", "output_modalities")
"""Fields of `Usage` that are counts by name."""
_counts, _breakdowns = attrgetter(*_COUNTS), attrgetter(*BREAKDOWNS)
_NO_BREAKDOWNS = (None,) * len(BREAKDOWNS)


def add_breakdowns(usages: Sequence[Usage]) -> dict[str, Any]:
    """Adds up the breakdowns of several usages by field; fields that none of them has are
    omitted."""
    found: dict[str, dict[str, int]] = {}
    for name in BREAKDOWNS:
        for counts in filter(None, map(attrgetter(name), usages)):
            for kind, number in counts.items():
                sums = found.setdefault(name, {})
                sums[kind] = sums.get(kind, 0) + number
    return found


USUAL_TIERS = frozenset({None, "default", "standard", "auto", "scale", "on_demand"})
"""Service tiers at list prices."""
_NOTHING = Usage()


class Diagnostic(Value, frozen=True):
    """Something worth knowing that was no failure, as tool arguments that had to be repaired."""

    type: str
    message: str | None = None
    timestamp: datetime | None = None
    details: JsonObject | None = None


CacheOutcome = Literal["hit", "miss", "pending", "not_found", "unavailable"]
CACHE_OUTCOMES: tuple[str, ...] = get_args(CacheOutcome)
CACHE_REASONS = (
    *("model_changed", "tools_changed", "system_changed", "messages_changed", "context_compacted"),
    *("cache_key_changed", "response_format_changed", "reasoning_changed", "verbosity_changed"),
    *("service_tier_changed", "options_changed", "deployment_changed", "expired", "not_marked"),
)
"""Why a cache was missed, the same for all vendors. The last four are ours: other options, another
key or address of the provider, an expired lifetime, no breakpoint."""


class CacheDiagnosis(Value, frozen=True):
    """Why the prompt cache was hit or missed, as reported by the provider or as found by a
    comparison with the request before it in the conversation."""

    outcome: CacheOutcome
    """`pending`: the provider has not compared yet; `not_found`: it does not know the response
    to compare with; `unavailable`: it has no diagnosis."""
    reason: str | None = None
    """One of `CACHE_REASONS`, for a miss."""
    missed_tokens: int | None = None
    """About how many tokens of the prompt could have been read from the cache."""
    reusable_tokens: int | None = None
    """The cached tokens of the compared request."""
    changed: tuple[str, ...] = ()
    """The parts that differ from the previous request: `tools`, `system`, `messages[4]`,
    `model`."""
    since: datetime | None = None
    """When the request before was sent."""
    cost_usd: Decimal | None = None
    """The extra cost of the miss."""
    source: Literal["provider", "comparison"] = "provider"
    """The source of the diagnosis."""
    raw: Raw | None = None

    def __post_init__(self) -> None:
        check_words(self)

    def __str__(self) -> str:
        """In the form of commands: `miss: tools_changed (tools); 2,000 tokens; $0.0054`."""
        what = f"{self.outcome}: {self.reason}" if self.reason else self.outcome
        parts = f" ({', '.join(self.changed)})" if self.changed and self.outcome == "miss" else ""
        tokens = f"{self.missed_tokens:,} tokens" if self.missed_tokens else ""
        cost = f"${self.cost_usd:f} more" if self.cost_usd else ""
        since = "" if self.since is None else f"request before at {self.since:%Y-%m-%d %H:%M:%S}"
        return "; ".join([text for text in (what + parts, tokens, cost, since) if text])


TransformationAction = Literal["removed", "allowed", "other"]
TransformationReason = Literal[
    "model_mismatch",
    "prefix_mismatch",
    "organization_mismatch",
    "end_user_mismatch",
    "turn_boundary",
]


class InputTransformation(Value, frozen=True):
    """Something that the provider removed from or changed in the input before the model saw it; so
    far always thinking of another conversation, model or user."""

    action: TransformationAction = "other"
    """`allowed`: a check failed, but the model still saw the block; `other`: an action that no
    vendor documents yet, which is in `raw`."""
    reason: TransformationReason | None = None
    """The part of the block that differs from the request; `turn_boundary`: its turn is over."""
    path: str | None = None
    """The place of the block in the body that the provider received, in Anthropic's spelling:
    `messages.1.content.0`."""
    id: str | None = None
    """The id of the reasoning item, as OpenAI names it."""
    raw: Raw | None = None

    def __post_init__(self) -> None:
        check_words(self)

    def __str__(self) -> str:
        """In the form of commands: `removed messages.1.content.0: prefix_mismatch`."""
        what = " ".join(filter(None, (self.action, self.path or self.id)))
        return f"{what}: {self.reason}" if self.reason else what


class MessageMetadata(Value, frozen=True):
    """`model` is `<provider>:<name>`; `extra` holds unknown stored fields."""

    model: str | None = None
    provider: str | None = None
    protocol: str | None = None
    response_model: str | None = None
    response_id: str | None = None
    routing: RoutingRecord | None = None
    usage: Usage | None = None
    stop_reason: StopReason | None = None
    raw_stop_reason: str | int | float | bool | None = None
    logprobs: tuple[JsonObject, ...] = ()
    """The probability of each token of the text: `token`, `logprob`, `bytes`, `top_logprobs`."""
    status: MessageStatus = MessageStatus.COMPLETE
    parent_tool_use_id: str | None = None
    error_message: str | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    critical: bool | tuple[int, ...] = False
    """The whole message, or the blocks with these indexes, must not be dropped on the way out."""
    user_id: str | None = None
    team_id: str | None = None
    provider_raw: Raw | None = None
    extra: dict[str, Any] | None = None
    cache_diagnosis: CacheDiagnosis | None = None
    """Why the prompt cache was hit or missed."""
    input_transformations: tuple[InputTransformation, ...] = ()
    """Everything that the provider removed from or changed in the input."""

    if TYPE_CHECKING:

        def __init__(
            self,
            model: str | None = None,
            provider: str | None = None,
            protocol: str | None = None,
            response_model: str | None = None,
            response_id: str | None = None,
            routing: RoutingRecord | None = None,
            usage: Usage | None = None,
            stop_reason: StopReason | StopWord | None = None,
            raw_stop_reason: str | int | float | bool | None = None,
            logprobs: tuple[JsonObject, ...] = (),
            status: MessageStatus | StatusWord = MessageStatus.COMPLETE,
            parent_tool_use_id: str | None = None,
            error_message: str | None = None,
            diagnostics: tuple[Diagnostic, ...] = (),
            critical: bool | tuple[int, ...] = False,
            user_id: str | None = None,
            team_id: str | None = None,
            provider_raw: Raw | None = None,
            extra: dict[str, Any] | None = None,
            cache_diagnosis: CacheDiagnosis | None = None,
            input_transformations: tuple[InputTransformation, ...] = (),
        ) -> None: ...

    def __post_init__(self) -> None:
        reason = self.stop_reason
        if type(self.status) is MessageStatus and (reason is None or type(reason) is StopReason):
            return  # as readers make them
        check_words(self)

    def made_by(self, model: str, protocol: str | None) -> MessageMetadata:
        """The same metadata for a message that this model made in this dialect."""
        return self.replace(model=model, provider=model.partition(":")[0], protocol=protocol)


def reported_cost(usage: Usage) -> Decimal | None:
    """The cost that the provider reports, as OpenRouter, xAI, Perplexity and others do."""
    for own in (usage.raw or {}).values():
        cost = own.get("cost") if isinstance(own, dict) else None
        if isinstance(cost, dict):
            cost = cost.get("total_cost")
        if isinstance(cost, (int, float, str, Decimal)) and not isinstance(cost, bool):
            return _amount(cost)
        ticks = own.get("cost_in_usd_ticks") if isinstance(own, dict) else None
        if isinstance(ticks, int) and ticks >= 0:
            return Decimal(ticks).scaleb(-10).normalize() + 0
    return None


def _amount(cost: int | float | str | Decimal) -> Decimal | None:
    try:
        amount = Decimal(str(cost))
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and amount >= 0 else None
