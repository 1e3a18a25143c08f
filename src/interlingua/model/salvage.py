"""Reading stored JSON field by field, so that what we do not know is kept and written back.

What a newer (or older) program wrote is kept under `raw["interlingua"]` of the nearest value that
has a `raw`, metadata fields in `metadata.extra`: by name, or by JSON pointer where the field lies
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
from interlingua.model.base import JsonObject, Value, _defaults
from interlingua.model.blocks import UnknownBlock
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata

logger = logging.getLogger(__name__)

KEY = "interlingua"
"""The key of `raw` for what other versions of this package wrote."""

UPGRADES: dict[int, Callable[[JsonObject], JsonObject]] = {}
"""Schema version to the function that makes the next version of a stored message out of it."""

_WHAT = "canonical JSON"
Kept = dict[str, Any]


def build(type: Any, plain: Any, strict: bool = False) -> Any:
    """Parsed JSON as `type`, keeping unknown fields unless `strict`."""
    builder = _Builder(strict)
    value, kept = builder.any(type, plain, "$")
    if kept:
        raise ReadError(_WHAT, "$", "only known fields", ", ".join(map(repr, kept)))
    if builder.warnings:
        logger.warning(
            "stored_data_kept",
            extra={"count": len(builder.warnings), "places": builder.warnings[:20]},
        )
    return value


def upgrade(plain: JsonObject, path: str = "$") -> JsonObject:
    """A stored message in the present schema version."""
    version = plain.get("schema_version", _message.SCHEMA_VERSION)
    while isinstance(version, int) and version < _message.SCHEMA_VERSION:
        step = UPGRADES.get(version)
        if step is None:
            raise ReadError(_WHAT, f"{path}.schema_version", "a version we know", found(version))
        plain = {**step(plain), "schema_version": version + 1}
        version += 1
    return plain


def read_error(odd: msgspec.ValidationError, base: str = "$") -> ReadError:
    """msgspec's error, as ours: the same facts as attributes."""
    problem, _, place = str(odd).partition(" - at `")
    path = base + place.rstrip("`").removeprefix("$")
    if match := re.fullmatch(r"Expected (.+), got (.+)", problem, re.DOTALL):
        return ReadError(_WHAT, path, match[1].replace("`", ""), match[2].replace("`", ""))
    if match := re.fullmatch(r"Object contains unknown field (.+)", problem, re.DOTALL):
        return ReadError(_WHAT, path, "only known fields", match[1])
    if match := re.fullmatch(r"Object missing required field (.+)", problem, re.DOTALL):
        return ReadError(_WHAT, path, f"a field {match[1]}", "none")
    return ReadError(_WHAT, path, found=problem)


class _Builder:
    def __init__(self, strict: bool) -> None:
        self.strict = strict
        self.warnings: list[str] = []

    def any(self, hint: Any, plain: Any, path: str) -> tuple[Any, Kept]:
        origin = get_origin(hint)
        if origin in (tuple, list) and isinstance(plain, list):
            return self.items(hint, plain, path)
        if isinstance(plain, dict):
            structs = _structs(hint)
            if structs:
                return self.struct(structs, plain, path)
        try:
            return msgspec.convert(plain, hint), {}
        except msgspec.ValidationError as odd:
            raise read_error(odd, path) from None

    def items(self, hint: Any, plain: list[Any], path: str) -> tuple[Any, Kept]:
        out, kept = [], {}
        for index, item in enumerate(plain):
            if self.is_stranger(hint, item):
                self.warnings.append(f"{path}[{index}]: role unknown, message skipped")
                continue
            value, more = self.any(get_args(hint)[0], item, f"{path}[{index}]")
            kept.update({_pointer(index, name): rest for name, rest in more.items()})
            out.append(value)
        return (tuple(out) if get_origin(hint) is tuple else out), kept

    def is_stranger(self, hint: Any, item: Any) -> bool:
        """A stored message whose role a newer program knows and we do not."""
        if self.strict or get_args(hint)[0] is not Message or not isinstance(item, dict):
            return False
        return isinstance(item.get("role"), str) and item["role"] not in set(Role)

    def struct(self, structs: list[type[Value]], plain: JsonObject, path: str) -> tuple[Any, Kept]:
        cls = structs[0]
        if cls.__struct_config__.tag is not None:
            tag = plain.get("type")
            match = [each for each in structs if each.__struct_config__.tag == tag]
            if not match:
                return self.unknown_block(structs, plain, path), {}
            cls = match[0]
        return self.fields(cls, plain, path)

    def unknown_block(self, structs: list[type[Value]], plain: JsonObject, path: str) -> Value:
        tag = plain.get("type")
        if self.strict or UnknownBlock not in structs or not isinstance(tag, str):
            known = ", ".join(str(each.__struct_config__.tag) for each in structs)
            raise ReadError(_WHAT, f"{path}.type", f"one of {known}", repr(tag))
        self.warnings.append(f"{path}: block type {tag!r} unknown, kept")
        return UnknownBlock({KEY: plain})

    def fields(self, cls: type[Value], plain: JsonObject, path: str) -> tuple[Value, Kept]:
        if cls is Message:
            plain = upgrade(plain, path)
        known: dict[str, Any] = {}
        kept: Kept = {}
        hints = _hints(cls)
        for name, item in plain.items():
            if name == "type" and cls.__struct_config__.tag is not None:
                continue
            if name not in hints:
                self.keep(kept, name, item, f"{path}.{name}")
                continue
            try:
                known[name], more = self.any(hints[name], item, f"{path}.{name}")
                kept.update({_pointer(name, deeper): rest for deeper, rest in more.items()})
            except ReadError:
                if self.strict or _is_required(cls, name) or not _is_leaf(hints[name], item):
                    raise
                self.keep(kept, name, item, f"{path}.{name}")
        return _place_kept(cls, known, kept, path)

    def keep(self, kept: Kept, name: str, item: Any, path: str) -> None:
        if self.strict:
            raise ReadError(_WHAT, path, "a known field", found(item))
        self.warnings.append(f"{path}: kept as it is")
        kept[name if not name.startswith("/") else _pointer(name, None)] = item


def _place_kept(
    cls: type[Value], known: dict[str, Any], kept: Kept, path: str
) -> tuple[Value, Kept]:
    if kept and cls is MessageMetadata:
        known["extra"] = {**(known.get("extra") or {}), **kept}
        kept = {}
    elif kept and cls is Message:
        metadata = known.get("metadata") or MessageMetadata()
        raw = {**(metadata.provider_raw or {}), KEY: kept}
        known["metadata"] = metadata.replace(provider_raw=raw)
        kept = {}
    elif kept and "raw" in cls.__struct_fields__:
        known["raw"] = {**(known.get("raw") or {}), KEY: kept}
        kept = {}
    try:
        return cls(**known), kept
    except TypeError as odd:
        raise ReadError(_WHAT, path, found=str(odd).replace("argument", "field")) from None
    except ValueError as odd:
        raise ReadError(_WHAT, path, found=str(odd)) from None


def to_plain(value: Any) -> Any:
    """A value as plain JSON, what was kept put back in its places."""
    if isinstance(value, (list, tuple)):
        return [to_plain(item) for item in value]
    if not isinstance(value, Value):
        return msgspec.to_builtins(value)
    if isinstance(value, UnknownBlock) and KEY in value.raw:
        return value.raw[KEY]
    out: dict[str, Any] = {}
    kept: Kept = {}
    if value.__struct_config__.tag is not None:
        out["type"] = value.__struct_config__.tag
    defaults = _defaults(type(value))
    for name in value.__struct_fields__:
        item = getattr(value, name)
        if isinstance(value, MessageMetadata) and name == "extra":
            kept.update(item or {})
        elif name == "raw" and item and KEY in item:
            kept.update(item[KEY])
            item = {key: rest for key, rest in item.items() if key != KEY}
            if item:
                out[name] = item
        elif name == "schema_version" or item is not defaults[name]:
            out[name] = to_plain(item)
    if isinstance(value, Message):
        kept.update(_take_from_metadata(out))
    for pointer, item in kept.items():
        _put(out, pointer, item)
    return out


def _take_from_metadata(message: JsonObject) -> Kept:
    raw = message.get("metadata", {}).get("provider_raw") or {}
    kept: Kept = raw.pop(KEY, {})
    if not raw and kept:
        del message["metadata"]["provider_raw"]
        if not message["metadata"]:
            del message["metadata"]
    return kept


def _pointer(name: str | int, deeper: str | None) -> str:
    """`name`, then `deeper`, as a JSON pointer."""
    head = "/" + str(name).replace("~", "~0").replace("/", "~1")
    if deeper is None:
        return head
    rest = deeper if deeper.startswith("/") else "/" + deeper.replace("~", "~0").replace("/", "~1")
    return head + rest


def _put(out: Any, pointer: str, item: Any) -> None:
    if not pointer.startswith("/"):
        out[pointer] = item
        return
    names = [part.replace("~1", "/").replace("~0", "~") for part in pointer[1:].split("/")]
    for name in names[:-1]:
        if isinstance(out, list):
            if int(name) >= len(out):
                return  # the item was taken out since; what was kept of it goes with it
            out = out[int(name)]
        else:
            out = out.setdefault(name, {})
    out[names[-1]] = item


def _structs(hint: Any) -> list[type[Value]]:
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return [part for part in parts if isinstance(part, type) and issubclass(part, Value)]


def _is_leaf(hint: Any, item: Any) -> bool:
    return not isinstance(item, (dict, list)) or not (
        _structs(hint) or get_origin(hint) in (tuple, list)
    )


def _is_required(cls: type[Value], name: str) -> bool:
    return any(field.name == name and field.required for field in msgspec.structs.fields(cls))


@cache
def _hints(cls: type[Value]) -> dict[str, Any]:
    hints = get_type_hints(cls)
    return {name: hints[name] for name in cls.__struct_fields__}
