"""Names, short names and capabilities of models."""

from __future__ import annotations

import json

import pytest

import interlingua as il
from interlingua.costs import bundled
from interlingua.profiles import (
    Capabilities,
    UnknownModelError,
    aliases,
    capabilities,
    known_models,
    model_name,
    provider_capabilities,
    resolve,
    usual_dialect,
)
from interlingua.profiles.capabilities import providers
from interlingua.profiles.profile import profile_of

FIELDS = [
    "supports_thinking",
    "supports_images",
    "supports_tools",
    "supports_system_prompt",
    "supports_structured_output",
    "supports_streaming",
    "supports_streaming_tool_calls",
    "supports_parallel_tool_calls",
    "supports_prompt_caching",
    "supports_system_messages_in_list",
    "max_context_tokens",
    "max_output_tokens",
    "accepted_image_media_types",
]


@pytest.mark.requirement("S002-69")
@pytest.mark.parametrize(
    ("id", "provider", "name"),
    [
        ("anthropic:claude-sonnet-4-6", "anthropic", "claude-sonnet-4-6"),
        ("openrouter:deepseek/deepseek-v3", "openrouter", "deepseek/deepseek-v3"),
        ("gemini:gemini-2.5-pro", "gemini", "gemini-2.5-pro"),
        ("ollama:qwen3:8b", "ollama", "qwen3:8b"),
        ("bedrock:us.amazon.nova-lite-v1:0", "bedrock", "us.amazon.nova-lite-v1:0"),
    ],
)
def test_an_id_is_provider_and_name_cut_at_the_first_colon(
    id: str, provider: str, name: str
) -> None:
    assert model_name(id) == (provider, name)
    assert str(model_name(id)) == id


@pytest.mark.parametrize("wrong", ["", "gpt-5", ":gpt-5", "openai:", "deepseek/v3:free"])
def test_what_is_no_id_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match="<provider>:<name>"):
        model_name(wrong)


@pytest.mark.requirement("S002-70")
def test_every_alias_names_a_model_that_has_prices_and_capabilities() -> None:
    for alias, id in aliases().items():
        assert ":" not in alias
        assert resolve(alias) == id
        assert id in bundled().models
        assert capabilities(id)
    assert resolve("sonnet").startswith("anthropic:claude-sonnet")


@pytest.mark.requirement("S002-70")
def test_own_aliases_come_first_and_ids_stand_for_themselves() -> None:
    assert resolve("sonnet", {"sonnet": "acme:sonnet"}) == "acme:sonnet"
    assert resolve("acme:whatever") == "acme:whatever"
    with pytest.raises(UnknownModelError, match="near: sonnet"):
        resolve("sonet")
    with pytest.raises(UnknownModelError, match="anthropic:claude-sonnet-4-6"):
        resolve("claude-sonet-4-6")


@pytest.mark.requirement("S002-81")
def test_a_record_has_thirteen_fields_and_survives_json() -> None:
    assert list(Capabilities.__struct_fields__) == FIELDS
    record = capabilities("anthropic:claude-sonnet-4-6")
    assert il.loads(il.dumps(record), type=Capabilities) == record
    assert record.supports_tools
    assert record.max_context_tokens == 1_000_000
    assert not record.supports_system_messages_in_list
    assert "image/png" in record.accepted_image_media_types


UNPRICED = {
    "openai:gpt-5.1-mini",
    "gemini:gemini-omni-1.2-flash",
    "gemini:gemini-omni-flash-preview",
    "gemini:gemini-robotics-er-1.6-preview",
    "gemini:gemma-4-26b-a4b-it",
    "gemini:gemma-4-31b-it",
    "gemini:lyria-3-clip-preview",
    "gemini:lyria-3-pro-preview",
    "gemini:lyria-3.5",
}
"""Models that the vendors' SDKs name and whose price is not known (2026-11-19): not 0."""


@pytest.mark.requirement("S002-70", "S002-81")
def test_every_priced_model_has_capabilities_and_the_other_way_round() -> None:
    alias = "openai:gpt-daybreak-blue-latest"  # priced as what it stands for
    assert set(known_models()) == set(bundled().models) | UNPRICED | {alias}
    assert not UNPRICED & set(bundled().models)
    for id in known_models():
        record = capabilities(id)
        assert (record.max_context_tokens or 0) >= 2048, id
        assert record.max_output_tokens is None or record.max_output_tokens > 0, id


@pytest.mark.requirement("S002-83")
def test_no_record_says_more_than_its_dialect_can() -> None:
    """Where instructions stand, what goes with what, and no more than can be written."""
    for id in known_models():
        record, dialect = capabilities(id), il.dialect(usual_dialect(id))
        provider, _, name = id.partition(":")
        mid = profile_of(name, provider, dialect.name).instructions.mid
        lists = not dialect.traits.hoists_instructions or mid in ("any", "after-user")
        assert record.supports_system_messages_in_list is lists, id
        assert record.supports_images == bool(record.accepted_image_media_types), id
        if not record.supports_tools:
            assert not record.supports_parallel_tool_calls, id
            assert not record.supports_streaming_tool_calls, id


@pytest.mark.requirement("S002-83")
@pytest.mark.parametrize("name", il.dialects())
def test_dialects_of_models_with_structured_output_write_the_schema(name: str) -> None:
    claims = [id for id in known_models() if usual_dialect(id) == name]
    claims = [id for id in claims if capabilities(id).supports_structured_output]
    schema = {"type": "object", "properties": {"told_apart": {"type": "string"}}}
    options = il.Options(
        max_output_tokens=10, response_format=il.ResponseFormat("json_schema", "n", schema)
    )
    request = il.Request((il.Message.user("hi"),), "m", options=options)
    wire = json.dumps(il.dialect(name).write_request(request).wire)
    assert not claims or "told_apart" in wire


def test_thinking_that_a_dialect_does_not_show_is_not_supported() -> None:
    assert not capabilities("openai:gpt-5").supports_thinking
    assert capabilities("openai:gpt-5", "openai-responses").supports_thinking
    assert not capabilities("openai:gpt-4o", "openai-responses").supports_thinking


@pytest.mark.requirement("S002-82", "S002-84")
def test_capabilities_answer_what_routing_and_swapping_ask() -> None:
    blind = capabilities("groq:llama-3.3-70b-versatile")
    assert not blind.accepts_image("image/png")
    seeing = capabilities("anthropic:claude-sonnet-4-6")
    assert seeing.accepts_image("image/PNG")
    assert seeing.accepts_image(None)
    assert not seeing.accepts_image("image/tiff")
    # The bundled local model can be tried with tools, though it is too small to choose them well.
    assert capabilities("local:smollm2-135m-instruct").supports_tools
    assert not capabilities("ollama:llava").supports_tools
    assert capabilities("ollama:qwen3:8b").supports_tools


def test_editions_and_other_names_have_the_capabilities_of_their_model() -> None:
    assert capabilities("openai:gpt-5-2025-08-07") == capabilities("openai:gpt-5")
    regional = capabilities("bedrock:eu.anthropic.claude-sonnet-4-6")
    assert regional == capabilities("bedrock:us.anthropic.claude-sonnet-4-6")


def test_unknown_models_are_an_error_and_have_their_providers_least() -> None:
    with pytest.raises(UnknownModelError, match="near: openai:gpt-5"):
        capabilities("openai:gpt-5-typo")
    least = provider_capabilities("openrouter")
    assert least.supports_tools
    assert not least.supports_structured_output
    assert usual_dialect("openrouter:somebody/new") == "openrouter"
    with pytest.raises(UnknownModelError):
        provider_capabilities("nobody")
    assert {usual_dialect(f"{provider}:x") for provider in providers()} <= set(il.dialects())
