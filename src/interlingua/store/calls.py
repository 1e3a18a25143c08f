"""The `tool_calls` rows, kept in step with the messages inside the same transaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from interlingua.model.blocks import ToolResultBlock, ToolUseBlock
from interlingua.model.message import Message, Role, from_micros
from interlingua.model.metadata import MessageStatus
from interlingua.store.effects import Op, Step
from interlingua.store.rows import CallStatus, ToolCallRow
from interlingua.store.statements import Statements

_GIVEN_UP = (MessageStatus.CANCELLED, MessageStatus.ERROR)


class Ending(NamedTuple):
    """What a result says about its call."""

    status: CallStatus
    message_id: str
    at: int


class Ledger:
    """Calls and results of messages that are written together."""

    def __init__(self, session_id: str, provider_ids: Mapping[str, str]) -> None:
        self.session_id = session_id
        self.provider_ids = provider_ids
        self.calls: dict[str, tuple[str, ToolUseBlock, str | None, int, bool]] = {}
        """Call id to message id, block, provider, time, and whether the turn was given up."""
        self.endings: dict[str, Ending] = {}
        self.repeated: str | None = None

    def add(self, message: Message, id: str, at: int) -> None:
        role = message.role
        if role is not Role.ASSISTANT and role is not Role.TOOL:
            return
        metadata = message.metadata
        for block in message.content:
            if type(block) is ToolUseBlock:
                if block.id in self.calls:
                    self.repeated = block.id
                given_up = metadata.status in _GIVEN_UP
                self.calls[block.id] = (id, block, metadata.provider, at, given_up)
            elif type(block) is ToolResultBlock:
                status = _ending(block, metadata.status)
                self.endings.setdefault(block.tool_use_id, Ending(status, id, at))

    def row(self, id: str) -> tuple[Any, ...]:
        """The row of a new call."""
        message_id, block, provider, at, given_up = self.calls[id]
        ending = self.endings.get(id)
        status: CallStatus = "cancelled" if given_up else "pending"
        completed = at if given_up else None
        result = None
        if ending is not None:
            status, result, completed = ending
        provider_id = self.provider_ids.get(id)
        return (
            id,
            self.session_id,
            message_id,
            result,
            block.name,
            status,
            provider_id,
            provider,
            at,
            completed,
            block.executor,
        )

    def insert(self, sql: Statements) -> Op[None]:
        """The rows of messages that are new."""
        if self.calls:
            yield Step(sql.add_call, [self.row(id) for id in self.calls], many=True)
        later = [id for id in self.endings if id not in self.calls]
        if later:
            yield Step(sql.answer, [self._answer(id) for id in later], many=True)

    def replace(self, sql: Statements, message_id: str) -> Op[None]:
        """The rows of one message that is written anew."""
        session_id = self.session_id
        old = {id for (id,) in (yield Step(sql.calls_of, (session_id, message_id)))}
        answered = {id for (id,) in (yield Step(sql.answered_by, (session_id, message_id)))}
        if gone := [(session_id, id) for id in old - self.calls.keys()]:
            yield Step(sql.drop_call, gone, many=True)
        if new := [self.row(id) for id in self.calls if id not in old]:
            yield Step(sql.add_call, new, many=True)
        if kept := [self._change(id) for id in self.calls if id in old]:
            yield Step(sql.change_call, kept, many=True)
        if taken_back := [(session_id, id) for id in answered - self.endings.keys()]:
            yield Step(sql.reopen, taken_back, many=True)
        if ended := [self._answer(id) for id in self.endings]:
            yield Step(sql.answer, ended, many=True)
        if kept and any(given_up for *_, given_up in self.calls.values()):
            at = next(iter(self.calls.values()))[3]
            yield Step(sql.cancel, (at, session_id, message_id))
        elif kept:
            yield Step(sql.revive, (session_id, message_id))

    def _answer(self, id: str) -> tuple[Any, ...]:
        status, message_id, at = self.endings[id]
        return (status, message_id, at, self.session_id, id, message_id)

    def _change(self, id: str) -> tuple[Any, ...]:
        _, block, provider, _, _ = self.calls[id]
        known = self.provider_ids.get(id)
        return (block.name, block.executor, provider, known, self.session_id, id)


def _ending(block: ToolResultBlock, status: MessageStatus) -> CallStatus:
    if status is MessageStatus.CANCELLED:
        return "cancelled"
    return "failed" if block.is_error or status is MessageStatus.ERROR else "succeeded"


def call_row(row: Any) -> ToolCallRow:
    id, session_id, message_id, result, name, status, provider_id, provider, at, end, by = row
    return ToolCallRow(
        id,
        session_id,
        message_id,
        name,
        status,
        from_micros(at),
        result,
        provider_id,
        provider,
        by,
        None if end is None else from_micros(end),
    )
