"""What the service itself would accept: botocore's validator over its service model, and what that
leaves out (enums, patterns, greatest lengths), with blobs as base64 as they are on the wire."""

from __future__ import annotations

import base64
import binascii
import re
from functools import cache
from typing import Any

from botocore.loaders import Loader
from botocore.model import ServiceModel
from botocore.validate import ParamValidator


@cache
def _operation() -> Any:
    model = Loader().load_service_model("bedrock-runtime", "service-2")
    return ServiceModel(model).operation_model("Converse")


def request_problems(wire: Any) -> list[str]:
    return _problems({"modelId": "some.model-v1:0", **wire}, _operation().input_shape)


def response_problems(wire: Any) -> list[str]:
    return _problems(wire, _operation().output_shape)


def _problems(wire: Any, shape: Any) -> list[str]:
    found: list[str] = []
    plain = _checked(wire, shape, "$", found)
    report = ParamValidator().validate(plain, shape)
    if report.has_errors():
        found.append(report.generate_report())
    return found


def _checked(value: Any, shape: Any, path: str, found: list[str]) -> Any:
    """The value with bytes for blobs; what the validator would not see is added to `found`."""
    kind = shape.type_name
    if kind == "structure" and isinstance(value, dict):
        if shape.is_document_type:
            return value
        if shape.is_tagged_union and len(value) != 1:
            found.append(f"{path}: {len(value)} keys in a union")
        members = shape.members
        return {
            key: _checked(item, members[key], f"{path}.{key}", found) if key in members else item
            for key, item in value.items()
        }
    if kind == "list" and isinstance(value, list):
        _check_range(len(value), shape, path, found)
        return [_checked(each, shape.member, f"{path}[]", found) for each in value]
    if kind == "map" and isinstance(value, dict):
        _check_range(len(value), shape, path, found)
        for key, item in value.items():
            _checked(key, shape.key, f"{path}.{key}", found)
            _checked(item, shape.value, f"{path}.{key}", found)
        return value
    if kind == "blob" and isinstance(value, str):
        try:
            return base64.b64decode(value, validate=True)
        except binascii.Error:
            found.append(f"{path}: no base64")
    if kind == "string" and isinstance(value, str):
        _check_string(value, shape, path, found)
    if kind in ("integer", "long", "float", "double") and isinstance(value, int | float):
        _check_range(value, shape, path, found)
    return value


def _check_range(size: float, shape: Any, path: str, found: list[str]) -> None:
    least, most = shape.metadata.get("min"), shape.metadata.get("max")
    if (least is not None and size < least) or (most is not None and size > most):
        found.append(f"{path}: {size} is not between {least} and {most}")


def _check_string(value: str, shape: Any, path: str, found: list[str]) -> None:
    _check_range(len(value), shape, path, found)
    if shape.enum and value not in shape.enum:
        found.append(f"{path}: {value!r} is none of {shape.enum}")
    pattern = shape.metadata.get("pattern")
    if pattern and not re.fullmatch(pattern, value):
        found.append(f"{path}: {value!r} does not match")
