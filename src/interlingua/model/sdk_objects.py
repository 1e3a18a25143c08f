"""Objects of providers' SDKs as JSON: anything that has pydantic's `model_dump`."""

from __future__ import annotations

from typing import Any


def dumped(value: Any) -> Any:
    """The value with every SDK object in it as plain JSON; the value itself where there is none.

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


def is_sdk_object(value: Any) -> bool:
    """Whether it can be dumped; a class cannot."""
    return hasattr(value, "model_dump") and not isinstance(value, type)
