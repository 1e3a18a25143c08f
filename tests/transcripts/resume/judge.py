"""Is what a tool sent the session that it was given? Texts, pictures, calls with their arguments,
results with their failures, in their order; and no thinking that was never thought."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import unified_diff
from typing import NamedTuple

import interlingua as il
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageStatus
from interlingua.transcripts import Transcript
from interlingua.transcripts.transcript import is_summary, summary_text
from tests.transcripts.resume.items import Item, digest, spelled

_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
_NOTES = (
    "<environment_context>",
    "<session_context>",
    "<turn_aborted>",
    "<local-command-caveat>",
    "[Image: source: ",
    "# AGENTS.md instructions",
    "What did we do so far?",
    "No response requested.",
    "[The previous response was interrupted before it completed.]",
    "[earlier turns are not shown]",
)
"""How texts begin that a tool says by itself, or that stand where a wire needs a turn."""
_FAILED = "[tool error] "
"""How we mark a failed result where the wire has no word for it."""


_RENAMED = {"Task": "Agent"}
"""Tools that Claude Code calls by their newer name when it goes on."""
_NOTE = "[system] "
"""How we mark an instruction in mid-conversation where the wire has no role for it."""
_PICTURES = ("iVBOR", "/9j/", "R0lGOD", "UklGR")
"""How pictures begin in Base64."""
_OMITTED = "image content omitted because it could not be processed"
"""What Codex says in the place of a picture that is none."""
_FILLED = "(see attached image)"
"""What pi says in a result that is a picture alone."""


class Verdict(NamedTuple):
    """`missing` are differences, one a line; the rest are counts of what was sent."""

    problems: list[str]
    texts: int
    calls: int
    results: int
    pictures: int
    thinking: int
    thought: int
    """Thinking that was there to be sent."""


def judged(transcript: Transcript, sent: list[Item], prompt: str) -> Verdict:
    """What a tool sent after `prompt`, beside what a model is to see of the session."""
    wanted = list(_wanted(transcript))
    notes = {item.text.strip() for item in wanted if item.kind == "note"}
    thoughts = [item for item in wanted if item.kind == "thinking"]
    summaries = [item.text for item in wanted if item.kind == "summary"]
    sent, thinking = _apart(sent, thoughts)
    problems = _thinking_problems(thinking, thoughts)
    if not sent or prompt not in sent[-1].text:
        problems.append("the prompt is not the last thing that was sent")
    sent, odd = _without(summaries, sent[:-1])
    problems += odd
    wanted, sent = _pictures_alone(wanted, sent)
    sent = [item for item in sent if item.text.removeprefix(_NOTE).strip() not in notes]
    left = _plain(item for item in wanted if item.kind not in ("thinking", "summary", "note"))
    right = _answered(_plain(sent), left)
    flagged = all(item.failed is not None for item in right if item.kind == "result")
    lines = unified_diff(_lines(left, flagged), _lines(right, flagged), lineterm="", n=0)
    problems += [line[:300] for line in lines if not line.startswith(("@@", "---", "+++"))]
    counts = [sum(item.kind == kind for item in right) for kind in ("text", "call", "result")]
    pictures = sum(item.kind == "image" for item in right)
    return Verdict(problems, *counts, pictures, len(thinking), len(thoughts))


def _wanted(transcript: Transcript) -> Iterator[Item]:
    for message in transcript.live:
        if is_summary(message):
            yield Item("summary", "", summary_text(message))
        elif message.role in (Role.SYSTEM, Role.DEVELOPER):
            yield Item("note", "", message.text)
        elif not _is_failed(message):
            for block in message.content:
                yield from _of_block(str(message.role), block)


def _is_failed(message: Message) -> bool:
    return message.metadata.status in (MessageStatus.ERROR, MessageStatus.CANCELLED)


def _of_block(role: str, block: il.Block) -> Iterator[Item]:
    match block:
        case il.TextBlock(text) | il.RefusalBlock(text):
            yield Item("text", role, text)
        case il.ThinkingBlock(text, signature):
            yield Item("thinking", role, text, signature or "")
        case il.ImageBlock(il.Source("base64", str(data))):
            kind = "image" if data.startswith(_PICTURES) else "no image"
            yield Item(kind, role, "", digest(data))
        case il.ToolUseBlock(name, tool, given):
            yield Item("call", tool, name, spelled(given))
        case il.ToolResultBlock(name, content, failed):
            texts = [each.text for each in content if isinstance(each, il.TextBlock)]
            inside = [each for part in content for each in _of_block("", part)]
            pictures = " ".join(each.more for each in inside if "image" in each.kind)
            yield Item("result", name, "\n".join(texts), pictures, failed)


def _pictures_alone(wanted: list[Item], sent: list[Item]) -> tuple[list[Item], list[Item]]:
    """Both without pictures that are none: some tools look into them, and leave them out."""
    odd = {item.more for item in wanted if item.kind == "no image"}

    def pictured(item: Item) -> Item:
        text = item.text.replace(_OMITTED, "").strip() if odd else item.text
        if item.kind != "result":
            return item._replace(text=text)
        return item._replace(text=text, more=" ".join(set(item.more.split()) - odd))

    left, right = (
        [pictured(item) for item in items if item.kind == "result" or item.more not in odd]
        for items in (wanted, sent)
    )
    return [item for item in left if item.kind != "no image"], right


def _apart(sent: list[Item], thoughts: list[Item]) -> tuple[list[Item], list[Item]]:
    """Without thinking, and the thinking; some tools say it to another model as text."""
    known = {item.text.strip() for item in thoughts}
    thinking, rest = [], []
    for item in sent:
        aloud = (item.kind, item.about) == ("text", "assistant") and item.text.strip() in known
        (thinking if item.kind == "thinking" or aloud else rest).append(item)
    return rest, thinking


def _thinking_problems(thinking: list[Item], thoughts: list[Item]) -> list[str]:
    """Each must be one of the session's, and what is signed must be signed so."""
    known = {(item.text.strip(), item.more) for item in thoughts}
    texts = {text for text, _ in known}
    return [
        f"thinking that is not the session's: {item}"
        for item in thinking
        if (item.text.strip(), item.more) not in known
        and (item.more or item.text.strip() not in texts)
    ]


def _without(summaries: list[str], sent: list[Item]) -> tuple[list[Item], list[str]]:
    problems = []
    for text in summaries:
        places = [at for at, item in enumerate(sent) if item.kind == "text" and text in item.text]
        if not places:
            problems.append(f"the summary was not sent: {text[:80]}")
        else:
            del sent[places[0]]
    return sent, problems


def _plain(items: Iterable[Item]) -> list[Item]:
    """In one form: no notes of the tool, results in the order of their calls and named by them,
    pictures of results behind them."""
    plain: list[Item] = []
    numbers: dict[str, int] = {}
    batch: list[Item] = []
    for item in items:
        if item.kind == "result":
            batch.append(item)
            continue
        if item.kind == "text" and (item := _said(item)).text == "":
            continue
        plain += _in_order(batch, numbers)
        batch = []
        if item.kind == "call":
            numbers[item.text] = len(numbers)
            name = _RENAMED.get(item.about, item.about)
            item = item._replace(about=name, text=f"call {numbers[item.text]}")
        plain.append(item)
    return _texts_first([*plain, *_in_order(batch, numbers)])


def _texts_first(items: list[Item]) -> list[Item]:
    """In one answer what is said comes before the calls, as most wires have it."""
    ordered: list[Item] = []
    calls: list[Item] = []
    for item in items:
        if item.kind == "call":
            calls.append(item)
        elif (item.kind, item.about) == ("text", "assistant") and calls:
            ordered.append(item)
        else:
            ordered += [*calls, item]
            calls = []
    return ordered + calls


def _answered(sent: list[Item], wanted: list[Item]) -> list[Item]:
    """Without results of calls that the session has no result of: somebody has to answer them."""
    known = {item.about for item in wanted if item.kind == "result"}
    return [item for item in sent if item.kind != "result" or item.about in known]


def _said(item: Item) -> Item:
    """Without what a tool adds by itself."""
    text = _REMINDER.sub("", item.text).strip()
    own = item.about in ("system", "developer") or text.startswith(_NOTES)
    return item._replace(text="" if own else text)


def _in_order(batch: list[Item], numbers: dict[str, int]) -> Iterator[Item]:
    batch.sort(key=lambda item: numbers.get(item.about, -1))
    for item in batch:
        text = _REMINDER.sub("", item.text).strip().removeprefix(_FAILED).strip()
        text = "" if text == _FILLED else text
        yield Item("result", f"call {numbers.get(item.about)}", text, "", item.failed)
    for item in batch:
        for picture in item.more.split():
            yield Item("image", "user", "", picture)


def _lines(items: list[Item], flagged: bool) -> list[str]:
    """`flagged`: the wire has a word for failure, which Responses has not."""
    return [
        f"{item.kind} {item.about} {item.text!r} {item.more}"
        + (" failed" if flagged and item.failed else "")
        for item in items
    ]
