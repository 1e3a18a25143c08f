"""Items to messages: each kind of item, and which call a result answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interlingua.dialects.base import Wire
from interlingua.dialects.openai_responses.calls import (
    read_custom,
    read_function,
    read_mcp,
    read_vendor,
)
from interlingua.dialects.openai_responses.changes import UPDATE, read_update
from interlingua.dialects.openai_responses.hosted import read_generated, read_inside
from interlingua.dialects.openai_responses.results import read_result
from interlingua.dialects.openai_responses.spelling import form, inside, own
from interlingua.dialects.openai_responses.tables import (
    ASIDES,
    CALLS,
    FILLED,
    NAME,
    OUTPUT_OF,
    OUTPUTS,
    OutputKind,
)
from interlingua.dialects.openai_responses.thinking import read_compaction, read_reasoning
from interlingua.dialects.openai_responses.tools import read_tools
from interlingua.dialects.openai_responses.turns import Turns
from interlingua.errors import ReadError, found
from interlingua.ids import synthetic_tool_id
from interlingua.model.blocks import ThinkingBlock, ToolUseBlock, UnknownBlock
from interlingua.model.changes import Changes
from interlingua.model.message import Message
from interlingua.model.metadata import Diagnostic
from interlingua.model.tools import ToolDefinition


class ItemReader(Turns):
    """Reads a list of items; `all_made` for the output of a response, where all of it is one
    message. `seed` is what ids of calls without one are made from."""

    def __init__(self, all_made: bool = False, seed: object = None) -> None:
        super().__init__(all_made)
        self.seed = seed
        self.calls: dict[str, ToolUseBlock] = {}
        self.by_item: dict[str, str] = {}
        """Ids of items to ids of their calls."""
        self.answered: set[str] = set()
        self.references: list[str] = []
        self.added: list[ToolDefinition] = []
        """Tools that items in the middle of the input bring."""
        self.bringing = 0
        """How many items brought some."""

    def read(self, items: list[Any], place: str) -> None:
        self.start = len(self.messages)
        read = self.read_made if self.all_made else self.item
        for index, item in enumerate(items):
            if type(item) is dict and len(item) == 2 and self.plain(item):
                continue
            try:
                read(item, index)
            except ReadError as odd:
                raise inside(odd, f"{place}[{index}]") from None

    def read_made(self, item: Any, index: int) -> None:
        """An item of a response, and which of the keys that we would fill in it does without."""
        before = len(self.blocks)
        self.item(item, index)
        word = item.get("type")
        filled = FILLED.get(word, ()) if type(word) is str else ()
        gone = [key for key in filled if key not in item]
        if gone and len(self.blocks) > before:
            block: Any = self.blocks[before]
            spelling = {**form(block.raw), "gone": gone}
            self.blocks[before] = block.replace(raw={NAME: {**own(block.raw), "$form": spelling}})

    def item(self, item: Any, index: int) -> None:
        if type(item) is not dict:
            raise ReadError(NAME, "$", "an object", found(item))
        kind = item.get("type")
        if kind == "message" or (kind is None and "role" in item):
            self.message(item)
            return
        if kind is None and type(item.get("id")) is str and len(item) - ("type" in item) == 1:
            kind = "item_reference"
        reader = _ITEMS.get(kind) if type(kind) is str else None
        if reader is not None:
            reader(self, item, index)
        else:
            self.made(UnknownBlock({NAME: item}))

    # -- items that a model made --------------------------------------------------------------

    def reasoning(self, item: Wire, index: int) -> None:
        last = self.blocks[-1] if self.blocks else None
        follows = last if type(last) is ThinkingBlock else None
        self.blocks += read_reasoning(item, follows)
        self.in_list = False

    def compaction(self, item: Wire, index: int) -> None:
        self.made(read_compaction(item))

    def function(self, item: Wire, index: int) -> None:
        block, mode = read_function(item, [self.seed, index])
        if mode != "strict":
            self.recovered(block, mode)
        self.call(block, item)

    def custom(self, item: Wire, index: int) -> None:
        self.call(read_custom(item, [self.seed, index]), item)

    def hosted(self, item: Wire, index: int) -> None:
        """A call of a vendor's tool, and its result where the item holds it."""
        word: str = item["type"]
        if word == "image_generation_call" and type(item.get("result")) is str:
            self.made(read_generated(item))
            return
        inner = read_inside(item, word)
        consumed = inner[1] if inner else ()
        if word == "mcp_call":
            block, mode = read_mcp(item, [self.seed, index], consumed)
            if mode != "strict":
                self.recovered(block, mode)
        else:
            block = read_vendor(item, word, [self.seed, index], consumed)
        self.call(block, item)
        if inner:
            self.made(inner[0].replace(tool_use_id=block.id))

    def call(self, block: ToolUseBlock, item: Wire) -> None:
        self.made(block)
        self.calls[block.id] = block
        id = item.get("id")
        if type(id) is str:
            self.by_item[id] = block.id

    def recovered(self, block: ToolUseBlock, mode: str) -> None:
        details = {"mode": mode, "tool_use_id": block.id}
        self.diagnostics.append(Diagnostic("tool_arguments_recovered", details=details))

    # -- results ------------------------------------------------------------------------------

    def result(self, item: Wire, index: int) -> None:
        word: str = item["type"]
        kind = OUTPUTS[word]
        spelling: Wire = {}
        id = self.answered_id(item, word, kind, index, spelling)
        call = self.calls.get(id)
        made = self.all_made or kind.provider or (call is not None and call.executor == "provider")
        if OUTPUT_OF.get(call.call_type if call else None) != word or (made and call is None):
            spelling["item"] = {"type": word}
        block = read_result(item, word, id, spelling)
        self.answered.add(id)
        if made:
            self.made(block)
        else:
            self.flush()
            self.messages.append(Message.of_result(block))

    def answered_id(
        self, item: Wire, word: str, kind: OutputKind, index: int, spelling: Wire
    ) -> str:
        """The id of the call that a result answers."""
        id = item.get(kind.id_key)
        if type(id) is str and id:
            if id not in self.calls and id in self.by_item:  # the item's id in its place
                spelling["by"] = "item"
                return self.by_item[id]
            return id
        if id is not None and type(id) is not str:
            raise ReadError(NAME, f"$.{kind.id_key}", "a string", found(id))
        spelling["key"] = None
        name = item.get("name")
        for call in self.calls.values():
            is_open = call.id not in self.answered and call.call_type == kind.call_type
            if is_open and (name is None or call.name == name):
                return call.id
        return synthetic_tool_id([self.seed, index], word)

    # -- what is no part of what was said -----------------------------------------------------

    def reference(self, item: Wire, index: int) -> None:
        id = item.get("id")
        if self.all_made or type(id) is not str:
            self.made(UnknownBlock({NAME: item}))
            return
        keys = {key: value for key, value in item.items() if key != "id"}
        self.beside(["reference", len(self.references), id, keys])
        self.references.append(id)

    def bring(self, item: Wire, index: int) -> None:
        """Tools that are there from here on."""
        tools = item.get("tools")
        if self.all_made or type(tools) is not list:
            self.hosted(item, index)
            return
        keys = {key: value for key, value in item.items() if key not in ("type", "tools")}
        brought = read_tools(tools, "$.tools", self.bringing)
        changes = Changes(tuple([tool.name for tool in brought]))
        self.change(changes, ["tools", self.bringing, keys], self.is_between())
        self.bringing += 1
        self.added += brought

    def setting(self, item: Wire, index: int) -> None:
        if self.all_made:
            self.made(UnknownBlock({NAME: item}))
            return
        found = read_update(item) if item["type"] == UPDATE else None
        if found is None or not self.change(found[0], ["update", found[1]], self.is_between()):
            self.beside(["item"], item)

    def is_between(self) -> bool:
        """Whether this is between two messages: no call waits for its result, no thought for what
        it leads to."""
        if self.blocks and type(self.blocks[-1]) is ThinkingBlock:
            return False
        return all(
            call.id in self.answered or call.executor == "provider" for call in self.calls.values()
        )


_ITEMS: dict[str, Callable[[ItemReader, Wire, int], None]] = {
    **dict.fromkeys(CALLS, ItemReader.hosted),
    **dict.fromkeys(OUTPUTS, ItemReader.result),
    **dict.fromkeys(ASIDES, ItemReader.setting),
    "reasoning": ItemReader.reasoning,
    "compaction": ItemReader.compaction,
    "function_call": ItemReader.function,
    "custom_tool_call": ItemReader.custom,
    "mcp_call": ItemReader.hosted,
    "item_reference": ItemReader.reference,
    "additional_tools": ItemReader.bring,
}
