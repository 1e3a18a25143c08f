"""Embeddings of OpenAI and compatible servers, and Mistral's, which has other names."""

from __future__ import annotations

from interlingua.adapt.embeddings.form import (
    Answer,
    Field,
    Form,
    Wire,
    count,
    inside,
    read_fields,
    read_inputs,
    text_of,
    texts_of,
    to_base64,
    vectors_of,
    write_fields,
)
from interlingua.errors import ReadError, found
from interlingua.model.decisions import Embeddings, EmbedInput, EmbedRequest
from interlingua.model.losses import Report

_OWN = ("model", "input", "encoding_format", "input_type")
_TYPES = {
    **{name: name for name in ("query", "document", "classification", "clustering", "image")},
    **{"search_query": "query", "search_document": "document", "passage": "document"},
    **{"similarity": "similarity", "question": "question", "fact": "fact"},
}
"""`input_type` is no parameter of OpenAI's, but clients send it to servers that have one."""


def _read(wire: Wire, model: str | None) -> EmbedRequest:
    return _read_as(OPENAI, wire, model)


def _read_mistral(wire: Wire, model: str | None) -> EmbedRequest:
    return _read_as(MISTRAL, wire, model)


def _read_as(form: Form, wire: Wire, model: str | None) -> EmbedRequest:
    inputs = read_inputs(form, "input", wire.get("input"), tokens=True)
    encoding, kind = wire.get("encoding_format"), wire.get("input_type")
    if encoding is not None and encoding not in ("float", "base64"):
        what = f"{form.name} embeddings request"
        raise ReadError(what, "$.encoding_format", "float or base64", found(encoding))
    if kind is not None and (not isinstance(kind, str) or kind not in _TYPES):
        what = f"{form.name} embeddings request"
        raise ReadError(what, "$.input_type", f"one of {', '.join(_TYPES)}", found(kind))
    fields = read_fields(form, wire, _OWN)
    fields["input_type"] = _TYPES[kind] if kind is not None else None
    return EmbedRequest(inputs, model, encodings=(encoding,) if encoding else (), **fields)


def _write(request: EmbedRequest, report: Report) -> Wire:
    inputs = [_input(number, each, report) for number, each in enumerate(request.inputs)]
    return {"model": request.model, "input": inputs, **write_fields(OPENAI, request, report)}


def _input(number: int, each: EmbedInput, report: Report) -> str | list[int]:
    tokens = [token for token in each if isinstance(token, int)]
    return tokens if tokens else text_of(OPENAI, number, each, report)


def _write_mistral(request: EmbedRequest, report: Report) -> Wire:
    inputs = texts_of(MISTRAL, request, report)
    return {"model": request.model, "input": inputs, **write_fields(MISTRAL, request, report)}


def _read_answer(answer: Answer) -> Embeddings:
    wire = answer.wire
    data = wire.get("data")
    if not isinstance(data, list) or not all(isinstance(each, dict) for each in data):
        raise ReadError("openai embeddings", "$.data", "a list of embeddings", found(data))
    ordered = sorted(data, key=lambda each: index if type(index := each.get("index")) is int else 0)
    vectors = vectors_of("openai", [each.get("embedding") for each in ordered])
    return Embeddings(vectors, wire.get("model"), count(inside(wire, "usage", "prompt_tokens")))


def _write_answer(embeddings: Embeddings, request: EmbedRequest) -> Wire:
    packed = "base64" in request.encodings
    data = [
        {
            "object": "embedding",
            "index": index,
            "embedding": to_base64(vector) if packed else vector,
        }
        for index, vector in enumerate(embeddings.vectors)
    ]
    tokens = (embeddings.usage.input_tokens if embeddings.usage else None) or 0
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "data": data, "model": embeddings.model, "usage": usage}


def _write_mistral_answer(embeddings: Embeddings, request: EmbedRequest) -> Wire:
    return {"id": embeddings.id, **_write_answer(embeddings, request)}


OPENAI = Form(
    "openai",
    {"dimensions": Field("dimensions"), "user": Field("user")},
    _read,
    _write,
    _read_answer,
    _write_answer,
)
MISTRAL = Form(
    "mistral",
    {"dimensions": Field("output_dimension")},
    _read_mistral,
    _write_mistral,
    _read_answer,
    _write_mistral_answer,
    most=512,
)
