"""Candidates and turns for tests of the chain."""

from __future__ import annotations

import msgspec

from interlingua.routing import Config, DelegateRequest, ModelEntry, PatternStats, Registry, Turn
from interlingua.routing.policy import Policy, Rule, Scope


class Record(msgspec.Struct, frozen=True):
    """The fields of a capability record that routing looks at."""

    supports_images: bool | None = True
    supports_tools: bool | None = True
    supports_system_prompt: bool | None = True
    supports_structured_output: bool | None = True
    max_context_tokens: int | None = 100_000
    accepted_image_media_types: tuple[str, ...] | None = None


def able(model: str) -> Record:
    return Record()


def always(turn: Turn) -> bool:
    return True


NAMES = ["override", "sticky", "ruled", "pattern", "delegate", "workspace", "global"]

MODELS = [f"p:{name}" for name in NAMES]

REGISTRY = Registry(ModelEntry(id=model, can_delegate=True) for model in MODELS)


def full_turn(slots: set[int]) -> tuple[Turn, Config]:
    """A turn in which exactly these slots have a candidate, each its own model."""
    turn = Turn(
        override="p:override" if 0 in slots else None,
        sticky="p:sticky" if 1 in slots else None,
        patterns=(PatternStats(model="p:pattern", success=0.9, sample_size=9),)
        if 3 in slots
        else (),
        delegate=DelegateRequest(model="p:delegate") if 4 in slots else None,
        workspace_default="p:workspace" if 5 in slots else None,
    )
    rules = (Rule("all", "p:ruled", always),) if 2 in slots else ()
    policy = Policy(everywhere=Scope(rules))
    return turn, Config(REGISTRY, policy, "p:global" if 6 in slots else None)
