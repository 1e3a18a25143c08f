"""Costs of many messages: history at the prices of another table, and spending by group.

Both walk their messages once and keep nothing but sums, so they take any iterable, such as one
read from a store row by row. Nothing is written here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC
from decimal import Decimal
from typing import Literal, NamedTuple

from interlingua.costs.cost import (
    UnknownCostError,
    cost_of,
    total,
    unpriced_parts,
    with_cost,
    with_runs,
)
from interlingua.costs.table import PriceTable, own_table
from interlingua.model.message import Message
from interlingua.model.metadata import KEY_ID, Usage
from interlingua.profiles.names import UnknownModelError

Key = Literal["session", "model", "day", "user", "team", "key"]


class Repriced(NamedTuple):
    """One message's cost as stored and by another table. Without a new cost, `problem` is the
    reason and `usage` the old usage; otherwise `usage` is the new one."""

    message: Message
    old: Decimal | None
    new: Decimal | None
    old_version: str | None
    usage: Usage
    problem: str | None = None

    @property
    def was_unpriced(self) -> tuple[str, ...] | None:
        usage = self.message.metadata.usage
        return None if usage is None else usage.unpriced

    @property
    def changed(self) -> bool:
        return self.problem is None and (
            self.old != self.new
            or self.old_version != self.usage.pricing_version
            or self.was_unpriced != self.usage.unpriced
        )


def reprice(
    messages: Iterable[Message], table: PriceTable, then: bool = True
) -> Iterator[Repriced]:
    """Every message that has a usage, with its old and its new cost.

    `then` prices each message by the table of the day it was made; otherwise by the current table.
    A model without a price keeps its old cost, and is named.
    """
    for message in messages:
        usage = with_runs(message)
        if usage is None or not usage.is_known:
            continue
        old, version = usage.cost_usd, usage.pricing_version
        model = message.metadata.model
        if model is None:
            yield Repriced(message, old, None, version, usage, "the message names no model")
            continue
        try:
            by = table.priced_as(model, message.metadata.response_model)
            cost = cost_of(usage, by, table, message.created_at if then else None)
        except (UnknownModelError, UnknownCostError, ValueError) as error:
            yield Repriced(message, old, None, version, usage, str(error))
            continue
        yield Repriced(message, old, cost.total, version, with_cost(usage, cost))


class SpendGroup:
    """The usage of a group of messages. `unpriced` counts messages whose cost is unknown or
    incomplete; if there are any, `cost_usd` is a lower bound."""

    __slots__ = ("cost_usd", "messages", "output_tokens", "prompt_tokens", "unpriced")

    def __init__(self) -> None:
        self.cost_usd = Decimal(0)
        self.messages = 0
        self.unpriced = 0
        self.prompt_tokens = 0
        self.output_tokens = 0

    def add(self, usage: Usage, unpriced: bool = False) -> None:
        """`unpriced` if the cost that is known lacks some part."""
        self.messages += 1
        self.prompt_tokens += usage.prompt_tokens or 0
        self.output_tokens += usage.output_tokens or 0
        self.unpriced += usage.cost_usd is None or unpriced
        if usage.cost_usd is not None:
            self.cost_usd = total(self.cost_usd, usage.cost_usd)

    def include(self, other: SpendGroup) -> None:
        self.messages += other.messages
        self.prompt_tokens += other.prompt_tokens
        self.output_tokens += other.output_tokens
        self.unpriced += other.unpriced
        self.cost_usd = total(self.cost_usd, other.cost_usd)

    def __repr__(self) -> str:
        return f"Spent(${self.cost_usd}, {self.messages} messages, {self.unpriced} unpriced)"


def cost_by(messages: Iterable[Message], key: Key) -> dict[str | None, SpendGroup]:
    """Adds up stored costs by session, model, day (UTC), user, team or gateway key. Messages
    without that value are in the group None, which comes last."""
    if key not in _KEYS:
        raise ValueError(f"costs can be grouped by {', '.join(_KEYS)}, found {key!r}")
    group_of = _KEYS[key]
    groups: dict[str | None, SpendGroup] = {}
    prices = own_table()
    for message in messages:
        usage = message.metadata.usage
        if usage is not None and usage.is_known:
            model, answered_by = message.metadata.model, message.metadata.response_model
            by = None if model is None else prices.priced_as(model, answered_by)
            lacks = bool(unpriced_parts(usage, by, prices))
            groups.setdefault(group_of(message), SpendGroup()).add(usage, lacks)
    return in_order(groups)


def in_order(groups: dict[str | None, SpendGroup]) -> dict[str | None, SpendGroup]:
    ordered = sorted(groups, key=lambda group: (group is None, group or ""))
    return {group: groups[group] for group in ordered}


def _day(message: Message) -> str | None:
    time = message.created_at
    return None if time is None else time.astimezone(UTC).date().isoformat()


_KEYS: dict[str, Callable[[Message], str | None]] = {
    "session": lambda message: message.session_id,
    "model": lambda message: message.metadata.model,
    "day": _day,
    "user": lambda message: message.metadata.user_id,
    "team": lambda message: message.metadata.team_id,
    "key": lambda message: (message.metadata.extra or {}).get(KEY_ID),
}
