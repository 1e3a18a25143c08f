"""What a body has that the service takes only from those who ask for it in a header."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.anthropic.tables import BETAS, CHANGES
from interlingua.dialects.base import Wire

HEADER = "anthropic-beta"


def betas_of(wire: Wire) -> list[str]:
    """The names of the betas that a request needs, each once."""
    found: dict[str, None] = {}
    thinking = wire.get("thinking")
    if type(thinking) is dict and "block_binding" in thinking:
        found[BETAS["binding"]] = None
    for tool in wire.get("tools") or ():
        kind = tool.get("type") if type(tool) is dict else None
        if type(kind) is str and kind in BETAS:
            found[BETAS[kind]] = None
    for turn in wire.get("messages") or ():
        if type(turn) is dict and turn.get("role") != "user":
            found.update(dict.fromkeys(_betas(turn)))
    return list(found)


def _betas(turn: Wire) -> list[str]:
    found = [BETAS[key] for key in ("output_config", "clear_at") if key in turn]
    content: Any = turn.get("content")
    for part in content if type(content) is list else ():
        match part:
            case {"type": "compaction"}:
                found.append(BETAS["signed" if "signature" in part else "compaction"])
            case {"type": str(kind)} if kind in CHANGES:
                found.append(BETAS["changes"])
                match part:
                    case {"tool": {"type": "tool_definition"}}:
                        found.append(BETAS["inline"])
    return found
