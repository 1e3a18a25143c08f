"""Names of models: `<provider>:<name>`, the entry of a wire's name in a table, and names without
the additions of each provider.

The name may itself hold colons, slashes and dots (`openrouter:deepseek/deepseek-r1`,
`bedrock:us.anthropic.claude-sonnet-4-6`): the first colon ends the provider. One function takes it
apart for prices, capabilities and profiles, so that they cannot disagree about which model is
meant: `us.anthropic.claude-sonnet-4-5-20250929-v1:0`, `anthropic/claude-sonnet-4.5:beta` and
`claude-sonnet-4-5@20250929` are all `claude-sonnet-4-5`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

from interlingua.errors import InterlinguaError

Version = tuple[int, int]
NEWEST: Version = (999, 0)
"""The version of a name with `latest` and no number."""

# Vendors as Bedrock writes them before a dot (botocore 1.44 and its model list, read 2026-11).
_VENDOR = re.compile(
    r"^(?:[a-z]{2,6}(?:-[a-z]+)?\.)?"  # a region: us., eu., apac., global., us-gov.
    r"(ai21|amazon|anthropic|cohere|deepseek|google|luma|meta|minimax|mistral|moonshot|moonshotai"
    r"|nvidia|openai|qwen|stability|twelvelabs|writer|xai|zai)\."
)
_BEDROCK_EDITION = re.compile(r"(-v\d+(:\d+)?|-\d+:\d+)(:\d+k|:mm)?$")
_DATE = re.compile(r"-(20\d{6}|20\d\d-\d\d-\d\d|\d\d-20\d\d|\d\d-\d\d)(?=-|$)")
_STAGE = re.compile(r"-(latest|preview|exp|experimental|beta|stable|0\d\d|\d\d-\d\d)$")
_SNAPSHOT = re.compile(r"((?:gpt|grok)-.+)-\d{4}")
"""gpt-4-0613, grok-4-0709: a day of the year. Elsewhere four digits are part of the model's
name."""
_LONE_VERSION = re.compile(r"[vr]\d")
_NUMBER = re.compile(r"\d{1,2}")
_LETTER_NUMBER = re.compile(r"([a-z]?)(\d{1,2})([a-z]?)")
_FAMILY = re.compile(r"([a-z]+)(\d{1,2})?")

_TWO_WORDS = {("gpt", "oss"): "gpt-oss"}
_SAME = {"chatgpt": "gpt"}
_TWO_DIGITS = {"claude", "gpt"}
"""Written without a dot at some hosts: gpt-35-turbo is 3.5, claude-opus-41 is 4.1."""


class NameParts(NamedTuple):
    """The parts of a model's name."""

    name: str
    """Without region, vendor, date and variant, dots written as dashes."""
    family: str
    """`claude`, `gpt`, `o`, `gemini`, `nova`, …: the first word of the name."""
    version: Version | None
    words: frozenset[str]
    """The other words of the name: `opus`, `mini`, `flash`, `lite`."""
    variant: str | None = None
    """The suffix after a colon (`free`, an Ollama tag): the same model, at another price."""


@lru_cache(4096)
def name_parts(name: str) -> NameParts:
    """The parts of a model's name. `name` has no provider in front of it."""
    bare, variant = _bare(name.strip().lower())
    short = _undated(bare)
    family, version, words = _parts(short.replace(".", "-").split("-"))
    if version is None and "latest" in bare.split("-"):
        version, short = NEWEST, f"{short}-latest"  # gemini-pro was another model
    return NameParts(short.replace(".", "-"), family, version, words, variant)


def has_vendor(name: str) -> bool:
    """Whether a name is spelled as Bedrock does it, the vendor before a dot."""
    return _VENDOR.match(name.lower()) is not None


def _bare(name: str) -> tuple[str, str | None]:
    """Without path, region, vendor and edition, and the suffix after a colon."""
    name = name.removeprefix("ft:").partition("@")[0].rpartition("/")[2].lstrip("~")
    vendor = _VENDOR.match(name)
    if vendor:
        name = _BEDROCK_EDITION.sub("", name[vendor.end() :])
        if _LONE_VERSION.match(name):  # deepseek.v3.1, deepseek.r1-v1:0
            name = f"{vendor[1]}-{name}"
    name, _, variant = name.partition(":")
    return name, variant or None


def _undated(name: str) -> str:
    """Without dates and stages of a model's editions."""
    snapshot = _SNAPSHOT.fullmatch(name)
    name, before = snapshot[1] if snapshot else name, None
    while before != name:
        before = name
        name = _STAGE.sub("", _DATE.sub("", name)) or name
    return name


def _parts(words: list[str]) -> tuple[str, Version | None, frozenset[str]]:
    first = _FAMILY.fullmatch(words[0])
    if first is None:
        return words[0], None, frozenset(words[1:])
    family, rest = _SAME.get(first[1], first[1]), words[1:]
    if rest and (family, rest[0]) in _TWO_WORDS:
        family, rest = _TWO_WORDS[family, rest[0]], rest[1:]
    if first[2]:  # o3, llama3-1, qwen2-5
        minor = rest[0] if rest and _NUMBER.fullmatch(rest[0]) else None
        return family, (int(first[2]), int(minor or 0)), frozenset(rest[minor is not None :])
    version, words_left = _version(rest)
    if version and family in _TWO_DIGITS and version[0] > 9:
        version = divmod(version[0], 10)
    return family, version, words_left


def _version(words: list[str]) -> tuple[Version | None, frozenset[str]]:
    """The first number among the words, and the next word if it is a number, too."""
    for index, word in enumerate(words):
        number = _LETTER_NUMBER.fullmatch(word)
        if number is None or number[3] in ("b", "k", "m", "e"):  # 8b, 32k: sizes
            continue
        left, right = words[:index], words[index + 1 :]
        if number[1] or number[3]:  # v4, k2, r1; 4o
            left = [*left, word]
        minor = 0
        if right and _NUMBER.fullmatch(right[0]):
            minor, right = int(right[0]), right[1:]
        return (int(number[2]), minor), frozenset([*left, *right])
    return None, frozenset(words)


# A date at the end names one edition of a model: claude-haiku-4-5-20251001, gpt-5-2025-08-07,
# claude-sonnet-4-5@20250929 (Vertex), @default (Vertex, any edition).
_EDITION = re.compile(r"(-20\d{6}|-20\d\d-\d\d-\d\d|@20\d{6}|@default)$")


LONGEST = 200
"""Letters of a name that are shown."""


class UnknownModelError(InterlinguaError):
    """A model that a table does not have, or that does not exist anywhere (`where` is None); `near`
    are similar ids."""

    def __init__(
        self, model: str, where: str | None, near: list[str] | None = None, hint: str = ""
    ) -> None:
        self.model = model
        self.where = where
        self.near = near or []
        self._hint = hint
        shown = model if len(model) <= LONGEST else f"{model[:LONGEST]}…"
        place = "" if where is None else f" in {where}"
        meant = f"; near: {', '.join(self.near)}" if self.near else ""
        super().__init__(f"unknown model {shown!r}{place}{meant}{hint}")

    def with_near(self, names: Sequence[str]) -> UnknownModelError:
        """The same error with these names first among the similar ones."""
        near = list(dict.fromkeys([*names, *self.near]))[:3]
        return UnknownModelError(self.model, self.where, near, self._hint)


class AmbiguousModelError(UnknownModelError):
    """A name that several providers have; `near` are the ids of theirs."""

    def __init__(self, model: str, near: list[str]) -> None:
        super().__init__(model, None, near)
        self.args = (f"several providers have {model!r}; choose one: {' or '.join(near)}",)


class ModelName(NamedTuple):
    """The two parts of a model id."""

    provider: str
    name: str

    def __str__(self) -> str:
        return f"{self.provider}:{self.name}"


def model_name(model: str) -> ModelName:
    """`<provider>:<name>` in its parts; ValueError where one is missing."""
    provider, colon, name = model.partition(":")
    if not colon or not provider or not name or "/" in provider:
        raise ValueError(f"a model id is <provider>:<name>, found {model!r}")
    return ModelName(provider, name)


def spellings(model: str) -> Iterator[str]:
    """Ids under which a table may have this model, `id` itself first.

    An edition is priced and able like its model unless a table has an entry of its own for it. An
    Ollama tag is a size or a quantisation of the same weights; models that Ollama runs elsewhere
    (`-cloud`) are not, and have to be named exactly."""
    yield model
    undated = _EDITION.sub("", model)
    if undated != model:
        yield undated
    if model.startswith("ollama:") and model.count(":") == 2 and not model.endswith("cloud"):
        yield model.rpartition(":")[0]


class KnownNames:
    """The names of a table's models, and how an unlisted edition, region or spelling finds its
    entry."""

    def __init__(self, names: Mapping[str, str]) -> None:
        """`names` is `<provider>:<name>` to the id of an entry."""
        self._names = names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def find(self, model: str, variants: bool = True) -> str | None:
        """The id of a model's entry. Without `variants`, a suffix after a colon (`:free`) has to
        match: it is the same model, but not at the same price."""
        for spelling in spellings(model):
            if spelling in self._names:
                return self._names[spelling]
        provider, _, name = model.partition(":")
        parts = name_parts(name)
        if parts.variant is not None and not variants:
            return None
        near = self._reduced.get((provider, parts.name), ())
        same = [each for each in near if _is_global(each) == _is_global(name)]
        return self._names[f"{provider}:{(same or near)[0]}"] if near else None

    @cached_property
    def _reduced(self) -> dict[tuple[str, str], list[str]]:
        """Names by provider and reduced name; a name with a variant stands only for itself."""
        found: dict[tuple[str, str], list[str]] = {}
        for known in self._names:
            provider, _, name = known.partition(":")
            parts: NameParts = name_parts(name)
            if parts.variant is None:
                found.setdefault((provider, parts.name), []).append(name)
        return found


def _is_global(name: str) -> bool:
    """Bedrock has another price for a model that may run anywhere."""
    return name.startswith("global.")


def resolved(model: str) -> str:
    """The id for a name without a provider, or an alias; any other name unchanged."""
    from interlingua.profiles.resolving import resolve

    if ":" in model:
        return model
    try:
        return resolve(model)
    except AmbiguousModelError:
        raise
    except UnknownModelError:
        return model


def unknown(
    model: str, where: str | None, known: Collection[str], hint: str = ""
) -> UnknownModelError:
    """The error for a model that is not there, with a few that look like it."""
    return UnknownModelError(model, where, nearest(model, known), hint)


def nearest(model: str, known: Collection[str]) -> list[str]:
    """A few of the known ids and aliases with similar names; only the names are compared if the
    provider is missing."""
    return list(_nearest(model, tuple(known)))


@lru_cache(maxsize=64)  # looked for with every answer of a model that has no price
def _nearest(model: str, known: tuple[str, ...]) -> tuple[str, ...]:
    from difflib import get_close_matches

    named: dict[str, str] = {}
    for id in known:
        named.setdefault(id if ":" in model else id.partition(":")[2] or id, id)
    near = sorted(id for id in known if id.partition(":")[2] == model)
    query = model[:LONGEST].lower()
    close = get_close_matches(query, named, n=3, cutoff=0.6)
    if not close:  # a family, perhaps: the last of a list are the newest
        families = get_close_matches(query, {name.partition("-")[0] for name in named}, n=1)
        close = [name for name in named if name.partition("-")[0] in families][:-4:-1]
    return tuple(dict.fromkeys([*near, *[named[each] for each in close]]))[:3]
