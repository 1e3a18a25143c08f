"""Vectors of texts: one or several requests to a model that makes embeddings, joined."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from interlingua.adapt.embeddings.asking import joined, place_of, write_requests
from interlingua.adapt.embeddings.form import Answer as EmbedAnswer
from interlingua.adapt.embeddings.form import Form
from interlingua.adapt.embeddings.form import Wire as EmbedWire
from interlingua.client.answer import Attempt
from interlingua.client.attempt import Asker, Heard, OpenReply, with_cost
from interlingua.client.retry import Clock
from interlingua.client.targets import Prepared, Target
from interlingua.errors import ReadError
from interlingua.model.decisions import Embeddings, EmbedRequest
from interlingua.model.losses import Report
from interlingua.model.metadata import Usage

AT_A_TIME = 4
"""Requests under way for one call, where a provider takes few inputs in each."""


class Embedded(msgspec.Struct, frozen=True, eq=False, repr_omit_defaults=True):
    """Vectors in the order of the inputs; `report` lists the losses of the request in the
    provider's dialect."""

    vectors: tuple[tuple[float, ...], ...]
    model: str
    report: Report
    usage: Usage | None = None
    latency_ms: int | None = None
    attempts: tuple[Attempt, ...] = ()


class Asked(NamedTuple):
    """A provider's answer, joined, and the last reply of it."""

    embeddings: Embeddings
    report: Report
    reply: OpenReply
    bodies: Sequence[bytes]


_Part = tuple[Embeddings, OpenReply, bytes]
Made = dict[tuple[str, int], _Part]
"""Answers to the parts of a request, by model and number."""


async def ask(
    asker: Asker,
    request: EmbedRequest,
    target: Target,
    clock: Clock,
    heard: Heard | None = None,
    *,
    own_body: bytes | None = None,
    extra: Mapping[str, str] | None = None,
    report: Report | None = None,
    made: Made | None = None,
) -> Asked:
    """Requests vectors from one model. `own_body` is a body in the provider's own form, sent
    instead of ours; `extra` are headers. Inputs that are in `made` are not requested again."""
    await asker.targets.start(target)
    path, form = place_of(target)
    report = Report(form.name) if report is None else report
    bodies = [own_body] if own_body is not None else []
    if not bodies:
        wires = write_requests(form, request.replace(model=target.name), report)
        bodies = [msgspec.json.encode(wire) for wire in wires]
    made = {} if made is None else made
    numbers = [number for number in range(len(bodies)) if (target.model, number) not in made]
    for start in range(0, len(numbers), AT_A_TIME):
        work: dict[int, Awaitable[_Part]] = {}
        for number in numbers[start : start + AT_A_TIME]:
            http = asker.targets.address(target, {}, "request", body=bodies[number], path=path)
            prepared = Prepared(target, http, report).with_headers(extra or {})
            work[number] = _once(asker, prepared, form, clock, heard)
        await _together(work, target.model, made)
    found = [made[target.model, number] for number in range(len(bodies))]
    reply = found[-1][1]
    try:
        whole = joined([each[0] for each in found], request, report)
    except ReadError as error:
        failed = reply.failure(error)
    else:
        return Asked(whole, report, reply, [each[2] for each in found])
    raise failed


async def _together(work: Mapping[int, Awaitable[_Part]], model: str, made: Made) -> None:
    """Adds all results to `made`, then raises the first failure."""
    done = await asyncio.gather(*work.values(), return_exceptions=True)
    for number, each in zip(work, done, strict=True):
        if not isinstance(each, BaseException):
            made[model, number] = each
    for each in done:
        if isinstance(each, BaseException):
            raise each


async def _once(
    asker: Asker, prepared: Prepared, form: Form, clock: Clock, heard: Heard | None
) -> _Part:
    opened = await asker.open(prepared, clock, False, heard)
    body = await opened.body(asker.max_bytes)
    try:
        return form.read_answer(EmbedAnswer(_wire(form, body), opened.headers)), opened, body
    except ReadError as error:
        failed = opened.failure(error)
    raise failed


def _wire(form: Form, body: bytes) -> EmbedWire:
    try:
        wire = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        wire = None
    if not isinstance(wire, dict):
        raise ReadError(f"{form.name} embeddings", expected="a JSON object")
    return wire


async def embedded(asker: Asker, request: EmbedRequest, target: Target, clock: Clock) -> Embedded:
    """The same for clients in Python, with its cost."""
    embeddings, report, _, _ = await ask(asker, request, target, clock)
    usage = with_cost(embeddings.usage, target.model)
    return Embedded(embeddings.vectors, target.model, report, usage)
