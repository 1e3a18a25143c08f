"""What survives between formats, found by writing a made-up session and reading it again, as
Markdown: `docs/transcripts-matrix.md`, and the facts on each format's page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from interlingua.dialects.probes import grid
from interlingua.model.blocks import (
    Block,
    DocumentBlock,
    ImageBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, StopReason, Usage
from interlingua.model.tools import ToolDefinition
from interlingua.transcripts import draft
from interlingua.transcripts.format import Format, all_formats, format_of, formats
from interlingua.transcripts.notes import ignoring_notes
from interlingua.transcripts.transcript import (
    Branch,
    Compaction,
    SubAgent,
    Transcript,
    is_summary,
    summary_message,
    summary_text,
    usage_of,
)

Word = Literal["shown", "kept", "partly", "lost", "-"]
"""What becomes of a thing: the file says it in its own words; what it has no words for is kept
beside and comes back; some of it arrives; nothing does. `-`: it was not there."""

SESSION = "0b1f6c52-7d1e-4a63-8f5b-2f0f4f6f9c11"
_START = datetime(2026, 3, 1, 12, tzinfo=UTC)
_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
_INSTRUCTIONS = (Role.SYSTEM, Role.DEVELOPER)


class Voice(NamedTuple):
    """Who answers, and how its thinking is sealed."""

    provider: str
    protocol: str
    model: str
    signature: str | None
    item: str | None = None
    call_signature: str | None = None


ANTHROPIC = Voice("anthropic", "anthropic", "claude-sonnet-4-6", "c2VhbGVk")
OPENAI = Voice("openai", "openai-responses", "gpt-5.4", "c2VhbGVk", "rs_1")
GEMINI = Voice("gemini", "gemini", "gemini-3-pro", None, None, "c2VhbGVk")
VOICES = {"codex": OPENAI, "openai-batch": OPENAI, "openai-finetune": OPENAI, "gemini-cli": GEMINI}
"""Whom the tools talk to; all others are asked with Anthropic's words."""


def made_up(voice: Voice) -> Transcript:
    """A session with one of each thing that a message may have."""
    messages = tuple(
        replace(message, id=f"m{at}", created_at=_START + timedelta(seconds=at))
        for at, message in enumerate(_messages(voice))
    )
    tool = ToolDefinition("look", "Looks at a place.", {"type": "object", "properties": {}})
    return Transcript(
        format="made-up",
        messages=messages,
        id=SESSION,
        title="Bread",
        folder="/home/user/bakery",
        created_at=_START,
        updated_at=messages[-1].created_at,
        models=(voice.model,),
        usage=usage_of(messages),
        branches=(Branch(None, messages, True),),
        tools=(tool,),
    )


def _messages(voice: Voice) -> list[Message]:
    png = ImageBlock(Source("base64", _PNG), "image/png")
    pdf = DocumentBlock(Source("base64", "JVBERi0xLjQK"), "application/pdf", "recipe.pdf")
    return [
        Message.system("Answer in one line."),
        Message.user(["Is the dough ready?", png, pdf]),
        _answer(
            voice,
            ThinkingBlock("Two places.", voice.signature, voice.item),
            TextBlock("I look."),
            ToolUseBlock("call_a", "look", {"at": "dough"}, signature=voice.call_signature),
            ToolUseBlock("call_b", "look", {"at": "cellar"}),
        ),
        Message.of_result(ToolResultBlock("call_a", (TextBlock("risen"),), False, "look")),
        Message.of_result(ToolResultBlock("call_b", (TextBlock("no cellar"),), True, "look")),
        _answer(voice, ToolUseBlock("call_c", "look", {"at": "oven"})),
        Message.of_result(ToolResultBlock("call_c", (TextBlock("hot"), png), False, "look")),
        _answer(voice, TextBlock("It has risen.")),
        Message.user("Thanks."),
        _answer(voice, TextBlock("Gladly.")),
    ]


def _answer(voice: Voice, *blocks: TextBlock | ThinkingBlock | ToolUseBlock) -> Message:
    called = any(isinstance(block, ToolUseBlock) for block in blocks)
    metadata = MessageMetadata(
        model=f"{voice.provider}:{voice.model}",
        provider=voice.provider,
        protocol=voice.protocol,
        response_model=voice.model,
        usage=Usage(input_tokens=10, output_tokens=5, cached_input_tokens=100),
        stop_reason=StopReason.TOOL_USE if called else StopReason.END_TURN,
    )
    return Message(Role.ASSISTANT, blocks, metadata=metadata)


def shortened(voice: Voice) -> Transcript:
    """A session whose beginning was replaced by a summary."""
    whole = made_up(voice)
    summary = replace(summary_message("The dough has risen."), created_at=_START)
    messages = (*whole.messages[:8], summary, *whole.messages[8:])
    return whole.replace(messages=messages, compactions=(Compaction(8),), branches=())


def forked(voice: Voice) -> Transcript:
    """A session with another way, and one with a helper."""
    whole = made_up(voice)
    other = (*whole.messages[:8], replace(Message.user("And the oven?"), id="m8b"))
    helper = whole.replace(messages=whole.messages[8:], id=f"{SESSION[:-1]}2", branches=())
    return whole.replace(
        branches=(Branch("m8b", other), Branch("m9", whole.messages, True)),
        subagents=(SubAgent(helper, "call_c"),),
    )


class Probe(NamedTuple):
    """One thing: in which session it is, and how it is found in one."""

    name: str
    of: Callable[[Transcript], Any]
    session: Callable[[Voice], Transcript] = made_up


def _blocks(transcript: Transcript, *roles: Role) -> Iterator[Block]:
    for message in transcript.messages:
        if not roles or message.role in roles:
            yield from message.content


def _results(transcript: Transcript) -> list[ToolResultBlock]:
    return [block for block in _blocks(transcript) if isinstance(block, ToolResultBlock)]


def _texts(*roles: Role) -> Callable[[Transcript], Any]:
    def found(transcript: Transcript) -> Any:
        messages = [m for m in transcript.messages if m.role in roles and not is_summary(m)]
        return [message.text for message in messages if message.text]

    return found


def _pictures(blocks: Iterator[Block] | tuple[Block, ...]) -> list[str | None]:
    return [block.source.data for block in blocks if isinstance(block, ImageBlock)]


def _prompt(transcript: Transcript) -> tuple[Block, ...]:
    """The first prompt; pictures of results may have become another one."""
    prompts = (message.content for message in transcript.messages if message.role is Role.USER)
    return next(prompts, ())


def _calls(transcript: Transcript) -> list[ToolUseBlock]:
    return [block for block in _blocks(transcript) if isinstance(block, ToolUseBlock)]


def _turns(transcript: Transcript) -> list[Message]:
    return [each for each in transcript.messages if each.role in (Role.USER, Role.ASSISTANT)]


def _text_of(result: ToolResultBlock) -> str:
    return "".join(block.text for block in result.content if isinstance(block, TextBlock))


def _usage(transcript: Transcript) -> Any:
    usage = transcript.usage
    counts = (usage.input_tokens, usage.cached_input_tokens, usage.output_tokens)
    return [count for count in counts if count]


PROBES = (
    Probe("instructions", _texts(*_INSTRUCTIONS)),
    Probe("prompts", _texts(Role.USER)),
    Probe("answers", _texts(Role.ASSISTANT)),
    Probe("picture in a prompt", lambda t: _pictures(_prompt(t))),
    Probe(
        "document in a prompt",
        lambda t: [b.source.data for b in _blocks(t) if isinstance(b, DocumentBlock)],
    ),
    Probe("calls", lambda t: [(call.name, call.input) for call in _calls(t)]),
    Probe("ids of calls", lambda t: [call.id for call in _calls(t)]),
    Probe("results", lambda t: sorted(map(_text_of, _results(t)))),
    Probe("failed results", lambda t: [_text_of(each) for each in _results(t) if each.is_error]),
    Probe("picture in a result", lambda t: [p for r in _results(t) for p in _pictures(r.content)]),
    Probe(
        "thinking",
        lambda t: [
            block.text for block in _blocks(t) if isinstance(block, ThinkingBlock) and block.text
        ],
    ),
    Probe(
        "signatures",
        lambda t: [s for block in _blocks(t) if (s := getattr(block, "signature", None))],
    ),
    Probe("models", lambda t: list(t.models)),
    Probe("tokens", _usage),
    Probe(
        "why answers ended",
        lambda t: [str(m.metadata.stop_reason) for m in t.messages if m.metadata.stop_reason],
    ),
    Probe("times", lambda t: [m.created_at for m in _turns(t) if m.created_at is not None]),
    Probe("ids of messages", lambda t: [m.id for m in _turns(t) if m.id is not None]),
    Probe("session's id", lambda t: [t.id] if t.id else []),
    Probe("title", lambda t: [t.title] if t.title else []),
    Probe("folder", lambda t: [t.folder] if t.folder else []),
    Probe("definitions of tools", lambda t: [tool.name for tool in t.tools]),
    Probe("summaries", lambda t: [summary_text(m) for m in t.messages if is_summary(m)], shortened),
    Probe(
        "other branches",
        lambda t: [b.messages[-1].text for b in t.branches if b.messages and not b.active],
        forked,
    ),
    Probe("helpers", lambda t: [each.tool_use_id for each in t.subagents], forked),
)


class Written(NamedTuple):
    """A written session, read again without and with our notes, and the report."""

    shown: Transcript
    with_notes: Transcript
    report: Report


def writable() -> list[str]:
    """The formats that can be written."""
    return [name for name in formats() if format_of(name).write is not None]


def written(transcript: Transcript, name: str) -> Written:
    """A session in a format, read again as its own tool reads it, and as we do."""
    to = format_of(name)
    made = draft(transcript.replace(origin=None), name, f"{SESSION}{to.suffix}")
    with TemporaryDirectory() as folder:
        for file, pieces in made.files.items():
            path = Path(folder) / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"".join(pieces))
        main = Path(folder) / next(iter(made.files))
        with ignoring_notes():
            shown = to.read(main)
        return Written(shown, to.read(main), made.report)


@cache
def _own(session: Callable[[Voice], Transcript], name: str) -> tuple[Transcript, Written]:
    """A made-up session in a format, with who that format's tool talks to."""
    made = session(VOICES.get(name, ANTHROPIC))
    return made, written(made, name)


@cache
def _abroad(session: Callable[[Voice], Transcript], source: str, target: str) -> Written:
    _, there = _own(session, source)
    return written(there.shown, target)


def own_fate(probe: Probe, name: str) -> Word:
    """What becomes of a thing in this format, whatever it came from."""
    made, there = _own(probe.session, name)
    return _fate(probe, made, there)


def fate(probe: Probe, source: str, target: str) -> Word:
    """What becomes of a thing that one format says itself, written in another."""
    _, there = _own(probe.session, source)
    if not probe.of(there.shown):
        return "-"
    return _fate(probe, there.shown, _abroad(probe.session, source, target))


def report_of(probe: Probe, source: str, target: str) -> Report:
    """What was told about it."""
    return _abroad(probe.session, source, target).report


def _fate(probe: Probe, before: Transcript, there: Written) -> Word:
    wanted = _plain(probe.of(before))
    shown, preserved = _plain(probe.of(there.shown)), _plain(probe.of(there.with_notes))
    if not wanted:
        return "-"
    if shown == wanted:
        return "shown"
    if preserved == wanted:
        return "kept"
    return "partly" if any(each in preserved for each in wanted) else "lost"


def _plain(values: Any) -> list[Any]:
    return [msgspec.to_builtins(each, builtin_types=()) for each in values]


BEGIN, END = "<!-- printed by make docs -->", "<!-- end -->"
"""The facts stand between these on the page of a format."""
_MARKS = {"shown": "yes", "kept": "kept", "partly": "~", "lost": "no", "-": " "}


def matrix() -> str:
    """What survives from each format to each, found by writing it."""
    names = writable()
    own = [[probe.name, *(_MARKS[own_fate(probe, name)] for name in names)] for probe in PROBES]
    parts = [
        "# What survives between transcripts",
        "This page is printed by `make docs`, which writes a made-up session with one of each "
        "thing in every format, reads it again, and writes what that format says itself in every "
        "other. What the formats are is told in [transcripts.md](transcripts.md), which has a page "
        "for each.",
        "`yes`: the file says it in its own words. `kept`: it has no words for it; it is kept "
        "beside, where the format's tool does not look, and comes back when we read the file. "
        "`~`: some of it arrives. `no`: it does not arrive. What does not arrive is in the report, "
        "and what is kept beside, but for times, ids and reasons for the end of an answer. A "
        "session goes home in its own format byte for byte; that is not shown here.",
        "## The formats",
        grid(["format", "is", "can be", "seen"], [_row(each) for each in all_formats()]),
        "## What each can hold",
        "The session is one of the provider that the format's tool talks to: Anthropic, or OpenAI "
        "for `codex` and OpenAI's own files, Google for `gemini-cli`.",
        grid(["said", *(f"`{name}`" for name in names)], own),
        "## From each to each",
        "Things that the first format does not say itself are left out.",
    ]
    for source in names:
        parts += [f"### From `{source}`", _from(source, names)]
    return "\n\n".join(parts) + "\n"


def page(text: str, of: Format) -> str:
    """The page of a format with its facts printed anew."""
    head, _, rest = text.partition(BEGIN)
    body = rest.partition(END)[2]
    return head + "\n".join([BEGIN, _facts(of), END]) + body


def _facts(of: Format) -> str:
    facts: list[tuple[str, str | None]] = [
        ("is", of.title),
        ("can be", _row(of)[2]),
        ("seen", of.tested),
        ("newest version that a file says of itself", of.file_version),
        ("goes on with what is written here", of.tested_tool and f"{of.title} {of.tested_tool}"),
    ]
    known = [[name, value] for name, value in facts if value]
    if of.name not in writable():
        return grid(["", ""], known)
    held = [[probe.name, _MARKS[own_fate(probe, of.name)]] for probe in PROBES]
    about = (
        "What it can hold (`yes`: in its own words, `kept`: beside them, `~`: some of it, `no`: it "
        "does not arrive, which the report says; [from each format to each]"
        "(../transcripts-matrix.md)):"
    )
    return "\n\n".join([grid(["", ""], known), about, grid(["said", ""], held)])


def _row(each: Format) -> list[str]:
    ways = "read and written" if each.write is not None else "read"
    if each.resume is not None:
        ways += ", resumed"
    return [f"`{each.name}`", each.title, ways, each.tested]


def _from(source: str, names: list[str]) -> str:
    others = [name for name in names if name != source]
    rows = []
    for probe in PROBES:
        fates = [fate(probe, source, target) for target in others]
        if fates[0] != "-":
            rows.append([probe.name, *(_MARKS[each] for each in fates)])
    return grid(["said", *(f"`{name}`" for name in others)], rows)
