"""The bodies that are compared: made by this package's own probes, or files of the user's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import interlingua as il
from interlingua.dialects.framing import encoder
from interlingua.dialects.probes import PROBES, Probe
from interlingua.streams.fold import unfold

DIALECTS = ("openai-chat", "openai-responses", "anthropic", "gemini")
"""The formats that most of the compared packages read or write."""
PROVIDERS = dict(zip(DIALECTS, ("openai", "openai", "anthropic", "gemini"), strict=True))
_MODELS = dict(
    zip(DIALECTS, ("gpt-4.1", "gpt-4.1", "claude-sonnet-4-5", "gemini-2.5-pro"), strict=True)
)
_USAGE = il.Usage(input_tokens=10, output_tokens=9)
"""Every answer of a provider has some."""
_THINKING = dict(
    zip(DIALECTS, ("gpt-5.1", "gpt-5.1", "claude-sonnet-4-6", "gemini-3-pro-preview"), strict=True)
)
_THINKS = ("reasoning", "thinking", "verbosity", "effort", "compaction")


class Body(NamedTuple):
    """One body and the feature that it is there for; of a stream, the text of its frames."""

    feature: str
    source: str
    kind: str
    wire: Any


def model_for(dialect: str, feature: str) -> str:
    """A model that takes the feature, where the provider has one."""
    known = _THINKING if any(word in feature for word in _THINKS) else _MODELS
    return known[dialect]


def made() -> Iterator[Body]:
    for source in DIALECTS:
        for probe in PROBES:
            yield from _said(probe, source)


def _said(probe: Probe, name: str) -> Iterator[Body]:
    """The probe in one format, where that format can express it without a loss."""
    dialect = il.dialect(name)
    value = probe.value
    if isinstance(value, il.Request):
        limit = value.options.max_output_tokens or 9000
        options = value.options.replace(max_output_tokens=limit)
        value = value.replace(model=model_for(name, probe.name), options=options)
    elif value.message.metadata.usage is None:
        metadata = value.message.metadata.replace(usage=_USAGE)
        value = value.replace(message=value.message.replace(metadata=metadata))
    try:
        if isinstance(value, il.Request):
            written = dialect.write_request(value)
        else:
            written = dialect.write_response(value)
        if written.report.entries:
            return
        kind = "request" if isinstance(value, il.Request) else "response"
        yield Body(probe.name, name, kind, written.wire)
        if isinstance(value, il.Response):
            yield from _streamed(probe, name, dialect.read_response(written.wire))
    except il.InterlinguaError:
        return


def _streamed(probe: Probe, name: str, response: il.Response) -> Iterator[Body]:
    writer = il.dialect(name).stream_writer()
    frames = [frame for event in unfold(response) for frame in writer.feed(event)]
    encode = encoder(name)
    if not writer.report.entries:
        text = b"".join(map(encode, [*frames, *writer.close()])).decode()
        yield Body(probe.name, name, "stream", text)


def files(paths: list[Path]) -> Iterator[Body]:
    """The requests in files and folders of the user's; what is no request is left out."""
    for path in paths:
        every = sorted(path.rglob("*.json")) if path.is_dir() else [path]
        for file in every:
            wire = json.loads(file.read_bytes())
            found = il.detect(wire)
            if found is not None and found.dialect in DIALECTS and found.kind == "request":
                yield Body(file.name, found.dialect, "request", wire)
