"""Providers by key: those of the package, with a user's file laid over them."""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from interlingua.config import PROVIDERS, config_folder
from interlingua.providers.errors import UnknownProviderError
from interlingua.providers.provider import Provider
from interlingua.providers.read import read_file, read_providers


def own_path() -> Path:
    """The user's file of providers."""
    return config_folder() / PROVIDERS


def providers(file: Path | None = None) -> dict[str, Provider]:
    """Every provider by key. `file` is the user's, which need not exist; None: only ours."""
    bundled, tables = _bundled()
    if file is None:
        return dict(bundled)
    return {**bundled, **read_file(file, tables)[0]}


def provider(key: str, file: Path | None = None) -> Provider:
    """One provider; an `UnknownProviderError` names those that look like it."""
    known = providers(file)
    if key not in known:
        raise UnknownProviderError(key, known, str(file) if file else None)
    return known[key]


@cache
def _bundled() -> tuple[dict[str, Provider], dict[str, dict[str, Any]]]:
    file = resources.files(__package__).joinpath("data", "providers.toml")
    made, tables = read_providers(file.read_bytes(), "providers.toml")
    return made, tables
