"""Messages to items. What a model made is written item by item, in its order; text of other origin
as plain messages, since a message in the model's own form needs an id and a status."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from interlingua.dialects.base import PLACEHOLDER, Scribe, Wire, compaction_as_text
from interlingua.dialects.openai_responses.calls import write_call
from interlingua.dialects.openai_responses.changes import UPDATE, Pending
from interlingua.dialects.openai_responses.content import is_plain, write_part
from interlingua.dialects.openai_responses.hosted import HOLDS_RESULT, write_generated, write_inside
from interlingua.dialects.openai_responses.results import write_result
from interlingua.dialects.openai_responses.spelling import RESERVED, form, made_id, own, put_back
from interlingua.dialects.openai_responses.tables import (
    FILLED,
    NAME,
    OUTPUT_OF,
    OUTPUTS,
    PREFIXES,
    ROLES,
)
from interlingua.dialects.openai_responses.thinking import (
    group,
    write_compaction,
    write_reasoning,
    write_redacted,
)
from interlingua.dialects.openai_responses.tools import added, write_tool
from interlingua.dialects.openai_responses.turns import is_string
from interlingua.model.base import Raw
from interlingua.model.blocks import (
    Block,
    CompactionBlock,
    ImageBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.message import Message, Role
from interlingua.model.tools import ToolDefinition

_ASSISTANT, _TOOL = Role.ASSISTANT, Role.TOOL
_WORDS = {role: word for word, role in ROLES.items()}
_STRING_SAID = frozenset({"text", "phase"})


class ItemWriter:
    """Writes messages as items; `whole` for the output of a response, where every item has an id
    and a status. `seed` is what made-up ids are made from."""

    def __init__(self, scribe: Scribe, whole: bool = False, seed: object = None) -> None:
        self.scribe = scribe
        self.whole = whole
        self.seed = seed
        self.items: list[Wire] = []
        self.parts: list[Wire] | None = None
        """The content of the message item that further text of the model joins."""
        self.phase: str | None = None
        """Of that item."""
        self.calls: dict[str, str] = {}
        """Calls that are no function calls: id to `call_type`."""
        self.item_ids: dict[str, Any] = {}
        """Ids of calls to the ids of their items."""
        self.names: dict[str, str] = {}
        """Ids of calls to the names of their tools."""
        self.tools: Sequence[ToolDefinition] = ()
        self.brought: set[int] = set()
        """Identities of the tools that items in the middle bring."""
        self.pending: Pending | None = None
        self.references: dict[Any, str] = {}
        """References yet to be written, by number or by id."""
        self.by_number = False
        self.referred: dict[str, Wire] = {}
        """References that were written, by id."""

    def message(self, message: Message) -> None:
        role, content, raw = message.role, message.content, message.metadata.provider_raw
        if message.name is not None:
            self.scribe.lost(message, "name")
        if message.changes is not None:
            self.changed(message)
            return
        if raw is not None:
            self.scribe.unsaid_raw(message, raw, "metadata.provider_raw")
        elif len(content) == 1 and role is not _TOOL and not self.whole:
            block = content[0]
            if type(block) is TextBlock and is_plain(block) and block.text:
                self.items.append({"role": _WORDS[role], "content": block.text})
                return
        self.said(message)

    def said(self, message: Message) -> None:
        role, raw = message.role, message.metadata.provider_raw
        if role is _ASSISTANT:
            self.made(message)
            return
        if role is _TOOL:
            self.tool(message)
        elif message.content or message.changes is None:
            self.turn(_WORDS[role], message)
        if raw is not None:
            self.asides(raw)

    def changed(self, message: Message) -> None:
        """A message, and the items that say what it changes."""
        raw = message.metadata.provider_raw
        if raw is not None:
            self.scribe.unsaid_raw(message, raw, "metadata.provider_raw")
        self.pending = Pending(message, self.tools, self.scribe)
        self.said(message)
        self.items += self.pending.rest(self.brought)
        self.pending = None

    # -- messages that no model made ----------------------------------------------------------

    def turn(self, role: str, message: Message) -> None:
        content = message.content
        raw = message.metadata.provider_raw
        item: Wire = {"role": role}
        spelled = form(raw).get("content")
        if is_string(content) and spelled != "list":
            text = content[0].text if content else ""  # type: ignore[union-attr]  # plain is text
            if text or spelled is None:
                item["content"] = text
            elif spelled == "null":
                item["content"] = None
        else:
            item["content"] = self.content(message)
        self.items.append(put_back(item, raw, "item"))

    def content(self, message: Message) -> list[Wire] | str:
        """The parts of a message; a placeholder where none of them can be said."""
        written = [write_part(block, self.scribe) for block in message.content]
        parts = [part for part in written if part is not None]
        return parts if parts or not message.content else self.placeholder(message)

    def placeholder(self, message: Message) -> str:
        reason = "nothing of it can be said; a placeholder stands in its place"
        self.scribe.lost(message, "content", reason, kind="approximated")
        return PLACEHOLDER

    def tool(self, message: Message) -> None:
        self.tell_own_rest(message)
        for block in message.content:
            if type(block) is ToolResultBlock:
                self.result(block, made=False)
            elif type(block) is UnknownBlock and NAME in block.raw:
                reason = "items that are not known are read as the model's"
                self.scribe.lost(message, "role", reason, kind="approximated", severity="info")
                self.unknown(block)
            else:
                self.scribe.dropped(block)

    # -- what a model made --------------------------------------------------------------------

    def made(self, message: Message) -> None:
        content = message.content
        self.tell_own_rest(message)
        self.parts = None
        asides = form(message.metadata.provider_raw).get("asides", ())
        before = len(self.items)
        index = done = 0
        while index < len(content):
            while done < len(asides) and asides[done][0] <= index:
                self.aside(asides[done], message.metadata.provider_raw)
                done += 1
            index += self.block(content, index)
        for each in asides[done:]:
            self.aside(each, message.metadata.provider_raw)
        if len(self.items) == before and not self.whole:
            text = self.placeholder(message) if content else ""
            self.items.append({"role": "assistant", "content": text})
        self.parts = None

    def block(self, content: tuple[Block, ...], index: int) -> int:
        """Write a block, and those that belong to the same item; how many these were."""
        block = content[index]
        match block:
            case TextBlock() | RefusalBlock():
                self.text(block)
            case ToolUseBlock():
                return self.call(block, content, index)
            case ThinkingBlock():
                parts = group(content, index)
                seed = [self.seed, len(self.items)] if self.whole else None
                self.put(write_reasoning(parts, self.scribe, seed), block)
                return len(parts)
            case RedactedThinkingBlock():
                self.put(write_redacted(block, self.scribe), block)
            case CompactionBlock():
                self.compaction(block)
            case ToolResultBlock():
                self.result(block, made=True)
            case ImageBlock() if "type" not in form(block.raw):
                self.put(write_generated(block, self.scribe), block, fill=True)
            case UnknownBlock() if NAME in block.raw and "part" not in form(block.raw):
                self.unknown(block)
            case _:
                self.part(block)
        return 1

    def compaction(self, block: CompactionBlock) -> None:
        """Sealed history is an item; history that can be read is said as text."""
        if block.data is not None and not block.text:
            self.put(write_compaction(block, self.scribe), block)
            return
        text = compaction_as_text(block, self.scribe)
        if text is not None:
            self.text(text)

    def put(self, item: Wire | None, block: Any, fill: bool = False) -> None:
        self.parts = None
        if item is not None:
            if self.whole or fill:
                self.fill(item, form(block.raw).get("gone", ()))
            self.items.append(item)

    def fill(self, item: Wire, gone: Any = ()) -> None:
        """Say the id and the status that an item has to have."""
        for key in FILLED.get(item["type"], ()):
            if key not in item and key not in gone:
                prefix = PREFIXES.get(item["type"], "out")
                made = made_id(prefix, self.seed, len(self.items)) if key == "id" else "completed"
                item[key] = made

    def unknown(self, block: UnknownBlock) -> None:
        self.parts = None
        self.items.append({key: value for key, value in own(block.raw).items() if key != "$form"})

    def text(self, block: TextBlock | RefusalBlock) -> None:
        spelling = form(block.raw)
        phase = block.phase if type(block) is TextBlock else self.phase
        joins = self.parts is not None and phase == self.phase
        if joins and "item" not in spelling and "apart" not in spelling:
            self.part(block)
        elif "string" not in spelling and (self.whole or "item" in spelling or _has_more(block)):
            self.part(block, start=True)
        else:
            self.string(block)

    def string(self, block: TextBlock | RefusalBlock) -> None:
        """A message of the model as plain text."""
        self.parts = None
        if not block.text:
            self.scribe.dropped(block, "text that is empty is not sent", severity="info")
            return
        self.scribe.unsaid(block, _STRING_SAID)
        if type(block) is RefusalBlock:
            self.scribe.lost(block, None, "a refusal is sent as text", kind="downgraded")
        item: Wire = {"role": "assistant", "content": block.text}
        if type(block) is TextBlock and block.phase is not None:
            item["phase"] = block.phase
        for key, value in (form(block.raw).get("item") or {}).items():
            item.setdefault(key, value)
        for key, value in own(block.raw).get("$item", {}).items():
            item.setdefault(key, value)
        self.items.append(item)

    def part(self, block: Block, start: bool = False) -> None:
        """A part of a message in the model's own form."""
        spelling = form(block.raw)
        wire = write_part(block, self.scribe, made=True)
        if wire is None:
            return
        if start or self.parts is None or "item" in spelling:
            item: Wire = {"role": "assistant", **(spelling.get("item") or {}), "content": []}
            self.phase = item.get("phase")
            for key, value in own(block.raw).get("$item", {}).items():
                item.setdefault(key, value)
            if self.whole and "item" not in spelling:
                id = made_id("msg", self.seed, len(self.items))
                item |= {"type": "message", "id": id, "status": "completed"}
            self.items.append(item)
            self.parts = item["content"]
        if type(block) is TextBlock and block.phase != self.phase:
            self.phase = self.items[-1]["phase"] = block.phase
        self.parts.append(wire)

    def call(self, block: ToolUseBlock, content: tuple[Block, ...], index: int) -> int:
        item = write_call(block, self.scribe)
        word = block.call_type
        used = 1
        if item is not None:
            self.item_ids[block.id] = item.get("id")
            self.names[block.id] = block.name
            if word is not None:
                self.calls[block.id] = word
            if word in HOLDS_RESULT and index + 1 < len(content):
                result = content[index + 1]
                if type(result) is ToolResultBlock and result.tool_use_id == block.id:
                    write_inside(item, word, result, self.scribe)
                    used = 2
        self.put(item, block)
        return used

    # -- what is no part of what was said -----------------------------------------------------

    def asides(self, raw: Raw | None) -> None:
        for each in form(raw).get("asides", ()):
            self.aside(each, raw)

    def aside(self, aside: Any, raw: Raw | None) -> None:
        """An item that stood here: a message without content, a reference, tools, a setting."""
        self.parts = None
        match aside:
            case [_, "empty", dict(item)]:
                self.items.append(dict(item))
            case [_, "reference", int(number), str(id), dict(keys)]:
                known = self.references.pop(number if self.by_number else id, None)
                if known is not None:
                    self.referred[known] = {"id": known, **keys}
                    self.items.append(self.referred[known])
            case [_, "tools", int(number), dict(keys)]:
                self.bring(number, keys)
            case [_, "update", dict(keys)] if self.pending is not None:
                said = self.pending.take_settings()
                if said:
                    self.items.append({"type": UPDATE, **keys, **said})
            case [_, "item", int(number)]:
                self.items.append(dict(own(raw)["$asides"][number]))

    def bring(self, number: int, keys: Wire) -> None:
        """Tools where an item brought them; without any, if it brought none."""
        every = [tool for tool in self.tools if added(tool) == number]
        tools = every if self.pending is None else self.pending.take_tools(number)
        self.brought |= {id(tool) for tool in tools}
        written = [write_tool(tool, self.scribe) for tool in tools]
        listed = [tool for tool in written if tool is not None]
        if listed or not every:
            self.items.append({"type": "additional_tools", **keys, "tools": listed})

    # -- results ------------------------------------------------------------------------------

    def result(self, block: ToolResultBlock, made: bool) -> None:
        spelling = form(block.raw)
        call_type = self.calls.get(block.tool_use_id)
        word = (spelling.get("item") or {}).get("type")
        if word not in OUTPUTS:
            foreign = not own(block.raw) or block.tool_use_id not in self.names
            if made and (call_type in HOLDS_RESULT or "inside" in spelling or foreign):
                self.scribe.dropped(block, "tools that a provider runs do not cross vendors")
                return
            word = OUTPUT_OF.get(call_type, "function_call_output")
        id = block.tool_use_id
        if spelling.get("by") == "item":
            id = self.item_ids.get(id) or id
        name = self.names.get(block.tool_use_id)
        item = write_result(block, word, id, name, self.scribe)
        if made:
            self.put(item, block)
        else:
            self.items.append(item)

    def tell_own_rest(self, message: Message) -> None:
        """Own content of a message that is no one item has no place."""
        raw = message.metadata.provider_raw
        if raw is not None:
            for key in own(raw):
                if key not in RESERVED:
                    self.scribe.lost(message, f"metadata.provider_raw.{NAME}.{key}")


def _has_more(block: TextBlock | RefusalBlock) -> bool:
    """Whether a block has content of this dialect that a string could not hold."""
    return any(key not in RESERVED for key in own(block.raw))
