"""Recorded bodies with something broken in them: `python -m tests.laws.mutate --count 100000`.

Whatever is broken, reading gives a value or an error of ours that names the place, and what was
read goes home unchanged; nothing else is raised.
"""

from __future__ import annotations

import argparse
import copy
import random
import sys
from collections import Counter
from typing import Any

from interlingua.dialects.registry import dialect as dialect_of
from interlingua.dialects.registry import dialects
from interlingua.errors import InterlinguaError
from interlingua.model import codec
from tests.laws import corpus, laws, run

SCALARS: tuple[Any, ...] = (None, True, False, 0, -1, 1.5, 2**70, "", "x", [], {}, [None], {"x": 1})


def mutate(wire: Any, rng: random.Random) -> Any:
    """A copy in which one to three places are changed, taken out, doubled or moved."""
    wire = copy.deepcopy(wire)
    for _ in range(rng.randint(1, 3)):
        holder, key = _place(wire, rng)
        if holder is None:
            continue
        match rng.randrange(5):
            case 0 if isinstance(holder, dict):
                del holder[key]
            case 1 if isinstance(holder, list):
                holder.append(copy.deepcopy(holder[key]))
            case 2:
                holder[key] = [holder[key]]
            case 3 if isinstance(holder, dict):
                holder[f"{key}_x"] = holder.pop(key)
            case _:
                holder[key] = copy.deepcopy(rng.choice(SCALARS))
    return wire


def _place(wire: Any, rng: random.Random) -> tuple[Any, Any]:
    """A random place: the object or list that holds it, and its key or index."""
    holder: Any = None
    key: Any = None
    while isinstance(wire, (dict, list)) and wire:
        if holder is not None and rng.random() < 0.25:
            break
        holder = wire
        key = rng.choice(list(wire)) if isinstance(wire, dict) else rng.randrange(len(wire))
        wire = wire[key]
    return holder, key


def survives(name: str, kind: str, wire: Any) -> str | None:
    """What goes wrong with a broken body, if anything does that should not."""
    reader = dialect_of(name)
    try:
        value = laws.read(reader, kind, wire)
    except InterlinguaError as error:
        return None if getattr(error, "path", "").startswith("$") else f"no path: {error}"
    except Exception as error:  # this is what is looked for
        return f"reading: {type(error).__name__}: {error}"
    try:
        codec.loads(codec.dumps(value), type(value), strict=True)
        found = laws.difference(wire, laws.write(reader, value).wire)
        return f"not home: {found}" if found else None
    except Exception as error:  # as above
        return f"writing: {type(error).__name__}: {error}"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dialect", action="append", choices=dialects())
    options = parser.parse_args(argv)
    if not corpus.corpus_folder().is_dir():
        print("no recorded traffic: nothing to break")
        return 0
    rng = random.Random(options.seed)
    wanted = options.dialect or dialects()
    bodies = [case for case in run.cases() if case.dialect in wanted]
    failed: Counter[str] = Counter()
    for _ in range(options.count):
        case = rng.choice(bodies)
        problem = survives(case.dialect, case.kind, mutate(case.wire, rng))
        if problem:
            failed[f"{case.dialect} {case.kind}: {problem[:160]}"] += 1
    print(f"{options.count} broken bodies, {sum(failed.values())} handled wrongly")
    for text, count in failed.most_common(20):
        print(f"  {count} {text}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
