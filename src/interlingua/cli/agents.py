"""What commands on the sessions of other agents share: which session, which home, what it cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from interlingua.cli.terminal import complain

if TYPE_CHECKING:
    from interlingua.losses import Report
    from interlingua.prices.table import PriceTable
    from interlingua.transcripts.glance import Answer

F = TypeVar("F", bound=Callable[..., object])

SESSION = (
    "SESSION is a file, an id or the beginning of one (`codex:` before it says whose), or `latest`."
)

home_option: Callable[[F], F] = click.option(
    "--home",
    type=click.Path(file_okay=False, path_type=Path),
    help="The home folder in which the agents keep their files; default: yours.",
)


def from_option(help: str, many: bool = False) -> Callable[[F], F]:
    """`--from`: a format of transcripts, or several."""
    name = "formats" if many else "format"
    return click.option("--from", name, metavar="FORMAT", multiple=many, help=help)


def redact_options(command: F) -> F:
    """`--redact`, and `--pattern` for what else is to be taken out."""
    pattern = click.option(
        "--pattern",
        "patterns",
        multiple=True,
        metavar="[NAME=]REGEX",
        help="With --redact: also remove this pattern; repeatable.",
    )
    redact = click.option(
        "--redact", is_flag=True, help="Remove keys, addresses and home folders, and report them."
    )
    return redact(pattern(command))


def known_format(name: str, option: str) -> str:
    """The name of a format; wrong usage if there is none."""
    from interlingua.transcripts import formats

    known = formats()
    if name not in known:
        problem = f"unknown format {name!r}: {', '.join(known)}"
        raise click.BadParameter(problem, param_hint=option)
    return name


class Prices:
    """What answers cost by the price table of this machine."""

    def __init__(self) -> None:
        from interlingua.prices.own import own_table, with_own_version

        self.table = own_table()
        self.prices = with_own_version(self.table).version

    def __call__(self, answers: Iterable[Answer]) -> tuple[Decimal | None, int]:
        """The sum, and how many have no known price. None where nothing is known."""
        from interlingua.dialects.anthropic.usage import hour_cache_tokens
        from interlingua.models.names import UnknownModelError
        from interlingua.prices.cost import Costs, UnknownCostError

        costs, noted, count, unpriced = Costs(self.table), Decimal(0), 0, 0
        for answer in answers:
            count += 1
            if answer.usage.cost_usd is not None:
                noted += answer.usage.cost_usd
                continue
            try:
                longer = hour_cache_tokens(answer.usage)
                costs.add(answer.usage, answer.model or "", answer.created_at, longer)
            except (UnknownModelError, UnknownCostError, ValueError):
                unpriced += 1
        return (noted + costs.total if count > unpriced else None), unpriced


def cost_of_answer(answer: Answer, table: PriceTable) -> Decimal | None:
    """What a tool noted, else what the table says; None where nobody knows."""
    from interlingua.dialects.anthropic.usage import hour_cache_tokens
    from interlingua.models.names import UnknownModelError
    from interlingua.prices.cost import UnknownCostError, cost_of

    if answer.usage.cost_usd is not None:
        return answer.usage.cost_usd
    if answer.model is None:
        return None
    try:
        longer = hour_cache_tokens(answer.usage)
        return cost_of(answer.usage, answer.model, table, answer.created_at, longer).total
    except (UnknownModelError, UnknownCostError, ValueError):
        return None


def complain_of_losses(report: Report) -> None:
    """Losses that matter, on standard error."""
    if any(loss.severity != "info" for loss in report):
        complain(str(report))
