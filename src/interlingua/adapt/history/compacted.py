"""History that one service encrypted, in the hands of a client of another: the client sees a
placeholder for the summary, and returns the rest unchanged."""

from __future__ import annotations

import base64

import msgspec

from interlingua.model.blocks import CompactionBlock
from interlingua.model.reasons import TITLES

PREFIX = "ilp1."
"""The prefix of packed history; the number is the version of its format."""
PLACEHOLDER = "[The summary of the conversation so far is encrypted; only {} can read it.]"


class Packed(msgspec.Struct):
    issuer: str
    """Its source dialect."""
    block: CompactionBlock


def pack(block: CompactionBlock, issuer: str) -> CompactionBlock:
    """The block for a client whose protocol takes one without a summary for a failure."""
    data = base64.urlsafe_b64encode(msgspec.json.encode(Packed(issuer, block)))
    text = PLACEHOLDER.format(TITLES.get(issuer, issuer))
    return CompactionBlock(text, PREFIX + data.decode(), cache=block.cache)


def unpack(data: str | None) -> Packed | None:
    """The unpacked history; None if it is not ours or was changed."""
    if data is None or not data.startswith(PREFIX):
        return None
    try:
        body = base64.b64decode(data[len(PREFIX) :], b"-_", validate=True)
        return msgspec.json.decode(body, type=Packed)
    except (ValueError, msgspec.DecodeError):
        return None


def summarized(data: str, text: str) -> str:
    """Packed history with a summary for models that cannot read the rest."""
    packed = unpack(data)
    if packed is None:
        return data
    return pack(packed.block.replace(text=text), packed.issuer).data or data


def is_from(block: CompactionBlock, dialect: str) -> bool:
    """Whether it is packed history of a service with this dialect."""
    packed = unpack(block.data)
    return packed is not None and packed.issuer == dialect
