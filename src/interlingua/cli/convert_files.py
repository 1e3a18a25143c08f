"""`interlingua convert` of whole files, folders and tables: hands over to `interlingua.bulk`."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from interlingua import packed
from interlingua.bulk import tally
from interlingua.bulk.convert import Job
from interlingua.bulk.files import PARQUET, found, suffix_of
from interlingua.bulk.run import Summary, convert_files
from interlingua.cli import formats
from interlingua.cli.conversion import ConvertOptions
from interlingua.cli.convert_lines import progress
from interlingua.cli.main import shown


def convert(
    files: tuple[str, ...],
    output: str | None,
    wish: ConvertOptions,
    kind_of_parts: str | None,
    bad: str | None,
    restart: bool,
) -> int:
    if output is None:
        raise click.UsageError("many conversations go to a file or a folder: -o says which")
    if wish.kind == "stream":
        raise click.UsageError("streams are converted one at a time")
    if wish.envelope:
        raise click.UsageError("--envelope is for lines; Parquet has losses beside each row")
    inputs = found(files, Path(output))
    job = Job(wish.target, wish.source, wish.kind or _kind(inputs, wish.source), wish.model)
    suffix = None if kind_of_parts is None else f".{kind_of_parts}"
    with progress(sum(path.stat().st_size for path in inputs)) as bar:
        summary = convert_files(
            inputs,
            output,
            job,
            jobs=wish.jobs,
            suffix=suffix,
            bad=bad,
            restart=restart,
            progress=bar,
        )
    _tell(summary, wish.report_file)
    return 1 if summary.bad else 3 if wish.strict and summary.losses else 0


def _kind(inputs: list[Path], source: str) -> str | None:
    """What the rows are, told by the first, where their format is said."""
    lines = next((path for path in inputs if suffix_of(path) != PARQUET), None)
    if source == formats.AUTO or lines is None:
        return None
    with packed.opened(lines) as file:
        first = next((line for line in file if not line.isspace()), b"")
    return formats.kind_of(first, source)


def _tell(summary: Summary, report_file: str | None) -> None:
    if report_file:
        Path(report_file).write_bytes(msgspec.json.encode(summary) + b"\n")
    losses = sum(summary.losses.values())
    click.echo(f"{summary.rows:,} rows, {summary.bad:,} unreadable, {losses:,} losses", err=True)
    if summary.bad_file is not None:
        click.echo(f"unreadable rows: {shown(summary.bad_file)}", err=True)
    for kind, times in summary.losses.items():
        click.echo(f"{kind}: {times:,}", err=True)
    for line in tally.lines(summary.tally):
        click.echo(shown(line), err=True)
