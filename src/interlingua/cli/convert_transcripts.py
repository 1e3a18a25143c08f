"""`interlingua convert` of the sessions of other agents, exports and interchange files: each as the
request that goes on with it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice
from pathlib import Path

import click

from interlingua import transcripts
from interlingua.batches import NAMES as BATCHES
from interlingua.cli import formats
from interlingua.cli.conversion import ConvertOptions, tell
from interlingua.cli.inputs import Input
from interlingua.cli.outputs import Put
from interlingua.dialects.record import Written
from interlingua.losses import Report
from interlingua.model.exchange import Request
from interlingua.providers.profiles import profile_here
from interlingua.transcripts import Transcript
from interlingua.transcripts.format import Sample
from interlingua.transcripts.rows import tell_left_behind

UNSAID = ("id", "title", "folder", "created_at")
"""Facts of a session that no request has a place for."""


def format_in(given: Input) -> str | None:
    """The format of the sessions in a file; None where there are none, or it is not clear."""
    sample = Sample(given.place or Path("session.jsonl"), given.head())
    found = [each.format for each in transcripts.recognized(sample) if each.format not in BATCHES]
    return found[0] if len(found) == 1 else None


def sessions(format: str) -> Callable[[Input, Put, ConvertOptions], int]:
    """The way to convert sessions of this format."""
    return partial(_convert, format)


def _convert(format: str, given: Input, put: Put, wish: ConvertOptions) -> int:
    click.echo(f"read as {format} transcript", err=True)
    profile = profile_here(wish.model, wish.target)
    losses = Report(wish.target)
    with _on_disk(given) as path:
        every = transcripts.read_all(path, format)
        first = list(islice(every, 2))
        pretty = sys.stdout.isatty() if wish.pretty is None else wish.pretty
        for transcript in chain(first, every):
            request = _request(transcript)
            told = formats.write(request, wish.target, None, wish.model, profile)
            put(formats.to_bytes(told.wire, pretty and len(first) == 1) + b"\n")
            losses.losses += _losses(transcript, told)
    tell(losses, wish.report_file)
    return 3 if wish.strict and losses else 0


def _request(transcript: Transcript) -> Request:
    """What a model still sees of a session, for the model that it went on with last."""
    model = transcript.models[-1] if transcript.models else None
    name = None if model is None else model.partition(":")[2] or model
    return Request(transcript.live, name, transcript.tools)


def _losses(transcript: Transcript, told: Written) -> Report:
    report = Report(told.report.target, [*transcript.report])
    tell_left_behind(transcript, report)
    before = len(transcript.messages) - len(transcript.live)
    if before:
        reason = f"{before} messages before a summary stay behind, as for the model"
        report.add("dropped", "$.messages", reason, "info")
    for fact in UNSAID:
        if getattr(transcript, fact) is not None:
            report.add("dropped", f"$.{fact}", "a request has no place for it", "info")
    report.extend(told.report)
    return report


@contextmanager
def _on_disk(given: Input) -> Iterator[Path]:
    """Where the file lies, with those of helpers beside it; of standard input, a copy."""
    if given.place is not None:
        yield given.place
        return
    from tempfile import NamedTemporaryFile

    with NamedTemporaryFile(suffix=".jsonl") as file:
        file.writelines(given.chunks())
        file.flush()
        yield Path(file.name)
