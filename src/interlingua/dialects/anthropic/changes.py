"""What a system turn in mid-conversation changes: tools that come and go, the effort from here on,
and until when its own words are shown."""

from __future__ import annotations

from typing import Any

import msgspec

from interlingua.dialects.anthropic.kept import form_of, mine_of
from interlingua.dialects.anthropic.tables import (
    CHANGES,
    EFFORTS,
    NAME,
    REFERENCES,
    TRAITS,
)
from interlingua.dialects.anthropic.tools import read_tools, write_tools
from interlingua.dialects.base import Scribe, Wire, unsaid_changes
from interlingua.dialects.shape import ShapeError
from interlingua.model.blocks import Block, UnknownBlock
from interlingua.model.changes import Changes
from interlingua.model.message import Message
from interlingua.model.tools import ToolDefinition

KEPT = "$changes"
"""The key of `provider_raw` for what else the parts said, by their number."""
_DEFINED = "tool_definition"
_PART = frozenset({"type", "tool"})
_WORDS = {field: word for word, field in CHANGES.items()}


class Reading:
    """The changes of one system turn: tools by the names that `tools` knows, which is given those
    that the turn defines itself."""

    def __init__(self, turn: Wire, form: Wire, tools: list[ToolDefinition]) -> None:
        self.turn = turn
        self.form = form
        self.tools = tools
        self.known: set[str] = set()
        """Keys of the turn that were understood."""
        self.rest: Wire = {}
        self._names: dict[str, list[str]] = {"tools_added": [], "tools_removed": []}
        self._parts: list[list[Any]] = []

    def read(self, blocks: tuple[Block, ...]) -> tuple[tuple[Block, ...], Changes | None]:
        left = tuple([b for number, b in enumerate(blocks) if not self._takes(b, number)])
        if self._parts:
            self.form["changes"] = self._parts
        changes = Changes(
            tuple(self._names["tools_added"]),
            tuple(self._names["tools_removed"]),
            self._effort(),
            None,
            self._clear_at(),
        )
        return left, None if changes == _NOTHING else changes

    def _takes(self, block: Block, number: int) -> bool:
        part = block.raw.get(NAME) if type(block) is UnknownBlock else None
        if type(part) is not dict or type(part.get("tool")) is not dict:
            return False
        tool, field = part["tool"], CHANGES.get(part["type"])
        kind: Any = tool.get("type")
        if kind == _DEFINED and field == "tools_added" and len(tool) == 2:
            name = self._define(tool.get("definition"))
        elif kind in REFERENCES and len(tool) == 2:
            name = tool.get(REFERENCES[kind])
        else:
            return False
        if name is None or field is None or all(tool.name != name for tool in self.tools):
            return False  # the service alone knows what it is
        rest = {key: item for key, item in part.items() if key not in _PART}
        if rest:
            self.rest.setdefault(KEPT, {})[str(len(self._parts))] = rest
        self._names[field].append(name)
        self._parts.append([number - len(self._parts), field, name, kind])
        return True

    def _define(self, definition: Any) -> str | None:
        if type(definition) is not dict:
            return None
        try:
            (tool,) = read_tools([definition])
        except ShapeError:
            return None
        form = {**form_of(tool.raw), "inline": True}
        self.tools.append(tool.replace(raw={NAME: {**mine_of(tool.raw), "$form": form}}))
        return tool.name

    def _effort(self) -> Any:
        config = self.turn.get("output_config")
        if type(config) is dict and config.keys() == {"effort"} and config["effort"] in _EFFORTS:
            self.known.add("output_config")
            return config["effort"]
        return None

    def _clear_at(self) -> str | None:
        until = self.turn.get("clear_at")
        if type(until) is not str:
            return None
        self.known.add("clear_at")
        return until


_NOTHING = Changes()
_EFFORTS = frozenset(EFFORTS.values())


def is_inline(tool: ToolDefinition) -> bool:
    """Whether a turn defined the tool itself."""
    return tool.raw is not None and form_of(tool.raw).get("inline") is True


class Writing(msgspec.Struct):
    """Puts changes into system turns; `tools` are those of the request."""

    tools: tuple[ToolDefinition, ...]
    scribe: Scribe
    defined: set[int] = msgspec.field(default_factory=set)
    """Identities of the tools that a turn has defined."""

    def parts(self, message: Message, parts: list[Wire]) -> list[Wire]:
        """The parts of a message and those of its changes, where the wire had them."""
        changes = message.changes
        assert changes is not None
        unsaid_changes(message, self.scribe, TRAITS.changes)
        raw = message.metadata.provider_raw
        places = form_of(raw).get("changes", ()) if raw is not None else ()
        rests = mine_of(raw).get(KEPT, {}) if raw is not None else {}
        left = {field: list(getattr(changes, field)) for field in _WORDS}
        out: list[Wire] = []
        done = 0
        for number, (at, field, name, kind) in enumerate(places):
            if name not in left[field]:
                continue
            left[field].remove(name)
            out += parts[done:at]
            done = max(done, at)
            part = self._part(message, field, name, kind)
            if part is not None:
                out.append({**part, **rests.get(str(number), {})})
        out += parts[done:]
        for field, names in left.items():
            more = [self._part(message, field, name, None) for name in names]
            out += [part for part in more if part is not None]
        return out

    def _part(self, message: Message, field: str, name: str, kind: str | None) -> Wire | None:
        known = [tool for tool in self.tools if tool.name == name]
        word = _WORDS[field]
        if not known:
            self.scribe.lost(message, f"changes.{field}", f"no tool is called {name}")
            return None
        if kind == _DEFINED:
            for tool in known:
                if is_inline(tool) and id(tool) not in self.defined:
                    self.defined.add(id(tool))
                    (definition,) = write_tools((tool,), self.scribe) or (None,)
                    if definition is not None:
                        return {"type": word, "tool": {"type": _DEFINED, "definition": definition}}
            kind = None
        if kind is None:
            toolset = any(tool.kind == "mcp_toolset" for tool in known)
            kind = "mcp_toolset_reference" if toolset else "tool_reference"
        return {"type": word, "tool": {"type": kind, REFERENCES[kind]: name}}

    def others(self) -> tuple[ToolDefinition, ...]:
        """The tools that no turn has defined."""
        if not self.defined:
            return self.tools
        return tuple([tool for tool in self.tools if id(tool) not in self.defined])

    def keys(self, message: Message) -> Wire:
        """What the turn itself says of changes."""
        changes = message.changes
        assert changes is not None
        keys: Wire = {}
        if changes.clear_at is not None:
            keys["clear_at"] = changes.clear_at
        if changes.effort is not None:
            word = EFFORTS.get(changes.effort)
            if word is None:
                self.scribe.lost(message, "changes.effort", "no turn can switch thinking off")
            else:
                keys["output_config"] = {"effort": word}
            if word is not None and word != changes.effort:
                reason = f"the nearest word is {word}"
                self.scribe.lost(message, "changes.effort", reason, kind="approximated")
        return keys
