"""Embeddings: texts and media in, one vector for each of them out."""

from __future__ import annotations

from typing import Literal

from interlingua.model.base import Raw, Value
from interlingua.model.blocks import Block
from interlingua.model.metadata import Usage

InputType = Literal[
    "query",
    "document",
    "similarity",
    "classification",
    "clustering",
    "question",
    "fact",
    "code_query",
    "image",
]
"""What the vectors are for, which some models need to know."""
EmbedInput = str | tuple[int, ...] | tuple[Block, ...]
"""A text, the tokens of one, or text and media that share a vector."""


class EmbedRequest(Value, frozen=True):
    """Everything that is sent for some vectors."""

    inputs: tuple[EmbedInput, ...]
    model: str | None = None
    dimensions: int | None = None
    input_type: InputType | None = None
    encodings: tuple[str, ...] = ()
    """How the client wants its numbers: `float`, `base64`, or one of a vendor's own."""
    truncate: Literal["start", "end", "none"] | None = None
    """Which end of a text that is too long is cut off; `none` makes it an error."""
    title: str | None = None
    """Of the document that is embedded."""
    user: str | None = None
    single: bool = False
    """Whether it was asked in a form that has one input and one vector."""
    raw: Raw | None = None
    """What only the dialect that was read understands."""


class Embeddings(Value, frozen=True):
    """Vectors in the order of the inputs."""

    vectors: tuple[tuple[float, ...], ...]
    model: str | None = None
    usage: Usage | None = None
    id: str | None = None
