"""Bedrock, and hosts that speak Chat: Mistral, DeepSeek, Groq, xAI."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from tests.laws.fits import media
from tests.laws.fits.names import Model
from tests.laws.fits.refusal import Refusal, at, count, found

Check = Callable[[Model, Any], Iterator[Refusal]]
_NINE = re.compile(r"[a-zA-Z0-9]{9}|.*REDACTED.*")
"""Recordings have other ids in place of the real ones."""


def bedrock(model: Model, wire: Any) -> Iterator[Refusal]:
    more = wire.get("additionalModelRequestFields") or {}
    choice = at(wire, "toolConfig", "toolChoice") or {}
    if model.family == "llama" and ("any" in choice or "tool" in choice):
        yield Refusal("BR-CHOICE", "Llama takes no forced tool")
    if at(wire, "outputConfig", "textFormat") and model.family in ("nova", "llama"):
        yield Refusal("BR-FORMAT", "textFormat")
    if count(wire, "cachePoint") and model.family not in ("claude", "nova"):
        yield Refusal("BR-CACHE", "cachePoint")
    if at(wire, "inferenceConfig", "stopSequences") and model.family in ("gpt", "gpt-oss"):
        yield Refusal("BR-STOP", "stopSequences")
    if model.family != "claude" and ("thinking" in more or "output_config" in more):
        yield Refusal("BR-THINK", "thinking of Claude")
    if model.family == "nova" and any(
        "document" in inner or "video" in inner
        for message in wire.get("messages") or ()
        for part in message.get("content") or ()
        for inner in at(part, "toolResult", "content") or ()
    ):
        yield Refusal("BR-RESULT", "Nova takes no document or video in a result")
    if "reasoningConfig" in more and model.family != "nova":
        yield Refusal("BR-THINK", "reasoningConfig of Nova")
    if model.family == "nova" and any(m.get("ttl") == "1h" for m in found(wire, "cachePoint")):
        yield Refusal("BR-TTL", "a mark of Nova that lasts an hour")
    yield from media.converse(wire)


def mistral(model: Model, wire: Any) -> Iterator[Refusal]:
    for key in ("max_completion_tokens", "seed", "logprobs", "top_logprobs", "logit_bias", "user"):
        if wire.get(key) is not None:
            yield Refusal("MIS-KEY", key)
    messages = wire.get("messages") or []
    for message in messages:
        ids = [message.get("tool_call_id"), *(c.get("id") for c in message.get("tool_calls") or ())]
        if any(each is not None and not _NINE.fullmatch(each) for each in ids):
            yield Refusal("MIS-ID", str(ids))
        if message.get("role") == "developer":
            yield Refusal("MIS-ROLE", "developer")
    effort = wire.get("reasoning_effort")
    if effort is not None and effort not in ("none", "high"):
        yield Refusal("MIS-EFFORT", effort)
    last = messages[-1] if messages else {}
    if last.get("role") == "assistant" and not last.get("prefix"):
        yield Refusal("MIS-LAST", "the last turn is the assistant's")
    if last.get("role") == "system":
        yield Refusal("MIS-LAST", "the last turn is the system's")
    yield from media.chat(wire, 8, "MIS-IMAGES")


def deepseek(model: Model, wire: Any) -> Iterator[Refusal]:
    is_off = at(wire, "thinking", "type") == "disabled"
    choice = wire.get("tool_choice")
    if not is_off and model.version >= (4, 0) and choice not in (None, "auto", "none"):
        yield Refusal("DS-CHOICE", f"tool_choice {choice} while thinking")
    if at(wire, "response_format", "type") == "json_schema":
        yield Refusal("DS-SCHEMA", "json_schema")
    for message in wire.get("messages") or ():
        content = message.get("content")
        kinds = {part.get("type") for part in content} if isinstance(content, list) else set()
        if kinds - {"text"}:
            yield Refusal("DS-PARTS", str(sorted(kinds)))
    effort = wire.get("reasoning_effort")
    taken = {"high", "max"} | ({"low"} if model.has("flash") else set())
    if effort is not None and model.version >= (4, 0) and effort not in taken:
        yield Refusal("DS-EFFORT", f"{effort} of {sorted(taken)}")


def groq(model: Model, wire: Any) -> Iterator[Refusal]:
    for key in ("logprobs", "top_logprobs", "logit_bias"):
        if wire.get(key):
            yield Refusal("GROQ-KEY", key)
    yield from media.chat(wire, 5, "GROQ-IMAGES")
    if wire.get("n") not in (None, 1):
        yield Refusal("GROQ-N", str(wire["n"]))
    effort = wire.get("reasoning_effort")
    taken = {
        "gpt-oss": {"low", "medium", "high"},
        "qwen": {"none", "default"},
    }.get(model.family, set())
    if effort is not None and effort not in taken:
        yield Refusal("GROQ-EFFORT", f"{effort} of {sorted(taken)}")
    is_schema = at(wire, "response_format", "type") == "json_schema"
    if is_schema and model.family not in ("gpt-oss", "kimi") and model.version < (4, 0):
        yield Refusal("GROQ-SCHEMA", "json_schema")


def xai(model: Model, wire: Any) -> Iterator[Refusal]:
    if model.family != "grok" or model.version < (4, 0):
        return
    for key in ("presence_penalty", "frequency_penalty", "stop"):
        if wire.get(key):
            yield Refusal("XAI-KEY", key)
    effort = wire.get("reasoning_effort")
    taken = {"low", "medium", "high", "xhigh"} | ({"none"} if model.version == (4, 3) else set())
    if effort is not None and model.version >= (4, 3) and effort not in taken:
        yield Refusal("XAI-EFFORT", f"{effort} of {sorted(taken)}")


def grok_responses(model: Model, wire: Any) -> Iterator[Refusal]:
    if model.family == "grok" and model.version >= (4, 5) and at(wire, "reasoning", "summary"):
        yield Refusal("XAI-SUMMARY", "reasoning.summary")


def heated(model: Model, wire: Any) -> Iterator[Refusal]:
    heat = wire.get("temperature")
    if heat is not None and not 0 <= heat <= 2:
        yield Refusal("TEMP-RANGE", f"temperature {heat}")


CHECKS: dict[str, Check] = {"mistral": mistral, "deepseek": deepseek, "groq": groq, "xai": xai}
