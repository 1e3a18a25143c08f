"""Calls whose arguments come piece by piece: each piece names a place in them by its JSON path."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import Any

from interlingua.dialects.base import Wire
from interlingua.dialects.gemini.spelling import SNAKE
from interlingua.model.blocks import ToolUseBlock

_VALUES = ("stringValue", "numberValue", "boolValue", "nullValue")
_STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d{1,6})\]|\['([^']*)'\]|\["([^"]*)"\]""")
_MOST = 10_000
"""The largest position in a list that a piece may name, so that no path can fill the memory."""


def look(wire: Wire, name: str) -> Any:
    """The value of a key in either style."""
    value = wire.get(name)
    return wire.get(SNAKE[name]) if value is None else value


def begins(part: Wire) -> Wire | None:
    """The call of a part that is a call, if it is an object."""
    call = look(part, "functionCall")
    return call if type(call) is dict else None


def goes_on(call: Wire) -> bool:
    """Whether a call is only a piece of one that goes on."""
    return look(call, "partialArgs") is not None or look(call, "willContinue") is True


class PiecedCall:
    """A call that is still being told: its first state, and the arguments so far."""

    __slots__ = ("_pieces", "args", "block", "index", "part")

    def __init__(self, index: int, block: ToolUseBlock, part: Wire) -> None:
        self.index = index
        self.block = block
        self.part = part
        self.args: Wire = {}
        self._pieces: dict[str, list[str]] = {}

    def add(self, call: Wire) -> None:
        """A piece. What names no place, or no value, says nothing."""
        given = look(call, "args")
        if type(given) is dict:
            self.args.update(given)
        pieces = look(call, "partialArgs")
        for piece in pieces if type(pieces) is list else ():
            path = look(piece, "jsonPath") if type(piece) is dict else None
            if type(path) is not str:
                continue
            key = next((name for name in _VALUES if look(piece, name) is not None), None)
            value = None if key in (None, "nullValue") else look(piece, str(key))
            if type(value) is str and path in self._pieces:
                self._pieces[path].append(value)
            elif type(value) is str:
                self._pieces[path] = [value]
                put(self.args, path, "")
            elif key is not None:
                put(self.args, path, value)

    def finish(self) -> ToolUseBlock:
        for path, pieces in self._pieces.items():
            if len(pieces) > 1 or pieces[0]:
                self._pieces[path] = ["".join(pieces)]
                put(self.args, path, self._pieces[path][0])
        self.part["functionCall"]["args"] = self.args
        return self.block.replace(input=self.args)


def put(args: Wire, path: str, value: Any) -> None:
    """Put a value into arguments; a path that leads nowhere is none."""
    steps: list[str | int] = [
        int(number) if number else name or single or double
        for name, number, single, double in _STEP.findall(path)
    ]
    inside: Any = args
    for step, after in zip_longest(steps, steps[1:]):
        if type(step) is int and type(inside) is list and step <= _MOST:
            inside.extend([None] * (step + 1 - len(inside)))
            known = inside[step]
        elif type(step) is str and type(inside) is dict:
            known = inside.get(step)
        else:
            return
        if after is None:
            inside[step] = value
        elif type(known) is not (list if type(after) is int else dict):
            known = inside[step] = [] if type(after) is int else {}
        inside = known
