"""A session as JSON Lines that can be imported again: one line with what is known of it, then one
for each message in its canonical form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from interlingua.model.codec import dumps
from interlingua.model.message import Message


def session_lines(
    row: Mapping[str, Any], provider_ids: Mapping[str, str], messages: Iterable[Message]
) -> Iterator[bytes]:
    """`row` is a session's row as plain values. When it was last changed is a fact of its store,
    and not written."""
    told: dict[str, Any] = {"session": {k: v for k, v in row.items() if k != "updated_at"}}
    if provider_ids:
        told["provider_ids"] = provider_ids
    yield msgspec.json.encode(told) + b"\n"
    for message in messages:
        yield dumps(message) + b"\n"
