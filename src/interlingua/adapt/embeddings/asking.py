"""Converts embedding requests between forms: the form of a model, and the bodies for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from interlingua.adapt.embeddings.cohere import BEDROCK_COHERE, COHERE
from interlingua.adapt.embeddings.form import MADE, Form, Wire, places_of
from interlingua.adapt.embeddings.google import GEMINI, VERTEX, VERTEX_CONTENT
from interlingua.adapt.embeddings.openai import MISTRAL, OPENAI
from interlingua.adapt.embeddings.others import OLLAMA, TITAN, TITAN_V1
from interlingua.adapt.target import Target
from interlingua.errors import ReadError, WriteError
from interlingua.model.decisions import Embeddings, EmbedRequest
from interlingua.model.losses import Report
from interlingua.model.message import Message
from interlingua.model.metadata import Usage
from interlingua.model.reasons import because
from interlingua.profiles.estimate.estimator import estimate_input_tokens
from interlingua.providers.provider import ProviderSetupError

FORMS = {
    form.name: form
    for form in (
        *(OPENAI, MISTRAL, GEMINI, VERTEX, VERTEX_CONTENT),
        *(COHERE, BEDROCK_COHERE, OLLAMA, TITAN, TITAN_V1),
    )
}
_CHAT = "/chat/completions"
LONGEST_TOKEN = 4
"""Bytes of a text for each token, by which a count that no provider reports is estimated."""


class Place(NamedTuple):
    """The path at which a model makes embeddings, and their form."""

    path: str
    form: Form


def place_of(target: Target) -> Place:
    """The embeddings endpoint of a model. Servers with OpenAI's API have it beside chat."""
    provider = target.provider
    for each in provider.embeddings:
        if not each.models or any(fnmatchcase(target.name, name) for name in each.models):
            return Place(each.path, FORMS[each.form])
    chat = provider.dialects.get("openai-chat")
    if provider.embeddings or chat is None or not chat.request.endswith(_CHAT):
        raise ProviderSetupError(
            provider.key, f"{target.name!r} has no embeddings API at this provider"
        )
    return Place(f"{chat.request.removesuffix(_CHAT)}/embeddings", OPENAI)


def read_request(form: Form, body: bytes, model: str | None) -> EmbedRequest:
    """The request in a body of this form."""
    what = f"{form.name} embeddings request"
    try:
        wire = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise ReadError(what, expected="JSON") from None
    if not isinstance(wire, dict):
        raise ReadError(what, "$", "an object")
    return form.read(wire, model)


def write_requests(form: Form, request: EmbedRequest, report: Report) -> list[Wire]:
    """The bodies for a provider of this form: several if one may not have all inputs. Losses are
    the same in each, and reported once."""
    odd = [each for each in request.encodings if each not in MADE]
    if odd:
        problem = (
            f"vectors of type {odd[0]} are available only from their own vendor; request float"
        )
        raise WriteError(f"{form.name} embeddings request", "$.encodings", problem)
    parts = list(_parts(request, form.most))
    first = form.write(parts[0], report)
    known = {(entry.path, entry.code) for entry in report.entries}
    bodies = [first]
    for number, part in enumerate(parts[1:], 1):
        own = Report(form.name)
        bodies.append(form.write(part, own))
        for entry in own.entries:
            path = entry.path
            if path.startswith("$.inputs["):
                index = int(path[9:].partition("]")[0]) + number * form.most
                entry = replace(entry, path=f"$.inputs[{index}]")
            elif (path, entry.code) in known:
                continue
            report.entries.append(entry)
    return bodies


def locate(form: Form, body: bytes, report: Report) -> None:
    """Adds the places of the losses in the client's body."""
    if report.entries:
        wire = msgspec.json.decode(body)
        report.entries[:] = [
            entry if entry.at else replace(entry, at=places_of(form, wire, entry.path))
            for entry in report.entries
        ]


def located(form: Form, body: bytes, error: WriteError) -> WriteError:
    """The error with the place in the client's body."""
    places = places_of(form, msgspec.json.decode(body), error.path)
    return WriteError(f"{form.name} embeddings request", ", ".join(places) or "$", error.problem)


def _parts(request: EmbedRequest, most: int) -> Iterator[EmbedRequest]:
    for start in range(0, len(request.inputs), most):
        yield request.replace(inputs=request.inputs[start : start + most])


def joined(answers: Sequence[Embeddings], request: EmbedRequest, report: Report) -> Embeddings:
    """One answer of several. Tokens that a provider does not report are estimated."""
    vectors = tuple([vector for answer in answers for vector in answer.vectors])
    if len(vectors) != len(request.inputs):
        expected = f"{len(request.inputs)} vectors"
        raise ReadError("embeddings", "$", expected, str(len(vectors)))
    usage = usage_of(answers, request)
    if usage.estimated:
        report.add("approximated", "$.usage", because("usage_estimated"))
    return Embeddings(vectors, answers[0].model, usage, answers[0].id)


def usage_of(answers: Sequence[Embeddings], request: EmbedRequest) -> Usage:
    """The tokens of answers; if one does not report them, those of the whole request."""
    counts = [answer.usage.input_tokens if answer.usage else None for answer in answers]
    known = [each for each in counts if each is not None]
    if len(known) < len(counts):
        return Usage(input_tokens=estimated(request), output_tokens=0, estimated=True)
    return Usage(input_tokens=sum(known), output_tokens=0)


def estimated(request: EmbedRequest) -> int:
    """An estimate of the tokens of all inputs."""
    texts = [Message.user(each) for each in request.inputs if isinstance(each, str)]
    tokens = estimate_input_tokens(texts, (), request.model or "") if texts else 0
    for each in request.inputs:
        if not isinstance(each, str):
            tokens += sum(_tokens(part) for part in each)
    return tokens


def _tokens(part: Any) -> int:
    if isinstance(part, int):
        return 1
    text = getattr(part, "text", None)
    return 1000 if text is None else len(text.encode()) // LONGEST_TOKEN + 1
