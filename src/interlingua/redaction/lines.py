"""Files with one JSON value in a line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from interlingua.model.spelled_numbers import SpelledFloat, spelled
from interlingua.redaction.redactor import Redactor
from interlingua.redaction.rules import ALL, Finding, Redacted, Rules

_decode = msgspec.json.Decoder(float_hook=SpelledFloat).decode
_encode = msgspec.json.Encoder(enc_hook=spelled).encode


def redact_lines(lines: Iterable[bytes], rules: Rules = ALL) -> Redacted:
    """The lines, without their ends; places begin with the number of the line, from 0. A line in
    which nothing was found is the same bytes; one that is no JSON is looked at as text."""
    kept = [_Line(line.rstrip(b"\r\n")) for line in lines]
    redactor = Redactor(rules)
    for line in kept:
        redactor.learn(line.value)
    out: list[bytes] = []
    findings: list[Finding] = []
    for number, line in enumerate(kept):
        value, found = redactor.redact(line.value)
        out.append(line.written(value) if found else line.data)
        findings += [each._replace(place=f"/{number}{each.place}") for each in found]
    return Redacted(out, tuple(findings))


class _Line:
    """One line, read as JSON where it is."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.is_json = True
        try:
            self.value: Any = _decode(data)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            self.is_json = False
            self.value = data.decode("utf-8", "surrogateescape")

    def written(self, value: Any) -> bytes:
        return _encode(value) if self.is_json else value.encode("utf-8", "surrogateescape")
