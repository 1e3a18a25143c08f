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
