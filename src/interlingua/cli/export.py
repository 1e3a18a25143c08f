"""`interlingua export`: sessions out of the store, to be imported elsewhere or sent on."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from interlingua.cli import export_transcripts, stored_sessions
from interlingua.cli.agents import redact_options
from interlingua.cli.main import shown
from interlingua.cli.sessions import TARGETS
from interlingua.cli.stored_sessions import ExportOptions
from interlingua.cli.stores import all_sessions, find_session, opened, store_option
from interlingua.cli.terminal import complain, plural, progress, put
from interlingua.losses import Loss, Report
from interlingua.transcripts import format_of

if TYPE_CHECKING:
    from interlingua.store.base import Store


@click.command("export", help="Export sessions to a file, for import elsewhere or for sending.")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--to", "target", default="jsonl", show_default=True, help=TARGETS)
@click.option("--output", "-o", type=click.Path(writable=True), help="The output file or folder.")
@click.option("--model", help="The model to continue with; default: the session's own.")
@click.option("--trace", is_flag=True, help="Include the events of each session (jsonl only).")
@redact_options
@click.option(
    "--report", type=click.Path(dir_okay=False), help="Write the losses to a file, as JSON."
)
@click.option("--strict", is_flag=True, help="Exit with code 3 if anything is lost.")
@store_option
def command(
    ids: tuple[str, ...],
    target: str,
    model: str | None,
    output: str | None,
    trace: bool,
    redact: bool,
    patterns: tuple[str, ...],
    report: str | None,
    strict: bool,
    address: str | None,
) -> None:
    from interlingua.cli.redact_option import Hiding

    wanted = ExportOptions(target, model, trace, Hiding(patterns) if redact else None)
    sys.exit(export_sessions(ids, wanted, output, report, strict, address))


def export_sessions(
    ids: tuple[str, ...],
    wanted: ExportOptions,
    output: str | None,
    report: str | None,
    strict: bool,
    address: str | None,
) -> int:
    """Sessions by id, or all; gives the exit code."""
    _require_target(wanted)
    lost = 0
    with opened(address) as store:
        chosen = _chosen(store, ids)
        in_one = _is_one_file(wanted, output, len(chosen))
        quiet = output is None and sys.stdout.isatty()
        with (
            _writer(output if in_one else None) as write,
            _writer(report) as note,
            progress("exporting", len(chosen), quiet) as done,
        ):
            for id in chosen:
                if wanted.target in export_transcripts.names():
                    place = Path(output) if output else None
                    losses = _abroad(store, id, wanted, place, len(chosen) == 1, write or put)
                else:
                    losses = _export(store, id, wanted, write or put)
                if losses and note:
                    note(msgspec.json.encode({"session": id, "losses": losses}) + b"\n")
                lost += len(losses)
                done(1)
    if wanted.hide is not None:
        wanted.hide.tell()
    if output:
        click.echo(f"{plural(len(chosen), 'session')} in {shown(output)}", err=True)
    return 3 if strict and lost else 0


def _require_target(wanted: ExportOptions) -> None:
    known = [*stored_sessions.targets(), *export_transcripts.names()]
    if wanted.target not in known:
        problem = f"unknown format {wanted.target!r}: {', '.join(known)}"
        raise click.BadParameter(problem, param_hint="--to")
    if wanted.trace and wanted.target != stored_sessions.JSONL:
        raise click.UsageError("--trace works only with --to jsonl")


def _is_one_file(wanted: ExportOptions, output: str | None, sessions: int) -> bool:
    """Whether all sessions go into one file; the output must then be none or a file."""
    is_abroad = wanted.target in export_transcripts.names()
    if is_abroad:
        export_transcripts.require_place(wanted.target, output, sessions)
    if wanted.target == stored_sessions.HTML and sessions != 1:
        raise click.UsageError("--to html exports one session: name it")
    in_one = not is_abroad or format_of(wanted.target).rows
    if output and in_one and os.path.isdir(output):
        raise click.BadParameter(f"{output} is a folder", param_hint="--output")
    return in_one


@contextmanager
def _writer(path: str | None) -> Iterator[Callable[[bytes], object] | None]:
    """A file that is written to, for its owner alone, since conversations are private."""
    if path is None:
        yield None
        return
    try:
        with open(path, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            yield file.write
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise  # standard output, and not ours to name
        raise click.FileError(path, error.strerror or type(error).__name__) from None


def _abroad(
    store: Store,
    id: str,
    wanted: ExportOptions,
    place: Path | None,
    single: bool,
    write: Callable[[bytes], object],
) -> list[Loss]:
    report = Report(wanted.target)
    transcript = export_transcripts.transcript_of(store, store.session(id), report, wanted.hide)
    report.extend(export_transcripts.write_to(transcript, wanted.target, place, single, write))
    if report:
        complain(f"session {id}: {report}")
    return report.losses


def _export(
    store: Store, id: str, wanted: ExportOptions, write: Callable[[bytes], object]
) -> list[Loss]:
    report = Report(wanted.target)
    for piece in stored_sessions.pieces(store, store.session(id), wanted, report):
        write(piece)
    if report:
        complain(f"session {id}: {report}")
    return report.losses


def _chosen(store: Store, ids: tuple[str, ...]) -> list[str]:
    """All sessions are in the order of their last change, which an import keeps."""
    if ids:
        return list(dict.fromkeys(find_session(store, id).id for id in ids))
    return [row.id for row in all_sessions(store)][::-1]
