"""Reads stored JSON field by field, so that unknown fields are preserved and written back.

Fields of a newer (or older) program are stored under `raw["interlingua"]` of the nearest value that
has a `raw`, metadata fields in `metadata.extra`: by name, or by JSON pointer if the field lies
deeper. Messages of an older schema version go through a chain of one-step upgrades.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec

from interlingua.errors import ReadError, found
from interlingua.model import message as _message
from interlingua.model.base import JsonObject, Raw, Value, _defaults
from interlingua.model.blocks import Block, UnknownBlock
from interlingua.model.message import Message, Role
from interlingua.model.metadata import OWN_EXTRAS, MessageMetadata
from interlingua.model.spelled_numbers import SpelledFloat

logger = logging.getLogger(__name__)

KEY = "interlingua"
"""The key of `raw` for data of other versions of this package."""

UPGRADES: dict[int, Callable[[JsonObject], JsonObject]] = {}
"""Schema version to the function that makes the next version of a stored message out of it."""

_WHAT = "canonical JSON"
Extras = dict[str, Any]


def build(type: Any, plain: Any, strict: bool = False) -> Any:
    """Parsed JSON as `type`, keeping unknown fields unless `strict`."""
    builder = _Builder(strict)
    value, extras = builder.any(type, plain, "$")
    if extras:
        raise ReadError(_WHAT, "$", "only known fields", ", ".join(map(repr, extras)))
    if builder.warnings:
        logger.warning(
            "stored_data_unknown",
            extra={"count": len(builder.warnings), "places": builder.warnings[:20]},
        )
    return value


def upgrade(plain: JsonObject, path: str = "$") -> JsonObject:
    """A stored message in the present schema version."""
    version = plain.get("schema_version", _message.SCHEMA_VERSION)
    while isinstance(version, int) and version < _message.SCHEMA_VERSION:
        step = UPGRADES.get(version)
        if step is None:
            raise ReadError(_WHAT, f"{path}.schema_version", "a known version", found(version))
        plain = {**step(plain), "schema_version": version + 1}
        version += 1
    return plain


def read_error(error: msgspec.ValidationError, base: str = "$", what: str = _WHAT) -> ReadError:
    """msgspec's error, as ours: the same facts as attributes."""
    problem, _, place = str(error).partition(" - at `")
    path = base + place.rstrip("`").removeprefix("$")
    if match := re.fullmatch(r"Expected (.+), got (.+)", problem, re.DOTALL):
        return ReadError(what, path, _in_words(match[1]), _in_words(match[2]))
    if match := re.fullmatch(r"Object contains unknown field `(.+)`", problem, re.DOTALL):
        return ReadError(what, path, problem=f"unknown field {match[1]!r}")
    if match := re.fullmatch(r"Object missing required field `(.+)`", problem, re.DOTALL):
        return ReadError(what, path, problem=f"field {match[1]!r} is missing")
    return ReadError(what, path, found=problem)


_TYPES = {
    "array": "a list",
    "bool": "true or false",
    "float": "a number",
    "int": "an integer",
    "object": "an object",
    "str": "a string",
}


def _in_words(types: str) -> str:
    """Types as msgspec names them, in the terms of JSON."""
    names = types.replace("`", "").split(" | ")
    return " or ".join(_TYPES.get(name, name) for name in names)


class _Builder:
    def __init__(self, strict: bool) -> None:
        self.strict = strict
        self.warnings: list[str] = []

    def any(self, hint: Any, plain: Any, path: str) -> tuple[Any, Extras]:
        if isinstance(plain, list) and (many := _sequence(hint)):
            return self.items(many, plain, path)
        if isinstance(plain, dict):
            structs = _structs(hint)
            if structs:
                return self.struct(structs, plain, path)
        try:
            return msgspec.convert(plain, hint), {}
        except msgspec.ValidationError as error:
            raise read_error(error, path) from None

    def items(self, hint: Any, plain: list[Any], path: str) -> tuple[Any, Extras]:
        out, extras = [], {}
        for index, item in enumerate(plain):
            if self.is_stranger(hint, item):
                self.warnings.append(f"{path}[{index}]: unknown role; message skipped")
                continue
            value, more = self.any(get_args(hint)[0], item, f"{path}[{index}]")
            extras.update({_pointer(index, name): rest for name, rest in more.items()})
            out.append(value)
        return (tuple(out) if get_origin(hint) is tuple else out), extras

    def is_stranger(self, hint: Any, item: Any) -> bool:
        """Whether a stored message has a role of a newer version."""
        if self.strict or get_args(hint)[0] is not Message or not isinstance(item, dict):
            return False
        return isinstance(item.get("role"), str) and item["role"] not in set(Role)

    def struct(
        self, structs: list[type[Value]], plain: JsonObject, path: str
    ) -> tuple[Any, Extras]:
        cls = structs[0]
        if cls.__struct_config__.tag is not None:
            tag = plain.get("type")
            match = [each for each in structs if each.__struct_config__.tag == tag]
            if not match:
                return self.unknown_block(structs, plain, path), {}
            cls = match[0]
        warnings = len(self.warnings)
        try:
            return self.fields(cls, plain, path)
        except ReadError as error:
            if self.strict or UnknownBlock not in structs or not _is_new_word(error):
                raise
        del self.warnings[warnings:]
        self.warnings.append(f"{path}: a block has an unknown value; stored unchanged")
        return UnknownBlock({KEY: plain}), {}

    def unknown_block(self, structs: list[type[Value]], plain: JsonObject, path: str) -> Value:
        tag = plain.get("type")
        if self.strict or UnknownBlock not in structs or not isinstance(tag, str):
            known = ", ".join(str(each.__struct_config__.tag) for each in structs)
            raise ReadError(_WHAT, f"{path}.type", f"one of {known}", repr(tag))
        self.warnings.append(f"{path}: block type {tag!r} unknown; stored unchanged")
        return UnknownBlock({KEY: plain})

    def fields(self, cls: type[Value], plain: JsonObject, path: str) -> tuple[Value, Extras]:
        if cls is Message:
            plain = upgrade(plain, path)
        known: dict[str, Any] = {}
        extras: Extras = {}
        hints = _hints(cls)
        for name, item in plain.items():
            if name == "type" and cls.__struct_config__.tag is not None:
                continue
            if name not in hints:
                if cls is MessageMetadata and name in OWN_EXTRAS and not self.strict:
                    extras[name] = item
                else:
                    self.keep(extras, name, item, f"{path}.{name}")
                continue
            try:
                known[name], more = self.any(hints[name], item, f"{path}.{name}")
                extras.update({_pointer(name, deeper): rest for deeper, rest in more.items()})
            except ReadError:
                if self.strict or not _may_be_set_aside(cls, name):
                    raise
                self.keep(extras, name, item, f"{path}.{name}")
        if extras and cls is UnknownBlock:
            return UnknownBlock({KEY: plain}), {}
        return _with_extras(cls, known, extras, path)

    def keep(self, extras: Extras, name: str, item: Any, path: str) -> None:
        if self.strict:
            raise ReadError(_WHAT, path, "a known field", found(item))
        self.warnings.append(f"{path}: stored unchanged")
        extras[_key([], name)] = item


def _with_extras(
    cls: type[Value], known: dict[str, Any], extras: Extras, path: str
) -> tuple[Value, Extras]:
    if extras and cls is MessageMetadata:
        known["extra"] = {**(known.get("extra") or {}), **extras}
        extras = {}
    elif extras and cls is Message:
        metadata = known.get("metadata") or MessageMetadata()
        raw = _raw_with_extras(metadata.provider_raw, extras)
        known["metadata"] = metadata.replace(provider_raw=raw)
        extras = {}
    elif extras and "raw" in cls.__struct_fields__:
        known["raw"] = _raw_with_extras(known.get("raw"), extras)
        extras = {}
    try:
        return cls(**known), extras
    except TypeError as error:
        raise ReadError(_WHAT, path, found=str(error).replace("argument", "field")) from None
    except ValueError as error:
        raise ReadError(_WHAT, path, found=str(error)) from None


def _raw_with_extras(raw: Raw | None, extras: Extras) -> Raw:
    before = (raw or {}).get(KEY)
    return {**(raw or {}), KEY: {**(before if isinstance(before, dict) else {}), **extras}}


def to_plain(value: Any, hint: Any = Block) -> Any:
    """A value as plain JSON, with preserved fields back in their places."""
    if isinstance(value, (list, tuple)):
        many = _sequence(hint)
        each = get_args(many)[0] if many else Block
        return [to_plain(item, each) for item in value]
    if not isinstance(value, Value):
        return msgspec.to_builtins(value, builtin_types=(SpelledFloat,))
    if isinstance(value, UnknownBlock) and _is_set_aside(value, hint):
        return value.raw[KEY]
    out: dict[str, Any] = {}
    if value.__struct_config__.tag is not None:
        out["type"] = value.__struct_config__.tag
    hints, defaults = _hints(type(value)), _defaults(type(value))
    for name in value.__struct_fields__:
        item, default = getattr(value, name), defaults[name]
        is_default = item is default or (isinstance(item, str) and item == default)
        if name == "schema_version" or not is_default:
            out[name] = to_plain(item, hints[name])
    if isinstance(value, MessageMetadata):
        _give_back(value, out, out, "extra")
    elif isinstance(value, Message):
        _give_back_from_metadata(value, out)
    elif isinstance(out.get("raw"), dict) and not isinstance(value, UnknownBlock):
        _give_back_from_raw(value, out, out, "raw")
    return out


def _is_set_aside(block: UnknownBlock, hint: Any) -> bool:
    """Whether reading this JSON again gives this block."""
    plain = block.raw.get(KEY)
    if not isinstance(plain, dict) or len(block.raw) > 1 or block.cache is not None:
        return False
    try:
        again, _ = _Builder(strict=False).any(hint, plain, "$")
    except ReadError:
        return False
    return isinstance(again, UnknownBlock) and again.raw.get(KEY) is plain


def _give_back_from_metadata(message: Message, out: JsonObject) -> None:
    metadata = out.get("metadata", {})
    if isinstance(metadata.get("provider_raw"), dict):
        _give_back_from_raw(message, out, metadata, "provider_raw")
        if not metadata:
            del out["metadata"]


def _give_back_from_raw(value: Value, out: JsonObject, holder: JsonObject, name: str) -> None:
    raw = holder[name] = dict(holder[name])
    if KEY in raw:
        _give_back(value, out, raw, KEY)
        if not raw:
            del holder[name]


def _give_back(value: Value, out: JsonObject, holder: JsonObject, name: str) -> None:
    """Moves preserved fields from `holder[name]` to their places in `out`.

    Only those that reading would preserve in the very same way: the rest was put there by another
    program, or the field has been set since, and stays where it is."""
    extras = holder.get(name)
    if not isinstance(extras, dict):
        return
    stays = {key: item for key, item in extras.items() if not _put(value, out, key, item)}
    del holder[name]
    if stays:
        holder[name] = stays


def _put(value: Any, out: Any, key: str, item: Any) -> bool:
    *way, name = _names(key)
    if _key(way, name) != key:
        return False
    for step in way:
        is_list = isinstance(out, list)
        if is_list and not (step.isdecimal() and int(step) < len(out)):
            return False
        if not is_list and step not in out:
            return False
        value = value[int(step)] if is_list else getattr(value, step, None)
        out = out[int(step)] if is_list else out[step]
        if not isinstance(out, list) and not _passes_up(value):
            return False
    if not isinstance(value, Value) or name in out or not _would_keep(type(value), name, item):
        return False
    out[name] = item
    return True


def _passes_up(value: Any) -> bool:
    """Whether the extras of a value are stored by the value around it."""
    return (
        isinstance(value, Value)
        and not isinstance(value, (Message, MessageMetadata))
        and "raw" not in value.__struct_fields__
    )


def _would_keep(cls: type[Value], name: str, item: Any) -> bool:
    hint = _hints(cls).get(name)
    if hint is None:
        return True
    if not _may_be_set_aside(cls, name):
        return False
    try:
        _Builder(strict=False).any(hint, item, "$")
    except ReadError:
        return True
    return False


def _pointer(name: str | int, deeper: str | None) -> str:
    """`name`, then `deeper`, as a JSON pointer."""
    head = "/" + str(name).replace("~", "~0").replace("/", "~1")
    if deeper is None:
        return head
    return head + (deeper if deeper.startswith("/") else _pointer(deeper, None))


def _key(way: list[str], name: str) -> str:
    """The key of a preserved field: its name, or its pointer below the value that stores it."""
    key = name if not name.startswith("/") else _pointer(name, None)
    for step in reversed(way):
        key = _pointer(step, key)
    return key


def _names(key: str) -> list[str]:
    if not key.startswith("/"):
        return [key]
    return [part.replace("~1", "/").replace("~0", "~") for part in key[1:].split("/")]


def _structs(hint: Any) -> list[type[Value]]:
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return [part for part in parts if isinstance(part, type) and issubclass(part, Value)]


def _sequence(hint: Any) -> Any:
    """The tuple or list type in a type hint, if there is one."""
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return next((part for part in parts if get_origin(part) in (tuple, list)), None)


def _may_be_set_aside(cls: type[Value], name: str) -> bool:
    """Whether a field that cannot be read may be set aside: not if the value needs it, as a message
    its content."""
    if _is_required(cls, name) or name == "schema_version":
        return False
    hint = _hints(cls)[name]
    many = _sequence(hint)
    needed = _structs(hint) or (many and _structs(get_args(many)[0]))
    return not needed or type(None) in get_args(hint)


def _is_new_word(error: ReadError) -> bool:
    """Whether a value is unreadable only because a newer version has more enum values."""
    return (error.found or "").startswith("Invalid enum value")


def _is_required(cls: type[Value], name: str) -> bool:
    return any(field.name == name and field.required for field in msgspec.structs.fields(cls))


@cache
def _hints(cls: type[Value]) -> dict[str, Any]:
    hints = get_type_hints(cls)
    return {name: hints[name] for name in cls.__struct_fields__}
