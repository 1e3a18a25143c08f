"""Requests and answers with one block, for tests."""

from __future__ import annotations

from typing import Any

from tests.dialects.anthropic.wires import body, read


def only(wire_part: dict[str, Any], role: str = "user") -> Any:
    """The block that a part alone in its turn reads as."""
    (message,) = read(body({"role": role, "content": [wire_part]})).messages
    return message.content[0]
