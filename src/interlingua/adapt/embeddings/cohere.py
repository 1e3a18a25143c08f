"""Embeddings of Cohere's API, version 2, and of its models on Bedrock."""

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
    read_inputs,
    texts_of,
    to_base64,
    unwritable,
    vectors_of,
    write_fields,
)
from interlingua.errors import ReadError, found
from interlingua.model.blocks import ImageBlock, TextBlock
from interlingua.model.decisions import Embeddings, EmbedInput, EmbedRequest
from interlingua.model.losses import Report
from interlingua.model.reasons import because

_WHAT = "cohere embeddings request"
_OWN = ("model", "texts", "images", "inputs", "embedding_types")
_TYPES = {
    "query": "search_query",
    "document": "search_document",
    "classification": "classification",
    "clustering": "clustering",
    "image": "image",
}
_NEAR = {"question": "search_query", "fact": "search_query", "code_query": "search_query"}
_TRUNCATE = {"none": "NONE", "start": "START", "end": "END"}
USUAL = "search_document"
_DATA = "data:"


def _read(wire: Wire, model: str | None) -> EmbedRequest:
    encodings = wire.get("embedding_types") or ("float",)
    if not all(isinstance(each, str) for each in encodings):
        raise ReadError(_WHAT, "$.embedding_types", "a list of words", found(encodings))
    return EmbedRequest(
        _inputs(wire), model, encodings=tuple(encodings), **read_fields(COHERE, wire, _OWN)
    )


def _inputs(wire: Wire) -> tuple[EmbedInput, ...]:
    if wire.get("texts") is not None:
        return read_inputs(COHERE, "texts", wire["texts"])
    listed = wire.get("inputs")
    if listed is None:
        listed = [{"content": [{"type": "image", "url": url}]} for url in wire.get("images") or ()]
    if not isinstance(listed, list) or not listed:
        raise ReadError(_WHAT, "$", "texts, images or inputs", "none of them")
    return tuple([_input(each) for each in listed])


def _input(value: Any) -> EmbedInput:
    parts = inside(value, "content")
    if not isinstance(parts, list) or not parts:
        raise ReadError(_WHAT, "$.inputs", "inputs with content", found(value))
    blocks = [_part(part) for part in parts]
    only = blocks[0]
    return only.text if len(blocks) == 1 and isinstance(only, TextBlock) else tuple(blocks)


def _part(part: Any) -> Media:
    match part:
        case {"type": "text", "text": str(text)}:
            return TextBlock(text)
        case {"type": "image_url", "image_url": {"url": str(url)}} | {"url": str(url)}:
            head, comma, data = url.partition(",")
            if url.startswith(_DATA) and comma and head.endswith(";base64"):
                return media_of(head[len(_DATA) :].partition(";")[0], data)
    raise ReadError(_WHAT, "$.inputs", "texts and images as data URLs", found(part))


def _fields(form: Form, request: EmbedRequest, report: Report) -> Wire:
    fields = write_fields(form, request, report)
    if "input_type" not in fields:
        fields["input_type"] = USUAL
        report.add("approximated", "$.input_type", because("embedding_type", value=USUAL))
    return {**fields, "embedding_types": ["float"]}


def _write(request: EmbedRequest, report: Report) -> Wire:
    fields = {"model": request.model, **_fields(COHERE, request, report)}
    if all(isinstance(each, str) for each in request.inputs):
        return {**fields, "texts": list(request.inputs)}
    inputs = [{"content": _parts(number, each)} for number, each in enumerate(request.inputs)]
    return {**fields, "inputs": inputs}


def _parts(number: int, each: EmbedInput) -> list[Wire]:
    blocks = (TextBlock(each),) if isinstance(each, str) else each
    return [_written(number, each, block) for block in blocks]


def _written(number: int, whole: EmbedInput, block: Any) -> Wire:
    if isinstance(block, TextBlock):
        return {"type": "text", "text": block.text}
    if not isinstance(block, ImageBlock) or block.source.kind != "base64":
        raise unwritable(COHERE, number, whole)
    url = f"{_DATA}{block.media_type or 'image/png'};base64,{block.source.data}"
    return {"type": "image_url", "image_url": {"url": url}}


def _write_bedrock(request: EmbedRequest, report: Report) -> Wire:
    fields = _fields(BEDROCK_COHERE, request, report)
    return {"texts": texts_of(BEDROCK_COHERE, request, report), **fields}


def _read_answer(answer: Answer) -> Embeddings:
    wire = answer.wire
    listed = wire.get("embeddings")
    if isinstance(listed, dict):
        others = [each for each in listed.values() if isinstance(each, list)]
        of_others = [() for _ in others[0]] if others else None  # only their own clients ask
        listed = listed.get("float", of_others)
    tokens = count(inside(wire, "meta", "billed_units", "input_tokens"))
    if tokens is None:
        tokens = count(_header(answer.headers))
    id = wire.get("id")
    vectors = vectors_of("cohere", listed)
    return Embeddings(vectors, None, tokens, id if isinstance(id, str) else None)


def _header(headers: Any) -> int | None:
    text = headers.get("x-amzn-bedrock-input-token-count") or ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def _write_answer(embeddings: Embeddings, request: EmbedRequest) -> Wire:
    vectors = embeddings.vectors
    by_type: Wire = {}
    for encoding in request.encodings or ("float",):
        packed = encoding == "base64"
        by_type[encoding] = [to_base64(each) for each in vectors] if packed else vectors
    meta: Wire = {"api_version": {"version": "2"}}
    if embeddings.usage is not None and embeddings.usage.input_tokens is not None:
        meta["billed_units"] = {"input_tokens": embeddings.usage.input_tokens}
    return {
        "id": embeddings.id,
        "embeddings": by_type,
        "texts": [each for each in request.inputs if isinstance(each, str)],
        "meta": meta,
        "response_type": "embeddings_by_type",
    }


_FIELDS = {
    "dimensions": Field("output_dimension"),
    "input_type": Field("input_type", _TYPES, _NEAR),
    "truncate": Field("truncate", _TRUNCATE),
}
COHERE = Form(
    "cohere",
    _FIELDS,
    _read,
    _write,
    _read_answer,
    _write_answer,
    most=96,
)
BEDROCK_COHERE = Form("bedrock-cohere", _FIELDS, _read, _write_bedrock, _read_answer, most=96)
