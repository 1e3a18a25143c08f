"""Messages for tests of stores."""

from __future__ import annotations

from typing import Any

from interlingua.model.blocks import ToolUseBlock
from interlingua.store.base import Store


def new_session(store: Store, **fields: Any) -> str:
    return store.create_session("/work", **fields).id


def call(id: str, name: str = "read_file", **more: Any) -> ToolUseBlock:
    return ToolUseBlock(id, name, {"path": "a.txt"}, **more)


def statuses(store: Store, session_id: str) -> dict[str, str]:
    return {row.id: row.status for row in store.tool_calls(session_id)}
