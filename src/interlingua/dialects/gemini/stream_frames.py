"""What reading and writing a stream have in common: what a frame's mark keeps.

A frame is a response of its own, so that its mark keeps what reading it as one leaves over: the
rest of the body, and under `candidates` the rest of each candidate, with their spelling. Beside the
notes of whole responses there are, in the body:

    without  the model or the id is not said, though the first frame said it
    events   how many events the frame is, where no usage ends it

and of a candidate:

    choice   its number, where it is not the first
    parts    by position in the frame: the part itself, where no event tells of it, or the `raw` of
             a text that is spelled in another way
    pieces   the calls that begin here and are told piece by piece
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from interlingua.dialects.base import Wire, encode
from interlingua.streams.frames import Frame

MODEL_VERSION = "modelVersion"
RESPONSE_ID = "responseId"


ALONE: Wire = {"$form": {"events": 1}}
"""What is kept of a frame that is one event."""
INDEXLESS: Wire = {"$form": {"absent": ["index"]}}
"""What is kept of a candidate without a number, as Vertex has them."""


class _Part(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    text: str
    thought: bool | UnsetType = UNSET


class _Content(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    parts: tuple[_Part]
    role: Literal["model"]


class _Candidate(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    content: _Content
    index: Literal[0] | UnsetType = UNSET


class PlainFrame(msgspec.Struct, forbid_unknown_fields=True, rename="camel", gc=False):
    """The frame that there are most of, with nothing unusual in it: a piece of text."""

    candidates: tuple[_Candidate]
    usage_metadata: dict[str, Any] | UnsetType = UNSET
    model_version: str | UnsetType = UNSET
    response_id: str | UnsetType = UNSET
    create_time: str | UnsetType = UNSET


def spell_frame(wire: object, name: str | None = None) -> Frame:
    return Frame(name, encode(wire).decode())
