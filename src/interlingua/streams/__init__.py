"""Bytes to frames and back, and events to responses and back."""

from interlingua.streams import aws, jsonarray, ndjson, sse

__all__ = ["aws", "jsonarray", "ndjson", "sse"]
