"""What became of a body, read by code that shares nothing with any of the converters
(`tests.laws.facts`, `tests.laws.fits`, and the types of the official SDKs)."""

from __future__ import annotations

import json
from typing import Any, Literal, NamedTuple

from tests.compared.bodies import PROVIDERS, Body
from tests.compared.drivers.runner import frames_of
from tests.laws import acceptable, facts
from tests.laws.facts.shape import Facts
from tests.laws.fits import refusals
from tests.laws.judge.differences import Difference, differences

Word = Literal["right", "reported", "silent", "failed", "-"]


class Verdict(NamedTuple):
    """`right`: the same is in what was written. `reported`: something differs, and the converter
    reported something or raised an error that names its reason. `silent`: something differs without
    a report. `failed`: neither a body nor a reason. `-`: no such conversion."""

    word: Word
    why: str = ""
    refused: str = ""
    """Why the model or the provider's SDK would refuse the body."""


_SAMPLING = ("temperature", "top_p", "top_k")
_CRASHES = ("KeyError", "AttributeError", "TypeError", "IndexError", "AssertionError", "ValueError")


def verdict(
    body: Body, target: str, model: str, result: dict[str, Any], is_history: bool
) -> Verdict:
    if result.get("offered") is False:
        return Verdict("-")
    if problem := result.get("problem"):
        crashed = problem.startswith(_CRASHES) and "unexpected keyword" not in problem
        return Verdict("failed" if crashed or "went wrong" in problem else "reported", problem)
    wire, collected = result["wire"], result["told"]
    is_asked = body.kind == "request" and body.source != target
    refused = _refused(target, model, wire) if is_asked else ""
    if body.source == target and body.kind == "request":
        same = _plain(body.wire) == _plain(wire)
        return Verdict("right" if same else "reported" if collected else "silent", "", refused)
    try:
        why = [str(each) for each in _differences(body, target, wire, is_history)]
    except Exception as problem:
        return Verdict("failed", f"not a body of {target}: {problem!r}"[:200], refused)
    if not why:
        return Verdict("right", "", refused)
    return Verdict("reported" if collected else "silent", "; ".join(why)[:300], refused)


def _plain(wire: Any) -> str:
    """A request without what goes elsewhere, or is the same as nothing."""
    left = {k: v for k, v in wire.items() if k not in ("model", "stream") and v is not None}
    return json.dumps(left, sort_keys=True)


def _differences(body: Body, target: str, wire: Any, is_history: bool) -> list[Any]:
    if body.kind == "stream":
        there = facts.of(body.source, "stream", frames_of(body.wire))
        here = facts.of(target, "stream", [tuple(each) for each in wire])
    elif is_history:
        there = facts.of(body.source, "response", body.wire)
        here = facts.of(target, "request", wire)
        there, here = [_history(each) for each in there], [_history(each) for each in here]
    else:
        there = facts.of(body.source, body.kind, body.wire)
        here = facts.of(target, body.kind, wire)
    if len(there) != len(here):
        return [f"{len(there)} messages became {len(here)}"]
    found = [
        each
        for one, other in zip(there, here, strict=True)
        for each in differences(one, other)
        if each.what != "added" or each.aspect == "words"
    ]
    return [each for each in found if each.aspect not in ("stream", "store") and not _marked(each)]


def _marked(found: Difference) -> bool:
    """A cache mark that was added to a tool, or a count that was not there before."""
    if (found.topic, found.aspect) == ("tool", "cache"):
        return found.ours.cache is None
    return found.topic == "usage" and found.ours is None


def _history(said: Facts) -> Facts:
    return Facts([piece for piece in said.pieces if piece.role == "assistant"])


def _refused(target: str, model: str, wire: Any) -> str:
    """Why it would be answered with a 400. The newest types of Anthropic's SDK have no sampling
    options any more, which its older models take."""
    try:
        return _problems(target, model, wire)
    except (KeyError, TypeError, AttributeError) as problem:
        return f"not a body of {target}: {problem!r}"


def _problems(target: str, model: str, wire: Any) -> str:
    typed = {name: each for name, each in wire.items() if name not in _SAMPLING}
    found = [
        *map(str, refusals(PROVIDERS[target], target, model, wire)),
        *acceptable.problems(target, "request", {**typed, **_named(target, model)}),
    ]
    return "; ".join(found)[:300]


def _named(target: str, model: str) -> dict[str, str]:
    return {} if target == "gemini" else {"model": model}
