"""`interlingua cost`: spending in exact sums, and the models without a known price."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import click

from interlingua.cli.options import (
    from_option,
    home_option,
    json_option,
    since_option,
    store_option,
    until_option,
)
from interlingua.cli.resume import cost_of_answer, known_format
from interlingua.cli.stores import Saver, all_messages, all_sessions, answers, opened, usages
from interlingua.cli.terminal import (
    Column,
    cell,
    complain,
    dollars,
    plural,
    progress,
    put_json,
    say,
    show_table,
)
from interlingua.costs.cost import differs, total, unpriced_parts
from interlingua.costs.history import Key, Repriced, SpendGroup, cost_by, in_order, reprice
from interlingua.costs.table import own_table
from interlingua.model.human import places_of
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, Usage, reported_cost
from interlingua.store.request_costs import BILLED, REPORTED, CostRow
from interlingua.store.requests import RequestFilter
from interlingua.transcripts.transcript import name_of

if TYPE_CHECKING:
    from interlingua.cli.cost_as import Selection
    from interlingua.costs.table import PriceTable
    from interlingua.store.base import Store
    from interlingua.transcripts import Skipped
    from interlingua.transcripts.transcript import Answer


NOBODY = "(none)"
HELP = """Show spending by session, model, day, user, team or key: of sessions, of tasks, and of
clients of the gateway. WHAT is a file or folder with sessions of agents, the id of a session in the
store, or a session as `transcripts list` names it."""


@click.command("cost", help=HELP)
@click.argument("what", nargs=-1)
@click.option(
    "--transcripts", is_flag=True, help="Count the sessions of all agents on this machine."
)
@click.option(
    "--as",
    "models",
    metavar="MODEL,…",
    multiple=True,
    help="What the sessions would have cost on these models.",
)
@click.option(
    "--picture",
    type=click.Path(dir_okay=False, path_type=Path),
    help="With --as: a file for the costs as bars (SVG).",
)
@from_option("Only sessions of this agent; repeatable.", many=True)
@click.option(
    "--by",
    "key",
    type=click.Choice(get_args(Key)),
    default="model",
    show_default=True,
    help="What to group by.",
)
@since_option
@until_option
@json_option
@store_option
@home_option
def command(
    what: tuple[str, ...],
    transcripts: bool,
    models: tuple[str, ...],
    picture: Path | None,
    formats: tuple[str, ...],
    key: Key,
    since: datetime | None,
    until: datetime | None,
    as_json: bool,
    address: str | None,
    home: Path | None,
) -> None:
    if picture is not None and not models:
        raise click.UsageError("--picture needs --as")
    selection = _selected(what, transcripts, bool(models), home, formats, address)
    if not models:
        _show_spent(selection, key, since, until, as_json, address)
        return
    from interlingua.cli import cost_as

    assert selection is not None, "without a name, the whole store is counted"
    move = cost_as.compare(selection, models, _Counted(since, until), address)
    cost_as.show(move, as_json, picture)


def _show_spent(
    selection: Selection | None,
    key: Key,
    since: datetime | None,
    until: datetime | None,
    as_json: bool,
    address: str | None,
) -> None:
    unknown: Counter[str | None] = Counter()
    names: dict[str | None, str] = {}
    bills = Bills()
    if selection is not None:
        made = agent_answers(selection, address, since, until)
        groups = cost_by(_noting(made, unknown, bills), key)
    else:
        with opened(address) as store:
            spent = usages(store, since, until, copies=False)
            groups = cost_by(_noting(spent, unknown, bills), key)
            _add_requests(store, key, since, until, groups, unknown, bills)
            groups = in_order(groups)
            names = _names(store, key) if key in _OWNERS else {}
    if key != "day":
        groups = dict(sorted(groups.items(), key=lambda item: -item[1].cost_usd))
    whole = _whole(groups.values())
    if as_json:
        rows = [{key: group, **_spend_dict(spent)} for group, spent in groups.items()]
        if key in _OWNERS:
            rows = [{**row, "name": names.get(row[key])} for row in rows]
        lacking = [{"model": model, "messages": count} for model, count in unknown.most_common()]
        totals = {"total": _spend_dict(whole), "unknown": lacking, "reported": bills.rows()}
        put_json({"by": key, "rows": rows, **totals})
    elif not groups:
        click.echo("Nothing was spent.", err=True)
    else:
        titles = {group: _title(group, names) for group in groups}
        _show(key, titles, groups, whole, unknown)
        bills.show()


def _add_requests(
    store: Store,
    key: Key,
    since: datetime | None,
    until: datetime | None,
    groups: dict[str | None, SpendGroup],
    unknown: Counter[str | None],
    bills: Bills,
) -> None:
    """Adds the spending of the gateway's clients."""
    kind = "day" if key == "session" else key
    kinds = dict.fromkeys((kind, "model", BILLED, REPORTED))
    rows = store.request_costs(tuple(kinds), since, until)
    for row in rows:
        if row.kind == kind:
            name = None if key == "session" else row.name
            groups.setdefault(name, SpendGroup()).include(_group(row))
        if row.kind == "model" and row.unpriced:
            unknown[row.name] += row.unpriced
        if row.kind == BILLED:
            bills.include(row.name or "", row.cost_usd, Decimal(0))
        elif row.kind == REPORTED:
            bills.include(row.name or "", Decimal(0), row.cost_usd)


def _group(row: CostRow) -> SpendGroup:
    group = SpendGroup()
    group.messages, group.unpriced = row.requests, row.unpriced
    group.prompt_tokens, group.output_tokens = row.prompt_tokens, row.output_tokens
    group.cost_usd = row.cost_usd
    return group


_OWNERS = ("key", "user", "team")


def _names(store: Store, what: str) -> dict[str | None, str]:
    from interlingua.cli.keys import owner_names

    return owner_names(store, what)


def _title(group: str | None, names: dict[str | None, str]) -> str:
    if group is None:
        return NOBODY
    return f"{names[group]} ({group})" if group in names else group


class Bills:
    """The costs that providers report, beside those of the price table, by model."""

    def __init__(self) -> None:
        self._sums: dict[str, tuple[Decimal, Decimal]] = {}

    def add(self, model: str, usage: Usage) -> None:
        theirs = reported_cost(usage)
        if theirs is not None and usage.cost_usd is not None:
            self.include(model, usage.cost_usd, theirs)

    def include(self, model: str, ours: Decimal, theirs: Decimal) -> None:
        before = self._sums.get(model, (Decimal(0), Decimal(0)))
        self._sums[model] = total(before[0], ours), total(before[1], theirs)

    def rows(self) -> list[dict[str, Any]]:
        """Models whose provider reports a cost that differs by more than 2 %."""
        return [
            {"model": model, "cost_usd": ours, "reported_usd": theirs}
            for model, (ours, theirs) in self._sums.items()
            if differs(ours, theirs)
        ]

    def show(self) -> None:
        for row in self.rows():
            ours, theirs = dollars(row["cost_usd"]), dollars(row["reported_usd"])
            text = f"{row['model']}: the provider reports {theirs}, the price table says {ours}"
            say(cell(text), "yellow")


def _noting(
    messages: Iterable[Message], unknown: Counter[str | None], bills: Bills
) -> Iterator[Message]:
    """The same messages; those without a known cost, in whole or in part, are counted by model."""
    prices = own_table()
    for message in messages:
        usage, model = message.metadata.usage, message.metadata.model
        if usage is not None and usage.raw is not None:
            bills.add(model or "", usage)
        if usage is not None and usage.is_known:
            lacks = unpriced_parts(usage, model, prices)
            if usage.cost_usd is None:
                unknown[model] += 1
            elif lacks:
                unknown[f"{model}, {' and '.join(lacks)}"] += 1
        yield message


def _whole(groups: Iterable[SpendGroup]) -> SpendGroup:
    whole = SpendGroup()
    for spent in groups:
        whole.include(spent)
    return whole


def _spend_dict(spent: SpendGroup) -> dict[str, Any]:
    """`cost_usd` is a string, to keep all digits; null if no cost is known."""
    return {
        "cost_usd": _known(spent),
        "messages": spent.messages,
        "unpriced": spent.unpriced,
        "prompt_tokens": spent.prompt_tokens,
        "output_tokens": spent.output_tokens,
    }


def _known(spent: SpendGroup) -> Decimal | None:
    lacks_all = spent.messages and spent.unpriced == spent.messages
    return None if lacks_all and not spent.cost_usd else spent.cost_usd


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
    bars = [spent.cost_usd for spent in groups.values()]
    shown = _Cost(places_of([*bars, whole.cost_usd]), bool(whole.unpriced))
    rows = [_row(titles[group], spent, shown) for group, spent in groups.items()]
    show_table(columns, rows, bars, _row("total", whole, shown))
    if unknown:
        say("")
        say(f"Not in these sums: {plural(whole.unpriced, 'message')} without a known cost", "red")
        for model, count in unknown.most_common():
            say(cell(f"    {model or '(no model)'}: {count:,}"))


class _Cost(NamedTuple):
    """Formats costs with their decimal points aligned."""

    places: int
    has_unknown: bool
    """Whether some sum lacks costs: `+ ?` follows it, and spaces follow the others."""

    def __call__(self, spent: SpendGroup) -> str:
        cost = dollars(_known(spent), self.places)
        more = UNKNOWN if spent.unpriced and cost != "?" else " " * len(UNKNOWN)
        return f"{cost}{more if self.has_unknown else ''}"


UNKNOWN = " + ?"


def _row(name: str, spent: SpendGroup, cost: _Cost) -> list[str]:
    return [
        name,
        f"{spent.messages:,}",
        f"{spent.prompt_tokens:,}",
        f"{spent.output_tokens:,}",
        cost(spent),
    ]


def _selected(
    what: tuple[str, ...],
    transcripts: bool,
    replay: bool,
    home: Path | None,
    formats: tuple[str, ...],
    address: str | None,
) -> Selection | None:
    """The sessions that are named, or all of the agents; None for all that the store has."""
    from interlingua.cli.cost_as import Selection, selected, stored_ids
    from interlingua.transcripts.sessions import here

    for name in formats:
        known_format(name, "--from")
    skipped: list[Skipped] = []
    selection = None
    if what:
        selection = selected(what, home, formats, address, skipped)
    elif transcripts:
        selection = Selection(here(home, formats, skipped)[::-1], [])
    elif replay:
        selection = Selection([], stored_ids(address))
    for one in skipped:
        complain(str(one))
    return selection


class _Counted:
    """Whether an answer counts: made at this time, and for the first time, since forks, helpers and
    sessions that were resumed in another tool hold copies."""

    def __init__(self, since: datetime | None, until: datetime | None) -> None:
        self.since = since
        self.until = until
        self._seen: set[tuple[object, ...]] = set()

    def __call__(self, format: str, answer: Answer | Message) -> bool:
        marks = _marks(format, answer)
        if not self._seen.isdisjoint(marks):
            return False
        if not _is_within(answer.created_at, self.since, self.until):
            return False
        self._seen.update(marks)
        return True


def agent_answers(
    selection: Selection, address: str | None, since: datetime | None, until: datetime | None
) -> Iterator[Message]:
    """Every answer of these sessions that was made in this time, once."""
    from interlingua.transcripts.sessions import look, overviews

    table, counts = own_table(), _Counted(since, until)
    with progress("counting", len(selection.found), unit="sessions") as done:
        for each, overview in overviews(selection.found, look):
            done(1)
            if isinstance(overview, str):
                complain(overview)
                continue
            for answer in overview.answers:
                if counts(each.format, answer):
                    yield _message(answer, f"{each.format}:{overview.id}", table)
    if selection.stored:
        with opened(address) as store:
            for id in selection.stored:
                for message in all_messages(store, store.session(id)):
                    if message.metadata.usage is not None and counts("session", message):
                        yield message


def _marks(format: str, answer: Answer | Message) -> list[tuple[object, ...]]:
    """Marks that copies of an answer share: its id in the same format; in any format its time, to
    the millisecond, and its tokens."""
    if isinstance(answer, Message):
        id, usage = name_of(answer), answer.metadata.usage or Usage()
    else:
        id, usage = answer.id, answer.usage
    marks: list[tuple[object, ...]] = [(format, id, answer.created_at)]
    if (time := answer.created_at) is not None:
        marks.append((round(time.timestamp() * 1000), usage.prompt_tokens, usage.output_tokens))
    return marks


def _message(answer: Answer, session: str, table: PriceTable) -> Message:
    usage = answer.usage.replace(cost_usd=cost_of_answer(answer, table))
    metadata = MessageMetadata(model=answer.model, usage=usage)
    return Message(
        Role.ASSISTANT, metadata=metadata, session_id=session, created_at=answer.created_at
    )


def _is_within(time: datetime | None, since: datetime | None, until: datetime | None) -> bool:
    """An answer without a time is counted only if no period was named."""
    if time is None:
        return since is None and until is None
    return (since is None or time >= since) and (until is None or time < until)


@dataclass(slots=True)
class Change:
    """The changes of one model. Messages without a cost before are separate: no cost is not zero,
    so they have no difference."""

    messages: int = 0
    old: Decimal = Decimal(0)
    new: Decimal = Decimal(0)
    first: int = 0
    first_usd: Decimal = Decimal(0)

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

    def as_dict(self) -> dict[str, Any]:
        return {
            "messages": self.messages,
            "old_usd": self.old,
            "new_usd": self.new,
            "difference_usd": self.difference,
            "first_priced": self.first,
            "first_priced_usd": self.first_usd,
        }


class Result:
    """The result of recomputing the costs of all messages."""

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
def reprice_command(
    version: str | None,
    prices: str | None,
    dry_run: bool,
    as_json: bool,
    address: str | None,
) -> None:
    if version is not None and prices is not None:
        raise click.UsageError("--version and --prices cannot be used together")
    with opened(address) as store:
        table = _table(store, version, prices, keep=not dry_run)
        result = _walk(store, table, dry_run)
    if as_json:
        put_json(_result_dict(result, table, dry_run))
    else:
        _show_repriced(result, table, dry_run)


def _table(store: Store, version: str | None, prices: str | None, keep: bool) -> PriceTable:
    """The table to use; it is stored if costs will name it."""
    from interlingua.costs.table import PriceTable, bundled, own_table, table_of, versions
    from interlingua.sessions.effects import run
    from interlingua.sessions.holding import stored_prices

    if version is None:
        own = own_table() if prices is None else bundled().overlay(PriceTable.load(prices))
        return (run(store, stored_prices(own)) or own) if keep else own
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
        # Failed answers cost what had arrived of them, which is more than was counted.
        history = chain(
            usages(store, next_session=done), answers(store, RequestFilter(failed=False))
        )
        for each in reprice(history, table):
            result.add(each)
            if each.changed and not dry_run:
                saver.add(each)
        saver.flush()
    result.missed = saver.missed
    return result


def _result_dict(result: Result, table: PriceTable, dry_run: bool) -> dict[str, Any]:
    return {
        "pricing_version": table.version,
        "dry_run": dry_run,
        "changed": [{"model": model, **each.as_dict()} for model, each in result.changes.items()],
        "total": result.whole().as_dict(),
        "unchanged": result.same,
        "changed_by_others_meanwhile": result.missed,
        "problems": [
            {"problem": problem, "messages": count}
            for problem, count in result.problems.most_common()
        ],
    }


def _show_repriced(result: Result, table: PriceTable, dry_run: bool) -> None:
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
        rows = [_repriced_row(model, change) for model, change in changes]
        show_table(columns, rows, bars if any(bars) else None, _repriced_row("total", whole))
    for problem, count in result.problems.most_common():
        say(cell(f"unchanged, {plural(count, 'message')}: {problem}"), "red")
    verb = "would change" if dry_run else "changed"
    text = f"{plural(whole.messages, 'message')} {verb}, {result.same:,} already as in"
    click.echo(f"{text} {cell(table.version)}", err=True)
    if result.missed:
        text = plural(result.missed, "message")
        click.echo(
            f"{text} changed by another program meanwhile and skipped: run it again", err=True
        )


def _repriced_row(name: str, change: Change) -> list[str]:
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
