"""Canonical values as JSON and back.

The fast way is msgspec's typed decoding, which refuses unknown members. Stored data that it refuses
is read again field by field (`salvage.py`), so that a newer program's blocks and fields are
preserved and written back. Reading at an API (`strict=True`) refuses them and names their place.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from decimal import Decimal
from enum import Enum
from functools import cache
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints, overload

import jiter
import msgspec

from interlingua.errors import DepthError, InterlinguaError, ReadError, WriteError, found
from interlingua.model import message as _message
from interlingua.model import salvage
from interlingua.model.base import JsonObject, Raw, Value, _defaults
from interlingua.model.blocks import CompactionBlock, RedactedThinkingBlock, ThinkingBlock
from interlingua.model.message import Message
from interlingua.model.spelled_numbers import SpelledFloat, spelled

MARK = '"compaction"'
_MARK = MARK.encode()


def may_be_older(data: bytes | str) -> bool:
    """Whether stored JSON may have something in it that has another form now."""
    return (MARK in data) if isinstance(data, str) else (_MARK in data)


def renewed(value: Any) -> Any:
    """The value in its present form; the original if nothing has changed."""
    if type(value) is tuple or type(value) is list:
        items = [renewed(item) for item in value]
        same = all(new is old for new, old in zip(items, value, strict=True))
        return value if same else type(value)(items)
    if not isinstance(value, Value):
        return value
    block = _thought(value) if type(value) is ThinkingBlock else _sealed(value)
    if block is not None:
        return block
    changes: dict[str, Any] = {}
    for name in value.__struct_fields__:
        item = getattr(value, name)
        if isinstance(item, (Value, tuple)) and (new := renewed(item)) is not item:
            changes[name] = new
    return value.replace(**changes) if changes else value


def _thought(block: ThinkingBlock) -> CompactionBlock | None:
    own_raw = _raw_of(block.raw, "anthropic")
    if own_raw.get("type") != "compaction":
        return None
    spelling = {key: item for key, item in (own_raw.get("$form") or {}).items() if key != "content"}
    rest = {key: item for key, item in own_raw.items() if key not in _FIELDS}
    data = own_raw.get("encrypted_content")
    raw = {**rest, "$form": spelling} if spelling else rest
    return CompactionBlock(
        block.text or None, data, block.signature, None, block.cache, {"anthropic": raw}
    )


def _sealed(block: Value) -> CompactionBlock | None:
    if type(block) is not RedactedThinkingBlock:
        return None
    own_raw = _raw_of(block.raw, "openai-responses")
    spelling = own_raw.get("$form") or {}
    item = spelling.get("item") or {}
    if item.get("type") != "compaction":
        return None
    item = {key: each for key, each in item.items() if key != "type"}
    raw = {**own_raw, "$form": {**spelling, "item": item}}
    return CompactionBlock(None, block.data, None, None, block.cache, {"openai-responses": raw})


_FIELDS = frozenset({"type", "encrypted_content", "$form"})


def _raw_of(raw: Raw | None, dialect: str) -> JsonObject:
    own_raw = (raw or {}).get(dialect)
    return own_raw if isinstance(own_raw, dict) else {}


T = TypeVar("T")
WHAT = "canonical JSON"
STORED_DEPTH = 512
"""Nesting accepted in files and stored data."""
API_DEPTH = 128
"""Nesting accepted at an API."""

_encoder = msgspec.json.Encoder(enc_hook=spelled)


def dumps(value: Any) -> bytes:
    """A canonical value (or a list of them) as JSON: UTF-8, defaults left out, money as strings."""
    survey = _Survey(STORED_DEPTH, writing=True)
    try:
        survey.look(value, 0)
        if survey.by_hand:
            value = salvage.to_plain(value)
            _Survey(STORED_DEPTH).json(value, 0)
        return _encoder.encode(value)
    except (_NotJsonError, ValueError, RecursionError, TypeError, OverflowError) as error:
        raise _write_error(value, error) from None


@overload
def loads(data: bytes | str, type: type[T], strict: bool = False) -> T: ...
@overload
def loads(data: bytes | str, *, strict: bool = False) -> Message: ...
def loads(data: bytes | str, type: Any = Message, strict: bool = False) -> Any:
    """Read JSON as `type`. Unknown fields of stored data are preserved, with a warning in the log;
    with `strict` they are an error with the place, the expected and the found value."""
    data = _without_bom(data)
    value = _loads(data, type, strict)
    return renewed(value) if may_be_older(data) else value


def _loads(data: bytes | str, type: Any, strict: bool) -> Any:
    limit = API_DEPTH if strict else STORED_DEPTH
    try:
        value = _decoder(type).decode(data)
        survey = _Survey(limit)
        survey.look(value, 0)
        if not survey.stale:
            return value
    except msgspec.ValidationError as error:
        if strict and not salvage.UPGRADES:  # else it may be a message of an older version
            raise salvage.read_error(error) from None
    except _NotJsonError as error:
        raise _malformed(error, limit, value=value) from None
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise _malformed(error, limit, data) from None
    return _loads_slowly(data, type, strict, limit)


def _loads_slowly(data: bytes | str, type: Any, strict: bool, limit: int) -> Any:
    try:
        plain = msgspec.json.decode(data)
        _Survey(limit).json(plain, 0)
    except (msgspec.DecodeError, UnicodeError, RecursionError, _NotJsonError) as error:
        raise _malformed(error, limit, data) from None
    return salvage.build(type, plain, strict)


def convert(plain: Any, type: type[T], strict: bool = True) -> T:
    """`loads` for JSON that is parsed already."""
    limit = API_DEPTH if strict else STORED_DEPTH
    try:
        _Survey(limit).json(plain, 0)
        _encoder.encode(plain)  # other parsers let lone surrogates and endless integers through
        value: T = msgspec.convert(plain, type)
        survey = _Survey(STORED_DEPTH)
        survey.look(value, 0)
        if not survey.stale:
            return value
    except msgspec.ValidationError as error:
        if strict and not salvage.UPGRADES:  # else it may be a message of an older version
            raise salvage.read_error(error) from None
    except (RecursionError, _NotJsonError, ValueError) as error:
        raise _malformed(error, limit, value=plain) from None
    built: T = salvage.build(type, plain, strict)
    return built


def parse(data: bytes | str, what: str) -> Any:
    """JSON text as plain values; errors describe the mistake in it."""
    data = _without_bom(data)
    try:
        plain = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise _malformed(error, STORED_DEPTH, data, what) from None
    require_shallow(plain, what)
    return plain


def require_shallow(plain: Any, what: str) -> None:
    """Refuse parsed values that are nested too deep; parsers stop at depths of their own, which
    differ between versions of Python."""
    level = [plain] if type(plain) in (dict, list) else []
    for _ in range(STORED_DEPTH):
        lists = [each.values() if type(each) is dict else each for each in level]
        level = [each for items in lists for each in items if type(each) in (dict, list)]
        if not level:
            return
    raise DepthError(what, STORED_DEPTH)


def require_json(plain: Any, what: str) -> None:
    """Refuse parsed values that JSON cannot hold (NaN, lone surrogates, keys that are no strings,
    odd types)."""
    try:
        _Survey(STORED_DEPTH).json(plain, 0)
        _require_unicode(plain)
    except (RecursionError, _NotJsonError, UnicodeEncodeError) as error:
        raise _malformed(error, STORED_DEPTH, b"", what, plain) from None


def require_writable(value: Any) -> None:
    """Refuse a value that `dumps` would refuse: a number that is not finite, nesting without
    end."""
    try:
        _Survey(STORED_DEPTH, writing=True).look(value, 0)
    except (_NotJsonError, RecursionError) as error:
        raise _write_error(value, error) from None


def _require_unicode(plain: Any) -> None:
    """Other parsers than ours let lone surrogates through."""
    try:
        _encoder.encode(plain)
    except OverflowError:  # endless integers, which are the writer's business, hide what follows
        for _, item in _children(plain):
            _require_unicode(item)


def duplicate_key(data: bytes | str) -> str | None:
    """The place where JSON text repeats a key in one object; None if it does not.

    Not used on the hot path: elsewhere, the last of two equal keys wins.
    """
    data = _without_bom(data)
    try:
        raw = data.encode() if isinstance(data, str) else data
        jiter.from_json(raw, catch_duplicate_keys=True, cache_mode="none")
    except ValueError as error:
        return str(error) if "duplicate key" in str(error).lower() else None
    return None


def _without_bom(data: bytes | str) -> bytes | str:
    if isinstance(data, str):
        return data.removeprefix("\ufeff")
    return data[3:] if data[:3] == b"\xef\xbb\xbf" else data


def _malformed(
    error: Exception, limit: int, data: bytes | str = b"", what: str = WHAT, value: Any = None
) -> InterlinguaError:
    """`value` is the result so far, if reading got that far; it has the place."""
    if isinstance(error, (RecursionError, _TooDeepError)):
        return DepthError(what, limit)
    path = _place(value)
    if isinstance(error, _NotJsonError):
        return ReadError(what, path, found=error.problem)
    if isinstance(error, msgspec.ValidationError):
        return salvage.read_error(error, what=what)
    if isinstance(error, UnicodeEncodeError) or _has_lone_surrogate(data):
        return ReadError(what, path, "Unicode text", "a lone surrogate")
    if value is not None:
        problem = str(error).removeprefix("JSON is malformed: ")
        return ReadError(what, path, problem=f"invalid JSON: {problem}")
    return ReadError(what, problem=json_flaw(error, data))


def json_flaw(error: Exception, data: bytes | str) -> str:
    """What is wrong with a JSON text, with the line and the column."""
    if not data:
        return "invalid JSON: it is empty"
    data = data.encode(errors="surrogatepass") if isinstance(data, str) else data
    problem = str(error).removeprefix("JSON is malformed: ")
    text, _, number = problem.rpartition(" (byte ")
    known = number[:-1].isdigit()
    before = data[: int(number[:-1])] if known else data.rstrip()
    line, column = before.count(b"\n") + 1, len(before) - before.rfind(b"\n")
    what = text if known else "it ends too early"
    return f"invalid JSON: {what} (line {line}, column {column})"


def body_problem(error: Exception, data: bytes | str) -> str:
    """The problem with the body of a request: its JSON, or its fields."""
    if isinstance(error, msgspec.ValidationError):
        return str(salvage.read_error(error, what="request body"))
    if isinstance(error, RecursionError):
        return "request body: nested too deeply"
    return str(ReadError("request body", problem=json_flaw(error, data)))


def _has_lone_surrogate(data: bytes | str) -> bool:
    """After a failure: is the cause an escape such as `\\ud800` that stands alone?"""
    text = data if isinstance(data, str) else bytes(data).decode("utf-8", "replace")
    text = text.replace("\\\\", "")  # an escaped backslash escapes nothing
    rest = re.sub(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}", "", text)
    return bool(re.search(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}|[\ud800-\udfff]", rest))


@cache
def _decoder(type: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(type)


class _NotJsonError(Exception):
    """Something that JSON cannot hold."""

    def __init__(self, problem: str) -> None:
        self.problem = problem


class _TooDeepError(_NotJsonError):
    def __init__(self, limit: int) -> None:
        super().__init__(f"more than {limit} levels of nesting")


class _Survey:
    """One walk over a value: is all of it JSON, and is there anything the fast way gets wrong?

    Only fields whose type leaves room for surprises are looked at, so that it costs little."""

    def __init__(self, limit: int, writing: bool = False) -> None:
        self.limit = limit
        self.writing = writing
        self.by_hand = False
        """Something that the fast path would write in another form than it is read in: preserved
        fields, or a string that equals its field's default and is another object."""
        self.stale = False
        """Somewhere, a message follows another schema version."""

    def look(self, value: Any, depth: int) -> None:
        kind = type(value)
        if kind is tuple or kind is list:
            if depth >= self.limit:
                raise _TooDeepError(self.limit)
            for item in value:
                self.look(item, depth + 1)
        elif isinstance(value, Value):
            if depth >= self.limit:
                raise _TooDeepError(self.limit)
            if isinstance(value, Message) and value.schema_version != _message.SCHEMA_VERSION:
                self.stale = True
            fields, words = _surprises(type(value))
            for name, look in fields:
                item = getattr(value, name)
                if not item:
                    continue
                if look == "value":
                    self.look(item, depth + 1)
                elif look == "kept" and self.has_extras(name, item):
                    self.by_hand = True  # and then all that is written is looked at
                else:
                    self.json(item, depth + 1)
            if self.writing:
                for name, default in words:
                    word = getattr(value, name)
                    if word is not default and word == default:
                        self.by_hand = True
        else:
            self.json(value, depth)

    def has_extras(self, name: str, item: Any) -> bool:
        return self.writing and (name == "extra" or salvage.KEY in item)

    def json(self, value: Any, depth: int) -> None:
        kind = type(value)
        if kind is str or kind is int or kind is bool or value is None:
            return
        if kind is dict or isinstance(value, dict):
            if depth >= self.limit:
                raise _TooDeepError(self.limit)
            for key, item in value.items():
                if type(key) is not str:
                    raise _NotJsonError(f"a key that is {found(key)}")
                if type(item) not in _CLOSED:
                    self.json(item, depth + 1)
        elif kind is list or kind is tuple:
            if depth >= self.limit:
                raise _TooDeepError(self.limit)
            for item in value:
                if type(item) not in _CLOSED:
                    self.json(item, depth + 1)
        elif kind is float or kind is Decimal or kind is SpelledFloat:
            if not (value.is_finite() if kind is Decimal else math.isfinite(value)):
                raise _NotJsonError(f"{value}, which JSON cannot represent")
        elif isinstance(value, Value):
            self.look(value, depth)
        elif not isinstance(value, (str, Enum)):
            raise _NotJsonError(f"{found(value)}, which JSON cannot represent")


Look = Literal["value", "kept", "json"]
_CLOSED = (str, int, bool, type(None))


@cache
def _surprises(cls: type[Value]) -> tuple[list[tuple[str, Look]], list[tuple[str, str]]]:
    """The fields of a class that the fast way may get wrong, by kind: nested values, free JSON, and
    defaults that are enum words."""
    words = [(name, word) for name, word in _defaults(cls).items() if isinstance(word, str)]
    return _open_fields(cls), words


def _open_fields(cls: type[Value]) -> list[tuple[str, Look]]:
    found: list[tuple[str, Look]] = []
    for name, hint in get_type_hints(cls).items():
        if name not in cls.__struct_fields__:
            continue
        leaves = set(_leaves(hint))
        if any(isinstance(leaf, type) and issubclass(leaf, Value) for leaf in leaves):
            found.append((name, "value"))
        elif name in ("raw", "provider_raw", "extra"):
            found.append((name, "kept"))
        elif not all(_is_closed(leaf) for leaf in leaves):
            found.append((name, "json"))
    return found


def _is_closed(leaf: Any) -> bool:
    if leaf in _CLOSED or not isinstance(leaf, type):
        return leaf is not Any
    return issubclass(leaf, Enum) or leaf.__name__ == "datetime"


def _leaves(hint: Any) -> list[Any]:
    """The plain types that a type hint is made of."""
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return [leaf for arg in get_args(hint) for leaf in _leaves(arg)]
    if origin in (tuple, list):
        return [leaf for arg in get_args(hint) if arg is not ... for leaf in _leaves(arg)]
    if origin is Literal:
        return [str]
    return [dict if origin is dict else hint]


def _write_error(value: Any, error: Exception) -> WriteError:
    """The slow search for the place, after the quick walk found that something is wrong."""
    if isinstance(error, (_TooDeepError, RecursionError)):
        return WriteError(WHAT, "$", f"more than {STORED_DEPTH} levels of nesting")
    path = _place(value)
    if isinstance(error, UnicodeEncodeError):
        return WriteError(WHAT, path, "a lone surrogate, which is not valid Unicode")
    return WriteError(WHAT, path, error.problem if isinstance(error, _NotJsonError) else str(error))


def _place(value: Any) -> str:
    path = "$"
    while (bad := next(((p, v) for p, v in _children(value) if not _is_json(v)), None)) is not None:
        path, value = path + bad[0], bad[1]
    return path


def _children(value: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(value, Value):
        return [(f".{name}", getattr(value, name)) for name in value.__struct_fields__]
    if isinstance(value, dict):
        return [(f".{key}", item) for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [(f"[{index}]", item) for index, item in enumerate(value)]
    return ()


def _is_json(value: Any) -> bool:
    try:
        _Survey(STORED_DEPTH).look(value, 0)
        _encoder.encode(value)
    except (_NotJsonError, ValueError, RecursionError, TypeError, OverflowError):
        return False
    return True
