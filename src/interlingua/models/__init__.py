"""Models: their names, their short names, and what each can do."""

from interlingua.models.aliases import aliases
from interlingua.models.capabilities import (
    Capabilities,
    capabilities,
    expected_capabilities,
    known_models,
    provider_capabilities,
    usual_dialect,
)
from interlingua.models.names import (
    AmbiguousModelError,
    ModelName,
    UnknownModelError,
    model_name,
)
from interlingua.models.resolving import resolve

__all__ = [
    "AmbiguousModelError",
    "Capabilities",
    "ModelName",
    "UnknownModelError",
    "aliases",
    "capabilities",
    "expected_capabilities",
    "known_models",
    "model_name",
    "provider_capabilities",
    "resolve",
    "usual_dialect",
]
