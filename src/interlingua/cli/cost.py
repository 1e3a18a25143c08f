"""`interlingua cost`: what was spent, in exact sums, and what nobody knows the price of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from interlingua.cli.agents import from_option, home_option
from interlingua.cli.history import answers, usages
from interlingua.cli.stores import json_option, opened, store_option
from interlingua.cli.terminal import Column, cell, dollars, plural, put_json, say, show_table
from interlingua.cli.times import Moment
from interlingua.model.message import Message
from interlingua.prices.cost import total
from interlingua.prices.history import Key, SpendGroup, cost_by
from interlingua.store.request_rows import Wanted

if TYPE_CHECKING:
    from interlingua.store.base import Store

NOBODY = "(none)"
HELP = """What was spent, by session, model, day, user, team or key: in sessions, by tasks, and by
clients of the gateway."""


@click.command("cost", help=HELP)
@click.argument("files", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--transcripts", is_flag=True, help="Count the sessions of all agents on this machine."
)
@from_option("Of this agent only; may be given often.", many=True)
@click.option("--by", "key", type=click.Choice(get_args(Key)), default="model", show_default=True)
@click.option("--since", type=Moment(), help="From this day or time on; 7d is seven days ago.")
@click.option(
    "--until", type=Moment(end=True), help="Up to the end of this day, or up to this time."
)
@json_option
@store_option
@home_option
def command(
    files: tuple[Path, ...],
    transcripts: bool,
    formats: tuple[str, ...],
    key: Key,
    since: datetime | None,
    until: datetime | None,
    as_json: bool,
    address: str | None,
    home: Path | None,
) -> None:
    unknown: Counter[str | None] = Counter()
    names: dict[str | None, str] = {}
    if files or transcripts:
        from interlingua.cli.agent_costs import agent_answers

        made = agent_answers(files, home, formats, since, until)
        groups = cost_by(_noting(made, unknown), key)
    else:
        with opened(address) as store:
            passed = answers(store, Wanted(since=since, until=until))
            spent = chain(usages(store, since, until, copies=False), passed)
            groups = cost_by(_noting(spent, unknown), key)
            names = key_names(store) if key == "key" else {}
    if key != "day":
        groups = dict(sorted(groups.items(), key=lambda item: -item[1].cost_usd))
    whole = _whole(groups.values())
    if as_json:
        rows = [{key: group, **_told(spent)} for group, spent in groups.items()]
        if key == "key":
            rows = [{**row, "name": names.get(row["key"])} for row in rows]
        lacking = [{"model": model, "messages": count} for model, count in unknown.most_common()]
        put_json({"by": key, "rows": rows, "total": _told(whole), "unknown": lacking})
    elif not groups:
        click.echo("Nothing was spent.", err=True)
    else:
        titles = {group: _title(group, names) for group in groups}
        _show(key, titles, groups, whole, unknown)


def key_names(store: Store) -> dict[str | None, str]:
    """What the keys of the gateway are called, by their ids."""
    from interlingua.cli.owners import pages

    return {key.id: key.name for key in pages(store.keys)}


def _title(group: str | None, names: dict[str | None, str]) -> str:
    if group is None:
        return NOBODY
    return f"{names[group]} ({group})" if group in names else group


def _noting(messages: Iterable[Message], unknown: Counter[str | None]) -> Iterator[Message]:
    """The same messages; those without a known cost are counted by model."""
    for message in messages:
        usage = message.metadata.usage
        if usage is not None and usage.is_known and usage.cost_usd is None:
            unknown[message.metadata.model] += 1
        yield message


def _whole(groups: Iterable[SpendGroup]) -> SpendGroup:
    whole = SpendGroup()
    for spent in groups:
        whole.cost_usd = total(whole.cost_usd, spent.cost_usd)
        whole.messages += spent.messages
        whole.unpriced += spent.unpriced
        whole.prompt_tokens += spent.prompt_tokens
        whole.output_tokens += spent.output_tokens
    return whole


def _told(spent: SpendGroup) -> dict[str, Any]:
    """`cost_usd` is a string, so that no digit is lost; null where no cost at all is known."""
    return {
        "cost_usd": _known(spent),
        "messages": spent.messages,
        "unpriced": spent.unpriced,
        "prompt_tokens": spent.prompt_tokens,
        "output_tokens": spent.output_tokens,
    }


def _known(spent: SpendGroup) -> Decimal | None:
    return None if spent.messages and spent.unpriced == spent.messages else spent.cost_usd


def _show(
    key: str,
    titles: dict[str | None, str],
    groups: dict[str | None, SpendGroup],
    whole: SpendGroup,
    unknown: Counter[str | None],
) -> None:
    columns = [
        Column(key, "cyan", shrink=key != "session"),
        Column("messages", right=True),
        Column("in", "dim", right=True, wide=60),
        Column("out", "dim", right=True, wide=60),
        Column("cost", "green", right=True),
    ]
    rows = [_row(titles[group], spent) for group, spent in groups.items()]
    bars = [spent.cost_usd for spent in groups.values()]
    show_table(columns, rows, bars, _row("total", whole))
    if unknown:
        say("")
        say(f"Not in these sums: {plural(whole.unpriced, 'message')} without a known cost", "red")
        for model, count in unknown.most_common():
            say(cell(f"    {model or '(no model)'}: {count:,}"))


def _row(name: str, spent: SpendGroup) -> list[str]:
    cost = dollars(_known(spent))
    return [
        name,
        f"{spent.messages:,}",
        f"{spent.prompt_tokens:,}",
        f"{spent.output_tokens:,}",
        f"{cost} + ?" if spent.unpriced and cost != "?" else cost,
    ]
