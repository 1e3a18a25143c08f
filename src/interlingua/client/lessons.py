"""What providers have taught this process: what a model refused is not sent to it again, or as it
said that it would take it. A file keeps that for `interlingua models --learned`."""

from __future__ import annotations

import logging
from pathlib import Path as File
from typing import Any

import msgspec

from interlingua.client.errors import CallError
from interlingua.client.targets import Prepared, Target, Targets
from interlingua.fitting.lessons import RULE, Lesson, apply_lesson, place_of, taught_by
from interlingua.losses import Report
from interlingua.model.exchange import ErrorKind

logger = logging.getLogger(__name__)
_MOST = 1000
"""Lessons that are remembered."""
_LONGEST = 300
"""Characters of what a provider said."""


class Lessons:
    """Lessons by provider and model; `file` is where they are noted, if anywhere."""

    def __init__(self, file: File | None = None) -> None:
        self.count = 0
        self._file = file
        self._known: dict[tuple[str, str, str], list[Lesson]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._known.values()))

    def of(self, target: Target) -> list[Lesson]:
        return self._known.get((target.provider.key, target.name, target.dialect.name), [])

    def applied(self, prepared: Prepared, targets: Targets, stream: bool) -> Prepared:
        """The request as its model has taught us to ask."""
        for lesson in self.of(prepared.target):
            prepared = self.mended(prepared, lesson, targets, stream) or prepared
        return prepared

    def from_refusal(
        self, prepared: Prepared, error: CallError, raw: bytes | None
    ) -> Lesson | None:
        """What a refusal says about the one parameter that it names."""
        if error.status != 400 and error.status != 422:
            return None
        if error.kind is not ErrorKind.INVALID_REQUEST:
            return None
        wire = _parsed(prepared.http.body)
        if wire is None:
            return None
        taught = taught_by(error.problem, wire, _param(raw))
        if taught is None:
            return None
        target = prepared.target
        said = error.problem[:_LONGEST]
        return Lesson(
            target.provider.key, target.name, target.dialect.name, taught[0], said, taught[1]
        )

    def mended(
        self, prepared: Prepared, lesson: Lesson, targets: Targets, stream: bool
    ) -> Prepared | None:
        """The request as one lesson has it; None where it has nothing to do with it."""
        wire = _parsed(prepared.http.body)
        new = None if wire is None else apply_lesson(wire, lesson)
        if new is None:
            return None
        old = prepared.http
        asked = targets.address(prepared.target, new, "request", stream)
        http = msgspec.structs.replace(asked, headers={**old.headers, **asked.headers})
        _tell(prepared.report, lesson)
        return msgspec.structs.replace(prepared, http=http)

    def learn(self, lesson: Lesson) -> None:
        """It was right: from now on the model is asked so at once."""
        self.count += 1
        key = (lesson.provider, lesson.model, lesson.dialect)
        known = self._known.setdefault(key, [])
        if lesson in known or len(self) >= _MOST:
            return
        known[:] = [each for each in known if each.path != lesson.path] + [lesson]
        place = ".".join(lesson.path)
        extra = {"provider": lesson.provider, "model": lesson.model, "parameter": place}
        logger.warning("parameter_refused", extra=extra)
        if self._file is not None:
            _note(self._file, lesson)


def _tell(report: Report, lesson: Lesson) -> None:
    how = "asked as it says" if lesson.allowed else "asked without it"
    reason = f"{lesson.model} refused it ({lesson.said}); {how} (rule {RULE}, seen)"
    report.add("approximated", place_of(lesson), reason, rule=RULE)


def _parsed(body: bytes) -> dict[str, Any] | None:
    try:
        wire = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return wire if isinstance(wire, dict) else None


def _param(raw: bytes | None) -> str | None:
    """The parameter that an error names in a field of its own, as OpenAI's do."""
    body = None if raw is None else _parsed(raw)
    error = (body or {}).get("error")
    param = error.get("param") if isinstance(error, dict) else None
    return param if isinstance(param, str) else None


def _note(file: File, lesson: Lesson) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("ab") as notes:
            notes.write(msgspec.json.encode(lesson) + b"\n")
    except OSError as error:
        logger.warning("lesson_not_noted", extra={"reason": type(error).__name__})


def read_lessons(file: File) -> list[Lesson]:
    """The lessons that a gateway of this machine has noted, each once."""
    try:
        lines = file.read_bytes().splitlines()
    except OSError:
        return []
    found: dict[tuple[str, str, str, tuple[str, ...]], Lesson] = {}
    for line in lines:
        try:
            each = msgspec.json.decode(line, type=Lesson)
        except (msgspec.DecodeError, UnicodeError):
            continue
        found[each.provider, each.model, each.dialect, each.path] = each
    return list(found.values())
