"""Sessions of the store as transcripts of other agents and interchange formats.

Formats in which a line is a conversation take all sessions in one file; of the others, each session
is a file, and several go into a folder.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from interlingua import transcripts
from interlingua.cli import formats, stored_sessions
from interlingua.losses import Report
from interlingua.model.message import Message
from interlingua.store.rows import SessionRow
from interlingua.transcripts import Branch, Compaction, Transcript
from interlingua.transcripts.summary import is_summary
from interlingua.transcripts.totals import model_changes, models_of, usage_of

if TYPE_CHECKING:
    from interlingua.cli.redact_option import Hiding
    from interlingua.store.base import Store

OURS = "interlingua"
"""The format of transcripts that come from a store."""


def names() -> list[str]:
    """The formats that sessions can be written in, beside those of this package."""
    known = (transcripts.format_of(name) for name in transcripts.formats())
    return [each.name for each in known if each.write and each.name not in formats.names()]


def transcript_of(
    store: Store, row: SessionRow, report: Report, hide: Hiding | None = None
) -> Transcript:
    """A session, with the providers' own ids of calls."""
    row = row if hide is None else hide.row(row)
    messages = stored_sessions.messages_abroad(store, row, report, hide)
    return Transcript(
        format=OURS,
        messages=messages,
        id=row.id,
        title=row.name,
        folder=row.workspace_path,
        created_at=row.created_at,
        updated_at=row.updated_at,
        models=models_of(messages),
        usage=usage_of(messages),
        branches=(Branch(None, messages, True),),
        compactions=_compactions(messages),
        model_changes=model_changes(messages),
    )


def _compactions(messages: tuple[Message, ...]) -> tuple[Compaction, ...]:
    return tuple(Compaction(at) for at, each in enumerate(messages) if is_summary(each))


def write_to(
    transcript: Transcript,
    target: str,
    output: Path | None,
    single: bool,
    write: Callable[[bytes], object],
) -> Report:
    """Into the file, or a file of the folder where there are several; or to `write`, where lines
    of several sessions can follow each other, or there is but one."""
    form = transcripts.format_of(target)
    if output is not None and not form.rows:
        place = output if single else output / f"{transcript.id}{form.suffix}"
        return transcripts.write(transcript, place, target)
    files, report = transcripts.draft(transcript, target, f"{transcript.id}{form.suffix}")
    if len(files) > 1:
        raise click.UsageError(f"it is {len(files)} files with its helpers: --output names one")
    for pieces in files.values():
        for piece in pieces:
            write(piece)
    return report


def require_place(target: str, output: str | None, count: int) -> None:
    """Wrong usage where several sessions would be one file that can hold but one."""
    form = transcripts.format_of(target)
    if form.rows or count == 1:
        return
    if output is None:
        problem = f"a file of {target} has one session, and there are {count}"
        raise click.UsageError(f"{problem}: --output names a folder for them")
    if Path(output).is_file():
        raise click.BadParameter("it is a file, and there are several", param_hint="--output")
