"""`interlingua serve`: the gateway."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from interlingua.cli.main import shown


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
    """Serve, or check what would be served."""
    from interlingua.errors import MissingExtraError

    try:
        import starlette  # noqa: F401  # tried here, used below
        import uvicorn  # noqa: F401

        from interlingua.gateway.server import logs
        from interlingua.gateway.server.serve import serve
        from interlingua.gateway.server.welcome import Welcome
    except ImportError:
        raise MissingExtraError("the gateway", "gateway") from None
    from interlingua.gateway.server.worker import Overrides

    said = Overrides(None if path is None else str(path.absolute()), host, port, workers)
    settings = said.settings()
    if only_check:
        _check(said)
        return
    logs.set_up(settings.telemetry)

    def tell(welcome: Welcome) -> None:
        if as_json:
            click.echo(msgspec.json.encode(welcome.as_json()))
        else:
            click.echo(shown(welcome.text()))

    raise SystemExit(serve(said, settings, tell))


def _check(said: object) -> None:
    from interlingua.cli.terminal import Column, show_table
    from interlingua.gateway.server.worker import Overrides
    from interlingua.gateway.table import check, table

    assert isinstance(said, Overrides)
    settings = said.settings()
    problems = check(settings)
    listen = settings.listen
    click.echo(f"{settings.path or 'no file: defaults'}")
    click.echo(f"listens on {listen.host}:{listen.port}, {listen.workers} worker(s)")
    for problem in problems:
        click.echo(f"wrong: {problem}", err=True)
    columns = [
        Column("asked for", "cyan"),
        Column("goes to"),
        Column("in", "yellow"),
        Column("but", "red", shrink=True),
    ]
    rows = [[row.name, row.model, row.dialect, row.problem or ""] for row in table(settings)]
    show_table(columns, rows)
    if problems:
        raise SystemExit(1)
