"""What MCP servers offer, for tests."""

from __future__ import annotations

from typing import Any

from interlingua.tools.mcp_schema import adapt_schema


def in_object(schema: Any, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": schema}, **more}


def adapted(schema: Any, **more: Any) -> Any:
    """How the schema of a property comes out."""
    return adapt_schema("t", in_object(schema, **more))[0]["properties"]["x"]
