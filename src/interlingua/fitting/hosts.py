"""Whether a body in Chat's own words would be said otherwise by the host that it goes to, told from
its bytes: what goes through a gateway in its own dialect is not read unless that is so."""

from __future__ import annotations

import re
from functools import lru_cache

from interlingua.dialects.openai_chat.tables import ANYBODY, LIMITS, Host
from interlingua.fitting.keys import DEVELOPER
from interlingua.ids import IdGrammar

_IDS = re.compile(rb'"tool_call_id"\s*:\s*"((?:[^"\\]|\\.)*)"')
_CALLS = b'"tool_calls"'
_THINKING = (b'"reasoning_content"', b'"reasoning"', b'"reasoning_details"', b'"thinking"')


def says_otherwise(host: Host, body: bytes) -> bool:
    """Whether there is something in the body that the host has other words for, or refuses."""
    if not host.developer and DEVELOPER.search(body):
        return True
    if any(word in body for word in _other_words(host)):
        return True
    if host.ids is not None and b'"tool_call_id"' in body and _has_odd_id(body, host.ids):
        return True
    if host.replay in ("never", "calls"):
        if any(key in body for key in _THINKING):
            return True
        return host.replay == "calls" and _CALLS in body
    return False


@lru_cache(256)
def _other_words(host: Host) -> tuple[bytes, ...]:
    """Keys that the host has other words for. One that a client said in a rarer word stays as it
    is, unless the host insists on its own."""
    words = {
        usual for usual, own in zip(_words(ANYBODY), _words(host), strict=True) if usual != own
    }
    if host.insists:
        words |= LIMITS - {host.max_tokens}
    return tuple([f'"{word}"'.encode() for word in words])


def _words(host: Host) -> tuple[str | None, ...]:
    return host.max_tokens, host.seed, host.user


def _has_odd_id(body: bytes, ids: IdGrammar) -> bool:
    legal = ids.matcher()
    found = _IDS.findall(body)
    return any(b"\\" in each or not legal(each.decode("utf-8", "replace")) for each in found)
