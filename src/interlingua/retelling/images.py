"""History for a model that takes no images."""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_not
from typing import Any

from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.model.blocks import Block, ImageBlock, TextBlock, ToolResultBlock
from interlingua.model.message import Message

NO_IMAGES = "the model takes no images"
"""Why they are left out."""
NO_IMAGE = "[image left out: this model takes no images]"
"""Stands for a run of images where the model takes none, and within a result:"""
NO_RESULT_IMAGE = "[image of the result left out: this model takes no images]"


def without_images(messages: tuple[Message, ...], scribe: LossRecorder) -> tuple[Message, ...]:
    """Each run of images becomes one placeholder, so that what was said about them still has
    something to refer to."""
    return tuple([_without_images(message, scribe) for message in messages])


def _without_images(message: Message, scribe: LossRecorder) -> Message:
    content: list[Block] = []
    for block in _placeheld(message.content, NO_IMAGE, scribe):
        if type(block) is ToolResultBlock:
            inner = _placeheld(block.content, NO_RESULT_IMAGE, scribe)
            if len(inner) != len(block.content) or any(map(is_not, inner, block.content)):
                new = block.replace(content=tuple(inner))
                scribe.alias(new, block)
                block = new
        content.append(block)
    if len(content) == len(message.content) and not any(map(is_not, content, message.content)):
        return message
    new_message = message.replace(content=tuple(content))
    scribe.alias(new_message, message)
    return new_message


def _placeheld(blocks: Sequence[Any], placeholder: str, scribe: LossRecorder) -> list[Any]:
    out: list[Any] = []
    in_run = False
    for block in blocks:
        is_image = type(block) is ImageBlock
        if is_image:
            scribe.dropped(block, NO_IMAGES, severity="error")
        if not (is_image and in_run):
            out.append(TextBlock(placeholder) if is_image else block)
        in_run = is_image
    return out
