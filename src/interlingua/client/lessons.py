"""Lessons of refusals, for this process: a parameter that a model refused is not sent to it again.

A lesson belongs to the tenant whose request was refused. Once a second tenant has learned the same,
it holds for all. Lessons expire, and their number is bounded for each tenant and overall. A file
lists them for `interlingua models --learned`; it is never read back."""

from __future__ import annotations

import logging
import os
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from pathlib import Path as File
from typing import NamedTuple

import msgspec

from interlingua.adapt.fit.lessons import (
    RULE,
    Lesson,
    Members,
    Path,
    members_of,
    place_of,
    refused_in,
    repaired,
)
from interlingua.client.errors import CallError
from interlingua.client.targets import Prepared, Target, Targets
from interlingua.model.exchange import ErrorKind
from interlingua.model.losses import Report
from interlingua.model.reasons import because

logger = logging.getLogger(__name__)
SECONDS = 3600.0
"""How long a lesson holds: models and the gateways of providers change."""
OF_A_TENANT = 100
"""The most lessons of one tenant; beyond that, the least recently used one is removed."""
OVERALL = 1000
"""Lessons of all tenants, and as many that hold for all. The tenant with most has to give way."""
_FILE_BYTES = 2**20
"""Size of the file at which its older half is removed."""

_Model = tuple[str, str, str]


class Repair(NamedTuple):
    """A refused request in the form to retry, and the lesson if that succeeds."""

    prepared: Prepared
    lesson: Lesson | None


class Lessons:
    """The lessons of all tenants; `file` is where they are listed, if anywhere."""

    def __init__(
        self, file: File | None = None, *, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._file = file
        self._now = now
        self._tenants: dict[str, _Shelf] = {}
        self._shared = _Shelf()
        self._listed: set[Lesson] = set()
        self.is_empty = True
        """Whether nothing was learned yet."""
        if file is not None:
            _remove_old_lines(file)

    def __len__(self) -> int:
        """The number of lessons of tenants; those for everybody are among them."""
        return sum(shelf.size for shelf in self._tenants.values())

    def of(self, tenant: str) -> TenantLessons:
        """The lessons as one tenant sees them."""
        return TenantLessons(self, tenant)

    def known(self, tenant: str, model: _Model) -> list[Lesson]:
        """The lessons for a tenant's requests to a model."""
        shelves = (self._shared, self._tenants.get(tenant))
        found: dict[Path, Lesson] = {}
        for shelf in shelves:
            if shelf is not None and model in shelf.models:
                found.update(shelf.used(model, self._now()))
        return list(found.values())

    def learn(self, tenant: str, lesson: Lesson) -> None:
        """The repaired request was accepted: the next one is repaired before it is sent."""
        now, self.is_empty = self._now(), False
        shelf = self._tenants.setdefault(tenant, _Shelf())
        confirmed = any(
            other.holds(lesson, now) for name, other in self._tenants.items() if name != tenant
        )
        shelf.put(lesson, now + SECONDS, OF_A_TENANT)
        if confirmed:
            self._shared.put(lesson, now + SECONDS, OVERALL)
        while len(self) > OVERALL:
            max(self._tenants.values(), key=lambda each: each.size).drop_oldest()
        self._tenants = {name: each for name, each in self._tenants.items() if each.size}
        if lesson in self._listed:
            return
        if len(self._listed) >= OVERALL:
            self._listed.clear()
        self._listed.add(lesson)
        extra = {"provider": lesson.provider, "model": lesson.model, "parameter": lesson.name}
        logger.warning("parameter_refused", extra=extra)
        if self._file is not None:
            _add_line(self._file, lesson)


class _Shelf:
    """Lessons by model, the least recently used model first, each with the time of its end."""

    def __init__(self) -> None:
        self.models: OrderedDict[_Model, dict[Path, tuple[Lesson, float]]] = OrderedDict()
        self.size = 0

    def used(self, model: _Model, now: float) -> dict[Path, Lesson]:
        self.models.move_to_end(model)
        held = self.models[model]
        for path in [path for path, (_, end) in held.items() if end <= now]:
            self._drop(model, path)
        return {path: lesson for path, (lesson, _) in held.items()}

    def holds(self, lesson: Lesson, now: float) -> bool:
        held = self.models.get(_model_of(lesson), {}).get(lesson.path)
        return held is not None and held[0] == lesson and held[1] > now

    def put(self, lesson: Lesson, end: float, most: int) -> None:
        model = _model_of(lesson)
        held = self.models.setdefault(model, {})
        self.size += lesson.path not in held
        held[lesson.path] = lesson, end
        self.models.move_to_end(model)
        while self.size > most:
            self.drop_oldest()

    def drop_oldest(self) -> None:
        model, held = next(iter(self.models.items()))
        self._drop(model, next(iter(held)))

    def _drop(self, model: _Model, path: Path) -> None:
        held = self.models[model]
        del held[path]
        self.size -= 1
        if not held:
            del self.models[model]


class TenantLessons:
    """The lessons that hold for the requests of one tenant."""

    def __init__(self, lessons: Lessons, tenant: str) -> None:
        self.all = lessons
        self._tenant = tenant

    def applied(self, prepared: Prepared, targets: Targets, stream: bool) -> Prepared:
        """The request as its model accepts it. The body of a model with lessons is read once for
        all of them, and no deeper than its outermost keys."""
        known = self.all.known(self._tenant, _model_key(prepared.target))
        body = members_of(prepared.http.body) if known else None
        return prepared if body is None else _repaired(prepared, body, known, targets, stream)

    def repair(
        self,
        prepared: Prepared,
        error: CallError,
        reply: bytes | None,
        targets: Targets,
        stream: bool,
    ) -> Repair | None:
        """A request to send in place of one that was refused for one parameter; None where the
        caller has to decide. `reply` is the body of the refusal."""
        if error.status not in (400, 422) or error.kind is not ErrorKind.INVALID_REQUEST:
            return None
        body, target = members_of(prepared.http.body), prepared.target
        refused = None
        if body is not None:
            refused = refused_in(error.problem, body, target.name, _param(reply))
        if body is None or refused is None:
            return None
        lesson = Lesson(*_model_key(target), refused.path, refused.allowed)
        again = _repaired(prepared, body, [lesson], targets, stream)
        return Repair(again, lesson if refused.is_general else None)

    def learn(self, lesson: Lesson) -> None:
        self.all.learn(self._tenant, lesson)


def _model_key(target: Target) -> _Model:
    return target.provider.key, target.name, target.dialect.name


def _model_of(lesson: Lesson) -> _Model:
    return lesson.provider, lesson.model, lesson.dialect


def _repaired(
    prepared: Prepared, body: Members, lessons: Iterable[Lesson], targets: Targets, stream: bool
) -> Prepared:
    body, used = repaired(body, lessons)
    if not used:
        return prepared
    old = prepared.http
    addressed = targets.address(prepared.target, body, "request", stream)
    http = msgspec.structs.replace(addressed, headers={**old.headers, **addressed.headers})
    for lesson in used:
        _report(prepared.report, lesson)
    return msgspec.structs.replace(prepared, http=http)


def _report(report: Report, lesson: Lesson) -> None:
    how = "sent with a lower or allowed value" if lesson.allowed else "sent without it"
    reason = because("learned", name=lesson.model, how=how)
    place = place_of(lesson)
    if not any(loss.path == place and loss.rule == RULE for loss in report.entries):
        report.add("approximated", place, reason, rule=RULE)


def _param(reply: bytes | None) -> str | None:
    """The parameter that an error names in a field of its own, as OpenAI's do."""
    try:
        error = msgspec.json.decode(reply or b"", type=_ErrorReply).error
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return error.param if error is not None else None


class _NamedParam(msgspec.Struct):
    param: str | None = None


class _ErrorReply(msgspec.Struct):
    error: _NamedParam | None = None


# -- the file -------------------------------------------------------------------------------------


def read_lessons(file: File) -> list[Lesson]:
    """The lessons that gateways of this machine have listed, each once."""
    try:
        lines = file.read_bytes().splitlines()
    except OSError:
        return []
    found = (_lesson_in(line) for line in lines)
    return list({_model_of(each) + each.path: each for each in found if each is not None}.values())


def _lesson_in(line: bytes) -> Lesson | None:
    """None for a line of another form, such as one of a version before decision 0038."""
    try:
        return msgspec.json.decode(line, type=Lesson)
    except (msgspec.DecodeError, UnicodeError):
        return None


def _add_line(file: File, lesson: Lesson) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("ab") as lines:
            lines.write(msgspec.json.encode(lesson) + b"\n")
            size = lines.tell()
        if size > _FILE_BYTES:
            listed = read_lessons(file)
            _write(file, listed[len(listed) // 2 :])
    except OSError as error:
        logger.warning("learned_rule_not_listed", extra={"reason": type(error).__name__})


def _remove_old_lines(file: File) -> None:
    """Removes lines of older versions, which repeat a provider's answer to one of the tenants."""
    try:
        lines = file.read_bytes().splitlines()
        lessons = [each for each in map(_lesson_in, lines) if each is not None]
        if len(lessons) < len(lines):
            _write(file, lessons)
            extra = {"removed": len(lines) - len(lessons), "kept": len(lessons)}
            logger.warning("learned_lines_removed", extra=extra)
    except FileNotFoundError:
        return
    except OSError as error:
        logger.warning("learned_lines_not_removed", extra={"reason": type(error).__name__})


def _write(file: File, lessons: Iterable[Lesson]) -> None:
    made = file.with_name(f"{file.name}.{os.getpid()}")
    made.write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in lessons))
    made.replace(file)
