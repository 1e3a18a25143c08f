"""Asking a provider about its own models: its list, as rules (`profiles/provider_lists.py`)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import msgspec

from interlingua.client.targets import AGENT
from interlingua.client.transport import (
    HttpRequest,
    HttpTransport,
    Limits,
    TooLarge,
    Transport,
    TransportError,
)
from interlingua.errors import InterlinguaError
from interlingua.profiles.profile import Rule
from interlingua.profiles.provider_lists import LISTS, rules_from_list
from interlingua.providers.credentials import authorise, credentials
from interlingua.providers.endpoint import endpoint
from interlingua.providers.provider import Provider

MOST_BYTES = 32 * 2**20
MOST_PAGES = 100
_ONE_BY_ONE = frozenset({"ollama"})
"""Providers that describe their models one by one."""
_FIRST = {"anthropic": "limit=1000", "gemini": "pageSize=1000"}


class RefreshError(InterlinguaError):
    """A provider's list of models cannot be read."""

    def __init__(self, provider: str, problem: str) -> None:
        self.provider = provider
        self.problem = problem
        super().__init__(f"provider {provider!r}: {problem}")


async def listed_rules(
    provider: Provider, environ: Mapping[str, str] | None = None, transport: Transport | None = None
) -> list[Rule]:
    """The rules in a provider's present list of models."""
    if provider.key not in LISTS:
        known = ", ".join(sorted(LISTS))
        problem = f"its model list has only names; these have more: {known}"
        raise RefreshError(provider.key, problem)
    own = transport or HttpTransport()
    try:
        reader = _ListReader(provider, os.environ if environ is None else environ, own)
        entries = await reader.entries()
    finally:
        if transport is None:
            await own.close()
    return rules_from_list(provider.key, entries, datetime.now(UTC).date().isoformat())


class _ListReader:
    """One provider, and the way to it."""

    def __init__(
        self, provider: Provider, environ: Mapping[str, str], transport: Transport
    ) -> None:
        self._provider = provider
        self._transport = transport
        self._known = credentials(provider, environ)
        self._place = endpoint(f"{provider.key}:x", "models", environ=environ, provider=provider)

    async def entries(self) -> list[Any]:
        """The whole list, page by page."""
        key, found = self._provider.key, []
        query: str | None = _FIRST.get(key, "")
        for _ in range(MOST_PAGES):
            url = f"{self._place.url}?{query}" if query else self._place.url
            page = await self._get(url)
            entries = page.get(LISTS[key].key)
            if not isinstance(entries, list):
                raise RefreshError(key, f"no list {LISTS[key].key!r} in the answer")
            found += entries
            query = _next(key, page)
            if query is None:
                break
        return [await self._shown(entry) for entry in found] if key in _ONE_BY_ONE else found

    async def _shown(self, entry: Any) -> Any:
        """Ollama describes its models one by one."""
        name = entry.get("model") or entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(name, str):
            return entry
        url = self._place.url.removesuffix("/api/tags") + "/api/show"
        return {**entry, **await self._ask(url, "POST", msgspec.json.encode({"model": name}))}

    async def _get(self, url: str) -> dict[str, Any]:
        return await self._ask(url, "GET", b"")

    async def _ask(self, url: str, method: str, body: bytes) -> dict[str, Any]:
        place = msgspec.structs.replace(self._place, url=url, method=method)
        ready = authorise(place, self._provider, self._known, body)
        headers = {"user-agent": AGENT, "accept-encoding": "gzip, deflate", **ready.headers}
        if body:
            headers["content-type"] = "application/json"
        request = HttpRequest(ready.url, headers, body, method=method)
        try:
            return self._read(*await self._whole(request))
        except TransportError as error:
            raise self._problem(f"request failed: {error.problem}") from None
        except TooLarge:
            raise self._problem(f"response too large: more than {MOST_BYTES} bytes") from None

    async def _whole(self, request: HttpRequest) -> tuple[int, bytes]:
        reply = await self._transport.send(request, Limits(10, 30, 30, 60))
        try:
            return reply.status, await reply.body(MOST_BYTES)
        finally:
            reply.close()

    def _read(self, status: int, body: bytes) -> dict[str, Any]:
        if status != 200:
            text = body[:300].decode("utf-8", "replace").strip()
            raise self._problem(f"answered with status {status}: {text}")
        try:
            page = msgspec.json.decode(body)
        except msgspec.DecodeError as error:
            raise self._problem(f"the response is not JSON: {error}") from None
        if not isinstance(page, dict):
            raise self._problem("the response is not a JSON object")
        return page

    def _problem(self, problem: str) -> RefreshError:
        return RefreshError(self._provider.key, problem)


def _next(provider: str, page: dict[str, Any]) -> str | None:
    """The query for the next page; None at the end."""
    following = _FOLLOWING.get(provider)
    return None if following is None else following(page)


def _after_id(page: dict[str, Any]) -> str | None:
    last = page.get("last_id")
    if page.get("has_more") is not True or not isinstance(last, str) or not last:
        return None
    return f"limit=1000&after_id={quote(last, safe='')}"


def _page_token(page: dict[str, Any]) -> str | None:
    token = page.get("nextPageToken")
    if not isinstance(token, str) or not token:
        return None
    return f"pageSize=1000&pageToken={quote(token, safe='')}"


_FOLLOWING = {"anthropic": _after_id, "gemini": _page_token}
