"""Shared by the wires that carry Claude: Anthropic's own API, and Bedrock's Converse.

The words are those of the Python package `anthropic` 2.8.0 and of `bedrock-runtime` in botocore
1.44.0 (both read 2026-11-15)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from interlingua.dialects.kernel.errors import require
from interlingua.dialects.kernel.fields import inside, plain
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.usage import Split
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import StopWords, TwoWay, own_word
from interlingua.model.exchange import Effort, Reasoning, ReasoningMode
from interlingua.model.message import Role
from interlingua.model.metadata import MessageMetadata, StopReason
from interlingua.model.reasons import Reason, because

TOOL_USES = Split(
    "tool_uses",
    TwoWay({"web_search_requests": "web_search", "web_fetch_requests": "web_fetch"}),
    demanded=("web_search_requests", "web_fetch_requests"),
)
CACHE_WRITES = Split(
    "cache_writes",
    TwoWay({f"ephemeral_{ttl}_input_tokens": ttl for ttl in ("5m", "1h", "24h")}),
    demanded=("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"),
)
"""Compatible hosts also have a day (recorded 2026-11)."""
CITED = inside("citations", plain("enabled", "cited", bool))
"""Whether answers are to cite a document."""
ROLES: dict[Role, str] = {
    Role.USER: "user",
    Role.ASSISTANT: "assistant",
    Role.TOOL: "user",
    Role.SYSTEM: "system",
    Role.DEVELOPER: "system",
}
"""The role of the turn that holds a message."""

EFFORTS: dict[str, Effort] = {
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "xhigh",
    "max": "max",
}
"""The nearest effort; `none` is written by disabling thinking."""
MODES: TwoWay[str, ReasoningMode] = TwoWay(
    {"enabled": "on", "disabled": "off", "adaptive": "adaptive", "between_tools": "between_tools"}
)
"""Claude's values for the modes of thinking."""
DISPLAYS: TwoWay[str, bool] = TwoWay({"summarized": True, "omitted": False})
"""Whether a Claude model shows its thinking."""

COMMON_STOP_REASONS: dict[str, StopReason] = {
    "end_turn": StopReason.END_TURN,
    "stop_sequence": StopReason.STOP_SEQUENCE,
    "max_tokens": StopReason.MAX_TOKENS,
    "model_context_window_exceeded": StopReason.MAX_TOKENS,
    "tool_use": StopReason.TOOL_USE,
}
"""The stop reasons that both wires have."""

TTLS = frozenset({"5m", "1h"})
"""The lifetimes of a cache breakpoint."""
LONGEST_TTL = "1h"
"""The substitute for a time that is not in `TTLS`: all others are longer than five minutes."""


def stop_words(reasons: TwoWay[str, StopReason], near: Mapping[StopReason, str]) -> StopWords:
    return StopWords(reasons.read, reasons.nearest(near), "end_turn", cut="max_tokens")


def own_stop_word(metadata: MessageMetadata, dialect: str, words: Collection[str]) -> Any:
    """The original stop reason, if it was read in this dialect, or in the other one of the two,
    which has mostly the same."""
    word = own_word(metadata, dialect)
    others = own_word(metadata, "anthropic", "bedrock") if word is None else None
    return others if others in words else word


def effort_word(value: Any, field: str, effort: str, recorder: LossRecorder) -> Effort | None:
    """The value for an effort in this field; None if there is none."""
    word = EFFORTS.get(effort)
    if word is None:
        recorder.lost(value, field)
    elif word != effort:
        recorder.lost(value, field, because("sent_as", value=word), kind="approximated")
    return word


def read_thinking(thinking: Wire) -> dict[str, Any]:
    """The fields of `Reasoning` for an object that requests thinking; none for an unknown way of
    thinking."""
    mode = MODES.read(require(thinking.get("type"), str, ".type"))
    if mode is None:
        return {}
    fields: dict[str, Any] = {"mode": mode}
    if mode == "on" and type(thinking.get("budget_tokens")) is int:
        fields["budget_tokens"] = thinking["budget_tokens"]
    visible = DISPLAYS.read(thinking.get("display", "")) if mode != "off" else None
    return fields if visible is None else {**fields, "visible": visible}


def thinking_of(reasoning: Reasoning, recorder: LossRecorder, on: str = "adaptive") -> Wire | None:
    """The object that requests thinking; None if the effort is enough. `on` is the mode for
    thinking without a budget: usually, the service accepts only `adaptive`."""
    mode, budget = reasoning.mode, reasoning.budget_tokens
    if mode == "off":
        report_fields(reasoning, ("budget_tokens", "visible"), recorder, because("thinking_off"))
        return {"type": MODES.write("off")}
    if budget is not None:  # no other type has one
        thinking: Wire = {"type": "enabled", "budget_tokens": budget}
    elif mode is not None:
        thinking = {"type": on if mode == "on" else MODES.write(mode)}
    elif reasoning.effort is None or reasoning.visible is not None:
        thinking = {"type": "adaptive"}
    else:
        return None
    if reasoning.visible is not None:
        thinking["display"] = DISPLAYS.write(reasoning.visible)
    if mode is not None and MODES.read(thinking["type"]) != mode:
        recorder.lost(
            reasoning, "mode", because("sent_as", value=thinking["type"]), kind="approximated"
        )
    return thinking


def report_fields(
    value: Any, names: tuple[str, ...], recorder: LossRecorder, reason: Reason | None = None
) -> None:
    """Reports each of these fields that is set as lost."""
    for name in names:
        if getattr(value, name) is not None:
            recorder.lost(value, name, reason)


def time_to_live(value: Any, recorder: LossRecorder) -> str | None:
    """The lifetime of a value's breakpoint; None for the default."""
    ttl: str | None = value.cache.ttl
    if ttl is None or ttl in TTLS:
        return ttl
    recorder.lost(value, "cache", because("cache_ttl", ttl=LONGEST_TTL), kind="approximated")
    return LONGEST_TTL
