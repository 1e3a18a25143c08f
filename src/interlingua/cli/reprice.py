"""`interlingua reprice`: the costs of history by another price table."""

from __future__ import annotations

import sys
from collections import Counter
from decimal import Decimal
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from interlingua.cli.history import Saver, answers, usages
from interlingua.cli.stores import all_sessions, json_option, opened, store_option
from interlingua.cli.terminal import (
    Column,
    cell,
    dollars,
    plural,
    progress,
    put_json,
    say,
    show_table,
)
from interlingua.prices.cost import total
from interlingua.prices.history import Repriced, reprice
from interlingua.store.request_rows import Wanted

if TYPE_CHECKING:
    from interlingua.prices.table import PriceTable
    from interlingua.store.base import Store


class Change:
    """What changes for one model. Messages that had no cost before are apart: no cost is not zero,
    so for them there is no difference."""

    __slots__ = ("first", "first_usd", "messages", "new", "old")

    def __init__(self) -> None:
        self.messages = 0
        self.old = Decimal(0)
        self.new = Decimal(0)
        self.first = 0
        self.first_usd = Decimal(0)

    def add(self, each: Repriced) -> None:
        self.messages += 1
        new = each.new or Decimal(0)
        if each.old is None:
            self.first += 1
            self.first_usd = total(self.first_usd, new)
        else:
            self.old = total(self.old, each.old)
            self.new = total(self.new, new)

    def include(self, other: Change) -> None:
        self.messages += other.messages
        self.old = total(self.old, other.old)
        self.new = total(self.new, other.new)
        self.first += other.first
        self.first_usd = total(self.first_usd, other.first_usd)

    @property
    def difference(self) -> Decimal:
        return total(self.new, -self.old)

    def told(self) -> dict[str, Any]:
        return {
            "messages": self.messages,
            "old_usd": self.old,
            "new_usd": self.new,
            "difference_usd": self.difference,
            "first_priced": self.first,
            "first_priced_usd": self.first_usd,
        }


class Result:
    """What a walk through history found."""

    def __init__(self) -> None:
        self.changes: dict[str, Change] = {}
        self.same = 0
        self.missed = 0
        self.problems: Counter[str] = Counter()

    def add(self, each: Repriced) -> None:
        if each.problem is not None:
            self.problems[each.problem] += 1
        elif each.changed:
            model = each.message.metadata.model or ""
            self.changes.setdefault(model, Change()).add(each)
        else:
            self.same += 1

    def whole(self) -> Change:
        whole = Change()
        for change in self.changes.values():
            whole.include(change)
        return whole


@click.command("reprice", help="Recompute the cost of stored messages with another price table.")
@click.option(
    "--version",
    help="A table of the package, or one used before; default: the newest, and your own prices.",
)
@click.option(
    "--prices",
    type=click.Path(exists=True, dir_okay=False),
    help="A price file on top of the newest table.",
)
@click.option("--dry-run", is_flag=True, help="Show what would change, without changing anything.")
@json_option
@store_option
def command(
    version: str | None,
    prices: str | None,
    dry_run: bool,
    as_json: bool,
    address: str | None,
) -> None:
    if version is not None and prices is not None:
        raise click.UsageError("--version and --prices do not go together")
    with opened(address) as store:
        table = _table(store, version, prices, keep=not dry_run)
        result = _walk(store, table, dry_run)
    if as_json:
        put_json(_told(result, table, dry_run))
    else:
        _show(result, table, dry_run)


def _table(store: Store, version: str | None, prices: str | None, keep: bool) -> PriceTable:
    """The table to use; kept, where costs will name it."""
    from interlingua.prices.own import own_table, table_of
    from interlingua.prices.table import PriceTable, bundled, versions
    from interlingua.sessions.effects import run
    from interlingua.sessions.prices import kept_prices

    if version is None:
        own = own_table() if prices is None else bundled().overlay(PriceTable.load(prices))
        return (run(store, kept_prices(own)) or own) if keep else own
    known = [*versions(), *store.price_versions()]
    if version not in known:
        problem = f"no table has version {version!r}: {', '.join(known)}"
        raise click.BadParameter(problem, param_hint="--version")
    return table_of(version, store)


def _walk(store: Store, table: PriceTable, dry_run: bool) -> Result:
    result = Result()
    saver = Saver(store)
    count = sum(1 for _ in all_sessions(store)) if sys.stderr.isatty() else 0
    with progress("repricing", count) as done:
        # What failed was paid for by what was heard of it, which is more than was counted.
        history = chain(usages(store, next_session=done), answers(store, Wanted(failed=False)))
        for each in reprice(history, table):
            result.add(each)
            if each.changed and not dry_run:
                saver.add(each)
        saver.flush()
    result.missed = saver.missed
    return result


def _told(result: Result, table: PriceTable, dry_run: bool) -> dict[str, Any]:
    return {
        "pricing_version": table.version,
        "dry_run": dry_run,
        "changed": [{"model": model, **each.told()} for model, each in result.changes.items()],
        "total": result.whole().told(),
        "unchanged": result.same,
        "changed_by_others_meanwhile": result.missed,
        "problems": [
            {"problem": problem, "messages": count}
            for problem, count in result.problems.most_common()
        ],
    }


def _show(result: Result, table: PriceTable, dry_run: bool) -> None:
    whole = result.whole()
    if result.changes:
        columns = [
            Column("model", "cyan", shrink=True),
            Column("messages", right=True),
            Column("old", "dim", right=True),
            Column("new", "green", right=True),
            Column("difference", right=True),
            Column("first priced", "green", right=True),
        ]
        changes = sorted(result.changes.items(), key=lambda item: -abs(item[1].difference))
        bars = [abs(change.difference) for _, change in changes]
        rows = [_row(model, change) for model, change in changes]
        show_table(columns, rows, bars if any(bars) else None, _row("total", whole))
    for problem, count in result.problems.most_common():
        say(cell(f"kept as it was, {plural(count, 'message')}: {problem}"), "red")
    verb = "would change" if dry_run else "changed"
    text = f"{plural(whole.messages, 'message')} {verb}, {result.same:,} already as in"
    click.echo(f"{text} {cell(table.version)}", err=True)
    if result.missed:
        text = plural(result.missed, "message")
        click.echo(f"{text} changed by others meanwhile and left alone: run it again", err=True)


def _row(name: str, change: Change) -> list[str]:
    had = change.first < change.messages
    sign = "+" if change.difference > 0 else ""
    return [
        name,
        f"{change.messages:,}",
        dollars(change.old) if had else "",
        dollars(change.new) if had else "",
        f"{sign}{dollars(change.difference)}" if had else "",
        f"{change.first:,}: {dollars(change.first_usd)}" if change.first else "",
    ]
