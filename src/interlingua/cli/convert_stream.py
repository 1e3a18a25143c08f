"""`interlingua convert` of a recorded stream, or of one that is still arriving."""

from __future__ import annotations

import click

from interlingua.cli import formats
from interlingua.cli.conversion import ConvertOptions, tell
from interlingua.cli.inputs import Input
from interlingua.cli.main import shown
from interlingua.cli.outputs import Put
from interlingua.cli.recordings import recording
from interlingua.dialects.registry import dialects
from interlingua.errors import ReadError
from interlingua.model.events import Event, MessageComplete, MessageStart, StreamError
from interlingua.say import named, renamed
from interlingua.streams.convert import StreamConverter


def convert(given: Input, put: Put, wish: ConvertOptions) -> int:
    """A recorded stream, said piece by piece as it arrives."""
    if wish.kind not in (None, "stream"):
        raise click.UsageError(f"{given.name} is a stream, and no {wish.kind}: --kind stream")
    if wish.lines or wish.envelope:
        raise click.UsageError("--lines and --envelope are not for streams")
    if wish.target not in dialects():
        raise click.BadParameter(f"{wish.target} has no streams", param_hint="--to")
    source, chunks = recording(given, wish.source)
    if wish.source == formats.AUTO:
        click.echo(f"read as {source} stream", err=True)
    end = _End(wish.model)
    converter = StreamConverter(source, wish.target, wish.model, end.watch)
    try:
        for chunk in chunks:
            put(converter.feed(chunk))
        end.is_near = True
        put(converter.close())
    except ReadError as error:
        put(converter.fail(error))
        raise
    tell(converter.report, wish.report_file)
    if end.cut is not None:
        click.echo(shown(f"interlingua: {given.name} was cut: {end.cut}"), err=True)
        return 1
    return 3 if wish.strict and converter.report else 0


class _End:
    """Watches a stream: gives it another model's name, and tells whether it was cut. An error that
    the provider itself sent is an end like any other."""

    def __init__(self, model: str | None) -> None:
        self.is_near = False
        self.cut: str | None = None
        self._model = model

    def watch(self, event: Event) -> Event:
        if isinstance(event, StreamError) and self.is_near:
            self.cut = event.error.message
        if self._model is not None and isinstance(event, MessageStart):
            return event.replace(model=named(self._model)[1])
        if self._model is not None and isinstance(event, MessageComplete):
            return event.replace(response=renamed(event.response, named(self._model)[1]))
        return event
