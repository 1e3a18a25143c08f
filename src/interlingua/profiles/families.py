"""A model's name taken apart: what it is, whatever a provider calls it.

One function for prices, capabilities and profiles, so that they cannot disagree about which model
is meant: `us.anthropic.claude-sonnet-4-5-20250929-v1:0`, `anthropic/claude-sonnet-4.5:beta` and
`claude-sonnet-4-5@20250929` are all `claude-sonnet-4-5`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

Version = tuple[int, int]
NEWEST: Version = (999, 0)
"""The version of a name that says `latest` and no number."""

# Vendors as Bedrock writes them before a dot (botocore 1.44 and its model list, read 2026-11).
_VENDOR = re.compile(
    r"^(?:[a-z]{2,6}(?:-[a-z]+)?\.)?"  # a region: us., eu., apac., global., us-gov.
    r"(ai21|amazon|anthropic|cohere|deepseek|google|luma|meta|minimax|mistral|moonshot|moonshotai"
    r"|nvidia|openai|qwen|stability|twelvelabs|writer|xai|zai)\."
)
_BEDROCK_EDITION = re.compile(r"(-v\d+(:\d+)?|-\d+:\d+)(:\d+k|:mm)?$")
_DATE = re.compile(r"-(20\d{6}|20\d\d-\d\d-\d\d|\d\d-20\d\d|\d\d-\d\d)(?=-|$)")
_STAGE = re.compile(r"-(latest|preview|exp|experimental|beta|stable|0\d\d|\d\d-\d\d)$")
_SNAPSHOT = re.compile(r"((?:gpt|grok)-.+)-\d{4}")
"""gpt-4-0613, grok-4-0709: a day of the year. Elsewhere four digits are part of the model's
name."""
_LONE_VERSION = re.compile(r"[vr]\d")
_NUMBER = re.compile(r"\d{1,2}")
_LETTER_NUMBER = re.compile(r"([a-z]?)(\d{1,2})([a-z]?)")
_FAMILY = re.compile(r"([a-z]+)(\d{1,2})?")

_TWO_WORDS = {("gpt", "oss"): "gpt-oss"}
_SAME = {"chatgpt": "gpt"}
_TWO_DIGITS = {"claude", "gpt"}
"""Written without a dot at some hosts: gpt-35-turbo is 3.5, claude-opus-41 is 4.1."""


class NameParts(NamedTuple):
    """What a name says about the model."""

    name: str
    """Without region, vendor, date and variant, dots written as dashes."""
    family: str
    """`claude`, `gpt`, `o`, `gemini`, `nova`, …: the first word."""
    version: Version | None
    words: frozenset[str]
    """The other words of the name: `opus`, `mini`, `flash`, `lite`."""
    variant: str | None = None
    """What stood behind a colon (`free`, an Ollama tag): the same model, at another price."""


@lru_cache(4096)
def name_parts(name: str) -> NameParts:
    """The parts of a model's name. `name` has no provider in front of it."""
    bare, variant = _bare(name.strip().lower())
    short = _undated(bare)
    family, version, words = _parts(short.replace(".", "-").split("-"))
    if version is None and "latest" in bare.split("-"):
        version, short = NEWEST, f"{short}-latest"  # gemini-pro was another model
    return NameParts(short.replace(".", "-"), family, version, words, variant)


def has_vendor(name: str) -> bool:
    """Whether a name is spelled as Bedrock does it, the vendor before a dot."""
    return _VENDOR.match(name.lower()) is not None


def _bare(name: str) -> tuple[str, str | None]:
    """Without path, region, vendor and edition, and what stood behind a colon."""
    name = name.removeprefix("ft:").partition("@")[0].rpartition("/")[2].lstrip("~")
    vendor = _VENDOR.match(name)
    if vendor:
        name = _BEDROCK_EDITION.sub("", name[vendor.end() :])
        if _LONE_VERSION.match(name):  # deepseek.v3.1, deepseek.r1-v1:0
            name = f"{vendor[1]}-{name}"
    name, _, variant = name.partition(":")
    return name, variant or None


def _undated(name: str) -> str:
    """Without what names one edition or stage of a model."""
    snapshot = _SNAPSHOT.fullmatch(name)
    name, before = snapshot[1] if snapshot else name, None
    while before != name:
        before = name
        name = _STAGE.sub("", _DATE.sub("", name)) or name
    return name


def _parts(words: list[str]) -> tuple[str, Version | None, frozenset[str]]:
    first = _FAMILY.fullmatch(words[0])
    if first is None:
        return words[0], None, frozenset(words[1:])
    family, rest = _SAME.get(first[1], first[1]), words[1:]
    if rest and (family, rest[0]) in _TWO_WORDS:
        family, rest = _TWO_WORDS[family, rest[0]], rest[1:]
    if first[2]:  # o3, llama3-1, qwen2-5
        minor = rest[0] if rest and _NUMBER.fullmatch(rest[0]) else None
        return family, (int(first[2]), int(minor or 0)), frozenset(rest[minor is not None :])
    version, words_left = _version(rest)
    if version and family in _TWO_DIGITS and version[0] > 9:
        version = divmod(version[0], 10)
    return family, version, words_left


def _version(words: list[str]) -> tuple[Version | None, frozenset[str]]:
    """The first number among the words, and the next word where that is one too."""
    for index, word in enumerate(words):
        number = _LETTER_NUMBER.fullmatch(word)
        if number is None or number[3] in ("b", "k", "m", "e"):  # 8b, 32k: sizes
            continue
        left, right = words[:index], words[index + 1 :]
        if number[1] or number[3]:  # v4, k2, r1; 4o
            left = [*left, word]
        minor = 0
        if right and _NUMBER.fullmatch(right[0]):
            minor, right = int(right[0]), right[1:]
        return (int(number[2]), minor), frozenset([*left, *right])
    return None, frozenset(words)
