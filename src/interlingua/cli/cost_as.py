"""`interlingua cost WHAT --as MODEL,…`: what sessions would have cost on other models."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from interlingua.cli.export import transcript_of
from interlingua.cli.stores import all_sessions, find_session, opened
from interlingua.cli.terminal import (
    Column,
    cell,
    complain,
    console,
    dollars,
    on_terminal,
    plural,
    progress,
    put_json,
    say,
    show_table,
)
from interlingua.costs.elsewhere import Elsewhere, Spending
from interlingua.costs.table import own_table
from interlingua.errors import InterlinguaError
from interlingua.model.losses import Report
from interlingua.model.message import Message
from interlingua.profiles.names import AmbiguousModelError, UnknownModelError
from interlingua.transcripts import sessions
from interlingua.transcripts.prices import requests_of

if TYPE_CHECKING:
    from interlingua.costs.table import PriceTable
    from interlingua.transcripts.format import Found, Skipped
    from interlingua.transcripts.transcript import Transcript

RESPONSES = ("openai:", "azure:")
"""Providers with two formats; the one with fewer losses is used."""
LOSSES = 5
"""Kinds of losses that are shown."""


class Selection(NamedTuple):
    """The sessions that a command is about: in files of agents, and in the store by their ids."""

    found: list[Found]
    stored: list[str]

    def __len__(self) -> int:
        return len(self.found) + len(self.stored)


def selected(
    what: Iterable[str],
    home: Path | None,
    formats: tuple[str, ...],
    address: str | None,
    skipped: list[Skipped],
) -> Selection:
    """The sessions that are named by a file, a folder, an id in the store, or as `transcripts list`
    names them."""
    selection = Selection([], [])
    for name in what:
        path = Path(name)
        if path.is_dir():
            selection.found.extend(_in_folder(path, formats, skipped))
        elif path.exists():
            selection.found.append(sessions.at(path, *formats[:1]))
        elif (id := _stored_id(name, address)) is not None:
            selection.stored.append(id)
        else:
            selection.found.append(sessions.pick(name, home, formats, skipped))
    return selection


def _in_folder(folder: Path, formats: tuple[str, ...], skipped: list[Skipped]) -> list[Found]:
    """The sessions of agents in this home folder; otherwise all session files in it."""
    found = sessions.here(folder, formats, skipped)[::-1]
    if found:
        return found
    for path in sorted(folder.rglob("*.json*")):
        try:
            each = sessions.at(path)
        except (InterlinguaError, OSError):
            continue  # settings and other things of an agent
        if not formats or each.format in formats:
            found.append(each)
    if not found:
        raise click.UsageError(f"{folder} contains no agent sessions")
    return found


def _stored_id(name: str, address: str | None) -> str | None:
    try:
        with opened(address) as store:
            return find_session(store, name.removeprefix("store:")).id
    except InterlinguaError:
        return None


def stored_ids(address: str | None) -> list[str]:
    """All sessions of the store, the last changed at the end: a fork after its origin."""
    with opened(address) as store:
        return [row.id for row in all_sessions(store)][::-1]


def models_named(texts: Iterable[str], table: PriceTable) -> list[str]:
    """Full names of the models to compare, each once; all of them have a price."""
    from interlingua.profiles.resolving import resolve

    models: dict[str, None] = {}
    for name in (name.strip() for text in texts for name in text.split(",") if name.strip()):
        try:
            id = resolve(name)
            table.find(id)
        except (UnknownModelError, AmbiguousModelError) as error:
            raise click.BadParameter(str(error), param_hint="--as") from None
        models[id] = None
    if not models:
        raise click.BadParameter("expected at least one model", param_hint="--as")
    return list(models)


class Move:
    """Replays sessions on other models, and collects the losses of the move."""

    def __init__(self, models: list[str], table: PriceTable) -> None:
        self.costs = Elsewhere(models, table)
        self.losses: dict[str, Counter[str]] = {model: Counter() for model in models}
        self.sessions = 0
        self.no_instructions = 0
        self.no_tools = 0

    def replay(self, transcript: Transcript, counts: Callable[[Message], bool]) -> None:
        before = self.costs.recorded.requests
        for session in requests_of(transcript, counts):
            self.costs.replay(session)
        if self.costs.recorded.requests == before:
            return
        self.sessions += 1
        roles = {str(message.role) for message in transcript.messages}
        self.no_instructions += roles.isdisjoint({"system", "developer"})
        self.no_tools += not transcript.tools
        for model, losses in self.losses.items():
            losses.update(_losses(transcript.live, model))


def _losses(messages: tuple[Message, ...], model: str) -> Iterator[str]:
    """The reasons of what this history would lose there, each with its count."""
    from interlingua.adapt.convert import plan

    try:
        reports = [plan(messages, model)]
        if reports[0].losses and model.startswith(RESPONSES):
            name = model.partition(":")[2]
            reports.append(plan(messages, "openai-responses", name))
    except InterlinguaError as error:
        yield str(error)
        return
    fewest = min(reports, key=lambda report: len(report.losses))
    yield from (loss.reason for loss in fewest.losses)


def compare(
    selection: Selection,
    texts: Iterable[str],
    counts: Callable[[str, Message], bool],
    address: str | None,
) -> Move:
    table = own_table()
    move = Move(models_named(texts, table), table)
    with progress("replaying", len(selection), unit="sessions") as done:
        for format, transcript in _transcripts(selection, address):
            done(1)
            if isinstance(transcript, str):
                complain(transcript)
                continue
            move.replay(transcript, partial(counts, format))
    if not move.costs.recorded.requests:
        raise click.UsageError("these sessions have no model requests in this period")
    return move


def _transcripts(
    selection: Selection, address: str | None
) -> Iterator[tuple[str, Transcript | str]]:
    for found, transcript in sessions.overviews(selection.found, sessions.opened):
        yield found.format, transcript
    if selection.stored:
        with opened(address) as store:
            for id in selection.stored:
                yield "session", transcript_of(store, find_session(store, id), Report("transcript"))


# What people and programs see


def move_dict(move: Move) -> dict[str, Any]:
    """Costs are strings, to keep all digits; null without a known cost."""
    costs = move.costs
    return {
        "sessions": move.sessions,
        "requests": costs.recorded.requests,
        "recorded": {"models": costs.models, **_spending_dict(costs.recorded)},
        "rows": [
            {
                "model": model,
                **_spending_dict(spent),
                "low_usd": spent.low_usd,
                "high_usd": spent.high_usd,
                "losses": [
                    {"reason": reason, "count": count}
                    for reason, count in move.losses[model].most_common()
                ],
            }
            for model, spent in costs.spent.items()
        ],
        "notes": list(notes(move)),
        "pricing_version": costs.table.version,
    }


def _spending_dict(spent: Spending) -> dict[str, Any]:
    return {
        "cost_usd": spent.cost_usd,
        "unpriced": spent.unpriced,
        "input_tokens": spent.fresh,
        "cached_input_tokens": spent.cached,
        "cache_creation_input_tokens": spent.written,
        "output_tokens": spent.output,
    }


def notes(move: Move) -> Iterator[str]:
    """The assumptions behind the figures, and what the files lack."""
    costs = move.costs
    requests = costs.recorded.requests
    lacking = [
        name
        for name, count in (("system prompts", move.no_instructions), ("tools", move.no_tools))
        if count
    ]
    if lacking and costs.hidden:
        each = round(costs.hidden / requests)
        yield (
            f"The files hold no {' and no '.join(lacking)}: about {each:,} tokens of each prompt,"
            " known from the recorded usage."
        )
    elif lacking:
        yield f"The files hold no {' and no '.join(lacking)}, so prompts are estimated too small."
    if costs.unanchored:
        yield (
            f"{plural(costs.unanchored, 'request')} without recorded usage: estimated from the"
            " text alone."
        )
    yield "Assumed: the same answers, word for word; another model may write more or less."
    for spent in (costs.recorded, *costs.spent.values()):
        if spent.lacks:
            model = spent.model or "as recorded"
            yield f"Not in the cost, for want of a price: {', '.join(spent.lacks)} ({model})."
    unsure = [lane for lane in costs.spent if not costs.is_sure(lane)]
    if unsure:
        yield (
            "Cache hits depend on routing and eviction (the range includes misses):"
            f" {', '.join(unsure)}."
        )


def show_move(move: Move) -> None:
    costs = move.costs
    base = costs.recorded.cost_usd
    whole = None if costs.recorded.unpriced else base
    columns = [
        Column("model", "cyan", shrink=True),
        Column("cost", "green", right=True),
        Column("likely between", "dim", right=True),
        Column("change", right=True),
        Column("cached", "dim", right=True, wide=72),
        Column("losses", right=True, wide=90),
    ]
    spent = sorted(costs.spent.values(), key=lambda each: each.cost_usd or Decimal(0))
    rows = [_row(each, whole, move) for each in spent]
    used = next(iter(costs.models)) if len(costs.models) == 1 else f"{len(costs.models)} models"
    used = used or "(no model)"
    first = [used, _cost(costs.recorded), "as recorded", "", _share(costs.recorded), ""]
    bars = [base or Decimal(0), *(each.cost_usd or Decimal(0) for each in spent)]
    show_table(columns, [first, *rows], bars)
    say("")
    sum = costs.recorded
    text = f"{plural(sum.requests, 'request')} in {plural(move.sessions, 'session')}"
    say(f"{text}, {sum.prompt:,} tokens in, {sum.output:,} out; prices of {costs.table.version}")
    if sum.unpriced:
        say(
            f"{plural(sum.unpriced, 'request')} without a known price not in the recorded cost,"
            " or only in part",
            "red",
        )
    for note in notes(move):
        say(cell(note), "dim")
    _show_losses(move)


def _row(spent: Spending, base: Decimal | None, move: Move) -> list[str]:
    exact = spent.low_usd == spent.high_usd
    return [
        spent.model,
        _cost(spent),
        "as recorded" if exact else f"{_money(spent.low_usd)} – {_money(spent.high_usd)}",
        "" if spent.unpriced else _change(spent.cost_usd, base),
        _share(spent),
        f"{sum(move.losses[spent.model].values()):,}",
    ]


def _cost(spent: Spending) -> str:
    """The cost, and whether a part of it is not known."""
    lacks = " + ?" if spent.unpriced and spent.cost_usd is not None else ""
    return f"{_money(spent.cost_usd)}{lacks}"


def _money(amount: Decimal | None) -> str:
    """Cents from a dollar on; two digits that count below it."""
    if amount is None:
        return "?"
    if amount >= 1 or amount == 0:
        return f"${amount:,.2f}"
    places = 1 - amount.adjusted()
    return dollars(amount.quantize(Decimal(1).scaleb(-places))) if places <= 6 else dollars(amount)


def _change(cost: Decimal | None, base: Decimal | None) -> str:
    if cost is None or not base:
        return ""
    share = (cost / base - 1) * 100
    return f"{share:+.0f} %" if abs(share) < 1000 else f"{cost / base:,.0f} ×"


def _share(spent: Spending) -> str:
    return f"{spent.cached / spent.prompt:.0%}".replace("%", " %") if spent.prompt else ""


def _show_losses(move: Move) -> None:
    """The commonest kinds, each with the models that would bring it."""
    kinds: dict[str, dict[str, int]] = {}
    for model, losses in move.losses.items():
        for reason, count in losses.items():
            kinds.setdefault(reason, {})[model] = count
    if not kinds:
        say("Nothing of the conversations would be lost.")
        return
    say("")
    say("What the moves would lose")
    ordered = sorted(kinds.items(), key=lambda kind: -max(kind[1].values()))
    for reason, models in ordered[:LOSSES]:
        counts = sorted(set(models.values()))
        times = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,}–{counts[-1]:,}"
        names = "all of them" if len(models) == len(move.losses) else ", ".join(models)
        _say_indented(f"{times} × {reason}", "  ")
        _say_indented(f"with {names}", "      ", "dim")
    if len(ordered) > LOSSES:
        say(f"  and {plural(len(ordered) - LOSSES, 'other kind')}: --json has them all", "dim")


def _say_indented(text: str, before: str, style: str = "") -> None:
    """Prints a line of a list; on a terminal, it is wrapped with indentation."""
    if not on_terminal():
        say(before + cell(text), style)
        return
    room = max(console().width - len(before), 20)
    for line in textwrap.wrap(cell(text), room, break_on_hyphens=False):
        say(before + line, style)


# The picture as a file

_LETTER, _WIDTH, _LINE, _TOP, _AFTER = 7.6, 860, 34, 34, 190
"""The width of a letter at most, of the picture and of the amounts behind the bars; heights."""


def picture(move: Move) -> str:
    """The costs as bars with their ranges, as SVG."""
    costs = move.costs
    spent = sorted(costs.spent.values(), key=lambda each: each.cost_usd or Decimal(0))
    base = [float(costs.recorded.cost_usd or 0)] * 3
    bars = [_Bar("as recorded", _cost(costs.recorded), *base)]
    for each in spent:
        amounts = (each.cost_usd, each.low_usd, each.high_usd)
        bars.append(_Bar(each.model, _cost(each), *(float(amount or 0) for amount in amounts)))
    most = max(bar.high for bar in bars) or 1.0
    left = max(len(bar.name) for bar in bars) * _LETTER + 16
    height, width = _LINE * len(bars) + _TOP + 10, left + _WIDTH - 250
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}"'
        ' font-family="sans-serif" font-size="13">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{left:.1f}" y="20" fill="#555">US dollars; the line is the range</text>',
    ]
    for number, bar in enumerate(bars):
        lines += _bar(number, bar, left, (width - left - _AFTER) / most)
    return "\n".join([*lines, "</svg>", ""])


class _Bar(NamedTuple):
    name: str
    text: str
    cost: float
    low: float
    high: float


def _bar(number: int, bar: _Bar, left: float, scale: float) -> list[str]:
    name, text, cost, low, high = bar
    top = _TOP + number * _LINE
    middle, fill = top + 12, "#999" if number == 0 else "#7b4fb5"
    first, end = left + low * scale, left + high * scale
    range_ = caps = ""
    if high > low:
        range_ = f" ({_money(Decimal(str(low)))} – {_money(Decimal(str(high)))})"
        caps = f"M{first:.1f} {middle - 4}v8M{end:.1f} {middle - 4}v8"
    return [
        f'<text x="{left - 8:.1f}" y="{middle + 5}" text-anchor="end">{escape(name)}</text>',
        f'<rect x="{left:.1f}" y="{top}" width="{cost * scale:.1f}" height="24" fill="{fill}"/>',
        f'<path d="M{first:.1f} {middle}H{end:.1f}{caps}" stroke="black"/>',
        f'<text x="{end + 6:.1f}" y="{middle + 5}">{text}{range_}</text>',
    ]


def put_picture(path: Path, move: Move) -> None:
    path.write_text(picture(move), encoding="utf-8")
    click.echo(f"picture: {cell(str(path))}", err=True)


def show(move: Move, as_json: bool, picture_path: Path | None) -> None:
    if as_json:
        put_json(move_dict(move))
    else:
        show_move(move)
    if picture_path is not None:
        put_picture(picture_path, move)
