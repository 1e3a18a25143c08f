"""One category for why an answer was refused, whoever refused it."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il
from interlingua.adapt.refusals import refusal_category, with_category

CLAUDE: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-5-5",
    "content": [],
    "stop_reason": "refusal",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
}
BEDROCK: dict[str, Any] = {
    "output": {"message": {"role": "assistant", "content": [{"text": "No."}]}},
    "stopReason": "guardrail_intervened",
    "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
    "metrics": {"latencyMs": 1},
}


def claude(category: str | None) -> il.Response:
    details = {"type": "refusal", "category": category, "explanation": None}
    return il.dialect("anthropic").read_response({**CLAUDE, "stop_details": details})


def gemini(word: str) -> il.Response:
    return il.dialect("gemini").read_response({"candidates": [{"finishReason": word, "index": 0}]})


def bedrock(**policies: Any) -> il.Response:
    trace = {"guardrail": {"inputAssessment": {"g1": policies}}}
    return il.dialect("bedrock").read_response({**BEDROCK, "trace": trace})


def openai(code: str) -> il.Response:
    error = {"message": "No.", "type": "invalid_request_error", "param": None, "code": code}
    return il.dialect("openai-responses").read_response({"error": error})


def filtered(kind: str) -> dict[str, Any]:
    return {"filters": [{"type": kind, "confidence": "HIGH", "action": "BLOCKED"}]}


@pytest.mark.parametrize(
    ("response", "category"),
    [
        (claude("cyber"), "cyber"),
        (claude("frontier_llm"), "ai_development"),
        (claude("general_harms"), "harm"),
        (claude(None), None),
        (gemini("SAFETY"), "harm"),
        (gemini("MODEL_ARMOR"), "policy"),
        (gemini("JAILBREAK"), "jailbreak"),
        (gemini("STOP"), None),
        (bedrock(contentPolicy=filtered("VIOLENCE")), "harm"),
        (bedrock(contentPolicy=filtered("PROMPT_ATTACK")), "jailbreak"),
        (bedrock(sensitiveInformationPolicy={"piiEntities": [], "regexes": []}), "privacy"),
        (bedrock(wordPolicy={"customWords": []}), "policy"),
        (openai("bio_policy"), "bio"),
        (openai("misalignment_policy_violation"), "misalignment"),
        (openai("rate_limit_exceeded"), None),
    ],
)
def test_every_vendor_has_the_same_categories(response: il.Response, category: str | None) -> None:
    assert refusal_category(response) == category


def test_a_client_of_anthropic_is_told_the_category_of_another_vendor() -> None:
    response = with_category(gemini("SAFETY"), "gemini")
    wire = il.dialect("anthropic").write_response(response).wire
    assert wire["stop_details"]["category"] == "general_harms"
    assert with_category(gemini("JAILBREAK"), "gemini").raw == gemini("JAILBREAK").raw
    assert with_category(claude("bio"), "anthropic") == claude("bio")
