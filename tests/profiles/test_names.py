"""What a name says about its model, whatever a provider calls it."""

from __future__ import annotations

import pytest

from interlingua.costs import bundled
from interlingua.profiles.capabilities import capabilities, expected_capabilities
from interlingua.profiles.names import UnknownModelError
from interlingua.profiles.profile import profile_of

# Names that are in no list of ours: regions, editions, variants and models that are new.
SEEING = [
    "bedrock:au.anthropic.claude-opus-4-6-v1",
    "bedrock:ca.anthropic.claude-haiku-4-5-20251001-v1:0",
    "bedrock:us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "bedrock:us.anthropic.claude-sonnet-4-20250514-v1:0",
    "bedrock:anthropic.claude-3-haiku-20240307-v1:0:200k",
    "bedrock:apac.amazon.nova-lite-v1:0",
    "bedrock:us.meta.llama4-maverick-17b-instruct-v1:0",
    "bedrock:arn:aws:bedrock:us-east-1:0:inference-profile/us.anthropic.claude-opus-5-v1:0",
    "bedrock:us.anthropic.claude-opus-9-v1:0",
    "openrouter:anthropic/claude-sonnet-4.6:beta",
    "openrouter:~anthropic/claude-opus-latest",
    "openrouter:google/gemini-2.5-flash-preview-09-2025",
    "openrouter:meta-llama/llama-4-maverick:free",
    "openrouter:openai/gpt-4o-2024-11-20",
    "openrouter:openai/gpt-6.1-sol:nitro",
    "openrouter:x-ai/grok-4-fast",
    "openrouter:somebody/brand-new-vl",
    "vertex:claude-opus-4-8@20260528",
    "gemini:models/gemini-3.8-flash",
    "openai:gpt-7",
    "azure:our-deployment",
    "somebody:whatever",
]


@pytest.mark.parametrize("id", SEEING)
def test_no_unlisted_name_costs_a_model_its_pictures(id: str) -> None:
    assert expected_capabilities(id).supports_images
    provider, _, name = id.partition(":")
    assert profile_of(name, provider).media.image is not False


def test_a_model_that_is_known_to_be_blind_is_so_in_every_edition() -> None:
    assert not expected_capabilities("bedrock:eu.amazon.nova-micro-v1:0").supports_images
    assert not expected_capabilities("openai:gpt-3.5-turbo-0613").supports_images


def test_an_unknown_edition_costs_what_its_model_costs() -> None:
    prices = bundled()
    assert prices.find("anthropic:claude-sonnet-4-6-20260901") == "anthropic:claude-sonnet-4-6"
    regional = prices.find("bedrock:ca.anthropic.claude-opus-5")
    assert regional == "bedrock:us.anthropic.claude-opus-5"
    assert prices.find("bedrock:global.anthropic.claude-opus-5-v1:0").startswith("bedrock:global.")


def test_a_variant_at_another_price_is_not_priced_like_its_model() -> None:
    id = "openrouter:anthropic/claude-sonnet-4.6"
    assert id in bundled()
    with pytest.raises(UnknownModelError):
        bundled().find(f"{id}:free")
    assert capabilities(f"{id}:free").supports_images
