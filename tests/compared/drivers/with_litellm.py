"""LiteLLM: `completion`, `responses`, `anthropic.messages` and `generate_content`, as they are set
by default, with a provider on loopback. Parameters that a provider does not have raise an error
there; `drop_params` would leave them out."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import litellm
from runner import Job, NotOfferedError, Upstream, frames_of, main

litellm.suppress_debug_info = True
litellm.num_retries = 0
UPSTREAM = Upstream()
PREFIX = {
    "openai-chat": "openai/",
    "openai-responses": "openai/responses/",
    "anthropic": "anthropic/",
    "gemini": "gemini/",
}
HOME = {"openai-responses": "openai/", "openai-chat": "openai/"}
LOOP = asyncio.new_event_loop()


def convert(job: Job) -> tuple[Any, str]:
    asks = job["source"] if job["kind"] == "request" else job["target"]
    answers = job["target"] if job["kind"] == "request" else job["source"]
    body = UPSTREAM.prepare(job)
    body.pop("model", None)
    body.pop("stream", None)
    prefix = HOME.get(asks, PREFIX[asks]) if asks == answers else PREFIX[answers]
    place = UPSTREAM.url if answers in ("anthropic", "gemini") else f"{UPSTREAM.url}/v1"
    more: dict[str, Any] = {"model": prefix + job["model"], "api_base": place, "api_key": "x"}
    if asks == "openai-responses" and answers == "openai-chat":
        more["use_chat_completions_api"] = True
    if job["kind"] == "stream":
        more["stream"] = True
    try:
        result = ASK[asks](body, more)
        if job["kind"] == "stream":
            result = _chunks(result)
    except Exception:
        if job["kind"] != "request" or UPSTREAM.asked is None:
            raise
    is_other = (answers == "openai-responses") != UPSTREAM.path.endswith("/responses")
    if job["kind"] == "request" and is_other:
        raise NotOfferedError  # it chose another of the provider's endpoints
    return (UPSTREAM.asked if job["kind"] == "request" else result), ""


def _chat(body: Job, more: Job) -> Any:
    return litellm.completion(**body, **more)


def _responses(body: Job, more: Job) -> Any:
    return litellm.responses(**body, **more)


def _messages(body: Job, more: Job) -> Any:
    async def call() -> Any:
        made = await litellm.anthropic.messages.acreate(**body, **more)
        if more.get("stream"):
            return [each async for each in made]
        return made

    return LOOP.run_until_complete(call())


def _contents(body: Job, more: Job) -> Any:
    from litellm.google_genai import agenerate_content, agenerate_content_stream

    async def call() -> Any:
        if more.pop("stream", None):
            made = await agenerate_content_stream(**body, **more)
            return [each async for each in made]
        return await agenerate_content(**body, **more)

    return LOOP.run_until_complete(call())


ASK = {
    "openai-chat": _chat,
    "openai-responses": _responses,
    "anthropic": _messages,
    "gemini": _contents,
}


def _chunks(result: Any) -> list[tuple[str | None, Any]]:
    found = []
    for each in result:
        if isinstance(each, (bytes, str)):
            found += frames_of(each.decode() if isinstance(each, bytes) else each)
        elif isinstance(each, dict):
            found.append((each.get("type"), each))
        else:
            data = json.loads(each.model_dump_json(exclude_none=True))
            found.append((data.get("type"), data))
    return found


def fast(job: Job) -> Any:
    """The transformations alone, without HTTP."""
    import httpx
    from litellm.llms.anthropic.chat.handler import ModelResponseIterator
    from litellm.llms.anthropic.chat.transformation import AnthropicConfig
    from litellm.types.utils import ModelResponse

    settings = AnthropicConfig()
    if job["kind"] == "request":
        body = json.loads(job["body"])
        model, messages = body.pop("model"), body.pop("messages")
        options = settings.map_openai_params(body, {}, model, False)
        return json.dumps(settings.transform_request(model, messages, options, {}, {}))
    if job["kind"] == "response":
        raw = httpx.Response(200, headers={"content-type": "application/json"})
        made = settings.transform_parsed_response(
            completion_response=json.loads(job["body"]),
            raw_response=raw,
            model_response=ModelResponse(),
        )
        return json.dumps(made.model_dump(exclude_none=True), default=str)
    lines = iter([line for line in job["body"].splitlines() if line.startswith("data:")])
    chunks = ModelResponseIterator(streaming_response=lines, sync_stream=True)
    return [each.model_dump_json(exclude_none=True, exclude_unset=True) for each in chunks]


main(convert, fast)
