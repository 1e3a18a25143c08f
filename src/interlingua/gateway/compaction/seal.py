"""Compacted history that only this gateway can open: encrypted and authenticated with a key of the
store, and bound to the tenant that it was made for."""

from __future__ import annotations

import base64
import os
import zlib
from typing import Any

import msgspec

PREFIX = "ilc1."
"""How our sealed texts begin; the number is the version of their format."""
_NONCE = 12
_LONGEST = 64 * 1024 * 1024
"""Bytes of an opened text."""


class Sealed(msgspec.Struct, omit_defaults=True):
    """What a compaction stands for."""

    id: str
    """Under which the full history is stored, where the key allows that."""
    front: str
    """The dialect of the client that it was made for."""
    summary: str
    tail: list[Any] = []
    """Items or messages after the summary, as the client sent them."""
    replaces: bool = True
    """Whether it stands for everything before it; if not, what comes before it was preserved."""
    model: str = ""
    """Who wrote the summary."""
    packed: str = ""
    """History that another service encrypted, as conversion packed it."""


class SealError(Exception):
    """A text that does not open: another tenant's, another store's, or changed."""


class Seal:
    def __init__(self, key: bytes) -> None:
        # Seven megabytes, for those who compact.
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self._cipher = AESGCM(key)
        self._invalid = InvalidTag

    def close(self, value: Sealed, tenant: str | None) -> str:
        plain = zlib.compress(msgspec.json.encode(value))
        nonce = os.urandom(_NONCE)
        data = nonce + self._cipher.encrypt(nonce, plain, _bound_to(tenant))
        return PREFIX + base64.urlsafe_b64encode(data).decode().rstrip("=")

    def open(self, text: str, tenant: str | None) -> Sealed:
        """Raises `SealError`."""
        if not text.startswith(PREFIX):
            raise SealError
        body = text[len(PREFIX) :]
        try:
            data = base64.b64decode(body + "=" * (-len(body) % 4), b"-_", validate=True)
            if base64.urlsafe_b64encode(data).decode().rstrip("=") != body:
                raise SealError  # another spelling of the same bytes
            plain = self._cipher.decrypt(data[:_NONCE], data[_NONCE:], _bound_to(tenant))
            inflater = zlib.decompressobj()
            return msgspec.json.decode(inflater.decompress(plain, _LONGEST), type=Sealed)
        except (ValueError, self._invalid, zlib.error, msgspec.DecodeError) as error:
            raise SealError from error


def _bound_to(tenant: str | None) -> bytes:
    return f"{PREFIX}{tenant or ''}".encode("utf-8", "surrogatepass")
