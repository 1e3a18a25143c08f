"""Where each provider is asked, and with which body."""

from __future__ import annotations

import string
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.profiles import known_models, usual_dialect
from interlingua.profiles.capabilities import providers as capable_providers
from interlingua.providers import (
    MissingSettingError,
    ProviderSetupError,
    UnknownProviderError,
    dialect_for,
    endpoint,
    provider,
    providers,
)

ENVIRON = {
    "AWS_REGION": "eu-west-1",
    "GOOGLE_CLOUD_PROJECT": "proj",
    "AZURE_OPENAI_ENDPOINT": "https://acme.openai.azure.com/",
    "INTERLINGUA_LOCAL_URL": "http://127.0.0.1:9",
}


@pytest.mark.parametrize(
    ("model", "stream", "url"),
    [
        ("anthropic:claude-x", True, "https://api.anthropic.com/v1/messages"),
        ("openai:gpt-x", False, "https://api.openai.com/v1/chat/completions"),
        ("azure:my-deployment", True, "https://acme.openai.azure.com/openai/v1/chat/completions"),
        (
            "gemini:models/gemini-x",
            True,
            "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse",
        ),
        (
            "vertex:gemini-x",
            False,
            "https://aiplatform.googleapis.com/v1/projects/proj/locations/global/publishers/google/models/gemini-x:generateContent",
        ),
        (
            "vertex:claude-new@20990101",
            True,
            "https://aiplatform.googleapis.com/v1/projects/proj/locations/global/publishers/anthropic/models/claude-new%4020990101:streamRawPredict",
        ),
        ("ollama:qwen3:8b", True, "http://localhost:11434/api/chat"),
        ("openrouter:a/b", False, "https://openrouter.ai/api/v1/chat/completions"),
        ("mistral:m", False, "https://api.mistral.ai/v1/chat/completions"),
        ("groq:m", False, "https://api.groq.com/openai/v1/chat/completions"),
        ("deepseek:m", False, "https://api.deepseek.com/chat/completions"),
        ("xai:m", False, "https://api.x.ai/v1/chat/completions"),
        (
            "bedrock:us.amazon.nova-lite-v1:0",
            True,
            "https://bedrock-runtime.eu-west-1.amazonaws.com/model/us.amazon.nova-lite-v1%3A0/converse-stream",
        ),
        ("local:smollm2-135m-instruct", False, "http://127.0.0.1:9/v1/chat/completions"),
    ],
)
def test_each_provider_is_asked_at_its_address(model: str, stream: bool, url: str) -> None:
    found = endpoint(model, stream=stream, environ=ENVIRON)
    assert (found.method, found.url, found.stream) == ("POST", url, stream)
    assert found.headers["content-type"] == "application/json"


@pytest.mark.parametrize("key", list(providers()))
def test_every_path_of_every_provider_makes_an_address(key: str) -> None:
    asked = provider(key)
    for dialect, paths in asked.dialects.items():
        for stream in (False, True):
            found = endpoint(f"{key}:m", stream=stream, environ=ENVIRON, dialect=dialect)
            assert "{" not in found.url
            assert found.dialect == dialect
        if paths.count_tokens:
            assert endpoint(f"{key}:m", "count_tokens", environ=ENVIRON, dialect=dialect).url
    if asked.models:
        listing = endpoint(f"{key}:m", "models", environ=ENVIRON)
        assert listing.method == "GET"
        assert listing.model is None


@pytest.mark.requirement("S002-69")
def test_providers_are_those_that_capabilities_know_and_speak_their_dialects() -> None:
    assert set(providers()) == set(capable_providers())
    for model in known_models():
        asked = provider(model.partition(":")[0])
        assert dialect_for(model, asked) == usual_dialect(model)


def test_an_address_in_the_environment_replaces_the_usual_one() -> None:
    environ = {"OPENAI_BASE_URL": "https://proxy.test/openai/"}
    assert endpoint("openai:m", environ=environ).url == "https://proxy.test/openai/chat/completions"
    given = endpoint("openai:m", environ=environ, base_url="http://127.0.0.1:1/v1")
    assert given.url == "http://127.0.0.1:1/v1/chat/completions"


@pytest.mark.parametrize(
    ("said", "base"),
    [
        ("127.0.0.1", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("box:80", "http://box:80"),
        ("[::1]:99", "http://[::1]:99"),
        ("https://ollama.test/x/", "https://ollama.test/x"),
        (":99", "http://localhost:99"),
    ],
)
def test_the_ollama_variable_may_leave_out_scheme_and_port(said: str, base: str) -> None:
    assert endpoint("ollama:m", environ={"OLLAMA_HOST": said}).url == f"{base}/api/chat"


@pytest.mark.parametrize(
    ("location", "host"),
    [
        ("us-central1", "us-central1-aiplatform.googleapis.com"),
        ("global", "aiplatform.googleapis.com"),
        ("eu", "aiplatform.eu.rep.googleapis.com"),
    ],
)
def test_a_wide_region_of_vertex_has_a_host_of_its_own(location: str, host: str) -> None:
    environ = {**ENVIRON, "GOOGLE_CLOUD_LOCATION": location}
    found = endpoint("vertex:gemini-x", environ=environ)
    assert urlsplit(found.url).netloc == host
    assert f"/locations/{location}/" in found.url


@given(name=st.text(alphabet=string.printable, min_size=1, max_size=40))
def test_no_model_name_leads_to_another_place(name: str) -> None:
    """Names come from clients: none may change the host, leave its segment or add a query."""
    for key, before, after in (
        ("bedrock", "/model/", "/converse"),
        ("gemini", "/v1beta/models/", ":generateContent"),
    ):
        try:
            url = endpoint(f"{key}:{name}", environ=ENVIRON).url
        except ProviderSetupError:
            assert set(name.removeprefix("models/")) == {"."}
            continue
        parts = urlsplit(url)
        assert not parts.query
        assert not parts.fragment
        segment = parts.path.removeprefix(before).removesuffix(after)
        assert "/" not in segment
        assert unquote(segment) == (name.removeprefix("models/") if key == "gemini" else name)


@pytest.mark.parametrize("region", ["evil.test/", "a b", "..", "x@y", "a.b"])
def test_a_region_cannot_name_a_host(region: str) -> None:
    with pytest.raises(ProviderSetupError, match="letters, digits"):
        endpoint("bedrock:m", environ={"AWS_REGION": region})


def test_what_is_missing_is_named() -> None:
    with pytest.raises(MissingSettingError, match="no region: set AWS_REGION or AWS_DEFAULT_"):
        endpoint("bedrock:m")
    with pytest.raises(MissingSettingError, match="no address: set AZURE_OPENAI_ENDPOINT"):
        endpoint("azure:m")
    with pytest.raises(UnknownProviderError, match="near: anthropic"):
        provider("antropic")
    with pytest.raises(ProviderSetupError, match="does not support 'gemini', only openai-chat"):
        endpoint("openai:m", dialect="gemini")
    with pytest.raises(ProviderSetupError, match="no endpoint to count tokens"):
        endpoint("groq:m", "count_tokens")
    with pytest.raises(ProviderSetupError, match="is a model of 'groq'"):
        endpoint("groq:m", provider=provider("xai"))


@pytest.mark.parametrize(
    "url", ["ftp://x", "https://u:p@x", "https://x/?a=1", "https://", "https://x y"]
)
def test_an_odd_address_is_refused(url: str) -> None:
    with pytest.raises(ProviderSetupError, match="base address"):
        endpoint("openai:m", base_url=url)
