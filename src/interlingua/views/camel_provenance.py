"""Metadata of an assistant's message in the camel view: maker, stop reason, usage and cost."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from math import isfinite
from typing import Any

from interlingua.errors import found
from interlingua.model.base import JsonObject
from interlingua.model.message import Message, from_micros, micros
from interlingua.model.metadata import (
    CostBreakdown,
    Diagnostic,
    MessageMetadata,
    MessageStatus,
    StopReason,
    Usage,
)
from interlingua.views.base import Fields, own_raw, present, spelling_of, with_rest
from interlingua.views.view import Account

NAME = "camel"

STOP_REASONS: dict[str, StopReason] = {
    "stop": StopReason.END_TURN,
    "length": StopReason.MAX_TOKENS,
    "toolUse": StopReason.TOOL_USE,
    "error": StopReason.ERROR,
    "aborted": StopReason.CANCELLED,
}
STOP_WORDS: dict[StopReason, str] = {
    **{reason: word for word, reason in STOP_REASONS.items()},
    StopReason.STOP_SEQUENCE: "stop",
    StopReason.PAUSE: "stop",
    StopReason.OTHER: "stop",
    StopReason.CONTENT_FILTER: "error",
    StopReason.REFUSAL: "error",
}
"""The word for every reason; those beyond the first five are near ones."""

STATUSES: dict[str | None, MessageStatus] = {
    "error": MessageStatus.ERROR,
    "aborted": MessageStatus.CANCELLED,
}
"""The status that a word for stopping implies; all others mean a complete message."""

STRINGS: dict[str, str] = {
    "protocol": "protocol",
    "provider": "provider",
    "responseModel": "response_model",
    "responseId": "response_id",
    "errorMessage": "error_message",
}
COUNTS: dict[str, str] = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cacheRead": "cached_input_tokens",
    "cacheWrite": "cache_creation_input_tokens",
}
COSTS: dict[str, str] = {
    "input": "input",
    "output": "output",
    "cacheRead": "cached_input",
    "cacheWrite": "cache_creation",
}
"""Fields of the wire and of the model, for metadata, usage and cost."""

PROTOCOLS: dict[str, str] = {
    "anthropic-messages": "anthropic",
    "azure-openai-responses": "openai-responses",
    "bedrock-converse-stream": "bedrock",
    "google-gemini-cli": "gemini",
    "google-generative-ai": "gemini",
    "google-vertex": "gemini",
    "openai-codex-responses": "openai-responses",
    "openai-completions": "openai-chat",
}
"""Other words for protocols (pi-ai has these, read 2026-11) and the dialects that they are."""
DIALECTS = frozenset({*PROTOCOLS.values(), "gemini-interactions", "ollama", "openrouter"})
PROVIDERS: dict[str, str] = {
    "amazon-bedrock": "bedrock",
    "anthropic": "anthropic",
    "azure": "openai-responses",
    "bedrock": "bedrock",
    "gemini": "gemini",
    "google": "gemini",
    "ollama": "ollama",
    "openai": "openai-responses",
    "openrouter": "openrouter",
    "vertex": "gemini",
}
"""The dialect of a provider's signatures, for messages with a protocol of their own naming."""

_HELD = {*STRINGS.values(), "model", "usage", "stop_reason", "status", "diagnostics"}


# Reading


def read_provenance(fields: Fields, form: str | None) -> tuple[MessageMetadata, datetime | None]:
    strings: dict[str, Any] = {f: fields.filled(name, str) for name, f in STRINGS.items()}
    protocol = strings["protocol"]
    strings["protocol"] = _dialect(protocol, strings["provider"])
    model, word = fields.filled("model", str), fields.filled("stopReason", str)
    if model is not None and strings["provider"] is not None:
        model = f"{strings['provider']}:{model}"
    metadata = MessageMetadata(
        model=model,
        usage=_read_usage(fields),
        stop_reason=None if word is None else fields.known("stopReason", word, STOP_REASONS),
        status=STATUSES.get(word, MessageStatus.COMPLETE),
        diagnostics=_read_diagnostics(fields),
        **strings,
    )
    created_at = _read_time(fields, "timestamp")
    wire_protocol = None if protocol == metadata.protocol else protocol or ""
    return metadata.replace(
        provider_raw=fields.raw(content=form, protocol=wire_protocol)
    ), created_at


def _dialect(protocol: str | None, provider: str | None) -> str | None:
    """The dialect that a word for the protocol means, else the provider's; the word itself where
    neither is known."""
    if protocol in DIALECTS:
        return protocol
    return PROTOCOLS.get(protocol or "") or PROVIDERS.get(provider or "") or protocol


def _read_time(fields: Fields, name: str) -> datetime | None:
    ms = fields.maybe(name, int)
    try:
        return None if ms is None else from_micros(ms * 1000)
    except OverflowError:
        raise fields.error(name, "milliseconds of a year up to 9999", found(ms)) from None


def _read_usage(fields: Fields) -> Usage | None:
    data = fields.object("usage")
    if data is None:
        return None
    counts: dict[str, Any] = {field: data.maybe(name, int) for name, field in COUNTS.items()}
    usage = Usage(**counts)
    total = data.maybe("totalTokens", int)
    if total is not None and total != usage.total_tokens:
        data.left["totalTokens"] = total  # the provider counts something more, or less
    form = "none" if total is None else None
    usage = _with_cost(usage, data)
    return usage.replace(raw=data.raw(totalTokens=form))


def _with_cost(usage: Usage, data: Fields) -> Usage:
    plain = data.filled("cost", dict)
    if plain is None:
        return usage
    cost = data.inside["cost"] = Fields(NAME, plain, data.place("cost"))
    parts = {field: _read_money(cost, name) for name, field in COSTS.items()}
    known = {field: item for field, item in parts.items() if item is not None}
    breakdown = CostBreakdown(**known) if known else None
    return usage.replace(cost_usd=_read_money(cost, "total"), cost_breakdown=breakdown)


def _read_money(fields: Fields, name: str) -> Decimal | None:
    number = fields.maybe(name, float)
    return None if number is None else Decimal(repr(number))


def _read_diagnostics(fields: Fields) -> tuple[Diagnostic, ...]:
    listed = list(fields.objects("diagnostics", optional=True))
    read = [
        Diagnostic(
            each.need("type", str),
            each.maybe("message", str),
            _read_time(each, "timestamp"),
            each.maybe("details", dict),
        )
        for each in listed
    ]
    if any(each.left for each in listed):
        fields.left["diagnostics"] = [each.left for each in listed]
    return tuple(read)


# Writing


def account_for_provenance(message: Message, account: Account) -> None:
    """Everything beside the content that the view has no field for."""
    account.message(message, "created_at", metadata=_HELD)
    known, place = message.metadata, f"{account.path}.metadata"
    if known.usage is not None:
        held = (*COUNTS.values(), "cost_usd", "cost_breakdown")
        account.fields(known.usage, f"{place}.usage", *held, severity="info")
    word = _stop_word(known)
    if known.stop_reason is not None and STOP_REASONS[str(word)] is not known.stop_reason:
        reason = f"{known.stop_reason} as {word}"
        account.lost(f"{place}.stop_reason", reason, kind="approximated")
    status = STATUSES.get(word, MessageStatus.COMPLETE)
    if status is not known.status:
        account.lost(f"{place}.status", f"reads as {status}", kind="approximated")


def write_provenance(message: Message, account: Account) -> JsonObject:
    known, place = message.metadata, f"{account.path}.metadata"
    strings = {name: getattr(known, field) for name, field in STRINGS.items()}
    strings["protocol"] = _protocol(known)
    return present(
        **strings,
        model=_bare_model(known, place, account),
        usage=_write_usage(known.usage, f"{place}.usage", account),
        stopReason=_stop_word(known),
        diagnostics=_write_diagnostics(known, f"{place}.diagnostics", account),
        timestamp=_write_time(message.created_at, f"{account.path}.created_at", account),
    )


def _protocol(metadata: MessageMetadata) -> str | None:
    """The word that the wire had, while it still means the dialect."""
    word = spelling_of(NAME, metadata.provider_raw).get("protocol")
    if isinstance(word, str) and _dialect(word or None, metadata.provider) == metadata.protocol:
        return word or None
    return metadata.protocol


def _stop_word(metadata: MessageMetadata) -> str | None:
    if metadata.stop_reason is not None:
        return STOP_WORDS.get(metadata.stop_reason, STOP_WORDS[StopReason.OTHER])
    return next((word for word, status in STATUSES.items() if status is metadata.status), None)


def _bare_model(metadata: MessageMetadata, path: str, account: Account) -> str | None:
    """The model's name without the provider, which has a field of its own."""
    model, provider = metadata.model, metadata.provider
    if model is None or not provider:
        return model
    if not model.startswith(f"{provider}:"):
        reason = f"reads as a model of {provider}"
        account.lost(f"{path}.model", reason, "info", "approximated")
    return model.removeprefix(f"{provider}:")


def _write_time(time: datetime | None, path: str, account: Account) -> int | None:
    if time is None:
        return None
    ms, rest = divmod(micros(time), 1000)
    if rest:
        account.lost(path, "the part below a millisecond", "info", "approximated")
    return ms


def _write_usage(usage: Usage | None, path: str, account: Account) -> JsonObject | None:
    if usage is None:
        return None
    out = present(**{name: getattr(usage, field) for name, field in COUNTS.items()})
    has_own_total = "totalTokens" in own_raw(NAME, usage.raw)
    if not has_own_total and spelling_of(NAME, usage.raw).get("totalTokens") != "none":
        out |= present(totalTokens=usage.total_tokens)
    if cost := _write_cost(usage, path, account):
        out["cost"] = cost
    return with_rest(NAME, usage.raw, out)


def _write_cost(usage: Usage, path: str, account: Account) -> JsonObject:
    breakdown, parts = usage.cost_breakdown, {}
    if breakdown is not None:
        place = f"{path}.cost_breakdown"
        parts = {
            name: _write_money(getattr(breakdown, field), f"{place}.{field}", account)
            for name, field in COSTS.items()
        }
    return present(**parts, total=_write_money(usage.cost_usd, f"{path}.cost_usd", account))


def _write_money(amount: Decimal | None, path: str, account: Account) -> float | int | None:
    """A JSON number; the amount is exact in most cases, and else as near as it gets."""
    if amount is None:
        return None
    number = float(amount)
    if not isfinite(number):
        account.lost(path, "no JSON number", "warning")
        return None
    if Decimal(repr(number)) != amount:
        account.lost(path, "the nearest number of 64 bits", "info", "approximated")
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _write_diagnostics(
    metadata: MessageMetadata, path: str, account: Account
) -> list[JsonObject] | None:
    rests: Any = own_raw(NAME, metadata.provider_raw).get("diagnostics")
    out = [
        present(
            type=each.type,
            message=each.message,
            timestamp=_write_time(each.timestamp, f"{path}[{number}].timestamp", account),
            details=each.details,
        )
        for number, each in enumerate(metadata.diagnostics)
    ]
    if isinstance(rests, list) and len(rests) == len(out):
        pairs = zip(rests, out, strict=True)
        out = [{**rest, **each} if isinstance(rest, dict) else each for rest, each in pairs]
    return out or None
