"""The shared parts of all forms of embeddings: fields as a table, readers and writers."""

from __future__ import annotations

from array import array
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Callable, Iterable, Mapping, Sequence
from sys import byteorder
from typing import Any, NamedTuple

import msgspec

from interlingua.errors import ReadError, WriteError
from interlingua.errors import found as shown
from interlingua.model.blocks import AudioBlock, DocumentBlock, ImageBlock, Source, TextBlock
from interlingua.model.decisions import Embeddings, EmbedInput, EmbedRequest
from interlingua.model.losses import Report
from interlingua.model.metadata import Usage
from interlingua.model.reasons import because

Wire = dict[str, Any]
Media = TextBlock | ImageBlock | AudioBlock | DocumentBlock


class Field(NamedTuple):
    """A field of a request on the wire; `words` translate its values, `near` those without a
    counterpart."""

    key: str
    words: Mapping[Any, Any] | None = None
    near: Mapping[Any, Any] = {}


class Answer(NamedTuple):
    """One answer of a provider."""

    wire: Wire
    headers: Mapping[str, str]


class Form(NamedTuple):
    """The embeddings API of one vendor, as data."""

    name: str
    fields: Mapping[str, Field]
    """By the name of the canonical field; the others cannot be written."""
    read: Callable[[Wire, str | None], EmbedRequest]
    write: Callable[[EmbedRequest, Report], Wire]
    read_answer: Callable[[Answer], Embeddings]
    write_answer: Callable[[Embeddings, EmbedRequest], Wire] | None = None
    """None where no client of the gateway uses it."""
    most: int = 2048
    """Inputs that one request may have."""


OPTIONS = ("dimensions", "input_type", "truncate", "title", "user")
MADE = frozenset({"float", "base64"})
"""Encodings that we make of floats."""


def write_fields(form: Form, request: EmbedRequest, report: Report) -> Wire:
    """Writes the options of a request; the report lists those that the form cannot express."""
    wire: Wire = {}
    for name in OPTIONS:
        value, field = getattr(request, name), form.fields.get(name)
        if value is None:
            continue
        if field is None:
            report.add(
                "dropped",
                f"$.{name}",
                because("unsupported_note" if name == "user" else "unsupported"),
            )
        elif field.words is None or value in field.words:
            wire[field.key] = value if field.words is None else field.words[value]
        elif value in field.near:
            wire[field.key] = field.near[value]
            reason = because("embedding_near", value=field.near[value])
            report.add("approximated", f"$.{name}", reason)
        else:
            report.add("dropped", f"$.{name}", because("value_unsupported"))
    for dialect, rest in (request.raw or {}).items():
        if dialect == form.name:
            wire |= rest
            continue
        for name in rest:
            report.add("dropped", f"$.{name}", because("vendor_setting", dialect=dialect))
    return wire


def read_fields(form: Form, wire: Wire, own: Iterable[str]) -> dict[str, Any]:
    """The options of a body, and the data of this form alone, for `EmbedRequest`. `own` are the
    members that its reader handles itself."""
    values: dict[str, Any] = {}
    for name, field in form.fields.items():
        value = wire.get(field.key)
        if value is None:
            continue
        if field.words is not None:
            back = {word: meaning for meaning, word in field.words.items()}
            known = isinstance(value, str | bool) and value in back
            if not known:
                raise _unreadable(form, field.key, f"one of {', '.join(map(str, back))}", value)
            value = back[value]
        elif name == "dimensions" and type(value) is not int:
            raise _unreadable(form, field.key, "a number", value)
        elif name in ("title", "user") and not isinstance(value, str):
            raise _unreadable(form, field.key, "a string", value)
        values[name] = value
    known_keys = {*own, *[field.key for field in form.fields.values()]}
    rest = {name: value for name, value in wire.items() if name not in known_keys}
    return {**values, "raw": {form.name: rest} if rest else None}


def places_of(form: Form, wire: Wire, path: str) -> tuple[str, ...]:
    """The paths of a field of the request in a body of this form."""
    name, _, rest = path.removeprefix("$.").partition("[")
    if name == "inputs":
        number = rest.partition("]")[0]
        for key in ("requests", "instances", "texts", "images", "inputs", "input", "prompt"):
            if key in wire:
                return (f"$.{key}[{number}]" if isinstance(wire[key], list) else f"$.{key}",)
        return ("$.content",)
    key = form.fields[name].key if name in form.fields else name
    if name == "encodings":
        key = "embedding_types" if "embedding_types" in wire else "encoding_format"
    for inner in ("parameters", "embedContentConfig"):
        for word in wire.get(inner) or ():
            if _snake(word) == _snake(key):
                return (f"$.{inner}.{word}",)
    for several in ("requests", "instances"):
        if several in wire:
            spelled = [key if key in each else _snake(key) for each in wire[several]]
            return tuple([f"$.{several}[{index}].{word}" for index, word in enumerate(spelled)])
    return (f"$.{key}",) if key in wire else ()


def _snake(name: str) -> str:
    return "".join([f"_{mark.lower()}" if mark.isupper() else mark for mark in name])


def _unreadable(form: Form, key: str, expected: str, value: Any) -> ReadError:
    return ReadError(f"{form.name} embeddings request", f"$.{key}", expected, shown(value))


def texts_of(form: Form, request: EmbedRequest, report: Report) -> list[str]:
    """The inputs of a form that takes texts; `WriteError` for any other."""
    return [text_of(form, number, each, report) for number, each in enumerate(request.inputs)]


def text_of(form: Form, number: int, each: EmbedInput, report: Report) -> str:
    """One input as a text."""
    if isinstance(each, str):
        return each
    texts = [part.text for part in each if isinstance(part, TextBlock)]
    if not texts or len(texts) < len(each):
        raise unwritable(form, number, each)
    report.add("approximated", f"$.inputs[{number}]", because("embedding_joined"))
    return "\n".join(texts)


def unwritable(form: Form, number: int, each: EmbedInput) -> WriteError:
    what = "tokens" if each and isinstance(each[0], int) else "media"
    problem = f"the input is {what}, which {form.name} does not accept; send text"
    return WriteError(f"{form.name} embeddings request", f"$.inputs[{number}]", problem)


def read_inputs(form: Form, key: str, value: Any, tokens: bool = False) -> tuple[EmbedInput, ...]:
    """A text, or a list of texts; with `tokens`, one list of numbers or a list of those as well."""
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list) and value:
        if all(isinstance(each, str) for each in value):
            return tuple(value)
        if tokens and all(type(each) is int for each in value):
            return (tuple(value),)
        if tokens and all(_is_tokens(each) for each in value):
            return tuple([tuple(each) for each in value])
    raise _unreadable(form, key, "a text or a list of texts", value)


def _is_tokens(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(type(each) is int for each in value)


def media_of(media_type: str, data: str) -> Media:
    """A block of inline media."""
    source, kind = Source("base64", data), media_type.partition("/")[0]
    if kind == "image":
        return ImageBlock(source, media_type)
    return AudioBlock(source, media_type) if kind == "audio" else DocumentBlock(source, media_type)


_VECTORS = tuple[tuple[float, ...], ...]


def vectors_of(form: str, value: Any) -> tuple[tuple[float, ...], ...]:
    """The vectors of an answer: lists of numbers, or base64 of them."""
    try:
        whole = [from_base64(each) if isinstance(each, str) else each for each in value]
        return msgspec.convert(whole, _VECTORS)
    except (msgspec.ValidationError, TypeError, Base64Error, ValueError):
        raise ReadError(f"{form} embeddings", "$", "vectors of numbers", shown(value)) from None


def to_base64(vector: Sequence[float]) -> str:
    """32-bit little-endian floats, as OpenAI and Cohere encode them."""
    numbers = array("f", vector)
    if byteorder == "big":
        numbers.byteswap()
    return b64encode(numbers.tobytes()).decode()


def from_base64(text: str) -> tuple[float, ...]:
    numbers = array("f")
    numbers.frombytes(b64decode(text, validate=True))
    if byteorder == "big":
        numbers.byteswap()
    return tuple(numbers)


def count(value: Any) -> Usage | None:
    """Tokens that an answer reports."""
    if type(value) is not int or value < 0:
        return None
    return Usage(input_tokens=value, output_tokens=0)


def inside(wire: Any, *path: str) -> Any:
    """The value in nested objects; None if it is missing."""
    for name in path:
        wire = wire.get(name) if isinstance(wire, dict) else None
    return wire
