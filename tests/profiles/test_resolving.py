"""From what people call a model to its id."""

from __future__ import annotations

import pytest

from interlingua.profiles import AmbiguousModelError, UnknownModelError, resolve
from interlingua.profiles.resolving import Names

MEANT = {
    "gpt-5": "openai:gpt-5",
    "openai/gpt-5": "openai:gpt-5",
    "openai:gpt-5": "openai:gpt-5",
    "GPT-5": "openai:gpt-5",
    "gpt-5-2025-08-07": "openai:gpt-5-2025-08-07",
    "ft:gpt-4o-mini:acme::1": "openai:ft:gpt-4o-mini:acme::1",
    # Vertex has these too: whose model it is decides.
    "claude-sonnet-4-6": "anthropic:claude-sonnet-4-6",
    "claude-sonnet-4.6": "anthropic:claude-sonnet-4-6",
    "anthropic/claude-sonnet-4.6": "anthropic:claude-sonnet-4-6",
    "claude-haiku-4-5-20251001": "anthropic:claude-haiku-4-5-20251001",
    "gemini-2.5-pro": "gemini:gemini-2.5-pro",
    "models/gemini-2.5-pro": "gemini:gemini-2.5-pro",
    "vertex/gemini-2.5-pro": "vertex:gemini-2.5-pro",
    # Names of hosts have slashes and colons of their own.
    "google/gemini-2.5-pro": "openrouter:google/gemini-2.5-pro",
    "deepseek/deepseek-r1:free": "openrouter:deepseek/deepseek-r1:free",
    "openrouter/openai/gpt-5": "openrouter:openai/gpt-5",
    "groq/openai/gpt-oss-120b": "groq:openai/gpt-oss-120b",
    "us.amazon.nova-pro-v1:0": "bedrock:us.amazon.nova-pro-v1:0",
    "eu.anthropic.claude-opus-5-v1:0": "bedrock:eu.anthropic.claude-opus-5-v1:0",
    "llama3.2": "ollama:llama3.2",
    "llama3.2:1b": "ollama:llama3.2:1b",
    "ollama/of-my-own": "ollama:of-my-own",
    "smollm2-135m-instruct": "local:smollm2-135m-instruct",
    # Newer than any that is listed: a new model of its maker.
    "gpt-99": "openai:gpt-99",
    "claude-opus-99-20991231": "anthropic:claude-opus-99-20991231",
    "mistral-large-latest": "mistral:mistral-large-latest",
}


@pytest.mark.parametrize("name", MEANT)
def test_a_name_that_one_provider_has_is_its_model(name: str) -> None:
    assert resolve(name) == MEANT[name]


@pytest.mark.parametrize("name", ["gpt-oss-120b", "openai/gpt-oss-120b"])
def test_a_name_that_several_have_says_so(name: str) -> None:
    with pytest.raises(AmbiguousModelError, match="several providers have") as caught:
        resolve(name)
    assert {"groq:openai/gpt-oss-120b", "openrouter:openai/gpt-oss-120b"} <= set(caught.value.near)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("claude-sonet-4-6", "anthropic:claude-sonnet-4-6"),
        ("gpt5", "openai:gpt-5"),
        ("gpt-5-turbo-mini", "openai:gpt-5-mini"),
        ("sonet", "sonnet"),
        ("cluade", "anthropic:claude-sonnet-5-5"),
        ("text-embeding-3-smal", "openai:text-embedding-3-small"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest_ones(name: str, near: str) -> None:
    with pytest.raises(UnknownModelError, match="<provider>:<name>") as caught:
        resolve(name)
    assert near in caught.value.near


def test_providers_of_the_users_own_are_known_by_their_names() -> None:
    assert resolve("acme/their/model", providers=("acme",)) == "acme:their/model"
    assert resolve("acme:m", providers=("acme",)) == "acme:m"
    with pytest.raises(UnknownModelError):
        resolve("acme/m")


@pytest.mark.parametrize("name", ["my-vllm:zai-org/GLM-4.6", "my-vllm:gpt-5", "my-vllm:x/gpt-99"])
def test_an_id_of_a_provider_that_is_not_known_here_stays_as_it_is(name: str) -> None:
    assert resolve(name) == name


@pytest.mark.parametrize("name", ["their-org/claude-sonnet-4-6", "their-org/gpt-99"])
def test_somebody_elses_copy_of_a_model_is_not_its_makers(name: str) -> None:
    with pytest.raises(UnknownModelError):
        resolve(name)


def test_an_alias_of_ones_own_may_lead_to_a_plain_name() -> None:
    assert resolve("best", {"best": "gpt-5"}) == "openai:gpt-5"
    assert resolve("gpt-5", {"gpt-5": "azure:my-deployment"}) == "azure:my-deployment"


def test_names_of_the_provider_that_comes_first_are_its_own() -> None:
    assert resolve("mistral-small") == "mistral:mistral-small-2603"
    assert resolve("mistral-small", first="ollama") == "ollama:mistral-small"
    assert resolve("mistral:7b", first="ollama") == "ollama:mistral:7b"
    assert resolve("mistral:mistral-small-2603", first="ollama") == "mistral:mistral-small-2603"
    assert resolve("gpt-5", first="ollama") == "openai:gpt-5"


def test_only_the_ids_that_are_given_are_found() -> None:
    names = Names(["openai:gpt-5", "azure:gpt-5", "azure:mine"])
    assert names.find("gpt-5") == "openai:gpt-5"
    assert names.find("mine") == "azure:mine"
    assert names.find("claude-sonnet-4-6") is None
    with pytest.raises(AmbiguousModelError):
        Names(["azure:gpt-5", "openrouter:gpt-5"]).find("gpt-5")
