"""Thinking that a service removed from a request, which two vendors report: Anthropic by the path
of the block in the body it received, OpenAI by the id of the reasoning item. Between them an entry
is translated where both bodies are known: the one that was sent, and the client's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from interlingua.model.exchange import Response
from interlingua.model.metadata import InputTransformation


class Piece(NamedTuple):
    """One piece of thinking in a body: its place there, and its signature."""

    place: str | None
    seal: str | None


def _blocks(body: Any) -> Iterator[Piece]:
    for turn, message in enumerate(_list(body, "messages")):
        for part, block in enumerate(_list(message, "content")):
            if isinstance(block, dict) and block.get("type") in ("thinking", "redacted_thinking"):
                seal = block.get("signature") or block.get("data")
                place = f"messages.{turn}.content.{part}"
                yield Piece(place, seal if isinstance(seal, str) else None)


def _items(body: Any) -> Iterator[Piece]:
    for item in _list(body, "input"):
        if isinstance(item, dict) and item.get("type") == "reasoning":
            id, seal = item.get("id"), item.get("encrypted_content")
            yield Piece(
                id if isinstance(id, str) else None, seal if isinstance(seal, str) else None
            )


def _list(value: Any, key: str) -> list[Any]:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


_VENDORS: dict[str, tuple[str, Callable[[Any], Iterator[Piece]]]] = {
    "anthropic": ("path", _blocks),
    "openai-responses": ("id", _items),
}
"""The field that has the place in requests of a vendor, and the thinking in one."""


def seal_of(found: InputTransformation, body: Any) -> str | None:
    """The signature of the thinking that an entry is about, in the body that was sent."""
    for field, pieces in _VENDORS.values():
        place = getattr(found, field)
        if place is not None:
            return next((seal for at, seal in pieces(body) if at == place), None)
    return None


def carried(response: Response, source: str, target: str, sent: Any, received: Any) -> Response:
    """The response with the transformations that its service reports, at their places in the
    client's request. `sent` is the body that the service got, `received` the client's. Entries
    with an unknown place are not changed."""
    message = response.message
    entries = message.metadata.input_transformations
    if not entries or target not in _VENDORS or source not in _VENDORS or source == target:
        return response
    (from_field, ours), (to_field, theirs) = _VENDORS[source], _VENDORS[target]
    before, after = list(ours(sent)), list(theirs(received))
    placed: list[InputTransformation] = []
    for found in entries:
        place = _place_of(getattr(found, from_field), before, after)
        new = {} if place is None else {from_field: None, to_field: place}
        placed.append(found.replace(**new))
    metadata = message.metadata.replace(input_transformations=tuple(placed))
    return response.replace(message=message.replace(metadata=metadata))


def _place_of(place: str | None, before: list[Piece], after: list[Piece]) -> str | None:
    """The place in the client's body: by its seal, or by its number among as many."""
    number = next((at for at, piece in enumerate(before) if piece.place == place), None)
    if place is None or number is None:
        return None
    seal = before[number].seal
    same = [piece.place for piece in after if seal is not None and piece.seal == seal]
    if same:
        return same[0]
    return after[number].place if len(before) == len(after) else None
