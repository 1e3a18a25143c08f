"""A session of some agent or export, as canonical messages with what a list of messages cannot
express: branches, compactions, helpers, changes of model, and where in the files each message
is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from interlingua.model.blocks import CompactionBlock
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Usage, add_breakdowns
from interlingua.model.reasons import because
from interlingua.model.tools import ToolDefinition
from interlingua.transcripts.values import encodable


class Span(msgspec.Struct, frozen=True, gc=False):
    """Bytes of a file, without the line's end: `file` is its number in `Origin.files`."""

    start: int
    end: int
    file: int = 0


class OriginFile(msgspec.Struct, frozen=True):
    """A file that was read: `name` is its path relative to the folder of the main file, `size`
    how much of it was there, `start` where the session begins in it, if others precede it. One
    that lies `aside` has nothing of the session: it is copied if the main file keeps its name."""

    path: Path
    name: str
    size: int
    start: int = 0
    aside: bool = False


class Origin(msgspec.Struct, frozen=True):
    """Where a transcript came from. Data that only the tool understands is copied from the files
    when the transcript is written back. `messages` are the read messages, `spans` the lines of
    each."""

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
    """The message at `at` is a summary that replaces the history before it.

    The model still sees the earlier messages at the indexes in `preserved`, before the summary if
    `summary_last`."""

    at: int
    preserved: tuple[int, ...] = ()
    summary_last: bool = False


class ModelChange(msgspec.Struct, frozen=True):
    """From the message at `at` on, the session uses `model`."""

    at: int
    model: str


class SubAgent(msgspec.Struct, frozen=True):
    """A helper's own session; `tool_use_id` is the call of its parent that began it."""

    transcript: Transcript
    tool_use_id: str | None = None


class Transcript(msgspec.Struct, frozen=True, kw_only=True):
    """`messages` is the active branch, including messages before a compaction; `live` are those
    that a model still gets. `usage` counts every answer of the files once, abandoned branches
    included."""

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

    @classmethod
    def of(cls, format: str, messages: tuple[Message, ...], **facts: Any) -> Transcript:
        """A session of these messages, which models, usage and branches are derived from."""
        if "models" not in facts:
            facts["models"] = models_of(messages)
        if "usage" not in facts:
            facts["usage"] = usage_of(messages)
        facts.setdefault("branches", (Branch(None, messages, True),))
        facts.setdefault("model_changes", model_changes(messages))
        return cls(format=format, messages=messages, **facts)

    @property
    def live(self) -> tuple[Message, ...]:
        """The messages that a model still sees: the last summary, the ones beside it, and all that
        follow."""
        if not self.compactions:
            return self.messages
        last = self.compactions[-1]
        preserved = tuple(self.messages[index] for index in last.preserved)
        summary, later = self.messages[last.at], self.messages[last.at + 1 :]
        return (*preserved, summary, *later) if last.summary_last else (summary, *preserved, *later)

    def encodable(self) -> Transcript:
        """A copy whose id, title and folder can be encoded: file names need not be UTF-8."""
        facts = {name: getattr(self, name) for name in ("id", "title", "folder")}
        spelled = {name: encodable(text) for name, text in facts.items() if text is not None}
        helpers = tuple(SubAgent(e.transcript.encodable(), e.tool_use_id) for e in self.subagents)
        return self.replace(**spelled, subagents=helpers)

    def replace(self, **changes: Any) -> Transcript:
        """A copy with some fields changed."""
        return msgspec.structs.replace(self, **changes)

    def report_left_out(self, report: Report) -> None:
        """Reports other branches and helpers, which a format cannot hold."""
        if len(self.branches) > 1:
            left = len(self.branches) - 1
            report.add("dropped", "$.branches", because("branches_left", count=left))
        if self.subagents:
            count = len(self.subagents)
            reason = because("subagents_left", count=count)
            report.add("dropped", "$.subagents", reason)


_NAME = "compaction"
"""The name of such messages as earlier versions of this package stored them."""


def summary_message(text: str, role: Role = Role.SYSTEM) -> Message:
    return Message(role, (CompactionBlock(text),))


def is_summary(message: Message) -> bool:
    """Whether a message is only a summary of earlier ones."""
    if message.name == _NAME:
        return True
    content = message.content
    return len(content) == 1 and type(content[0]) is CompactionBlock and content[0].text is not None


def summaries_in(messages: Iterable[Message]) -> tuple[Compaction, ...]:
    """The compactions of messages with summaries; none of them keeps earlier messages."""
    return tuple(Compaction(at) for at, each in enumerate(messages) if is_summary(each))


def summary_text(message: Message) -> str:
    if message.name == _NAME:
        return message.text
    return "".join(block.text or "" for block in message.content if type(block) is CompactionBlock)


def total(usages: Iterable[Usage | None]) -> Usage:
    """All of them added up; a count that none of them has stays unknown."""
    counted = [usage for usage in usages if usage is not None]
    costs = [usage.cost_usd for usage in counted if usage.cost_usd is not None]
    return Usage(
        _sum([usage.input_tokens for usage in counted]),
        _sum([usage.output_tokens for usage in counted]),
        _sum([usage.cached_input_tokens for usage in counted]),
        _sum([usage.cache_creation_input_tokens for usage in counted]),
        _sum([usage.reasoning_tokens for usage in counted]),
        cost_usd=sum(costs, Decimal(0)) if costs else None,
        **add_breakdowns(counted),
    )


def _sum(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def usage_with(
    prompt: int | None,
    output: int | None,
    cached: int | None,
    written: int | None = None,
    **others: Any,
) -> Usage:
    """Usage of counts whose prompt includes cached tokens."""
    fresh = None if prompt is None else max(prompt - (cached or 0) - (written or 0), 0)
    return Usage(fresh, output, cached, written, **others)


def usage_of(messages: Iterable[Message]) -> Usage:
    """The usage of these messages together."""
    return total(message.metadata.usage for message in messages)


def models_of(messages: Iterable[Message]) -> tuple[str, ...]:
    """The models that answered, in order, without their providers."""
    names = (
        message.metadata.response_model or bare(message.metadata.model) for message in messages
    )
    return tuple(dict.fromkeys(name for name in names if name))


def bare(model: str | None) -> str | None:
    """A model's name without its provider."""
    return None if model is None else model.partition(":")[2] or model


def model_changes(messages: Iterable[Message]) -> tuple[ModelChange, ...]:
    """The positions at which another model continues."""
    changes: list[ModelChange] = []
    for at, message in enumerate(messages):
        model = message.metadata.model
        if model is not None and (not changes or changes[-1].model != model):
            changes.append(ModelChange(at, model))
    return tuple(changes[1:])


if TYPE_CHECKING:
    from interlingua.transcripts.transcript import Transcript

LONGEST = 80
"""The most characters of a prompt that is used as a title."""


class Answer(msgspec.Struct, frozen=True, array_like=True):
    """Usage of one answer; `id` and time identify it in copies of the session."""

    model: str | None
    usage: Usage
    created_at: datetime | None = None
    id: str = ""


class Overview(msgspec.Struct, frozen=True, omit_defaults=True):
    """`messages` counts the active branch; `answers` are all, of branches that were left and of
    helpers too, each once. `parent` is the session that this one helps."""

    id: str | None = None
    title: str | None = None
    folder: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    messages: int = 0
    answers: tuple[Answer, ...] = ()
    parent: str | None = None


def overview_of(transcript: Transcript) -> Overview:
    """The same of a session that was read."""
    return Overview(
        transcript.id,
        transcript.title or title_of(transcript.messages),
        transcript.folder,
        transcript.created_at,
        transcript.updated_at,
        len(transcript.messages),
        tuple(_answer(message) for message in answers_of(transcript)),
        transcript.details.get("parent"),
    )


def _answer(message: Message) -> Answer:
    usage = message.metadata.usage
    assert usage is not None, "only those with a usage are asked for"
    return Answer(message.metadata.model, usage, message.created_at, name_of(message))


def answers_of(transcript: Transcript) -> Iterator[Message]:
    """Every message that has a usage, once: of all branches, and of helpers."""
    reader = [each.messages for each in transcript.branches] or [transcript.messages]
    seen: set[tuple[str, datetime | None]] = set()
    for message in (message for way in reader for message in way):
        if message.metadata.usage is None:
            continue
        key = (name_of(message), message.created_at)
        if key not in seen:
            seen.add(key)
            yield message
    for helper in transcript.subagents:
        yield from answers_of(helper.transcript)


def name_of(message: Message) -> str:
    """The identity of a message across branches."""
    return message.metadata.response_id or message.id or message.digest()


def title_of(messages: tuple[Message, ...]) -> str | None:
    """The beginning of the first prompt, for sessions without a name."""
    prompts = (message.text for message in messages if message.role is Role.USER)
    return next((title for text in prompts if (title := short(text))), None)


def short(text: str) -> str:
    """A text on one line, cut where it is long."""
    line = " ".join(text[: 4 * LONGEST].split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
