"""Words of ShareGPT's turns (files of LLaMA-Factory, 2026-11-16)."""

from __future__ import annotations

NAME = "sharegpt"
DIALECT = "openai-chat"
"""What turns are read and written by way of: they are its messages in other words."""
ROLES = {
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "assistant": "assistant",
    "chatgpt": "assistant",
    "bard": "assistant",
    "bing": "assistant",
    "model": "assistant",
    "system": "system",
}
WRITTEN = {"user": "human", "assistant": "gpt", "system": "system", "developer": "system"}
CALLS = "function_call"
RESULTS = ("observation", "tool", "function_response")
"""The first is written."""
PICTURE = "<image>"
"""Stands in a text for the next of the row's `images`."""
URLS = ("data:", "https:", "http:")
"""How an image begins that is no path in some folder."""
