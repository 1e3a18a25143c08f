"""`--redact`: keys, addresses and home folders are taken out on the way, and told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

import click
from msgspec.structs import replace

from interlingua.cli.terminal import complain, plural
from interlingua.model.message import Message
from interlingua.redaction import Finding, OwnPattern, PatternError, Redactor, Rules, redact_lines

if TYPE_CHECKING:
    from interlingua.store.rows import SessionRow
    from interlingua.transcripts import Transcript

T = TypeVar("T")
TOLD = 20
"""Findings that are told one by one."""


def rules_of(patterns: Iterable[str]) -> Rules:
    """The rules with patterns of one's own; wrong usage if one of them is none."""
    try:
        return Rules(patterns=tuple(_own(at, text) for at, text in enumerate(patterns, 1)))
    except (PatternError, ValueError) as error:
        raise click.BadParameter(str(error), param_hint="--pattern") from None


def _own(number: int, text: str) -> OwnPattern:
    name, equals, rest = text.partition("=")
    if equals and name.replace("-", "").replace("_", "").isalnum():
        return OwnPattern(name, rest)
    return OwnPattern(f"own-{number}", text)


class Hiding:
    """Takes things out of what it is given, and remembers where."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self.rules = rules_of(patterns)
        self.findings: list[Finding] = []

    def transcript(self, transcript: Transcript, keep_folder: bool = False) -> Transcript:
        """A session with its branches and helpers. It is no longer what was read, so that it is
        written anew; a tool that goes on with it needs the folder as it is."""
        redactor = Redactor(self.rules)
        for each in _all(transcript):
            redactor.learn([list(_messages(each)), each.title, each.folder])
        return self._changed(transcript, redactor, keep_folder, "")

    def _changed(
        self, transcript: Transcript, redactor: Redactor, keep_folder: bool, place: str
    ) -> Transcript:
        made: dict[int, Message] = {}
        for message in _messages(transcript):
            if id(message) not in made:
                where = f"{place}/messages/{len(made)}"
                made[id(message)] = self._noted(redactor, message, where)
        branches = tuple(
            replace(each, messages=tuple(made[id(message)] for message in each.messages))
            for each in transcript.branches
        )
        helpers = tuple(
            replace(
                each,
                transcript=self._changed(
                    each.transcript, redactor, keep_folder, f"{place}/subagents/{at}"
                ),
            )
            for at, each in enumerate(transcript.subagents)
        )
        folder = transcript.folder
        return transcript.replace(
            messages=tuple(made[id(message)] for message in transcript.messages),
            title=self._noted(redactor, transcript.title, f"{place}/title"),
            folder=folder if keep_folder else self._noted(redactor, folder, f"{place}/folder"),
            branches=branches,
            subagents=helpers,
            details=self._noted(redactor, transcript.details, f"{place}/details"),
            origin=None,
        )

    def session(self, row: SessionRow, messages: list[Message]) -> list[Message]:
        """The messages of a session of the store; its row is asked for secrets, too."""
        redactor = Redactor(self.rules)
        redactor.learn([messages, row.name, row.workspace_path])
        return [
            self._noted(redactor, message, f"/{row.id}/messages/{at}")
            for at, message in enumerate(messages)
        ]

    def row(self, row: SessionRow) -> SessionRow:
        name, folder = (self.value(each, row.id) for each in (row.name, row.workspace_path))
        return replace(row, name=name, workspace_path=folder)

    def value(self, value: T, place: str) -> T:
        """Something beside the messages."""
        redactor = Redactor(self.rules)
        redactor.learn(value)
        return self._noted(redactor, value, f"/{place}")

    def _noted(self, redactor: Redactor, value: T, place: str) -> T:
        changed, found = redactor.redact(value)
        self.findings += [each._replace(place=f"{place}{each.place}") for each in found]
        same: T = changed
        return same

    def lines(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """A file of JSON Lines as it is, but for what is taken out."""
        data = b"".join(pieces)
        done = redact_lines(data.split(b"\n"), self.rules)
        self.findings += done.findings
        yield b"\n".join(done.value)

    def tell(self) -> None:
        """What was taken out, and where; never the thing itself."""
        if not self.findings:
            click.echo("Nothing was taken out.", err=True)
            return
        kinds = Counter(each.kind for each in self.findings)
        told = ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
        complain(f"taken out, {plural(len(self.findings), 'place')}: {told}")
        for each in self.findings[:TOLD]:
            complain(f"  {each.kind} at {each.place}")
        if len(self.findings) > TOLD:
            complain(f"  and {len(self.findings) - TOLD:,} more")


def _all(transcript: Transcript) -> Iterator[Transcript]:
    yield transcript
    for helper in transcript.subagents:
        yield from _all(helper.transcript)


def _messages(transcript: Transcript) -> Iterator[Message]:
    """Of all branches; the same message may come again."""
    yield from transcript.messages
    for branch in transcript.branches:
        yield from branch.messages
