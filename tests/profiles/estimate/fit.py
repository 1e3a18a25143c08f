"""Learns the coefficients of the estimate from recorded usage, and says how far off it is.

    python -m tests.profiles.estimate.fit            learn on one half, measure on the other
    python -m tests.profiles.estimate.fit --write    and keep the coefficients in the package

Least squares on the relative error, in rounds that give far-off prompts less and less weight, with
every coefficient at least zero and pulled towards a plain guess, so that a family with a handful of
recordings stays sensible. A second step finds what single models add to every prompt and to every
prompt with tools, since those hidden texts change from model to model.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from operator import mul
from pathlib import Path

import interlingua.profiles.estimate as package
from interlingua.profiles.estimate.estimator import COLUMNS, plain_name, vector
from interlingua.profiles.estimate.features import TEXTS
from tests.profiles.estimate.recorded import LARGE, Sample, is_for_learning, samples

TARGET = Path(package.__file__).parent / "data" / "coefficients.json"

WEIGHTS = {
    "words": 1.0,
    "tails": 0.12,
    "numbers": 1.0,
    "lines": 0.6,
    "spaces": 0.08,
    "marks": 0.8,
    "mark_tails": 0.3,
    "dense": 0.8,
    "letters": 0.35,
    "others": 1.2,
}
"""Tokens for a piece of each kind, in the large vocabularies of today."""

GUESS: dict[str, tuple[float, float]] = {
    "text": (1, 0.2),
    "thinking": (0.5, 0.5),
    "calls": (1, 0.3),
    "results": (1, 0.2),
    "described": (1, 0.3),
    "schema": (0.3, 0.3),
    "format": (0.5, 0.5),
    "messages": (4, 3),
    "instructions": (0, 4),
    "tool_uses": (8, 10),
    "tool_results": (8, 10),
    "tools": (8, 10),
    "properties": (3, 4),
    "any_tools": (20, 300),
    "forced": (0, 100),
    "signatures": (0, 0.3),
    "thinks": (0, 60),
    "always": (3, 60),
}
"""A plain guess for each coefficient, and how far from it we would not be surprised."""
OWN = {"any_tools": 100.0, "always": 20.0, "thinks": 60.0}
"""What single models have of their own, and how far they may stray from their family."""

PULL = 0.15
SMALL = 150
"""Errors of prompts smaller than this are taken as parts of this many tokens."""
ROUNDS = 40
NEAREST = 0.02
CUT = 3
"""A text with so many times more pieces than tokens was cut by the server: nothing to learn."""
FEWEST = 4
"""Recordings that a model needs for coefficients of its own."""

NAMES = {
    "claude-2026": r"claude-(opus-4[.-][789]|opus-5|sonnet-5|haiku-5|fable|mythos)",
    "claude-3": r"claude-(3|2|instant|sonnet-3|opus-3|haiku-3)",
    "claude": r"claude",
    "gpt-oss": r"gpt-oss",
    "cl100k": r"gpt-(3|4-|4$)",
    "gpt-5": r"gpt-[5-9]|(?<![a-z0-9])o[1-9]",
    "gpt": r"gpt-|codex",
    "nova-2": r"nova-2",
    "nova": r"nova",
    "gemini-vertex": r"^vertex:.*gemini",
    "gemini-3": r"^gemini:.*gemini-([34]|2\.5-pro)",
    "gemini": r"gemini|gemma",
    "deepseek": r"deepseek",
    "grok-fast": r"^(xai|openrouter):.*grok.*fast",
    "grok": r"^(xai|openrouter):.*grok",
    "grok-fast-elsewhere": r"grok.*fast",
    "grok-elsewhere": r"grok",
    "mistral": r"mistral|ministral|mixtral|codestral|magistral|devstral|pixtral",
    "llama": r"llama",
    "qwen": r"qwen|qwq",
    "kimi": r"kimi",
    "glm": r"glm",
    "other": r"",
}
"""A pattern for each family's models, or with a hat, for provider and model."""
FAMILIES = {
    name: match if match.startswith("^") else f":.*({match})" if match else match
    for name, match in NAMES.items()
}
"""The same for `<provider>:<model>`; the first that matches counts."""

LAID_OUT_LIKE = {"grok-fast": ("grok", "grok-fast-elsewhere")}
"""A line of models without recordings at its maker: what a host says before every prompt is the
host's own, how tools are laid out comes with the line, whoever hosts it."""

_TILES = {"longest": 2048, "shorter": 768, "base": 85, "tile": 170, "tile_side": 512, "low": 85}
_TILES_5 = {**_TILES, "base": 70, "tile": 140, "low": 70}
_PIXELS = {"longest": 1568, "pixels_per_token": 750, "most": 1600}
_SQUARES = {"longest": 3072, "tile": 258, "tile_side": 768, "small": 384, "document": 258}
MEDIA: dict[str, dict[str, int]] = {
    # Claude: width times height by 750, long side at most 1568 (vision guide, read 2026-11).
    **dict.fromkeys(("claude", "claude-2026", "claude-3"), _PIXELS),
    # GPT: tiles of 512 after scaling into 2048 and to a short side of 768 (vision guide, 2026-11).
    **dict.fromkeys(("gpt", "cl100k"), _TILES),
    "gpt-5": _TILES_5,
    # Gemini: 258 for an image up to 384, or for every tile of 768 (token guide, read 2026-11).
    **dict.fromkeys(("gemini", "gemini-3", "gemini-vertex"), _SQUARES),
    "other": _TILES,
}

Row = tuple[list[float], int]
Model = list[float]


def fit(
    rows: Sequence[Row], start: Mapping[str, tuple[float, float]], free: Iterable[str]
) -> Model:
    """Coefficients in the order of COLUMNS; those that are not free stay where they start."""
    center = [start[name][0] for name in COLUMNS]
    pull = [PULL**2 / start[name][1] ** 2 for name in COLUMNS]
    places = [COLUMNS.index(name) for name in free]
    scaled = [[x / max(tokens, SMALL) for x in row] for row, tokens in rows]
    goals = [tokens / max(tokens, SMALL) for _, tokens in rows]
    found = list(center)
    for _ in range(ROUNDS):
        before = list(found)
        square = [
            [pull[i] if i == j else 0.0 for j in range(len(found))] for i in range(len(found))
        ]
        right = [p * c for p, c in zip(pull, center, strict=True)]
        for row, goal in zip(scaled, goals, strict=True):
            weight = 0.1 / max(abs(dot(row, found) - goal), NEAREST)
            used = [i for i, x in enumerate(row) if x]
            for i in used:
                share = weight * row[i]
                right[i] += share * goal
                line = square[i]
                for j in used:
                    line[j] += share * row[j]
        descend(square, right, found, places)
        if max(abs(a - b) for a, b in zip(before, found, strict=True)) < 1e-3:
            break
    return found


def descend(square: list[list[float]], right: list[float], found: Model, places: list[int]) -> None:
    """The least of the quadratic form with no coefficient below zero, one coordinate at a time."""
    for _ in range(300):
        step = 0.0
        for i in places:
            better = max(0.0, found[i] + (right[i] - dot(square[i], found)) / square[i][i])
            step = max(step, abs(better - found[i]))
            found[i] = better
        if step < 1e-5:
            return


def dot(a: Sequence[float], b: Sequence[float]) -> float:
    return sum(map(mul, a, b))


def family_of(model: str) -> str:
    return next(name for name, match in FAMILIES.items() if re.search(match, model.lower()))


def learn(learning: Iterable[Sample]) -> dict[str, object]:
    """Everything that goes into the data file."""
    by_family: dict[str, list[Row]] = defaultdict(list)
    by_model: dict[tuple[str, str], list[Row]] = defaultdict(list)
    every: list[Row] = []
    for sample in learning:
        row = (vector(sample.counted, WEIGHTS), sample.tokens)
        if sum(row[0][: len(TEXTS)]) > CUT * sample.tokens:
            continue
        family = family_of(sample.model)
        every.append(row)
        by_family[family].append(row)
        by_model[family, plain_name(sample.model)].append(row)
    average = fit(every, GUESS, COLUMNS)
    families = {name: fit(rows, GUESS, COLUMNS) for name, rows in by_family.items()}
    families["other"] = average
    for line, (host, elsewhere) in LAID_OUT_LIKE.items():
        if host in families and elsewhere in families:
            tools = COLUMNS.index("any_tools")
            families[line] = list(families[host])
            families[line][tools] = families[elsewhere][tools]
    own: dict[str, dict[str, float]] = {}
    for (family, name), rows in sorted(by_model.items()):
        if len(rows) < FEWEST or family == "other":
            continue
        start = {
            column: (value, OWN.get(column, 1.0))
            for column, value in zip(COLUMNS, families[family], strict=True)
        }
        learned = dict(zip(COLUMNS, fit(rows, start, OWN), strict=True))
        own[f"{family}/{name}"] = {column: round(learned[column], 1) for column in OWN}
    return {
        "split": "sources whose crc32 has its second bit clear",
        "weights": WEIGHTS,
        "families": [
            {
                "name": name,
                "match": match,
                "coefficients": {
                    column: round(value, 3)
                    for column, value in zip(COLUMNS, families.get(name, average), strict=True)
                },
            }
            for name, match in FAMILIES.items()
        ],
        "models": own,
        "media": MEDIA,
    }


def errors_by_provider(measuring: Iterable[Sample]) -> dict[str, list[float]]:
    """Relative errors of the estimate as the package has it, smallest first."""
    errors: dict[str, list[float]] = defaultdict(list)
    for sample in measuring:
        request = sample.request
        result = package.estimate_input_tokens(
            request.messages, request.tools, sample.model, request.options
        )
        errors[sample.provider].append(abs(result / sample.tokens - 1))
    return {provider: sorted(found) for provider, found in sorted(errors.items())}


def quantile(ordered: Sequence[float], part: float) -> float:
    return ordered[min(len(ordered) - 1, round(part * (len(ordered) - 1)))]


def write(learned: Mapping[str, object]) -> None:
    """One family or model a line, so that a new fit can be read as a difference."""
    parts = []
    for key, value in learned.items():
        match value:
            case list():
                lines = ",\n".join(f"    {json.dumps(item)}" for item in value)
                parts.append(f'  "{key}": [\n{lines}\n  ]')
            case dict() if key != "weights":
                lines = ",\n".join(f'    "{name}": {json.dumps(v)}' for name, v in value.items())
                parts.append(f'  "{key}": {{\n{lines}\n  }}')
            case _:
                parts.append(f'  "{key}": {json.dumps(value)}')
    TARGET.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--write", action="store_true", help="keep the coefficients")
    parser.add_argument("--swap", action="store_true", help="learn on the other half")
    options = parser.parse_args()
    from interlingua.profiles.estimate import estimator

    every = list(samples())
    learning = [s for s in every if is_for_learning(s.source) != options.swap]
    measuring = [
        s for s in every if is_for_learning(s.source) == options.swap and s.tokens >= LARGE
    ]
    learned = learn(learning)
    before = TARGET.read_text(encoding="utf-8") if TARGET.exists() else None
    write(learned)
    for memory in (estimator.load, estimator.family_of, estimator.coefficients_of):
        memory.cache_clear()
    try:
        print(f"learned from {len(learning)} prompts, measured on {len(measuring)}")
        print(f"{'provider':16}{'prompts':>8}{'median':>9}{'p90':>9}")
        for provider, errors in errors_by_provider(measuring).items():
            middle, high = quantile(errors, 0.5), quantile(errors, 0.9)
            print(f"{provider:16}{len(errors):8}{middle:9.1%}{high:9.1%}")
    finally:
        if before is not None and not options.write:
            TARGET.write_text(before, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
