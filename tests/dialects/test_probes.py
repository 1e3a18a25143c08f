"""What the pages say of each thing: that it arrives, that it arrives without something, or not."""

from __future__ import annotations

import pytest

from interlingua.dialects.probes import PROBES, Fate, fate

CHAT = "openai-chat"


@pytest.mark.parametrize(
    ("name", "source", "target", "found"),
    [
        ("image with detail", CHAT, "anthropic", Fate("changed", ("detail",))),
        ("JSON schema output", CHAT, "gemini", Fate("changed", ("name",))),
        ("strict tool", CHAT, "ollama", Fate("changed", ("strict",))),
        ("name of a participant", CHAT, "anthropic", Fate("lost")),
        ("citation", CHAT, "ollama", Fate("lost")),
        ("audio", CHAT, "anthropic", Fate("lost")),
        ("seed", CHAT, "anthropic", Fate("lost")),
        ("tool with a grammar", CHAT, "openai-responses", Fate("kept")),
        ("user text", CHAT, "anthropic", Fate("kept")),
        ("video", CHAT, "gemini", Fate("-")),
    ],
)
def test_what_is_lost_is_told_from_what_arrives_without_it(
    name: str, source: str, target: str, found: Fate
) -> None:
    (probe,) = [each for each in PROBES if each.name == name]
    assert fate(probe, source, target) == found
