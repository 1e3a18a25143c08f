"""Decisions: from an API that makes them where the model has one, else from a chat model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import msgspec

from interlingua.adapt.decisions.chat import chat_request, read_response, takes_letters
from interlingua.adapt.decisions.form import Form, Wire
from interlingua.adapt.decisions.forms import FORMS, read_decisions, write_request
from interlingua.client.answer import Attempt
from interlingua.client.attempt import Asker, Heard, OpenReply, with_cost
from interlingua.client.retry import Clock
from interlingua.client.targets import Prepared, Target
from interlingua.errors import InterlinguaError, ReadError
from interlingua.model.decisions import (
    DecisionAnswer,
    DecisionRequest,
    Decisions,
    Question,
    QuestionOption,
)
from interlingua.model.losses import Report
from interlingua.model.metadata import Usage

QuestionLike = Question | str | Mapping[str, Any]
"""A question, the text of a predicate, or a mapping with the fields of one."""


class Decided(msgspec.Struct, frozen=True, eq=False, repr_omit_defaults=True):
    """Answers in the order of the questions; `report` lists approximations."""

    answers: tuple[DecisionAnswer, ...]
    model: str
    report: Report
    usage: Usage | None = None
    latency_ms: int | None = None
    attempts: tuple[Attempt, ...] = ()

    def __getitem__(self, name: str) -> DecisionAnswer:
        """The answer to the question of this name."""
        for answer in self.answers:
            if answer.name == name:
                return answer
        raise KeyError(name)


class Asked(NamedTuple):
    """A provider's decisions, and its reply."""

    decisions: Decisions
    reply: OpenReply
    form: Form | None
    """None where a chat model answered."""


class Place(NamedTuple):
    """The path at which a model makes decisions, and their form."""

    path: str
    form: Form


def place_of(target: Target) -> Place | None:
    """The decision endpoint of a model; None if a chat model has to decide."""
    for each in target.provider.decisions:
        if not each.models or any(fnmatchcase(target.name, name) for name in each.models):
            return Place(each.path, FORMS[each.form])
    return None


async def ask(
    asker: Asker,
    request: DecisionRequest,
    target: Target,
    clock: Clock,
    heard: Heard | None = None,
    *,
    extra: Mapping[str, str] | None = None,
    report: Report,
    check: Callable[[], None] | None = None,
) -> Asked:
    """The decisions of one model. `extra` are headers; `check` is called when the losses of the
    request are known, and may refuse them."""
    await asker.targets.start(target)
    request, place, letters = request.replace(model=target.name), place_of(target), False
    if place is None:
        prepared, letters = _by_chat(asker, request, target, report)
    else:
        body = msgspec.json.encode(write_request(place.form, request, report))
        http = asker.targets.address(target, {}, "request", body=body, path=place.path)
        prepared = Prepared(target, http, report)
    if check is not None:
        check()
    opened = await asker.open(prepared.with_headers(extra or {}), clock, False, heard)
    body = await opened.body(asker.max_bytes)
    if place is None:
        return Asked(read_response(opened.read(body), request, report, letters), opened, None)
    try:
        return Asked(read_decisions(place.form, _wire(body), request), opened, place.form)
    except ReadError as error:
        failed = opened.failure(error)
    raise failed


def _by_chat(
    asker: Asker, request: DecisionRequest, target: Target, report: Report
) -> tuple[Prepared, bool]:
    """The request to a chat model, and whether it reports the probabilities of its tokens."""
    if takes_letters(request, target.dialect.name):
        own = Report(target.dialect.name)
        prepared = asker.targets.prepare(chat_request(request, own, True), target, False)
        if not any("logprobs" in entry.path for entry in prepared.report.entries):
            report.extend(own)
            return prepared, True
    prepared = asker.targets.prepare(chat_request(request, report, False), target, False)
    return prepared, False


def _wire(body: bytes) -> Wire:
    try:
        wire = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        wire = None
    if not isinstance(wire, dict):
        raise ReadError("decisions", expected="a JSON object")
    return wire


async def decided(asker: Asker, request: DecisionRequest, target: Target, clock: Clock) -> Decided:
    """The same for clients in Python, with its cost."""
    place = place_of(target)
    report = Report(target.dialect.name if place is None else place.form.name)
    decisions, _, _ = await ask(asker, request, target, clock, report=report)
    usage = with_cost(decisions.usage, target.model)
    return Decided(decisions.answers, target.model, report, usage)


def as_questions(
    questions: QuestionLike | Sequence[QuestionLike] | Mapping[str, QuestionLike],
) -> tuple[Question, ...]:
    """Questions from a program's values: one, several, or several under their names."""
    if not isinstance(questions, str | Question | Mapping | Sequence):
        raise TypeError(f"questions are one, a list or a mapping of names; found {questions!r}")
    if isinstance(questions, Mapping) and "instructions" not in questions:
        named = [_question(each).replace(name=name) for name, each in questions.items()]
    elif isinstance(questions, str | Question | Mapping):
        named = [_question(questions)]
    else:
        named = [_question(each) for each in questions]
    if not named:
        raise InterlinguaError("there is nothing to decide: the list of questions is empty")
    for each in named:
        if not each.instructions.strip():
            raise InterlinguaError(f"a question needs instructions: {each.name or each}")
        if each.kind in ("choice", "score") and len(each.values) < 2:
            raise InterlinguaError(f"a {each.kind} needs at least two options: {each.name or each}")
    return tuple(named)


def _question(value: QuestionLike) -> Question:
    if isinstance(value, Question):
        return value
    if isinstance(value, str):
        return Question("predicate", value)
    unknown = value.keys() - {"kind", "instructions", "options", "choices", "levels", "name"}
    if unknown or not isinstance(value.get("instructions"), str):
        raise TypeError(
            "a question has `instructions` and, unless it is a predicate, `choices` or `levels`;"
            f" found {', '.join(map(str, value))}"
        )
    kind = "choice" if "choices" in value else "score" if "levels" in value else "predicate"
    options = value.get("choices") or value.get("levels") or value.get("options") or ()
    made = tuple([_option(each) for each in _pairs(options)])
    return Question(value.get("kind", kind), value["instructions"], made, value.get("name"))


def _pairs(options: Any) -> list[Any]:
    return list(options.items()) if isinstance(options, Mapping) else list(options)


def _option(value: Any) -> QuestionOption:
    if isinstance(value, QuestionOption):
        return value
    made = QuestionOption(*value) if isinstance(value, tuple) else QuestionOption(value)
    if not isinstance(made.value, str | bool):
        raise TypeError(f"an option is a text or a boolean; found {made.value!r}")
    return made
