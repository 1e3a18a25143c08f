"""A session of some agent or export, as canonical messages with what a list of messages cannot say:
branches, compactions, helpers, changes of model, and where in the files each message stands."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from interlingua.losses import Report
from interlingua.model.message import Message
from interlingua.model.metadata import Usage
from interlingua.model.tools import ToolDefinition


class Span(msgspec.Struct, frozen=True, gc=False):
    """Bytes of a file, without the line's end: `file` is its number in `Origin.files`."""

    start: int
    end: int
    file: int = 0


class OriginFile(msgspec.Struct, frozen=True):
    """A file that was read: `name` is its path relative to the folder of the main file, `size`
    how much of it was there, `start` where the session begins in it, if others stand before. One
    that lies `aside` says nothing of the session: it goes home if the main file keeps its name."""

    path: Path
    name: str
    size: int
    start: int = 0
    aside: bool = False


class Origin(msgspec.Struct, frozen=True):
    """Where a transcript came from. Bytes stay in the files: what only the tool understands is
    copied from there when the transcript goes home. `messages` are those that were read, `spans`
    the lines that each of them stands in."""

    format: str
    files: tuple[OriginFile, ...]
    messages: tuple[Message, ...] = ()
    spans: tuple[tuple[Span, ...], ...] = ()


class Branch(msgspec.Struct, frozen=True):
    """One way through the session, from its first message to a tip."""

    tip: str | None
    messages: tuple[Message, ...]
    active: bool = False


class Compaction(msgspec.Struct, frozen=True):
    """History up to here was replaced by a summary: the message at `at` holds it. Of the messages
    before it the model still sees those whose indexes are in `kept`; some tools say the summary
    behind them."""

    at: int
    kept: tuple[int, ...] = ()
    summary_last: bool = False


class ModelChange(msgspec.Struct, frozen=True):
    """From the message at `at` on the session goes on with `model`."""

    at: int
    model: str


class SubAgent(msgspec.Struct, frozen=True):
    """A helper's own session; `tool_use_id` is the call of its parent that began it."""

    transcript: Transcript
    tool_use_id: str | None = None


class Transcript(msgspec.Struct, frozen=True, kw_only=True):
    """`messages` is the active branch, also what lies before a compaction; `live` what a model
    still sees of it. `usage` counts every answer of the files once, abandoned branches included."""

    format: str
    messages: tuple[Message, ...]
    id: str | None = None
    title: str | None = None
    folder: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    models: tuple[str, ...] = ()
    usage: Usage = Usage()
    branches: tuple[Branch, ...] = ()
    compactions: tuple[Compaction, ...] = ()
    model_changes: tuple[ModelChange, ...] = ()
    subagents: tuple[SubAgent, ...] = ()
    tools: tuple[ToolDefinition, ...] = ()
    report: Report = msgspec.field(default_factory=lambda: Report("transcript"))
    details: dict[str, Any] = {}
    """Facts of the session that have no field: the tool's version, a git branch, the agent."""
    origin: Origin | None = None

    @property
    def live(self) -> tuple[Message, ...]:
        """What a model still sees: the last summary, what it kept, and what follows."""
        if not self.compactions:
            return self.messages
        last = self.compactions[-1]
        kept = tuple(self.messages[index] for index in last.kept)
        summary, later = self.messages[last.at], self.messages[last.at + 1 :]
        return (*kept, summary, *later) if last.summary_last else (summary, *kept, *later)

    def replace(self, **changes: Any) -> Transcript:
        """A copy with some fields changed."""
        return msgspec.structs.replace(self, **changes)
