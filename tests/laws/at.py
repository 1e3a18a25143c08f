"""L17: what stands at `loss.at` is what the loss is about.

    python -m tests.laws.at [--every N] [--show N]

For every recorded request and every target: taking out of the body what stands at `at` removes that
loss and adds none. An only item goes with its empty container."""

from __future__ import annotations

import argparse
import gzip
import json
import logging
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, NamedTuple

import interlingua as il
from interlingua.adapt.places import steps
from tools.manifest import MODELS, SHARED, WIRES

FILLED = ("max_tokens_capped", "max_tokens_guessed")
"""Losses of what was not there: nothing in the source corresponds to them."""


class Finding(NamedTuple):
    """One loss of one conversion, and what became of it."""

    where: str
    loss: il.Loss
    verdict: str
    """`held`, `no place`, or what went wrong."""


def recorded(every: int = 1) -> Iterator[tuple[str, str, Any]]:
    """The recorded requests: a name, the dialect and the body."""
    for path in sorted((SHARED / "corpus").glob("*.jsonl.gz")):
        with gzip.open(path, "rb") as rows:
            for number, row in enumerate(rows):
                record = json.loads(row) if number % every == 0 else {}
                if isinstance(record.get("request"), dict):
                    source = WIRES.get(record["dialect"], record["dialect"])
                    if record["provider"] == "openrouter" and source == "openai-chat":
                        source = "openrouter"
                    yield record["id"], source, record["request"]


def judged(name: str, source: str, body: Any, target: str) -> Iterator[Finding]:
    """Every loss of one conversion."""
    losses = _losses(body, source, target)
    for loss in losses or ():
        where = f"{name} {source}>{target}"
        yield Finding(where, loss, _verdict(loss, losses or [], body, source, target))


def _verdict(loss: il.Loss, losses: list[il.Loss], body: Any, source: str, target: str) -> str:
    if not loss.at:
        return "filled in" if loss.code in FILLED else "no place"
    try:
        left = without(body, loss.at)
    except (KeyError, IndexError, TypeError):
        return "nothing stands there"
    after = _losses(left, source, target)
    if after is None:
        return "cannot be read without it"
    before, now = Counter(map(_key, losses)), Counter(map(_key, after))
    if now[_key(loss)] >= before[_key(loss)]:
        return "still lost"
    added = now - before
    return f"added {', '.join(code for code, _ in added)}" if added else "held"


def _losses(body: Any, source: str, target: str) -> list[il.Loss] | None:
    try:
        return il.convert(body, source, target, "request", MODELS[target]).report.losses
    except il.InterlinguaError:
        return None


def _key(loss: il.Loss) -> tuple[str, str]:
    return loss.code, loss.path.rpartition(".")[2].partition("[")[0]


def without(body: Any, places: tuple[str, ...]) -> Any:
    """A copy of the body without what stands at these places."""
    body = deepcopy(body)
    for path in map(list, sorted(map(steps, places), key=_order, reverse=True)):
        while path:
            holder = body
            for step in path[:-1]:
                holder = holder[step]
            del holder[path.pop()]
            if holder or not path:
                break
    return body


def _order(path: tuple[str | int, ...]) -> list[tuple[int, str]]:
    """The last items of a list go first, so that the others stay where they are."""
    return [(each, "") if isinstance(each, int) else (-1, each) for each in path]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--show", type=int, default=20)
    asked = parser.parse_args()
    logging.disable(logging.CRITICAL)
    verdicts: Counter[str] = Counter()
    shown: Counter[str] = Counter()
    for name, source, body in recorded(asked.every):
        for target in MODELS:
            for found in judged(name, source, body, target) if target != source else ():
                verdicts[found.verdict] += 1
                kind = f"{found.verdict}: {found.loss.code} {source}"
                shown[kind] += 1
                if found.verdict != "held" and shown[kind] == 1 and len(shown) < asked.show * 20:
                    print(f"{found.verdict}: {found.where}: {found.loss.path} {found.loss}")
    for kind, count in shown.most_common():
        if not kind.startswith("held"):
            print(count, kind)
    total = verdicts.total() - verdicts["filled in"]
    placed = total - verdicts["no place"]
    print(verdicts)
    print(
        f"{placed / total:.2%} of {total} losses have a place; {verdicts['held'] / placed:.2%} hold"
    )


if __name__ == "__main__":
    main()
