"""OpenTelemetry's GenAI conventions: what was said, in the spans and events of traces."""

from __future__ import annotations

from interlingua.transcripts.format import Format
from interlingua.transcripts.otel.read import read, read_all, signs
from interlingua.transcripts.otel.write import write

FORMAT = Format(
    name="otel",
    title="OpenTelemetry GenAI",
    seen="semantic conventions of 2026-11 and their events up to 1.36, 2026-11-17",
    signs=signs,
    read=read,
    read_all=read_all,
    write=write,
    unsaid=("title", "folder"),
    suffix=".json",
)
