"""The tree of a session: which lines belong together, which way through it is the active one.

An answer is one line per block, and the result of each call has the line of its own call as its
parent, so the way up from the last line misses parallel calls. Lines are therefore joined first:
an answer with its results is one node, and only nodes have parents and children.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from interlingua.transcripts.files import TranscriptError, contents, opened
from interlingua.transcripts.format import Sample
from interlingua.transcripts.lines import Line
from interlingua.transcripts.rows import partly
from interlingua.transcripts.transcript import Span
from interlingua.transcripts.tree import Node, mark_continued, tips
from interlingua.transcripts.values import NOT_JSON, as_text, listed, members

NODES = frozenset({"user", "assistant", "attachment", "system", "progress"})
"""Lines of these types have a `uuid` and stand in the tree; all others are bookkeeping."""

NOISE = (
    b'{"type":"api-request',
    b'{"type":"file-history-snapshot"',
    b'{"type":"queue-operation"',
    b'{"type":"last-prompt"',
    b'{"type":"cost-state"',
    b'{"type":"atis-latch"',
    b'{"type":"tools-used"',
    b'{"type":"mode"',
)
"""Beginnings of lines without conversation, often three quarters of a file: not decoded."""

TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
"""Lines that name the session, the most telling kind first, and the key of the name."""

NOT_TYPED = (
    "<command-name>",
    "<command-message>",
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<local-command-caveat>",
    "<bash-stdout>",
)
"""How user lines begin that no person typed as a prompt."""

SYNTHETIC = "<synthetic>"
"""The model of answers that the client made up: errors, and what it says to itself."""


class Tree:
    """All nodes of a session, helpers' lines inside the file apart."""

    def __init__(self, lines: list[Line]) -> None:
        self.nodes: list[Node] = []
        self._by_uuid: dict[str, Node] = {}
        self._answers: dict[str, Node] = {}
        self._callers: dict[str, Node] = {}
        for line in lines:
            self._take(line)
        for node in self.nodes:
            node.parent = self._parent(node)
        mark_continued(self.nodes)

    def active(self) -> Node | None:
        """The tip that the session goes on from: the one that was spoken in last."""
        found = tips(self.nodes)
        return max(found, key=lambda node: node.lines[-1].number) if found else None

    def _take(self, line: Line) -> None:
        value = line.value
        kind, uuid = str(value.get("type")), value.get("uuid")
        if kind not in NODES or not isinstance(uuid, str) or uuid in self._by_uuid:
            return
        node = self._answer(line) if kind == "assistant" else self._other(line, kind == "user")
        self._by_uuid[uuid] = node

    def _other(self, line: Line, is_turn: bool) -> Node:
        """The node of a line that no model made: a result is a part of the answer with its call."""
        results = result_ids(line.value) if is_turn else []
        caller = self._callers.get(results[0]) if results else None
        if caller is None:
            return self._new(line, is_turn)
        caller.lines.append(line)
        return caller

    def _new(self, line: Line, is_turn: bool) -> Node:
        node = Node([line], is_turn)
        self.nodes.append(node)
        return node

    def _answer(self, line: Line) -> Node:
        """The node of an answer, which has the lines of the same answer before it."""
        name = answer_id(line.value)
        node = self._answers.get(name) if name is not None else None
        if node is None:
            node = self._new(line, True)
            if name is not None:
                self._answers[name] = node
        else:
            node.lines.append(line)
        for block in content(line.value):
            if block.get("type") == "tool_use" and isinstance(block.get("id"), str):
                self._callers[block["id"]] = node
        return node

    def _parent(self, node: Node) -> Node | None:
        value = node.lines[0].value
        above = value.get("parentUuid") or value.get("logicalParentUuid")
        found = self._by_uuid.get(above) if isinstance(above, str) else None
        return None if found is node else found


def content(value: dict[str, Any]) -> list[dict[str, Any]]:
    """The blocks of a line's message; a string is no block."""
    message = value.get("message")
    blocks = message.get("content") if type(message) is dict else None
    if type(blocks) is not list:
        return []
    if len(blocks) == 1 and type(blocks[0]) is dict:
        return blocks
    return [block for block in blocks if type(block) is dict]


def result_ids(value: dict[str, Any]) -> list[str]:
    """The calls that a line has results of."""
    return [
        block["tool_use_id"]
        for block in content(value)
        if block.get("type") == "tool_result" and isinstance(block.get("tool_use_id"), str)
    ]


def answer_id(value: dict[str, Any]) -> str | None:
    """What the lines of one answer have in common."""
    message = value.get("message")
    name = message.get("id") if isinstance(message, dict) else None
    return name if isinstance(name, str) else None


def is_error(value: dict[str, Any]) -> bool:
    """Whether the client speaks of a failure in the model's place; it is never sent."""
    message = value.get("message")
    model = message.get("model") if isinstance(message, dict) else None
    return value.get("isApiErrorMessage") is True or model == SYNTHETIC


_LISTS = ("loglines", "events", "messages", "lines", "entries", "data")
_LIST = re.compile(rb'"(?:%s)"\s*:\s*\[' % "|".join(_LISTS).encode())
_TURNS = ("user", "assistant")
_ALIASES = {"sessionId": "session_id", "timestamp": "created_at"}
_IDS = ("sessionId", "session_id", "id", "uuid")
_HEAD = 1 << 16
_DOCUMENTS = (".json", ".json.gz", ".json.zst")


def variant_of(name: str) -> str:
    """Which of the two forms a file of this name has."""
    return "document" if name.endswith(_DOCUMENTS) else "lines"


def detect_document(sample: Sample) -> str | None:
    """A list of events with a type, a message and an id."""
    head = sample.head.lstrip()
    if not head.startswith(b"[") and _LIST.search(head) is None:
        return None
    lines = _events(partly(head))
    return "one document with the events of a session" if any(map(_is_turn, lines)) else None


def is_document(path: Path) -> bool:
    """Whether a file is such a document."""
    with opened(path) as file:
        return detect_document(Sample(path, file.read(_HEAD))) is not None


def lines_of(path: Path) -> list[Line]:
    """The events as lines, with what they say of themselves elsewhere in the document."""
    data = contents(path)
    try:
        document = msgspec.json.decode(data)
    except NOT_JSON as error:
        raise TranscriptError(path, f"invalid JSON: {error}") from error
    about = members(document)
    about = {**about, **members(about.get("session"))}
    session = next(filter(None, (as_text(about.get(key)) for key in _IDS)), None)
    above: str | None = None
    lines = []
    for number, event in enumerate(_events(document), 1):
        value = _completed(event, number, session, above)
        above = value["uuid"] if value.get("type") in NODES else above
        lines.append(Line(number, Span(0, 0), value))
    title = as_text(about.get("title")) or as_text(about.get("name"))
    if title is not None:
        name = {"type": "custom-title", "customTitle": title}
        lines.append(Line(len(lines) + 1, Span(0, 0), name))
    return lines


def _events(document: Any) -> list[dict[str, Any]]:
    found = document
    if isinstance(document, dict):
        found = next((document[key] for key in _LISTS if listed(document.get(key))), None)
    return [event for event in listed(found) if isinstance(event, dict)]


def _is_turn(event: dict[str, Any]) -> bool:
    message = event.get("message")
    return (
        event.get("type") in _TURNS
        and isinstance(message, dict)
        and ("role" in message or "content" in message)
        and ("uuid" in event or "parentUuid" in event)
    )


def _completed(
    event: dict[str, Any], number: int, session: str | None, above: str | None
) -> dict[str, Any]:
    """The event as a line of a file: each follows the one before where it names no parent."""
    value = dict(event)
    for key, alias in _ALIASES.items():
        if key not in value and alias in value:
            value[key] = value[alias]
    if session is not None:
        value.setdefault("sessionId", session)
    if value.get("type") in NODES:
        if not isinstance(value.get("uuid"), str):
            value["uuid"] = f"event-{number}"
        value.setdefault("parentUuid", above)
        if isinstance(value.get("parent_tool_use_id"), str):
            value.setdefault("isSidechain", True)  # a helper's, named by the call that began it
    return value
