"""Why an answer was refused, in categories that the vendors share. Each vendor reports it
elsewhere: Anthropic in `stop_details`, Google in the finish reason, Bedrock in the trace of a
guardrail, OpenAI in the code of an error."""

from __future__ import annotations

from typing import Any, Literal

from interlingua.model.exchange import Response

_OWN_WORDS = ("anthropic",)
"""Dialects whose answers have the category already."""

RefusalCategory = Literal[
    "cyber",
    "bio",
    "ai_development",
    "reasoning_extraction",
    "harm",
    "jailbreak",
    "privacy",
    "recitation",
    "misalignment",
    "policy",
]
"""`policy` is a rule of the customer's own: a block list, a guardrail."""

_CLAUDE: dict[str, RefusalCategory] = {
    "cyber": "cyber",
    "bio": "bio",
    "frontier_llm": "ai_development",
    "reasoning_extraction": "reasoning_extraction",
    "general_harms": "harm",
}
_GOOGLE: dict[str, RefusalCategory] = {
    "SAFETY": "harm",
    "PROHIBITED_CONTENT": "harm",
    "IMAGE_SAFETY": "harm",
    "IMAGE_PROHIBITED_CONTENT": "harm",
    "RECITATION": "recitation",
    "IMAGE_RECITATION": "recitation",
    "BLOCKLIST": "policy",
    "MODEL_ARMOR": "policy",
    "SPII": "privacy",
    "JAILBREAK": "jailbreak",
}
_OPENAI: dict[str, RefusalCategory] = {
    "bio_policy": "bio",
    "cyber_policy": "cyber",
    "misalignment_policy_violation": "misalignment",
}
_FILTERS: dict[str, RefusalCategory] = {
    "HATE": "harm",
    "INSULTS": "harm",
    "SEXUAL": "harm",
    "VIOLENCE": "harm",
    "MISCONDUCT": "harm",
    "PROMPT_ATTACK": "jailbreak",
}


def refusal_category(response: Response) -> RefusalCategory | None:
    """Why an answer was refused; None if its service gave no reason, or it was not refused."""
    raw, metadata = response.raw or {}, response.message.metadata
    if response.error is not None:
        return _OPENAI.get(response.error.code or "")
    details = _inside(raw, "anthropic", "stop_details")
    if details is not None:
        return _CLAUDE.get(str(details.get("category")))
    word = metadata.raw_stop_reason
    if word == "guardrail_intervened":
        return _of_guardrail(_inside(raw, "bedrock", "trace", "guardrail"))
    return _GOOGLE.get(word) if isinstance(word, str) else None


def _of_guardrail(trace: Any) -> RefusalCategory:
    """The category of a guardrail's finding; a customer's own rule if none is named."""
    found = {str(each.get("type")) for each in _objects(trace) if each.get("action") == "BLOCKED"}
    for word, category in _FILTERS.items():
        if word in found:
            return category
    policies = [each for each in _objects(trace) if "sensitiveInformationPolicy" in each]
    return "privacy" if policies and not found & _FILTERS.keys() else "policy"


def _objects(value: Any) -> list[dict[str, Any]]:
    """All objects in a value."""
    found: list[dict[str, Any]] = []
    todo = [value]
    while todo:
        each = todo.pop()
        if isinstance(each, dict):
            found.append(each)
            todo += each.values()
        elif isinstance(each, list):
            todo += each
    return found


def _inside(value: Any, *path: str) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else None


def with_category(response: Response, source: str) -> Response:
    """The response for a client of Anthropic, with the category in its format."""
    category = None if source in _OWN_WORDS else refusal_category(response)
    word = next((word for word, meant in _CLAUDE.items() if meant == category), None)
    if word is None or response.error is not None:
        return response
    details = {"type": "refusal", "category": word, "explanation": None}
    raw = response.raw or {}
    own = {**raw.get("anthropic", {}), "stop_details": details}
    return response.replace(raw={**raw, "anthropic": own})
