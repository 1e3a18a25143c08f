"""L15, incremental = whole: a converter that remembers gives what one that does not would give.

`python -m tests.laws.incremental [--every N]` runs it over recorded requests, to every dialect:
turn by turn, with edits, forks, moved cache marks and evictions in between."""

from __future__ import annotations

import argparse
import copy
import random
from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

import interlingua as il
from interlingua.adapt.converter import Converter
from interlingua.profiles.profile import Profile, bundled
from tests.laws.corpus import Record, records

TARGETS = tuple(il.dialects())
MARKED = ("anthropic", "bedrock", "openrouter")
MODELS = {
    "anthropic": ("anthropic:claude-opus-4-6", "anthropic:claude-haiku-4-5"),
    "bedrock": ("bedrock:anthropic.claude-sonnet-4-5-20250929-v1:0",),
    "gemini": ("gemini:gemini-3.1-pro", "gemini:gemini-2.5-flash"),
    "ollama": ("ollama:llama3.2",),
    "openai-chat": ("openai:gpt-5", "mistral:mistral-large-latest", "deepseek:deepseek-chat"),
    "openai-responses": ("openai:gpt-5", "openai:gpt-4.1"),
    "openrouter": ("openrouter:anthropic/claude-sonnet-4.5",),
}
"""Models whose rules change requests."""
MARK = {"type": "ephemeral"}


def bodies(request: Any, key: str, rng: random.Random) -> Iterator[Any]:
    """A conversation as it is sent turn by turn, and what else may come of it."""
    messages = request[key]
    at = sorted(rng.sample(range(1, len(messages) + 1), min(len(messages), 4)))
    for count in at:
        yield {**request, key: messages[:count]}
        if rng.random() < 0.3:
            yield {**request, key: _marked(messages[:count])}
    yield request
    yield {**request, key: _edited(messages, rng)}
    yield {**request, key: [*messages[: at[0]], *messages[at[-1] :]]}
    yield {**request, key: [*messages, copy.deepcopy(messages[rng.randrange(len(messages))])]}
    if request.get("tools"):
        yield {**request, "tools": request["tools"][:-1]}
    yield request


def _marked(messages: list[Any]) -> list[Any]:
    """The same with a cache mark on the last part, as agents move it from turn to turn."""
    marked = copy.deepcopy(messages)
    last = marked[-1]
    if isinstance(last, dict) and isinstance(last.get("content"), str) and last["content"]:
        last["content"] = [{"type": "text", "text": last["content"], "cache_control": MARK}]
    elif isinstance(last, dict) and isinstance(last.get("content"), list):
        for part in last["content"][-1:]:
            if isinstance(part, dict):
                part["cache_control"] = MARK
    return marked


def _edited(messages: list[Any], rng: random.Random) -> list[Any]:
    edited = copy.deepcopy(messages)
    place = rng.randrange(len(edited))
    if isinstance(edited[place], dict):
        edited[place] = {**edited[place], "content": "Something else."}
    return edited


def result(convert: Any, *args: Any) -> Any:
    """All that a conversion gives, or its error."""
    try:
        written = convert(*args)
    except il.InterlinguaError as error:
        return type(error), str(error)
    losses = [msgspec.structs.astuple(loss) for loss in written.report.entries]
    adapter = repr(written.answer_adapter)
    return written.json(), written.wire, losses, written.model, written.stream, adapter


def _marking(target: str) -> Profile:
    """The rules of a model that is cached up to breakpoints, without a least length."""
    profile = bundled().of("claude-sonnet-4-5", None, target)
    assert profile is not None
    return replace(profile, limits=replace(profile.limits, cache_min=1))


class Check:
    """Conversions of one source to one target, both ways. With `marks` breakpoints for the prompt
    cache are added behind every turn that may have one, however short."""

    def __init__(
        self,
        source: str,
        target: str,
        max_bytes: int = 2**24,
        marks: bool = False,
        model: str | None = None,
    ) -> None:
        self.source, self.target = source, target
        self.how: dict[str, Any] = {"caching": "auto", "profile": _marking(target)} if marks else {}
        self.how["model"] = model
        self.converter = Converter(source, target, max_bytes=max_bytes, **self.how)
        self.converter._conversations.least = 0
        self.count = 0

    def both(self, body: bytes) -> tuple[Any, Any]:
        self.count += 1
        whole = result(partial(il.convert, **self.how), body, self.source, self.target)
        return result(self.converter.convert, body), whole

    def require(self, body: bytes, what: str = "") -> None:
        remembered, whole = self.both(body)
        assert remembered == whole, f"{what}: {self.source} to {self.target}\n{body[:2000]!r}"


def conversations_in(every: int = 1, folder: Any = None) -> Iterator[tuple[Record, str]]:
    """Recorded requests with several messages."""
    for number, record in enumerate(records(folder=folder)):
        key = il.dialect(record.dialect or "").traits.messages
        request = record.request
        if number % every == 0 and isinstance(request, dict):
            listed = request.get(key)
            if isinstance(listed, list) and len(listed) > 1:
                yield record, key


def check_record(record: Record, key: str, targets: tuple[str, ...] = TARGETS) -> tuple[int, int]:
    """How many bodies were converted, and how many of them with something remembered."""
    rng = random.Random(record.id)
    sent = [msgspec.json.encode(body) for body in bodies(record.request, key, rng)]
    count = hits = 0
    for target in targets:
        small = max(map(len, sent)) * 12 if rng.random() < 0.2 else 2**24
        marks = target in MARKED and rng.random() < 0.5
        model = rng.choice((None, *MODELS.get(target, ())))
        check = Check(record.dialect or "", target, small, marks, model)
        for body in sent:
            check.require(body, str(record))
            if rng.random() < 0.05:
                check.converter.clear()
        count += check.count
        hits += check.converter.figures.hits
    return count, hits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="one of so many records")
    count = hits = number = 0
    for record, key in conversations_in(parser.parse_args().every):
        number += 1
        converted, remembered = check_record(record, key)
        count, hits = count + converted, hits + remembered
    print(f"{number} conversations, {count} bodies, {hits} with something remembered: all equal")


if __name__ == "__main__":
    main()
