"""Messages: one text with thinking, images and calls beside it, as requests and responses both have
them. Results, which are messages of their own, are in `results.py`."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import PLACEHOLDER, Scribe, Wire, compaction_as_text
from interlingua.dialects.ollama.calls import read_call, write_call
from interlingua.dialects.ollama.shape import form_of
from interlingua.dialects.ollama.tables import IMAGE_STARTS, JOINER, JOINERS, NAME
from interlingua.dialects.shape import Kept, ShapeError, may_take, want
from interlingua.model.blocks import (
    Block,
    CompactionBlock,
    DocumentBlock,
    ImageBlock,
    RefusalBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Diagnostic

SAYING = frozenset({"role", "content", "thinking", "images", "tool_calls"})


# -- reading --------------------------------------------------------------------------------------


def read_content(wire: Wire, place: Any, kept: Kept, odd: list[Diagnostic]) -> list[Block]:
    """The blocks of a message, in the order in which templates use them."""
    blocks: list[Block] = []
    if "thinking" in wire:
        thought = may_take(wire, "thinking", str, kept.spelled)
        if thought:
            blocks.append(ThinkingBlock(thought))
        else:
            kept.spelled["thinking"] = thought
    text = read_text(wire, kept)
    if text:
        blocks.append(TextBlock(text))
    if "images" in wire:
        blocks += read_images(wire, kept)
    if "tool_calls" in wire:
        blocks += _read_calls(wire, place, kept, odd)
    return blocks


def read_text(wire: Wire, kept: Kept) -> str:
    """Content is a string; none is like an empty one."""
    text = wire.get("content")
    if type(text) is str:
        return text
    if "content" not in wire:
        kept.form["absent"] = ["content"]
        return ""
    return may_take(wire, "content", str, kept.spelled) or ""


def read_images(wire: Wire, kept: Kept) -> list[ImageBlock]:
    listed = may_take(wire, "images", list, kept.spelled)
    if not listed:
        kept.spelled["images"] = listed
        return []
    images = []
    for index, data in enumerate(listed):
        want(data, str, f".images[{index}]")
        images.append(ImageBlock(Source("base64", data), IMAGE_STARTS.get(data[:4])))
    return images


def shown(block: Block) -> Block:
    """A block of an answer. The official client takes no image there (0.6.3), so that only those go
    out that came in like this."""
    return block.replace(raw=_SHOWN) if type(block) is ImageBlock else block


_SHOWN = {NAME: {"$form": {"shown": True}}}


def _read_calls(wire: Wire, place: Any, kept: Kept, odd: list[Diagnostic]) -> list[Block]:
    listed = may_take(wire, "tool_calls", list, kept.spelled)
    if not listed:
        kept.spelled["tool_calls"] = listed
        return []
    calls: list[Block] = []
    try:
        for each in listed:
            calls.append(read_call(each, place, len(calls), odd))
    except ShapeError as misfit:
        raise misfit.inside(f".tool_calls[{len(calls)}]") from None
    return calls


# -- writing --------------------------------------------------------------------------------------

_RANKS: dict[type[Any], int] = {ThinkingBlock: 0, ImageBlock: 2, ToolUseBlock: 3, UnknownBlock: 3}
_TEXT = 1


class Said:
    """What the blocks of one message come to."""

    __slots__ = ("calls", "images", "is_answer", "joiner", "scribe", "texts", "thoughts")

    def __init__(self, scribe: Scribe, role: Role, is_answer: bool) -> None:
        self.scribe = scribe
        self.is_answer = is_answer
        self.joiner = JOINERS.get(role, JOINER)
        self.texts: list[str] = []
        self.thoughts: list[ThinkingBlock] = []
        self.images: list[str] = []
        self.calls: list[Wire] = []

    def add(self, block: Any) -> None:
        kind = type(block)
        if kind is TextBlock:
            self.text(block)
        elif kind is ThinkingBlock:
            self.thinking(block)
        elif kind is ToolUseBlock:
            self.call(block)
        elif kind is ImageBlock:
            self.image(block)
        elif kind is RefusalBlock:
            self.scribe.lost(block, None, "said as text", kind="downgraded")
            self.say(block, block.text)
        elif kind is CompactionBlock:
            self.compaction(block)
        elif kind is DocumentBlock:
            self.document(block)
        elif kind is UnknownBlock:
            self.unknown(block)
        else:
            self.scribe.dropped(block)

    def text(self, block: Any) -> None:
        if not block.text:
            self.scribe.dropped(block, "empty", "info")
            return
        self.say(block, block.text)
        if block.signature or block.citations or block.cache or block.raw or block.phase:
            self.scribe.unsaid(block, _TEXT_SAID)

    def say(self, block: Any, text: str) -> None:
        if self.texts:
            reason = "joined to the text before it"
            self.scribe.lost(block, None, reason, kind="approximated", severity="info")
        self.texts.append(text)

    def compaction(self, block: Any) -> None:
        text = compaction_as_text(block, self.scribe)
        if text is not None:
            self.text(text)

    def thinking(self, block: Any) -> None:
        if not block.text:
            self.scribe.dropped(block, "nothing of it can be read")
            return
        self.thoughts.append(block)
        if len(self.thoughts) > 1:
            reason = "a message has one thought; joined with the others"
            for each in self.thoughts if len(self.thoughts) == 2 else (block,):
                self.scribe.lost(each, None, reason, kind="approximated", severity="info")
        self.scribe.unsaid(block, _TEXT_SAID)

    def call(self, block: Any) -> None:
        if block.executor == "client":
            self.calls.append(write_call(block, self.scribe))
        else:
            self.scribe.dropped(block, "the server runs no tools")

    def image(self, block: Any) -> None:
        source: Source = block.source
        if self.is_answer and "shown" not in form_of(block.raw):
            self.scribe.dropped(block, "an answer shows no images")
            return
        if source.kind != "base64" or source.data is None:
            self.scribe.dropped(block, "an image has to come with its data")
            return
        self.images.append(source.data)
        if block.media_type != IMAGE_STARTS.get(source.data[:4]) and block.media_type is not None:
            self.scribe.lost(block, "media_type", "the data has to tell it", severity="info")
        self.scribe.unsaid(block, _IMAGE_SAID)

    def document(self, block: Any) -> None:
        text = document_text(block.source)
        if text is None:
            self.scribe.dropped(block)
            return
        self.scribe.lost(block, None, "said as text", kind="downgraded")
        self.say(block, text)

    def unknown(self, block: Any) -> None:
        part = block.raw.get(NAME)
        if type(part) is not dict:
            self.scribe.dropped(block, "another dialect's")
            return
        self.calls.append(part)
        self.scribe.unsaid(block, frozenset())

    @property
    def content(self) -> str:
        return self.joiner.join(self.texts)

    def put(self, out: Wire) -> None:
        out["content"] = self.content
        if self.thoughts:
            out["thinking"] = "\n".join([each.text for each in self.thoughts])
        if self.images:
            out["images"] = self.images
        if self.calls:
            out["tool_calls"] = self.calls


_TEXT_SAID = frozenset({"text"})
_IMAGE_SAID = frozenset({"source", "media_type"})


def document_text(source: Source) -> str | None:
    """The text of a document that is text."""
    if source.kind == "text":
        return source.data
    inner = source.content or ()
    if source.kind != "blocks" or not all(type(block) is TextBlock for block in inner):
        return None
    return JOINER.join([block.text for block in inner if type(block) is TextBlock])


def write_content(message: Message, out: Wire, scribe: Scribe, is_answer: bool = False) -> None:
    """Put what a message says into a wire message."""
    content = message.content
    write_blocks(content, message.role, out, scribe, is_answer)
    if content and not (out["content"] or len(out) > 2 or all(map(_is_empty, content))):
        reason = "nothing of it can be said; a placeholder stands in its place"
        scribe.lost(message, "content", reason, kind="approximated")
        out["content"] = PLACEHOLDER


def write_blocks(
    content: tuple[Any, ...], role: Role, out: Wire, scribe: Scribe, is_answer: bool = False
) -> None:
    if len(content) == 1 and type(content[0]) is TextBlock and content[0].text:
        only = content[0]
        out["content"] = only.text
        if only.signature or only.citations or only.cache or only.raw or only.phase:
            scribe.unsaid(only, _TEXT_SAID)
        return
    if len(content) > 1:
        report_moved(content, scribe)
    said = Said(scribe, role, is_answer)
    for block in content:
        said.add(block)
    said.put(out)


def leave_out(out: Wire, form: Wire) -> None:
    """No content where the wire had none, as long as there is none."""
    if not out["content"] and "content" in (*form.get("absent", ()), *form.get("spelled", ())):
        del out["content"]


def _is_empty(block: Block) -> bool:
    return type(block) is TextBlock and not block.text


def report_moved(content: tuple[Block, ...], scribe: Scribe) -> None:
    """Thinking, text, images, calls: what stood before an earlier kind moves behind it."""
    ranks = [_RANKS.get(type(block), _TEXT) for block in content]
    least = _RANKS[ToolUseBlock]
    for block, rank in zip(reversed(content), reversed(ranks), strict=True):
        if rank > least:
            reason = "a message has one text; all else stands beside it"
            scribe.lost(block, None, reason, kind="moved", severity="info")
        least = min(least, rank)
