"""AWS Signature Version 4: a request proves that its sender has a secret, without sending it.

Why it is written here rather than taken from a library: docs/decisions/0012-signing.md.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import quote, unquote, urlsplit

ALGORITHM = "AWS4-HMAC-SHA256"


def sign(
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    *,
    access_key: str,
    secret_key: str,
    session_token: str | None = None,
    region: str,
    service: str = "bedrock",
    at: datetime,
) -> dict[str, str]:
    """The headers to add to a request. All given headers are signed, and must be sent unchanged.

    `at` may be a few minutes off; AWS refuses more.
    """
    stamp = at.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    added = {"x-amz-date": stamp}
    if session_token is not None:
        added["x-amz-security-token"] = session_token
    signed = {"host": _host(url), **{k.lower(): v for k, v in headers.items()}, **added}
    signed = {name: " ".join(signed[name].split()) for name in sorted(signed)}
    scope = f"{stamp[:8]}/{region}/{service}/aws4_request"
    request = _canonical(method, url, signed, body)
    text = "\n".join((ALGORITHM, stamp, scope, hashlib.sha256(request).hexdigest()))
    key = signing_key(secret_key, stamp[:8], region, service)
    signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    return {
        **added,
        "authorization": f"{ALGORITHM} Credential={access_key}/{scope}, "
        f"SignedHeaders={';'.join(signed)}, Signature={signature}",
    }


def signing_key(secret_key: str, day: str, region: str, service: str) -> bytes:
    """The secret, bound to a day, a region and a service."""
    key = b"AWS4" + secret_key.encode()
    for part in (day, region, service, "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key


def _canonical(method: str, url: str, signed: Mapping[str, str], body: bytes) -> bytes:
    parts = urlsplit(url)
    # The path is encoded once more than it is sent (every service but S3).
    path = quote(parts.path or "/", safe="/-_.~")
    lines = [f"{name}:{value}" for name, value in signed.items()]
    digest = hashlib.sha256(body).hexdigest()
    query = _query(parts.query)
    return "\n".join((method, path, query, *lines, "", ";".join(signed), digest)).encode()


def _query(query: str) -> str:
    pairs = [each.partition("=") for each in query.split("&") if each]
    encoded = [(_encoded(name), _encoded(value)) for name, _, value in pairs]
    return "&".join(f"{name}={value}" for name, value in sorted(encoded))


def _encoded(text: str) -> str:
    return quote(unquote(text), safe="-_.~")


def _host(url: str) -> str:
    parts = urlsplit(url)
    host = parts.hostname or ""
    usual = {"https": 443, "http": 80}.get(parts.scheme)
    return host if parts.port in (None, usual) else f"{host}:{parts.port}"
