"""Where the models of Converse have their effort: the families say it in keys of their own.

Claude's `output_config` and OpenAI's `reasoning` hold it under `effort`, OpenAI's open models have
`reasoning_effort`, and Amazon's Nova 2 has `reasoningConfig` (recorded traffic; the AI SDK's
amazon-bedrock 5.0.101, read 2026-11). The form remembers which; beside these there is
`outputConfig.effort`, which is the service's own."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Wire
from interlingua.model.exchange import EFFORTS, Reasoning

PLAIN = "reasoning_effort"
OBJECTS = ("output_config", "reasoning")
NOVA = "reasoningConfig"
KEYS = (PLAIN, *OBJECTS, NOVA)
_NOVA_TYPES = {"enabled": "on", "disabled": "off"}


def read_effort(given: Wire, reasoning: Wire) -> str | None:
    """Take the effort into `reasoning`; the key that held it, and nothing else."""
    for key in KEYS:
        if key in given and _read(key, given[key], reasoning):
            return key
    return None


def _read(key: str, value: Any, reasoning: Wire) -> bool:
    if key == NOVA:
        return _read_nova(value, reasoning)
    word = value
    if key in OBJECTS:
        word = value.get("effort") if type(value) is dict and len(value) == 1 else None
    if type(word) is not str or word not in EFFORTS or not _is_free_for(word, reasoning):
        return False
    reasoning["effort"] = word
    return True


def _is_free_for(effort: str, reasoning: Wire) -> bool:
    """Whether a second place may still name the effort, without changing what the first said."""
    if effort == "none":
        return not reasoning
    return "effort" not in reasoning and reasoning.get("mode") != "on"


def _read_nova(value: Any, reasoning: Wire) -> bool:
    if type(value) is not dict or reasoning or not value.keys() <= {"type", "maxReasoningEffort"}:
        return False
    mode, effort = _NOVA_TYPES.get(value.get("type", "")), value.get("maxReasoningEffort")
    if mode is None or (effort is not None and (effort not in EFFORTS[1:] or mode == "off")):
        return False
    if effort is None:
        reasoning["mode"] = mode
    else:
        reasoning["effort"] = effort
    return True


def written(key: str, asked: Reasoning) -> Any:
    """What stands under the key; None where there is nothing to say there."""
    if key == NOVA:
        if asked.mode == "off":
            return {"type": "disabled"}
        how = {} if asked.effort is None else {"maxReasoningEffort": asked.effort}
        return {"type": "enabled", **how}
    effort = "none" if asked.mode == "off" and asked.effort is None else asked.effort
    if effort is None:
        return None
    return {"effort": effort} if key in OBJECTS else effort
