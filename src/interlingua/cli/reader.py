"""A session for people to read: tools folded to a line each, page by page on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from interlingua.cli.main import shown
from interlingua.cli.terminal import cell, minute, on_terminal, plural
from interlingua.exports.markdown import clipped, head, labelled_text
from interlingua.model.blocks import ToolResultBlock, ToolUseBlock
from interlingua.model.message import Message, Role
from interlingua.transcripts.glance import title_of

if TYPE_CHECKING:
    from interlingua.transcripts import Transcript

COLOURS = {"user": "green", "assistant": "cyan", "tool": "yellow"}
_FOLDED = 72
"""Characters of a call's input that are shown."""


def paged(lines: Iterable[str], no_pager: bool) -> None:
    """To a terminal page by page, elsewhere all at once and without colours."""
    if on_terminal() and not no_pager:
        click.echo_via_pager(f"{line}\n" for line in lines)
        return
    for line in lines:
        click.echo(line if on_terminal() else click.unstyle(line))


def lines_of(transcript: Transcript, first: int, full: bool, tools: bool) -> Iterator[str]:
    """The session from its message at `first` on."""
    yield from _title(transcript)
    if first:
        yield from ("", click.style(f"({plural(first, 'earlier message')})", dim=True))
    results = {} if tools else _results(transcript.messages)
    folded = {id(block) for block in results.values()}
    compacted = {each.at for each in transcript.compactions}
    for at, message in enumerate(transcript.messages[first:], first):
        if at in compacted:
            yield from ("", click.style("── what is above is summarised here ──", dim=True))
        if message.content and all(id(block) in folded for block in message.content):
            continue
        yield from _message(at + 1, message, full, None if tools else results)
    for helper in transcript.subagents:
        about = (
            f"helper {helper.transcript.id}: {plural(len(helper.transcript.messages), 'message')}"
        )
        yield from ("", click.style(cell(about), dim=True))


def _title(transcript: Transcript) -> Iterator[str]:
    title = transcript.title or title_of(transcript.messages) or transcript.id
    yield click.style(cell(title or ""), bold=True)
    facts = [transcript.format, transcript.id or "", plural(len(transcript.messages), "message")]
    facts += [", ".join(transcript.models)]
    if transcript.created_at is not None:
        facts.append(f"begun {minute(transcript.created_at)}")
    if transcript.updated_at is not None:
        facts.append(f"changed {minute(transcript.updated_at)} UTC")
    yield click.style(cell(" · ".join(fact for fact in facts if fact)), dim=True)
    if transcript.folder:
        yield click.style(cell(transcript.folder), dim=True)
    if len(transcript.branches) > 1:
        active = [number for number, each in enumerate(transcript.branches, 1) if each.active]
        which = f"; this is {active[0]}" if active else ""
        text = f"{len(transcript.branches)} branches{which} (--branch shows another)"
        yield click.style(text, dim=True)


def _results(messages: Iterable[Message]) -> dict[str, ToolResultBlock]:
    """By call: the first result of each that stands alone in its message."""
    found: dict[str, ToolResultBlock] = {}
    for message in messages:
        only = message.content[0] if len(message.content) == 1 else None
        if message.role is Role.TOOL and isinstance(only, ToolResultBlock):
            found.setdefault(only.tool_use_id, only)
    return found


def _message(
    number: int, message: Message, full: bool, results: dict[str, ToolResultBlock] | None
) -> Iterator[str]:
    role = message.role.value
    known = head(message)
    yield ""
    line = f"[{number}] {role}{cell(f' · {known}' if known else '')}"
    yield click.style(line, fg=COLOURS.get(role), bold=True)
    for block in message.content:
        if results is not None and isinstance(block, ToolUseBlock):
            yield click.style(f"    {_folded(block, results.get(block.id))}", dim=True)
            continue
        label, text, _ = labelled_text(block)
        label = f"[{label}] " if label else ""
        for each in f"{label}{shown(clipped(text, full))}".split("\n"):
            yield click.style(f"    {each}", dim=bool(label)) if each else ""


def _folded(call: ToolUseBlock, result: ToolResultBlock | None) -> str:
    """A call and what came of it on one line."""
    given = " ".join(labelled_text(call).text.split())
    given = given if len(given) <= _FOLDED else f"{given[: _FOLDED - 1]}…"
    return f"▸ {cell(call.name)} {shown(given)} → {_outcome(result)}"


def _outcome(result: ToolResultBlock | None) -> str:
    if result is None:
        return "no result"
    text = labelled_text(result).text
    size = f"{plural(text.count(chr(10)) + 1, 'line')}, {plural(len(text), 'character')}"
    return f"an error, {size}" if result.is_error else size
