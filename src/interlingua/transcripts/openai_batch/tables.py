"""Words of OpenAI's batches (the public types, 2026-11-16)."""

from __future__ import annotations

NAME = "openai-batch"
URLS = {"/v1/chat/completions": "openai-chat", "/v1/responses": "openai-responses"}
"""The dialect of a request's body, by where it is sent; the first is written."""
OBJECTS = {"chat.completion": "openai-chat", "response": "openai-responses"}
"""The dialect of an answer's body, by what it calls itself."""
