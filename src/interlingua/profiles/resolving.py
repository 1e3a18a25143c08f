"""From what people call a model to its id: the one place where names are resolved.

`sonnet` is an alias, `openai:gpt-5` an id, `openai/gpt-5` the same id as others write it, and
`gpt-5` a name that one provider has. Clients, sessions, the gateway and the command line all ask
here, so a name means the same everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from functools import cache, cached_property

import msgspec

from interlingua.profiles.names import (
    NEWEST,
    AmbiguousModelError,
    UnknownModelError,
    Version,
    has_vendor,
    name_parts,
    spellings,
    unknown,
)
from interlingua.profiles.reading import data_file


def aliases() -> dict[str, str]:
    """Short name to model id, as the package has them."""
    return dict(_load())


@cache
def _load() -> dict[str, str]:
    return msgspec.json.decode(data_file("aliases.json"), type=dict[str, str])


HOSTS = frozenset(
    {"azure", "bedrock", "cerebras", "fireworks", "groq", "ollama", "openrouter", "together"}
    | {"vertex"}
)
"""Providers that serve models of other makers: a name that its maker has too is the maker's."""
_MARK = re.compile("[:/]")
_TAG = re.compile(r"latest|\d+(\.\d+)?b\b.*")
"""Tags of Ollama: a size, or the newest."""
_NEW = "; write a newer model as <provider>:<name>"

HOST = "bedrock"
"""The services that put the vendor into a model's name."""


class Names:
    """Model ids by their names. `providers` are allowed prefixes besides those of the ids."""

    def __init__(self, ids: Iterable[str], providers: Collection[str] = ()) -> None:
        self._ids = dict.fromkeys(ids)
        self.providers = {id.partition(":")[0] for id in self._ids}.union(providers)

    def find(self, name: str, first: str | None = None) -> str | None:
        """The id for a name, or None. Names of the provider `first` take precedence.
        `AmbiguousModelError` if several providers have it and none of them made it."""
        name = name.removeprefix("models/")  # as Gemini's own list has them
        exact = self._exact(name)
        whole = self._with_provider(name, exact, first)
        if whole is not None:
            return whole
        found = exact or self._alike(name)
        chosen = _chosen(found, first)
        if chosen is None and found:
            raise AmbiguousModelError(name, list(found.values()))
        return chosen or self._newer(name)

    def _with_provider(self, name: str, exact: Mapping[str, str], first: str | None) -> str | None:
        """The id of a name that begins with a provider, and is not another one's whole name: hosts
        have names such as `openai/gpt-oss-120b`, and tags such as `mistral:7b`."""
        mark = _MARK.search(name)
        if mark is None or name[: mark.start()] not in self.providers:
            return None
        provider, rest = name[: mark.start()], name[mark.end() :]
        known = self._exact(rest).get(provider) or self._alike(rest).get(provider)
        if mark[0] == ":":
            is_tag = known is None and first in exact and _TAG.fullmatch(rest) is not None
            return None if is_tag else name
        if known is not None:
            return known
        return None if exact or not rest else f"{provider}:{rest}"

    def _exact(self, name: str) -> dict[str, str]:
        """Provider to id, of those with exactly this name, or with an edition or a tag of it."""
        for spelling in (*spellings(name), name.partition(":")[0]):
            if found := self._by_name.get(spelling):
                return {provider: f"{provider}:{name}" for provider in found}
        return {}

    def _alike(self, name: str) -> dict[str, str]:
        """The same, for names that are spelled otherwise, or have a stage or a date as well."""
        found = self._by_reduced.get(name_parts(name).name, {}) if _is_plain(name) else {}
        if has_vendor(name):  # a region that is not listed
            return {HOST: f"{HOST}:{name}"} if HOST in found else {}
        return {each: _respelled(each, listed, name) for each, listed in found.items()}

    def _newer(self, name: str) -> str | None:
        """Resolves an unlisted version to the provider that makes its family."""
        parts = name_parts(name)
        newest = self._newest.get(parts.family, {})
        if parts.version is None or len(newest) != 1 or not _is_plain(name):
            return None
        ((maker, known),) = newest.items()
        return f"{maker}:{name}" if parts.version > known else None

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        """Name to the providers that have it."""
        found: dict[str, list[str]] = {}
        for id in self._ids:
            provider, _, name = id.partition(":")
            found.setdefault(name, []).append(provider)
        return found

    @cached_property
    def _by_reduced(self) -> dict[str, dict[str, str]]:
        """Reduced name to each provider's name of the model."""
        found: dict[str, dict[str, str]] = {}
        for id in self._ids:
            provider, _, name = id.partition(":")
            found.setdefault(name_parts(name).name, {}).setdefault(provider, name)
        return found

    @cached_property
    def _newest(self) -> dict[str, dict[str, Version]]:
        """Family to its maker, and the newest version that the maker has."""
        found: dict[str, dict[str, Version]] = {}
        for id in self._ids:
            provider, _, name = id.partition(":")
            parts = name_parts(name)
            if provider not in HOSTS and parts.version not in (None, NEWEST):
                versions = found.setdefault(parts.family, {})
                versions[provider] = max(parts.version, versions.get(provider, (0, 0)))
        return found


def resolve(
    name: str,
    own: Mapping[str, str] | None = None,
    providers: Collection[str] = (),
    first: str | None = None,
) -> str:
    """The model id for a name: an alias (the user's `own` before ours), a name that one provider
    has, or the id itself. `providers` are known besides those of the package; the names of the
    provider `first` come before our aliases.

    A name that no provider has is an `UnknownModelError` with those that come near, one that
    several have an `AmbiguousModelError` with theirs."""
    if own and name in own:
        return resolve(own[name], None, providers, first)
    short = aliases()
    if first is None and name in short:
        return short[name]
    names = known_names(tuple(providers))
    is_own = first in names._exact(name)
    found = short[name] if name in short and not is_own else names.find(name, first)
    if found is not None:
        return found
    if ":" in name:
        return name  # an unknown provider: reported when it is used
    raise _no_model(name, own or {})


def _no_model(name: str, own: Iterable[str]) -> UnknownModelError:
    from interlingua.profiles.capabilities import embedding_models, known_models

    return unknown(name, None, (*own, *aliases(), *embedding_models(), *known_models()), _NEW)


@cache
def known_names(providers: tuple[str, ...] = ()) -> Names:
    """Every model of our lists, under every name that they have for it."""
    from interlingua.profiles.capabilities import known_ids
    from interlingua.profiles.capabilities import providers as known_providers

    return Names(known_ids(), (*known_providers(), *providers))


def _chosen(found: Mapping[str, str], first: str | None) -> str | None:
    """The one that is meant: the only one, that of `first`, or its maker's."""
    if first is not None and first in found:
        return found[first]
    makers = [id for provider, id in found.items() if provider not in HOSTS]
    if len(makers) == 1:
        return makers[0]
    return next(iter(found.values())) if len(found) == 1 else None


def _is_plain(name: str) -> bool:
    """Whether a name is that of a model alone, without a provider before it: `acme:gpt-5` is an id
    of a provider that is not known here. A tag, an edition of Bedrock's (`-v1:0`) and OpenAI's own
    form for fine-tuned models are parts of a name."""
    before = name.removeprefix("ft:").partition(":")[0]
    return "/" not in name and name_parts(before).name == name_parts(name).name


def _respelled(provider: str, listed: str, name: str) -> str:
    """The id for a name that nearly matches the listed one. An additional date or stage in the name
    is kept; otherwise the spelling of the host's list is used."""
    same = name.lower().replace(".", "-") == listed.lower().replace(".", "-")
    return f"{provider}:{listed if same or provider in HOSTS else name}"
