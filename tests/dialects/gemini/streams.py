"""Streams of Gemini, for tests."""

from __future__ import annotations

from tests.dialects.gemini.wires import PNG

IMAGE = {"inlineData": {"mimeType": "image/png", "data": PNG}}
