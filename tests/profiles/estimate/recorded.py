"""Recorded prompts with the tokens that their provider counted, cut into two halves by source.

One half is for learning, the other for measuring; no project is on both sides, so that a prompt
that one test suite sends fifty times cannot be learned and then measured. Which half a source
belongs to is a bit of the checksum of its name; among the bits, the one that puts every provider on
both sides with sources as even as they come.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import NamedTuple

import interlingua as il
from interlingua.profiles.estimate.estimator import thinks
from interlingua.profiles.estimate.features import RequestFeatures, count
from tests.laws.corpus import Record, records
from tests.laws.streams import frames_of, read

PROVIDERS = {"google": "gemini", "google-vertex": "vertex"}
"""The recordings' words for providers to ours, where they differ."""

# Settings that put into the prompt, or take out of it, what the request itself does not show:
# tools of servers, summaries in place of history, prompts kept by the provider, hidden rounds.
UNSEEN = {"mcp_servers", "context_management", "cachedContent", "venice_parameters", "reasoning"}
TEXT_AND_TOOLS = (il.TextBlock, il.RefusalBlock, il.ToolUseBlock, il.ToolResultBlock)
LARGE = 200
"""Measured are prompts of at least so many tokens."""


class Sample(NamedTuple):
    provider: str
    model: str
    """`<provider>:<name>`"""
    source: str
    tokens: int
    counted: RequestFeatures
    request: il.Request


def is_for_learning(source: str) -> bool:
    return not zlib.crc32(source.encode()) >> 1 & 1


_TELLS_MORE = frozenset({"cohere"})
"""Services that put instructions of their own before a prompt, and count them: Cohere adds about
500 tokens to a greeting (recorded answers, read 2026-11-17)."""


def samples() -> Iterator[Sample]:
    """Every recorded prompt of text and client tools whose tokens are known."""
    for record in records():
        if record.provider in _TELLS_MORE:
            continue
        if record.accepted and record.request is not None and "server_tool" not in record.features:
            sample = _sample(record)
            if sample is not None:
                yield sample


def _sample(record: Record) -> Sample | None:
    dialect = il.dialect(record.dialect or "")
    request = dialect.read_request(record.request, record.model)
    if not _is_text_and_tools(request):
        return None
    if record.response is not None:
        response = dialect.read_response(record.response)
    elif record.stream:
        response = il.fold(read(dialect, frames_of(record)))
    else:
        return None
    metadata = response.message.metadata
    if metadata.usage is None or not metadata.usage.prompt_tokens:
        return None
    provider = PROVIDERS.get(record.provider, record.provider)
    name = request.model or record.model or metadata.response_model or ""
    thinking = thinks(f"{provider}:{name}")
    counted = count(request.messages, request.tools, request.options, thinking)
    tokens = metadata.usage.prompt_tokens
    return Sample(provider, f"{provider}:{name}", record.source, tokens, counted, request)


def _is_text_and_tools(request: il.Request) -> bool:
    if request.continues or any(
        UNSEEN & content.keys() for content in (request.raw or {}).values()
    ):
        return False
    if any(t.executor != "client" or t.kind not in ("function", "custom") for t in request.tools):
        return False
    return all(
        isinstance(block, TEXT_AND_TOOLS) and _is_client_text(block)
        for message in request.messages
        for block in message.content
    )


def _is_client_text(block: il.Block) -> bool:
    match block:
        case il.ToolUseBlock():
            return block.executor == "client"
        case il.ToolResultBlock():
            return all(isinstance(part, il.TextBlock) for part in block.content)
        case _:
            return True
