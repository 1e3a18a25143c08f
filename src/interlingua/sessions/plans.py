"""The losses and cost of a change of model, before it is made."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from interlingua.adapt.request import adapt
from interlingua.costs.cost import UnknownCostError, cost_of
from interlingua.errors import LossError
from interlingua.model.exchange import Options
from interlingua.model.human import dollars
from interlingua.model.losses import Report, planning
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Usage
from interlingua.model.tools import ToolDefinition
from interlingua.profiles.estimate.estimator import Estimator
from interlingua.profiles.names import UnknownModelError
from interlingua.routing.swap import Refusal
from interlingua.sessions.adapters.adapter import Adapter

if TYPE_CHECKING:
    from interlingua.costs.ahead import Ahead


@dataclass(frozen=True)
class SwapPlan:
    """`refusal` is set if the model cannot take over the session; `report` lists what it would not
    receive; `cost_usd` is the cost of reading the history once (None without a known price), and
    `present_cost_usd` the same for the current model."""

    model: str
    report: Report
    input_tokens: int
    cost_usd: Decimal | None = None
    present_model: str | None = None
    present_cost_usd: Decimal | None = None
    refusal: Refusal | None = None
    critical: bool = False
    """Something would be left out that must not be: the next request would fail."""
    ahead: Ahead | None = None
    """The predicted cache read of the next prompt there, and its cost."""
    present_ahead: Ahead | None = None
    """The same for the model in use, whose cache has seen the history."""

    @property
    def text(self) -> str:
        """The plan for people, in a few lines."""
        if self.refusal is not None:
            return self.refusal.text
        lines = [f"{self.model}: about {self.input_tokens:,} tokens of history{_money(self)}."]
        if self.ahead is not None and self.present_ahead is not None:
            now = f"; with {self.present_model}: {_next(self.present_ahead)}"
            here = "" if self.present_model == self.model else now
            lines.append(f"The next prompt: {_next(self.ahead)}{here}.")
            lines += [f"Unknown: {each}." for each in self.ahead.unknown]
        if self.critical:
            lines.append("Something critical cannot be represented there.")
        lines.append(str(self.report) if self.report else "Nothing of the history is lost.")
        return "\n".join(lines)


def _next(ahead: Ahead) -> str:
    cost = "" if ahead.cost_usd is None else f"{dollars(ahead.cost_usd)}, "
    return f"{cost}{ahead.text}"


def _money(plan: SwapPlan) -> str:
    if plan.cost_usd is None:
        return ", price unknown"
    now = ""
    if plan.present_cost_usd is not None and plan.present_model != plan.model:
        now = f" (with {plan.present_model}: {dollars(plan.present_cost_usd)})"
    return f", {dollars(plan.cost_usd)} to read it once{now}"


def trial_write(
    adapter: Adapter,
    messages: Sequence[Message],
    tools: Sequence[ToolDefinition],
    options: Options | None,
) -> tuple[Report, bool]:
    """The losses of writing all of this, and whether one is forbidden."""
    with planning():
        try:
            if options is not None and options.stream is None:
                options = options.replace(stream=True)  # a limit that is filled in is no loss then
            report = adapter.to_wire(_going_on(messages), tools, options).report
            return report.of_history() if options is None else report, False
        except LossError as refused:
            return refused.report, True


def _going_on(messages: Sequence[Message]) -> Sequence[Message]:
    """The history with a message of the user's after the model's last, as the next request has."""
    ends = bool(messages) and messages[-1].role is Role.ASSISTANT
    return [*messages, Message.user("?")] if ends else messages


def estimated_tokens(
    adapter: Adapter,
    estimator: Estimator,
    messages: Sequence[Message],
    tools: Sequence[ToolDefinition],
    options: Options | None,
) -> int:
    """About how many tokens the adapted request has for that model."""
    request = adapter.request(messages, tools, options)
    with planning(), suppress(LossError):  # then it is all of it
        request = adapt(request, adapter.target).value
    return estimator.tokens(request.messages, request.tools, request.options)


def reading_cost(adapter: Adapter, tokens: int) -> Decimal | None:
    """The cost of a prompt of so many fresh tokens."""
    usage = Usage(input_tokens=tokens, output_tokens=0)
    try:
        return cost_of(usage, adapter.model, adapter.prices).total
    except (UnknownModelError, UnknownCostError):
        return None
