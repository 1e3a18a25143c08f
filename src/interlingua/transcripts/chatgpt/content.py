"""Contents of ChatGPT's messages, by their type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from interlingua.model.blocks import ImageBlock, Source, TextBlock, ThinkingBlock, UnknownBlock

_TEXTS = {
    "code": "text",
    "execution_output": "text",
    "tether_quote": "text",
    "tether_browsing_display": "result",
    "system_error": "text",
    "user_editable_context": "user_instructions",
}
"""Where the text of a content stands that has no parts."""


def read_content(content: Any) -> Iterator[Any]:
    match content:
        case {"content_type": "text" | "multimodal_text", "parts": list(parts)}:
            for part in parts:
                yield from _part(part)
        case {"content_type": "thoughts", "thoughts": list(thoughts)}:
            for thought in thoughts:
                if isinstance(thought, dict) and isinstance(thought.get("content"), str):
                    rest = {name: each for name, each in thought.items() if name != "content"}
                    yield ThinkingBlock(thought["content"], raw={"chatgpt": rest})
        case {"content_type": "reasoning_recap"}:
            return  # how long it took, for the page
        case {"content_type": str(kind)} if isinstance(content.get(_TEXTS.get(kind, "")), str):
            key = _TEXTS[kind]
            rest = {name: value for name, value in content.items() if name != key and value}
            if content[key]:
                yield TextBlock(content[key], raw={"chatgpt": rest})
        case dict():
            yield UnknownBlock({"chatgpt": content})


def _part(part: Any) -> Iterator[Any]:
    match part:
        case "":
            return
        case str(text):
            yield TextBlock(text)
        case {"content_type": "image_asset_pointer", "asset_pointer": str(pointer)}:
            # the picture is a file of the export
            yield ImageBlock(Source("url", pointer), raw={"chatgpt": part})
        case _:
            yield UnknownBlock({"chatgpt": part})
