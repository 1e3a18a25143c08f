"""`POST /convert`: any provider's body in another's form, with everything that could not be said.

Bodies come and go as text, since not every number of theirs survives a browser's parser. Nobody is
asked, nothing is kept, and files and addresses that a body names are not opened."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from interlingua.adapt import formats
from interlingua.adapt.convert import Kind, convert
from interlingua.dialects.record import Written
from interlingua.errors import DetectError, InterlinguaError
from interlingua.gateway.shared.bodies import read
from interlingua.gateway.shared.callers import ApiError, answer
from interlingua.gateway.shared.state import Principal
from interlingua.model.losses import planning

if TYPE_CHECKING:
    from interlingua.gateway.service import Service

MOST_BYTES = 4 * 1024 * 1024


class NewConversion(msgspec.Struct, forbid_unknown_fields=True):
    """`POST /convert`: `text` is the body. What it is (`source`, `kind`) is found out unless said;
    `model` is the target's name for the model where that differs. With `back` the answer has what
    is read of the new form again, in canonical form."""

    text: str
    target: str
    source: str | None = None
    kind: Kind | None = None
    model: str | None = None
    back: bool = False


async def formats_known(service: Service, request: Request, principal: Principal) -> Response:
    return answer({"formats": formats.names()})


async def convert_body(service: Service, request: Request, principal: Principal) -> Response:
    limits = replace(service.limits, body=min(service.limits.body, MOST_BYTES))
    body = await read(request, NewConversion, limits)
    try:
        return answer(await asyncio.to_thread(_converted, body))
    except DetectError as error:
        details = {"candidates": list(error.candidates)}
        raise ApiError(400, "format_unknown", str(error), details) from None
    except InterlinguaError as error:
        raise ApiError(400, "not_convertible", str(error)) from None
    except RecursionError:
        raise ApiError(400, "not_convertible", "the body is too deep") from None


def _converted(body: NewConversion) -> dict[str, Any]:
    source, kind, evidence, others = _known(body)
    with planning():
        written = convert(body.text, source, body.target, kind, body.model)
    return {
        "source": source,
        "kind": kind,
        "evidence": evidence,
        "others": others,
        "target": body.target,
        "text": msgspec.json.format(written.json(), indent=2).decode(),
        "losses": written.report.losses,
        **({"back": _back(body.target, kind, written)} if body.back else {}),
    }


def _back(target: str, kind: Kind, written: Written) -> str | None:
    """What the target's own reader makes of it; None where that is no question."""
    if target == formats.CANONICAL or kind != "request":
        return None
    try:
        with planning():
            again = convert(written.json(), target, formats.CANONICAL, kind)
    except InterlinguaError:
        return None
    return msgspec.json.format(again.json(), indent=2).decode()


def _known(body: NewConversion) -> tuple[str, Kind, list[str], list[str]]:
    """What the body is, why we think so, and what else it could be."""
    if body.source is not None:
        return body.source, body.kind or "request", [], []
    found = formats.detect(body.text, body.kind)
    others = [str(each) for each in found.others]
    return found.dialect, found.kind, list(found.evidence), others
