"""Messages out of items: a run of items that a model made is one assistant message, every other
message item a message; what is no part of what was said is kept at its place."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Wire
from interlingua.dialects.openai_responses.changes import merged
from interlingua.dialects.openai_responses.content import is_plain, read_parts
from interlingua.dialects.openai_responses.spelling import begin, own, raw_of, spare
from interlingua.dialects.openai_responses.tables import NAME, ROLES
from interlingua.errors import ReadError, found
from interlingua.model.base import Raw
from interlingua.model.blocks import Block, TextBlock, UnknownBlock
from interlingua.model.changes import Changes
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Diagnostic, MessageMetadata

MADE = MessageMetadata(protocol=NAME)
"""The metadata of an assistant message about which nothing else is known."""
_USER, _ASSISTANT = Role.USER, Role.ASSISTANT
_TURN = frozenset({"role", "content"})
_SPELLED = ("type", "id", "status", "phase")
_PLAIN_EMPTY = [[0, "empty", {"role": "assistant", "content": ""}]]


class Turns:
    """The messages so far, and the present run; `all_made` where there is nothing but a run."""

    def __init__(self, all_made: bool) -> None:
        self.all_made = all_made
        self.messages: list[Message] = []
        self.start = 0
        """How many messages came from elsewhere than the list."""
        self.blocks: list[Block] = []
        """The present run."""
        self.changes: Changes | None = None
        """What changes in the midst of it."""
        self.asides: list[Any] = []
        """What else stood in it: how many blocks came before, what kind it is, what it says."""
        self.kept: list[Wire] = []
        """Content of asides that nobody else has a word for."""
        self.diagnostics: list[Diagnostic] = []
        self.in_list = False
        """Whether the last item of the run was a message whose parts further text would join."""
        self.lead: tuple[list[Any], list[Wire]] = ([], [])
        """Asides before anything was said, and the content of them."""

    def plain(self, item: Wire) -> bool:
        """The most common items: a role and a text."""
        text, role = item.get("content"), item.get("role")
        if type(text) is not str or not text:
            return False
        if role == "user" and not self.all_made:
            if self.blocks or self.asides:
                self.flush()
            self.messages.append(Message(_USER, (TextBlock(text),)))
            return True
        if role == "assistant" and not self.in_list and not self.all_made:
            self.blocks.append(TextBlock(text))
            return True
        return False

    def message(self, item: Wire) -> None:
        word = item.get("role")
        role = ROLES.get(word) if type(word) is str else None
        if role is None or (self.all_made and role is not Role.ASSISTANT):
            self.made(UnknownBlock({NAME: item}))
        elif role is Role.ASSISTANT:
            self.answer(item)
        else:
            self.turn(role, item)

    def turn(self, role: Role, item: Wire) -> None:
        """A message that no model made."""
        content = item.get("content")
        spelling: Wire = {}
        blocks: tuple[Block, ...] = ()
        if type(content) is str:
            blocks = (TextBlock(content),) if content else ()
        elif type(content) is list:
            blocks = tuple(read_parts(content, False, "$.content"))
            if is_string(blocks):
                spelling["content"] = "list"
        else:
            _nothing(item, spelling)
        self.flush()
        if role is Role.SYSTEM and not self.messages:
            spelling["place"] = "input"
        rest: Wire = {}
        if len(item) > 2 or "content" not in item:
            rest, spelled = _item_keys(item)
            if spelled:
                spelling["item"] = spelled
        if spelling or rest:
            metadata = MessageMetadata(provider_raw=raw_of(rest, spelling))
            self.messages.append(Message(role, blocks, metadata=metadata))
        else:
            self.messages.append(Message(role, blocks))

    def answer(self, item: Wire) -> None:
        """A message of the model: part of the run."""
        content = item.get("content")
        if type(content) is str and content:
            self.answer_string(item, content)
            return
        if type(content) is list and content:
            blocks = read_parts(content, True, "$.content")
            rest, spelled = _item_keys(item)
            blocks = _in_phase(blocks, spelled)
            blocks[0] = begin(blocks[0], spelled, rest)
            self.blocks += blocks
            self.in_list = True
            return
        if content not in ("", []):
            _nothing(item, {})
        self.asides.append([len(self.blocks), "empty", item])
        self.in_list = False

    def answer_string(self, item: Wire, text: str) -> None:
        block: Block = TextBlock(text)
        if len(item) > 2:
            rest, spelled = _item_keys(item)
            (block,) = _in_phase([block], spelled)
            raw = raw_of(None, {"item": spelled, "string": True}, rest)
            block = block.replace(raw=raw)
        elif self.in_list:
            block = TextBlock(text, raw=raw_of(None, {"apart": True}))
        self.blocks.append(block)
        self.in_list = False

    def made(self, block: Block) -> None:
        self.blocks.append(block)
        self.in_list = False

    def flush(self) -> None:
        """The run is over."""
        if not self.blocks and not self.asides:
            return
        metadata = MADE
        if self.asides and not (not self.blocks and self.asides == _PLAIN_EMPTY):
            raw = _with_asides(None, self.asides, self.kept)
            metadata = MessageMetadata(protocol=NAME, provider_raw=raw)
        if self.diagnostics:
            metadata = metadata.replace(diagnostics=tuple(self.diagnostics))
        content, changes = tuple(self.blocks), self.changes
        self.messages.append(Message(_ASSISTANT, content, metadata=metadata, changes=changes))
        self.blocks, self.asides, self.kept, self.changes = [], [], [], None
        self.diagnostics, self.in_list = [], False

    def change(self, changes: Changes, aside: list[Any], alone: bool) -> bool:
        """From here on something is otherwise: a message of its own, unless it stands in the midst
        of something; False where what it stands in cannot hold it."""
        if alone:
            self.flush()
            metadata = MessageMetadata(provider_raw=_with_asides(None, [[0, *aside]], []))
            self.messages.append(Message(Role.SYSTEM, metadata=metadata, changes=changes))
            return True
        inside = bool(self.blocks or self.asides)
        now = merged(self.changes if inside else self.messages[-1].changes, changes)
        if now is None:
            return False
        self.beside(aside)
        if inside:
            self.changes = now
        else:
            self.messages[-1] = self.messages[-1].replace(changes=now)
        return True

    def beside(self, aside: list[Any], content: Wire | None = None) -> None:
        """Keep what stands here at the run it stands in, else at the message before it."""
        self.in_list = False
        more = [] if content is None else [content]
        if self.blocks or self.asides:
            number = [] if content is None else [len(self.kept)]
            self.asides.append([len(self.blocks), *aside, *number])
            self.kept += more
        elif len(self.messages) > self.start:
            message = self.messages[-1]
            raw = message.metadata.provider_raw
            number = [] if content is None else [len(own(raw).get("$asides", ()))]
            place = [len(message.content), *aside, *number]
            metadata = message.metadata.replace(provider_raw=_with_asides(raw, [place], more))
            self.messages[-1] = message.replace(metadata=metadata)
        else:
            number = [] if content is None else [len(self.lead[1])]
            self.lead[0].append([0, *aside, *number])
            self.lead[1].extend(more)


def _with_asides(raw: Raw | None, asides: list[Any], kept: list[Wire]) -> Raw | None:
    mine = own(raw)
    spelling = {**mine.get("$form", {})}
    spelling["asides"] = [*spelling.get("asides", ()), *asides]
    content = {key: value for key, value in mine.items() if key != "$form"}
    if kept:
        content["$asides"] = [*content.get("$asides", ()), *kept]
    return raw_of(content, spelling)


def _in_phase(blocks: list[Block], spelled: Wire) -> list[Block]:
    """The blocks of a message with what it is for, which is then no spelling any more."""
    phase = spelled.get("phase")
    if type(phase) is not str or not any(type(block) is TextBlock for block in blocks):
        return blocks
    del spelled["phase"]
    return [each.replace(phase=phase) if type(each) is TextBlock else each for each in blocks]


def is_string(blocks: tuple[Block, ...]) -> bool:
    """Whether the plain spelling of a message's content is a string."""
    if not blocks:
        return True
    block = blocks[0]
    return len(blocks) == 1 and is_plain(block) and bool(block.text)  # type: ignore[union-attr]  # plain is text


def _nothing(item: Wire, spelling: Wire) -> None:
    """Content that is not there."""
    if item.get("content") is not None:
        raise ReadError(NAME, "$.content", "a string or a list", found(item["content"]))
    spelling["content"] = "null" if "content" in item else "absent"


def _item_keys(item: Wire) -> tuple[Wire, Wire]:
    rest, spelled = spare(item, _TURN)
    for key in _SPELLED:
        if key in rest:
            spelled[key] = rest.pop(key)
    return rest, spelled
