"""Reasoning: readable with a signature, or a blob that only its issuer can read."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from interlingua.dialects.bedrock.tables import NAME
from interlingua.dialects.kernel.errors import below, take, want
from interlingua.dialects.kernel.fields import Table, plain
from interlingua.dialects.kernel.kept import Kept, form_of
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.blocks import Block, RedactedThinkingBlock, ThinkingBlock

REASONING = Table(
    ThinkingBlock,
    plain("text", "text", str),
    plain("signature", "signature", str),
    silent=("cache",),
)


def read_reasoning(inner: Any) -> Block | None:
    want(inner, dict)
    if len(inner) != 1:
        return None
    if type(inner.get("redactedContent")) is str:
        return _read_redacted(inner["redactedContent"])
    if "reasoningText" not in inner:
        return None
    return below(".reasoningText", _read_thinking, take(inner, "reasoningText", dict))


def _read_thinking(given: Wire) -> ThinkingBlock:
    # Only models that sign nothing give unsigned thinking, and to them it may go back.
    kept = Kept(form={} if given.get("signature") else {"odd": True})
    return REASONING.read_value(ThinkingBlock, given, NAME, kept)


def write_thinking(block: ThinkingBlock, recorder: LossRecorder, answer: bool) -> Wire | None:
    if not block.signature and not answer and "odd" not in form_of(NAME, block.raw):
        recorder.dropped(block, "its signature is missing")
        return None
    return {"reasoningContent": {"reasoningText": REASONING.write_value(block, recorder)}}


def _read_redacted(blob: str) -> RedactedThinkingBlock:
    """The blob is the base64 of what the Messages API calls `data`, which is a text itself."""
    data = _text_of(blob)
    if data is None:
        return RedactedThinkingBlock(blob, raw={NAME: {"$form": {"blob": True}}})
    return RedactedThinkingBlock(data)


def _text_of(blob: str) -> str | None:
    try:
        text = base64.b64decode(blob, validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        return None
    return text if text and _blob_of(text) == blob else None


def _blob_of(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def write_redacted(block: RedactedThinkingBlock, recorder: LossRecorder, answer: bool) -> Wire:
    as_it_is = "blob" in form_of(NAME, block.raw) and _text_of(block.data) is None
    if block.raw is not None:
        recorder.unwritten_raw(block, block.raw)
    return {
        "reasoningContent": {"redactedContent": block.data if as_it_is else _blob_of(block.data)}
    }
