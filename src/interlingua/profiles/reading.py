"""Rules from TOML: those of the package, and a user's, which have the same form.

The package's own are compiled to JSON as well, which is read in a third of the time. It names the
text that it was made of, and is left aside where that has changed.
"""

from __future__ import annotations

import hashlib
import os
import re
from typing import TYPE_CHECKING, Any

import msgspec

from interlingua.errors import InterlinguaError, found
from interlingua.profiles.profile import Rule, check_range

if TYPE_CHECKING:
    from pathlib import Path


def data_file(name: str) -> bytes:
    """The content of `data/<name>`."""
    loader: Any = globals()["__spec__"].loader
    content: bytes = loader.get_data(os.path.join(os.path.dirname(__file__), "data", name))
    return content


MOST_BYTES = 1 << 20
_FIELDS = {"rule", "read"}


class ProfilesFileError(InterlinguaError):
    """A file of rules that cannot be read. `rule` is the id of the rule if it has one; `line` is
    None if it is unknown."""

    def __init__(
        self,
        file: str,
        problem: str,
        field: str | None = None,
        line: int | None = None,
        rule: str | None = None,
    ) -> None:
        self.file = file
        self.problem = problem
        self.field = field
        self.line = line
        self.rule = rule
        place = f", line {line}" if line is not None else ""
        place += f", rule {rule!r}" if rule else ""
        place += f", at {field}" if field else ""
        super().__init__(f"{file}{place}: {problem}")


class _Compiled(msgspec.Struct, frozen=True):
    of: str
    rules: tuple[Rule, ...]


def bundled_rules() -> tuple[Rule, ...]:
    """The package's own rules."""
    text, compiled = data_file("profiles.toml"), data_file("profiles.json")
    # A new text has a new digest, and then nothing else of the compiled form is looked at.
    if compiled.startswith(_head(text)):
        return msgspec.json.decode(compiled, type=_Compiled).rules
    return read_rules(text, "profiles.toml")


def compiled_rules(text: bytes) -> bytes:
    """The rules of a TOML text as JSON, one to a line."""
    rules = read_rules(text, "profiles.toml")
    lines = b",\n".join(msgspec.json.encode(rule) for rule in rules)
    return _head(text) + b'"rules":[\n' + lines + b"\n]}\n"


def _head(text: bytes) -> bytes:
    return b'{"of":"%s",\n' % hashlib.sha256(text).hexdigest().encode()


def read_file(path: Path) -> tuple[Rule, ...]:
    """The rules of a user's file; one that is not there has none."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return ()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ProfilesFileError(str(path), f"cannot be read: {reason}") from None
    return read_rules(data, str(path))


def read_rules(data: bytes, file: str) -> tuple[Rule, ...]:
    """The rules of a TOML text. `file` is its name in errors."""
    text = _text(data, file)
    whole = _parsed(text, file)
    for other in whole.keys() - _FIELDS:
        raise ProfilesFileError(file, "unknown field; rules are [[rule]]", other)
    tables = whole.get("rule", [])
    if not isinstance(tables, list):
        raise ProfilesFileError(file, f"expected [[rule]], found {found(tables)}", "rule")
    read = whole.get("read")
    return tuple(_rule(table, index, read, text, file) for index, table in enumerate(tables))


def _rule(table: Any, index: int, read: Any, text: str, file: str) -> Rule:
    try:
        rule = msgspec.convert(table, Rule)
        check_range(rule.version)
    except (msgspec.ValidationError, ValueError) as wrong:
        problem, field = split_error(str(wrong))
        name = table.get("id") if isinstance(table, dict) else None
        line = _line(text, index, field)
        raise ProfilesFileError(file, problem, field, line, name) from None
    if rule.since or not isinstance(read, str):
        return rule
    return msgspec.structs.replace(rule, since=read)


def split_error(wrong: str) -> tuple[str, str | None]:
    """msgspec's message, and the field it is about."""
    problem, _, place = wrong.partition(" - at `$")
    steps = re.findall(r"[^.\[\]`]+", place)
    named = re.search(r"(?:unknown|required) field `([^`]+)`", problem)
    if named:
        steps.append(named[1])
    if not steps and "range of versions" in problem:
        steps = ["version"]
    return problem, ".".join(step for step in steps if step != "...") or None


def _text(data: bytes, file: str) -> str:
    if len(data) > MOST_BYTES:
        raise ProfilesFileError(file, f"larger than {MOST_BYTES} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as wrong:
        line = data.count(b"\n", 0, wrong.start) + 1
        raise ProfilesFileError(file, "not UTF-8", None, line) from None


def _parsed(text: str, file: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ProfilesFileError(file, "nested too deeply") from None
    except tomllib.TOMLDecodeError as wrong:
        line = re.search(r"line (\d+)", str(wrong))
        number = int(line[1]) if line else None
        raise ProfilesFileError(file, f"not TOML: {wrong}", None, number) from None


def _line(text: str, index: int, field: str | None) -> int | None:
    """The line of a rule, or of a field in it."""
    first, at = field.split(".")[0] if field else "", -1
    begins: int | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"\s*\[\[\s*rule\s*\]\]", line):
            at += 1
            begins = number if at == index else begins
        elif at == index and first and re.match(rf"\s*(\[rule\.)?{re.escape(first)}\b", line):
            return number
    return begins
