"""Canonical types as pydantic v2 fields and FastAPI bodies, and their JSON Schema.

Nothing here is imported unless pydantic asks, or the schema is requested. FastAPI takes a class
that is not a pydantic model for a query parameter, so a body that is one message is declared as
`message: Annotated[Message, Body()]`; a list of messages, or a model with some, needs nothing.
"""

from __future__ import annotations

from base64 import b64encode
from typing import Any, Protocol

import msgspec

from interlingua.errors import ReadError
from interlingua.model import codec
from interlingua.model.base import Value


def dumped(value: Any) -> Any:
    """The value with every SDK object in it as plain JSON; the original if there is none.

    Only fields that were set are dumped, so fields that the SDK has and the wire lacked stay
    absent. Bytes are base64, as each SDK sends them.
    """
    if is_sdk_object(value):
        wire = _dump(value, exclude_unset=True)
        package = type(value).__module__.partition(".")[0]
        if package in _FILLED:
            return _with_names(wire, _dump(value))
        if package in _WITH_BYTES:
            return _with_bytes(wire, _dump(value, mode="python", exclude_unset=True))
        return wire
    if isinstance(value, dict):
        items = {key: _inside(item) for key, item in value.items()}
        return items if any(items[key] is not value[key] for key in items) else value
    if isinstance(value, (list, tuple)):
        found = [_inside(item) for item in value]
        same = all(new is old for new, old in zip(found, value, strict=True))
        return value if same else found
    return value


def _inside(value: Any) -> Any:
    if isinstance(value, (bytes, bytearray)):
        return b64encode(value).decode()
    return dumped(value)


_FILLED = ("mistralai",)
"""Packages whose objects fill in their own `role` and `type`, which counts as not set."""
_WITH_BYTES = ("google",)
"""Packages whose objects hold bytes, and dump them in the alphabet for URLs."""


def _dump(value: Any, mode: str = "json", **how: bool) -> Any:
    return value.model_dump(mode=mode, by_alias=True, warnings=False, **how)


def _with_bytes(wire: Any, held: Any) -> Any:
    """The JSON of a value, its bytes in the usual alphabet."""
    if isinstance(held, bytes):
        return b64encode(held).decode()
    if isinstance(wire, dict) and isinstance(held, dict):
        return {key: _with_bytes(item, held.get(key)) for key, item in wire.items()}
    if isinstance(wire, list) and isinstance(held, (list, tuple)):
        return [_with_bytes(one, other) for one, other in zip(wire, held, strict=True)]
    return wire


def _with_names(sparse: Any, full: Any) -> Any:
    """The fields that were set, and each `role` and `type`."""
    if isinstance(sparse, list):
        return [_with_names(one, other) for one, other in zip(sparse, full, strict=True)]
    if not isinstance(sparse, dict):
        return sparse
    names = {key: full[key] for key in ("role", "type") if key in full}
    return {key: _with_names(item, full[key]) for key, item in sparse.items()} | names


class SdkObject(Protocol):
    """An object of an SDK, such as a message or a whole answer."""

    def model_dump(self, *args: Any, **kwargs: Any) -> Any: ...


def is_sdk_object(value: Any) -> bool:
    """Whether it can be dumped; a class cannot."""
    return hasattr(value, "model_dump") and not isinstance(value, type)


def core_schema(cls: type[Value]) -> Any:
    """The schema for pydantic: our strict reader in, our plain JSON out."""
    from pydantic_core import PydanticCustomError
    from pydantic_core import core_schema as core

    def read(value: Any) -> Value:
        if isinstance(value, cls):
            return value
        try:
            return codec.convert(value, cls)
        except ReadError as error:
            raise PydanticCustomError(
                "interlingua", "{error}", {"error": str(error), "path": error.path}
            ) from None

    return core.no_info_plain_validator_function(
        read,
        serialization=core.plain_serializer_function_ser_schema(plain),
        metadata={"pydantic_js_functions": [lambda _schema, handler: _inline_schema(cls)]},
    )


def plain(value: Value) -> Any:
    """A value as plain JSON types."""
    return msgspec.json.decode(codec.dumps(value))


def json_schema(type: Any) -> dict[str, Any]:
    """The JSON Schema of a canonical type, self-contained."""
    return msgspec.json.schema(type)


def _inline_schema(cls: type[Value]) -> dict[str, Any]:
    """One schema without references, because pydantic keeps its definitions elsewhere. A recursive
    reference becomes the plain type `object`."""
    whole = json_schema(cls)
    definitions = whole.get("$defs", {})

    def inline(schema: Any, inside: tuple[str, ...]) -> Any:
        if isinstance(schema, list):
            return [inline(item, inside) for item in schema]
        if not isinstance(schema, dict):
            return schema
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[-1]
            if name in inside:
                return {"type": "object", "title": name}
            return inline(definitions[name], (*inside, name))
        return {key: inline(item, inside) for key, item in schema.items() if key != "discriminator"}

    whole.pop("$defs", None)
    result: dict[str, Any] = inline(whole, ())
    return result
