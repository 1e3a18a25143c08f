"""Sessions of other agents on their way into a store.

The active branch is a session. Another branch is a fork of the one that it shares most with: a
session with copies of what they have in common, which names the last of these. A helper's session
is one of its own, too, and names the message that called it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from interlingua.cli.import_sessions import Names, shown_name
from interlingua.cli.stores import ORIGIN, PAGE
from interlingua.ids import Ulids
from interlingua.model.message import Message, Role
from interlingua.store.errors import InvalidError, StoreError
from interlingua.store.rows import SessionRow

if TYPE_CHECKING:
    from interlingua.store.base import Store
    from interlingua.transcripts import SubAgent, Transcript

_STEP = timedelta(microseconds=1)


class ImportedTranscript(NamedTuple):
    """The sessions that were made, the active branch first; how many messages are not copies; and
    the problems of messages that were kept as they are."""

    sessions: list[str]
    messages: int
    problems: list[str]


class _StoredBranch(NamedTuple):
    """A branch that is in the store: its messages, and their ids there."""

    session: str
    messages: Sequence[Message]
    ids: list[str | None]

    def shared(self, other: Sequence[Message]) -> int:
        """How many messages two branches begin with alike."""
        pairs = enumerate(zip(self.messages, other, strict=False))
        return next((at for at, (a, b) in pairs if not _same(a, b)), min(len(self.ids), len(other)))


def import_transcript(store: Store, transcript: Transcript) -> ImportedTranscript:
    """Put a session with its branches and helpers into a store; all of it, or nothing."""
    work = _TranscriptImport(store)
    try:
        work.all(transcript)
    except BaseException:
        for id in work.made:
            with suppress(StoreError):
                store.delete_session(id)
        raise
    return ImportedTranscript(work.made, work.messages, work.problems)


class _TranscriptImport:
    def __init__(self, store: Store) -> None:
        self.store = store
        self.made: list[str] = []
        self.messages = 0
        self.problems: list[str] = []
        self._ulids = Ulids()

    def all(
        self, transcript: Transcript, parent: _StoredBranch | None = None, at: str | None = None
    ) -> None:
        """A session, as a helper of `parent` where one is given, called by the message `at`."""
        main = self._settle(transcript, transcript.messages, parent, at)
        ways = [main]
        for branch in transcript.branches:
            if not branch.active:
                self._branch(transcript, branch.messages, ways)
        for helper in transcript.subagents:
            self.all(helper.transcript, main, _caller(main, helper))

    def _branch(
        self, transcript: Transcript, messages: Sequence[Message], ways: list[_StoredBranch]
    ) -> None:
        nearest = max(ways, key=lambda way: way.shared(messages))
        count = nearest.shared(messages)
        if count < len(messages):
            last = nearest.ids[count - 1] if count else None
            ways.append(self._settle(transcript, messages, nearest, last, count))

    def _settle(
        self,
        transcript: Transcript,
        messages: Sequence[Message],
        parent: _StoredBranch | None,
        at: str | None,
        copied: int | None = None,
    ) -> _StoredBranch:
        """`copied`: of a branch, how many messages it has from its parent."""
        timed, begun = _timed(transcript, messages, copied or 0)
        helper = parent is not None and copied is None
        row = SessionRow(
            self._ulids.new(),
            transcript.folder or str(Path.cwd()),
            begun,
            datetime.now(UTC),
            _model(messages),
            {ORIGIN: _origin(transcript, helper)},
            transcript.title or shown_name(messages),
            parent.session if parent is not None else None,
            at,
        )
        self.store.add_session(row)
        self.made.append(row.id)
        self.messages += len(timed) - (copied or 0)
        return _StoredBranch(row.id, messages, list(self._append(row.id, timed)))

    def _append(self, id: str, messages: Sequence[Message]) -> Iterator[str | None]:
        names = Names(self._ulids, {})
        for start in range(0, len(messages), PAGE):
            page = [names.message(message) for message in messages[start : start + PAGE]]
            try:
                done = self.store.append(id, page, provider_ids=names.provider_ids)
            except InvalidError as error:
                self.problems.append(f"kept as it is: {error}")
                done = self.store.append(id, page, provider_ids=names.provider_ids, check=False)
            yield from (message.id for message in done.messages)


def _timed(
    transcript: Transcript, messages: Sequence[Message], copied: int
) -> tuple[list[Message], datetime]:
    """The messages with times, and when the session begins: what a branch has from its parent
    lies before that, what is its own does not."""
    time = transcript.created_at or datetime.now(UTC)
    timed: list[Message] = []
    begun = time
    for number, message in enumerate(messages):
        time = message.created_at or time
        if number == copied:
            before = [each.created_at for each in timed if each.created_at]
            begun = max([time, *(each + _STEP for each in before)])
        if number >= copied:
            time = max(time, begun)
        timed.append(message.replace(created_at=time))
    if not copied and timed:
        begun = min(each.created_at for each in timed if each.created_at)
    return timed, begun


def _caller(way: _StoredBranch, helper: SubAgent) -> str | None:
    """The message in the store that called a helper."""
    for message, id in zip(way.messages, way.ids, strict=True):
        if any(call.id == helper.tool_use_id for call in message.tool_calls):
            return id
    return None


def _same(first: Message, second: Message) -> bool:
    return first is second or (first.id == second.id and first == second)


def _origin(transcript: Transcript, helper: bool) -> dict[str, Any]:
    about: dict[str, Any] = {"format": transcript.format, "id": transcript.id}
    return {**about, "helper": True} if helper else about


def _model(messages: Sequence[Message]) -> str | None:
    used = (each.metadata.model for each in reversed(messages) if each.role is Role.ASSISTANT)
    return next((model for model in used if model and ":" in model), None)
