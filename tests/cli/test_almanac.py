"""The almanac on the command line."""

from __future__ import annotations

import json

from tests.cli.running import ok


def test_it_counts_words_and_prints_all_as_json() -> None:
    assert "rules about models" in ok("almanac")
    whole = json.loads(ok("almanac", "--json"))
    assert {"version", "words", "rules", "endpoints"} == set(whole)
    assert len(whole["words"]) > 4000
    messages = {"package": "anthropic", "method": "POST", "path": "/v1/messages"}
    assert any(messages.items() <= each.items() for each in whole["endpoints"])


def test_one_surface_alone() -> None:
    assert ok("almanac", "--surface", "cohere").startswith("cohere ")
    found = json.loads(ok("almanac", "--surface", "cohere", "--json"))["words"]
    assert {each["surface"] for each in found} == {"cohere"}
