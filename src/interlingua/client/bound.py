"""Thinking that is bound to the conversation that it was made in.

From Claude 5.1 on Anthropic checks that nothing before a thinking block has changed since, and
refuses the request where it has: a repaired or shortened history would end the conversation. It can
be asked to leave such blocks out instead, and then tells which (`preserved thinking`, Claude
Platform documentation and anthropic 2.8.0, read 2026-11)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from interlingua.client.transport import HttpRequest
from interlingua.dialects.kernel.wire import Wire
from interlingua.losses import Report
from interlingua.model.blocks import TYPE_OF
from interlingua.model.exchange import Request, Response
from interlingua.models.families import reduced

DIALECT = PROVIDER = "anthropic"
FAMILY, SINCE = "claude", (5, 1)
LENIENT = {"prefix_mismatch_behavior": "drop_block"}
_THOUGHTS = frozenset({"thinking", "redacted_thinking"})


def lenient(wire: Wire, provider: str, dialect: str, model: str) -> Wire:
    """The body, asking to leave out what no longer fits, if there may be such."""
    if dialect != DIALECT or provider != PROVIDER or not _is_bound(model) or not _thinks(wire):
        return wire
    thinking = wire.get("thinking") or {"type": "adaptive"}
    if thinking.get("type") == "disabled" or "block_binding" in thinking:
        return wire
    return {**wire, "thinking": {**thinking, "block_binding": LENIENT}}


def _is_bound(model: str) -> bool:
    name = reduced(model)
    return name.family == FAMILY and name.version is not None and name.version >= SINCE


def _thinks(wire: Wire) -> bool:
    return any(part.get("type") in _THOUGHTS for turn in wire["messages"] for part in _parts(turn))


def _parts(turn: Any) -> list[Any]:
    content = turn.get("content")
    return content if isinstance(content, list) else []


def told(response: Response, request: Request, http: HttpRequest, report: Report) -> Report:
    """The report of a request, with what the provider says it left out of it."""
    raw = (response.raw or {}).get(DIALECT)
    said = raw.get("input_transformations") if isinstance(raw, dict) else None
    dropped = [each for each in said or () if each.get("type") == "thinking_dropped"]
    if not dropped:
        return report
    places = dict(_sealed(request))
    wire = msgspec.json.decode(http.body)
    whole = Report(report.target, list(report.losses))
    for each in dropped:
        place = places.get(_seal_at(wire, each.get("path")) or "", _NOWHERE)
        reason = f"the provider left it out ({each.get('reason')})"
        whole.dropped_block(
            place.path,
            place.kind,
            reason,
            message_id=place.message_id,
            session_id=place.session_id,
        )
    return whole


class _Place(NamedTuple):
    path: str
    kind: str
    message_id: str | None
    session_id: str | None


_NOWHERE = _Place("$", "thinking", None, None)


def _sealed(request: Request) -> Iterator[tuple[str, _Place]]:
    """What only its issuer can read, by its seal, and where it stands."""
    for number, message in enumerate(request.messages):
        for index, block in enumerate(message.content):
            seal = getattr(block, "signature", None) or getattr(block, "data", None)
            if seal is not None:
                path, kind = f"$.messages[{number}].content[{index}]", TYPE_OF[type(block)]
                yield seal, _Place(path, kind, message.id, message.session_id)


def _seal_at(wire: Wire, path: Any) -> str | None:
    """The seal of the block at `messages.{i}.content.{j}` of a body."""
    try:
        _, turn, _, part = str(path).split(".")
        block = wire["messages"][int(turn)]["content"][int(part)]
        seal = block.get("signature") or block.get("data")
    except (ValueError, LookupError, AttributeError, TypeError):
        return None
    return seal if isinstance(seal, str) else None
