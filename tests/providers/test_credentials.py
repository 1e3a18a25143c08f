"""Where keys are found, and how each provider wants to see them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from interlingua.providers import (
    AuthorisedRequest,
    MissingSettingError,
    ProviderSetupError,
    authorise,
    compatible,
    credentials,
    endpoint,
    provider,
    providers,
)

ENVIRON = {"AWS_REGION": "us-east-1", "GOOGLE_CLOUD_PROJECT": "p"}


def ready(model: str, environ: dict[str, str], token: str | None = None) -> AuthorisedRequest:
    asked = provider(model.partition(":")[0])
    found = credentials(asked, environ, token)
    return authorise(endpoint(model, environ={**ENVIRON, **environ}), asked, found, b"{}")


@pytest.mark.parametrize(
    ("model", "variable", "header", "value"),
    [
        ("anthropic:m", "ANTHROPIC_API_KEY", "x-api-key", "k"),
        ("anthropic:m", "ANTHROPIC_AUTH_TOKEN", "authorization", "Bearer k"),
        ("openai:m", "OPENAI_API_KEY", "authorization", "Bearer k"),
        ("gemini:m", "GEMINI_API_KEY", "x-goog-api-key", "k"),
        ("vertex:m", "GOOGLE_OAUTH_ACCESS_TOKEN", "authorization", "Bearer k"),
        ("bedrock:m", "AWS_BEARER_TOKEN_BEDROCK", "authorization", "Bearer k"),
        ("ollama:m", "OLLAMA_API_KEY", "authorization", "Bearer k"),
    ],
)
def test_a_key_is_put_where_the_provider_looks(
    model: str, variable: str, header: str, value: str
) -> None:
    sent = ready(model, {variable: " k\n"})
    assert sent.headers[header] == value
    assert "k" not in sent.url.rpartition("/")[2].replace("converse", "")


def test_azure_takes_a_key_in_a_header_of_its_own() -> None:
    environ = {"AZURE_OPENAI_API_KEY": "k", "AZURE_OPENAI_ENDPOINT": "https://x.test"}
    assert ready("azure:m", environ).headers["api-key"] == "k"


def test_variables_are_tried_in_order() -> None:
    both = {"ANTHROPIC_AUTH_TOKEN": "t", "ANTHROPIC_API_KEY": "k"}
    assert credentials(provider("anthropic"), both).source == "ANTHROPIC_API_KEY"
    empty = {**both, "ANTHROPIC_API_KEY": " "}
    assert credentials(provider("anthropic"), empty).source == "ANTHROPIC_AUTH_TOKEN"


@pytest.mark.parametrize("key", [k for k in providers() if k not in ("ollama", "local")])
def test_without_a_key_the_error_names_all_variables_and_the_file(
    key: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("INTERLINGUA_HOME", str(tmp_path))
    with pytest.raises(MissingSettingError) as missing:
        credentials(provider(key), {})
    for auth in provider(key).auth:
        for name in auth.env:
            assert name in str(missing.value)
    assert str(tmp_path / "providers.toml") in str(missing.value)
    assert missing.value.variables


@pytest.mark.parametrize("key", ["ollama", "local"])
def test_some_need_no_key(key: str) -> None:
    assert credentials(provider(key), {}).style == "none"


def test_a_token_may_come_from_a_function_each_time() -> None:
    tokens = iter(["one", "two"])
    vertex = provider("vertex")
    place = endpoint("vertex:m", environ=ENVIRON)
    sent = [
        authorise(place, vertex, credentials(vertex, {}, lambda: next(tokens))).headers
        for _ in range(2)
    ]
    assert [each["authorization"] for each in sent] == ["Bearer one", "Bearer two"]


def test_bedrock_signs_for_its_region_and_the_body() -> None:
    environ = {
        **ENVIRON,
        "AWS_ACCESS_KEY_ID": "AKID",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_SESSION_TOKEN": "session",
    }
    bedrock = provider("bedrock")
    place = endpoint("bedrock:amazon.nova:0", environ=environ)
    found = credentials(bedrock, environ)
    at = datetime(2026, 1, 2, tzinfo=UTC)
    first, second = (authorise(place, bedrock, found, body, at).headers for body in (b"1", b"2"))
    assert "Credential=AKID/20260102/us-east-1/bedrock/aws4_request" in first["authorization"]
    assert first["x-amz-security-token"] == "session"
    assert "secret" not in str(first)
    assert first["authorization"] != second["authorization"]


def test_half_of_an_aws_key_is_no_key() -> None:
    with pytest.raises(MissingSettingError, match="AWS_SECRET_ACCESS_KEY"):
        credentials(provider("bedrock"), {"AWS_ACCESS_KEY_ID": "AKID"})


def test_variables_that_are_needed_together_are_joined_with_and() -> None:
    with pytest.raises(MissingSettingError) as missing:
        credentials(provider("bedrock"), {})
    assert (
        "set AWS_BEARER_TOKEN_BEDROCK or both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        " (with AWS_SESSION_TOKEN, if they are temporary), or write key in" in str(missing.value)
    )


def test_a_key_goes_over_https_or_to_this_machine() -> None:
    far = compatible("acme", "http://far.test/v1")
    found = credentials(far, {"ACME_API_KEY": "k"})
    with pytest.raises(ProviderSetupError, match="plain http"):
        authorise(endpoint("acme:m", provider=far), far, found)
    allowed = compatible("acme", "http://far.test/v1", insecure=True)
    assert authorise(endpoint("acme:m", provider=allowed), allowed, found).headers["authorization"]
    for near in ("http://127.0.0.1:1/v1", "http://[::1]/v1", "http://localhost/v1"):
        box = compatible("acme", near)
        assert authorise(endpoint("acme:m", provider=box), box, found).headers["authorization"]
