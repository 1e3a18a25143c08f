"""Capabilities, rules and names of models."""

from interlingua.profiles.capabilities import (
    Capabilities,
    capabilities,
    expected_capabilities,
    known_models,
    provider_capabilities,
    usual_dialect,
)
from interlingua.profiles.names import AmbiguousModelError, ModelName, UnknownModelError, model_name
from interlingua.profiles.resolving import aliases, resolve

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
