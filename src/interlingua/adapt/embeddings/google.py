"""Embeddings of the Gemini API, one content or several, and of Vertex AI's `predict`."""

from __future__ import annotations

from typing import Any

from interlingua.adapt.embeddings.form import (
    Answer,
    Field,
    Form,
    Media,
    Wire,
    count,
    inside,
    media_of,
    read_fields,
    texts_of,
    unwritable,
    vectors_of,
    write_fields,
)
from interlingua.errors import ReadError, found
from interlingua.model.blocks import TextBlock
from interlingua.model.decisions import Embeddings, EmbedInput, EmbedRequest
from interlingua.model.losses import Report

_TASKS = {
    "query": "RETRIEVAL_QUERY",
    "document": "RETRIEVAL_DOCUMENT",
    "similarity": "SEMANTIC_SIMILARITY",
    "classification": "CLASSIFICATION",
    "clustering": "CLUSTERING",
    "question": "QUESTION_ANSWERING",
    "fact": "FACT_VERIFICATION",
    "code_query": "CODE_RETRIEVAL_QUERY",
}
_WHAT = "gemini embeddings request"
_SNAKE = {"task_type": "taskType", "output_dimensionality": "outputDimensionality"}


def _read(wire: Wire, model: str | None) -> EmbedRequest:
    requests = wire.get("requests")
    if requests is None:
        requests = [wire]
    if not isinstance(requests, list) or not requests:
        raise ReadError(_WHAT, "$.requests", "a list of requests", found(requests))
    read = [_read_one(each, number) for number, each in enumerate(requests)]
    first = read[0]
    for number, each in enumerate(read):
        if each.replace(inputs=first.inputs) != first or each.raw != first.raw:
            text = "the same task type, title and dimensions as the first"
            raise ReadError(_WHAT, f"$.requests[{number}]", text, "other ones")
    inputs = tuple([each.inputs[0] for each in read])
    return first.replace(inputs=inputs, model=model, single="requests" not in wire)


def _read_one(wire: Any, number: int) -> EmbedRequest:
    if not isinstance(wire, dict):
        raise ReadError(_WHAT, f"$.requests[{number}]", "an object", found(wire))
    wire = {_SNAKE.get(name, name): value for name, value in wire.items()}
    parts = inside(wire.get("content"), "parts")
    if isinstance(parts, dict):
        parts = [parts]
    if not isinstance(parts, list) or not parts:
        place = f"$.requests[{number}].content.parts"
        raise ReadError(_WHAT, place, "a list of parts", found(parts))
    blocks = [_read_part(part) for part in parts]
    only = blocks[0]
    alone = len(blocks) == 1 and isinstance(only, TextBlock)
    content: EmbedInput = only.text if alone and isinstance(only, TextBlock) else tuple(blocks)
    if wire.get("taskType") == "TASK_TYPE_UNSPECIFIED":
        del wire["taskType"]
    return EmbedRequest((content,), **read_fields(GEMINI, wire, ("model", "content")))


def _read_part(part: Any) -> Media:
    match part:
        case {"text": str(text)}:
            return TextBlock(text)
        case {"inlineData": {"mimeType": str(kind), "data": str(data)}}:
            return media_of(kind, data)
        case {"inline_data": {"mime_type": str(kind), "data": str(data)}}:
            return media_of(kind, data)
    raise ReadError(_WHAT, "$.content.parts", "text or inline data", found(part))


def _write(request: EmbedRequest, report: Report) -> Wire:
    fields = write_fields(GEMINI, request, report)
    name = f"models/{(request.model or '').removeprefix('models/')}"
    requests = [
        {"model": name, "content": {"parts": _parts(number, each)}, **fields}
        for number, each in enumerate(request.inputs)
    ]
    return {"requests": requests}


def _parts(number: int, each: EmbedInput) -> list[Wire]:
    if isinstance(each, str):
        return [{"text": each}]
    return [_part(number, each, part) for part in each]


def _part(number: int, whole: EmbedInput, part: Any) -> Wire:
    if isinstance(part, TextBlock):
        return {"text": part.text}
    source = getattr(part, "source", None)
    if source is None or source.kind != "base64" or part.media_type is None:
        raise unwritable(GEMINI, number, whole)
    return {"inlineData": {"mimeType": part.media_type, "data": source.data}}


def _read_answer(answer: Answer) -> Embeddings:
    wire = answer.wire
    listed = wire.get("embeddings")
    if listed is None:
        listed = [wire.get("embedding")]
    vectors = vectors_of("gemini", [inside(each, "values") for each in listed])
    return Embeddings(vectors, None, count(inside(wire, "usageMetadata", "promptTokenCount")))


def _write_answer(embeddings: Embeddings, request: EmbedRequest) -> Wire:
    made = [{"values": vector} for vector in embeddings.vectors]
    wire: Wire = {"embedding": made[0]} if request.single else {"embeddings": made}
    if embeddings.usage is not None and embeddings.usage.input_tokens is not None:
        wire["usageMetadata"] = {"promptTokenCount": embeddings.usage.input_tokens}
    return wire


_FIELDS = {
    "dimensions": Field("outputDimensionality"),
    "input_type": Field("taskType", _TASKS),
    "title": Field("title"),
}
GEMINI = Form(
    "gemini",
    _FIELDS,
    _read,
    _write,
    _read_answer,
    _write_answer,
    most=100,
)


def _write_predict(request: EmbedRequest, report: Report) -> Wire:
    fields = write_fields(VERTEX, request, report)
    texts = texts_of(VERTEX, request, report)
    parameters = {name: fields.pop(name) for name in _PARAMETERS if name in fields}
    wire: Wire = {"instances": [{"content": text, **fields} for text in texts]}
    return {**wire, "parameters": parameters} if parameters else wire


def _read_predictions(answer: Answer) -> Embeddings:
    listed = answer.wire.get("predictions")
    if not isinstance(listed, list):
        raise ReadError("vertex embeddings", "$.predictions", "a list", found(listed))
    vectors = vectors_of("vertex", [inside(each, "embeddings", "values") for each in listed])
    tokens = [inside(each, "embeddings", "statistics", "token_count") for each in listed]
    known = all(isinstance(each, int | float) for each in tokens)
    return Embeddings(vectors, None, count(int(sum(tokens))) if known else None)


_PARAMETERS = ("outputDimensionality", "autoTruncate")
VERTEX = Form(
    "vertex",
    {
        "dimensions": Field("outputDimensionality"),
        "input_type": Field("task_type", _TASKS),
        "title": Field("title"),
        "truncate": Field("autoTruncate", {"end": True, "none": False}),
    },
    _read,
    _write_predict,
    _read_predictions,
    most=250,
)
