"""Whether the host of a body has other field names for it, or refuses something in it: a gateway
asks this of the bytes, and reads a body of the host's own dialect only then."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from interlingua.dialects.openai_chat.tables import DEFAULT_HOST, LIMITS, Host

_DEVELOPER = re.compile(rb'"role"\s*:\s*"developer"')
_IDS = re.compile(rb'"tool_call_id"\s*:\s*"((?:[^"\\]|\\.)*)"')
_ID, _CALLS, _ROLE = b'"tool_call_id"', b'"tool_calls"', b'"developer"'
_THINKING = (b'"reasoning_content"', b'"reasoning"', b'"reasoning_details"', b'"thinking"')
_SDK_KEYS = (b'"annotations"', b'"function_call"')
"""Keys of messages that OpenAI's package repeats, and that most other hosts refuse."""
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_MARKS: dict[int, tuple[Host, tuple[bytes, ...]]] = {}
"""By the host's identity, which is faster than comparing all its fields for each request."""


def host_differs(host: Host, body: bytes, members: Mapping[str, Any] | None = None) -> bool:
    """Whether the body, whose `members` may be known already, has something that the host calls
    otherwise, or refuses."""
    if host.name is not None:
        members = _members(body) if members is None else members
        if not host.lacks.isdisjoint(members):
            return True
    known = _MARKS.get(id(host))
    if known is None:
        known = _MARKS[id(host)] = (host, (*_other_words(host), *_odd(host)))
    for mark in known[1]:  # noqa: SIM110  # a generator would cost more than the looking
        if mark in body and _matters(mark, host, body):
            return True
    return False


def _other_words(host: Host) -> tuple[bytes, ...]:
    """Keys that the host calls otherwise. One that a client spelled with a rarer name is
    preserved, unless the host insists on its own."""
    words = {
        usual for usual, own in zip(_words(DEFAULT_HOST), _words(host), strict=True) if usual != own
    }
    if host.exact_limit_key:
        words |= LIMITS - {host.max_tokens}
    return tuple([f'"{word}"'.encode() for word in words])


def _words(host: Host) -> tuple[str | None, ...]:
    return host.max_tokens, host.seed, host.user


def _odd(host: Host) -> tuple[bytes, ...]:
    """Byte patterns that the host may need in another form."""
    found: list[bytes] = [] if host.developer else [_ROLE]
    if host.ids is not None:
        found.append(_ID)
    if host.replay in ("never", "calls"):
        found += _THINKING
    if host.replay == "calls":
        found.append(_CALLS)
    found += [mark for mark in _SDK_KEYS if mark.decode().strip('"') in host.lacks]
    return tuple(found)


def _matters(mark: bytes, host: Host, body: bytes) -> bool:
    if mark is _ID and host.ids is not None:
        legal = host.ids.matcher()
        found = _IDS.findall(body)
        return any(b"\\" in each or not legal(each.decode("utf-8", "replace")) for each in found)
    return mark is not _ROLE or _DEVELOPER.search(body) is not None
