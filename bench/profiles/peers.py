"""What other tools' data say about models, in the words of our profiles.

Only what an entry says outright: a flag that is not there says nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from interlingua.model.exchange import EFFORTS

Entry = Mapping[str, Any]
Said = dict[str, Any]
"""`<group>.<field>` to value."""


class Fact(NamedTuple):
    """What one source says of one model."""

    source: str
    provider: str
    model: str
    said: Said


# -- litellm --------------------------------------------------------------------------------------

_LITELLM = {
    "anthropic": "anthropic",
    "openai": "openai",
    "azure": "azure",
    "gemini": "gemini",
    "vertex_ai-language-models": "vertex",
    "vertex_ai-anthropic_models": "vertex",
    "bedrock": "bedrock",
    "bedrock_converse": "bedrock",
    "mistral": "mistral",
    "groq": "groq",
    "xai": "xai",
    "deepseek": "deepseek",
    "openrouter": "openrouter",
}
_PLAIN = {
    "max_output_tokens": "limits.output",
    "prompt_cache_min_tokens": "limits.cache_min",
    "supports_vision": "media.image",
    "supports_pdf_input": "media.pdf",
    "supports_audio_input": "media.audio",
    "supports_function_calling": "tools.calls",
    "supports_parallel_function_calling": "tools.parallel",
    "supports_prompt_caching": "cache.prompts",
    "supports_legacy_thinking": "reasoning.budget_too",
    "default_reasoning_effort": "reasoning.default",
}
_WORDS: dict[str, tuple[str, dict[Any, Any]]] = {
    "supports_sampling_params": ("sampling.top_p", {False: "never"}),
    "supports_mid_conversation_system": ("instructions.mid", {True: "after-user", False: "user"}),
    "supports_assistant_prefill": ("turns.prefill", {True: "yes", False: "no"}),
    "supports_forced_tool_use": ("tools.choice", {False: ("auto", "none")}),
    "supports_adaptive_thinking": ("reasoning.carrier", {True: "adaptive"}),
    "supports_native_structured_output": ("output.schema", {True: "native"}),
    "thinking_always_on": ("reasoning.off", {True: False, False: True}),
}


def litellm(data: Mapping[str, Entry]) -> Iterator[Fact]:
    for name, entry in data.items():
        provider = _LITELLM.get(entry.get("litellm_provider", ""))
        if provider and entry.get("mode") in ("chat", "responses") and not name.startswith("ft:"):
            yield Fact("litellm", provider, _bare(name), _litellm(entry))


def _bare(name: str) -> str:
    """Without the route in front: `gemini/…`, `bedrock/us-east-1/…`, `openrouter/…`."""
    first, slash, rest = name.partition("/")
    routes = {*_LITELLM.values(), "vertex_ai", "azure_ai"}
    return rest if slash and first in routes else name


def _litellm(entry: Entry) -> Said:
    fields: Said = {field: entry[flag] for flag, field in _PLAIN.items() if flag in entry}
    for flag, (field, words) in _WORDS.items():
        if entry.get(flag) in words and isinstance(entry.get(flag), bool):
            fields[field] = words[entry[flag]]
    levels = entry.get("reasoning_effort_levels")
    if levels:
        fields["reasoning.efforts"] = tuple(each for each in EFFORTS if each in levels)
    ends = [end.rpartition("/")[2] for end in entry.get("supported_endpoints", ())]
    if ends and "completions" not in ends and "responses" in ends:
        fields["speaks.dialects"] = ("openai-responses",)
    return fields


# -- pi-ai ----------------------------------------------------------------------------------------

_PI = {
    "anthropic": "anthropic",
    "openai": "openai",
    "azure": "azure",
    "google": "gemini",
    "google-vertex": "vertex",
    "amazon-bedrock": "bedrock",
    "mistral": "mistral",
    "groq": "groq",
    "xai": "xai",
    "deepseek": "deepseek",
    "openrouter": "openrouter",
}


def pi_ai(data: Mapping[str, Mapping[str, Mapping[str, Entry]]]) -> Iterator[Fact]:
    for file, provider in _PI.items():
        for models in data.get(file, {}).values():
            for name, entry in models.items():
                if name.startswith("chat:"):
                    yield Fact("pi-ai", provider, entry["id"], _pi(entry))


def _pi(entry: Entry) -> Said:
    compat = entry.get("compat") or {}
    fields: Said = {"media.image": "image" in entry.get("input", ())}
    if entry.get("maxTokens"):
        fields["limits.output"] = entry["maxTokens"]
    if compat.get("supportsTemperature") is False:
        fields["sampling.top_p"] = "never"
    if compat.get("forceAdaptiveThinking"):
        fields["reasoning.carrier"] = "adaptive"
    if compat.get("supportsMidConvoSystemMessages") and entry.get("api") == "anthropic-messages":
        fields["instructions.mid"] = "after-user"
    levels = entry.get("thinkingLevelMap") or {}
    if {"low", "medium", "high"} <= levels.keys() and None not in (levels[e] for e in ("high",)):
        words = {"none" if level == "off" else level for level, word in levels.items() if word}
        fields["reasoning.efforts"] = tuple(each for each in EFFORTS if each in words)
    if "off" in levels:
        fields["reasoning.off"] = levels["off"] is not None
    return fields


# -- genai-prices ---------------------------------------------------------------------------------

_GENAI = {
    "anthropic": "anthropic",
    "openai": "openai",
    "azure": "azure",
    "google": "gemini",
    "aws": "bedrock",
    "mistral": "mistral",
    "groq": "groq",
    "x-ai": "xai",
    "deepseek": "deepseek",
    "openrouter": "openrouter",
}


def genai_prices(code: bytes) -> Iterator[Fact]:
    """Its data are a module of calls, `Provider(id=…, models=[ModelInfo(…)])`: read, not run."""
    for node in ast.walk(ast.parse(code)):
        service = _named(node, "Provider")
        provider = _GENAI.get(str(_constant(service.get("id"))))
        models = service.get("models")
        for each in models.elts if provider and isinstance(models, ast.List) else ():
            entry = _named(each, "ModelInfo")
            name, window = _constant(entry.get("id")), _constant(entry.get("context_window"))
            if provider and isinstance(name, str) and window:
                yield Fact("genai-prices", provider, name, {"limits.context": window})


def _named(node: ast.AST, name: str) -> dict[str | None, ast.expr]:
    """The arguments of a call of this name; of anything else, none."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
        return {each.arg: each.value for each in node.keywords}
    return {}


def _constant(node: ast.expr | None) -> Any:
    return node.value if isinstance(node, ast.Constant) else None
