"""interlingua: `il.convert` and `il.stream_convert`."""

from __future__ import annotations

from typing import Any

from runner import Job, frames_of, main

import interlingua as il


def convert(job: Job) -> tuple[Any, str]:
    source, target, kind = job["source"], job["target"], job["kind"]
    if kind == "stream":
        stream = il.stream_convert([job["body"].encode()], source, target)
        text = b"".join(stream).decode()
        return frames_of(text), " ".join(map(str, stream.report.entries))
    model = job["model"] if kind == "request" else None
    result = il.convert(job["body"], source, target, kind, model)
    return result.wire, " ".join(map(str, result.report.entries))


def fast(job: Job) -> Any:
    if job["kind"] == "stream":
        return b"".join(il.stream_convert([job["body"].encode()], job["source"], job["target"]))
    data = job["body"].encode()
    return il.convert(data, job["source"], job["target"], job["kind"]).json()


main(convert, fast)
