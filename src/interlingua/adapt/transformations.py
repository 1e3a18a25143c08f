"""Thinking that a service left out of a request, which two vendors report: Anthropic by the path of
the block in the body it received, OpenAI by the id of the reasoning item. Between them an entry is
translated where both bodies are known: the one that was sent, and the client's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import TwoWay
from interlingua.model.base import Value
from interlingua.model.exchange import Response

KEY = "input_transformations"
Reason = Literal["model", "prefix", "organization", "end_user", "turn"]


class InputTransformation(Value, frozen=True):
    """A block of thinking that a service did not show to the model, or showed although it does not
    fit: `reason` says what of it differs, `seal` is its signature, `place` its path or id in the
    body."""

    reason: Reason
    removed: bool = True
    seal: str | None = None
    place: str | None = None


class _Words(NamedTuple):
    """How a vendor reports it."""

    place: str
    reasons: TwoWay[str, Reason]
    entries: Callable[[Any], Iterator[tuple[str | None, str | None]]]
    """The place and the seal of each piece of thinking in a body."""
    make: Callable[[str, str], Wire]
    removes: Callable[[Wire], bool]


def _blocks(body: Any) -> Iterator[tuple[str | None, str | None]]:
    for turn, message in enumerate(_list(body, "messages")):
        for part, block in enumerate(_list(message, "content")):
            if isinstance(block, dict) and block.get("type") in ("thinking", "redacted_thinking"):
                seal = block.get("signature") or block.get("data")
                yield f"messages.{turn}.content.{part}", seal if isinstance(seal, str) else None


def _items(body: Any) -> Iterator[tuple[str | None, str | None]]:
    for item in _list(body, "input"):
        if isinstance(item, dict) and item.get("type") == "reasoning":
            id, seal = item.get("id"), item.get("encrypted_content")
            yield id if isinstance(id, str) else None, seal if isinstance(seal, str) else None


def _list(value: Any, key: str) -> list[Any]:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


_VENDORS = {
    "anthropic": _Words(
        "path",
        TwoWay(
            {
                "model_binding_mismatch": "model",
                "prefix_binding_mismatch": "prefix",
                "organization_binding_mismatch": "organization",
                "end_user_binding_mismatch": "end_user",
            }
        ),
        _blocks,
        lambda place, word: {"type": "thinking_dropped", "path": place, "reason": word},
        lambda entry: entry.get("type") == "thinking_dropped",
    ),
    "openai-responses": _Words(
        "id",
        TwoWay(
            {
                "model_mismatch": "model",
                "prefix_mismatch": "prefix",
                "organization_mismatch": "organization",
                "end_user_mismatch": "end_user",
                "turn_boundary": "turn",
            }
        ),
        _items,
        lambda place, word: {
            "id": place,
            "action": "removed",
            "reason": word,
            "type": "reasoning",
        },
        lambda entry: entry.get("action") == "removed",
    ),
}


def reported(response: Response, dialect: str) -> list[Wire]:
    """What a response of this dialect says was changed in its request."""
    raw = (response.raw or {}).get(dialect) if dialect in _VENDORS else None
    return [each for each in _list(raw, KEY) if isinstance(each, dict)]


def read(entry: Wire, dialect: str, body: Any) -> InputTransformation | None:
    """An entry of a response, with the seal of the thinking in the body that was sent; None for one
    whose words are unknown."""
    words = _VENDORS[dialect]
    word, place = entry.get("reason"), entry.get(words.place)
    reason = words.reasons.read(word) if isinstance(word, str) else None
    if reason is None:
        return None
    seals = [seal for at, seal in words.entries(body) if at is not None and at == place]
    known = place if isinstance(place, str) else None
    return InputTransformation(reason, words.removes(entry), seals[0] if seals else None, known)


def write(found: InputTransformation, dialect: str) -> Wire | None:
    """The entry in the words of a vendor; None where it has none for it, or no place is known."""
    words = _VENDORS[dialect]
    word = words.reasons.write(found.reason)
    if word is None or found.place is None or not found.removed:
        return None
    return words.make(found.place, word)


def carried(response: Response, source: str, target: str, sent: Any, received: Any) -> Response:
    """The response with what its service reports in the words of the client's dialect. `sent` is
    the body that the service got, `received` the client's. Entries that cannot be said there stay
    what they were."""
    entries = reported(response, source)
    if not entries or target not in _VENDORS or source == target:
        return response
    theirs = list(_VENDORS[target].entries(received))
    ours = list(_VENDORS[source].entries(sent))
    told: list[Wire] = []
    left: list[Wire] = []
    for entry in entries:
        found = read(entry, source, sent)
        placed = None if found is None else _placed(found, ours, theirs)
        wire = None if placed is None else write(placed, target)
        (left if wire is None else told).append(entry if wire is None else wire)
    raw = dict(response.raw or {})
    rest = {key: item for key, item in (raw.pop(source) or {}).items() if key != KEY}
    if left:
        rest[KEY] = left
    raw |= {source: rest} if rest else {}
    if told:
        raw[target] = {**raw.get(target, {}), KEY: told}
    return response.replace(raw=raw or None)


def _placed(
    found: InputTransformation,
    ours: list[tuple[str | None, str | None]],
    theirs: list[tuple[str | None, str | None]],
) -> InputTransformation:
    """The same with its place in the client's body: by its seal, or by its number among as many."""
    places = [place for place, seal in theirs if seal is not None and seal == found.seal]
    numbers = [number for number, (place, _) in enumerate(ours) if place == found.place]
    if not places and numbers and len(ours) == len(theirs):
        places = [theirs[numbers[0]][0]]
    return found.replace(place=places[0] if places else None)
