"""Metadata of answers that several wires have: token probabilities, the cause of a cache miss,
removed parts of the input."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

from interlingua.dialects.kernel.errors import ShapeError
from interlingua.dialects.kernel.fields import Field, Table, plain, word
from interlingua.dialects.kernel.preserved import raw_of
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import TwoWay
from interlingua.model.base import JsonObject
from interlingua.model.message import Message
from interlingua.model.metadata import (
    CacheDiagnosis,
    InputTransformation,
    TransformationAction,
    TransformationReason,
)
from interlingua.model.reasons import Reason, because

# -- tokens ---------------------------------------------------------------------------------------

_NUMBERED = frozenset({"gemini", "cohere"})
_SPELLED_BY = _NUMBERED | {"openai-chat", "openrouter", "openai-responses", "ollama"}
"""The dialects whose answers have tokens. Other names of a message's source map to one of these."""


_KEYS = ("token", "logprob", "bytes")


def read_tokens(value: Any) -> tuple[JsonObject, ...]:
    """The tokens of a list of them; none for anything else."""
    if type(value) is not list or not all(type(each) is dict for each in value):
        return ()
    return tuple(value)


def write_tokens(message: Message, recorder: LossRecorder) -> list[Wire]:
    """The tokens for a wire that spells them as the canonical value does. Dialects that lack a
    required member, or have token numbers, which mean nothing elsewhere, cannot be written."""
    metadata, protocol = message.metadata, message.metadata.protocol
    if protocol in _NUMBERED:
        recorder.lost(message, "metadata.logprobs", because("token_ids"))
        return [_bare(token) for token in metadata.logprobs]
    if protocol == recorder.dialect or (protocol is not None and protocol not in _SPELLED_BY):
        return list(metadata.logprobs)
    return [_whole(token) for token in metadata.logprobs]


def _whole(token: JsonObject) -> Wire:
    tops = [_with_bytes(each) for each in others_of(token)]
    return {**_with_bytes(token), "top_logprobs": tops}


def _bare(token: JsonObject, tops: bool = True) -> Wire:
    """A token without data of its own wire; Google omits a probability of 0."""
    known = {"logprob": 0.0, **{key: token[key] for key in _KEYS if key in token}}
    others = {"top_logprobs": [_bare(each, False) for each in others_of(token)]} if tops else {}
    return {**_with_bytes(known), **others}


def others_of(token: JsonObject) -> list[JsonObject]:
    """The tokens that could have stood there."""
    others = token.get("top_logprobs")
    return [each for each in others if type(each) is dict] if type(others) is list else []


def _with_bytes(token: JsonObject) -> Wire:
    encoded, text = token.get("bytes"), token.get("token")
    if type(encoded) is str:  # Hugging Face sends base64 (recorded answers, read 2026-11)
        try:
            return {**token, "bytes": list(b64decode(encoded, validate=True))}
        except ValueError:
            encoded = None
    if encoded is not None or type(text) is not str:
        return dict(token)
    return {**token, "bytes": list(text.encode())}


# -- the prompt cache -----------------------------------------------------------------------------


def report_cache_details(
    message: Message, found: CacheDiagnosis, recorder: LossRecorder, tokens: bool = True
) -> None:
    """Reports the parts of a cache diagnosis that no vendor has: which parts changed, since
    when, what it costs, and, for a wire without `tokens`, how many could have been reused."""
    names = ["changed", "since", "cost_usd"]
    if not tokens or found.outcome != "miss":
        names.append("reusable_tokens")
    if found.outcome != "miss":
        names += ["reason", "missed_tokens"]
    for name in names:
        if getattr(found, name) not in (None, ()):
            recorder.lost(message, f"metadata.cache_diagnosis.{name}", severity="info")


# -- what the provider removed from the input -----------------------------------------------------


class Transformations:
    """How a vendor lists them: under `key`, each with an action, a reason, and its place in the
    request."""

    key = "input_transformations"

    def __init__(
        self,
        name: str,
        place: tuple[str, str],
        action: tuple[str, dict[str, TransformationAction]],
        reasons: dict[str, TransformationReason],
        *more: Field,
    ) -> None:
        self._name, (self._attr, place_key) = name, place
        self._actions, self._reasons = TwoWay(action[1]), TwoWay(reasons)
        self._table = Table(
            InputTransformation,
            word(action[0], "action", self._actions)._replace(fill=_nothing),
            plain(place_key, self._attr, str, fill=_nothing),
            word("reason", "reason", self._reasons)._replace(fill=_nothing),
            *more,
        )

    def read(self, wire: Any) -> tuple[InputTransformation, ...]:
        """The entries of a list; none where one of them is not an entry of this vendor."""
        if type(wire) is not list or not all(type(entry) is dict for entry in wire):
            return ()
        read, name = self._table.read_value, self._name
        try:
            return tuple([read(InputTransformation, entry, name) for entry in wire])
        except ShapeError:
            return ()

    def write(self, message: Message, recorder: LossRecorder) -> list[Wire]:
        """Writes those that the vendor can express: with a known place, and values for action and
        reason."""
        out: list[Wire] = []
        for number, found in enumerate(message.metadata.input_transformations):
            is_known = getattr(found, self._attr) is not None and self._has_words(found)
            if is_known or raw_of(self._name, found.raw):
                out.append(self._table.write_value(found, recorder))
            else:
                reason = because("thinking_unplaced", reason=_word(found))
                _report(message, number, found, reason, recorder)
        return out

    def _has_words(self, found: InputTransformation) -> bool:
        reason = found.reason
        has_reason = reason is not None and self._reasons.write(reason) is not None
        return has_reason and self._actions.write(found.action) is not None


def _nothing(_: Any) -> None:
    """Marks a key that an entry lacks."""


def report_metadata(message: Message, recorder: LossRecorder) -> None:
    """Reports the cache diagnosis and the input transformations, for dialects that have neither."""
    metadata = message.metadata
    if metadata.cache_diagnosis is not None:
        recorder.lost(message, "metadata.cache_diagnosis", severity="info")
    for number, found in enumerate(metadata.input_transformations):
        _report(message, number, found, because("thinking_removed", reason=_word(found)), recorder)


def _word(found: InputTransformation) -> str:
    return found.reason or "for an unknown reason"


def _report(
    message: Message,
    number: int,
    found: InputTransformation,
    reason: Reason,
    recorder: LossRecorder,
) -> None:
    path = f"metadata.input_transformations[{number}]"
    if found.action == "removed":
        recorder.lost(message, path, reason)
    else:
        recorder.lost(message, path, severity="info")
