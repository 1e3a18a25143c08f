"""Bodies that go on as they are, but for a member or two, without reading the rest."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

_LIMITED = re.compile(rb'"(model|n|max_tokens|max_completion_tokens|max_output_tokens)"\s*:')
"""Members that a key may be limited by."""
ESCAPED = re.compile(rb'\\u00[0-7][0-9a-fA-F][^"\\]{0,24}"\s*:')
"""A member whose name is not written plainly."""


def says_twice(body: bytes) -> bool:
    """Whether a member that a key is limited by may stand in a body twice. We go by the last one,
    and a provider may go by the first: then only the last one is sent."""
    names = _LIMITED.findall(body)
    if len(set(names)) < len(names):
        return True
    return b"\\u00" in body and ESCAPED.search(body) is not None


members_of = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
"""The members of a JSON object, each as it stands."""
_encode = msgspec.json.Encoder().encode


def patched(body: bytes | Mapping[str, Any], changes: Mapping[str, Any]) -> bytes:
    """A JSON object, or its members, with some changed, or taken out where they are `UNSET`, and
    all others byte for byte as they were."""
    members: dict[str, Any] = dict(members_of(body) if isinstance(body, bytes) else body)
    members.update(changes)
    return _encode({name: value for name, value in members.items() if value is not msgspec.UNSET})
