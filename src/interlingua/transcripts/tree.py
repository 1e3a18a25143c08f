"""Sessions that are trees: every way through them, and the one that they go on from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import msgspec

from interlingua.model.message import Message
from interlingua.model.metadata import Usage
from interlingua.transcripts.lines import Line
from interlingua.transcripts.transcript import Branch, Span, usage_of


class Entry(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A message, the lines it was made of, and whether it is a summary of what came before."""

    message: Message
    lines: list[Line]
    compaction: bool = False

    @property
    def spans(self) -> tuple[Span, ...]:
        if len(self.lines) == 1:
            return (self.lines[0].span,)
        return tuple([line.span for line in self.lines])


class Node(msgspec.Struct, eq=False):
    """One step: the lines it is made of. `is_turn`: a person or the model speaks in it."""

    lines: list[Line]
    is_turn: bool = False
    parent: Node | None = None
    continued: bool = False
    """Whether something is said after it."""
    entries: list[Entry] | None = None
    """Its messages, once they have been read."""


def mark_continued(nodes: Iterable[Node]) -> None:
    """Find out after which nodes something is said; their parents are known by now."""
    for node in nodes:
        above = node.parent if node.is_turn else None
        while above is not None and not above.continued:
            above.continued = True
            above = above.parent


def tips(nodes: Iterable[Node]) -> list[Node]:
    """The last node of every way, in the order of the file."""
    return [node for node in nodes if node.is_turn and not node.continued]


def way_to(tip: Node | None) -> list[Node]:
    """All nodes from the beginning to this one; a circle is cut where it closes."""
    found: list[Node] = []
    seen: set[int] = set()
    node = tip
    while node is not None and id(node) not in seen:
        seen.add(id(node))
        found.append(node)
        node = node.parent
    return found[::-1]


class Ways:
    """The messages on each way through a tree; each node is read once."""

    def __init__(self, read: Callable[[Node], list[Entry]]) -> None:
        self._read = read
        self._last: tuple[Node | None, list[Entry]] | None = None

    def entries(self, tip: Node | None) -> list[Entry]:
        """The messages from the beginning to a tip."""
        if self._last is None or self._last[0] is not tip:
            found: list[Entry] = []
            for node in way_to(tip):
                found += node.entries if node.entries is not None else self.of(node)
            self._last = (tip, found)
        return self._last[1]

    def of(self, node: Node) -> list[Entry]:
        """The messages of one node."""
        if node.entries is None:
            node.entries = self._read(node)
        return node.entries

    def usage(self, nodes: Iterable[Node]) -> Usage:
        """What the answers of all these nodes used, each counted once."""
        return usage_of([entry.message for node in nodes for entry in self.of(node)])

    def branches(self, nodes: Iterable[Node], active: Node | None) -> tuple[Branch, ...]:
        """Every way, the active one marked."""
        return tuple(
            Branch(_name(node), tuple([e.message for e in self.entries(node)]), node is active)
            for node in tips(nodes)
        )


def _name(node: Node) -> str | None:
    value = node.lines[0].value
    name = value.get("uuid") or value.get("id")
    return name if isinstance(name, str) else None


class Turn(NamedTuple):
    """What stands at one place, and the place before it."""

    parent: str | None
    messages: tuple[Message, ...]


def turns_to(turns: dict[str, Turn], tip: str | None) -> tuple[Message, ...]:
    """All messages from the beginning to a tip; a circle is cut where it closes."""
    found: list[tuple[Message, ...]] = []
    seen: set[str] = set()
    while tip in turns and tip not in seen:
        seen.add(tip)
        turn = turns[tip]
        found.append(turn.messages)
        tip = turn.parent
    return tuple(message for messages in reversed(found) for message in messages)


def branches_of(turns: dict[str, Turn], active: str | None) -> tuple[Branch, ...]:
    """Every way to a place that nothing follows."""
    followed = {turn.parent for turn in turns.values()}
    tips = [name for name in turns if name not in followed]
    return tuple(Branch(tip, turns_to(turns, tip), tip == active) for tip in tips)
