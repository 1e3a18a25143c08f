"""What a provider says that it left out of a request: thinking that was bound to another
conversation than it was sent in (`providers/binding.py`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from interlingua.client.transport import HttpRequest
from interlingua.dialects.kernel.wire import Wire
from interlingua.losses import Report
from interlingua.model.blocks import TYPE_OF
from interlingua.model.exchange import Request, Response
from interlingua.providers.binding import DIALECT


def with_dropped_thinking(
    response: Response, request: Request, http: HttpRequest, report: Report
) -> Report:
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
