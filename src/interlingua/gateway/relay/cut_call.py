"""Calls whose arguments broke off. The client has nothing of such a call yet: its rest is asked for
once, as text, if there is enough of it to be worth that; it is used if it goes on exactly where the
arguments ended and all of them fit the tool's schema. Otherwise the call is made anew."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import msgspec

from interlingua.errors import InterlinguaError
from interlingua.model.events import BlockEnd, Event, ToolUseInputDelta, ToolUseStart, UsageUpdate
from interlingua.model.exchange import Request
from interlingua.tools.registry import build_validator

LEAST = 200
"""Characters of arguments that are worth completing."""


class SeamError(Exception):
    """The next attempt does not go on where the answer broke off."""


@cache
def call_instruction() -> str:
    return files(__package__).joinpath("complete.md").read_text("utf-8").strip()


class CutCall(NamedTuple):
    start: ToolUseStart
    arguments: str

    def schema(self, request: Request) -> dict[str, Any] | None:
        """What the arguments have to fit; None where the call cannot be completed."""
        if len(self.arguments) < LEAST:
            return None
        for tool in request.tools:
            if tool.name == self.start.name and tool.executor == "client":
                return tool.input_schema if tool.kind == "function" else None
        return None


def cut_call(held: Iterable[Event]) -> CutCall | None:
    """The call that was under way, if it is the only one and nothing else is held back."""
    calls: list[ToolUseStart] = []
    pieces: list[str] = []
    for event in held:
        if isinstance(event, ToolUseStart):
            calls.append(event)
        elif isinstance(event, ToolUseInputDelta):
            pieces.append(event.text)
        elif not isinstance(event, BlockEnd | UsageUpdate):
            return None
    if len(calls) != 1 or calls[0].executor != "client" or calls[0].call_type == "custom":
        return None
    return CutCall(calls[0], "".join(pieces))


class CallSeam:
    """The text of an attempt that completes a call."""

    def __init__(self, call: CutCall, anchor: str, schema: dict[str, Any]) -> None:
        self.call = call
        self._anchor, self._schema = anchor, schema
        self._text = ""
        self.is_joined = False
        self.others: set[int] = set()
        """Further calls of the attempt."""

    def add(self, piece: str) -> None:
        self._text += piece
        if not self._anchor.startswith(self._text[: len(self._anchor)]):
            raise SeamError

    def arguments(self) -> tuple[str, dict[str, Any]]:
        """All of them, as text and read; `SeamError` if they are not what the tool takes."""
        if not self._text.startswith(self._anchor):
            raise SeamError
        text = self.call.arguments + self._text[len(self._anchor) :].rstrip()
        try:
            input = msgspec.json.decode(text)
            valid = build_validator(self.call.start.name, self._schema).is_valid(input)
        except (msgspec.DecodeError, UnicodeError, RecursionError, InterlinguaError):
            raise SeamError from None
        if not valid or not isinstance(input, dict):
            raise SeamError
        return text, input
