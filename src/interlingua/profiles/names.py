"""Names of models: `<provider>:<name>`, and how a name on a wire finds its entry in a table.

The name may itself hold colons, slashes and dots (`openrouter:deepseek/deepseek-r1`,
`bedrock:us.anthropic.claude-sonnet-4-6`): the first colon ends the provider.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property, lru_cache
from typing import NamedTuple

from interlingua.errors import InterlinguaError
from interlingua.profiles.families import NameParts, name_parts

# A date at the end names one edition of a model: claude-haiku-4-5-20251001, gpt-5-2025-08-07,
# claude-sonnet-4-5@20250929 (Vertex), @default (Vertex, any edition).
_EDITION = re.compile(r"(-20\d{6}|-20\d\d-\d\d-\d\d|@20\d{6}|@default)$")


LONGEST = 200
"""Letters of a name that are shown."""


class UnknownModelError(InterlinguaError):
    """A model that a table does not have, or that does not exist anywhere (`where` is None); `near`
    are ids that look like it."""

    def __init__(
        self, model: str, where: str | None, near: list[str] | None = None, hint: str = ""
    ) -> None:
        self.model = model
        self.where = where
        self.near = near or []
        shown = model if len(model) <= LONGEST else f"{model[:LONGEST]}…"
        place = "" if where is None else f" in {where}"
        meant = f"; near: {', '.join(self.near)}" if self.near else ""
        super().__init__(f"unknown model {shown!r}{place}{meant}{hint}")


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
        """The id of a model's entry. Without `variants`, what stands behind a colon (`:free`) must
        be there as it is: it is the same model, but not at the same price."""
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
        """Names by provider and reduced name; a name with a variant stands for itself alone."""
        found: dict[tuple[str, str], list[str]] = {}
        for known in self._names:
            provider, _, name = known.partition(":")
            parts: NameParts = name_parts(name)
            if parts.variant is None:
                found.setdefault((provider, parts.name), []).append(name)
        return found


def _is_global(name: str) -> bool:
    """Bedrock asks another price for a model that may run anywhere."""
    return name.startswith("global.")


def resolved(model: str) -> str:
    """The id for a name without a provider, or an alias; any other name as it is."""
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
    """A few of the known ids and aliases that look like a name: by their own names, where it says
    no provider."""
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
