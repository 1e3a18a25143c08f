"""A model's name taken apart."""

from __future__ import annotations

import pytest

from interlingua.profiles.names import NEWEST, name_parts

SONNET = [
    "claude-sonnet-4-5",
    "claude-sonnet-4-5-20250929",
    "claude-sonnet-4-5@20250929",
    "claude-sonnet-4-5@default",
    "claude-sonnet-4.5",
    "Claude-Sonnet-4.5",
    "anthropic/claude-sonnet-4.5",
    "anthropic/claude-sonnet-4.5:beta",
    "~anthropic/claude-sonnet-4.5",
    "anthropic.claude-sonnet-4-5-20250929-v1:0",
    "anthropic.claude-sonnet-4-5-20250929-v1:0:200k",
    "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "global.anthropic.claude-sonnet-4-5",
    "arn:aws:bedrock:eu-west-1:0:inference-profile/eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
]


@pytest.mark.parametrize("name", SONNET)
def test_one_model_has_one_reduced_name(name: str) -> None:
    parts = name_parts(name)
    assert parts[:4] == ("claude-sonnet-4-5", "claude", (4, 5), frozenset({"sonnet"}))


@pytest.mark.parametrize(
    ("name", "family", "version", "words"),
    [
        ("claude-3-7-sonnet-latest", "claude", (3, 7), {"sonnet"}),
        ("claude-opus-4-20250514", "claude", (4, 0), {"opus"}),
        ("~anthropic/claude-opus-latest", "claude", NEWEST, {"opus"}),
        ("gpt-5.6-terra", "gpt", (5, 6), {"terra"}),
        ("gpt-4o-mini-2024-07-18", "gpt", (4, 0), {"4o", "mini"}),
        ("gpt-4-0613", "gpt", (4, 0), set()),
        ("ft:gpt-4.1-mini-2025-04-14:acme::1", "gpt", (4, 1), {"mini"}),
        ("gpt-35-turbo-16k", "gpt", (3, 5), {"turbo", "16k"}),
        ("claude-opus-41", "claude", (4, 1), {"opus"}),
        ("o3-mini", "o", (3, 0), {"mini"}),
        ("openai/gpt-oss-120b:free", "gpt-oss", None, {"120b"}),
        ("openai.gpt-oss-20b-1:0", "gpt-oss", None, {"20b"}),
        ("models/gemini-2.5-flash-lite-preview-09-2025", "gemini", (2, 5), {"flash", "lite"}),
        ("gemini-2.0-flash-001", "gemini", (2, 0), {"flash"}),
        ("us.amazon.nova-2-lite-v1:0", "nova", (2, 0), {"lite"}),
        ("amazon.nova-pro-v1:0", "nova", None, {"pro"}),
        ("deepseek.v3-v1:0", "deepseek", (3, 0), {"v3"}),
        ("deepseek-v4-pro", "deepseek", (4, 0), {"v4", "pro"}),
        ("us.meta.llama3-1-70b-instruct-v1:0", "llama", (3, 1), {"70b", "instruct"}),
        ("qwen2.5:72b", "qwen", (2, 5), set()),
        ("mistral-large-2512", "mistral", None, {"large", "2512"}),
        ("somebody/their-model", "their", None, {"model"}),
    ],
)
def test_family_and_version_are_read_from_a_name(
    name: str, family: str, version: tuple[int, int] | None, words: set[str]
) -> None:
    assert name_parts(name)[1:4] == (family, version, frozenset(words))
