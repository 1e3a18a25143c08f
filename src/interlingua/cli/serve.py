"""`interlingua serve`: the gateway."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from interlingua.cli.main import shown


@click.command("serve", help="Run the gateway: any official SDK in front, any provider behind.")
@click.option(
    "--config",
    "path",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A TOML file; without it, gateway.toml of your configuration folder, if there is one.",
)
@click.option("--host", help="Where to listen; 127.0.0.1 unless the file says otherwise.")
@click.option("--port", type=click.IntRange(0, 65535), help="8400 unless the file says otherwise.")
@click.option("--workers", type=click.IntRange(1, 256), help="Processes; 1 unless told otherwise.")
@click.option(
    "--check", "only_check", is_flag=True, help="Say what is wrong, print the routes, and end."
)
@click.option(
    "--json", "as_json", is_flag=True, help="What to try as one line of JSON, when it is ready."
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
