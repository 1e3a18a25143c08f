"""A thousand secrets in all fields of messages are gone, and nothing else is."""

from __future__ import annotations

import base64
import json
import re

import pytest

import interlingua as il
from interlingua.transcripts.redaction import redact, redact_lines
from tests.transcripts.redaction.planted import MAKERS, message_with, secrets

COUNT = 1000
HARMLESS = (
    "max_tokens: 4096, input_tokens=12345678, token_count = 99999999",
    "token: str | None = None",
    "password: string",
    'api_key = os.environ["OPENAI_API_KEY"]',
    "api_key=os.environ.get('KEY')",
    "OPENAI_API_KEY=your-api-key-here",
    "export TOKEN=$GITHUB_TOKEN",
    "TOKEN=${TOKEN:-}",
    "password = getpass()",
    "secret=<your secret>",
    "Authorization: Bearer <token>",
    "Authorization: Bearer $TOKEN",
    "Bearer authentication-is-required-here",
    "Basic authentication",
    "const token = req.headers.authorization",
    "tokenizer: cl100k_base_2024_edition",
    "next_page_token: CAUQAA9fk3k2k3k4k5",
    "primary_key=customer_id_2024_index",
    "sort_key: created_at_2024_descending",
    "keyboard = us-international-2024-x",
    "version 1.2.3.4 of the library",
    "pkg==1.2.3.4",
    "pkg-1.2.3.4.tar.gz",
    "Chrome/120.0.0.0 Safari/537.36",
    "v10.0.19.45",
    "section 1.2.3",
    "listening on 127.0.0.1:8080 and 0.0.0.0",
    "mask 255.255.255.0",
    "300.1.2.3",
    "std::vector<int> a::b::c",
    "12:34:56",
    "00:1b:44:11:3a:b7",
    "[::1]:8080",
    "git@github.com:acme/tool.git",
    "icon@2x.png",
    "lodash@4.17.21",
    "@media (max-width: 360px)",
    "user@host",
    "@dataclass",
    "https://example.test/home/page",
    "/home/user/project",
    "/Users/Shared/file",
    "/usr/home",
    "https://host.test:8443/path@v1",
    "http://localhost:8080/@scope/name",
    "sk-learn and sk-",
    "task-runner-configuration-for-everyone",
    "hf_hub_download",
    "npm_config_registry",
    "xai-org/grok-1",
    "gsk_test",
    "AKIA",
    "the AIza prefix",
    "ghp_short",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
    "0190f3a2-7c1e-7b3a-9f00-1234567890ab",
    "01JD3ZK9Q6V7W8X9Y0ABCDEFGH",
    "toolu_01A09q90qw90lq917835lq9",
    "call_abc123def456ghi789jkl012",
    "chatcmpl-9aBcDeFgHiJkLmNoPqRsTuVwXyZ12",
    "msg_01XFDUDYJgAACzvnptvVoYEL",
    "d41d8cd98f00b204e9800998ecf8427e",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "commit 2f1e9c4b7a6d5e8f0a1b2c3d4e5f60718293a4b5",
    "sha512-9a7b8c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a0b9c8d7e6f5a4b3c2d==",
    "eyJ is how base64 of JSON begins",
    "claude-sonnet-4-6 and gpt-4.1-mini",
    "2024-01-01T12:00:00.000Z",
    "+49 30 123456 and 1,234,567.89",
    "password must be at least 8 characters",
    "The secret: work hard.",
    "What is the token? It is a word.",
    "a key: value pair",
    '"type": "password"',
    "tokens: [1, 2, 3]",
    "passwordField: someElementName",
    "?page=2&sort=created_at&code=404",
    "x = a ? b : c",
    "the aws_secret_access_key is stored elsewhere",
    "aws_secret_access_key 2f1e9c4b7a6d5e8f0a1b2c3d4e5f60718293a4b5 is a commit",
    "--secret-access-key /usr/local/share/application/secrets/prod",
    "<SecretAccessKey>your-secret</SecretAccessKey> and aws_session_token = token",
    "Enter your Secret Access Key [None]: in the next step",
    "os.environ['DB_PASSWORD'] = password",
    "secret_access_key = os.environ['AWS_SECRET_ACCESS_KEY']",
)


def test_a_thousand_secrets_are_gone_from_messages() -> None:
    made = secrets(COUNT)
    messages = [message_with(number, content) for number, (_, _, content) in enumerate(made)]
    redacted = redact(messages)
    for value, (kind, secret, content) in zip(redacted.value, made, strict=True):
        data = il.dumps(value).decode()
        assert secret not in data, (kind, content)
        assert json.dumps(secret)[1:-1] not in data, (kind, content)
        assert secret not in _decoded(data), (kind, content)
        assert "[redacted:" in data + _decoded(data)
    assert il.loads(il.dumps(redacted.value), list[il.Message]) == redacted.value


def _decoded(data: str) -> str:
    """What base64 in it says."""
    found = re.findall(r'"data":"([A-Za-z0-9+/=]+)"', data)
    return " ".join(base64.b64decode(each).decode("utf-8", "replace") for each in found)


def test_what_is_told_of_them_has_none_of_them() -> None:
    made = secrets(COUNT)
    messages = [message_with(number, content) for number, (_, _, content) in enumerate(made)]
    result = repr(redact(messages).findings)
    assert not [secret for _, secret, _ in made if secret in result]


def test_a_thousand_secrets_are_gone_from_lines() -> None:
    made = secrets(COUNT)
    lines = [
        json.dumps({"type": "message", "content": [{"text": content, "n": number}]}).encode()
        for number, (_, _, content) in enumerate(made)
    ]
    out, findings = redact_lines(lines)
    for line, (kind, secret, content) in zip(out, made, strict=True):
        assert secret not in json.dumps(json.loads(line)), (kind, content)
        assert secret not in json.loads(line)["content"][0]["text"], (kind, content)
    assert {finding.place.split("/")[1] for finding in findings} == set(map(str, range(COUNT)))


@pytest.mark.parametrize("number", range(len(MAKERS)))
def test_each_kind_is_found_as_what_it_is(number: int) -> None:
    kind, secret, content = secrets(len(MAKERS))[number]
    redacted = redact(content)
    assert [finding.kind for finding in redacted.findings] == [kind]
    assert redacted.value == content.replace(secret, f"[redacted:{kind}:1]")


def test_there_are_no_false_alarms() -> None:
    alarms = {content: found for content in HARMLESS if (found := redact(content).findings)}
    assert not alarms


def test_what_is_redacted_is_not_redacted_again() -> None:
    once = redact([content for _, _, content in secrets(len(MAKERS))]).value
    assert redact(once) == (once, ())
