"""Sessions on their way into a store, a page of messages at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from interlingua.cli.reading import Exchange, Found, SessionLine
from interlingua.cli.stores import PAGE
from interlingua.cli.terminal import plural
from interlingua.dialects.registry import dialects
from interlingua.errors import InterlinguaError
from interlingua.ids import Ulids, is_tool_id, new_tool_id
from interlingua.model.blocks import Block, ToolResultBlock, ToolUseBlock
from interlingua.model.exchange import Options, Request, Response
from interlingua.model.message import Message, Role
from interlingua.store.errors import NotFoundError, StoreError
from interlingua.store.rows import EventRow

if TYPE_CHECKING:
    from interlingua.store.base import Store
    from interlingua.transcripts import Transcript

PROVIDERS = {"openai-chat": "openai", "openai-responses": "openai"}
"""Who is meant where a format does not say; other dialects are named like their provider."""
LONGEST_NAME = 60


class Counts(msgspec.Struct):
    """What was imported, and what a session has no place for."""

    sessions: int = 0
    messages: int = 0
    events: int = 0
    already_there: int = 0
    requests_with_tools: int = 0
    requests_with_options: int = 0

    def left_out(self) -> Iterator[str]:
        if self.already_there:
            yield f"already there: {plural(self.already_there, 'session')}"
        if self.requests_with_tools:
            yield f"left out: the tools of {plural(self.requests_with_tools, 'request')}"
        if self.requests_with_options:
            yield f"left out: the options of {plural(self.requests_with_options, 'request')}"


class SessionImporter:
    """Takes what is found in files, one after another, and puts it into a store."""

    def __init__(self, store: Store, new_ids: bool = False, provider: str | None = None) -> None:
        self.store = store
        self.new_ids = new_ids
        self.provider = provider
        self.counts = Counts()
        self._ulids = Ulids()
        self._open: _OpenSession | None = None

    def take(self, found: Found | None) -> str | None:
        """Take one thing; gives what is wrong with it, or with the session that it ends."""
        ended = self.finish() if isinstance(found, SessionLine | Exchange) else None
        failed = self._tried(lambda: self._take(found))
        return "; ".join(problem for problem in (ended, failed) if problem) or None

    def finish(self) -> str | None:
        """What waits is written; gives what is wrong with it, if anything."""
        return self._tried(self._end)

    def _tried(self, work: Callable[[], None]) -> str | None:
        try:
            work()
        except InterlinguaError as error:
            if isinstance(error, StoreError) and error.reason not in (
                "conflict",
                "not_found",
                "invalid",
            ):
                raise  # the store itself is in trouble, and so would be all that follows
            return str(error)
        return None

    def _take(self, found: Found | None) -> None:
        match found:
            case SessionLine():
                self._open = self._begin(found)
            case Message():
                self._message(found)
            case EventRow():
                self._event(found)
            case Exchange():
                self._exchange(found)
            case None:
                pass

    def settle(self, transcript: Transcript) -> list[str]:
        """A session of another agent, with its branches and helpers; gives the problems of
        messages that were kept as they are."""
        from interlingua.cli.import_transcripts import import_transcript

        settled = import_transcript(self.store, transcript)
        self.counts.sessions += len(settled.sessions)
        self.counts.messages += settled.messages
        return settled.problems

    # Exported sessions

    def _begin(self, line: SessionLine) -> _OpenSession:
        row, names = line.session, line.provider_ids
        if self.new_ids:
            copy = self.store.create_session(
                row.workspace_path,
                name=row.name,
                active_model=row.active_model,
                routing_policy=row.routing_policy,
            )
            return _OpenSession(copy.id, row.id, names, Names(self._ulids, names))
        try:
            there = self.store.session(row.id)
        except NotFoundError:
            self.store.add_session(msgspec.structs.replace(row, updated_at=datetime.now(UTC)))
            return _OpenSession(row.id, row.id, names)
        self._open = _OpenSession(row.id, row.id, names, skip=True)
        if there.message_count != row.message_count:
            problem = f"session {row.id!r} is there with {there.message_count} messages"
            problem += f" in place of {row.message_count}; --new-ids imports a copy"
            raise StoreError(self.store.where, problem, "conflict")
        self.counts.already_there += 1
        return self._open

    def _message(self, message: Message) -> None:
        arrival = self._open
        if arrival is None or not arrival.holds(message):
            self._end()
            arrival = self._open = self._without_a_line(message)
        if arrival.skip:
            return
        arrival.waiting.append(message)
        if len(arrival.waiting) >= PAGE:
            self._write(arrival)

    def _without_a_line(self, message: Message) -> _OpenSession:
        """Messages alone: those that follow each other with the same session's id are one."""
        row = self.store.create_session(str(Path.cwd()), name=shown_name([message]))
        names = Names(self._ulids, {})
        return _OpenSession(row.id, message.session_id, {}, names)

    def _event(self, event: EventRow) -> None:
        arrival = self._open
        if arrival is None or arrival.skip:
            return
        self._write(arrival)
        id = self._ulids.new() if arrival.names else event.id
        arrived = msgspec.structs.replace(event, id=id, session_id=arrival.id)
        self.store.append_events([arrived])
        self.counts.events += 1

    def _end(self) -> None:
        arrival, self._open = self._open, None
        if arrival is not None and not arrival.skip:
            self._write(arrival)
            self.counts.sessions += 1
            self.counts.messages += arrival.written

    def _write(self, arrival: _OpenSession) -> None:
        messages, arrival.waiting = arrival.waiting, []
        provider_ids = arrival.provider_ids
        if arrival.names is not None:
            messages = [arrival.names.message(message) for message in messages]
            provider_ids = arrival.names.provider_ids
        if messages:
            try:
                self.store.append(arrival.id, messages, provider_ids=provider_ids)
            except InterlinguaError:
                self._open, arrival.skip = arrival, True  # and what is still to come of it
                with suppress(StoreError):
                    self.store.delete_session(arrival.id)
                raise
            arrival.written += len(messages)

    # Requests and responses

    def _exchange(self, exchange: Exchange) -> None:
        request, response = exchange.request, exchange.response
        messages = list(request.messages if request else ())
        provider = self._provider(exchange.source)
        if exchange.source in dialects():
            messages = [_read_from(message, exchange.source) for message in messages]
        if response is not None:
            messages.append(_answer(response, exchange.source, provider))
        names = Names(self._ulids, {})
        messages = [names.message(message) for message in messages]
        model = _model_of(request, response)
        row = self.store.create_session(
            str(Path.cwd()),
            name=shown_name(messages),
            active_model=_full(model, provider),
        )
        try:
            self.store.append(row.id, messages, provider_ids=names.provider_ids)
        except InterlinguaError:
            with suppress(StoreError):
                self.store.delete_session(row.id)
            raise
        self._count(request, len(messages))

    def _count(self, request: Request | None, messages: int) -> None:
        self.counts.sessions += 1
        self.counts.messages += messages
        if request is not None:
            self.counts.requests_with_tools += bool(request.tools)
            self.counts.requests_with_options += request.options != Options()

    def _provider(self, source: str) -> str | None:
        if self.provider is not None:
            return self.provider
        return PROVIDERS.get(source, source) if source in dialects() else None


class _OpenSession:
    """A session that is being written. `skip`: nothing of it is wanted; `names`: under new ids."""

    def __init__(
        self,
        id: str,
        old_id: str | None,
        provider_ids: dict[str, str],
        names: Names | None = None,
        skip: bool = False,
    ) -> None:
        self.id = id
        self.old_id = old_id
        self.provider_ids = provider_ids
        self.names = names
        self.skip = skip
        self.waiting: list[Message] = []
        self.written = 0

    def holds(self, message: Message) -> bool:
        """Whether a message that comes now is one of this session."""
        return message.session_id == self.old_id


class Names:
    """New ids for messages and calls; the providers' own ids of calls are kept."""

    def __init__(self, ulids: Ulids, known: dict[str, str]) -> None:
        self._ulids = ulids
        self._known = known
        self._new: dict[str, str] = {}
        self.provider_ids: dict[str, str] = {}

    def message(self, message: Message) -> Message:
        content = tuple([self._block(block) for block in message.content])
        metadata = message.metadata
        if (parent := self._new.get(metadata.parent_tool_use_id or "")) is not None:
            metadata = metadata.replace(parent_tool_use_id=parent)
        return message.replace(id=None, session_id=None, content=content, metadata=metadata)

    def _block(self, block: Block) -> Block:
        if type(block) is ToolUseBlock:
            return block.replace(id=self._call(block.id))
        if type(block) is ToolResultBlock and block.tool_use_id in self._new:
            return block.replace(tool_use_id=self._new[block.tool_use_id])
        return block

    def _call(self, id: str) -> str:
        new = self._new[id] = new_tool_id(self._ulids)
        provider_id = self._known.get(id) or (None if is_tool_id(id) else id)
        if provider_id is not None:
            self.provider_ids[new] = provider_id
        return new


def _read_from(message: Message, source: str) -> Message:
    """An assistant's message says which dialect it was read from, so that what only its issuer
    can read finds the way home."""
    if message.role is not Role.ASSISTANT or message.metadata.protocol is not None:
        return message
    return message.replace(metadata=message.metadata.replace(protocol=source))


def _answer(response: Response, source: str, provider: str | None) -> Message:
    message = _read_from(response.message, source) if source in dialects() else response.message
    metadata = message.metadata
    model = metadata.model or _full(metadata.response_model, provider)
    provider = metadata.provider or provider
    return message.replace(metadata=metadata.replace(model=model, provider=provider))


def _model_of(request: Request | None, response: Response | None) -> str | None:
    if request is not None and request.model:
        return request.model
    if response is None:
        return None
    return response.message.metadata.model or response.message.metadata.response_model


def _full(model: str | None, provider: str | None) -> str | None:
    """`<provider>:<name>`; None where either is not known."""
    if model is None or provider is None or model.startswith(f"{provider}:"):
        return model if model and ":" in model else None
    return f"{provider}:{model}"


def shown_name(messages: Sequence[Message]) -> str | None:
    """A name for people: how the first question begins, or the first thing that is said."""
    texts = [message.text for message in messages if message.role is Role.USER and message.text]
    texts += [message.text for message in messages if message.text]
    text = " ".join(texts[0].split()) if texts else ""
    return (text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…") or None
