"""Translations judged from outside: facts of the wire that was read against facts of the wire that
was written, and what the report says about the difference."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import interlingua as il
from interlingua.adapt.stream_convert import StreamConverter
from interlingua.dialects.framing import encoder
from interlingua.streams.fold import fold_all
from interlingua.streams.frames import Frame
from tests.laws import facts, streams
from tests.laws.facts import canonical, framing
from tests.laws.facts.shape import Facts
from tests.laws.judge.account import false_alarms, leaks, unaccounted, under
from tests.laws.judge.align import Alignment
from tests.laws.judge.differences import Difference, differences

IN_THE_URL = frozenset({"gemini", "bedrock"})
"""Dialects whose body says neither the model nor whether the answer is streamed."""


def reading(source: str, kind: str, wire: Any, model: str | None = None) -> list[str]:
    """What our reader understood otherwise than the wire says it."""
    value = _read(source, kind, wire, model)
    [content] = facts.of(source, kind, wire)
    return [f"read: {each}" for each in of_reading(content, value)]


def abroad(source: str, target: str, kind: Any, wire: Any, model: str | None = None) -> list[str]:
    """One body, said in another dialect."""
    value = _read(source, kind, wire, model)
    written = il.convert(wire, source, target, kind, model)
    [content] = facts.of(source, kind, wire)
    [result] = facts.of(target, kind, written.wire)
    if target in IN_THE_URL and written.stream is not None:
        result.options["stream"] = written.stream
    return judged(content, result, value, list(written.report.entries), target)


def own(source: str, kind: str, wire: Any, model: str | None = None) -> list[str]:
    """One body, retold to the dialect and model that it came from: nothing may change."""
    value = _read(source, kind, wire, model)
    dialect = il.dialect(source)
    result = il.retell(value, source, getattr(value, "model", None))
    write = dialect.write_request if kind == "request" else dialect.write_response
    written = write(result.value, result.recorder)
    [content] = facts.of(source, kind, wire)
    [again] = facts.of(source, kind, written.wire)
    found = [f"retold to its own: {each}" for each in differences(content, again)]
    return found + [f"reported to its own: {loss}" for loss in written.report.entries]


def folding(source: str, frames: Sequence[Frame]) -> list[str]:
    """What our fold of a stream has otherwise than the frames say."""
    values = fold_all(streams.read(il.dialect(source), frames))
    found = facts.of(source, "stream", pairs(frames))
    if len(values) != len(found):
        return [f"fold: {len(found)} messages became {len(values)}"]
    return [
        f"fold: {each}"
        for mine, value in zip(found, values, strict=True)
        for each in of_reading(mine, value)
    ]


def streamed(source: str, target: str, frames: Sequence[Frame]) -> list[str]:
    """A stream, translated piece by piece."""
    values = fold_all(streams.read(il.dialect(source), frames))
    converter = StreamConverter(source, target)
    encode = encoder(source)
    data = b"".join([converter.feed(encode(frame)) for frame in frames]) + converter.close()
    losses = list(converter.report.entries)
    found = facts.of(source, "stream", pairs(frames))
    result = facts.of(target, "stream", framing.frames(target, data))
    if len(found) != len(values):
        return [f"fold: {len(found)} messages became {len(values)}"]
    if len(found) != len(result):
        is_told = any(loss.path == "$" for loss in losses)
        return [] if is_told else [f"untold: {len(found)} messages became {len(result)}"]
    if len(found) == 1:
        return judged(found[0], result[0], values[0], losses, target)
    problems = []
    for mine, other, value in zip(found, result, values, strict=True):
        # one report for all of them: which entry is for which message cannot be told
        problems += unaccounted(differences(placed(mine, value), other), losses)
        problems += leaks(mine, other, target)
    return problems


def pairs(frames: Sequence[Frame]) -> list[tuple[str | None, Any]]:
    return [(frame.event, streams.parsed(frame)) for frame in frames]


def _read(source: str, kind: str, wire: Any, model: str | None) -> Any:
    dialect = il.dialect(source)
    if kind == "request":
        return dialect.read_request(wire, model)
    return dialect.read_response(wire)


# -- judging --------------------------------------------------------------------------------------


def judged(said: Facts, told: Facts, value: Any, losses: Sequence[Any], target: str) -> list[str]:
    """What the report should say and does not, and what it says and should not."""
    found = list(differences(placed(said, value), told))
    return [
        *unaccounted(found, losses),
        *false_alarms(found, losses, said),
        *leaks(said, told, target),
        *dangling(value, losses),
        *_sealed(value, told, losses),
    ]


def _sealed(value: Any, told: Facts, losses: Sequence[Any]) -> list[str]:
    """What only one vendor has goes nowhere else, and each of it is told."""
    mine = [piece for each in (known(value),) for piece in each.pieces if piece.kind == "opaque"]
    if any(piece.kind == "opaque" for piece in told.pieces):
        return []
    paths = [loss.path for loss in losses]
    return [
        f"untold: lost {piece.data} at {piece.place}"
        for piece in mine
        if not any(under(piece.place, path) for path in paths if path != "$")
    ]


def known(value: Any) -> Facts:
    return canonical.request(value) if isinstance(value, il.Request) else canonical.response(value)


def placed(said: Facts, value: Any) -> Facts:
    """The facts of a wire, each with its path in the canonical value that was read from it."""
    ours = known(value)
    for mine, other in zip([said, *said.others], [ours, *ours.others], strict=False):
        found = Alignment(mine.pieces, other.pieces)
        for i, j in found.pairs.items():
            mine.pieces[i].place = mine.pieces[i].place or other.pieces[j].place
        _place_by_words(mine, other, found)
    free = list(ours.tools)
    for tool in said.tools:
        same = next((each for each in free if each.name == tool.name), None)
        if same is not None:
            tool.place = same.place
            free.remove(same)
    return said


def _place_by_words(mine: Facts, other: Facts, found: Alignment) -> None:
    """What was understood as something of another kind has the place of that."""
    free = [piece for j, piece in enumerate(other.pieces) if j not in found.pairs.values()]
    for i in found.lost():
        piece = mine.pieces[i]
        near = [each for each in free if piece.text and piece.text == each.text]
        near = near or [each for each in free if piece.data and piece.data == each.data]
        if near:
            piece.place = near[0].place


_ONE_THING = frozenset({"labels", "metadata"})
"""What a caller says about a request has one field with us; which of the two it was is spelling."""


def of_reading(said: Facts, value: Any) -> list[Difference]:
    """What was understood otherwise. Counts that contradict each other may be made to agree, if the
    message says so."""
    found = differences(said, known(value))
    return [
        each
        for each in found
        if (each.topic != "usage" or not _made_to_agree(value)) and each.aspect not in _ONE_THING
    ]


def _made_to_agree(value: Any) -> bool:
    every = value.message.metadata.diagnostics if isinstance(value, il.Response) else ()
    return any(each.type == "usage_contradicts" for each in every)


def dangling(value: Any, losses: Sequence[Any]) -> list[str]:
    """Entries whose path is no place in the value."""
    return [f"no such place: {loss}" for loss in losses if not resolves(value, loss.path)]


def resolves(value: Any, path: str) -> bool:
    node = value
    for name, index in re.findall(r"\.([^.\[\]]+)|\[(\d+)\]", path.removeprefix("$")):
        if index:
            if not isinstance(node, (list, tuple)) or int(index) >= len(node):
                return False
            node = node[int(index)]
        elif isinstance(node, dict):
            return True  # keys of raw and of schemas may have dots in them
        elif hasattr(node, name):
            node = getattr(node, name)
        else:
            return False
    return True
