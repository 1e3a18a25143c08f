"""The tree of a session: which lines belong together, which way through it is the active one.

An answer is one line per block, and the result of each call has the line of its own call as its
parent, so the way up from the last line misses parallel calls. Lines are therefore joined first:
an answer with its results is one node, and only nodes have parents and children.
"""

from __future__ import annotations

from typing import Any

from interlingua.transcripts.claude_code.tables import NODES, SYNTHETIC
from interlingua.transcripts.lines import Line
from interlingua.transcripts.tree import Node, mark_continued, tips


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

    def _other(self, line: Line, spoken: bool) -> Node:
        """The node of a line that no model made: a result is a part of the answer with its call."""
        caller = self._caller(line.value) if spoken else None
        if caller is None:
            return self._new(line, spoken)
        caller.lines.append(line)
        return caller

    def _new(self, line: Line, spoken: bool) -> Node:
        node = Node([line], spoken)
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

    def _caller(self, value: dict[str, Any]) -> Node | None:
        """The answer whose call a line has a result of."""
        results = result_ids(value)
        return self._callers.get(results[0]) if results else None

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
