"""Answers that are paid for and that another attempt replaces: those that the model's window has
cut, and streams that broke off and go on elsewhere."""

from __future__ import annotations

from msgspec.structs import replace

from interlingua.client.answer import Attempt
from interlingua.gateway.gateway import Gateway
from interlingua.gateway.relay.inbound import Inbound, reserve
from interlingua.gateway.shared.state import Exchange, Outcome
from interlingua.model.exchange import ErrorKind
from interlingua.model.metadata import Usage

ACTION = "replaced"
"""Such an attempt is a request of its own in the log."""


async def replacing(
    gateway: Gateway, exchange: Exchange, inbound: Inbound, error: ErrorKind | None = None
) -> Inbound:
    """Makes the attempt so far a request of its own, with its model, its usage and its price, and
    reserves what the next one may cost; `Refusal` where the caps do not allow another. One that
    failed is settled first, so that the caps have room for the rest of the answer, which may be
    shorter: what is returned is within the reservation."""
    arrival, outcome = exchange.arrival, exchange.outcome
    label = "" if exchange.decision.target is None else exchange.decision.target.label
    tries = (Attempt(label, error),)
    own = Exchange(replace(arrival, id=f"req_{gateway.ids.new()}", action=ACTION))
    own.decision = exchange.decision
    own.outcome = replace(outcome, status=200, error=error, tries=tries, span=None, replaced=[])
    own.outcome.leave_pool = None
    following = Exchange(own.arrival)
    if arrival.principal.capped:
        failed = error is not None
        if failed:
            await gateway.caps.settle(own)
            outcome.reservation = None
        inbound = await reserve(gateway, following, inbound, may_shorten=failed)
    _start(outcome, Outcome(reservation=following.outcome.reservation))
    outcome.replaced.append(own)
    return inbound


def restore(gateway: Gateway, exchange: Exchange) -> None:
    """The last attempt is answered with after all, as nothing better came of the next one."""
    outcome, last = exchange.outcome, exchange.outcome.replaced.pop()
    unused = Exchange(last.arrival, last.decision, Outcome(reservation=outcome.reservation))
    unused.outcome.fail(502, ErrorKind.OTHER)
    if exchange.arrival.principal.capped:
        gateway.caps.settle_soon(unused)
    exchange.decision = last.decision
    _start(outcome, last.outcome)


def _start(outcome: Outcome, values: Outcome) -> None:
    """Resets the measurements of an attempt in place: streams hold on to the outcome."""
    for name in ("error", "usage", "cost", "stop_reason", "upstream_id", "heard", "reservation"):
        setattr(outcome, name, getattr(values, name))


def tokens_of(usage: Usage | None) -> int:
    """All tokens of a request, as far as they are known."""
    return 0 if usage is None else (usage.prompt_tokens or 0) + (usage.output_tokens or 0)
