"""A session's tool ids: ours, `tu_` and a ULID, and each provider's own.

Ours are made when a call is first seen, from any provider. Requests to the provider that made a
call use its own id again; any other provider gets ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from interlingua.adapt.remembered import same_first
from interlingua.model.blocks import Block, ToolResultBlock, ToolUseBlock
from interlingua.model.ids import Ulids, new_tool_id
from interlingua.model.message import Message


class KnownCall(Protocol):
    """A stored call, as far as the map is concerned."""

    @property
    def id(self) -> str: ...
    @property
    def provider(self) -> str | None: ...
    @property
    def provider_id(self) -> str | None: ...


_ROOM = 1000


class IdMap:
    """Two-way, for one session. Providers may use an id again in a later turn: then it means the
    latest call."""

    def __init__(self, ulids: Ulids | None = None) -> None:
        self._ulids = ulids or Ulids()
        self._provider: dict[str, tuple[str | None, str]] = {}
        """Our id to the provider and its id."""
        self._ours: dict[tuple[str | None, str], str] = {}
        self._renamed: dict[str, dict[int, tuple[Message, Message]]] = {}
        """Messages under the ids of a provider, since all of them are needed every time."""
        self._last: dict[str, tuple[tuple[Message, ...], tuple[Message, ...]]] = {}
        """The last messages, and their renamed form."""

    @classmethod
    def of(cls, calls: Iterable[KnownCall], ulids: Ulids | None = None) -> IdMap:
        """The map of stored calls."""
        map = cls(ulids)
        for call in calls:
            if call.provider_id is not None:
                map._bind(call.id, call.provider, call.provider_id)
        return map

    def _bind(self, id: str, provider: str | None, provider_id: str) -> None:
        self._provider[id] = (provider, provider_id)
        self._ours[provider, provider_id] = id

    def new(self, provider_id: str, provider: str | None, again: bool = False) -> str:
        """Our id for a new call of a provider. If `again`, another call of the same answer has its
        id, so only ours is used: theirs would be ambiguous in results."""
        id = new_tool_id(self._ulids)
        if not again:
            self._bind(id, provider, provider_id)
        return id

    def ours(self, provider_id: str, provider: str | None) -> str | None:
        """Our id for a provider's id; None if the session has none."""
        return self._ours.get((provider, provider_id))

    def theirs(self, id: str, provider: str | None) -> str:
        """The id of a call for this provider: its own id if it made the call, else ours."""
        made_by, provider_id = self._provider.get(id, (None, id))
        return provider_id if id in self._provider and made_by == provider else id

    def provider_ids(self, message: Message) -> dict[str, str]:
        """Our ids of a message's calls to the providers' ids, as a store keeps them."""
        calls = [block.id for block in message.content if type(block) is ToolUseBlock]
        return {id: self._provider[id][1] for id in calls if id in self._provider}

    def adopt(self, message: Message, provider: str | None) -> Message:
        """The message under our ids: calls get new ones, also where they have those of another
        session, and results are found by their call."""
        inside: dict[str, str] = {}

        def call(id: str) -> str:
            new = inside[id] = self.new(id, provider, again=id in inside)
            return new

        def result(id: str) -> str:
            return inside.get(id) or self._result(id, provider)

        return renamed(message, call, result)

    def _result(self, id: str, provider: str | None) -> str:
        if id in self._provider:
            return id
        known = self.ours(id, provider)
        if known is None and provider is None:
            known = next((self._ours[key] for key in reversed(self._ours) if key[1] == id), None)
        return known or id

    def with_provider_ids(self, messages: Iterable[Message], provider: str) -> tuple[Message, ...]:
        """The messages with the ids that this provider knows."""

        def name(id: str) -> str:
            return self.theirs(id, provider)

        messages, before = tuple(messages), self._last.get(provider, ((), ()))
        same = same_first(messages, before[0])
        known = self._renamed.setdefault(provider, {})
        renamed_messages = list(before[1][:same])
        for message in messages[same:]:
            found = known.get(id(message))
            if found is None:
                found = known[id(message)] = (message, renamed(message, name, name))
            renamed_messages.append(found[1])
        if len(known) > _ROOM + 2 * len(renamed_messages):
            del self._renamed[provider]  # most of it is of histories that are no more
        self._last[provider] = (messages, tuple(renamed_messages))
        return self._last[provider][1]


def renamed(message: Message, call: Callable[[str], str], result: Callable[[str], str]) -> Message:
    """The message with its calls and results under other ids; the same object if none changes."""
    content: list[Block] | None = None
    for index, block in enumerate(message.content):
        new: Block = block
        if type(block) is ToolUseBlock:
            if (id := call(block.id)) != block.id:
                new = block.replace(id=id)
        elif type(block) is ToolResultBlock and (id := result(block.tool_use_id)) != (
            block.tool_use_id
        ):
            new = block.replace(tool_use_id=id)
        if new is not block:
            content = content or list(message.content)
            content[index] = new
    parent = message.metadata.parent_tool_use_id
    if content is None and (parent is None or result(parent) == parent):
        return message
    changes: dict[str, object] = {}
    if content is not None:
        changes["content"] = tuple(content)
    if parent is not None:
        changes["metadata"] = message.metadata.replace(parent_tool_use_id=result(parent))
    return message.replace(**changes)
