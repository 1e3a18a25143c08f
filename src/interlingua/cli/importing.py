"""`interlingua import`: sessions made of files.

An exported session comes back under its own ids and is not imported twice; anything else becomes a
new session. What cannot be read is told with its line, and the rest is imported. A transcript of
another agent comes with its branches and helpers, each a session that names its parent.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile

import click
import msgspec

from interlingua import transcripts
from interlingua.cli import formats, reading
from interlingua.cli.import_sessions import SessionImporter
from interlingua.cli.stores import json_option, opened, store_option
from interlingua.cli.terminal import complain, plural, progress, put_json
from interlingua.errors import InterlinguaError
from interlingua.store.errors import StoreError
from interlingua.transcripts import formats as transcript_formats

ROWS = ("openai-finetune", "hf-messages")
"""Rows of chat requests: without a word, they are taken for these."""


@click.command("import", help="Import requests, responses, transcripts or exports as sessions.")
@click.argument(
    "files",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
)
@click.option("--from", "source", default=reading.AUTO, help="The format; auto detects it.")
@click.option("--model", help="The model, for formats that have it in the URL.")
@click.option("--provider", help="The provider, if the format does not tell.")
@click.option("--new-ids", is_flag=True, help="Import exported sessions as copies with new ids.")
@json_option
@store_option
def command(
    files: tuple[Path, ...],
    source: str,
    model: str | None,
    provider: str | None,
    new_ids: bool,
    as_json: bool,
    address: str | None,
) -> None:
    known = [reading.AUTO, *formats.names(), *transcript_formats()]
    if source not in known:
        problem = f"unknown format {source!r}: {', '.join(known)}"
        raise click.BadParameter(problem, param_hint="--from")
    total = sum(path.stat().st_size for path in files if str(path) != reading.STDIN)
    failed = 0
    with opened(address, make=True) as store, progress("importing", total) as done:
        importer = SessionImporter(store, new_ids, provider)
        for path in files:
            format = _transcript_format(path, source)
            if format is None:
                failed += _import_items(path, reading.items(path, source, model), importer, done)
            else:
                failed += _import_transcripts(path, format, importer)
                done(path.stat().st_size if str(path) != reading.STDIN else 0)
    if as_json:
        put_json({**msgspec.to_builtins(importer.counts), "failed": failed})
    else:
        _show_counts(importer, failed)
    sys.exit(1 if failed else 0)


def _import_items(
    path: Path,
    items: Iterable[reading.Item],
    importer: SessionImporter,
    done: Callable[[int], object],
) -> int:
    """Requests, responses and exports of a file; gives how many of them cannot be read."""
    failed = 0
    for item in items:
        failure = item.error or importer.take(item.found)
        if failure is not None:
            failed += 1
            complain(f"{path}, line {item.line}: {failure}")
        done(item.size)
    if (failure := importer.finish()) is not None:
        failed += 1
        complain(f"{path}: {failure}")
    return failed


def _show_counts(importer: SessionImporter, failed: int) -> None:
    counts = importer.counts
    text = f"{plural(counts.sessions, 'session')}, {plural(counts.messages, 'message')}"
    click.echo(f"{text} imported, {failed:,} unreadable", err=True)
    for left in counts.left_out():
        click.echo(left, err=True)


def _transcript_format(path: Path, source: str) -> str | None:
    """The transcript format of a file, by its name or found out; None for all else. Rows of
    requests are read as requests, which says more of them."""
    if source != reading.AUTO:
        return source if source in transcript_formats() and source not in formats.names() else None
    if str(path) == reading.STDIN:
        return None
    try:
        found = transcripts.detect(path).format
    except InterlinguaError:
        return None
    return None if found in ROWS else found


def _import_transcripts(path: Path, format: str, arrivals: SessionImporter) -> int:
    """All sessions of a file; gives how many things in it cannot be read."""
    with _on_disk(path) as file:
        try:
            failed = 0
            for transcript in transcripts.read_all(file, format):
                for loss in transcript.report:
                    if loss.severity == "error":
                        failed += 1
                        complain(f"{path}, {loss.path}: {loss.reason}")
                for problem in arrivals.settle(transcript):
                    complain(f"{path}: {problem}")
        except InterlinguaError as error:
            if isinstance(error, StoreError):
                raise
            complain(f"{path}: {error}")
            return failed + 1
    return failed


@contextmanager
def _on_disk(path: Path) -> Iterator[Path]:
    """Standard input as a file, since formats may have to look at it twice."""
    if str(path) != reading.STDIN:
        yield path
        return
    with NamedTemporaryFile(suffix=".jsonl") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
        file.flush()
        yield Path(file.name)
