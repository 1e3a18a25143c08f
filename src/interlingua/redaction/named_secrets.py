"""Secrets that are known by the name before them: `DB_PASSWORD=…`, `"api_key": "…"`.

Names that end in such a word are many, and most of what stands behind them is no secret: types,
calls, variables, examples. So the value is looked at as well.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from interlingua.redaction.shapes import words

PASSWORDS = words("password passwd pwd passphrase passcode psk")
SECRETS = words("secret token apikey authkey credential credentials authorization")
KEYS_OF = words(
    "api access private secret auth encryption signing account master service shared deploy ssh"
    " storage client subscription webhook"
)
"""What is in front of `key` where the key is a secret one."""
NO_TOKENS = words(
    "page pad eos bos sep cls mask unk next stop special continuation start end first last per max"
    " min input output cancel cancellation image"
)
"""What is in front of `token` where the token is none to keep."""
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_ASSIGNED = re.compile(
    r"(?<![A-Za-z0-9_.-])([A-Za-z_][A-Za-z0-9_.-]{1,79})\\{0,4}[\"'`]?\s{0,3}(=>|:=|=|:)[ \t]{0,3}"
    r"(?:\\{0,4}([\"'`]))?"
)
_VALUE = re.compile(r"[^\s\"'`,;<>(){}|&\\]{1,4096}+(?![(\[])")
_LONGER = re.compile(r"[^\s\"'`,;<>(){}|&\\]*")
_EXAMPLES = re.compile(
    r"\.\.\.|…|\*\*|x{4,}|your|example|change.?me|placeholder|dummy|redacted|-here\b|\bfoo\b|\bbar\b",
    re.IGNORECASE,
)
_REFERENCE = re.compile(r"[A-Za-z_$][A-Za-z_$]*(?:[.:/][A-Za-z_$][\w$]*)*")
_PATH = re.compile(r"(?:/|\.{1,2}/|~/|[a-z]+://)")
_NO_VALUES = words(
    "string required optional password passwd token secret none null true false undefined hidden"
    " invalid missing expired value text number object credentials forgotten wrong incorrect"
    " default empty unset enabled disabled"
)
NameKind = Literal["password", "secret"]


class NamedSecret(NamedTuple):
    start: int
    end: int


def kind_of_name(name: str) -> NameKind | None:
    """Whether a name promises a secret: by its last words."""
    said = [word.lower() for word in _WORDS.findall(name)]
    while said and said[-1].isdigit():
        said.pop()
    if not said:
        return None
    last, before = said[-1], said[-2] if len(said) > 1 else ""
    if last in PASSWORDS:
        return "password"
    if last in SECRETS:
        return None if before in NO_TOKENS else "secret"
    if last != "key":
        return None
    return "secret" if before in KEYS_OF or (name.isupper() and before) else None


def is_secret(name: str, value: str, quoted: bool) -> bool:
    """Whether a value that is given to a name is one to keep."""
    kind = kind_of_name(name)
    if kind is None or len(value) < 6 or value[0] in "$<{%*[" or _EXAMPLES.search(value):
        return False
    if value.lower() in _NO_VALUES or (_PATH.match(value) and not _is_base64(value)):
        return False
    if kind == "password":
        return quoted or any(letter.isdigit() for letter in value) or name.isupper()
    if not quoted and _REFERENCE.fullmatch(value) and not (name.isupper() and len(value) >= 16):
        return False
    return _is_random(value, 8 if quoted or name.isupper() else 16)


def _is_random(value: str, least: int) -> bool:
    if len(value) < least:
        return False
    has_digit = any(letter.isdigit() for letter in value)
    return any(letter.isalpha() for letter in value) and (has_digit or len(value) >= 24)


def _is_base64(value: str) -> bool:
    return re.fullmatch(r"[A-Za-z0-9+/]{40,}={0,2}", value) is not None


def assigned(text: str) -> list[NamedSecret]:
    """Where a text gives secrets to names."""
    found: list[NamedSecret] = []
    for match in _ASSIGNED.finditer(text):  # what is given may be an assignment itself
        name, _, quote = match.groups()
        if kind_of_name(name) is None or (found and match.start() < found[-1].end):
            continue
        value = _VALUE.match(text, match.end())
        if value is not None and is_secret(name, value[0], quote is not None):
            end = _LONGER.match(text, value.end()) or value
            found.append(NamedSecret(value.start(), end.end()))
    return found
