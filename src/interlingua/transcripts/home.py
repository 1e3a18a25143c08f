"""The way home: a transcript in the format it was read from.

The files are copied as they are; only the lines of messages that were changed are said anew, and
added messages come behind the last line. What cannot be told so (a message taken out, another
order) is told by writing the whole transcript.
"""

from __future__ import annotations

from collections.abc import Iterator

from interlingua.transcripts.files import copied
from interlingua.transcripts.format import Format
from interlingua.transcripts.transcript import Origin, OriginFile, Span, Transcript
from interlingua.transcripts.versions import require_seen

Edits = dict[int, list[tuple[Span, bytes]]]
"""By file: which bytes are replaced by which."""


def home(transcript: Transcript, to: Format, name: str) -> dict[str, Iterator[bytes]] | None:
    """The files by name, each piece by piece; None if they have to be written anew. The main one
    is to be called `name`."""
    origin = transcript.origin
    if origin is None or origin.format != to.name:
        return None
    if to.form is not None and to.form(name) != to.form(origin.files[0].name):
        return None
    edits = _edits(transcript, origin, to)
    added = _added(transcript, origin, to)
    if edits is None or added is None:
        return None
    if edits or added:
        require_seen(transcript, to)
    return {
        file.name: _pieces(file, edits.get(number, []), b"" if number else added)
        for number, file in enumerate(origin.files)
        if not file.aside or origin.files[0].name == name
    }


def _added(transcript: Transcript, origin: Origin, to: Format) -> bytes | None:
    """Lines for the messages behind those that were read; None if there is no way to add them."""
    count = len(origin.messages)
    if len(transcript.messages) == count:
        return b""
    if len(transcript.messages) < count or to.more is None or not count:
        return None
    spans = [span for spans in origin.spans for span in spans if span.file == 0]
    if not spans:
        return None
    last = max(spans, key=lambda span: span.start)
    return to.more(transcript, count, _bytes(origin.files[0], last))


def _edits(transcript: Transcript, origin: Origin, to: Format) -> Edits | None:
    edits: Edits = {}
    pairs = zip(origin.messages, transcript.messages, strict=False)
    for index, (old, new) in enumerate(pairs):
        if old is new:
            continue
        spans = origin.spans[index]
        lines = [_bytes(origin.files[span.file], span) for span in spans]
        made = to.patch(transcript, index, lines) if to.patch is not None and lines else None
        if made is None:
            return None
        for span, line in zip(spans, made, strict=True):
            edits.setdefault(span.file, []).append((span, line))
    return edits


def _bytes(file: OriginFile, span: Span) -> bytes:
    return b"".join(copied(file.path, span.end, span.start))


def _pieces(file: OriginFile, edits: list[tuple[Span, bytes]], added: bytes) -> Iterator[bytes]:
    at = file.start
    for span, line in sorted(edits, key=lambda edit: edit[0].start):
        yield from copied(file.path, span.start, at)
        yield line
        at = span.end
    last = b"\n"
    for piece in copied(file.path, file.size, at):
        last = piece[-1:]
        yield piece
    if added:
        if last != b"\n":
            yield b"\n"
        yield added
