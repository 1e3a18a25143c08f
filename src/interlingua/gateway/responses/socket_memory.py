"""A WebSocket's memory of its responses, so that the next request sends only what is new."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

import msgspec

MOST = 64
"""Responses of one socket."""
MOST_BYTES = 64 * 1024 * 1024
"""The most bytes of one socket; the newest response is always stored."""
Members = dict[str, msgspec.Raw]
_items = msgspec.json.Decoder(list[msgspec.Raw] | str | None).decode
_text = msgspec.json.Decoder(str).decode
_encode = msgspec.json.Encoder().encode


class Remembered(NamedTuple):
    """Items of a conversation, after those of an earlier response that is stored elsewhere."""

    previous: msgspec.Raw | None
    items: tuple[msgspec.Raw, ...]

    @property
    def size(self) -> int:
        return sum(len(bytes(item)) for item in self.items)


class SocketMemory:
    """The newest responses of a socket, each with its whole conversation."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Remembered] = OrderedDict()
        self._size = 0

    def expanded(self, members: Members) -> tuple[Members, str | None]:
        """The request with the items of the response that it continues, and that response, if it is
        remembered here."""
        previous = _previous(members)
        known = None if previous is None else self._known.get(previous)
        if known is None:
            return members, None
        items = [*known.items, *items_of(members)]
        members = {**members, "input": msgspec.Raw(_encode(items))}
        del members["previous_response_id"]
        if known.previous is not None:
            members["previous_response_id"] = known.previous
        return members, previous

    def add(self, id: str, members: Members, output: list[msgspec.Raw]) -> None:
        """A response to a request as it was sent."""
        entry = Remembered(members.get("previous_response_id"), (*items_of(members), *output))
        self._known[id] = entry
        self._size += entry.size
        while len(self._known) > 1 and (len(self._known) > MOST or self._size > MOST_BYTES):
            self._size -= self._known.popitem(last=False)[1].size


def _previous(members: Members) -> str | None:
    try:
        return _text(members["previous_response_id"])
    except (KeyError, msgspec.DecodeError):
        return None


def items_of(members: Members) -> list[msgspec.Raw]:
    """The input of a request as items."""
    try:
        listed = _items(members["input"]) if "input" in members else None
    except msgspec.DecodeError:
        return []  # the request is refused for it
    if isinstance(listed, str):
        return [msgspec.Raw(_encode({"type": "message", "role": "user", "content": listed}))]
    return listed or []
