"""Canonical types as pydantic v2 fields and FastAPI bodies, and their JSON Schema.

Nothing here is imported unless pydantic asks, or the schema is requested. FastAPI takes a class
that is not a pydantic model for a query parameter, so a body that is one message is declared as
`message: Annotated[Message, Body()]`; a list of messages, or a model with some, needs nothing.
"""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from interlingua.errors import ReadError
from interlingua.model import codec
from interlingua.model.base import Value


def dumped(value: Any) -> Any:
    """The value with every SDK object in it as plain JSON; the original if there is none.

    Only what was set is dumped, so that fields which the SDK knows and the wire had not stay away.
    """
    if is_sdk_object(value):
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True, warnings=False)
    if isinstance(value, dict):
        items = {key: dumped(item) for key, item in value.items()}
        return items if any(items[key] is not value[key] for key in items) else value
    if isinstance(value, (list, tuple)):
        found = [dumped(item) for item in value]
        same = all(new is old for new, old in zip(found, value, strict=True))
        return value if same else found
    return value


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
    """One schema without references of its own, since pydantic keeps its definitions elsewhere;
    what refers back to itself is cut there with the plain type `object`."""
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
