"""llm-babel: `translate` with the target's model, `translate_response`, and its stream steps."""

from __future__ import annotations

import json
from typing import Any

from llm_transform import registry
from runner import Job, NotOfferedError, frames_of, main

NAMES = {
    "openai-chat": "openai-chat",
    "openai-responses": "openai-responses",
    "anthropic": "anthropic-messages",
    "gemini": "gemini",
}


def convert(job: Job) -> tuple[Any, str]:
    source, target = NAMES[job["source"]], NAMES[job["target"]]
    try:
        if job["kind"] == "request":
            wire = registry.translate(source, target, job["body"], model=job["model"])
        elif job["kind"] == "response":
            wire = registry.translate_response(source, target, job["body"])
        else:
            emits = registry.fold_stream(source, [data for _, data in frames_of(job["body"])])
            wire = [(each.get("type"), each) for each in registry.encode_stream(target, emits)]
    except NotImplementedError:
        raise NotOfferedError from None
    return wire, ""


def fast(job: Job) -> Any:
    body = job["body"] if job["kind"] == "stream" else json.loads(job["body"])
    return json.dumps(convert({**job, "body": body})[0], default=str)


main(convert, fast)
