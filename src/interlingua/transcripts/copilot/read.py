"""Copilot's events to a transcript."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from interlingua.losses import Report
from interlingua.model.message import Message, Role
from interlingua.transcripts.copilot.blocks import NAME, Assets, text_or_none
from interlingua.transcripts.copilot.find import beside
from interlingua.transcripts.copilot.history import History
from interlingua.transcripts.errors import TranscriptError
from interlingua.transcripts.format import Sample
from interlingua.transcripts.lines import Line, LinesFile
from interlingua.transcripts.times import from_iso
from interlingua.transcripts.totals import model_changes, models_of, usage_of
from interlingua.transcripts.transcript import (
    Branch,
    Compaction,
    Origin,
    OriginFile,
    SubAgent,
    Transcript,
)
from interlingua.transcripts.tree import Entry


def signs(sample: Sample) -> str | None:
    """The first event says which session it is."""
    first = sample.head.partition(b"\n")[0].replace(b" ", b"")
    if b'"type":"session.start"' in first and b'"sessionId"' in first:
        return "a first event session.start"
    return None


def read(path: Path) -> Transcript:
    """One session, with its helpers, whose events stand between its own."""
    report = Report(NAME)
    file = LinesFile(path, report)
    lines = [line for line in file.lines() if _is_event(line.value)]
    if not lines:
        raise TranscriptError(path, "it contains no readable event of a Copilot session")
    return _Session(lines, report).transcript(file.origin(), beside(path))


def _is_event(value: dict[str, Any]) -> bool:
    return isinstance(value.get("type"), str) and isinstance(value.get("data"), dict)


class _Session:
    """The events of one file, sorted by who speaks in them."""

    def __init__(self, lines: list[Line], report: Report) -> None:
        self.lines = lines
        self.report = report
        self.assets = Assets()
        self.own = History(report, self.assets)
        self.helpers: dict[str, History] = {}
        self.started: dict[str, dict[str, Any]] = {}
        for line in lines:
            self._take(line)

    def _take(self, line: Line) -> None:
        kind, data = line.value["type"], line.value["data"]
        agent = line.value.get("agentId")
        if kind == "session.binary_asset":
            self.assets.keep(data)
        elif not isinstance(agent, str):
            self.own.take(line)
        elif kind == "subagent.started":
            self.started[agent] = data
            self.helpers[agent] = History(self.report, self.assets)
        elif agent in self.helpers:
            self.helpers[agent].take(line)
        elif kind in ("user.message", "assistant.message"):
            reason = "a subagent that was never started sent a message"
            self.report.add("dropped", f"line {line.number}", reason, "warning")

    def transcript(self, file: OriginFile, files: tuple[OriginFile, ...]) -> Transcript:
        entries = self.own.entries
        messages = tuple(entry.message for entry in entries)
        left = tuple(Branch(None, each) for each in self.own.left)
        start = self._latest("session.start", "sessionId")
        return Transcript(
            format=NAME,
            messages=messages,
            id=start or (file.path.parent.name if files else file.path.stem),
            title=self._latest("session.title_changed", "title") or _named(files),
            folder=self._folder(),
            created_at=from_iso(self._latest("session.start", "startTime")),
            updated_at=from_iso(self.lines[-1].value.get("timestamp")),
            models=models_of(messages),
            usage=usage_of(_each_once(messages, self.own.left)),
            branches=(*left, Branch(None, messages, True)),
            compactions=_compactions(entries),
            model_changes=model_changes(messages),
            subagents=tuple(self._subagents()),
            report=self.report,
            details={"version": self._latest("session.start", "copilotVersion")},
            origin=Origin(NAME, (file, *files), messages, tuple(entry.spans for entry in entries)),
        )

    def _subagents(self) -> Iterator[SubAgent]:
        for name, history in self.helpers.items():
            messages = tuple(entry.message for entry in history.entries)
            about = self.started[name]
            helper = Transcript(
                format=NAME,
                messages=messages,
                id=name,
                title=text_or_none(about.get("agentDisplayName")),
                models=models_of(messages),
                usage=usage_of(messages),
                branches=(Branch(None, messages, True),),
                compactions=_compactions(history.entries),
                details={"agent": about.get("agentName")},
            )
            yield SubAgent(helper, text_or_none(about.get("toolCallId")))

    def _latest(self, kind: str, key: str) -> str | None:
        found = (line.value["data"].get(key) for line in self.lines if line.value["type"] == kind)
        return next((each for each in reversed([*found]) if isinstance(each, str)), None)

    def _folder(self) -> str | None:
        """Where the session goes on: it may be resumed elsewhere than it was begun."""
        for line in reversed(self.lines):
            context = line.value["data"].get("context")
            if line.value["type"] in ("session.start", "session.resume") and context:
                return text_or_none(context.get("cwd")) if isinstance(context, dict) else None
        return None


def _each_once(messages: tuple[Message, ...], left: list[tuple[Message, ...]]) -> list[Message]:
    """All messages, also those of ways that were left."""
    return list({id(each): each for way in (*left, messages) for each in way}.values())


def _compactions(entries: list[Entry]) -> tuple[Compaction, ...]:
    """The summary comes with all prompts before it (seen by resuming with 1.0.102, 2026-11-17);
    one that nothing follows yet has been said to no model."""
    marks = []
    for at, entry in enumerate(entries):
        if entry.compaction:
            ends = at == len(entries) - 1
            kept = [i for i in range(at) if ends or entries[i].message.role is Role.USER]
            marks.append(Compaction(at, tuple(kept), summary_last=True))
    return tuple(marks)


def _named(files: tuple[OriginFile, ...]) -> str | None:
    """The name in the session's own description, which is YAML of plain lines."""
    about = next((each.path for each in files if each.name == "workspace.yaml"), None)
    lines = about.read_bytes().split(b"\n") if about is not None else []
    name = next((line[6:].strip() for line in lines if line.startswith(b"name: ")), b"")
    if name.startswith(b'"'):
        try:
            return text_or_none(msgspec.json.decode(name))
        except msgspec.DecodeError:
            return None
    if name.startswith(b"'") and name.endswith(b"'"):
        name = name[1:-1].replace(b"''", b"'")
    return text_or_none(name.decode(errors="replace")) if name[:1] not in b"|>" else None
