"""Providers' own lists of models, as rules. Pure: lists in, rules out.

Each function reads one entry of a list; a rule sets only what the entry states. The shapes are
those of the providers' own libraries (read 2026-11).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from interlingua.model.exchange import EFFORTS
from interlingua.profiles.capabilities import usual_dialect
from interlingua.profiles.profile import GROUPS, Profiles, Rule, fold

Entry = Mapping[str, Any]
Fields = dict[str, dict[str, Any]]
"""Group to field to value; None is nothing."""


def rules_from_list(provider: str, entries: Iterable[Any], since: str) -> list[Rule]:
    """A rule for each model of a list, in its order."""
    made = [_rule(provider, entry, since) for entry in entries if isinstance(entry, dict)]
    return [rule for rule in made if rule is not None]


def _rule(provider: str, entry: Entry, since: str) -> Rule | None:
    names, fields = LISTS[provider].read(entry)
    known = {
        group: {name: value for name, value in values.items() if value is not None}
        for group, values in fields.items()
    }
    groups = {group: values for group, values in known.items() if values}
    if not names or not groups:
        return None
    table = {
        "id": f"{provider} says of {names[0]}",
        "models": names,
        "at": [provider],
        "since": since,
        "sources": [f"{provider}:{LISTS[provider].path}"],
        "sure": "documented",
        **groups,
    }
    return msgspec.convert(table, Rule)


# -- Anthropic ------------------------------------------------------------------------------------


def _anthropic(entry: Entry) -> tuple[list[str], Fields]:
    able = _object(entry.get("capabilities"))
    fields: Fields = {
        "limits": {
            "output": _count(entry.get("max_tokens")),
            "context": _count(entry.get("max_input_tokens")),
        },
        "media": {"image": _supported(able, "image_input"), "pdf": _supported(able, "pdf_input")},
        "reasoning": _anthropic_reasoning(able),
    }
    schema = _supported(able, "structured_outputs")
    if schema is not None:
        fields["output"] = {"schema": "native" if schema else "tool"}
    return _names(entry.get("id")), fields


def _anthropic_reasoning(able: Entry) -> dict[str, Any]:
    effort, thinking = _object(able.get("effort")), _object(able.get("thinking"))
    rules: dict[str, Any] = {}
    if "supported" in effort:
        rules["efforts"] = [each for each in EFFORTS if _supported(effort, each)]
    types = _object(thinking.get("types"))
    if types:
        adaptive, budget = _supported(types, "adaptive"), _supported(types, "enabled")
        off, between = _supported(types, "disabled"), _supported(types, "between_tools")
        rules["carrier"] = "adaptive" if adaptive else "budget" if budget else "none"
        rules |= {"budget_too": budget, "off": off, "between_tools": between}
        if off is False:
            rules["off_as"] = "between_tools" if between else "lowest"
    return rules


def _supported(able: Entry, name: str) -> bool | None:
    supported = _object(able.get(name)).get("supported")
    return supported if isinstance(supported, bool) else None


# -- Ollama ---------------------------------------------------------------------------------------


def _ollama(entry: Entry) -> tuple[list[str], Fields]:
    """An entry of `/api/tags` with the answer of `/api/show` laid over it."""
    able = entry.get("capabilities")
    fields: Fields = {"limits": {"context": _ollama_context(entry)}}
    if isinstance(able, list):
        fields["tools"] = {"calls": "tools" in able}
        fields["media"] = {"image": "vision" in able, "audio": "audio" in able}
        fields["reasoning"] = {"carrier": "toggle" if "thinking" in able else "none"}
    return _names(entry.get("model") or entry.get("name")), fields


def _ollama_context(entry: Entry) -> int | None:
    facts = _object(entry.get("model_info"))
    return next((_count(facts[key]) for key in facts if key.endswith(".context_length")), None)


# -- Gemini ---------------------------------------------------------------------------------------


def _gemini(entry: Entry) -> tuple[list[str], Fields]:
    ways = entry.get("supportedGenerationMethods")
    if isinstance(ways, list) and "generateContent" not in ways:
        return [], {}
    hottest = entry.get("maxTemperature")
    number = isinstance(hottest, (int, float)) and not isinstance(hottest, bool)
    fields: Fields = {
        "limits": {
            "output": _count(entry.get("outputTokenLimit")),
            "context": _count(entry.get("inputTokenLimit")),
        },
        "sampling": {"temperature_range": [0, hottest] if number else None},
    }
    if entry.get("thinking") is False:
        fields["reasoning"] = {"carrier": "none"}
    return _names(entry.get("name")), fields


# -- OpenRouter -----------------------------------------------------------------------------------

_SAMPLING = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "min_p": "min_p",
    "seed": "seed",
    "logprobs": "logprobs",
    "logit_bias": "logit_bias",
    "frequency_penalty": "penalties",
    "repetition_penalty": "repetition_penalty",
}


def _openrouter(entry: Entry) -> tuple[list[str], Fields]:
    top = _object(entry.get("top_provider"))
    fields: Fields = {
        "limits": {
            "context": _count(entry.get("context_length")),
            "output": _count(top.get("max_completion_tokens")),
        },
        "media": _modalities(_object(entry.get("architecture")).get("input_modalities")),
    }
    takes = entry.get("supported_parameters")
    if isinstance(takes, list):
        # OpenRouter drops other parameters without an error, so leaving them out is better.
        fields["sampling"] = {
            field: "always" if name in takes else "never" for name, field in _SAMPLING.items()
        }
        fields["limits"]["stop"] = None if "stop" in takes else 0
        fields["tools"] = {"calls": "tools" in takes}
        if "tools" in takes and "tool_choice" not in takes:
            fields["tools"]["choice"] = ["auto"]
        native, plain = "structured_outputs" in takes, "response_format" in takes
        fields["output"] = {"schema": "native" if native else "json" if plain else None}
        fields["reasoning"] = _openrouter_reasoning(entry, takes)
    return _names(entry.get("id")), fields


def _openrouter_reasoning(entry: Entry, takes: list[Any]) -> dict[str, Any]:
    if "reasoning" not in takes:
        return {"carrier": "none"}
    listed = _object(entry.get("reasoning"))
    efforts = listed.get("supported_efforts")
    rules: dict[str, Any] = {"carrier": "effort", "budget_too": listed.get("supports_max_tokens")}
    if isinstance(efforts, list):
        rules["efforts"] = [each for each in EFFORTS if each in efforts]
    if isinstance(listed.get("mandatory"), bool):
        rules["off"] = not listed["mandatory"]
        rules["off_as"] = "lowest" if listed["mandatory"] else None
    if isinstance(listed.get("default_enabled"), bool):
        rules["default"] = "on" if listed["default_enabled"] else "off"
    return rules


def _modalities(kinds: Any) -> dict[str, Any]:
    if not isinstance(kinds, list):
        return {}
    words = [str(kind).lower() for kind in kinds]
    return {
        "image": "image" in words,
        "audio": "audio" in words,
        "video": "video" in words,
        "pdf": True if "file" in words else None,  # elsewhere it is read before the model sees it
    }


# -- Mistral, Groq, Bedrock -----------------------------------------------------------------------


def _mistral(entry: Entry) -> tuple[list[str], Fields]:
    able = _object(entry.get("capabilities"))
    if able.get("completion_chat") is False:
        return [], {}
    fields: Fields = {
        "limits": {"context": _count(entry.get("max_context_length"))},
        "tools": {"calls": _yes_or_no(able.get("function_calling"))},
        "media": {"image": _yes_or_no(able.get("vision")), "audio": _yes_or_no(able.get("audio"))},
    }
    if able.get("reasoning") is False:
        fields["reasoning"] = {"carrier": "none"}
    elif able.get("reasoning") is True:
        fields["reasoning"] = {"carrier": "effort"}
    aliases = entry.get("aliases")
    return _names(entry.get("id"), *(aliases if isinstance(aliases, list) else [])), fields


def _groq(entry: Entry) -> tuple[list[str], Fields]:
    limits = {
        "context": _count(entry.get("context_window")),
        "output": _count(entry.get("max_completion_tokens")),
    }
    return _names(entry.get("id")), {"limits": limits}


def _bedrock(entry: Entry) -> tuple[list[str], Fields]:
    written = entry.get("outputModalities")
    if isinstance(written, list) and "TEXT" not in written:
        return [], {}
    kinds = entry.get("inputModalities")
    if not isinstance(kinds, list):
        return [], {}
    media = {"image": "IMAGE" in kinds, "video": "VIDEO" in kinds}
    return _names(entry.get("modelId")), {"media": media}


class ProviderList(NamedTuple):
    """How a provider lists its models: the path of the list, its key in the response, and the
    reader of an entry."""

    read: Callable[[Entry], tuple[list[str], Fields]]
    path: str
    key: str = "data"


LISTS = {
    "anthropic": ProviderList(_anthropic, "/v1/models"),
    "bedrock": ProviderList(_bedrock, "/foundation-models", "modelSummaries"),
    "gemini": ProviderList(_gemini, "/v1beta/models", "models"),
    "groq": ProviderList(_groq, "/openai/v1/models"),
    "mistral": ProviderList(_mistral, "/v1/models"),
    "ollama": ProviderList(_ollama, "/api/show", "models"),
    "openrouter": ProviderList(_openrouter, "/api/v1/models"),
}
"""Providers whose lists have more than names."""


def _names(*names: Any) -> list[str]:
    return [name for name in names if isinstance(name, str) and name]


def _object(value: Any) -> Entry:
    return value if isinstance(value, dict) else {}


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _yes_or_no(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


# -- beside what we thought -----------------------------------------------------------------------


class Difference(NamedTuple):
    """A field that differs between a provider's list and our rules."""

    model: str
    field: str
    ours: Any
    rule: str
    """The rule of ours that is contradicted."""
    theirs: Any


def differences(rules: Iterable[Rule], profiles: Profiles) -> list[Difference]:
    """Contradictions between rules and the merged profiles; a field that only one side has is
    none."""
    return [each for rule in rules for each in _contradictions(rule, profiles)]


def _contradictions(rule: Rule, profiles: Profiles) -> Iterator[Difference]:
    (model, *_), (provider, *_) = rule.models or ("",), rule.at or ("",)
    ours = profiles.of(model, provider, usual_dialect(f"{provider}:{model}"))
    for place, theirs, _ in fold([rule]).fields():
        group, _, field = place.partition(".")
        value, behind = getattr(getattr(ours, group), field), ours.rule(place)
        if behind is not None and value != theirs:
            yield Difference(model, place, value, behind.id, theirs)


# -- as a file ------------------------------------------------------------------------------------

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def as_toml(rules: Iterable[Rule], head: str = "") -> str:
    """Rules as the text of a file that `reading.read_rules` takes."""
    parts = [f"# {line}\n" for line in head.splitlines()]
    for rule in rules:
        table = msgspec.to_builtins(rule)
        first = {name: value for name, value in table.items() if name not in GROUPS}
        last = {name: value for name, value in table.items() if name in GROUPS}
        lines = [f"{name} = {_toml(value)}\n" for name, value in {**first, **last}.items()]
        parts.append("\n[[rule]]\n" + "".join(lines))
    return "".join(parts)


def _toml(value: Any) -> str:
    match value:
        case dict():
            inside = ", ".join(f"{_key(name)} = {_toml(item)}" for name, item in value.items())
            return f"{{ {inside} }}"
        case list() | tuple():
            return f"[{', '.join(map(_toml, value))}]"
        case _:
            # Strings, numbers and booleans are written alike; JSON does not escape DEL.
            return msgspec.json.encode(value).decode().replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _toml(name)
