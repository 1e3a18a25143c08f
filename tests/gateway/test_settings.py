"""Which route a client's name means."""

from __future__ import annotations

import pytest

from interlingua.gateway.settings import RouteSettings, find_route, route_name

ROUTES = {
    "gpt-5": RouteSettings("anthropic:claude-sonnet-4-6"),
    "gpt-*": RouteSettings("openai:*", ("openrouter:openai/*",)),
    "gpt-4*": RouteSettings("azure:*"),
    "team/*": RouteSettings("openai:*"),
    "cheap-*": RouteSettings("openai:gpt-5-nano"),
}


@pytest.mark.parametrize(
    ("name", "route", "model"),
    [
        ("gpt-5", "gpt-5", "anthropic:claude-sonnet-4-6"),
        ("gpt-5-mini", "gpt-*", "openai:gpt-5-mini"),
        ("gpt-4.1", "gpt-4*", "azure:gpt-4.1"),
        ("team/gpt-5", "team/*", "openai:gpt-5"),
        ("cheap-anything", "cheap-*", "openai:gpt-5-nano"),
    ],
)
def test_an_exact_name_comes_first_then_the_longest_wildcard(
    name: str, route: str, model: str
) -> None:
    found = find_route(ROUTES, name)
    assert (route_name(ROUTES, name), found and found.model) == (route, model)


def test_fallbacks_of_a_wildcard_have_the_name_too() -> None:
    found = find_route(ROUTES, "gpt-5-mini")
    assert found is not None
    assert found.fallbacks == ("openrouter:openai/gpt-5-mini",)


def test_other_names_have_no_route() -> None:
    assert find_route(ROUTES, "claude-sonnet-4-6") is None
    assert find_route(ROUTES, "") is None
