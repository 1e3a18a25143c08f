"""Forks: a new session that begins with copies of another one's messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from interlingua.ids import Ulids, is_tool_id, new_tool_id
from interlingua.model.blocks import Block, ToolResultBlock, ToolUseBlock
from interlingua.model.message import from_micros
from interlingua.store.calls import call_row
from interlingua.store.effects import Op, Step, now
from interlingua.store.message_rows import Draft, StoredMessage, draft, read
from interlingua.store.messages import Messages
from interlingua.store.rows import SessionRow, ToolCallRow
from interlingua.store.sessions import Sessions

PAGE = 500
"""Messages that are copied at a time."""


class Forks(Sessions, Messages):
    def fork(self, session_id: str, message_id: str | None, name: str | None) -> Op[SessionRow]:
        parent = yield from self.session(session_id)
        last = parent.message_count
        if message_id is None:
            tail = yield Step(self.sql.tail, (session_id, 1))
            message_id = tail[0][0] if tail else None
        else:
            last = yield from self._seq(session_id, message_id)
        at = now()
        child = SessionRow(
            self.ulids.new(),
            parent.workspace_path,
            from_micros(at),
            from_micros(at),
            parent.active_model,
            parent.routing_policy,
            name,
            session_id,
            message_id,
        )
        yield from self.create_session(child)
        calls = yield Step(self.sql.calls, (session_id,))
        copier = _Copier(self.ulids, [call_row(row) for row in calls])
        done = 0
        while done < last:
            size = min(PAGE, last - done)
            rows = yield Step(self.sql.messages, (session_id, done, size))
            if not rows:
                break
            drafts = [copier.copy(session_id, child.id, row) for row in rows]
            yield Step(self.sql.take, (len(drafts), at, child.id, len(drafts)))
            ids = self._ids(drafts, None)
            yield from self._insert(child.id, drafts, ids, done + 1, at, copier.provider_ids)
            done += len(drafts)
        return msgspec.structs.replace(child, message_count=done)


class _Copier:
    """Copies messages into a fork, their calls under new ids and the providers' ids kept."""

    def __init__(self, ulids: Ulids, calls: Sequence[ToolCallRow]) -> None:
        self.ulids = ulids
        self.known = {call.id: call.provider_id for call in calls}
        self.renamed: dict[str, str] = {}
        self.provider_ids: dict[str, str] = {}

    def copy(self, old_session: str, session_id: str, row: Sequence[Any]) -> Draft:
        message = read(old_session, row)
        if message is None:
            return StoredMessage(*row).as_draft()._replace(id=None)
        content = tuple([self.block(block) for block in message.content])
        metadata = message.metadata
        parent = metadata.parent_tool_use_id
        if parent in self.renamed:
            metadata = metadata.replace(parent_tool_use_id=self.renamed[parent])
        copied = message.replace(id=None, session_id=session_id, content=content, metadata=metadata)
        return draft(copied)

    def block(self, block: Block) -> Block:
        if type(block) is ToolUseBlock:
            return block.replace(id=self.rename(block.id))
        if type(block) is ToolResultBlock and block.tool_use_id in self.renamed:
            return block.replace(tool_use_id=self.renamed[block.tool_use_id])
        return block

    def rename(self, id: str) -> str:
        new = self.renamed[id] = new_tool_id(self.ulids)
        # An id that is not of our making is the provider's own.
        provider_id = self.known.get(id) or (None if is_tool_id(id) else id)
        if provider_id is not None:
            self.provider_ids[new] = provider_id
        return new
