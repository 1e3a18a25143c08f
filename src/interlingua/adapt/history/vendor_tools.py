"""Tools that vendors define, by what they are for: each vendor's word, its options, and where they
stand. Data alone; `tool_mapping.py` reads it.

A path leads to an option inside what a dialect keeps of the tool. Gemini keeps a tool's settings
under its word, OpenRouter has a tool's options in `parameters`, and Amazon's tools go by their
names. (SDKs `anthropic` 2.8.0, `openai` 3.49.0, `google-genai` 3.1.0, `openrouter` 1.3.84; xAI's
documentation; read 2026-11.)"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from interlingua.adapt.history.search_options import OPTIONS

Path = tuple[str, ...]


class VendorSpelling(NamedTuple):
    """How a vendor says a tool. `name` is what the tool is called, where it is not its word;
    `filled` is what has to be there in any case."""

    vendor: str
    words: str
    options: Mapping[str, Path] = {}
    name: str | None = None
    filled: Mapping[str, Any] = {}

    def says(self, word: str) -> bool:
        return re.fullmatch(self.words, word) is not None


DIALECTS = {
    "anthropic": "anthropic",
    "openai": "openai-responses",
    "xai": "openai-responses",
    "gemini": "gemini",
    "vertex": "gemini",
    "interactions": "gemini-interactions",
    "openrouter": "openrouter",
    "nova": "bedrock",
    "chat": "openai-chat",
}
"""The dialect in which a vendor's words are said."""
LIKE = {"xai": "openai", "vertex": "gemini"}
"""Who speaks as another does, where nothing else is said."""


def _in(*names: str, under: str | None = None, **others: str) -> dict[str, Path]:
    """Options by their places: those that are called as here, and those that are not."""
    keys = {**{name: name for name in names}, **others}
    return {option: (key,) if under is None else (under, key) for option, key in keys.items()}


_DOMAINS = ("allowed_domains", "blocked_domains")
_SHELL = r"bash_\d{8}"
_SCREEN = {"display_width": 1024, "display_height": 768}

TABLE: dict[str, tuple[VendorSpelling, ...]] = {
    "web_search": (
        VendorSpelling(
            "anthropic",
            r"web_search_\d{8}",
            _in("max_uses", "user_location", *_DOMAINS),
            "web_search",
        ),
        VendorSpelling(
            "openai",
            r"web_search(_\d{4}_\d\d_\d\d)?|web_search_preview(_\d{4}_\d\d_\d\d)?",
            _in(*_DOMAINS, under="filters")
            | _in("user_location", context_size="search_context_size"),
        ),
        VendorSpelling(
            "xai",
            "web_search",
            _in("allowed_domains", "user_location", blocked_domains="excluded_domains"),
        ),
        VendorSpelling("gemini", "googleSearch", filled={"googleSearch": {}}),
        VendorSpelling("interactions", "google_search"),
        VendorSpelling(
            "vertex",
            "googleSearch",
            _in(blocked_domains="excludeDomains", under="googleSearch"),
            filled={"googleSearch": {}},
        ),
        VendorSpelling(
            "openrouter",
            "openrouter:web_search",
            _in(
                *("max_uses", "allowed_domains", "user_location"),
                blocked_domains="excluded_domains",
                context_size="search_context_size",
                under="parameters",
            ),
        ),
        VendorSpelling("nova", "nova_grounding"),
        VendorSpelling(
            "chat",
            OPTIONS,
            _in("user_location", context_size="search_context_size", under=OPTIONS),
        ),
        VendorSpelling("openrouter", "plugin:web"),
    ),
    "web_fetch": (
        VendorSpelling(
            "anthropic",
            r"web_fetch_\d{8}",
            _in("max_uses", "max_content_tokens", "citations", *_DOMAINS),
            "web_fetch",
        ),
        VendorSpelling("gemini", "urlContext", filled={"urlContext": {}}),
        VendorSpelling("interactions", "url_context"),
        VendorSpelling(
            "openrouter",
            "openrouter:web_fetch",
            _in("max_uses", "max_content_tokens", *_DOMAINS, under="parameters"),
        ),
        VendorSpelling("openrouter", "plugin:web-fetch"),
    ),
    "code_execution": (
        VendorSpelling("anthropic", r"code_execution_\d{8}", name="code_execution"),
        VendorSpelling(
            "openai",
            "code_interpreter",
            _in("container"),
            filled={"container": {"type": "auto"}},
        ),
        VendorSpelling("gemini", "codeExecution", filled={"codeExecution": {}}),
        VendorSpelling("interactions", "code_execution"),
        VendorSpelling("nova", "nova_code_interpreter"),
    ),
    "mcp": (
        VendorSpelling("anthropic", "mcp_toolset"),
        VendorSpelling("openai", "mcp"),
        VendorSpelling("gemini", "mcpServers"),
    ),
    "file_search": (
        VendorSpelling("openai", "file_search"),
        VendorSpelling("gemini", "fileSearch"),
        VendorSpelling("interactions", "file_search"),
    ),
    "image_generation": (
        VendorSpelling("openai", "image_generation", _in("model", "size", "quality", "background")),
        VendorSpelling(
            "openrouter", "openrouter:image_generation", _in("model", under="parameters")
        ),
    ),
    "computer": (
        VendorSpelling(
            "anthropic",
            r"computer_\d{8}",
            _in(display_width="display_width_px", display_height="display_height_px"),
            "computer",
            {f"{name}_px": size for name, size in _SCREEN.items()},
        ),
        VendorSpelling("anthropic", r"computer_toolset_\d{8}", name="computer"),
        VendorSpelling("openai", "computer"),
        VendorSpelling(
            "openai",
            "computer_use_preview",
            _in(*_SCREEN, "environment"),
            filled={**_SCREEN, "environment": "browser"},
        ),
        VendorSpelling(
            "gemini",
            "computerUse",
            filled={"computerUse": {"environment": "ENVIRONMENT_BROWSER"}},
        ),
        VendorSpelling("interactions", "computer_use", filled={"environment": "browser"}),
    ),
    "shell": (
        VendorSpelling("anthropic", _SHELL, name="bash"),
        VendorSpelling("openai", "local_shell"),
        VendorSpelling("openai", "shell", filled={"environment": {"type": "local"}}),
    ),
    "tool_search": (
        VendorSpelling(
            "anthropic",
            r"tool_search_tool_(bm25|regex)(_\d{8})?",
            name="tool_search_tool_bm25",
        ),
        VendorSpelling("openai", "tool_search"),
        VendorSpelling("openrouter", "openrouter:tool_search"),
    ),
}
"""What a tool is for, and how it is said. An editor is not here: one's `apply_patch` takes another
grammar than the other's `text_editor`."""

KEYS = {"shell": ("shell", "bash")}
"""What profiles call a concept, where it is not by its own word."""
INSTEAD = {("openai", "web_fetch"): "web_search", ("xai", "web_fetch"): "web_search"}
"""A vendor's tool that does another's work too: these open pages while they search."""
STORED = {"file_search": "its stores are known to their own provider alone"}
"""What is of no use without things that one provider keeps."""
IDS = frozenset({"container"})
"""Options that name things which one provider keeps."""
SAYS_NOTHING: dict[str, tuple[Any, ...]] = {
    "container": ({"type": "auto"},),
    "external_web_access": (True,),
    "environment": ({"type": "local"},),
    "execution": ("server",),
}
"""Values that say what is done anyway."""
ONE_OF = {"anthropic": _DOMAINS, "xai": _DOMAINS}
"""Options of which a vendor takes one alone; the first stays."""
NEAR: dict[tuple[str, str], tuple[str, Mapping[Any, Any]]] = {
    ("anthropic", "context_size"): ("max_uses", {"low": 1, "medium": 5, "high": 10}),
}
"""An option that stands for another, and what its values become."""
CHOSEN = {
    "anthropic": r".*",
    "openai": r"code_interpreter|image_generation|mcp|computer.*|shell",
    "openrouter": r".*",
}
"""Words of tools that a choice can name."""
OWN_FORMS: dict[str, dict[str, Any]] = {
    "anthropic": {"own": True},
    "gemini-interactions": {"own": True},
}
"""Dialects whose readers mark a tool that its vendor defines."""
TOLD_OF_OWN = frozenset({"gemini"})
"""Vendors that have to be told where functions stand beside tools of their own."""
CHOICE_OF_FUNCTIONS = frozenset({"gemini", "vertex", "interactions"})
"""Vendors whose choice of a tool is one of functions alone."""
