"""Other JSON shapes of the same messages, for libraries that use them.

Each view reads its shape into canonical messages and writes them back; what a shape has no place
for is in the report.
"""

from __future__ import annotations

from interlingua.errors import DetectError
from interlingua.views import (
    camel,
    flat,
    langchain,
    llama_index,
    llm,
    openai_agents,
    openai_ui,
    parts,
    pydantic_ai,
)
from interlingua.views.base import View, Written
from interlingua.views.objects import (
    Objects,
    from_langchain,
    from_llama_index,
    from_llm,
    from_openai_agents,
    from_pydantic_ai,
    to_langchain,
    to_llama_index,
    to_llm,
    to_openai_agents,
    to_pydantic_ai,
)

VIEWS: dict[str, View] = {
    each.name: each
    for each in (
        flat.VIEW,
        parts.VIEW,
        camel.VIEW,
        openai_ui.VIEW,
        pydantic_ai.VIEW,
        langchain.VIEW,
        llama_index.VIEW,
        llm.VIEW,
        openai_agents.VIEW,
    )
}


def view(name: str) -> View:
    """The view of this name."""
    if name not in VIEWS:
        raise DetectError(f"unknown view {name!r}", list(VIEWS))
    return VIEWS[name]


__all__ = [
    "VIEWS",
    "Objects",
    "View",
    "Written",
    "from_langchain",
    "from_llama_index",
    "from_llm",
    "from_openai_agents",
    "from_pydantic_ai",
    "to_langchain",
    "to_llama_index",
    "to_llm",
    "to_openai_agents",
    "to_pydantic_ai",
    "view",
]
