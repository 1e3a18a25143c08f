"""Addresses of the public internet, which are all that is fetched from on somebody's word.

Python's own `is_global` is not enough: depending on its version it takes NAT64, 6to4, site-local
and IPv4-compatible addresses, multicast and Azure's metadata host for global (tried with 3.11 and
3.13, 2026-11)."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Any

NOT_PUBLIC = "its address is not one of the public internet"
_NOT_IN_4 = (
    *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"),
    *("172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16"),
    *("198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3"),
    "168.63.129.16/32",  # Azure's metadata host
)
_IN_6 = "2000::/3"
"""What has been given out; loopback, mapped, NAT64, unique and link-local are all elsewhere."""
_NOT_IN_6 = (
    *("2001::/23", "2001:db8::/32", "3fff::/20"),
    "2002::/16",  # 6to4 has an address of IPv4 in it
)


@lru_cache(1)
def _tables() -> tuple[list[IPv4Network], IPv6Network, list[IPv6Network]]:
    refused = [IPv4Network(each) for each in _NOT_IN_4]
    return refused, IPv6Network(_IN_6), [IPv6Network(each) for each in _NOT_IN_6]


def is_public(address: str) -> bool:
    """Whether it is an address, in the usual spelling, that anybody may be sent to."""
    try:
        found = ip_address(address)
    except ValueError:
        return False
    refused, given, not_given = _tables()
    if found.version == 4:
        return not any(found in network for network in refused)
    if found.scope_id is not None or found not in given:
        return False
    return not any(found in network for network in not_given)


def public_sockets(also: frozenset[str]) -> Callable[[Any], socket.socket]:
    """Sockets for public addresses, and `also` for these. It is the very address that is connected
    to which is looked at, however it was found: there is no second look-up that could differ."""

    def make(info: Any) -> socket.socket:
        family, kind, protocol, _, place = info
        if not is_public(place[0]) and place[0] not in also:
            raise OSError(errno.EACCES, NOT_PUBLIC)
        return socket.socket(family, kind, protocol)

    return make
