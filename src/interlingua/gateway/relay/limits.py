"""Limits of answers that keys and routes set, and the members of a request that budgets count
by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from interlingua.gateway.settings import RouteSettings
from interlingua.gateway.shared.sizes import LIMITS, output_limit
from interlingua.gateway.shared.state import Labels, Principal
from interlingua.model.exchange import Request
from interlingua.model.losses import Report
from interlingua.model.reasons import Reason, because

TAGS_HEADER = b"x-interlingua-tags"
END_USER_HEADER = b"x-interlingua-end-user"
MOST_TAGS = 16
"""OpenAI takes as many entries of metadata."""
LONGEST = 512
"""Characters of a label; the rest is left out."""
_USERS = ("user", "safety_identifier")
_LABELS = ("metadata", "labels")
_text = msgspec.json.Decoder(str | None).decode
_table = msgspec.json.Decoder(dict[str, Any] | None).decode


def labels_of(members: Mapping[str, msgspec.Raw], headers: Mapping[bytes, bytes]) -> Labels:
    """The end user and the tags of a request: members of its body, or headers of ours."""
    tables = [_read(_table, members.get(name)) or {} for name in _LABELS]
    users = [
        _header(headers, END_USER_HEADER),
        *[_read(_text, members.get(name)) for name in _USERS],
        *[table.get("user_id") for table in tables],
    ]
    user = next((each for each in users if isinstance(each, str) and each), "")
    tags = [tag.strip() for tag in _header(headers, TAGS_HEADER).split(",") if tag.strip()]
    tags += [f"{name}={value}" for table in tables for name, value in table.items()]
    return Labels(user[:LONGEST], tuple(dict.fromkeys([tag[:LONGEST] for tag in tags[:MOST_TAGS]])))


def _header(headers: Mapping[bytes, bytes], name: bytes) -> str:
    return headers.get(name, b"").decode("utf-8", "replace")


def _read(decode: Any, raw: msgspec.Raw | None) -> Any:
    try:
        return None if raw is None else decode(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def answer_limit(
    request: Request, dialect: str, principal: Principal, route: RouteSettings
) -> tuple[Request, Report | None]:
    """The request with the limit of its key or its route, if it has none or a higher one, and
    the report of that."""
    sent = output_limit(request, dialect)
    highest = _smaller(principal.max_max_tokens, route.max_max_tokens)
    usual = _smaller(principal.default_max_tokens, route.default_max_tokens)
    if sent is None:
        tokens = _smaller(usual, highest)
        if tokens is not None:
            return limited(request, dialect, tokens, because("output_limit_default", tokens=tokens))
    elif highest is not None and sent > highest:
        return limited(request, dialect, highest, because("output_limit_lowered", tokens=highest))
    return request, None


def limited(request: Request, dialect: str, tokens: int, why: Reason) -> tuple[Request, Report]:
    """The request with this limit alone, and a report with the reason."""
    report = Report(dialect)
    path = "$.options.max_output_tokens"
    report.add("approximated", path, why)
    options = request.options.replace(max_output_tokens=tokens)
    own = (request.raw or {}).get(dialect)
    if isinstance(own, dict) and not own.keys().isdisjoint(LIMITS):
        rest = {name: value for name, value in own.items() if name not in LIMITS}
        request = request.replace(raw={**(request.raw or {}), dialect: rest})
    return request.replace(options=options), report


def _smaller(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else min(one, other)
