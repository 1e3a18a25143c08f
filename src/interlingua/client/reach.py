"""Which models can be asked now: those of providers with a key, and those that a server without one
says it has.

A server of the user's own (an Ollama, say) is there or not, and has what was put there; it is asked
for its list, with little patience, and its answer is remembered for a moment.
"""

from __future__ import annotations

import http.client
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

import msgspec

from interlingua.client.targets import AGENT, LOCAL, Targets
from interlingua.errors import InterlinguaError
from interlingua.models.capabilities import known_models
from interlingua.providers.credentials import AuthorisedRequest, authorise, credentials
from interlingua.providers.endpoint import endpoint
from interlingua.providers.provider import Provider

PATIENCE = 0.5
"""Seconds that a server has for each step of its answer."""
REMEMBERED = 10.0
MOST_BYTES = 4 << 20

Reached = Mapping[str, tuple[str, ...] | None]
"""Provider to the names that its server says it has; None where it has all that we know of."""
_told: dict[tuple[str, int], tuple[float, tuple[str, ...] | None]] = {}


def askable(targets: Targets) -> list[str]:
    """Ids of models that can be asked now, those of our lists first."""
    return of_reachable(reachable(targets), known_models())


def of_reachable(there: Reached, known: Iterable[str]) -> list[str]:
    """Those of the known ids whose provider has them, and what servers say themselves."""
    ours = [id for id in known if there.get(id.partition(":")[0], ()) is None]
    return [*ours, *[f"{key}:{name}" for key, names in there.items() for name in names or ()]]


def reachable(targets: Targets) -> Reached:
    """The providers that can be asked now."""
    found: dict[str, tuple[str, ...] | None] = {}
    asked: dict[str, AuthorisedRequest] = {}
    for key, provider in targets.providers.items():
        if _runs_here(provider) and not callable(targets.place(key)):
            place = _list_of(targets, provider)
            if place is not None:
                asked[key] = place
        elif _can_be_asked(targets, provider):
            found[key] = None
    if asked:
        with ThreadPoolExecutor(len(asked)) as threads:
            told = zip(asked, threads.map(_names, asked.values()), strict=True)
            found |= {key: names for key, names in told if names is not None}
    return found


def _runs_here(provider: Provider) -> bool:
    """Whether it is a server that anybody may run, and that wants no key."""
    return provider.key != LOCAL and any(
        auth.optional or auth.style == "none" for auth in provider.auth
    )


def _can_be_asked(targets: Targets, provider: Provider) -> bool:
    """Whether everything is there that has to be given, as far as that shows without asking."""
    key = provider.key
    if targets.place(key) is not None or targets.key(key) is not None:
        return True
    if key == LOCAL and not targets.base_url(provider):
        return find_spec("xllamacpp") is not None
    try:
        credentials(provider, targets.environ)
        endpoint(f"{key}:x", environ=targets.environ, provider=provider)
    except InterlinguaError:
        return False
    return True


def _list_of(targets: Targets, provider: Provider) -> AuthorisedRequest | None:
    """Where a server has the list of its models."""
    place = targets.place(provider.key)
    base_url = place if isinstance(place, str) else None
    id, environ = f"{provider.key}:x", targets.environ
    try:
        known = credentials(provider, environ, targets.key(provider.key))
        where = endpoint(id, "models", environ=environ, provider=provider, base_url=base_url)
        return authorise(where, provider, known)
    except InterlinguaError:
        return None


def _names(ready: AuthorisedRequest) -> tuple[str, ...] | None:
    """What a server says it has; None where none answers."""
    which = (ready.url, hash(tuple(sorted(ready.headers.items()))))
    at, names = _told.get(which, (-REMEMBERED, None))
    if time.monotonic() - at >= REMEMBERED:
        names = _asked(ready)
        _told[which] = (time.monotonic(), names)
    return names


def _asked(ready: AuthorisedRequest) -> tuple[str, ...] | None:
    place = urlsplit(ready.url)
    is_secure = place.scheme == "https"
    connection = http.client.HTTPSConnection if is_secure else http.client.HTTPConnection
    way = connection(place.netloc, timeout=PATIENCE)
    try:
        way.request("GET", place.path, headers={"user-agent": AGENT, **ready.headers})
        reply = way.getresponse()
        body = reply.read(MOST_BYTES)
        return _read(body) if reply.status == 200 else None
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        way.close()


def _read(body: bytes) -> tuple[str, ...] | None:
    """The names in a list, as Ollama (`models`) or OpenAI (`data`) has it."""
    try:
        said = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return None
    entries: Any = said.get("models") or said.get("data") if isinstance(said, dict) else None
    if not isinstance(entries, list):
        return None if entries is not None else ()
    named = [each.get("model") or each.get("id") for each in entries if isinstance(each, dict)]
    return tuple(dict.fromkeys([each for each in named if isinstance(each, str) and each]))
