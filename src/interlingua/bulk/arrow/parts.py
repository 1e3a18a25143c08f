"""The fields of blocks, messages and tools that have columns, shared by the writer and the
reader."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple, get_args, get_type_hints

import msgspec

from interlingua.errors import ReadError
from interlingua.model import codec
from interlingua.model.blocks import BLOCK_TYPES
from interlingua.model.exchange import Options, Request, Response
from interlingua.model.losses import Loss, Report
from interlingua.model.message import Message
from interlingua.model.metadata import MessageMetadata, Usage
from interlingua.model.spelled_numbers import spelled
from interlingua.model.tools import ToolDefinition
from interlingua.store.base import Store
from interlingua.store.rows import SessionRow
from interlingua.transcripts.transcript import (
    Branch,
    Compaction,
    ModelChange,
    SubAgent,
    Transcript,
)

encode = msgspec.json.Encoder(enc_hook=spelled).encode
decode = msgspec.json.Decoder().decode


class Rest:
    """The fields of `cls` beside those in `columns`, as one JSON text.

    They are those of a small struct, typed as they are, so that writing and reading them is one
    call each. A class has at least two such fields."""

    def __init__(self, cls: type[msgspec.Struct], *columns: str) -> None:
        self._cls = cls
        self._columns = columns
        hints = get_type_hints(cls)
        names = [name for name in cls.__struct_fields__ if name not in columns]
        fields = [
            (each.name, _as_spelled(hints[each.name]), _default(each))
            for each in msgspec.structs.fields(cls)
            if each.name in names
        ]
        self._struct = msgspec.defstruct(
            f"{cls.__name__}Rest", fields, omit_defaults=True, forbid_unknown_fields=True, gc=False
        )
        self._defaults = tuple(default for _, _, default in fields)
        self._decode = msgspec.json.Decoder(self._struct).decode
        self._of = attrgetter(*names)
        order = [*columns, *names]
        self._arranged = itemgetter(*[order.index(name) for name in cls.__struct_fields__])

    def write(self, value: msgspec.Struct) -> bytes | None:
        """None where all of them are at their defaults."""
        found = self._of(value)
        if found == self._defaults:
            return None
        text = encode(self._struct(*found))
        return None if text == b"{}" else text

    def read(self, text: bytes | None, *columns: Any) -> Any:
        """The value of these columns and this text; fields of a newer program are preserved as the
        store preserves them."""
        if text is None:
            return self._cls(*self._arranged((*columns, *self._defaults)))
        try:
            rest = self._decode(text)
        except msgspec.ValidationError:
            return self._salvaged(text, columns)
        except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
            raise ReadError(f"{self._cls.__name__} in Arrow", "rest", "JSON", str(error)) from None
        return self._cls(*self._arranged((*columns, *self._of(rest))))

    def _salvaged(self, text: bytes, columns: tuple[Any, ...]) -> Any:
        known = codec.parse(codec.dumps(self.read(None, *columns)), "canonical JSON")
        return codec.convert({**known, **codec.parse(text, "canonical JSON")}, self._cls, False)


def _as_spelled(hint: Any) -> Any:
    """1 stays 1 where a float is wanted, as it was read from a wire."""
    return hint | int if float in get_args(hint) else hint


def _default(field: msgspec.structs.FieldInfo) -> Any:
    """The default of a field. A required field without a column is always written; None stands for
    a missing one."""
    if field.default is not msgspec.NODEFAULT:
        return field.default
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return None


_MEDIA = ("source", "media_type", "name")
BLOCK_COLUMNS: dict[str, tuple[str, ...]] = {
    "text": ("text", "signature"),
    "thinking": ("text", "signature", "id"),
    "tool_use": ("id", "name", "input", "raw_arguments", "signature"),
    "tool_result": ("tool_use_id", "content", "is_error"),
    "image": _MEDIA,
    "audio": _MEDIA,
    "video": _MEDIA,
    "document": _MEDIA,
    "refusal": ("text",),
    "compaction": ("text", "signature"),
}
"""Fields with a column of their own; a type that is not listed is all in `rest`."""
BLOCKS: dict[str, Rest] = {
    name: Rest(cls, *BLOCK_COLUMNS.get(name, ())) for name, cls in BLOCK_TYPES.items()
}
MESSAGE = Rest(Message, "role", "content", "name", "id", "created_at", "metadata")
METADATA = Rest(
    MessageMetadata,
    *("model", "provider", "protocol", "stop_reason", "status", "parent_tool_use_id"),
)
TOOL = Rest(ToolDefinition, "name", "description", "input_schema")
OPTIONS = Rest(Options)
REQUEST = Rest(Request, "messages", "model", "tools", "options")
RESPONSE = Rest(Response, "message", "alternatives")
SESSION = Rest(SessionRow, "id", "name", "active_model", "created_at", "updated_at")


class StoredSession(NamedTuple):
    """A session as a store has it."""

    row: SessionRow
    messages: tuple[Message, ...]


Conversation = Request | Response | StoredSession | Transcript

_PAGE = 200


def sessions_in(store: Store) -> Iterator[StoredSession]:
    """Every session of a store, the last changed first; one at a time is in memory."""
    before: SessionRow | None = None
    while page := store.sessions(_PAGE, before):
        for row in page:
            yield StoredSession(row, tuple(store.messages(row.id)))
        before = page[-1]


# Transcripts: several branches of a session share messages, and each is written once.


class BranchPath(msgspec.Struct, frozen=True, omit_defaults=True):
    """A branch, by the places of its messages."""

    tip: str | None
    at: tuple[int, ...]
    active: bool = False


class Helper(msgspec.Struct, frozen=True, omit_defaults=True):
    """A helper's transcript, which has no row of its own."""

    messages: tuple[Message, ...]
    rest: TranscriptRest
    losses: tuple[Loss, ...] = ()
    tool_use_id: str | None = None


class TranscriptRest(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A transcript without its messages and losses. `origin` is left out, because it points to
    files, which do not go along with a table."""

    format: str
    count: int
    """The number of messages on the active branch; those of other branches follow."""
    target: str = "transcript"
    id: str | None = None
    title: str | None = None
    folder: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    models: tuple[str, ...] = ()
    usage: Usage = Usage()
    branches: tuple[BranchPath, ...] = ()
    compactions: tuple[Compaction, ...] = ()
    model_changes: tuple[ModelChange, ...] = ()
    subagents: tuple[Helper, ...] = ()
    tools: tuple[ToolDefinition, ...] = ()
    details: dict[str, Any] = {}


_SAME = (
    *("format", "id", "title", "folder", "created_at", "updated_at", "models", "usage"),
    *("compactions", "model_changes", "tools", "details"),
)
"""Fields that are the same on both sides."""


def apart(transcript: Transcript) -> tuple[tuple[Message, ...], TranscriptRest]:
    """All messages of a transcript, and all else but its losses."""
    places = {id(message): at for at, message in enumerate(transcript.messages)}
    messages = list(transcript.messages)
    ways = []
    for branch in transcript.branches:
        for message in branch.messages:
            if id(message) not in places:
                places[id(message)] = len(messages)
                messages.append(message)
        at = tuple(places[id(message)] for message in branch.messages)
        ways.append(BranchPath(branch.tip, at, branch.active))
    same = {name: getattr(transcript, name) for name in _SAME}
    rest = TranscriptRest(
        count=len(transcript.messages),
        target=transcript.report.target,
        branches=tuple(ways),
        subagents=tuple(_helper(each) for each in transcript.subagents),
        **same,
    )
    return tuple(messages), rest


def _helper(helper: SubAgent) -> Helper:
    messages, rest = apart(helper.transcript)
    losses = tuple(helper.transcript.report.entries)
    return Helper(messages, rest, losses, helper.tool_use_id)


def together(
    messages: tuple[Message, ...], rest: TranscriptRest, losses: Sequence[Loss]
) -> Transcript:
    """The inverse of `apart`."""
    same = {name: getattr(rest, name) for name in _SAME}
    return Transcript(
        messages=messages[: rest.count],
        branches=tuple(
            Branch(way.tip, tuple(messages[at] for at in way.at), way.active)
            for way in rest.branches
        ),
        subagents=tuple(
            SubAgent(together(each.messages, each.rest, each.losses), each.tool_use_id)
            for each in rest.subagents
        ),
        report=Report(rest.target, list(losses)),
        **same,
    )
