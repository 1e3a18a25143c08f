"""Whether a model can serve a turn, and if not, the first reason in a fixed order."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple, Protocol

from interlingua.events.payloads import FailureCode
from interlingua.routing.registry import Registry
from interlingua.routing.turn import UNKNOWN_MEDIA_TYPE, Needs


class Capabilities(Protocol):
    """The fields of a capability record that routing looks at; None is a missing declaration."""

    @property
    def supports_images(self) -> bool | None: ...
    @property
    def supports_tools(self) -> bool | None: ...
    @property
    def supports_system_prompt(self) -> bool | None: ...
    @property
    def supports_structured_output(self) -> bool | None: ...
    @property
    def max_context_tokens(self) -> int | None: ...
    @property
    def accepted_image_media_types(self) -> Collection[str] | None: ...


CapabilityLookup = Callable[[str], Capabilities | None]
"""A model's record by its id; None where there is none."""

Unavailable = Callable[[str], str | None]
"""Why a model is passed over at the moment; None where it is not."""


class Failure(NamedTuple):
    code: FailureCode
    reason: str


def never_unavailable(model: str) -> str | None:
    """For programs that keep no account of failures."""
    return None


def failure_of(
    model: str,
    needs: Needs,
    registry: Registry,
    capabilities: CapabilityLookup,
    unavailable: Unavailable = never_unavailable,
) -> Failure | None:
    """What keeps a model from serving a turn with these needs. Only what is needed is checked."""
    if model not in registry:
        return Failure(FailureCode.NOT_CONFIGURED, "it is not configured")
    why = unavailable(model)
    if why is not None:
        return Failure(FailureCode.PROVIDER_UNAVAILABLE, why)
    return shortcoming_of(needs, capabilities(model)) or _distrust(model, needs, registry)


def _distrust(model: str, needs: Needs, registry: Registry) -> Failure | None:
    """What the turn's tools may do, and this model's turns may not."""
    allowed = registry.allowed_effects(model)
    if allowed is None:
        return None
    wrong = [effect.value for effect in needs.side_effects if effect not in allowed]
    if not wrong:
        return None
    text = f"it is not allowed tools that {' or '.join(_EFFECTS[each] for each in wrong)}"
    return Failure(FailureCode.SIDE_EFFECTS_NOT_ALLOWED, text)


_EFFECTS = {
    "none": "compute",
    "read": "read",
    "write": "write files",
    "execute": "execute code",
    "network": "change things over the network",
}


def shortcoming_of(needs: Needs, record: Capabilities | None) -> Failure | None:
    """What is needed and not declared. A missing declaration counts as yes for tools and system
    prompts, as no for images and structured output, and as no limit for the window."""
    problem = _image_problem(needs, record)
    if problem is not None:
        return Failure(FailureCode.NO_VISION_SUPPORT, problem)
    window = record.max_context_tokens if record is not None else None
    tokens = needs.input_tokens + needs.output_tokens
    if window is not None and tokens > window:
        text = f"about {tokens:,} tokens do not fit into its window of {window:,}"
        return Failure(FailureCode.EXCEEDS_CONTEXT_WINDOW, text)
    for needed, field, default, code, text in _SWITCHES:
        declared = getattr(record, field) if record is not None else None
        if getattr(needs, needed) and not (default if declared is None else declared):
            return Failure(code, text)
    return None


_SWITCHES = (
    (
        "tools",
        "supports_tools",
        True,
        FailureCode.NO_TOOL_SUPPORT,
        "it does not support tools",
    ),
    (
        "system_prompt",
        "supports_system_prompt",
        True,
        FailureCode.NO_SYSTEM_PROMPT_SUPPORT,
        "it does not support system prompts",
    ),
    (
        "structured_output",
        "supports_structured_output",
        False,
        FailureCode.NO_STRUCTURED_OUTPUT_SUPPORT,
        "it does not support structured output",
    ),
)


def _image_problem(needs: Needs, record: Capabilities | None) -> str | None:
    if needs.image_media_types is None:
        return None
    if record is None or not record.supports_images:
        return "it does not support images"
    accepted = record.accepted_image_media_types
    if not accepted:
        return None  # nothing is declared, so nothing can be refused
    known = {type.lower() for type in accepted}
    wrong = [t for t in needs.image_media_types if t != UNKNOWN_MEDIA_TYPE and t not in known]
    return f"it does not accept {', '.join(wrong)}" if wrong else None
