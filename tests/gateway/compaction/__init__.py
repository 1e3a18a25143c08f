"""Compaction over HTTP, by official SDKs."""
