"""llm-rosetta: `ConversionPipeline`, fresh for each body as its gateway has it."""

from __future__ import annotations

import json
from typing import Any

from llm_rosetta import get_shim
from llm_rosetta.pipeline import ConversionPipeline
from runner import QUESTIONS, Job, NotOfferedError, frames_of, main

NAMES = {
    "openai-chat": "openai_chat",
    "openai-responses": "openai_responses",
    "anthropic": "anthropic",
    "gemini": "google",
}


def pipeline(asks: str, answers: str) -> Any:
    try:
        source, target = NAMES[asks], NAMES[answers]
    except KeyError:
        raise NotOfferedError from None
    shims = {"source_shim": get_shim(source), "target_shim": get_shim(target)}
    return ConversionPipeline(source, target, **shims)


def convert(job: Job) -> tuple[Any, str]:
    if job["kind"] == "request":
        made = pipeline(job["source"], job["target"])
        return made.convert_request({**job["body"], "model": job["model"]}), _told(made)
    made = pipeline(job["target"], job["source"])
    made.convert_request({**QUESTIONS[job["target"]], "model": "m"})
    if job["kind"] == "response":
        return made.convert_response(job["body"]), _told(made)
    processor = made.create_stream_processor()
    chunks = [c for _, data in frames_of(job["body"]) for c in processor.process_chunk(data)]
    return [(chunk.get("type"), chunk) for chunk in chunks], _told(made)


def _told(made: Any) -> str:
    found = []
    for name in ("warnings", "_warnings"):
        found += list(getattr(made, name, None) or ())
        found += list(getattr(getattr(made, "context", None), name, None) or ())
    return " ".join(map(str, found))


def fast(job: Job) -> Any:
    if job["kind"] == "request":
        body = json.loads(job["body"])
        return json.dumps(pipeline(job["source"], job["target"]).convert_request(body))
    body = job["body"] if job["kind"] == "stream" else json.loads(job["body"])
    return json.dumps(convert({**job, "body": body})[0])


main(convert, fast)
