"""Embeddings of Ollama, and of Amazon Titan on Bedrock."""

from __future__ import annotations

from interlingua.adapt.embeddings.form import (
    Answer,
    Field,
    Form,
    Wire,
    count,
    read_fields,
    read_inputs,
    texts_of,
    vectors_of,
    write_fields,
)
from interlingua.model.decisions import Embeddings, EmbedRequest
from interlingua.model.losses import Report


def _read(wire: Wire, model: str | None) -> EmbedRequest:
    key = "prompt" if "prompt" in wire and "input" not in wire else "input"
    inputs = read_inputs(OLLAMA, key, wire.get(key))
    fields = read_fields(OLLAMA, wire, ("model", key))
    return EmbedRequest(inputs, model, single=key == "prompt", **fields)


def _write(request: EmbedRequest, report: Report) -> Wire:
    inputs = texts_of(OLLAMA, request, report)
    return {"model": request.model, "input": inputs, **write_fields(OLLAMA, request, report)}


def _read_answer(answer: Answer) -> Embeddings:
    wire = answer.wire
    vectors = vectors_of("ollama", wire.get("embeddings"))
    return Embeddings(vectors, wire.get("model"), count(wire.get("prompt_eval_count")))


def _write_answer(embeddings: Embeddings, request: EmbedRequest) -> Wire:
    if request.single:  # of `/api/embeddings`, the older path
        return {"embedding": embeddings.vectors[0]}
    wire: Wire = {"model": embeddings.model, "embeddings": embeddings.vectors}
    if embeddings.usage is not None and embeddings.usage.input_tokens is not None:
        wire["prompt_eval_count"] = embeddings.usage.input_tokens
    return wire


OLLAMA = Form(
    "ollama",
    {
        "dimensions": Field("dimensions"),
        "truncate": Field("truncate", {"end": True, "none": False}),
    },
    _read,
    _write,
    _read_answer,
    _write_answer,
)


def _write_titan(request: EmbedRequest, report: Report) -> Wire:
    (text,) = texts_of(TITAN, request, report)
    return {"inputText": text, **write_fields(TITAN, request, report)}


def _write_v1(request: EmbedRequest, report: Report) -> Wire:
    (text,) = texts_of(TITAN_V1, request, report)
    return {"inputText": text, **write_fields(TITAN_V1, request, report)}


def _read_titan(answer: Answer) -> Embeddings:
    vectors = vectors_of("titan", [answer.wire.get("embedding")])
    return Embeddings(vectors, None, count(answer.wire.get("inputTextTokenCount")))


TITAN = Form("titan", {"dimensions": Field("dimensions")}, _read, _write_titan, _read_titan, most=1)
TITAN_V1 = TITAN._replace(name="titan-v1", fields={}, write=_write_v1)
