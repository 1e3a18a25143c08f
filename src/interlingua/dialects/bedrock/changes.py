"""Tools that a system turn in mid-conversation adds and removes."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Scribe, Wire, unsaid_changes
from interlingua.dialects.bedrock.content import write_parts
from interlingua.dialects.bedrock.shape import form_of
from interlingua.dialects.bedrock.tables import CHANGES, NAME
from interlingua.model.blocks import Block, UnknownBlock
from interlingua.model.changes import Changes
from interlingua.model.message import Message

_KEYS = frozenset({"name", "type"})
_WORDS = {field: word for word, field in CHANGES.items()}


def read_changes(
    blocks: list[Block], form: Wire, tools: frozenset[str]
) -> tuple[list[Block], Changes | None]:
    """The blocks that say something, and what the others change; where they stood is spelling."""
    left: list[Block] = []
    names: dict[str, list[str]] = {field: [] for field in _WORDS}
    places: list[list[Any]] = []
    for block in blocks:
        found = _change(block)
        if found is None or found[1]["name"] not in tools:
            left.append(block)
            continue
        field, tool = found
        names[field].append(tool["name"])
        places.append([len(left), field, tool])
    if not places:
        return blocks, None
    form["changes"] = places
    return left, Changes(tuple(names["tools_added"]), tuple(names["tools_removed"]))


def _change(block: Block) -> tuple[str, Wire] | None:
    """The field of `Changes` that a part is for, and the tool it names."""
    part = block.raw.get(NAME) if type(block) is UnknownBlock and block.cache is None else None
    if type(part) is not dict or len(part) != 1:
        return None
    ((kind, inner),) = part.items()
    tool = inner.get("tool") if type(inner) is dict and len(inner) == 1 else None
    if kind not in CHANGES or type(tool) is not dict or not _KEYS.issuperset(tool):
        return None
    return (CHANGES[kind], tool) if type(tool.get("name")) is str else None


def write_changes(
    message: Message, parts: list[Wire], scribe: Scribe, tools: frozenset[str]
) -> None:
    """Add the parts of a message and those of its changes, where the wire had them."""
    changes, raw = message.changes, message.metadata.provider_raw
    assert changes is not None
    unsaid_changes(message, scribe, frozenset(_WORDS))
    left = {field: [n for n in getattr(changes, field) if n in tools] for field in _WORDS}
    for field, names in left.items():
        if len(names) < len(getattr(changes, field)):
            scribe.lost(message, f"changes.{field}", "a tool of this name is not declared")
    done = 0
    for at, field, tool in form_of(raw).get("changes", ()) if raw is not None else ():
        if tool["name"] in left[field]:
            left[field].remove(tool["name"])
            write_parts(message.content[done:at], parts, scribe)
            done = max(done, at)
            parts.append({_WORDS[field]: {"tool": tool}})
    write_parts(message.content[done:], parts, scribe)
    for field, names in left.items():
        parts += [{_WORDS[field]: {"tool": {"name": name}}} for name in names]
