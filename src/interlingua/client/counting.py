"""Counting a prompt's tokens where it will be read: each provider's own words for it."""

from __future__ import annotations

from typing import Any

import msgspec

from interlingua.client.targets import Prepared, Target, Targets, write
from interlingua.dialects.kernel.wire import Wire
from interlingua.errors import ReadError, found
from interlingua.model.exchange import Request

# What a count does not take of a request (API references, read 2026-11).
_NOT_COUNTED = {
    "anthropic": "max_tokens stream temperature top_p top_k stop_sequences metadata service_tier",
    "openai-responses": "stream max_output_tokens temperature top_p store include metadata"
    " service_tier user safety_identifier top_logprobs",
}
_ANSWERS = {
    "anthropic": "input_tokens",
    "openai-responses": "input_tokens",
    "gemini": "totalTokens",
    "bedrock": "inputTokens",
}


def can_count(target: Target) -> bool:
    """Whether the provider counts in this dialect."""
    paths = target.provider.dialects.get(target.dialect.name)
    return paths is not None and bool(paths.count_tokens) and target.dialect.name in _ANSWERS


def prepare(request: Request, target: Target, targets: Targets) -> Prepared:
    written = write(request, target, None)
    wire = _wire(dict(written.wire), target)
    return Prepared(target, targets.address(target, wire, "count_tokens"), written.report)


def read(body: bytes, target: Target) -> int:
    """The count that an answer tells."""
    what = f"{target.dialect.name} token count"
    name = _ANSWERS[target.dialect.name]
    try:
        wire: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise ReadError(what, expected="JSON") from None
    count = wire.get(name) if isinstance(wire, dict) else None
    if type(count) is not int or count < 0:
        raise ReadError(what, f"$.{name}", "a count", found(count))
    return count


def _wire(wire: Wire, target: Target) -> Wire:
    dialect = target.dialect.name
    for name in _NOT_COUNTED.get(dialect, "").split():
        wire.pop(name, None)
    if dialect == "gemini":
        # Contents alone, or a whole request that repeats the model's name.
        return {"generateContentRequest": {"model": f"models/{target.name}", **wire}}
    if dialect == "bedrock":
        kept = ("messages", "system", "toolConfig", "additionalModelRequestFields")
        return {"input": {"converse": {name: wire[name] for name in kept if name in wire}}}
    return wire
