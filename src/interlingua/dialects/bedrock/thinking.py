"""Reasoning: readable with a signature, or a blob that only its issuer can read."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.bedrock.parts import beside
from interlingua.dialects.bedrock.shape import form_of, pack, put_back, spare
from interlingua.dialects.shape import may_take, take, want
from interlingua.model.blocks import Block, RedactedThinkingBlock, ThinkingBlock


def read_reasoning(inner: Any) -> Block | None:
    want(inner, dict)
    if len(inner) == 1 and type(inner.get("redactedContent")) is str:
        return _read_redacted(inner["redactedContent"])
    if len(inner) != 1 or "reasoningText" not in inner:
        return None
    given = take(inner, "reasoningText", dict)
    spelled: Wire = {}
    text = take(given, "text", str)
    signature = may_take(given, "signature", str, spelled)
    # Only models that sign nothing give unsigned thinking, and to them it may go back.
    form: Wire = {} if signature else {"odd": True}
    return ThinkingBlock(text, signature, raw=spare(given, ("text", "signature"), spelled, form))


def write_thinking(block: ThinkingBlock, scribe: Scribe, answer: bool) -> Wire | None:
    if not block.signature and not answer and not form_of(block.raw).get("odd"):
        scribe.dropped(block, "its signature is missing")
        return None
    out: Wire = {"text": block.text}
    if block.signature is not None:
        out["signature"] = block.signature
    if block.id is not None:
        scribe.lost(block, "id")
    if block.raw is None:
        return {"reasoningContent": {"reasoningText": out}}
    put_back(out, block, scribe, block.raw)
    return beside({"reasoningContent": {"reasoningText": out}}, block.raw)


def _read_redacted(blob: str) -> RedactedThinkingBlock:
    """The blob is the base64 of what the Messages API calls `data`, which is a text itself."""
    data = _text_of(blob)
    if data is None:
        return RedactedThinkingBlock(blob, raw=pack({}, {}, {"blob": True}))
    return RedactedThinkingBlock(data)


def _text_of(blob: str) -> str | None:
    try:
        text = base64.b64decode(blob, validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        return None
    return text if text and _blob_of(text) == blob else None


def _blob_of(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def write_redacted(block: RedactedThinkingBlock, scribe: Scribe, answer: bool) -> Wire:
    as_it_is = form_of(block.raw).get("blob") and _text_of(block.data) is None
    blob = block.data if as_it_is else _blob_of(block.data)
    part: Wire = {"reasoningContent": {"redactedContent": blob}}
    if block.raw is None:
        return part
    scribe.unsaid_raw(block, block.raw)
    return beside(part, block.raw)
