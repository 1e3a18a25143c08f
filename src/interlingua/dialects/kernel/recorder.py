"""The recorder that writers report losses to; it finds the path of each value itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from interlingua.dialects.kernel.wire import SpelledTexts
from interlingua.errors import LossError
from interlingua.model.base import Raw, Value, _defaults, same
from interlingua.model.blocks import (
    TYPE_OF,
    Block,
    DocumentBlock,
    ImageBlock,
    MediaBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.exchange import Options, Request, Response, ResponseFormat, ToolChoice
from interlingua.model.losses import LossKind, Report, Severity
from interlingua.model.message import Message
from interlingua.model.metadata import BREAKDOWNS, Usage
from interlingua.model.reasons import (
    CONTENT,
    GROUPS,
    NOTED,
    PRIVATE,
    TITLES,
    Reason,
    because,
    private,
    private_keys,
)
from interlingua.model.tools import ToolDefinition

_WORDS = Path(__file__).parents[2] / "profiles" / "data" / "wire"
_ALIKE = 0.82
"""The similarity of a misspelled name and the intended one."""


@lru_cache(1024)
def private_reason(dialect: str, key: str, is_setting: bool) -> Reason:
    """Why a key of `raw` is dropped: only one vendor has it, or it is not a key of the format."""
    fields = _fields(dialect)
    if not fields or key in fields or key in PRIVATE or key in NOTED or key in CONTENT:
        return private(dialect, key, is_setting)
    if near := get_close_matches(key, fields, 1, _ALIKE):
        return because("field_misspelled", near=near[0])
    if not is_setting:
        return private(dialect, key, is_setting)
    return because("field_unknown", dialect=TITLES.get(dialect, dialect))


@lru_cache(32)
def _fields(dialect: str) -> frozenset[str]:
    """The documented names of fields; none for dialects of plug-ins."""
    rows: list[str] = []
    for name in (dialect, *_HOSTS.get(dialect, ())):
        try:
            rows += (_WORDS / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
        except OSError:
            return frozenset()
    return frozenset(row.split("\t")[1] for row in rows if row.startswith("field\t"))


_HOSTS = {"openai-chat": ("mistral", "groq", "openrouter")}
"""Hosts of a dialect whose own fields are documented, too."""


T = TypeVar("T")

Paths = dict[int, list[tuple[str, Message | None]]]
"""The paths of values, by identity, and the message each belongs to."""


class WriteMemory(Protocol):
    """Writes messages one by one, from the first one on that was not written before."""

    known: Any
    """The cache breakpoints of the previous request."""

    def write(
        self, messages: tuple[Message, ...], turns: list[Any], writer: MessageWriter
    ) -> None: ...

    def rewritten(
        self, message: Message, rewrite: Callable[[Message], Message], recipient: Any
    ) -> Message: ...


class MessageWriter(Protocol):
    """Appends the written form of a message to a list; `role` is the only other state."""

    role: str | None

    def add(self, message: Message) -> None: ...

    def skip(self, messages: tuple[Message, ...]) -> None: ...


class LossRecorder(msgspec.Struct, eq=False):
    """Collects the losses of one conversion.

    A value is looked up by identity in `origin`, the request or response being written, so writers
    need not track paths. `alias` links a rewritten value to its original."""

    dialect: str
    origin: Request | Response | None
    report: Report
    _paths: Paths | None = None
    _block_paths: Paths | None = None
    _aliases: dict[int, tuple[Any, Any]] | None = None
    _critical: list[int] | None = None
    _reported: dict[tuple[int, str | None], int] | None = None
    _calls: dict[str, str] | None = None
    _synthetic: dict[int, Any] | None = None
    _found: dict[int, tuple[str, Message | None]] | None = None
    memory: WriteMemory | None = None
    """The record of the same messages' earlier written form, if there is one."""
    spelled: SpelledTexts | None = None
    """Texts whose JSON is known, if the request was read from bytes."""

    def __repr__(self) -> str:
        return f"<LossRecorder for {self.dialect}>"

    def mark_synthetic(self, value: T) -> T:
        """Marks a value we synthesized; its reason is already reported, so it has no losses."""
        if self._synthetic is None:
            self._synthetic = {}
        self._synthetic[id(value)] = value
        return value

    def called(self, result: ToolResultBlock) -> str | None:
        """The name of the tool whose call a result answers, if the request has that call."""
        if self._calls is None:
            messages = getattr(self.origin, "messages", ())
            blocks = [block for message in messages for block in message.content]
            self._calls = {b.id: b.name for b in blocks if type(b) is ToolUseBlock}
        answered: str = self.original(result).tool_use_id
        return self._calls.get(answered)

    def alias(self, new: Value, original: Value) -> None:
        """Records that `new` was made from `original`, a part of `origin`."""
        if self._aliases is None:
            self._aliases = {}
        self._aliases[id(new)] = (new, original)  # both stay alive, so that identities do

    def original(self, value: Any) -> Any:
        if self._aliases is not None:
            while id(value) in self._aliases:
                value = self._aliases[id(value)][1]
        return value

    def _next_path(self, value: Any, field: str | None = None) -> tuple[str, Message | None]:
        """The path to report for a value, and its message. If the same object is in several places,
        each further report names the next one."""
        value = self.original(value)
        times = self._count(value, field)
        unindexed = self._paths is None and self._block_paths is None
        if unindexed and not times and (first := self._first_path(value)):
            return first
        paths = self._index_for(type(value)).get(id(value))
        return paths[min(times, len(paths) - 1)] if paths else ("$", None)

    def _count(self, value: Any, field: str | None) -> int:
        """How many times a field of this object was reported before."""
        reported = self._reported
        if reported is None:
            reported = self._reported = {}
        times = reported[id(value), field] = reported.get((id(value), field), -1) + 1
        return times

    def _first_path(self, value: Any) -> tuple[str, Message | None] | None:
        """The path of one of a few values, found without an index of all."""
        found = self._found
        if found is None:
            found = self._found = {}
        path = found.get(id(value))
        if path is None and len(found) < _FEW:
            path = _path_of(self.origin, value)
            if path is not None:
                found[id(value)] = path
        return path

    def _index_for(self, kind: type) -> Paths:
        """An index of all paths of values of this type."""
        if self._paths is None and (kind is Message or kind in TYPE_OF):
            if self._block_paths is None:
                self._block_paths = _message_paths(self.origin)
            return self._block_paths
        if self._paths is None:
            self._paths = _all_paths(self.origin)
        return self._paths

    def unwritten(self, value: Value, written: frozenset[str]) -> None:
        """Reports every set field not in `written`, and the raw data of other dialects."""
        defaults = _defaults(type(value))
        for name in value.__struct_fields__:
            item = getattr(value, name)
            if item is None or name in written or item is defaults[name]:
                continue
            if name == "raw":
                self.unwritten_raw(value, item)
            elif not same(item, defaults[name]):
                self.lost(value, name)

    def unwritten_raw(self, value: Value, raw: Raw, field: str = "raw") -> None:
        for dialect, rest in raw.items():
            if dialect == self.dialect or not isinstance(rest, dict):
                continue
            if len(rest) != 1 or "$form" not in rest:
                plain = GROUPS.isdisjoint(rest)
                for path, key in zip(rest, rest, strict=True) if plain else private_keys(rest):
                    if key != "$form":
                        reason = private_reason(dialect, key, isinstance(value, _INSTRUCTIONS))
                        if _asks_for_compaction(key, rest.get(key)):
                            reason = because("compaction_requested")
                        self.lost(value, f"{field}.{dialect}.{path}", reason)

    def lost(
        self,
        value: Any,
        field: str | None = None,
        reason: str | None = None,
        kind: LossKind = "dropped",
        severity: Severity | None = None,
        rule: str | None = None,
    ) -> None:
        """Reports a loss of a value or one of its fields, unless the field is a no-op."""
        if field is not None and changes_nothing(value, field):
            return
        if self._synthetic is not None and id(self.original(value)) in self._synthetic:
            return
        path, message = self._next_path(value, field)
        is_format = type(value) is ResponseFormat
        if is_format and field == "strict" and value.strict and reason is None:
            reason = because("schema_always_strict")
        self.report.add(
            kind,
            f"{path}.{field}" if field else path,
            reason
            or (
                _NOTED if field in BOOKKEEPING or (is_format and field == "name") else _UNSUPPORTED
            ),
            severity,
            # A key that is private to another dialect is a note on the block, which arrives.
            None if field and field.startswith("raw.") else TYPE_OF.get(type(value)),
            message.id if message else None,
            rule,
        )

    def added(self, path: str, reason: str) -> None:
        """Reports an addition to the request, at its place in the body."""
        self.report.add("approximated", path, reason)

    def filled(self, value: Any, field: str, filler: str) -> None:
        """Reports the filler written for an unset field that the wire requires."""
        self.lost(value, field, because("filled", value=filler), "approximated")

    def dropped(
        self,
        block: Block,
        reason: str | None = None,
        severity: Severity | None = None,
        rule: str | None = None,
    ) -> None:
        """Reports a whole block as dropped, and logs it; an error later if it was critical."""
        path, message = self._next_path(block)
        self.report.dropped_block(
            path,
            getattr(block, "type", "unknown"),  # plug-ins also pass other values
            reason or _UNSUPPORTED,
            severity,
            message.id if message else None,
            message.session_id if message else None,
            rule,
        )
        if message is not None and _is_critical(message, self.original(block)):
            self._critical = [*(self._critical or ()), len(self.report.entries) - 1]

    def refuse_critical(self) -> None:
        """Raises if a dropped block was marked critical."""
        if self._critical:
            losses = [self.report.entries[index] for index in self._critical]
            raise LossError(f"{self.dialect} request", Report(self.dialect, losses))


W = TypeVar("W")


class BlockWriters(dict[type[Any], W]):
    """Block writers by type. Types without one use `otherwise`, which drops and reports the block,
    so a new block type breaks no dialect."""

    def __init__(self, writers: Mapping[type[Any], W], otherwise: W) -> None:
        super().__init__(writers)
        self._otherwise = otherwise

    def __missing__(self, _: type[Any]) -> W:
        return self._otherwise


_UNSUPPORTED, _NOTED = because("unsupported"), because("unsupported_note")
BOOKKEEPING = frozenset(
    {"cache", "cache.ttl", "cache_comparison", "cache_key", "cache_mode", "cache_retention"}
    | {"cache_ttl", "metadata", "service_tier", "user", *BREAKDOWNS}
)
"""Fields that change the price or the records, but not the answer."""
_INSTRUCTIONS = (Request, Options, ToolDefinition)
"""Values that are instructions: a loss in them changes what the model does."""


class Quiet(LossRecorder):
    """Ignores losses: those of a stream are reported once, at its end."""

    def lost(self, *_: Any, **__: Any) -> None:
        pass

    def dropped(self, *_: Any, **__: Any) -> None:
        pass

    def unwritten(self, *_: Any) -> None:
        pass

    def unwritten_raw(self, *_: Any) -> None:
        pass


def quiet(dialect: str) -> Quiet:
    return Quiet(dialect, None, Report(dialect))


_ORDINARY_TIERS = ("auto", "default", "standard", "standard_only", "unspecified")
DONE_ANYWAY: dict[type, dict[str, tuple[Any, ...]]] = {
    Options: {
        "n": (1,),
        "parallel_tool_calls": (True,),
        "tool_choice": (ToolChoice("auto"),),
        "service_tier": _ORDINARY_TIERS,
        "modalities": (("text",),),
        "frequency_penalty": (0,),
        "presence_penalty": (0,),
        "stop": ((),),
        "metadata": ({},),
    },
    Usage: {"service_tier": ("default",)},
    ToolDefinition: {"strict": (False,), "asynchronous": (False,), "callers": (("direct",),)},
    ImageBlock: {"detail": ("auto",)},
    DocumentBlock: {"cited": (False,)},
}
"""Values that match every service's default behaviour; dropping one loses nothing."""


def changes_nothing(value: Any, field: str) -> bool:
    """Whether a field requests the default of every service, or counts nothing."""
    fields = DONE_ANYWAY.get(type(value))
    if fields is not None and type(value) is Usage and field in BREAKDOWNS:
        return not any((getattr(value, field) or {}).values())
    return fields is not None and field in fields and getattr(value, field) in fields[field]


def _is_critical(message: Message, block: Any) -> bool:
    critical = message.metadata.critical
    if isinstance(critical, bool):
        return critical
    return any(message.content[i] is block for i in critical if i < len(message.content))


_FEW = 4
"""So many values are searched for one by one; for more, all paths are indexed."""


def _path_of(origin: Any, value: Any) -> tuple[str, Message | None] | None:
    """The path of a message, a block, the usage or the options; None for other values."""
    if value is origin:
        return "$", None
    if isinstance(origin, Request):
        if value is origin.options:
            return "$.options", None
        messages, path = origin.messages, "$.messages[{}]"
    elif isinstance(origin, Response):
        if value is origin.message.metadata.usage:
            return "$.message.metadata.usage", origin.message
        messages, path = (origin.message,), "$.message"
    else:
        return None
    for number, message in enumerate(messages):
        if message is value:
            return path.format(number), message
        for index, block in enumerate(message.content):
            if block is value:
                return f"{path.format(number)}.content[{index}]", message
    return None


def _message_paths(origin: Any) -> Paths:
    """Paths of the messages and blocks alone, which nearly all losses are about: building it takes
    a tenth of the time of `_all_paths`."""
    paths: Paths = {}

    def note(blocks: tuple[Block, ...], path: str, message: Message) -> None:
        for index, block in enumerate(blocks):
            here = f"{path}[{index}]"
            paths.setdefault(id(block), []).append((here, message))
            if type(block) is ToolResultBlock:
                note(block.content, f"{here}.content", message)
            elif isinstance(block, MediaBlock) and block.source.content:
                note(block.source.content, f"{here}.source.content", message)

    for path, message in _messages(origin):
        paths.setdefault(id(message), []).append((path, message))
        note(message.content, f"{path}.content", message)
    return paths


def _messages(origin: Any) -> list[tuple[str, Message]]:
    if isinstance(origin, Request):
        return [(f"$.messages[{number}]", each) for number, each in enumerate(origin.messages)]
    if not isinstance(origin, Response):
        return []
    others = enumerate(origin.alternatives)
    return [("$.message", origin.message), *[(f"$.alternatives[{n}]", each) for n, each in others]]


def _all_paths(origin: Any) -> Paths:
    """Paths of every part of a value."""
    paths: Paths = {}

    def note(value: Any, path: str, message: Message | None) -> None:
        if isinstance(value, tuple):
            for index, item in enumerate(value):
                note(item, f"{path}[{index}]", message)
        elif isinstance(value, Value):
            message = value if isinstance(value, Message) else message
            paths.setdefault(id(value), []).append((path, message))
            for name in value.__struct_fields__:
                item = getattr(value, name)
                if isinstance(item, (tuple, Value)) and item != ():
                    note(item, f"{path}.{name}", message)

    note(origin, "$", None)
    return paths


# -- what only one service has --------------------------------------------------------------------


def _asks_for_compaction(key: str, value: Any) -> bool:
    """Whether a request without this key would be answered with something else entirely."""
    if key == "$asides" and isinstance(value, list):
        return any(isinstance(i, dict) and i.get("type") == "compaction_trigger" for i in value)
    return key == "compaction" and isinstance(value, dict)
