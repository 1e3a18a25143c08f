"""What a request asks for that nobody here can limit: prompts that are only named, what a provider
does by itself, and prices other than those of the table. It is looked for in the request as it was
read, never in its bytes, so that it does not matter how it was spelled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from interlingua.dialects.registry import dialect as dialect_of
from interlingua.model.blocks import AudioBlock, Block, DocumentBlock, UnknownBlock, VideoBlock
from interlingua.model.exchange import Request
from interlingua.model.walk import walk

INLINE = frozenset({"base64", "text", "blocks"})
"""Sources that are in the request itself."""
TIERS = frozenset({"auto", "default", "standard", "standard_only", "flex", "unspecified"})
"""Tiers of service that cost no more than the table says."""
_HARMLESS: tuple[Any, ...] = (None, False, [], "standard", "global")
_NAMES = ("url", "uri", "file")


_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_value = msgspec.json.Decoder().decode


def unbounded(request: Request, dialect: str, body: bytes = b"") -> tuple[str, ...]:
    """What the request asks for that cannot be limited, in words for people. `body` is what it was
    read from, if it is at hand: members may have become fields."""
    return tuple(dict.fromkeys(_found(request, dialect, body)))


def _found(request: Request, dialect: str, body: bytes) -> Iterator[str]:
    raw = (request.raw or {}).get(dialect)
    front = dialect_of(dialect).front
    words = front.unbounded if front is not None else {}
    yield from _of_members(raw, words)
    if body and words:
        said = {name: value for name, value in _members(body).items() if name in words}
        yield from _of_members({name: _value(value) for name, value in said.items()}, words)
    if front is not None and front.says_twice is not None and front.says_twice(raw):
        yield "a limit given twice"
    if request.continues is not None:
        yield "a conversation stored at the provider"
    if any(tool.executor == "provider" for tool in request.tools):
        yield "tools run by the provider"
    options = request.options
    if options.service_tier is not None and options.service_tier not in TIERS:
        yield "a service tier that may cost more"
    if any(kind != "text" for kind in options.modalities or ()):
        yield "output other than text"
    if any(_is_unseen(block) for _, _, block in walk(request.messages)):
        yield "documents, audio or video given by reference"


def _of_members(raw: Any, words: Mapping[str, str]) -> Iterator[str]:
    for name, value in raw.items() if isinstance(raw, dict) else ():
        if name in words and value not in _HARMLESS and not _only_clears(name, value):
            yield words[name]


def _only_clears(name: str, value: Any) -> bool:
    """Whether a context is only made smaller, which every coding agent asks Anthropic for."""
    edits = value.get("edits") if name == "context_management" and isinstance(value, dict) else None
    return isinstance(edits, list) and all(
        isinstance(edit, dict) and str(edit.get("type")).startswith("clear_") for edit in edits
    )


def _is_unseen(block: Block) -> bool:
    if isinstance(block, (AudioBlock, DocumentBlock, VideoBlock)):
        return block.source.kind not in INLINE
    return isinstance(block, UnknownBlock) and _names_something(block.raw)


def _names_something(raw: Any) -> bool:
    """Whether what we do not know has an address or a file in it."""
    if isinstance(raw, dict):
        return any(
            any(word in str(key).lower() for word in _NAMES) or _names_something(value)
            for key, value in raw.items()
        )
    return isinstance(raw, list) and any(_names_something(each) for each in raw)
