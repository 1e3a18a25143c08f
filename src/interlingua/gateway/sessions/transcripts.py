"""Sessions of coding agents on this machine, over HTTP: listed beside those of the store, and read.

Only the machine's own user sees them: on a gateway without keys, which listens on loopback. They
are found as `interlingua transcripts list` finds them; no path of a request is ever opened."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from interlingua import config
from interlingua.errors import InterlinguaError
from interlingua.gateway.sessions.live import plain
from interlingua.gateway.shared.bodies import number
from interlingua.gateway.shared.callers import ApiError, answer
from interlingua.gateway.shared.state import Principal
from interlingua.transcripts.exports import answers_of, totals_of
from interlingua.transcripts.format import Found, Skipped, formats, titles_of
from interlingua.transcripts.prices import Prices
from interlingua.transcripts.sessions import (
    Hit,
    Overviews,
    StoredOverview,
    agents,
    changed,
    here,
    hits_in,
    opened,
    overviews,
)

if TYPE_CHECKING:
    from interlingua.gateway.service import Service

PAGE, MOST = 200, 1000
MOST_MESSAGES = 20_000
MATCHES = 3
"""Places that a search shows of a session."""
LONGEST_SEARCH = 5.0
"""Seconds after which a search looks at no other session."""
LARGEST_SEARCHED = 64 * 1024 * 1024
"""Bytes of a file whose text is searched."""


async def listing(service: Service, request: Request, principal: Principal) -> Response:
    """The newest of them. A gateway with keys has none."""
    limit = number(request.query_params, "limit", PAGE, 1, MOST)
    rows = await asyncio.to_thread(_rows, limit) if may_read(service, principal) else []
    titles = await asyncio.to_thread(titles_of, sorted({row["source"] for row in rows}))
    return answer({"transcripts": rows, "tools": [*agents(), "chat"], "titles": titles})


async def show(service: Service, request: Request, principal: Principal) -> Response:
    """One of them whole, in canonical messages, with its totals."""
    agent, id = request.path_params["agent"], request.path_params["id"]
    return answer(await transcript(service, agent, id, principal))


def may_read(service: Service, principal: Principal) -> bool:
    """Whether they are shown: not to callers with a key, nor where the settings forbid it."""
    return principal.key_id is None and service.gateway.settings.transcripts


async def transcript(service: Service, agent: str, id: str, principal: Principal) -> dict[str, Any]:
    """One transcript; not found for callers who may not read any."""
    if may_read(service, principal) and agent in formats():
        found = await asyncio.to_thread(_read, agent, id)
        if found is not None:
            return found
    raise ApiError(404, "transcript_not_found", "no such transcript")


async def matching(words: str, limit: int) -> dict[str, Any]:
    """The newest sessions with this text in their messages, or all of its words in their titles and
    folders, each with the first matches; `complete` is false if not all sessions were searched."""
    return await asyncio.to_thread(_matching, words, limit)


def _matching(text: str, limit: int) -> dict[str, Any]:
    wanted, until = text.casefold().split(), time.monotonic() + LONGEST_SEARCH
    rows: list[dict[str, Any]] = []
    complete = True
    found = here(named=False)
    known = Overviews(Prices(), config.cache_folder() / "transcripts")
    for each, priced in overviews(found[:MOST], known.of):
        if time.monotonic() > until or len(rows) >= limit:
            complete = False
            break
        if isinstance(priced, str) or priced.overview.parent is not None:
            continue
        row, matches = _row(each, priced), list[dict[str, Any]]()
        if each.path.stat().st_size <= LARGEST_SEARCHED:
            hits = (hit for hit in hits_in(each, text) if isinstance(hit, Hit))
            matches = [_match(hit) for hit in islice(hits, MATCHES)]
        else:
            complete = False
        title = f"{row['name']} {row['workspace_path']}".casefold()
        if matches or all(word in title for word in wanted):
            rows.append({**row, "matches": matches})
    return {"transcripts": rows, "complete": complete and len(found) <= MOST}


def _match(hit: Hit) -> dict[str, Any]:
    return {"place": hit.place, "role": hit.role, "text": hit.text, "time": hit.time}


def _rows(limit: int) -> list[dict[str, Any]]:
    known = Overviews(Prices(), config.cache_folder() / "transcripts")
    rows = [
        _row(found, priced)
        for found, priced in overviews(here(named=False)[:limit], known.of)
        if not isinstance(priced, str) and priced.overview.parent is None
    ]
    return sorted(rows, key=lambda row: row["updated_at"], reverse=True)


def _row(found: Found, priced: StoredOverview) -> dict[str, Any]:
    overview = priced.overview
    return {
        "id": overview.id or found.id,
        "source": found.format,
        "name": overview.title,
        "workspace_path": overview.folder,
        "message_count": overview.messages,
        "active_model": priced.models[-1] if priced.models else None,
        "cost_usd": None if priced.cost is None else f"{priced.cost:f}",
        "unpriced": priced.unpriced,
        "created_at": overview.created_at,
        "updated_at": datetime.fromtimestamp(changed(overview, found), UTC),
    }


def _read(agent: str, id: str) -> dict[str, Any] | None:
    prices = Prices()
    known = Overviews(prices, config.cache_folder() / "transcripts")
    skipped: list[Skipped] = []
    for found, priced in overviews(here(None, [agent], skipped, named=False), known.of):
        if isinstance(priced, str) or (priced.overview.id or found.id) != id:
            continue
        try:
            transcript = opened(found)
        except InterlinguaError as error:
            raise ApiError(422, "not_readable", str(error)) from None
        messages = [
            message if message.id else msgspec.structs.replace(message, id=f"message-{number}")
            for number, message in enumerate(transcript.messages[-MOST_MESSAGES:], 1)
        ]
        return {
            "row": {**_row(found, priced), "message_count": len(transcript.messages)},
            "messages": [plain(message) for message in messages],
            "summary": totals_of(answers_of(messages, prices.table)),
        }
    return None
