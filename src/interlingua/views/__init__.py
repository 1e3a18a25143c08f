"""Other JSON shapes of the same messages, for libraries that use them.

Each view reads its shape into canonical messages and writes them back; what a shape has no place
for is in the report.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from interlingua.dialects.registry import unknown_name
from interlingua.views.base import View as View
from interlingua.views.base import Written as Written
from interlingua.views.objects import Objects as Objects
from interlingua.views.objects import from_langchain as from_langchain
from interlingua.views.objects import from_llama_index as from_llama_index
from interlingua.views.objects import from_llm as from_llm
from interlingua.views.objects import from_openai_agents as from_openai_agents
from interlingua.views.objects import from_pydantic_ai as from_pydantic_ai
from interlingua.views.objects import to_langchain as to_langchain
from interlingua.views.objects import to_llama_index as to_llama_index
from interlingua.views.objects import to_llm as to_llm
from interlingua.views.objects import to_openai_agents as to_openai_agents
from interlingua.views.objects import to_pydantic_ai as to_pydantic_ai

_MODULES = {
    "flat": "flat",
    "parts": "parts",
    "camel": "camel",
    "openai-ui": "openai_ui",
    "pydantic-ai": "pydantic_ai",
    "langchain": "langchain",
    "llama-index": "llama_index",
    "llm-messages": "llm",
    "openai-agents": "openai_agents",
}


class _Views(Mapping[str, View]):
    """The views by name; each is loaded when it is first used."""

    def __getitem__(self, name: str) -> View:
        module = import_module(f"interlingua.views.{_MODULES[name]}")
        found: View = module.VIEW
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)


VIEWS: Mapping[str, View] = _Views()


def view(name: str) -> View:
    """The view of this name."""
    if name not in _MODULES:
        raise unknown_name("view", name, VIEWS)
    return VIEWS[name]
