"""Which issuer can verify a signature and read encrypted data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from interlingua.dialects.record import Dialect
from interlingua.dialects.registry import is_dialect, traits_of
from interlingua.model.base import Raw
from interlingua.model.blocks import Block
from interlingua.model.message import Message
from interlingua.model.metadata import UNKNOWN, MessageMetadata
from interlingua.model.reasons import because

if TYPE_CHECKING:
    from interlingua.profiles.names import NameParts

UNVERIFIED = because("unverified")
FORMATS: dict[str, str] = {
    "anthropic-claude-v1": "anthropic",
    "google-gemini-v1": "gemini",
    "openai-responses-v1": "openai-responses",
    "azure-openai-responses-v1": "openai-responses",
}
"""The issuer of a piece of thinking, in the terms of OpenRouter and similar hosts."""

# Which thinking a model can read may depend on the account from this generation on: anthropic
# 2.8.0, `thinking.block_binding` (read 2026-11).
_BOUND = ("claude", (5, 0))


class Recipient(NamedTuple):
    """The recipient of a conversation, as far as it is known."""

    dialect: Dialect
    model: str | None = None
    provider: str | None = None
    strict: bool = False
    """Whether signatures are only sent back in their source dialect, not to their whole family."""
    is_client: bool = False
    """It is shown an answer, and signs nothing itself."""
    source: str | None = None
    """The dialect that was read, for messages that do not record it."""
    read_model: str | None = None
    """The model that answered there, likewise."""

    def can_read(self, message: Message, block: Block | None = None) -> bool:
        """Whether a block's signed content goes to its issuer, or to one that can verify it: the
        same model, at the same host or within the signing family. Unknown fields are taken to be
        the same."""
        raw: Raw | None = getattr(block, "raw", None)
        named = None if raw is None else issuer_in_wire(raw)
        name, family = self.dialect.name, self.dialect.traits.family
        if named is not None and self.dialect.traits.relays_signatures:
            return True  # it relays content unchanged; the format names the reader
        metadata = message.metadata
        came_by = metadata.protocol or self.source
        if named is not None:
            came_by = next((each for each in raw or () if is_dialect(each)), came_by)
        if _was_read(name, raw, metadata.provider_raw) or (named is None and came_by == name):
            return self._is_host(metadata, family) and self._is_model(metadata)
        issuer = named or came_by
        if issuer is None:
            return family is not None or not self.is_client
        return self._verifies(metadata, issuer, came_by or issuer)

    def is_from_same_host(self, message: Message) -> bool:
        """Whether this host issued the message, as far as that is known: content without
        signatures goes back to it unchanged, whichever of its models is asked. An answer came by
        the dialect that was read, whoever signed its thinking."""
        metadata = message.metadata
        name, came_by = self.dialect.name, metadata.protocol or self.source
        if self.is_client and self.source is not None:
            came_by = self.source
        if came_by != name and not _was_read(name, metadata.provider_raw):
            return False
        return self.provider is None or metadata.provider in (None, UNKNOWN, self.provider)

    def is_from_same_model(self, message: Message) -> bool:
        """Whether the target model itself is known to have produced this message; True if no
        model is named."""
        if not self.is_from_same_host(message):
            return False
        metadata = message.metadata
        known = _model_in(metadata)
        return self.model is None or (known is not None and self._is_model(metadata))

    def _verifies(self, metadata: MessageMetadata, issuer: str, came_by: str) -> bool:
        family = self.dialect.traits.family
        if family is None or family != _family(issuer):
            return False
        if self.strict and issuer != self.dialect.name:
            return False
        if not self._is_model(metadata):
            return False
        return came_by == self.dialect.name or not self._is_bound(metadata)

    def _is_host(self, metadata: MessageMetadata, family: str | None) -> bool:
        """Whether it is the same account, where only that one can read its thinking: hosts
        without signatures, and models that bind their signatures."""
        if self.provider is None or metadata.provider in (None, UNKNOWN, self.provider):
            return True
        return family is not None and not self._is_bound(metadata)

    def _is_bound(self, metadata: MessageMetadata) -> bool:
        made_by = self.model or _model_in(metadata)
        family, since = _BOUND
        return any(
            name.family == family and name.version is not None and name.version >= since
            for name in _names(made_by)
        )

    def _is_model(self, metadata: MessageMetadata) -> bool:
        """Whether the target is the same model, possibly under another name."""
        made_by = _model_in(metadata) or self.read_model
        if self.model is None or made_by is None or made_by == self.model:
            return True
        (there, *named), (here, *called) = _names(made_by), _names(self.model)
        if there.name == here.name:
            return True
        return here.name in [n.name for n in named] or there.name in [n.name for n in called]


def _model_in(metadata: MessageMetadata) -> str | None:
    """The model that a message names; a session may have had to keep it without one."""
    model = metadata.model
    if model is None or model.endswith(f":{UNKNOWN}"):
        return metadata.response_model
    return model


def _names(model: str | None) -> list[NameParts]:
    """The readings of a name: the provider may precede it, or the colon may be part of it."""
    if model is None:
        return []
    from interlingua.profiles.names import name_parts

    behind = model.partition(":")[2]
    return [name_parts(model), name_parts(behind)] if behind else [name_parts(model)]


def _family(issuer: str) -> str | None:
    """The group of issuers that can read signatures of a dialect."""
    return traits_of(issuer).family if is_dialect(issuer) else issuer


def _was_read(dialect: str, *raws: Raw | None) -> bool:
    """Whether a block or its message has traces of this dialect's reader."""
    for raw in raws:  # noqa: SIM110  # a generator costs as much as all the rest
        if raw is not None and dialect in raw:
            return True
    return False


def issuer_in_wire(raw: dict[str, Any]) -> str | None:
    """The dialect that a block's own wire names as the issuer: a `format` wherever a host passes it
    on, Google's way to sign, or what a reader noted."""
    for own in raw.values():
        if not isinstance(own, dict):
            continue
        form = own.get("$form")
        if isinstance(form, dict):
            if isinstance(form.get("issuer"), str):
                return str(form["issuer"])
            if form.get("signature") == "google":
                return "gemini"
        word = own.get("format")
        if isinstance(word, str) and word in FORMATS:
            return FORMATS[word]
    return None
