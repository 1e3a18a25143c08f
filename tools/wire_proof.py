"""Whether what the almanac says of a word is true: bodies are made of the SDKs' types, with the
word and without it, and are read and converted.

    python -m tools.wire_proof [surface ...]    print words that are not what the almanac says

A mapped word changes the canonical value, or stands in the report of a conversion. A raw word is
in the report: by its name, or with the whole that it is a part of. What the group `form` explains
goes home, and nobody misses it elsewhere."""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
import types
import typing
from collections.abc import Callable, Iterator
from copy import deepcopy
from enum import Enum
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
import typing_extensions

import interlingua as il
from interlingua.dialects.framing import encoder
from interlingua.errors import InterlinguaError
from interlingua.model.base import Value
from interlingua.streams.frames import Frame
from tools import wire_gaps

Wire = Any
Steps = tuple[str | int, ...]


# -- the types of an SDK --------------------------------------------------------------------------


class Struct(NamedTuple):
    """An object: its name, its fields and which of them are required."""

    name: str
    fields: dict[str, tuple[Any, bool]]


class Shape(NamedTuple):
    """A shape of Amazon's service model, by its name."""

    name: str


@cache
def service() -> dict[str, Any]:
    import botocore

    (path,) = Path(botocore.__file__).parent.glob("data/bedrock-runtime/*/service-2.json*")
    data = path.read_bytes()
    model: dict[str, Any] = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
    return model


def bare(hint: Any) -> Any:
    """A hint without what is written around it."""
    while True:
        if isinstance(hint, typing_extensions.TypeAliasType):
            hint = hint.__value__
        elif typing.get_origin(hint) in _AROUND or isinstance(
            typing.get_origin(hint), typing_extensions.TypeAliasType
        ):
            hint = typing.get_args(hint)[0]
        else:
            return hint


_AROUND = (
    *(typing.Annotated, typing.Required, typing.NotRequired),
    *(typing_extensions.Required, typing_extensions.NotRequired),
)


def arms(hint: Any) -> list[Any]:
    """The kinds of values that a hint allows, without null; unions are opened."""
    hint = bare(hint)
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return [arm for each in typing.get_args(hint) for arm in arms(each)]
    is_none = hint is type(None) or getattr(hint, "__name__", "") == "Unset"
    return [] if is_none else [hint]


def inside(hint: Any) -> tuple[str, Any]:
    """What an arm is: `list` or `map` of something, `literal`, `struct` or `plain`."""
    if isinstance(hint, Shape):
        return _shape(service()["shapes"][hint.name], hint)
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return "literal", list(args)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return "literal", [str(member.value) for member in hint]
    if origin is not None and isinstance(origin, type):
        if issubclass(origin, dict) or origin.__name__ == "Mapping":
            return "map", args[1] if len(args) > 1 else Any
        return "list", args[0] if args else Any
    if fields_of(hint) is not None:
        return "struct", hint
    return "plain", hint


def _shape(shape: dict[str, Any], hint: Shape) -> tuple[str, Any]:
    if shape["type"] == "list":
        return "list", Shape(shape["member"]["shape"])
    if shape["type"] == "map":
        return "map", Shape(shape["value"]["shape"])
    if "enum" in shape:
        return "literal", list(shape["enum"])
    return (
        ("struct", hint)
        if shape["type"] == "structure" and not shape.get("document")
        else (
            "plain",
            {"integer": int, "long": int, "float": float, "double": float, "boolean": bool}.get(
                shape["type"], dict if shape.get("document") else str
            ),
        )
    )


_KNOWN: dict[Any, Struct | None] = {}


def fields_of(kind: Any) -> Struct | None:
    """The fields of an object, by their names on the wire; None for anything else."""
    if kind not in _KNOWN:
        _KNOWN[kind] = _fields_of(kind)
    return _KNOWN[kind]


def _fields_of(kind: Any) -> Struct | None:
    if isinstance(kind, Shape):
        shape = service()["shapes"][kind.name]
        required = shape.get("required", ())
        members = {n: (Shape(m["shape"]), n in required) for n, m in shape["members"].items()}
        return Struct(kind.name, members)
    models = getattr(kind, "model_fields", None)
    is_model = isinstance(kind, type) and isinstance(models, dict)
    if not is_model and not typing_extensions.is_typeddict(kind):
        return None
    try:
        hints = typing_extensions.get_type_hints(kind, include_extras=True)
    except (NameError, TypeError):
        hints = {name: info.annotation for name, info in (models or {}).items()}
    found: dict[str, tuple[Any, bool]] = {}
    for name, hint in hints.items():
        if name.startswith("_") or (is_model and name not in models):
            continue
        info = models[name] if is_model else None
        alias = getattr(info, "alias", None) or wire_gaps._alias(hint) or name
        needed = info.is_required() if info is not None else _is_required(kind, name, hint)
        found[alias] = (hint, needed)
    return Struct(kind.__name__, found)


def _is_required(kind: Any, name: str, hint: Any) -> bool:
    """Types whose hints are texts do not know it themselves."""
    origin = typing.get_origin(hint)
    if origin in (typing.Required, typing_extensions.Required):
        return True
    if origin in (typing.NotRequired, typing_extensions.NotRequired):
        return False
    return name in kind.__required_keys__ and kind.__total__


# -- bodies ---------------------------------------------------------------------------------------

SAMPLES: dict[str, Any] = {
    "data": "AAAA",
    "url": "https://example.com/a.png",
    "uri": "https://example.com/a.png",
    "image_url": "https://example.com/a.png",
    "file_url": "https://example.com/a.pdf",
    "file_data": "data:application/pdf;base64,AAAA",
    "media_type": "image/png",
    "mime_type": "image/png",
    "mimeType": "image/png",
    "arguments": "{}",
    "bytes": "AAAA",
    "created": 1,
    "created_at": "2026-01-01T00:00:00Z",
    "token": "a",
    "jsonPath": "$.a",
    "start_index": 0,
    "end_index": 2,
    "role": "model",
    "text": "word",
    "schema": {"type": "object"},
    "parameters": {"type": "object"},
    "input_schema": {"type": "object"},
}
"""Values of fields for which any other would not do."""
BESIDE: dict[str, dict[str, Any]] = {
    "tool_name": {"role": "tool"},
    "role": {"parts": [{"text": "hi"}]},
    "jsonPath": {"stringValue": "word"},
    **{f"{kind}Value": {"jsonPath": "$.a"} for kind in ("bool", "null", "number", "string")},
    "compact_threshold": {"type": "compaction"},
    "mediaResolution": {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
    "url_citation": {"url": "https://example.com/a"},
    "input_image": {"image_url": "https://example.com/a.png"},
    "input_file": {"file_url": "https://example.com/a.pdf"},
}
"""What stands beside a field or a literal that says nothing alone."""
_LISTS = {
    "context_management": [{"type": "compaction", "compact_threshold": 3}],
    "edits": [{"type": "compact_20260112"}],
    "messages": [{"role": "user", "content": "hi"}],
}
"""The same for lists of objects that no type describes well enough."""
_UNTYPED = frozenset({"messages"})
"""Lists whose objects have no type at all."""
_PLAIN: dict[Any, Any] = {str: "word", int: 3, float: 0.5, bool: True, bytes: "AAAA"}


def sample(hint: Any, name: str = "", depth: int = 0) -> Wire:
    """A value that a hint allows."""
    found = arms(hint)
    if not found or depth > 12:
        return None
    kind, of = inside(found[0])
    if kind == "list" and name in _LISTS and (name not in _UNTYPED or _is_map(of)):
        return deepcopy(_LISTS[name])
    if kind == "literal":
        items = [word for word in of if not str(word).endswith("UNSPECIFIED")]
        return (items or [*of, None])[0]
    if kind == "list":
        return [sample(of, name, depth + 1)]
    if kind == "map":
        return {"k": "word" if name == "metadata" and of is Any else sample(of, "", depth + 1)}
    if kind == "struct":
        return minimal(of, depth + 1) or _filled(of, depth + 1)
    value = SAMPLES.get(name, _PLAIN.get(of, {"k": "word"}))
    if of is str and not isinstance(value, str):
        value = json.dumps(value)
    if of in (int, float, bool) and type(value) is not of:
        value = _PLAIN[of]
    return deepcopy(value)


def _is_map(hint: Any) -> bool:
    found = arms(hint)
    return bool(found) and inside(found[0])[0] == "map"


def minimal(kind: Any, depth: int = 0) -> dict[str, Wire]:
    """An object with what is required, and its tag: unions are told apart by it."""
    struct = fields_of(kind)
    assert struct is not None
    return {
        name: sample(hint, name, depth)
        for name, (hint, needed) in struct.fields.items()
        if needed
        or (name in ("type", "object", "role") and _is_word(hint))
        or _is_text(name, hint)
        or any(other in struct.fields for other in _NEEDED.get(name, ()))
    }


def _filled(kind: Any, depth: int) -> dict[str, Wire]:
    """An object that requires nothing, with a text or else its first field."""
    struct = fields_of(kind)
    fields = sorted(struct.fields.items(), key=lambda item: item[0] != "text") if struct else ()
    for name, (hint, _) in fields:
        if (value := sample(hint, name, depth)) is not None:
            return {name: value}
    return {}


def _is_text(name: str, hint: Any) -> bool:
    """Whether this is the text that other fields say something of."""
    return name == "content" and arms(hint)[:1] == [str]


def _is_word(hint: Any) -> bool:
    return any(inside(arm)[0] == "literal" for arm in arms(hint))


_NEEDED = {"name": ("parameters", "serverName"), "tools": ("mode",)}
"""Fields without which a definition or a choice of tools says nothing, by other fields of it."""


class Place(NamedTuple):
    """A type, and the way to it from the root of a body."""

    kind: Any
    way: tuple[tuple[Any, str, Steps], ...] = ()
    """Objects on the way: each type, the field that goes on, and lists and maps around it."""

    @property
    def steps(self) -> Steps:
        found: list[str | int] = []
        for _, field, around in self.way:
            found += [field, *around]
        return tuple(found)

    def body(self, leaf: Wire) -> Wire:
        for kind, field, around in reversed(self.way):
            for step in reversed(around):
                leaf = [leaf] if step == 0 else {step: leaf}
            leaf = {**minimal(kind), field: leaf}
        return leaf


def places(root: Any) -> list[Place]:
    """Every type that can be reached from a root, by the shortest way."""
    todo, found = [Place(arm) for arm in arms(root)], dict[Any, Place]()
    while todo:
        here = todo.pop(0)
        struct = fields_of(here.kind)
        if struct is None or here.kind in found or len(here.way) > 14:
            continue
        found[here.kind] = here
        for field, (hint, _) in struct.fields.items():
            todo += [
                Place(kind, (*here.way, (here.kind, field, around)))
                for kind, around in _structs(hint)
            ]
    return list(found.values())


def _structs(hint: Any, around: Steps = ()) -> Iterator[tuple[Any, Steps]]:
    for arm in arms(hint):
        kind, of = inside(arm)
        if kind == "struct":
            yield of, around
        elif kind in ("list", "map") and len(around) < 3:
            yield from _structs(of, (*around, 0 if kind == "list" else "k"))


class Trial(NamedTuple):
    """Two bodies that differ in one word, and where it stands."""

    what: str
    """`request`, `response` or `frame`."""
    with_it: Wire
    without: Wire
    at: Steps
    word: str
    contrast: bool = False
    """Whether another known word stands in its place: a difference may then be due to that."""


class Root(NamedTuple):
    """What a type is, and how a value of it is put into a body: with the way to it there."""

    what: str
    name: str
    embed: Callable[[Wire], tuple[Wire, Steps]] = lambda body: (body, ())


def trials(
    root: Root, some: Callable[[str], bool] = lambda _: True
) -> Iterator[tuple[wire_gaps.Key, Trial]]:
    """Each word of the types of a root, in bodies with it and without it."""
    for place in places(_load(root.name)):
        struct = fields_of(place.kind)
        assert struct is not None
        base = minimal(place.kind)
        for field, (hint, _) in struct.fields.items():
            for value, more in _values(hint, field, struct) if some(field) else ():
                body, before = root.embed(place.body({**base, **more, field: value}))
                at = (*before, *place.steps, field)
                yield ("field", field), Trial(root.what, body, changed(body, at), at, field)
            for word, other in _words(hint):
                if not some(word if isinstance(word, str) else word[0]):
                    continue
                beside = BESIDE.get(word, {}) if isinstance(word, str) else {}
                body, before = root.embed(place.body({**base, **beside, field: word}))
                at = (*before, *place.steps, field)
                name = word if isinstance(word, str) else word[0]
                without = changed(body, at, other)
                is_known = other not in ("some_other", ["some_other"])
                yield ("literal", name), Trial(root.what, body, without, at, name, is_known)


_NO: Any = object()


def changed(body: Wire, at: Steps, value: Wire = _NO) -> Wire:
    """The body with another value at a place, or with none there."""
    new = inner = deepcopy(body)
    for step in at[:-1]:
        inner = inner[step]
    if value is _NO:
        inner.pop(at[-1], None)
    else:
        inner[at[-1]] = value
    return new


def _values(hint: Any, field: str, struct: Struct) -> Iterator[tuple[Wire, dict[str, Wire]]]:
    """A value of each arm: one that a reader does not take may be beside one that it does; then a
    word of the type's own, and the first value among all the other fields, which it may need."""
    for arm in arms(hint)[:4]:
        yield sample(arm, field), BESIDE.get(field, {})
        if arm is bool:
            yield False, {}
        kind, of = inside(arm)
        if kind == "struct" and (inner := fields_of(of)):
            yield {name: sample(each, name) for name, (each, _) in inner.fields.items()}, {}
        if kind == "list":
            yield from (([sample(each, field)], {}) for each in arms(of)[1:4])
    for word, _ in _words(hint):
        yield word, {}
    others = {name: sample(of, name) for name, (of, _) in struct.fields.items() if name != field}
    yield sample(hint, field), {name: item for name, item in others.items() if item is not None}


def _words(hint: Any) -> Iterator[tuple[Any, Any]]:
    for arm in arms(hint):
        kind, of = inside(arm)
        if kind == "literal":
            for word in [each for each in of if isinstance(each, str)]:
                others = [other for other in of if other != word] or ["some_other"]
                yield word, others[0]
                yield word, others[-1]
                yield word, "some_other"
        elif kind == "list":
            yield from (([word], [other]) for word, other in _words(of))


def _load(name: str) -> Any:
    if name.startswith("shape:"):
        return Shape(name[6:])
    module, _, attr = name.partition(":")
    return getattr(import_module(module), attr)


# -- what becomes of a word -----------------------------------------------------------------------


class Proof(NamedTuple):
    """`mapped`, `named` in a report, `whole` (reported with what it is a part of), `silent`, or
    `unread`."""

    verdict: str
    why: str = ""


CONTRAST = Proof("mapped", "as another word is")
"""A literal is mapped, or the word that stood in its place is."""
ORDER = ("mapped", "named", "whole", "silent", "unread")


def judge(trial: Trial, source: str, target: str) -> Proof:
    try:
        with_it = read(trial.what, trial.with_it, source)
    except InterlinguaError as error:
        return Proof("unread", str(error)[:100])
    try:
        without = read(trial.what, trial.without, source)
    except InterlinguaError as error:
        steps = trial.at[1 + (source == "bedrock") :] if trial.what == "frame" else trial.at
        path = _path(steps)
        text = str(error).replace("[0]", "")
        is_needed = any(
            each.replace("[0]", "") in text for each in (path, _path(trial.at[:-1]) + ":")
        )
        return Proof("mapped", "required") if is_needed else Proof("unread", str(error)[:100])
    if with_it != without and _unknown(with_it) <= _unknown(without):
        return CONTRAST if trial.contrast else Proof("mapped")
    try:
        reported = told(trial.what, trial.with_it, source, target)
        before = told(trial.what, trial.without, source, target)
    except InterlinguaError as error:
        return Proof("unread", str(error)[:100])
    new = [entry for entry in reported if entry not in before]
    names = {trial.word, *map(str, trial.at[-1:])}
    names |= {_camel(name) for name in names} | {_snake(name) for name in names}
    if any(name in text for name in names for text in new):
        return Proof("named")
    way = _path(trial.at)
    for entry in reported:
        places, path, _ = entry.split(" ", 2)
        of_raw = ".raw." in path and path.rpartition(".")[2] in trial.at
        if of_raw or any(map(partial(_touch, way), places.split(","))):
            return Proof("whole", entry[:90])
    return Proof("silent", way)


def _touch(one: str, other: str) -> bool:
    """Whether one place is the other, or is inside of it."""
    if other == "$":
        return False
    return (one + ".").startswith((other + ".", other + "[")) or (other + ".").startswith(
        (one + ".", one + "[")
    )


def _path(steps: Steps) -> str:
    return "$" + "".join([f"[{s}]" if isinstance(s, int) else f".{s}" for s in steps])


def _camel(word: str) -> str:
    head, *rest = word.split("_")
    return head + "".join([part[:1].upper() + part[1:] for part in rest])


def _snake(word: str) -> str:
    return "".join([f"_{c.lower()}" if c.isupper() else c for c in word])


def read(what: str, body: Wire, source: str) -> Any:
    """The canonical form of a body without what is preserved of it; of a stream, its events."""
    own = il.dialect(source)
    if what == "frame":
        reader = own.stream_reader()
        events = [event for each in body for event in reader.feed(_frame(source, each))]
        return [bare_value(event) for event in events + reader.close()]
    value: Value = getattr(own, f"read_{what}")(deepcopy(body))
    return bare_value(value)


def told(what: str, body: Wire, source: str, target: str) -> list[str]:
    """The report of a body's way to another dialect: the places, then the sentence."""
    if what != "frame":
        report = il.convert(deepcopy(body), source, target, what).report
        return [f"{','.join(e.at) or e.path} {e.path} {e.reason}" for e in report.located()]
    data = b"".join([encoder(source)(_frame(source, each)) for each in body])
    converted = il.stream_convert(data, source, target)
    for _ in converted:
        pass
    return [
        _unnumbered(f"{','.join(e.at)} {e.path} {e.reason}") for e in converted.report.located()
    ]


def bare_value(value: Any) -> Any:
    """A canonical value as plain data, without what only its dialect reads."""
    plain = msgspec.to_builtins(value)
    return _without_raw(plain)


_ASIDE = frozenset({"raw", "provider_raw", "frame"})


def _without_raw(value: Any) -> Any:
    if isinstance(value, dict):
        bare = {key: _without_raw(item) for key, item in value.items() if key not in _ASIDE}
        emptied = {key for key, item in bare.items() if item == {} != value[key]} | {"options"}
        return {key: item for key, item in bare.items() if item != {} or key not in emptied}
    return [_without_raw(item) for item in value] if isinstance(value, list | tuple) else value


def _unknown(value: Any) -> int:
    """How many blocks of a canonical value no reader understood: all of such a block is raw."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    is_one = isinstance(value, dict) and value.get("type") == "unknown"
    return is_one + sum(map(_unknown, inner))


def _unnumbered(entry: str) -> str:
    return re.sub(r"#\d+ ?", "", entry)


def _frame(source: str, wire: Wire) -> Frame:
    if source == "bedrock":
        name, body = next(iter(wire.items()), ("", {}))
        return Frame(name, json.dumps(body))
    name = wire.get("type") or wire.get("event_type")
    return Frame(name if type(name) is str else None, json.dumps(wire))


@cache
def _stream(source: str) -> tuple[Wire, ...]:
    """A stream of the dialect with a text and a call."""
    metadata = il.MessageMetadata(
        protocol=source,
        response_id="msg_1",
        response_model="m",
        stop_reason=il.StopReason.TOOL_USE,
        usage=il.Usage(5, 7),
    )
    cited = (il.Citation("Hi", "https://example.com/a", "T", start=0, end=2),)
    blocks: list[il.Block] = [
        il.CompactionBlock("So far."),
        il.ThinkingBlock("Hm.", "c2ln"),
        il.TextBlock("Hi", citations=cited),
        il.ToolUseBlock("call_1", "f", {"a": 1}),
    ]
    if source == "openai-responses":
        blocks += _hosted()
    writer = il.dialect(source).stream_writer()
    made = il.unfold(il.Response(il.Message.assistant(blocks, metadata)))
    frames = [frame for event in made for frame in writer.feed(event)] + writer.close()
    wires = [(f.event, json.loads(f.data)) for f in frames if f.data[:1] == "{"]
    return tuple([{name: w} if source == "bedrock" else w for name, w in wires])


def _hosted() -> tuple[il.Block, ...]:
    """Items that are streamed in pieces of their own."""
    thought = {"type": "reasoning_text", "text": "Hm."}
    no = {"type": "refusal", "refusal": "No."}
    items = [
        {"type": "reasoning", "id": "rs_1", "summary": [], "content": [thought]},
        {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [no]},
        {"type": "custom_tool_call", "id": "c", "call_id": "c2", "name": "g", "input": "free"},
        {"type": "mcp_call", "id": "mcp", "name": "g", "server_label": "s", "arguments": "{}"},
        {
            "type": "code_interpreter_call",
            "id": "ci",
            "code": "1",
            "container_id": "k",
            "outputs": [],
        },
    ]
    body = {**_ANSWER, "output": items}
    return tuple(il.dialect("openai-responses").read_response(body).message.content)


def _tag(source: str, wire: Wire) -> Any:
    if source == "bedrock":
        return next(iter(wire))
    return wire.get("type") or wire.get("event_type")


def streamed(source: str) -> Callable[[Wire], tuple[list[Wire], Steps]]:
    """Puts a frame into a stream: in place of the first of its kind, with what that says, or in
    front of the last."""

    def embed(frame: Wire) -> tuple[list[Wire], Steps]:
        stream = deepcopy(list(_stream(source)))
        tag = _tag(source, frame)
        alike = [
            (_alike(each, frame), -n) for n, each in enumerate(stream) if _tag(source, each) == tag
        ]
        if not alike:
            return [*stream[:-1], frame, stream[-1]], (len(stream) - 1,)
        number = -max(alike)[1]
        stream[number] = _merged(stream[number], frame)
        return stream, (number,)

    return embed


def _alike(one: Wire, other: Wire) -> int:
    """How many words two frames share."""
    if isinstance(one, dict) and isinstance(other, dict):
        return sum(1 + _alike(one[key], other[key]) for key in one.keys() & other.keys())
    if isinstance(one, list) and isinstance(other, list) and one and other:
        return _alike(one[0], other[0])
    return 5 if isinstance(one, str) and one == other else 0


def _merged(old: Wire, new: Wire) -> Wire:
    if isinstance(old, dict) and isinstance(new, dict):
        return {**old, **{k: _merged(old[k], v) if k in old else v for k, v in new.items()}}
    if isinstance(old, list) and isinstance(new, list) and old and new:
        return [_merged(old[0], new[0]), *old[1:]]
    return new


def _rank(proof: Proof) -> tuple[int, bool]:
    return ORDER.index(proof.verdict), proof == CONTRAST


def prove(surface: str, some: Callable[[str], bool] = lambda _: True) -> dict[wire_gaps.Key, Proof]:
    """The best that was found for each word of a surface that `some` picks."""
    found: dict[wire_gaps.Key, Proof] = {}
    source, target = WAYS[surface]
    for root in ROOTS[surface]:
        for key, trial in trials(root, some):
            known = found.get(key)
            if known is not None and known.verdict == "mapped" and known != CONTRAST:
                continue
            proof = judge(trial, source, target)
            if known is None or _rank(proof) < _rank(known):
                found[key] = proof
    return found


WAYS: dict[str, tuple[str, str]] = {
    "anthropic": ("anthropic", "openai-chat"),
    "bedrock": ("bedrock", "openai-chat"),
    "cohere": ("cohere", "anthropic"),
    "gemini": ("gemini", "anthropic"),
    "gemini-interactions": ("gemini-interactions", "anthropic"),
    "groq": ("openai-chat", "anthropic"),
    "mistral": ("openai-chat", "anthropic"),
    "ollama": ("ollama", "anthropic"),
    "openai-chat": ("openai-chat", "anthropic"),
    "openai-responses": ("openai-responses", "anthropic"),
    "openrouter": ("openrouter", "anthropic"),
}
_HELLO = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
_ASKED = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
_CHAT, _RESPONSES = wire_gaps._CHAT, wire_gaps._RESPONSES
_BETA, _CLAUDE = wire_gaps._BETA, wire_gaps._CLAUDE
_ROUTER, _MISTRAL = wire_gaps._ROUTER, wire_gaps._MISTRAL
_GENAI, _INTERACTIONS = "google.genai.types:", "google.genai._gaos.types.interactions:"


def _under(base: dict[str, Any], key: str, in_list: bool = False) -> Callable[[Wire], Any]:
    before: Steps = (key, 0) if in_list else (key,)
    return lambda leaf: ({**deepcopy(base), key: [leaf] if in_list else leaf}, before)


_COUNTED = {"input_tokens": 5, "output_tokens": 7, "total_tokens": 12}
_ANSWER = {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed"}


def _cited(chunk: Wire) -> tuple[Wire, Steps]:
    """An answer whose text is grounded in a chunk."""
    support = {"segment": {"startIndex": 0, "endIndex": 2}, "groundingChunkIndices": [0]}
    found = {"groundingChunks": [chunk], "groundingSupports": [support]}
    candidate = {"content": {"parts": [{"text": "hi"}]}, "groundingMetadata": found}
    return {"candidates": [candidate]}, ("candidates", 0, "groundingMetadata", "groundingChunks", 0)


def _seen(level: Wire) -> tuple[Wire, Steps]:
    """A request with an image that is looked at closely."""
    part = {**BESIDE["mediaResolution"], "mediaResolution": level}
    return {"contents": [{"parts": [part]}]}, ("contents", 0, "parts", 0, "mediaResolution")


def _chosen(choice: Wire) -> tuple[Wire, Steps]:
    """A request for an interaction with a choice of tools."""
    way: Steps = ("generation_config", "tool_choice", "allowed_tools")
    body = {"model": "m", "input": "hi", way[0]: {way[1]: {way[2]: choice}}}
    return body, way


def _in_rules(leaf: Wire) -> tuple[Wire, Steps]:
    """A request of Bedrock with a block in instructions of mid-conversation."""
    spec = {"name": "word", "inputSchema": {"json": {"type": "object"}}}
    rules = {"role": "system", "content": [leaf]}
    items = [{"role": "user", "content": [{"text": "hi"}]}, rules]
    body = {"messages": items, "toolConfig": {"tools": [{"toolSpec": spec}]}}
    return body, ("messages", 1, "content", 0)


def _in_claude_rules(leaf: Wire) -> tuple[Wire, Steps]:
    """The same for Anthropic."""
    tools = [{"name": "word", "input_schema": {"type": "object"}}]
    items = [*_ASKED["messages"], {"role": "system", "content": [leaf]}]
    return {"model": "m", "messages": items, "tools": tools}, ("messages", 1, "content", 0)


def _in_pieces(call: Wire) -> tuple[list[Wire], Steps]:
    """A stream in which a call's arguments come in pieces."""
    calls = [{"name": "f", "id": "call_1", "willContinue": True}, call, {}]
    wires = [{"candidates": [{"content": {"parts": [{"functionCall": c}]}}]} for c in calls]
    end = {"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}]}
    return [*wires, end], (1, "candidates", 0, "content", "parts", 0, "functionCall")


ROOTS: dict[str, tuple[Root, ...]] = {
    "openai-chat": (
        Root("request", f"{_CHAT}completion_create_params:CompletionCreateParamsNonStreaming"),
        Root("response", f"{_CHAT}chat_completion:ChatCompletion"),
        Root("frame", f"{_CHAT}chat_completion_chunk:ChatCompletionChunk", streamed("openai-chat")),
    ),
    "openai-responses": (
        Root("request", f"{_RESPONSES}response_create_params:ResponseCreateParamsNonStreaming"),
        Root("request", f"{_BETA}response_create_params:ResponseCreateParamsNonStreaming"),
        Root("response", f"{_RESPONSES}response:Response"),
        Root("response", f"{_BETA}beta_response:BetaResponse"),
        Root(
            "response",
            f"{_RESPONSES}response:IncompleteDetails",
            _under({**_ANSWER, "status": "incomplete", "output": []}, "incomplete_details"),
        ),
        Root(
            "response",
            f"{_RESPONSES}response:ToolUsage",
            _under({**_ANSWER, "output": [], "usage": _COUNTED}, "tool_usage"),
        ),
        Root(
            "response", f"{_RESPONSES}response_item:ResponseItem", _under(_ANSWER, "output", True)
        ),
        Root(
            "frame",
            f"{_RESPONSES}response_stream_event:ResponseStreamEvent",
            streamed("openai-responses"),
        ),
    ),
    "anthropic": (
        Root("request", f"{_CLAUDE}message_create_params:MessageCreateParamsNonStreaming"),
        Root("request", f"{_CLAUDE}beta.message_create_params:MessageCreateParamsNonStreaming"),
        *[
            Root("request", f"{_CLAUDE}beta.beta_request_tool_{name}:{kind}", _in_claude_rules)
            for name, kind in (
                ("addition_block_param", "BetaRequestToolAdditionBlockParam"),
                ("removal_block_param", "BetaRequestToolRemovalBlockParam"),
            )
        ],
        Root("response", f"{_CLAUDE}message:Message"),
        Root("response", f"{_CLAUDE}beta.beta_message:BetaMessage"),
        Root(
            "response",
            f"{_CLAUDE}shared.error_object:ErrorObject",
            _under({"type": "error"}, "error"),
        ),
        Root(
            "frame",
            f"{_CLAUDE}beta.beta_raw_message_stream_event:BetaRawMessageStreamEvent",
            streamed("anthropic"),
        ),
    ),
    "gemini": (
        Root("request", f"{_GENAI}GenerationConfig", _under(_HELLO, "generationConfig")),
        Root("request", f"{_GENAI}Content", _under({}, "contents", True)),
        Root("request", f"{_GENAI}Tool", _under(_HELLO, "tools", True)),
        Root("request", f"{_GENAI}ToolConfig", _under(_HELLO, "toolConfig")),
        Root("request", f"{_GENAI}GenerateContentConfig", lambda leaf: ({**_HELLO, **leaf}, ())),
        Root("request", f"{_GENAI}PartMediaResolution", _seen),
        Root("response", f"{_GENAI}GenerateContentResponse"),
        Root("response", f"{_GENAI}GroundingChunk", _cited),
        Root("frame", f"{_GENAI}FunctionCall", _in_pieces),
    ),
    "gemini-interactions": (
        Root("request", f"{_INTERACTIONS}CreateModelInteraction"),
        Root("request", f"{_INTERACTIONS}CreateAgentInteraction"),
        Root("request", f"{_INTERACTIONS}AllowedTools", _chosen),
        Root("response", f"{_INTERACTIONS}Interaction"),
        Root("frame", f"{_INTERACTIONS}InteractionSSEEvent", streamed("gemini-interactions")),
    ),
    "mistral": (
        Root("request", f"{_MISTRAL}ChatCompletionRequest"),
        Root("response", f"{_MISTRAL}ChatCompletionResponse"),
        Root("frame", f"{_MISTRAL}CompletionChunk", streamed("openai-chat")),
    ),
    "groq": (
        Root("request", "groq.types.chat.completion_create_params:CompletionCreateParams"),
        Root("response", "groq.types.chat.chat_completion:ChatCompletion"),
        Root(
            "frame",
            "groq.types.chat.chat_completion_chunk:ChatCompletionChunk",
            streamed("openai-chat"),
        ),
    ),
    "cohere": (
        Root("request", "cohere:ChatMessageV2", _under({"model": "m"}, "messages", True)),
        Root("request", "cohere:ToolV2", _under(_ASKED, "tools", True)),
        Root("request", "cohere:ResponseFormatV2", _under(_ASKED, "response_format")),
        Root("request", "cohere:CitationOptions", _under(_ASKED, "citation_options")),
        Root("request", "cohere:Document", _under(_ASKED, "documents", True)),
        Root("request", "cohere:Thinking", _under(_ASKED, "thinking")),
        Root("response", "cohere:V2ChatResponse"),
        Root("frame", "cohere:V2ChatStreamResponse", streamed("cohere")),
    ),
    "ollama": (
        Root("request", "ollama._types:ChatRequest"),
        Root("request", "ollama._types:Options", _under(_ASKED, "options")),
        Root("response", "ollama._types:ChatResponse"),
    ),
    "openrouter": (
        Root("request", f"{_ROUTER}ChatRequest"),
        Root("response", f"{_ROUTER}ChatResult"),
        Root("frame", f"{_ROUTER}ChatStreamChunk", streamed("openrouter")),
    ),
    "bedrock": (
        Root("request", "shape:ConverseRequest"),
        Root("request", "shape:ContentBlock", _in_rules),
        Root("response", "shape:ConverseResponse"),
        Root("frame", "shape:ConverseStreamOutput", streamed("bedrock")),
    ),
}


# -- the almanac ----------------------------------------------------------------------------------

SILENT = frozenset(
    {
        *("form", "composed", "piece", "aside", "socket", "beta_header", "model_name"),
        *("media_type", "unspecified"),
    }
)
"""Groups whose words may leave no trace: spelling, pieces that a later frame repeats, and words
that stand in no body or for no value."""


def is_true(line: wire_gaps.Line, proof: Proof | None) -> bool:
    """Whether what the almanac says of a word is what becomes of it."""
    verdict = "unseen" if proof is None else proof.verdict
    if line.status == "refused" or line.group in SILENT:
        return True
    if line.status == "mapped":
        return verdict == "mapped" or (bool(line.group) and verdict in ("named", "whole"))
    return verdict in ("named", "whole") or proof == CONTRAST


def untrue(surface: str, some: Callable[[str], bool] = lambda _: True) -> list[str]:
    """Words that are not what the almanac says, of those that `some` picks."""
    found = prove(surface, some)
    return [
        f"{line.kind} {line.word} is called {line.status}, and is {found.get(key, Proof('unseen'))}"
        for key, line in wire_gaps.lines_of(surface).items()
        if some(line.word) and not is_true(line, found.get(key))
    ]


def settle(surface: str) -> None:
    """Sort the words of a surface by what became of them."""
    found, lines = prove(surface), wire_gaps.lines_of(surface)
    for key, line in lines.items():
        proof = found.get(key)
        if not is_true(line, proof):
            lines[key] = _settled(surface, line, "unseen" if proof is None else proof.verdict)
    wire_gaps.write(surface, lines)


def _settled(surface: str, line: wire_gaps.Line, verdict: str) -> wire_gaps.Line:
    if verdict == "mapped":
        is_named = wire_gaps.is_mentioned(line.word, wire_gaps.SURFACES[surface].folders)
        return line._replace(status="mapped", group="" if is_named else "passed")
    if verdict in ("named", "whole"):
        new: str | None = wire_gaps.by_rule(surface, line.word, line.types.split(", "))
        group = new if new is not None and _status(new) == "raw" else "reported"
        return line._replace(status="raw", group=group)
    new = wire_gaps.by_rule(surface, line.word, line.types.split(", "))
    if new in SILENT:
        return line._replace(status=_status(str(new)), group=str(new))
    return line._replace(status="raw", group="form" if verdict == "silent" else "aside")


def _status(group: str) -> str:
    status: str = wire_gaps.reasons()["groups"][group]["status"]
    return status


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.wire_proof", description=__doc__)
    parser.add_argument("surfaces", nargs="*", metavar="surface", help=", ".join(ROOTS))
    parser.add_argument("--settle", action="store_true", help="sort words by what becomes of them")
    options = parser.parse_args(argv)
    count = 0
    for surface in options.surfaces or ROOTS:
        if options.settle:
            settle(surface)
            continue
        wrong = untrue(surface)
        count += len(wrong)
        print(f"{surface}: {len(wrong)} of {len(wire_gaps.lines_of(surface))} words")
        print("".join([f"  {each}\n" for each in wrong]), end="")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
