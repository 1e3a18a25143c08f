"""What `convert` was asked for, and how it tells what was lost."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import click

from interlingua.cli.main import shown
from interlingua.losses import Report


class ConvertOptions(NamedTuple):
    """What was asked for."""

    source: str
    target: str
    kind: str | None
    model: str | None
    report_file: str | None
    strict: bool
    lines: bool
    envelope: bool
    jobs: int | None
    pretty: bool | None


def tell(report: Report, report_file: str | None) -> None:
    if report_file:
        Path(report_file).write_bytes(report.to_json() + b"\n")
    if report:
        click.echo(shown(str(report)), err=True)
