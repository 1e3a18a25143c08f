"""Requests to be counted."""

from __future__ import annotations

SONNET = "anthropic:claude-sonnet-4-6"
