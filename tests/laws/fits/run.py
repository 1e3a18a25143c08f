"""Recorded requests, said to today's models: `python -m tests.laws.fits.run`.

Every recorded request that was answered is said to each of these models and judged by the checker,
which shares no code with what made it fit (L10). Prints how many would be refused, and by which
rule.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

import interlingua as il
from tests.laws import corpus
from tests.laws.corpus import Record
from tests.laws.fits import recorded, refusals

MODELS = (
    ("anthropic", "anthropic", "claude-opus-5-5"),
    ("anthropic", "anthropic", "claude-sonnet-5-5"),
    ("anthropic", "anthropic", "claude-haiku-5-5"),
    ("anthropic", "anthropic", "claude-fable-5-1"),
    ("anthropic", "anthropic", "claude-opus-4-6"),
    ("anthropic", "anthropic", "claude-sonnet-4-5"),
    ("openai", "openai-chat", "gpt-4o"),
    ("openai", "openai-chat", "gpt-5"),
    ("openai", "openai-responses", "gpt-5.6-terra"),
    ("openai", "openai-responses", "gpt-6.1-sol"),
    ("gemini", "gemini", "gemini-2.5-flash"),
    ("gemini", "gemini", "gemini-2.5-pro"),
    ("gemini", "gemini", "gemini-3.8-flash"),
    ("bedrock", "bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
    ("bedrock", "bedrock", "us.amazon.nova-2-lite-v1:0"),
    ("mistral", "openai-chat", "mistral-medium-3-5"),
    ("deepseek", "openai-chat", "deepseek-v4-pro"),
    ("xai", "openai-chat", "grok-4.7"),
)
LIMIT = 0.001


class Tally(NamedTuple):
    said: Counter[str]
    refused: dict[str, list[str]]


class Asked(NamedTuple):
    """A request that was made: a name for it, and the body in its dialect."""

    id: str
    dialect: str
    model: str | None
    body: Any


def asked_in(record: Record) -> Asked:
    assert record.dialect is not None
    return Asked(record.id, record.dialect, record.model, record.request)


def said(asked: Asked, provider: str, dialect: str, name: str) -> Any:
    """A request in the words of another model."""
    model = asked.model if asked.dialect in ("gemini", "bedrock") else None
    request = il.dialect(asked.dialect).read_request(asked.body, model)
    wire = il.dumps(request.replace(model=None))
    return il.convert(wire, "canonical", dialect, model=f"{provider}:{name}").wire


def examine(requests: Iterable[Asked], at_home: bool = False) -> Tally:
    """With `at_home`, models that speak a request's own dialect are asked too."""
    tally = Tally(Counter(), defaultdict(list))
    for asked in requests:
        for provider, dialect, name in MODELS:
            if dialect == asked.dialect and not at_home:
                continue
            tally.said[name] += 1
            wire = said(asked, provider, dialect, name)
            for refusal in {str(each) for each in refusals(provider, dialect, name, wire)}:
                tally.refused[name].append(f"{asked.id}: {refusal}")
    return tally


def told(tally: Tally, show: int) -> int:
    """Print how many would be refused, and say it."""
    every, refused = sum(tally.said.values()), 0
    for name, count in tally.said.items():
        bodies = {each.partition(":")[0] for each in tally.refused[name]}
        refused += len(bodies)
        print(f"{name:48} {count:6} said, {len(bodies):5} refused ({len(bodies) / count:.2%})")
        for each in tally.refused[name][:show]:
            print(f"    {each[:160]}")
    print(f"{every} said, {refused} refused ({refused / max(every, 1):.3%})")
    return refused


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="only every n-th request")
    parser.add_argument("--show", type=int, default=3)
    options = parser.parse_args(argv)
    if not corpus.corpus_folder().is_dir():
        print(f"no recorded traffic ({corpus.VARIABLE} or shared/corpus): nothing to examine")
        return 0
    tally = examine(map(asked_in, list(recorded.asked(200))[:: options.every]))
    refused = told(tally, options.show)
    return 1 if refused > LIMIT * sum(tally.said.values()) else 0


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)  # each loss is a line; a test that calls `main` keeps its log
    sys.exit(main())
