"""The little of YAML that a price file needs, read strictly: mappings by indentation, one-line
values, lists of such in brackets, comments.

Everything else (anchors, tags, several documents, blocks of text, tabs) is refused with its line,
where a full YAML reader would make something of it. Numbers are decimals as they are written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NamedTuple

_NUMBER = re.compile(r"[-+]?(\d[\d_]*)(\.\d*)?([eE][-+]?\d+)?")
_QUOTED = r"""\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'"""
_PLAIN = r"""[^\s"'#\[\]{},&*!|>%@`-][^#]*?"""
_KEY = re.compile(rf"({_QUOTED}|{_PLAIN}):(?:\s+|$)")
_COMMENT = re.compile(r"(^|\s)#.*$")
_ODD_START = tuple("&*!|>%@`{}[],?")
_WORDS = {"null": None, "~": None, "true": True, "false": False}


class YamlError(ValueError):
    """Something that is no YAML, or more of it than is read here."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line}: {problem}")


class _Line(NamedTuple):
    number: int
    indent: int
    key: str
    has_value: bool
    value: Any


def read_yaml(text: str) -> dict[str, Any]:
    """The mapping that a text is."""
    lines = list(_lines(text))
    read, left = _mapping(lines, 0, lines[0].indent if lines else 0)
    if left < len(lines):
        raise YamlError(lines[left].number, "indented less than the mapping it is in")
    return read


def _lines(text: str) -> Iterator[_Line]:
    for number, whole in enumerate(text.splitlines(), 1):
        bare = _without_comment(whole).rstrip()
        if not bare.strip() or bare == "---":
            continue
        indent = len(bare) - len(bare.lstrip(" "))
        if bare[indent] == "\t":
            raise YamlError(number, "tabs cannot be used for indentation")
        match = _KEY.match(bare, indent)
        if match is None:
            raise YamlError(number, "expected a key and a colon")
        rest = bare[match.end() :].strip()
        value = _value(rest, number) if rest else None
        yield _Line(number, indent, _unquoted(match[1]), bool(rest), value)


def _without_comment(line: str) -> str:
    """A `#` inside quotes is no comment; then the line is left to what reads its value."""
    match = _COMMENT.search(line)
    if match is None or line.count('"', 0, match.start()) % 2:
        return line
    return line[: match.start()] if not line.count("'", 0, match.start()) % 2 else line


def _mapping(lines: list[_Line], at: int, indent: int) -> tuple[dict[str, Any], int]:
    """The mapping that begins with this line, and the first line behind it."""
    read: dict[str, Any] = {}
    while at < len(lines) and lines[at].indent >= indent:
        line = lines[at]
        if line.indent > indent:
            raise YamlError(line.number, "indented more than the key above it allows")
        if line.key in read:
            raise YamlError(line.number, f"duplicate key {line.key!r}")
        at += 1
        if line.has_value:
            read[line.key] = line.value
        elif at < len(lines) and lines[at].indent > indent:
            read[line.key], at = _mapping(lines, at, lines[at].indent)
        else:
            read[line.key] = None
    return read, at


def _value(text: str, number: int) -> Any:
    if text.startswith("[") and text.endswith("]"):
        inner = text[1:-1].strip()
        return [_scalar(each.strip(), number) for each in inner.split(",")] if inner else []
    return _scalar(text, number)


def _scalar(text: str, number: int) -> Any:
    if text[:1] in ('"', "'"):
        if len(text) < 2 or text[-1] != text[0]:
            raise YamlError(number, "a quoted string does not end on its line")
        return _unquoted(text)
    if text in _WORDS:
        return _WORDS[text]
    if _NUMBER.fullmatch(text):
        return _number(text.replace("_", ""))
    if not text or text.startswith(_ODD_START) or ": " in text or text.startswith("- "):
        raise YamlError(number, f"{text!r} uses YAML syntax that is not supported here")
    return text


def _number(text: str) -> int | Decimal:
    return int(text) if re.fullmatch(r"[-+]?\d+", text) else Decimal(text)


def _unquoted(text: str) -> str:
    if text[:1] == "'":
        return text[1:-1].replace("''", "'")
    if text[:1] == '"':
        return re.sub(r'\\(["\\/])', r"\1", text[1:-1])
    return text
