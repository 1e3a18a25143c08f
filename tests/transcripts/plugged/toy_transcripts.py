"""A package as others may write it: a format of its own for `interlingua.transcripts`, plugged in
by the entry points beside it, and three that are broken."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from interlingua.model.blocks import TextBlock
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role
from interlingua.transcripts import Format, Found, Skipped, Transcript
from interlingua.transcripts.format import Draft, Sample


class Toy(Format):
    name = "toy"
    title = "Toy"
    tested = "1, 2026-11-17"

    def detect(self, sample: Sample) -> str | None:
        return "a first line that says toy" if sample.head.startswith(b"toy\n") else None

    def read(self, path: Path) -> Transcript:
        lines = [line.split(": ", 1) for line in path.read_text().split("\n")[1:-1]]
        messages = tuple(Message(Role(who), (TextBlock(text),)) for who, text in lines)
        return Transcript(format="toy", messages=messages, id=path.stem)

    def write(self, transcript: Transcript, name: str) -> Draft:
        lines = [f"{message.role}: {message.text}\n" for message in transcript.messages]
        return Draft({name: "".join(["toy\n", *lines]).encode()}, Report("toy"))

    def find(self, home: Path) -> Iterator[Found | Skipped]:
        for path in sorted((home / ".toy").glob("*.toy")):
            yield Found("toy", path, path.stem)


class Clumsy(Toy):
    name = "clumsy"
    title = "Clumsy"
    write = None  # type: ignore[assignment]

    def detect(self, sample: Sample) -> str | None:
        raise ZeroDivisionError("clumsy")

    def find(self, home: Path) -> Iterator[Found | Skipped]:
        raise ZeroDivisionError("clumsy")


TOY = Toy()
CLUMSY = Clumsy()
WRONG = "no format"
