"""OpenTelemetry's GenAI conventions: messages in the spans and events of traces."""

from __future__ import annotations

from interlingua.transcripts.format import Format
from interlingua.transcripts.otel.read import detect_file, read_all_in, read_file
from interlingua.transcripts.otel.write import write_file


class OTel(Format):
    name = "otel"
    title = "OpenTelemetry GenAI"
    tested = "semantic conventions of 2026-11 and their events up to 1.36, 2026-11-17"
    suffix = ".json"
    unsupported_fields = ("title", "folder")

    detect = staticmethod(detect_file)
    read = staticmethod(read_file)
    read_all = staticmethod(read_all_in)
    write = staticmethod(write_file)


FORMATS = (OTel(),)
