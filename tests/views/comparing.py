"""Whether a report lists exactly what a view lost: no silent loss, and no false alarm.

What was read back is compared with what was written, field by field in a normal form: every
difference lies at or below a loss, and every loss has its difference.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from hypothesis import HealthCheck, settings

from interlingua.model.arguments import recover, to_text
from interlingua.model.base import Value, _defaults, same
from interlingua.model.blocks import TYPE_OF, Block, ToolResultBlock, ToolUseBlock, UnknownBlock
from interlingua.model.losses import Loss, Report
from interlingua.model.message import Message, Role, rewrite
from tests.effort import examples

few = settings(max_examples=examples(40), suppress_health_check=[HealthCheck.too_slow])
"""For laws about whole conversations, which take long to make."""

Path = tuple[str | int, ...]
_STEP = re.compile(r"\.([\w$-]+)|\[(\d+)\]|\[('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")\]")


def parse(path: str) -> Path:
    """`$[3].content[1]` as a tuple."""
    steps: list[str | int] = []
    rest = path.removeprefix("$")
    while rest:
        match = _STEP.match(rest)
        assert match, f"no path: {path!r}"
        name, number, quoted = match.groups()
        steps.append(int(number) if number else name if name else ast.literal_eval(quoted))
        rest = rest[match.end() :]
    return tuple(steps)


def at(value: Any, path: Path) -> Any:
    """What a path leads to; fails where it leads nowhere."""
    for step in path:
        value = getattr(value, str(step)) if isinstance(value, Value) else value[step]
    return value


class Numbered(list[tuple[int, Any]]):
    """Items with the numbers they had before some of them were dropped."""


Rank = Callable[[str], int]
"""The place of a block type in a view that has an order of its own."""


def _in_place(block_type: str) -> int:
    return 0


class Comparison:
    """`aside` are messages that are not compared, since the test looks at them itself."""

    def __init__(
        self, view: str, report: Report, rank: Rank = _in_place, aside: Collection[int] = ()
    ) -> None:
        self.view = view
        self.aside = aside
        self.losses: list[tuple[Path, Loss]] = [(parse(loss.path), loss) for loss in report.entries]
        self.dropped = {path for path, loss in self.losses if loss.kind == "dropped"}
        self.dropped |= {(number,) for number in aside}
        self.moved = {path for path, loss in self.losses if loss.kind == "moved"}
        self.rank = rank

    def check(self, before: Sequence[Message], after: Sequence[Message]) -> None:
        before, after = list(map(normal, before)), list(map(normal, after))
        differences = set(self.differences(self.tree(before, ()), tree(after), ()))
        for path in differences:
            assert self.is_covered(path), f"silent loss at {path}"
        for path, loss in self.losses:
            assert self.is_true(path, loss, before, differences), f"false alarm: {loss}"
        for path in raw_keys(before, (), self.view):
            assert path[0] in self.aside or self.is_covered(path), f"silent loss at {path}"

    def is_covered(self, path: Path) -> bool:
        return any(path[: len(place)] == place for place, _ in self.losses)

    def is_true(
        self, path: Path, loss: Loss, before: Sequence[Message], differences: set[Path]
    ) -> bool:
        found = at(before, path)
        if path[0] in self.aside:
            return True
        if loss.kind == "moved":
            ranks = [self.rank(TYPE_OF[type(block)]) for block in found]
            return ranks != sorted(ranks)
        if isinstance(path[-1], int) and loss.kind == "dropped":
            return True  # it was there, and it is left out on both sides
        if "raw" in path or "provider_raw" in path:
            return "$form" not in path and self.view not in path
        if found is None or found is False or found == ():
            return False
        return any(_same_branch(place, path) for place in differences)

    def tree(self, value: Any, path: Path) -> Any:
        """Plain values; of what was dropped, nothing; of what was moved, in the view's order."""
        if isinstance(value, (list, tuple)):
            remaining = [
                (n, each) for n, each in enumerate(value) if (*path, n) not in self.dropped
            ]
            if path in self.moved:
                remaining.sort(key=lambda item: self.rank(TYPE_OF[type(item[1])]))
            return Numbered([(n, self.tree(each, (*path, n))) for n, each in remaining])
        if isinstance(value, Value):
            fields = {name: self.tree(item, (*path, name)) for name, item in said(value)}
            return {name: item for name, item in fields.items() if item != []}
        return value

    def differences(self, before: Any, after: Any, path: Path) -> Iterator[Path]:
        if isinstance(before, dict) and isinstance(after, dict):
            for name in before.keys() | after.keys():
                if (name in before) != (name in after):
                    yield (*path, name)
                else:
                    yield from self.differences(before[name], after[name], (*path, name))
        elif isinstance(before, Numbered) and isinstance(after, list):
            if len(before) != len(after):
                yield path
                return
            for (number, one), other in zip(before, after, strict=True):
                yield from self.differences(one, other, (*path, number))
        elif not same(before, after):
            yield path


def _same_branch(one: Path, other: Path) -> bool:
    """Whether one of two places lies inside the other."""
    length = min(len(one), len(other))
    return one[:length] == other[:length]


def said(value: Value) -> Iterator[tuple[str, Any]]:
    """The fields that say something, `raw` apart; under an empty name, the class."""
    yield "", type(value).__name__
    defaults = _defaults(type(value))
    for name in value.__struct_fields__:
        item = getattr(value, name)
        is_raw = name in ("raw", "provider_raw") and not isinstance(value, UnknownBlock)
        if name == "metadata" or (not is_raw and not same(item, defaults[name])):
            yield name, item


def tree(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [tree(each) for each in value]
    if isinstance(value, Value):
        return {name: tree(item) for name, item in said(value)}
    return value


def raw_keys(value: Any, path: Path, view: str) -> Iterator[Path]:
    """The places of all that only some dialect understands, spelling and the view's own apart."""
    if isinstance(value, (list, tuple)):
        for number, each in enumerate(value):
            yield from raw_keys(each, (*path, number), view)
    elif isinstance(value, Value):
        for name in value.__struct_fields__:
            item = getattr(value, name)
            if name in ("raw", "provider_raw") and item:
                for dialect, own in item.items():
                    keys = own if isinstance(own, dict) and dialect != view else ()
                    yield from ((*path, name, dialect, key) for key in keys if key != "$form")
            else:
                yield from raw_keys(item, (*path, name), view)


def normal(message: Message) -> Message:
    """Without argument texts that say no more than the input, and with the parent call named."""
    message = rewrite(message, lambda block: [_normal_block(block)])
    results = [block for block in message.content if isinstance(block, ToolResultBlock)]
    if message.role is Role.TOOL and len(results) == 1:
        metadata = message.metadata
        if metadata.parent_tool_use_id is None:
            metadata = metadata.replace(parent_tool_use_id=results[0].tool_use_id)
        message = message.replace(metadata=metadata)
    return message


def _normal_block(block: Block) -> Block:
    if not isinstance(block, ToolUseBlock) or block.raw_arguments is None:
        return block
    says_it = same(recover(block.raw_arguments).input, block.input)
    if says_it and block.raw_arguments != to_text(block.input):
        return block
    return block.replace(raw_arguments=None)
