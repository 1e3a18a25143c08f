"""Which family and version a model's name says."""

from __future__ import annotations

import re
from typing import NamedTuple

Version = tuple[int, int]


class Model(NamedTuple):
    name: str
    family: str
    version: Version
    words: frozenset[str]

    def has(self, *words: str) -> bool:
        return not self.words.isdisjoint(words)


_FAMILIES = (
    ("claude", r"claude"),
    ("gpt-oss", r"gpt-oss"),
    ("gpt", r"^(chatgpt|gpt)-"),
    ("o", r"^o[134](-|$)"),
    ("gemini", r"gemini"),
    ("gemma", r"gemma"),
    ("nova", r"nova"),
    ("llama", r"llama"),
    ("grok", r"grok"),
    ("deepseek", r"deepseek"),
    ("qwen", r"qwen"),
    ("kimi", r"kimi"),
    (
        "mistral",
        r"mistral|ministral|magistral|codestral|devstral|pixtral|voxtral|mixtral",
    ),
)
_REGION = re.compile(r"^(us|eu|apac|jp|au|ca|global|us-gov)\.")
_VENDORS = re.compile(r"^(anthropic|amazon|meta|mistral|openai|deepseek|qwen|google|moonshot)\.")


def bare(name: str) -> str:
    """The name without who serves it, where, and which edition."""
    name = name.lower().rpartition("/")[2]
    name = name.partition("@")[0].partition(":")[0]
    name = _VENDORS.sub("", _REGION.sub("", name))
    name = re.sub(r"-v\d+$", "", name)
    return re.sub(r"-(\d{8}|\d{4}-\d{2}-\d{2}|\d{3})(?=-|$)", "", name)


def model_of(name: str) -> Model:
    plain = bare(name)
    family = next((word for word, sign in _FAMILIES if re.search(sign, plain)), "")
    words = frozenset(re.split(r"[-_]", plain))
    return Model(plain, family, _version(plain, family), words)


def _version(plain: str, family: str) -> Version:
    if family == "o":
        return int(plain[1]), 0
    found = re.search(r"(?<![a-z\d.])v?(\d{1,2})(?:[.-](\d{1,2}))?(?=o?(?:-|$))", plain)
    if found is None:
        return (0, 0)
    return int(found[1]), int(found[2] or 0)
