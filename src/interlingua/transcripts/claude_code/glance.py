"""A session of Claude Code at a glance: the tree of its lines, with little of their content."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypedDict

import msgspec

from interlingua.dialects.anthropic.response import read_usage
from interlingua.dialects.kernel.errors import ShapeError
from interlingua.model.losses import Report
from interlingua.transcripts.claude_code.read import NAME, WANTED, Session, most_usage
from interlingua.transcripts.claude_code.tree import NOISE, NOT_TYPED, is_error
from interlingua.transcripts.lines import Line, LinesFile
from interlingua.transcripts.notes import KEY
from interlingua.transcripts.transcript import Answer, Glance, short
from interlingua.transcripts.tree import Node, way_to
from interlingua.transcripts.values import from_iso


class _Block(TypedDict, total=False):
    type: Any
    id: Any
    tool_use_id: Any
    text: Any


class _Message(TypedDict, total=False):
    id: Any
    model: Any
    usage: Any
    content: list[_Block] | str | None


_keys: dict[str, Any] = {**dict.fromkeys(WANTED, Any), "message": _Message}
_Line = TypedDict("_Line", _keys, total=False)  # type: ignore[misc]  # made of a list
_decode = msgspec.json.Decoder(_Line).decode


def glance_at(path: Path, id: str | None) -> Glance | None:
    """None where another tool left notes, which count as messages."""
    session = _session(path)
    if session is None or not session.lines or "type" not in session.lines[0].value:
        return None
    way = way_to(session.tree.active())
    answers = list(_answers(session))
    for helper in sorted((path.with_suffix("") / "subagents").glob("agent-*.jsonl")):
        other = _session(helper)
        if other is None:
            return None
        answers += _answers(other)
    return Glance(
        session.session_id(path),
        session.title() or _first_prompt(way),
        session.latest("cwd"),
        from_iso(session.first("timestamp")),
        from_iso(session.latest("timestamp")),
        sum(_count(node) for node in way),
        tuple(answers),
    )


def _session(path: Path) -> Session | None:
    lines = list(LinesFile(path, Report(NAME)).lines(NOISE, _decode))
    if any(KEY in line.value for line in lines):
        return None
    return Session(lines, Report(NAME), helper=path.name.startswith("agent-"))


def _answers(session: Session) -> Iterator[Answer]:
    for node in session.tree.nodes:
        lines = [line for line in node.lines if line.value["type"] == "assistant"]
        if lines and not is_error(lines[0].value):
            answer = _answer(lines)
            if answer is not None:
                yield answer


def _answer(lines: list[Line]) -> Answer | None:
    first = lines[0].value
    messages = [_message(line.value) for line in lines]
    try:
        usage, _ = read_usage(most_usage(messages))
    except ShapeError:
        return None
    if usage is None:
        return None
    model, name = messages[0].get("model"), messages[0].get("id")
    full = f"anthropic:{model}" if type(model) is str else None
    known = name if type(name) is str else str(first.get("uuid"))
    return Answer(full, usage, from_iso(first.get("timestamp")), known)


def _count(node: Node) -> int:
    """The messages of a node."""
    count = 0
    for line in node.lines:
        if line.value["type"] == "user":
            count += _turns(line.value)
    answered = node.lines[0].value["type"] == "assistant"
    return count + (answered and not is_error(node.lines[0].value))


def _turns(value: dict[str, Any]) -> int:
    """Each result is a message, and each run of other blocks is one."""
    if type(value.get("message")) is not dict:
        return 0
    parts = value["message"].get("content")
    if type(parts) is not list or value.get("isCompactSummary") is True:
        return 1
    count, run = 0, False
    for part in parts:
        if type(part) is dict and part.get("type") == "tool_result":
            count, run = count + 1, False
        elif not run:
            count, run = count + 1, True
    return max(count, 1)


def _first_prompt(way: list[Node]) -> str | None:
    for node in way:
        value = node.lines[0].value
        if value["type"] == "user" and not (value.get("isMeta") or value.get("isCompactSummary")):
            text = _text(_message(value).get("content"))
            if text and not text.startswith(NOT_TYPED):
                return short(text) or None
    return None


def _message(value: dict[str, Any]) -> dict[str, Any]:
    message = value.get("message")
    return message if type(message) is dict else {}


def _text(parts: Any) -> str:
    if type(parts) is not list:
        return parts if type(parts) is str else ""
    found = [part for part in parts if type(part) is dict and part.get("type") == "text"]
    return "".join(part["text"] for part in found if type(part.get("text")) is str)
