"""Registries for tests of names."""

from __future__ import annotations

from interlingua.routing import ModelEntry, Registry

SONNET = "anthropic:claude-sonnet-4-6"

REGISTRY = Registry(
    [
        ModelEntry(id=SONNET, aliases=("sonnet", "s")),
        ModelEntry(id="openrouter:deepseek/deepseek-v3", aliases=("deepseek",)),
    ]
)
