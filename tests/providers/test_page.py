"""The page about providers says what the data says."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from interlingua.providers import provider, providers
from interlingua.providers.provider import Provider

PAGE = Path(__file__).parents[2] / "docs" / "providers.md"


@pytest.mark.parametrize("key", list(providers()))
def test_the_page_has_a_row_with_every_variable(key: str) -> None:
    text = PAGE.read_text(encoding="utf-8")
    [row] = [line for line in text.splitlines() if line.startswith(f"| `{key}` |")]
    asked = provider(key)
    names = [name for auth in asked.auth for name in auth.env]
    names += [*asked.base_url_env, *(n for v in asked.variables.values() for n in v.env)]
    for content in (*names, *asked.dialects, asked.base_url or ""):
        assert content in row


def test_the_page_names_every_field_of_the_file() -> None:
    text = PAGE.read_text(encoding="utf-8")
    own = {"elsewhere", "source", "api_key", "key"}
    for field in msgspec.structs.fields(Provider):
        assert field.name in own or f"`{field.name}" in text, field.name
