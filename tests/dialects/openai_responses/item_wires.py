"""Items of the Responses API, for tests."""

from __future__ import annotations

from tests.dialects.openai_responses.wires import Wire


def only(items: list[Wire], kind: str) -> Wire:
    return next(item for item in items if item.get("type") == kind)
