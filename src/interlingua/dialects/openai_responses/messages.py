"""Items to messages and back: a run of items that a model made is one assistant message, every
other message item a message, every result one of its own. Items outside the conversation
(references, settings, messages without content) are preserved with their position (`$form.asides`,
its content in `$asides`).

Output of a model is written item by item, in its order; text of other origin as plain messages,
since a message in the model's own form needs an id and a status."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from interlingua.dialects.kernel.calls import recovery
from interlingua.dialects.kernel.errors import ShapeError, require
from interlingua.dialects.kernel.preserved import NOTHING
from interlingua.dialects.kernel.recorder import LossRecorder, quiet
from interlingua.dialects.kernel.turns import WITHIN
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import compaction_as_text, placeholder
from interlingua.dialects.metadata import read_tokens, write_tokens
from interlingua.dialects.openai import is_plain
from interlingua.dialects.openai_responses import calls, tables, thinking, tools
from interlingua.dialects.openai_responses.tables import FILLED, NAME, OUTPUTS, ROLES
from interlingua.dialects.openai_responses.text import (
    RESERVED,
    add,
    begin,
    is_string,
    item_raw,
    own,
    own_spelling,
    put_item_back,
    raw_of,
    read_parts,
    spare,
    synthetic_id,
    write_part,
)
from interlingua.model.base import JsonObject, Raw
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
from interlingua.model.ids import synthetic_tool_id
from interlingua.model.message import Changes, Message, Role
from interlingua.model.metadata import Diagnostic, MessageMetadata
from interlingua.model.reasons import because
from interlingua.model.tools import ToolDefinition

MODEL_MESSAGE = MessageMetadata(protocol=NAME)
"""The metadata of an assistant message about which nothing else is known."""
_USER, _ASSISTANT, _TOOL = Role.USER, Role.ASSISTANT, Role.TOOL
_WORDS = {role: word for word, role in ROLES.items()}
_TURN = frozenset({"role", "content"})
_SPELLED = ("type", "id", "status", "phase")
_PLAIN_EMPTY = [[0, "empty", {"role": "assistant", "content": ""}]]

# -- reading --------------------------------------------------------------------------------------


class Asides:
    """Items among the messages that are no content: each with the number of blocks before it,
    its type and its value, or the number of its content if other dialects cannot express it."""

    def __init__(self, raw: Raw | None = None) -> None:
        self.places: list[Any] = [*own_spelling(raw).get("asides", ())]
        self.content: list[Wire] = [*own(raw).get("$asides", ())]

    def add(self, position: int, *aside: Any, content: Wire | None = None) -> Asides:
        if content is None:
            self.places.append([position, *aside])
        else:
            self.places.append([position, *aside, len(self.content)])
            self.content.append(content)
        return self

    def raw(self, raw: Raw | None = None) -> Raw | None:
        """The raw data of a message, with these members."""
        own_raw = {key: value for key, value in own(raw).items() if key != "$form"}
        if self.content:
            own_raw["$asides"] = self.content
        return raw_of(own_raw, {**own_spelling(raw), "asides": self.places})


class Turns:
    """The messages so far, and the present run; `is_output` where there is nothing but a run."""

    def __init__(self, is_output: bool) -> None:
        self.is_output = is_output
        self.messages: list[Message] = []
        self.start = 0
        """The number of messages from outside the list."""
        self.blocks: list[Block] = []
        """The present run."""
        self.changes: Changes | None = None
        """Changes in the middle of it."""
        self.asides: Asides | None = None
        """Other items in it."""
        self.diagnostics: list[Diagnostic] = []
        self.in_list = False
        """Whether the last item of the run was a message whose parts further text would join."""
        self.lead = Asides()
        """Asides before any message."""

    def plain(self, item: Wire) -> bool:
        """The most common items: a role and a text."""
        text, role = item.get("content"), item.get("role")
        if type(text) is not str or not text or self.is_output:
            return False
        if role == "user":
            if self.blocks or self.asides:
                self.flush()
            self.messages.append(Message(_USER, (TextBlock(text),)))
            return True
        if role == "assistant" and not self.in_list:
            self.blocks.append(TextBlock(text))
            return True
        return False

    def message(self, item: Wire) -> None:
        word = item.get("role")
        role = ROLES.get(word) if type(word) is str else None
        if role is None or (self.is_output and role is not _ASSISTANT):
            self.add_block(UnknownBlock({NAME: item}))
        elif role is _ASSISTANT:
            self.answer(item)
        else:
            self.turn(role, item)

    def turn(self, role: Role, item: Wire) -> None:
        """A message that no model made. `$form.content` and `$form.place` record whether its
        text was a list, and whether instructions were among the items."""
        content = item.get("content")
        spelling: Wire = {}
        blocks: tuple[Block, ...] = ()
        if type(content) is str:
            blocks = (TextBlock(content),) if content else ()
        elif content is None:
            spelling["content"] = "null" if "content" in item else "absent"
        else:
            blocks = tuple(read_parts(_parts_of(content), False, ".content"))
            if is_string(blocks):
                spelling["content"] = "list"
        self.flush()
        if role is Role.SYSTEM and not self.messages:
            spelling["place"] = "input"
        raw = item_raw(item, _TURN, spelling, _SPELLED) if spelling or len(item) > 2 else None
        if raw is None:
            self.messages.append(Message(role, blocks))
        else:
            self.messages.append(Message(role, blocks, metadata=MessageMetadata(provider_raw=raw)))

    def answer(self, item: Wire) -> None:
        """A message of the model: part of the run. `$form.string` and `$form.apart` record that
        its text was a string, and that it did not join the message before it."""
        content = item.get("content")
        if content is None or content == "" or content == []:
            self.asides = (self.asides or Asides()).add(len(self.blocks), "empty", item)
            self.in_list = False
            return
        is_text, apart = type(content) is str, self.in_list
        self.in_list = not is_text
        if is_text and len(item) == 2:
            self.blocks.append(
                TextBlock(content, raw=raw_of(None, {"apart": True} if apart else {}))
            )
            return
        blocks: list[Any] = [TextBlock(content)]
        if not is_text:
            blocks = read_parts(_parts_of(content), True, ".content")
        rest, spelled = spare(item, _TURN, _SPELLED)
        blocks = _in_phase(blocks, spelled)
        self.blocks.append(begin(blocks[0], spelled, rest, {"string": True} if is_text else None))
        self.blocks += blocks[1:]

    def add_block(self, block: Block) -> None:
        self.blocks.append(block)
        self.in_list = False

    def flush(self) -> None:
        """The run is over."""
        if not self.blocks and not self.asides:
            return
        metadata = MODEL_MESSAGE
        if self.asides and (self.blocks or self.asides.places != _PLAIN_EMPTY):
            metadata = MODEL_MESSAGE.replace(provider_raw=self.asides.raw())
        if self.diagnostics:
            metadata = metadata.replace(diagnostics=tuple(self.diagnostics))
        content, changes = tuple(self.blocks), self.changes
        self.messages.append(Message(_ASSISTANT, content, metadata=metadata, changes=changes))
        self.blocks, self.diagnostics = [], []
        self.asides, self.changes, self.in_list = None, None, False

    def change(self, changes: Changes, *aside: Any, alone: bool) -> bool:
        """Records a change that applies from here on: as a message of its own, unless it is in
        the midst of a message; False if that message cannot hold it."""
        if alone:
            self.flush()
            metadata = MessageMetadata(provider_raw=Asides().add(0, *aside).raw())
            self.messages.append(Message(Role.SYSTEM, metadata=metadata, changes=changes))
            return True
        inside = bool(self.blocks or self.asides)
        now = tools.merged(self.changes if inside else self.messages[-1].changes, changes)
        if now is None:
            return False
        self.beside(*aside)
        if inside:
            self.changes = now
        else:
            self.messages[-1] = self.messages[-1].replace(changes=now)
        return True

    def beside(self, *aside: Any, content: Wire | None = None) -> None:
        """Preserves an item at the run around it, else at the message before it."""
        self.in_list = False
        if self.blocks or self.asides:
            self.asides = (self.asides or Asides()).add(len(self.blocks), *aside, content=content)
        elif len(self.messages) > self.start:
            message = self.messages[-1]
            raw = message.metadata.provider_raw
            asides = Asides(raw).add(len(message.content), *aside, content=content)
            metadata = message.metadata.replace(provider_raw=asides.raw(raw))
            self.messages[-1] = message.replace(metadata=metadata)
        else:
            self.lead.add(0, *aside, content=content)


def _parts_of(content: Any) -> list[Any]:
    if type(content) is not list:
        raise ShapeError(".content", "a string or a list", content)
    return content


def _in_phase(blocks: list[Any], spelled: Wire) -> list[Any]:
    """The blocks of a message with its phase, which is then not spelling any more."""
    phase = spelled.get("phase")
    if type(phase) is not str or not any(type(block) is TextBlock for block in blocks):
        return blocks
    del spelled["phase"]
    return [each.replace(phase=phase) if type(each) is TextBlock else each for each in blocks]


class ItemReader(Turns):
    """Reads a list of items; `is_output` for the output of a response, where all items form one
    message. `seed` is used for ids of calls without one."""

    def __init__(self, is_output: bool = False, seed: object = None) -> None:
        super().__init__(is_output)
        self.seed = seed
        self.calls: dict[str, ToolUseBlock] = {}
        self.by_item: dict[str, str] = {}
        """Ids of items to ids of their calls."""
        self.answered: set[str] = set()
        self.references: list[str] = []
        self.added: list[ToolDefinition] = []
        """Tools that items in the middle of the input bring."""
        self.bringing = 0
        """The number of items that added tools."""

    def read(self, items: list[Any], path: str) -> None:
        self.start = len(self.messages)
        read = self.read_output_item if self.is_output else self.item
        for index, item in enumerate(items):
            if type(item) is dict and len(item) == 2 and self.plain(item):
                continue
            try:
                read(item, index)
            except ShapeError as error:
                raise error.inside(f"{path}[{index}]") from None

    def read_output_item(self, item: Any, index: int) -> None:
        """An item of a response, and which of the keys that we would fill in it does without."""
        before = len(self.blocks)
        self.item(item, index)
        word = item.get("type")
        filled = FILLED.get(word, ()) if type(word) is str else ()
        gone = [key for key in filled if key not in item]
        if gone and len(self.blocks) > before:
            block: Any = self.blocks[before]
            spelling = {**own_spelling(block.raw), "gone": gone}
            self.blocks[before] = block.replace(raw={NAME: {**own(block.raw), "$form": spelling}})

    def item(self, item: Any, index: int) -> None:
        kind = require(item, dict).get("type")
        if kind == "message" or (kind is None and "role" in item):
            self.message(item)
            return
        if kind is None and type(item.get("id")) is str and len(item) - ("type" in item) == 1:
            kind = "item_reference"
        reader = _ITEMS.get(kind) if type(kind) is str else None
        if reader is not None:
            reader(self, item, index)
        else:
            self.add_block(UnknownBlock({NAME: item}))

    # -- items that a model made --------------------------------------------------------------

    def reasoning(self, item: Wire, index: int) -> None:
        last = self.blocks[-1] if self.blocks else None
        self.blocks += thinking.read_reasoning(item, last if type(last) is ThinkingBlock else None)
        self.in_list = False

    def called(self, item: Wire, index: int) -> None:
        """A call, and its result where the item holds it."""
        if item["type"] == "image_generation_call" and type(item.get("result")) is str:
            self.add_block(calls.read_generated(item))
            return
        inner = calls.read_inside(item) if item["type"] in calls.HOLDS_RESULT else None
        block, mode = calls.read_call(item, [self.seed, index], inner[1] if inner else ())
        if mode != "strict":
            self.diagnostics.append(recovery(mode, block.id))
        self.add_block(block)
        self.calls[block.id] = block
        id = item.get("id")
        if type(id) is str:
            self.by_item[id] = block.id
        if inner:
            self.add_block(inner[0].replace(tool_use_id=block.id))

    # -- results ------------------------------------------------------------------------------

    def result(self, item: Wire, index: int) -> None:
        """Preserves what the call does not contain: the type of the item (`$form.item.type`), and
        whether it names no call, or the item of its call (`$form.key`, `$form.by`)."""
        word = item["type"]
        kind = OUTPUTS[word]
        spelling: Wire = {}
        id = self.answered_id(item, index, spelling)
        call = self.calls.get(id)
        by_model = (
            self.is_output or kind.provider or (call is not None and call.executor == "provider")
        )
        usual = tables.OUTPUT_OF.get(call.call_type if call else None)
        if usual != word or (by_model and call is None):
            spelling["item"] = {"type": word}
        block = calls.read_result(item, id, spelling)
        self.answered.add(id)
        if by_model:
            self.add_block(block)
        else:
            self.flush()
            self.messages.append(Message.of_result(block))

    def answered_id(self, item: Wire, index: int, spelling: Wire) -> str:
        """The id of the call that a result answers."""
        kind = OUTPUTS[item["type"]]
        id = item.get(kind.id_key)
        if type(id) is str and id:
            if id not in self.calls and id in self.by_item:  # the item's id in its place
                spelling["by"] = "item"
                return self.by_item[id]
            return id
        if id is not None and type(id) is not str:
            raise ShapeError(f".{kind.id_key}", "a string", id)
        spelling["key"] = None
        name = item.get("name")
        for call in self.calls.values():
            is_open = call.id not in self.answered and call.call_type == kind.call_type
            if is_open and (name is None or call.name == name):
                return call.id
        return synthetic_tool_id([self.seed, index], item["type"])

    # -- items that are no content ----------------------------------------------------------

    def reference(self, item: Wire, index: int) -> None:
        id = item.get("id")
        if self.is_output or type(id) is not str:
            self.add_block(UnknownBlock({NAME: item}))
            return
        keys = {key: value for key, value in item.items() if key != "id"}
        self.beside("reference", len(self.references), id, keys)
        self.references.append(id)

    def bring(self, item: Wire, index: int) -> None:
        """Tools that are there from here on."""
        if self.is_output or type(item.get("tools")) is not list:
            self.called(item, index)
            return
        keys = {key: value for key, value in item.items() if key not in ("type", "tools")}
        brought = tools.read_tools(item["tools"], self.bringing)
        changes = Changes(tuple([tool.name for tool in brought]))
        self.change(changes, "tools", self.bringing, keys, alone=self.is_between())
        self.bringing += 1
        self.added += brought

    def setting(self, item: Wire, index: int) -> None:
        if self.is_output:
            self.add_block(UnknownBlock({NAME: item}))
            return
        found = tools.read_update(item) if item["type"] == tools.UPDATE else None
        is_change = found and self.change(found[0], "update", found[1], alone=self.is_between())
        if not is_change:
            self.beside("item", content=item)

    def is_between(self) -> bool:
        """Whether this is the boundary of a message: no call waits for its result, no thought for
        its continuation."""
        if self.blocks and type(self.blocks[-1]) is ThinkingBlock:
            return False
        return all(
            call.id in self.answered or call.executor == "provider" for call in self.calls.values()
        )


_ITEMS: dict[str, Callable[[ItemReader, Wire, int], None]] = {
    **dict.fromkeys(tables.CALLS, ItemReader.called),
    **dict.fromkeys(OUTPUTS, ItemReader.result),
    **dict.fromkeys(tables.ASIDES, ItemReader.setting),
    "reasoning": ItemReader.reasoning,
    "compaction": lambda reader, item, _: reader.add_block(thinking.read_compaction(item)),
    "item_reference": ItemReader.reference,
    "additional_tools": ItemReader.bring,
}

_FOLLOWING = frozenset(
    {
        *("message", "reasoning", "function_call", "function_call_output"),
        *("custom_tool_call", "custom_tool_call_output"),
    }
)
"""Items that do not affect those before them."""


def read_following(items: list[Any], messages: list[Message], before: int) -> Iterator[Any]:
    """Appends the messages of items that follow `before` others, and yields how many items there
    are behind each; `WITHIN` where the next one may belong to the same message. `ShapeError` where
    an item of another kind is among them, or a result of no known call."""
    reader = ItemReader()
    reader.messages, reader.start = messages, len(messages)
    for message in messages if before else ():
        for block in message.content:
            if type(block) is ToolUseBlock:
                reader.calls[block.id] = block
            elif type(block) is ToolResultBlock:
                reader.answered.add(block.tool_use_id)
    for index, item in enumerate(items, before):
        kind, id = require(item, dict).get("type", "message"), item.get("call_id")
        if type(kind) is not str or kind not in _FOLLOWING or item.keys() <= {"id"}:
            raise ShapeError(".type", "an item that can be read alone", kind)
        if kind in OUTPUTS and not (type(id) is str and id in reader.calls):
            raise ShapeError(".call_id", "the id of a call", id)
        if not (len(item) == 2 and reader.plain(item)):
            reader.item(item, index)
        behind: Any = WITHIN if reader.blocks or reader.asides else index + 1
        if index == before + len(items) - 1:
            reader.flush()
        yield behind


# -- writing --------------------------------------------------------------------------------------


class ItemWriter:
    """Writes messages as items; `whole` for the output of a response, where every item has an id
    and a status. `seed` is used for generated ids."""

    def __init__(self, recorder: LossRecorder, whole: bool = False, seed: object = None) -> None:
        self.recorder = recorder
        self.whole = whole
        self.seed = seed
        self.items: list[Wire] = []
        self.parts: list[Wire] | None = None
        """The content of the message item that further text of the model joins."""
        self.phase: str | None = None
        """The phase of that item."""
        self.calls: dict[str, tuple[str, str | None, Any]] = {}
        """Ids of calls to their names, their `call_type` and the ids of their items."""
        self.tools: Sequence[ToolDefinition] = ()
        self.brought: set[int] = set()
        """Identities of the tools that items in the middle bring."""
        self.pending: tools.Pending | None = None
        self.references: dict[Any, str] = {}
        """References yet to be written, by number or by id."""
        self.by_number = False
        self.referred: dict[str, Wire] = {}
        """References that were written, by id."""
        self.role: str | None = None
        """For memory: no item is joined with one of another message."""

    def skip(self, messages: tuple[Message, ...]) -> None:
        """Messages that were written before: results name their calls, and items bring tools."""
        for message in messages:
            for block in message.content:
                if type(block) is ToolUseBlock:
                    item = calls.write_call(block, quiet(NAME)) if own(block.raw) else None
                    item_id = None if item is None else item.get("id")
                    self.calls[block.id] = block.name, block.call_type, item_id
            for aside in own_spelling(message.metadata.provider_raw).get("asides", ()):
                if aside[1] == "tools":
                    found = [tool for tool in self.tools if tools.added(tool) == aside[2]]
                    self.brought |= {id(tool) for tool in found}

    def add(self, message: Message) -> None:
        role, content, raw = message.role, message.content, message.metadata.provider_raw
        if message.name is not None:
            self.recorder.lost(message, "name")
        if raw is not None:
            self.recorder.unwritten_raw(message, raw, "metadata.provider_raw")
        if message.changes is not None:
            self.pending = tools.Pending(message, self.tools, self.recorder)
            self.plain_message(message)
            self.items += self.pending.rest(self.brought)
            self.pending = None
            return
        if raw is None and len(content) == 1 and role is not _TOOL and not self.whole:
            block = content[0]
            if type(block) is TextBlock and is_plain(block) and block.text:
                self.items.append({"role": _WORDS[role], "content": block.text})
                return
        self.plain_message(message)

    def plain_message(self, message: Message) -> None:
        role, raw = message.role, message.metadata.provider_raw
        if role is _ASSISTANT:
            self.assistant(message)
            return
        if role is _TOOL:
            self.tool(message)
        elif message.content or message.changes is None:
            self.turn(_WORDS[role], message)
        for aside in own_spelling(raw).get("asides", ()) if raw is not None else ():
            self.aside(aside, raw)

    # -- messages that no model made ----------------------------------------------------------

    def turn(self, role: str, message: Message) -> None:
        content: tuple[Any, ...] = message.content
        raw = message.metadata.provider_raw
        item: Wire = {"role": role}
        spelled = own_spelling(raw).get("content")
        if is_string(content) and spelled != "list":
            text = content[0].text if content else ""
            if text or spelled is None:
                item["content"] = text
            elif spelled == "null":
                item["content"] = None
        else:
            written = [write_part(block, self.recorder) for block in content]
            parts = [part for part in written if part is not None]
            item["content"] = parts if parts or not content else placeholder(message, self.recorder)
        self.items.append(put_item_back(item, raw))

    def tool(self, message: Message) -> None:
        self.report_own_rest(message)
        for block in message.content:
            if type(block) is ToolResultBlock:
                self.result(block, by_model=False)
            elif type(block) is UnknownBlock and NAME in block.raw:
                reason = because("unknown_as_assistant")
                self.recorder.lost(message, "role", reason, kind="approximated")
                self.unknown(block)
            else:
                self.recorder.dropped(block)

    # -- what a model made --------------------------------------------------------------------

    def assistant(self, message: Message) -> None:
        content, raw = message.content, message.metadata.provider_raw
        self.report_own_rest(message)
        self.parts = None
        asides = own_spelling(raw).get("asides", ())
        before = len(self.items)
        index = done = 0
        while index < len(content):
            while done < len(asides) and asides[done][0] <= index:
                self.aside(asides[done], raw)
                done += 1
            index += self.block(content, index)
        for each in asides[done:]:
            self.aside(each, raw)
        if len(self.items) == before and not self.whole:
            text = placeholder(message, self.recorder) if content else ""
            self.items.append({"role": "assistant", "content": text})
        self.parts = None

    def block(self, content: tuple[Block, ...], index: int) -> int:
        """Writes a block and those that belong to the same item; returns their number."""
        block = content[index]
        match block:
            case TextBlock() | RefusalBlock():
                self.text(block)
            case ToolUseBlock():
                return self.call(block, content, index)
            case ThinkingBlock():
                parts = thinking.group(content, index)
                seed = [self.seed, len(self.items)] if self.whole else None
                self.put(thinking.write_reasoning(parts, self.recorder, seed), block)
                return len(parts)
            case RedactedThinkingBlock() if thinking.is_compaction(block):
                self.put(thinking.write_compaction(block, self.recorder), block)
            case RedactedThinkingBlock():
                self.recorder.dropped(block, because("issuer_only"))
            case CompactionBlock():
                self.compaction(block)
            case ToolResultBlock():
                self.result(block, by_model=True)
            case ImageBlock() if "type" not in own_spelling(block.raw):
                self.put(calls.write_generated(block, self.recorder), block, fill=True)
            case UnknownBlock() if NAME in block.raw and "part" not in own_spelling(block.raw):
                self.unknown(block)
            case _:
                self.part(block)
        return 1

    def compaction(self, block: CompactionBlock) -> None:
        """Sealed history is an item; readable history is written as text."""
        if block.data is not None and not block.text:
            self.put(thinking.write_compaction(block, self.recorder), block)
            return
        text = compaction_as_text(block, self.recorder)
        if text is not None:
            self.text(text)

    def put(self, item: Wire | None, block: Any, fill: bool = False) -> None:
        """Adds the required id and status to an item."""
        self.parts = None
        if item is None:
            return
        if self.whole or fill:
            gone = own_spelling(block.raw).get("gone", ())
            for key in FILLED.get(item["type"], ()):
                if key not in item and key not in gone:
                    prefix = tables.PREFIXES.get(item["type"], "out")
                    new_id = synthetic_id(prefix, self.seed, len(self.items))
                    item[key] = new_id if key == "id" else "completed"
        self.items.append(item)

    def unknown(self, block: UnknownBlock) -> None:
        self.parts = None
        self.items.append({key: value for key, value in own(block.raw).items() if key != "$form"})

    def text(self, block: TextBlock | RefusalBlock) -> None:
        spelling = own_spelling(block.raw)
        phase = block.phase if type(block) is TextBlock else self.phase
        joins = self.parts is not None and phase == self.phase
        begins = "item" in spelling
        if joins and not begins and "apart" not in spelling:
            self.part(block)
        elif "string" not in spelling and (
            self.whole or begins or not own(block.raw).keys() <= RESERVED
        ):
            self.part(block, start=True)
        else:
            self.string(block)

    def string(self, block: TextBlock | RefusalBlock) -> None:
        """A message of the model as plain text."""
        self.parts = None
        if not block.text:
            self.recorder.dropped(block, because("empty"))
            return
        self.recorder.unwritten(block, _STRING_FIELDS)
        if type(block) is RefusalBlock:
            self.recorder.lost(block, None, because("refusal_as_text"), kind="downgraded")
        item: Wire = {"role": "assistant", "content": block.text}
        if type(block) is TextBlock and block.phase is not None:
            item["phase"] = block.phase
        add(item, own_spelling(block.raw).get("item"))
        self.items.append(add(item, own(block.raw).get("$item")))

    def part(self, block: Block, start: bool = False) -> None:
        """A part of a message in the model's own form."""
        wire = write_part(block, self.recorder, by_model=True)
        if wire is None:
            return
        begun = own_spelling(block.raw).get("item")
        if start or self.parts is None or begun is not None:
            item: Wire = {"role": "assistant", **(begun or NOTHING), "content": []}
            phase = item.get("phase")
            self.phase = phase if type(phase) is str else None
            add(item, own(block.raw).get("$item"))
            if self.whole and begun is None:
                id = synthetic_id("msg", self.seed, len(self.items))
                item |= {"type": "message", "id": id, "status": "completed"}
            self.items.append(item)
            self.parts = item["content"]
        if type(block) is TextBlock and block.phase != self.phase:
            self.phase = self.items[-1]["phase"] = block.phase
        self.parts.append(wire)

    def call(self, block: ToolUseBlock, content: tuple[Block, ...], index: int) -> int:
        item = calls.write_call(block, self.recorder)
        used = 1
        if item is not None:
            self.calls[block.id] = block.name, block.call_type, item.get("id")
            if block.call_type in calls.HOLDS_RESULT and index + 1 < len(content):
                result = content[index + 1]
                if type(result) is ToolResultBlock and result.tool_use_id == block.id:
                    calls.write_inside(item, result, self.recorder)
                    used = 2
        self.put(item, block)
        return used

    # -- items that are no content ----------------------------------------------------------

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
                settings = self.pending.take_settings()
                if settings:
                    self.items.append({"type": tools.UPDATE, **keys, **settings})
            case [_, "item", int(number)]:
                self.items.append(dict(own(raw)["$asides"][number]))

    def bring(self, number: int, keys: Wire) -> None:
        """Tools where an item brought them; without any, if it brought none."""
        every = [tool for tool in self.tools if tools.added(tool) == number]
        found = every if self.pending is None else self.pending.take_tools(number)
        self.brought |= {id(tool) for tool in found}
        listed = tools.write_tools(found, self.recorder)
        if listed or not every:
            self.items.append({"type": "additional_tools", **keys, "tools": listed})

    # -- results ------------------------------------------------------------------------------

    def result(self, block: ToolResultBlock, by_model: bool) -> None:
        spelling, id = own_spelling(block.raw), block.tool_use_id
        name, call_type, item_id = self.calls.get(id, (None, None, None))
        word = spelling.get("item", NOTHING).get("type")
        if word not in OUTPUTS:
            foreign = not own(block.raw) or name is None
            if by_model and (call_type in calls.HOLDS_RESULT or foreign):
                self.recorder.dropped(block, because("hosted_tool_foreign"))
                return
            word = tables.OUTPUT_OF.get(call_type, "function_call_output")
        if spelling.get("by") == "item":
            id = item_id or id
        item = calls.write_result(block, word, id, name, self.recorder)
        if by_model:
            self.put(item, block)
        else:
            self.items.append(item)

    def report_own_rest(self, message: Message) -> None:
        """Reports own content of a message that is not a single item: it has no place."""
        for key in own(message.metadata.provider_raw):
            if key not in RESERVED:
                self.recorder.lost(message, f"metadata.provider_raw.{NAME}.{key}")


_STRING_FIELDS = frozenset({"text", "phase"})


# -- probabilities of tokens: here each text has its own, elsewhere an answer has them all ---------

_TOKENS = "logprobs"


def take_logprobs(message: Message) -> tuple[Message, tuple[JsonObject, ...]]:
    """The message without the tokens of its texts, each of which records its number of tokens
    (`$form.logprobs`); and all tokens."""
    tokens = [token for block in message.content for token in _tokens(block)]
    if not tokens:
        return message, ()
    content = tuple([without_tokens(block) for block in message.content])
    return message.replace(content=content), tuple(tokens)


def without_tokens(block: Block) -> Block:
    """The block as an answer has it, which has the tokens."""
    found = _tokens(block)
    if not found:
        return block
    preserved = {key: item for key, item in own(block.raw).items() if key != _TOKENS}
    return _with_raw(
        block, {**preserved, "$form": {**own_spelling(block.raw), _TOKENS: len(found)}}
    )


def _tokens(block: Block) -> tuple[JsonObject, ...]:
    if type(block) is not TextBlock or block.raw is None:
        return ()
    return read_tokens(own(block.raw).get(_TOKENS))


def put_logprobs(message: Message, recorder: LossRecorder) -> Message:
    """The message with its tokens, distributed by the recorded numbers; without any, the first text
    gets them all."""
    texts = [block for block in message.content if type(block) is TextBlock]
    if not texts:
        reason = because("logprobs_without_text")
        recorder.lost(message, "metadata.logprobs", reason)
        return message
    tokens = write_tokens(message, recorder)
    last = next((each for each in reversed(texts) if _count(each)), texts[0])
    content: list[Block] = []
    for block in message.content:
        count = len(tokens) if block is last else _count(block)
        own_tokens, tokens = tokens[:count], tokens[count:]
        if own_tokens:
            new = _with_raw(block, {**own(block.raw), _TOKENS: own_tokens})
            recorder.alias(new, block)
            block = new
        content.append(block)
    updated = message.replace(content=tuple(content))
    recorder.alias(updated, message)
    return updated


def _count(block: Block) -> int:
    count = own_spelling(block.raw).get(_TOKENS) if type(block) is TextBlock else None
    return count if type(count) is int else 0


def _with_raw(block: Any, own_raw: Wire) -> Block:
    changed: Block = block.replace(raw={**(block.raw or NOTHING), NAME: own_raw})
    return changed
