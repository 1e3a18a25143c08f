"""A package as others may write it: a format of its own for `interlingua.transcripts`, plugged in
by the entry points beside it, and three that are broken."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from interlingua.losses import Report
from interlingua.model.blocks import TextBlock
from interlingua.model.message import Message, Role
from interlingua.transcripts import Format, Found, Transcript
from interlingua.transcripts.format import Draft, Sample


def signs(sample: Sample) -> str | None:
    return "a first line that says toy" if sample.head.startswith(b"toy\n") else None


def read(path: Path) -> Transcript:
    lines = [line.split(": ", 1) for line in path.read_text().split("\n")[1:-1]]
    messages = tuple(Message(Role(who), (TextBlock(text),)) for who, text in lines)
    return Transcript(format="toy", messages=messages, id=path.stem)


def write(transcript: Transcript, name: str) -> Draft:
    lines = [f"{message.role}: {message.text}\n" for message in transcript.messages]
    return Draft({name: "".join(["toy\n", *lines]).encode()}, Report("toy"))


def find(home: Path) -> Iterator[Found]:
    for path in sorted((home / ".toy").glob("*.toy")):
        yield Found("toy", path, path.stem)


def _fails(_: object) -> None:
    raise ZeroDivisionError("clumsy")


TOY = Format(
    name="toy", title="Toy", seen="1, 2026-11-17", signs=signs, read=read, write=write, find=find
)
CLUMSY = Format(
    name="clumsy",
    title="Clumsy",
    seen="1, 2026-11-17",
    signs=_fails,
    read=read,
    find=_fails,  # type: ignore[arg-type]
)
WRONG = "no format"
