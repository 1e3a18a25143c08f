"""`interlingua serve`: the gateway."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from interlingua.cli.main import shown
from interlingua.cli.options import bare_store_option, config_option, json_option
from interlingua.cli.stores import opened
from interlingua.cli.terminal import plural, put_json

if TYPE_CHECKING:
    from interlingua.gateway.settings import Retention
    from interlingua.store.base import Store
    from interlingua.store.sessions import Swept


@click.command("serve", help="Run the gateway, which connects any official SDK to any provider.")
@click.option(
    "--config",
    "path",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A TOML file; default: gateway.toml in your configuration folder, if there is one.",
)
@click.option("--host", help="The address to listen on; default: from the file, or 127.0.0.1.")
@click.option(
    "--port", type=click.IntRange(0, 65535), help="The port; default: from the file, or 8400."
)
@click.option(
    "--workers",
    type=click.IntRange(1, 256),
    help="The number of processes; default: from the file, or 1.",
)
@click.option(
    "--check", "only_check", is_flag=True, help="Check the settings, print the routes, and exit."
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print the startup information as one line of JSON."
)
def command(
    path: Path | None,
    host: str | None,
    port: int | None,
    workers: int | None,
    only_check: bool,
    as_json: bool,
) -> None:
    """Runs the gateway, or checks its settings."""
    from interlingua.errors import MissingExtraError

    try:
        import starlette  # noqa: F401  # tried here, used below
        import uvicorn  # noqa: F401

        from interlingua.gateway.server.serve import Welcome, serve
    except ImportError:
        raise MissingExtraError("the gateway", "gateway") from None
    from interlingua.gateway.server.worker import Overrides, set_up_logs

    overrides = Overrides(None if path is None else str(path.absolute()), host, port, workers)
    settings = overrides.settings()
    if only_check:
        _check(overrides)
        return
    set_up_logs(settings.telemetry)

    def tell(welcome: Welcome) -> None:
        if as_json:
            click.echo(msgspec.json.encode(welcome.as_json()))
        else:
            click.echo(shown(welcome.text()))

    raise SystemExit(serve(overrides, settings, tell))


def _check(overrides: object) -> None:
    from interlingua.cli.terminal import Column, show_table
    from interlingua.gateway.config import check, table, warnings
    from interlingua.gateway.server.worker import Overrides

    assert isinstance(overrides, Overrides)
    settings = overrides.settings()
    problems = check(settings)
    listen = settings.listen
    click.echo(f"{settings.path or 'no settings file: defaults are used'}")
    click.echo(f"listens on {listen.host}:{listen.port}, {plural(listen.workers, 'worker')}")
    for problem in problems:
        click.echo(f"error: {problem}", err=True)
    for problem in warnings(settings):
        click.echo(f"warning: {problem}", err=True)
    columns = [
        Column("model", "cyan"),
        Column("target"),
        Column("dialect", "yellow"),
        Column("problem", "red", shrink=True),
    ]
    rows = [[row.name, row.model, row.dialect, row.problem or ""] for row in table(settings)]
    show_table(columns, rows)
    if problems:
        raise SystemExit(1)


MAINTAIN_HELP = """Delete old request rows, loss reports, gateway events and stored answers now, and
free their space. Ages are those of `[retention]` in gateway.toml; 0 keeps a kind for ever."""


@click.command("maintain", help=MAINTAIN_HELP)
@click.option("--requests", type=click.FloatRange(0), metavar="DAYS", help="Age of request rows.")
@click.option("--losses", type=click.FloatRange(0), metavar="DAYS", help="Age of loss reports.")
@click.option("--events", type=click.FloatRange(0), metavar="DAYS", help="Age of gateway events.")
@config_option("The gateway's settings, with its store and ages; default: gateway.toml.")
@click.option(
    "--vacuum",
    is_flag=True,
    help="Rewrite a SQLite file without its free space; nothing else can write meanwhile.",
)
@json_option
@bare_store_option
def maintain_command(
    requests: float | None,
    losses: float | None,
    events: float | None,
    config: Path | None,
    vacuum: bool,
    as_json: bool,
    address: str | None,
) -> None:
    from interlingua.gateway.config import load

    settings = load(config)
    named = {"requests": requests, "losses": losses, "events": events}
    ages: dict[str, Any] = {name: days for name, days in named.items() if days is not None}
    with opened(address) as store:
        swept = _swept(store, replace(settings.retention, **ages))
        if vacuum:
            swept = swept._replace(bytes=swept.bytes + store.vacuum())
    if as_json:
        put_json(swept._asdict())
        return
    counts = (
        plural(swept.requests, "request"),
        plural(swept.losses, "loss report"),
        plural(swept.events, "event"),
        plural(swept.answers, "stored answer"),
    )
    click.echo(f"deleted {', '.join(counts)}; {swept.bytes:,} bytes freed", err=True)


def _swept(store: Store, retention: Retention) -> Swept:
    from interlingua.events.event import NO_SESSION
    from interlingua.gateway.telemetry.records import (
        before_of,
        gateway_event,
        sizes_of,
        swept_event,
    )
    from interlingua.store.sessions import Swept

    beyond = store.before_newest(sizes_of(retention), NO_SESSION)
    before, swept = before_of(retention).or_later(beyond), Swept()
    while not (some := store.sweep(before, NO_SESSION)).is_nothing:
        swept = swept.plus(some)
    event = swept_event(swept, before)
    if event is not None:
        store.append_events([gateway_event("trace.swept", event)])
    return swept
