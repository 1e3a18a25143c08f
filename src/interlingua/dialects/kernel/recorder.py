"""Losses as they happen: what a writer carries along, so that everything it cannot say is told with
its place."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from interlingua.errors import LossError
from interlingua.losses import LossKind, Report, Severity
from interlingua.model.base import Raw, Value, _defaults, same
from interlingua.model.blocks import (
    TYPE_OF,
    Block,
    ImageBlock,
    MediaBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.exchange import Options, Request, Response, ToolChoice
from interlingua.model.message import Message
from interlingua.model.tools import ToolDefinition

T = TypeVar("T")

Places = dict[int, list[tuple[str, Message | None]]]
"""Where values stand, by identity: their paths, and the message each belongs to."""


class LossRecorder(msgspec.Struct, eq=False):
    """What a writer carries along: it finds the path of whatever could not be said.

    A value is found by identity in the value that was to be said, so that writers need no paths;
    `alias` says which original stands behind a value that retelling made."""

    dialect: str
    origin: Request | Response | None
    report: Report
    _places: Places | None = None
    _spoken: Places | None = None
    _aliases: dict[int, tuple[Any, Any]] | None = None
    _critical: list[int] | None = None
    _told: dict[tuple[int, str | None], int] | None = None
    _calls: dict[str, str] | None = None
    _made: dict[int, Any] | None = None
    _found: dict[int, tuple[str, Message | None]] | None = None

    def made(self, value: T) -> T:
        """A value that nobody said: why it is there was told, and nothing of it can be lost."""
        if self._made is None:
            self._made = {}
        self._made[id(value)] = value
        return value

    def called(self, result: ToolResultBlock) -> str | None:
        """The name of the tool whose call a result answers, where the call is there to say it."""
        if self._calls is None:
            messages = getattr(self.origin, "messages", ())
            blocks = [block for message in messages for block in message.content]
            self._calls = {b.id: b.name for b in blocks if type(b) is ToolUseBlock}
        answered: str = self.original(result).tool_use_id
        return self._calls.get(answered)

    def alias(self, new: Value, original: Value) -> None:
        """`new` stands for `original` of the value that was to be said."""
        if self._aliases is None:
            self._aliases = {}
        self._aliases[id(new)] = (new, original)  # both stay alive, so that identities do

    def original(self, value: Any) -> Any:
        if self._aliases is not None:
            while id(value) in self._aliases:
                value = self._aliases[id(value)][1]
        return value

    def path(self, value: Any, field: str | None = None) -> tuple[str, Message | None]:
        """Where a value stands. One that stands in several places is told of once for each."""
        value = self.original(value)
        told = self._told
        if told is None:
            told = self._told = {}
        times = told[id(value), field] = told.get((id(value), field), -1) + 1
        unindexed = self._places is None and self._spoken is None
        if unindexed and not times and (place := self._first_place(value)):
            return place
        places = self._index_for(type(value)).get(id(value))
        return places[min(times, len(places) - 1)] if places else ("$", None)

    def _first_place(self, value: Any) -> tuple[str, Message | None] | None:
        """Where one of a few values stands, without an index of all."""
        found = self._found
        if found is None:
            found = self._found = {}
        place = found.get(id(value))
        if place is None and len(found) < _FEW:
            place = _place(self.origin, value)
            if place is not None:
                found[id(value)] = place
        return place

    def _index_for(self, kind: type) -> Places:
        """An index that has all places of values of this type."""
        if self._places is None and (kind is Message or kind in TYPE_OF):
            if self._spoken is None:
                self._spoken = _spoken(self.origin)
            return self._spoken
        if self._places is None:
            self._places = _places(self.origin)
        return self._places

    def unwritten(self, value: Value, said: frozenset[str]) -> None:
        """Report every field that holds something and is not among those said, and all of `raw`
        that other dialects put there."""
        defaults = _defaults(type(value))
        for name in value.__struct_fields__:
            item = getattr(value, name)
            if item is None or name in said or item is defaults[name]:
                continue
            if name == "raw":
                self.unwritten_raw(value, item)
            elif not same(item, defaults[name]):
                self.lost(value, name)

    def unwritten_raw(self, value: Value, raw: Raw, field: str = "raw") -> None:
        for dialect, rest in raw.items():
            if dialect != self.dialect and isinstance(rest, dict):
                for key in rest:
                    if key != "$form":
                        asked = key in PRIVATE and isinstance(value, _ASKED)
                        severity: Severity = "warning" if asked else "info"
                        reason = reason_of(dialect, key)
                        self.lost(value, f"{field}.{dialect}.{key}", reason, severity=severity)

    def lost(
        self,
        value: Any,
        field: str | None = None,
        reason: str | None = None,
        kind: LossKind = "dropped",
        severity: Severity = "warning",
        rule: str | None = None,
    ) -> None:
        """A loss at a value, or at one of its fields, unless that says what is done anyway."""
        if field is not None and says_nothing(value, field):
            return
        if self._made is not None and id(self.original(value)) in self._made:
            return
        path, message = self.path(value, field)
        self.report.add(
            kind,
            f"{path}.{field}" if field else path,
            reason or f"{self.dialect} has no place for it",
            severity,
            TYPE_OF.get(type(value)),
            message.id if message else None,
            rule,
        )

    def filled(self, value: Any, field: str, said: str) -> None:
        """A field that holds nothing and has to be there: what is said in its place."""
        self.lost(value, field, f"needed here; said as {said!r}", "approximated", "info")

    def dropped(
        self,
        block: Block,
        reason: str | None = None,
        severity: Severity = "warning",
        rule: str | None = None,
    ) -> None:
        """A whole block is left out: one loss, one warning in the log; an error if critical."""
        path, message = self.path(block)
        self.report.dropped_block(
            path,
            TYPE_OF.get(type(block), "unknown"),
            reason or f"{self.dialect} has no place for it",
            severity,
            message.id if message else None,
            message.session_id if message else None,
            rule,
        )
        if message is not None and _is_critical(message, self.original(block)):
            self._critical = [*(self._critical or ()), len(self.report.losses) - 1]

    def refuse_critical(self) -> None:
        """Fail if a block was dropped that its message calls critical."""
        if self._critical:
            losses = [self.report.losses[index] for index in self._critical]
            raise LossError(f"{self.dialect} request", Report(self.dialect, losses))


_ASKED = (Request, Options, ToolDefinition)
"""What asks for something, where a loss changes what is done."""


class Quiet(LossRecorder):
    """Keeps no account: the losses of a stream are counted once, when all of it is known."""

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
    ToolDefinition: {"strict": (False,)},
    ImageBlock: {"detail": ("auto",)},
}
"""Values that say what every service does anyway; leaving one out changes nothing."""


def says_nothing(value: Any, field: str) -> bool:
    """Whether this field says what would be done without it."""
    fields = DONE_ANYWAY.get(type(value))
    return fields is not None and field in fields and getattr(value, field) in fields[field]


def _is_critical(message: Message, block: Any) -> bool:
    critical = message.metadata.critical
    if isinstance(critical, bool):
        return critical
    return any(message.content[i] is block for i in critical if i < len(message.content))


_FEW = 4
"""So many values are looked for one by one; for more of them an index of all places is made."""


def _place(origin: Any, value: Any) -> tuple[str, Message | None] | None:
    """The path of one value, where it is a message, a block, the usage or the options."""
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


def _spoken(origin: Any) -> Places:
    """The messages and blocks of a value, which nearly all losses are about: an index of them alone
    takes a tenth of the time."""
    places: Places = {}

    def note(blocks: tuple[Block, ...], path: str, message: Message) -> None:
        for index, block in enumerate(blocks):
            here = f"{path}[{index}]"
            places.setdefault(id(block), []).append((here, message))
            if type(block) is ToolResultBlock:
                note(block.content, f"{here}.content", message)
            elif isinstance(block, MediaBlock) and block.source.content:
                note(block.source.content, f"{here}.source.content", message)

    for path, message in _messages(origin):
        places.setdefault(id(message), []).append((path, message))
        note(message.content, f"{path}.content", message)
    return places


def _messages(origin: Any) -> list[tuple[str, Message]]:
    if isinstance(origin, Request):
        return [(f"$.messages[{number}]", each) for number, each in enumerate(origin.messages)]
    if not isinstance(origin, Response):
        return []
    others = enumerate(origin.alternatives)
    return [("$.message", origin.message), *[(f"$.alternatives[{n}]", each) for n, each in others]]


def _places(origin: Any) -> Places:
    """Every part of a value."""
    places: Places = {}

    def note(value: Any, path: str, message: Message | None) -> None:
        if isinstance(value, tuple):
            for index, item in enumerate(value):
                note(item, f"{path}[{index}]", message)
        elif isinstance(value, Value):
            message = value if isinstance(value, Message) else message
            places.setdefault(id(value), []).append((path, message))
            for name in value.__struct_fields__:
                item = getattr(value, name)
                if isinstance(item, (tuple, Value)) and item != ():
                    note(item, f"{path}.{name}", message)

    note(origin, "$", None)
    return places


# -- what only one service has --------------------------------------------------------------------

PRIVATE: dict[str, str] = {
    "allowed_callers": "whose code may call the tool",
    "caller": "whose code made the call",
    "container": "the container that code and skills run in",
    "context_management": "how the service is to cut or sum up the history",
    "diagnostics": "why the prompt was not found in the cache",
    "fallback_credit": "what the use of another model was paid for with",
    "fallbacks": "the models to go on with where this one fails",
    "inference_geo": "where in the world the model runs",
    "iterations": "the counts of each round that the answer took",
    "mcp_servers": "the MCP servers that the service talks to",
    "models": "the models to go on with where this one fails",
    "speed": "how fast the answer is made",
    "stop_details": "why the model refused, and the category of that",
}
"""What only one service has, in words for readers of reports: by key, the same for every service
that has it."""


def reason_of(dialect: str, key: str) -> str:
    """Why a key of a `raw` does not leave its dialect."""
    words = PRIVATE.get(key)
    return f"private to {dialect}" if words is None else f"private to {dialect}: {words}"
