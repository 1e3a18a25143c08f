"""Embeddings of the Gemini API, one content or several, and of Vertex AI: its `predict`, and its
`embedContent`, which has the options in an object of their own."""

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
_NAMES = {
    "gemini": {"task_type": "taskType", "output_dimensionality": "outputDimensionality"},
    "vertex": {"taskType": "task_type"},
}
"""Other spellings of fields."""


def _read(wire: Wire, model: str | None) -> EmbedRequest:
    requests = wire.get("requests")
    if requests is None:
        return _read_one(GEMINI, wire, "$").replace(model=model, single=True)
    if not isinstance(requests, list) or not requests:
        raise ReadError(_WHAT, "$.requests", "a list of requests", found(requests))
    places = [f"$.requests[{number}]" for number in range(len(requests))]
    read = [_read_one(GEMINI, *each) for each in zip(requests, places, strict=True)]
    for each, place in zip(requests, places, strict=True):
        named = each.get("model")
        if model is not None and named not in (None, model, f"models/{model}"):
            raise ReadError(_WHAT, f"{place}.model", f"models/{model}, as in the path", str(named))
    return _together(read, places).replace(model=model)


def _together(read: list[EmbedRequest], places: list[str]) -> EmbedRequest:
    first = read[0]
    for each, place in zip(read, places, strict=True):
        if each.replace(inputs=first.inputs) != first or each.raw != first.raw:
            text = "the same task type, title and dimensions as the first"
            raise ReadError(_WHAT, place, text, "other ones")
    return first.replace(inputs=tuple([each.inputs[0] for each in read]))


def _read_one(form: Form, wire: Any, place: str) -> EmbedRequest:
    if not isinstance(wire, dict):
        raise ReadError(_WHAT, place, "an object", found(wire))
    wire = {_NAMES[form.name].get(name, name): value for name, value in wire.items()}
    parts = inside(wire.get("content"), "parts")
    if isinstance(parts, dict):
        parts = [parts]
    if not isinstance(parts, list) or not parts:
        raise ReadError(_WHAT, f"{place}.content.parts", "a list of parts", found(parts))
    blocks = [_read_part(part) for part in parts]
    only = blocks[0]
    alone = len(blocks) == 1 and isinstance(only, TextBlock)
    content: EmbedInput = only.text if alone and isinstance(only, TextBlock) else tuple(blocks)
    task = form.fields["input_type"].key
    if wire.get(task) == "TASK_TYPE_UNSPECIFIED":
        del wire[task]
    return EmbedRequest((content,), **read_fields(form, wire, ("model", "content", _CONFIG)))


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


def _read_vertex(wire: Wire, model: str | None) -> EmbedRequest:
    listed = wire.get("instances")
    if listed is None:
        config = wire.get(_CONFIG)
        options = config if isinstance(config, dict) else {}
        return _read_one(VERTEX, {**wire, **options}, "$").replace(model=model, single=True)
    if not isinstance(listed, list) or not listed:
        raise ReadError(_WHAT, "$.instances", "a list of instances", found(listed))
    parameters = wire.get("parameters") or {}
    if not isinstance(parameters, dict):
        raise ReadError(_WHAT, "$.parameters", "an object", found(parameters))
    places = [f"$.instances[{number}]" for number in range(len(listed))]
    read = [_read_instance(*each, parameters) for each in zip(listed, places, strict=True)]
    return _together(read, places).replace(model=model)


def _read_instance(each: Any, place: str, parameters: Wire) -> EmbedRequest:
    text = inside(each, "content")
    if not isinstance(text, str):
        raise ReadError(_WHAT, f"{place}.content", "a text", found(text))
    return _read_one(VERTEX, {**parameters, **each, "content": {"parts": {"text": text}}}, place)


def _write_vertex(embeddings: Embeddings, request: EmbedRequest) -> Wire:
    """The number of tokens of each of several inputs is unknown."""
    if request.single:
        return _write_answer(embeddings, request)
    made: list[Wire] = [{"values": vector} for vector in embeddings.vectors]
    if embeddings.usage is not None and len(made) == 1:
        made[0]["statistics"] = {"token_count": embeddings.usage.input_tokens, "truncated": False}
    return {"predictions": [{"embeddings": each} for each in made]}


_CONFIG = "embedContentConfig"
_PARAMETERS = ("outputDimensionality", "autoTruncate")
VERTEX = Form(
    "vertex",
    {
        "dimensions": Field("outputDimensionality"),
        "input_type": Field("task_type", _TASKS),
        "title": Field("title"),
        "truncate": Field("autoTruncate", {"end": True, "none": False}),
    },
    _read_vertex,
    _write_predict,
    _read_predictions,
    _write_vertex,
    most=250,
)


def _write_content(request: EmbedRequest, report: Report) -> Wire:
    config = write_fields(VERTEX_CONTENT, request, report)
    wire: Wire = {"content": {"parts": _parts(0, request.inputs[0])}}
    return {**wire, _CONFIG: config} if config else wire


VERTEX_CONTENT = Form(
    "vertex-content",
    {**_FIELDS, "truncate": VERTEX.fields["truncate"]},
    _read_vertex,
    _write_content,
    _read_answer,
    most=1,
)
"""For Vertex's newer models, which `predict` does not support."""
