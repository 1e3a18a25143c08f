"""any-llm: `completion`, `responses` and `messages`, with a provider on loopback."""

from __future__ import annotations

import json
from typing import Any

import any_llm
from runner import Job, NotOfferedError, Upstream, main

UPSTREAM = Upstream()
PROVIDERS = {"openai-chat": "openai", "anthropic": "anthropic", "gemini": "gemini"}


def convert(job: Job) -> tuple[Any, str]:
    asks = job["source"] if job["kind"] == "request" else job["target"]
    answers = job["target"] if job["kind"] == "request" else job["source"]
    if asks == answers == "openai-responses":
        provider = "openai"
    elif asks in ("gemini", "openai-responses") or answers == "openai-responses":
        raise NotOfferedError
    else:
        provider = PROVIDERS[answers]
    body = UPSTREAM.prepare(job)
    body.pop("model", None)
    if asks == "openai-chat" and "max_completion_tokens" in body:
        body["max_tokens"] = body.pop("max_completion_tokens")  # its name for it
    place = f"{UPSTREAM.url}/v1" if provider == "openai" else UPSTREAM.url
    more = {"model": job["model"], "provider": provider, "api_key": "x", "api_base": place}
    if job["kind"] == "stream":
        more["stream"] = True
    try:
        result = _asked(asks, body, more)
        if job["kind"] == "stream":
            parts = [json.loads(each.model_dump_json(exclude_none=True)) for each in result]
            result = [(each.get("type"), each) for each in parts]
    except Exception:
        if job["kind"] != "request" or UPSTREAM.asked is None:
            raise
    return (UPSTREAM.asked if job["kind"] == "request" else result), ""


def _asked(asks: str, body: Job, more: Job) -> Any:
    if asks == "openai-responses":
        return any_llm.responses(input_data=body.pop("input"), **body, **more)
    if asks == "anthropic":
        return any_llm.messages(**body, **more)
    return any_llm.completion(**body, **more)


def fast(job: Job) -> Any:
    """The conversions of its provider alone, without HTTP."""
    import anthropic
    from any_llm.providers.anthropic.anthropic import AnthropicProvider
    from any_llm.types.completion import CompletionParams

    if job["kind"] == "request":
        body = json.loads(job["body"])
        body["model_id"] = body.pop("model")
        known = {name: each for name, each in body.items() if name in CompletionParams.model_fields}
        params = CompletionParams(**known)
        made = AnthropicProvider._convert_completion_params(params, provider_name="anthropic")
        return json.dumps(made)
    if job["kind"] == "response":
        answer = anthropic.types.Message.model_validate_json(job["body"])
        return AnthropicProvider._convert_completion_response(answer).model_dump_json()
    raise NotOfferedError


main(convert, fast)
