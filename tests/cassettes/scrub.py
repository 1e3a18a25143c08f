"""Secrets off the tape: headers and query parameters by a list of those that may stay, bodies by
the patterns of keys, by the names of fields, and by the very secrets that a recording used.

`leaks` looks with the same eyes at what is committed. It says what kind of secret it found and
never the secret."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
from urllib.parse import parse_qsl, quote

import interlingua as il
from interlingua.dialects.kernel.wire import encode
from interlingua.streams import aws
from tests.replay.answers import Header

MASK = "[scrubbed]"
SHORTEST = 8
"""Characters below which something is no secret but a word."""

REQUEST_HEADERS = frozenset({"accept", "content-type", "anthropic-version", "anthropic-beta"})
AUTH_HEADERS = frozenset(
    {"authorization", "x-api-key", "api-key", "x-goog-api-key", "x-amz-security-token"}
)
"""They stay by name, so that one sees how a provider wants its key."""
RESPONSE_HEADERS = frozenset(
    {
        "content-type",
        "retry-after",
        "retry-after-ms",
        "request-id",
        "x-request-id",
        "x-amzn-requestid",
        "x-amzn-errortype",
    }
)
RESPONSE_FAMILIES = ("x-ratelimit-", "anthropic-ratelimit-")
QUERY = frozenset({"alt", "api-version"})

_FIELDS = (
    "api[_-]?key|x-api-key|authorization|password|passwd|secret|client[_-]?secret|private[_-]?key"
    "|(?:access|refresh|session|auth|id)[_-]?token|secret[_-]?access[_-]?key"
)
_PATTERNS: dict[str, re.Pattern[str]] = {
    name: re.compile(pattern)
    for name, pattern in {
        "a key that begins with sk-": r"\bsk-[A-Za-z0-9_-]{16,}",
        "a Google key": r"\bAIza[A-Za-z0-9_-]{30,}",
        "a Google token": r"\bya29\.[A-Za-z0-9_-]{20,}",
        "an AWS key id": r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
        "an AWS signature": r"(?i:x-amz-(?:signature|credential|security-token))=[^&\"\s]{8,}",
        "a key of Groq, xAI, Hugging Face or Replicate": r"\b(?:gsk_|xai-|hf_|r8_)[A-Za-z0-9]{20,}",
        "a GitHub token": r"\b(?:gh[pousr]_|github_pat_)[A-Za-z0-9_]{20,}",
        "a signed token": r"\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}",
        "a bearer token": r"\bBearer\s+(?=[\w.~+/-]*\d)[\w.~+/=-]{12,}",
        "a name and password": r"\bBasic\s+[A-Za-z0-9+/]{12,}={1,2}",
        "a private key": r"-----BEGIN [A-Z ]*PRIVATE KEY--[\s\S]*?(?:--END [A-Z ]*KEY-----|$)",
    }.items()
}
_FIELD = re.compile(
    rf'(?P<head>(?P<quote>\\*")(?i:{_FIELDS})(?P=quote)\s*:\s*(?P=quote))'
    rf"(?P<value>(?:(?!(?P=quote)).)*)"
)
"""A string under a name that says it is secret, also in JSON that is itself inside a string."""


class SecretFoundError(il.InterlinguaError):
    """Something on a tape is or may be a secret, and could not be taken off."""


class Scrubber:
    """`secrets` are those that the recording was made with: they go wherever they are."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms = {form for secret in secrets for form in _forms(secret)}
        longest = sorted(forms, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, longest))) if longest else None

    def text(self, text: str) -> str:
        if self._known is not None:
            text = self._known.sub(MASK, text)
        for pattern in _PATTERNS.values():
            text = pattern.sub(MASK, text)
        return _FIELD.sub(lambda found: found["head"] + MASK, text)

    def body(self, body: bytes) -> bytes:
        return self.text(body.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")

    def chunks(self, chunks: Sequence[bytes], is_aws: bool = False) -> list[bytes]:
        """Pieces of a body. Where a secret lay across two of them they become one."""
        if is_aws:
            return [self._frames(chunk) for chunk in chunks]
        alone = [self.body(chunk) for chunk in chunks]
        whole = self.body(b"".join(chunks))
        return alone if b"".join(alone) == whole else [whole]

    def _frames(self, chunk: bytes) -> bytes:
        """Frames with checksums are written anew."""
        scrubbed = self.body(chunk)
        if scrubbed == chunk:
            return chunk
        return b"".join(
            aws.encode(il.Frame(frame.event, self.text(frame.data)))
            for frame in aws.Decoder().feed(chunk)
        )

    def request_headers(self, headers: Iterable[Header]) -> list[Header]:
        return [
            (name, MASK if name in AUTH_HEADERS else self.text(value))
            for name, value in sorted((name.lower(), value) for name, value in headers)
            if name in REQUEST_HEADERS or name in AUTH_HEADERS
        ]

    def response_headers(self, headers: Iterable[Header]) -> list[Header]:
        return [
            (name, self.text(value))
            for name, value in ((name.lower(), value) for name, value in headers)
            if may_stay(name)
        ]

    def path(self, path: str) -> str:
        """A path with its query, whose parameters are masked unless they are known."""
        path, mark, query = path.partition("?")
        pairs = parse_qsl(query, keep_blank_values=True)
        remaining = [
            f"{quote(name)}={quote(value) if name in QUERY else MASK}"
            for name, value in pairs
            if name not in AUTH_HEADERS
        ]
        return self.text(path) + mark + "&".join(remaining)

    def leaks(self, text: str) -> list[str]:
        """The kinds of secrets that are in a text."""
        found = [name for name, pattern in _PATTERNS.items() if pattern.search(text)]
        if any(field["value"] != MASK for field in _FIELD.finditer(text)):
            found.append("a value under a secret's name")
        if self._known is not None and self._known.search(text):
            found.append("a secret of this recording")
        return found


def may_stay(name: str) -> bool:
    """Whether a response's header is kept."""
    return name in RESPONSE_HEADERS or name.startswith(RESPONSE_FAMILIES)


def _forms(secret: str) -> set[str]:
    """How a secret may be spelled in a body or a URL."""
    if len(secret) < SHORTEST:
        return set()
    escaped = encode(secret).decode()[1:-1]
    packed = base64.b64encode(secret.encode()).decode()
    return {secret, escaped, quote(secret, safe=""), packed, packed.rstrip("=")}
