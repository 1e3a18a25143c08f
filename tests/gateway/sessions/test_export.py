"""Exports over HTTP with patterns of the user's own."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from interlingua.transcripts.exports import KINDS
from tests.gateway.serving import OPENAI, Upstream, served
from tests.gateway.sessions.test_api import new, rest, say

pytest.importorskip("re2", reason="the extra `redaction` is not installed")
PATTERNS = (r"\w+", "a|", r"^(\w+\s?)*$", "(?i)ſ", "[[:alpha:]]", "(?s).*", "", "hello", "s.*y")


def test_a_pattern_that_matches_names_of_the_export_itself_is_no_error(tmp_path: Path) -> None:
    async def ask() -> None:
        with Upstream() as provider:
            provider.configure(tmp_path)
            async with served(tmp_path) as gateway:
                id = await new(gateway, name="a summary", active_model=OPENAI)
                await say(gateway, id, "ſay hello to session and messages")
                await rest(gateway, id)
                for pattern in PATTERNS:
                    body = {"patterns": {"own": pattern}}
                    status, found, _ = await gateway.ask("POST", f"/sessions/{id}/redaction", body)
                    assert status == 200, (pattern, found)
                    places = [each for one in found["findings"] for each in one["places"]]
                    assert bool(places) == (pattern != ""), pattern
                    assert all("redacted" not in each["place"] for each in places), pattern
                    for format in KINDS:
                        wanted = {**body, "format": format}
                        status, made, _ = await gateway.ask(
                            "POST", f"/sessions/{id}/export", wanted
                        )
                        assert status == 200, (pattern, format, made)

    asyncio.run(ask())
