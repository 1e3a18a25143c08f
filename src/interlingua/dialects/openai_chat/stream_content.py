"""The content of a stream's deltas: text in pieces, and, with Mistral, parts of other kinds among
it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interlingua.dialects.base import Wire, encode
from interlingua.dialects.openai_chat.shape import want
from interlingua.dialects.openai_chat.stream_parts import Part, Telling
from interlingua.dialects.openai_chat.text import read_annotations, read_part
from interlingua.dialects.shape import ShapeError, each
from interlingua.model.blocks import Block, TextBlock
from interlingua.model.events import TextDelta, ThinkingDelta

if TYPE_CHECKING:
    from interlingua.dialects.openai_chat.stream_choice import Choice


class Content:
    """The content of one choice."""

    def __init__(self, choice: Choice) -> None:
        self._choice = choice
        self._parts = (choice.t.parts["assistant"], choice.t)
        self._texts: list[Part] = []
        self._items: list[Part | Wire] | None = None
        """All parts, once there is a list of them."""
        self._annotations: list[Any] = []

    def read(self, delta: Wire, telling: Telling) -> None:
        content = delta["content"]
        if type(content) is str:
            self._say_text(content, delta, "content", telling)
        elif type(content) is list:
            self._read_items(content, telling)
        elif type(content) is dict:
            self._say_text(encode(content).decode(), {}, "", telling)
            telling.piece = None  # which stands in no place of the frame
        else:
            raise ShapeError(".content", "a string or a list", content)

    def _say_text(self, text: str, wire: Wire, key: str, telling: Telling) -> None:
        part = self._texts[-1] if self._texts else None
        if part is None or not part.is_open:
            start = TextBlock("")
            part = self._choice.open(telling, "content", TextDelta, start, self._finish_text)
            self._texts.append(part)
            if self._items is not None:
                self._items.append(part)
        telling.say(part, text, (wire, key))

    def _finish_text(self, part: Part) -> Block:
        blocks: list[Block] = [TextBlock(part.text)]
        if self._annotations and len(self._texts) == 1:
            read_annotations(self._annotations, blocks, self._choice.t)
        return blocks[0]

    def _read_items(self, content: list[Any], telling: Telling) -> None:
        """Parts among the text, as Mistral has them."""
        if self._items is None:
            self._items = list(self._texts)
        each(content, ".content", lambda item: self._read_item(item, telling))

    def _read_item(self, item: Any, telling: Telling) -> None:
        if _is_text(item):
            if item["text"]:
                self._say_text(item["text"], item, "text", telling)
            return
        if type(item) is dict and item.get("type") == "thinking" and _inner(item) is not None:
            self._read_thinking(item, telling)
            return
        block = read_part(item, *self._parts)
        assert self._items is not None
        self._items.append(item)
        self._choice.whole([block], telling, "content")

    def _read_thinking(self, item: Wire, telling: Telling) -> None:
        assert self._items is not None
        part = self._items[-1] if self._items else None
        if type(part) is not Part or part.event is not ThinkingDelta or not part.is_open:
            start = read_part({**item, "thinking": []}, *self._parts)
            part = self._choice.open(
                telling, "content", ThinkingDelta, start, self._finish_thinking
            )
            self._items.append(part)
        part.wire.update(
            {
                key: value
                for key, value in item.items()
                if key not in ("type", "thinking") and (value is not None or key not in part.wire)
            }
        )
        part.also.add("string" if type(item["thinking"]) is str else "list")
        for wire, key in _inner(item) or ():
            if wire[key]:
                telling.say(part, wire[key], (wire, key))
        if type(item.get("signature")) is str and item["signature"]:
            telling.change(part, "signature", item["signature"], item, "signature")

    def _finish_thinking(self, part: Part) -> Block:
        return read_part(_thinking_item(part), *self._parts)

    def annotate(self, delta: Wire, telling: Telling) -> None:
        items = want(delta["annotations"], list, ".annotations")
        self._annotations += items
        if len(self._texts) != 1 or not self._texts[0].is_open:
            return
        for item in items:
            blocks: list[Block] = [TextBlock("")]
            read_annotations([item], blocks, self._choice.t)
            for citation in blocks[0].citations:  # type: ignore[union-attr]  # it is text
                telling.change(self._texts[0], "citations", citation, None, "")

    def wire(self) -> Wire:
        """The keys of a whole message."""
        wire: Wire = {}
        if self._items is not None:
            wire["content"] = [self._whole_item(item) for item in self._items]
        elif self._texts:
            wire["content"] = "".join([part.text for part in self._texts])
        if self._annotations:
            wire["annotations"] = self._annotations
        return wire

    def _whole_item(self, item: Part | Wire) -> Wire:
        if type(item) is not Part:
            return item  # type: ignore[return-value]  # mypy does not narrow by `type`
        if item.event is ThinkingDelta:
            return _thinking_item(item)
        return {"type": "text", "text": item.text}


def _inner(item: Wire) -> list[tuple[Wire, str]] | None:
    """Where the texts of a thinking part stand; None where there is more than text."""
    inner = item.get("thinking")
    if type(inner) is str:
        return [(item, "thinking")]
    if type(inner) is not list or not all(_is_text(chunk) for chunk in inner):
        return None
    return [(chunk, "text") for chunk in inner]


def _is_text(item: Any) -> bool:
    """A part with text and nothing else."""
    if type(item) is not dict or item.keys() != {"type", "text"}:
        return False
    return item["type"] == "text" and type(item["text"]) is str


def _thinking_item(part: Part) -> Wire:
    inner: Any = part.text
    if "list" in part.also:
        inner = [{"type": "text", "text": part.text}]
    return {"type": "thinking", "thinking": inner, **part.wire}
