"""A client's own key for a provider, beside the key of the gateway.

It is held for the time of one request, and sent to the provider that it is for: it is in no cache,
no log and no row."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from interlingua.gateway.shared.fronts import GATEWAY_KEY, KEY_PREFIX, SIGNED, Scope, token_of
from interlingua.gateway.shared.state import ANONYMOUS, Arrival, ClientKey, Principal
from interlingua.providers.provider import Secret, Style

_STYLES: dict[bytes, Style] = {
    b"authorization": "bearer",
    b"x-api-key": "x-api-key",
    b"x-goog-api-key": "x-goog-api-key",
    b"api-key": "api-key",
}


def own_key_of(
    headers: Mapping[bytes, bytes], query: bytes, principal: Principal
) -> ClientKey | None:
    """The client's own key for a provider: the one in the header of its SDK, unless that is the key
    of the gateway."""
    if principal is not ANONYMOUS and GATEWAY_KEY not in headers:
        return None
    others = {name: value for name, value in headers.items() if name != GATEWAY_KEY}
    token = token_of(others, query)
    signed = headers.get(b"authorization", b"").startswith(SIGNED.encode())
    if token is None or signed or token.startswith(KEY_PREFIX):
        return None
    styles = [style for name, style in _STYLES.items() if name in headers]
    return ClientKey(styles[0] if styles else "x-goog-api-key", Secret(token))


def with_own_key(arrival: Arrival, scope: Scope) -> Arrival:
    """The same with the client's own key for a provider, if it has one."""
    own = own_key_of(dict(scope["headers"]), scope["query_string"], arrival.principal)
    return msgspec.structs.replace(arrival, own_key=own)
