"""Credentials that a cloud hands out, by the vendors' own packages against servers on loopback that
stand in for the clouds: fetched once for all, off the event loop, and again before they expire."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from interlingua.errors import MissingExtraError
from interlingua.providers.cloud import CloudLogin
from interlingua.providers.provider import Provider, ProviderSetupError
from interlingua.providers.read import provider, read_providers
from tests.effort import is_tried
from tests.gateway.endpoints.vendors import Reply, Seen, Vendors

SLOW = 0.8
"""Seconds that a cloud takes, which no other request may be held up for."""
VERTEX, BEDROCK = "vertex:gemini-2.5-flash", "bedrock:us.anthropic.claude-sonnet-4-6"
ROLE = "a-role"


class Cloud:
    """Stands in for the metadata servers of both clouds, Google's token endpoint, AWS's token
    service, and the models. Credentials are numbered, and last for so many seconds."""

    def __init__(self, seconds: float = 3600) -> None:
        self.seconds = seconds
        self.handed_out = 0
        self.waits: list[tuple[float, float]] = []
        self.paths: Counter[str] = Counter()
        self.used: list[str] = []
        self.asked: list[Seen] = []

    def __call__(self, seen: Seen) -> Reply:
        path = seen.path.partition("?")[0]
        self.paths[path] += 1
        if "generateContent" in path or path.endswith("/converse"):
            return self._answer(seen)
        if path.startswith(("/computeMetadata", "/token")) or path == "/":
            return self._google(path, seen)
        return self._aws(path, seen)

    def _answer(self, seen: Seen) -> Reply:
        self.asked.append(seen)
        self.used.append(seen.headers.get("x-amz-security-token") or seen.headers["authorization"])
        if "generateContent" in seen.path:
            content = {"role": "model", "parts": [{"text": "hello"}]}
            candidates = [{"content": content, "finishReason": "STOP"}]
            usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
            return Reply({"candidates": candidates, "usageMetadata": usage})
        message = {"role": "assistant", "content": [{"text": "hello"}]}
        usage = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
        return Reply({"output": {"message": message}, "stopReason": "end_turn", "usage": usage})

    def _next(self) -> int:
        began = time.monotonic()
        time.sleep(SLOW)
        self.waits.append((began, time.monotonic()))
        self.handed_out += 1
        return self.handed_out

    def _google(self, path: str, seen: Seen) -> Reply:
        flavor = {"metadata-flavor": "Google"}
        if path.endswith("token"):
            if path == "/token":
                kind = parse_qs(seen.body.decode())["grant_type"][0]
                assert kind == "urn:ietf:params:oauth:grant-type:jwt-bearer"
            token = {"access_token": f"google-{self._next()}", "token_type": "Bearer"}
            return Reply({**token, "expires_in": int(self.seconds)}, headers=flavor)
        if path.endswith("project-id"):
            return Reply(b"a-project", headers={**flavor, "content-type": "text/plain"})
        return Reply({"email": "me@example.com", "scopes": ["x"], "aliases": []}, headers=flavor)

    def _aws(self, path: str, seen: Seen) -> Reply:
        if path == "/latest/api/token":
            return Reply(b"metadata-token", headers={"content-type": "text/plain"})
        if path.endswith("/security-credentials/"):
            return Reply(ROLE.encode(), headers={"content-type": "text/plain"})
        number = self._next()
        until = datetime.now(UTC) + timedelta(seconds=self.seconds)
        expires = until.strftime("%Y-%m-%dT%H:%M:%SZ")
        if path == "/":
            raise AssertionError(seen)
        if path.startswith("/sts"):
            return Reply(_assumed(number, expires), headers={"content-type": "text/xml"})
        keys = {"AccessKeyId": f"AKIA{number}", "SecretAccessKey": "aws-secret"}
        return Reply({"Code": "Success", **keys, "Token": f"aws-{number}", "Expiration": expires})


def _assumed(number: int, expires: str) -> bytes:
    keys = f"<AccessKeyId>AKIA{number}</AccessKeyId><SecretAccessKey>aws-secret</SecretAccessKey>"
    token = f"<SessionToken>aws-{number}</SessionToken><Expiration>{expires}</Expiration>"
    inside = f"<Credentials>{keys}{token}</Credentials>"
    names = ("AssumeRoleResult", "AssumeRoleResponse")
    space = ' xmlns="https://sts.amazonaws.com/doc/2011-06-15/"'
    return f"<{names[1]}{space}><{names[0]}>{inside}</{names[0]}></{names[1]}>".encode()


def _written(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def google_machine(home: Path, url: str) -> dict[str, str]:
    host = url.removeprefix("http://")
    return {"GCE_METADATA_HOST": host, "GCE_METADATA_IP": host}


def google_service(home: Path, url: str) -> dict[str, str]:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(65537, 2048).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    service = {"type": "service_account", "project_id": "a-project", "private_key_id": "k"}
    service |= {"private_key": key.decode(), "client_email": "me@example.com"}
    file = _written(home / "service.json", json.dumps({**service, "token_uri": f"{url}/token"}))
    return {"GOOGLE_APPLICATION_CREDENTIALS": file, "GOOGLE_CLOUD_QUOTA_PROJECT": "who-pays"}


def aws_machine(home: Path, url: str) -> dict[str, str]:
    return {"AWS_EC2_METADATA_SERVICE_ENDPOINT": url, "AWS_REGION": "eu-west-1"}


def aws_container(home: Path, url: str) -> dict[str, str]:
    address = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{url}/container"}
    return {**address, "AWS_REGION": "eu-west-1", "AWS_EC2_METADATA_DISABLED": "true"}


def aws_role(home: Path, url: str) -> dict[str, str]:
    """A profile that assumes a role with the keys of another, and has its own region."""
    config = _written(
        home / "aws-config",
        "[profile team]\nrole_arn = arn:aws:iam::123456789012:role/team\nsource_profile = base\n"
        "region = eu-west-1\n",
    )
    keys = "aws_access_key_id = AKIABASE\naws_secret_access_key = base-secret\n"
    credentials = _written(home / "aws-credentials", f"[base]\n{keys}")
    files = {"AWS_CONFIG_FILE": config, "AWS_SHARED_CREDENTIALS_FILE": credentials}
    return {**files, "AWS_ENDPOINT_URL_STS": f"{url}/sts", "AWS_PROFILE": "team"}


WAYS: list[tuple[Any, str]] = [
    (google_machine, VERTEX),
    (google_service, VERTEX),
    (aws_machine, BEDROCK),
    (aws_container, BEDROCK),
    (aws_role, BEDROCK),
]


def ran(
    home: Path, vendors: Vendors, way: Any, model: str, by: str, pause: float = 0.0
) -> dict[str, Any]:
    """What the program prints in a process with these variables and no others of a cloud."""
    source = "adc" if model == VERTEX else "aws"
    key = model.partition(":")[0]
    place = f'[providers.{key}]\nbase_url = "{vendors.url}"\n'
    own = f'credentials = "{source}"\n'
    (home / "providers.toml").write_text(place + (own if by == "client" else ""))
    store = f'store = "{home}/gateway.db"\n'
    (home / "gateway.toml").write_text(f"{store}[providers.{key}]\n{own}")
    clouds = ("AWS_", "GOOGLE_", "GCE_", "CLOUDSDK_", "ANTHROPIC_", "CLOUD_", "BOTO")
    environ = {name: v for name, v in os.environ.items() if not name.startswith(clouds)}
    environ |= {"INTERLINGUA_HOME": str(home), "HOME": str(home), "NO_PROXY": "*"}
    environ |= way(home, vendors.url)
    program = [sys.executable, "-m", "tests.providers.cloud_program", by, model, str(pause)]
    done = subprocess.run(program, env=environ, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr.decode()
    everything = (done.stdout + done.stderr).decode()
    assert not any(secret in everything for secret in ("google-1", "aws-1", "aws-secret"))
    found: dict[str, Any] = {**json.loads(done.stdout), "log": done.stderr.decode()}
    return found


@pytest.mark.parametrize(
    ("way", "model", "by"),
    [
        (way, model, by)
        for by in ("client", "gateway")
        for way, model in WAYS
        if by == "client" or is_tried(way.__name__, 3) or way is google_machine
    ],
)
def test_credentials_are_fetched_once_off_the_loop_for_all_requests(
    tmp_path: Path, way: Any, model: str, by: str
) -> None:
    cloud = Cloud()
    with Vendors(cloud) as vendors:
        found = ran(tmp_path, vendors, way, model, by)
    assert found["answers"] == ["hello"] * 11, found
    assert cloud.handed_out == 1, cloud.paths
    kind = "Bearer google-1" if model == VERTEX else "aws-1"
    assert set(cloud.used) == {kind}
    began, ended = cloud.waits[0]
    assert any(began < at < ended for at in found["ran_at"]), "the event loop has waited"
    first = cloud.asked[0]
    if model == VERTEX:
        assert "/projects/a-project/" in first.path
        quota = "who-pays" if way is google_service else None
        assert first.headers.get("x-goog-user-project") == quota
    else:
        assert "AKIA1/" in first.headers["authorization"]
        assert "/eu-west-1/bedrock/" in first.headers["authorization"]


@pytest.mark.parametrize(("way", "model"), [WAYS[0], WAYS[3]])
@pytest.mark.parametrize("seconds", [2, 100])
def test_credentials_are_fetched_again_before_they_expire(
    tmp_path: Path, way: Any, model: str, seconds: int
) -> None:
    """Those that still serve are used meanwhile; those that do not are waited for."""
    cloud = Cloud(seconds)
    with Vendors(cloud) as vendors:
        found = ran(tmp_path, vendors, way, model, "client", 6.0 if seconds == 100 else 3.0)
        until = time.monotonic() + 10
        while cloud.handed_out < 2 and time.monotonic() < until:
            time.sleep(0.05)
    assert found["answers"] == ["hello"] * 11, found
    assert cloud.handed_out >= 2
    assert (cloud.used[0] == cloud.used[-1]) is (seconds == 100), cloud.used


@pytest.mark.parametrize("model", [VERTEX, BEDROCK])
@pytest.mark.parametrize("by", ["client", "gateway"])
def test_a_cloud_without_credentials_is_named(tmp_path: Path, model: str, by: str) -> None:
    def none(home: Path, url: str) -> dict[str, str]:
        return {"NO_GCE_CHECK": "true", "AWS_EC2_METADATA_DISABLED": "true", "AWS_REGION": "x"}

    with Vendors(Cloud()) as vendors:
        found = ran(tmp_path, vendors, none, model, by)
        assert all("no credentials by" in answer for answer in found["answers"]), found
        assert not any("converse" in each.path for each in vendors.seen)


def _own(source: str, key: str) -> Provider:
    text = f'[providers.{key}]\ncredentials = "{source}"\n'.encode()
    table = {key: {"auth": [{"style": "bearer", "env": []}], "dialect": "openai-chat"}}
    table[key]["dialects"] = {"openai-chat": {"request": "/x"}}  # type: ignore[assignment]
    table[key]["base_url"] = "https://x.example"
    return read_providers(text, "file", table)[0][key]


@pytest.mark.parametrize(("source", "extra"), [("adc", "vertex"), ("aws", "bedrock")])
def test_a_missing_package_is_named(
    source: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("google.auth", "botocore.session"):
        monkeypatch.setitem(sys.modules, name, None)
    login = CloudLogin(_own(source, "x"))
    pending = login.begin()
    assert pending is not None
    pending.result(10)
    with pytest.raises(MissingExtraError, match=rf"interlingua\[{extra}\]"):
        login.credentials()
    assert login.begin() is None, "it is not tried again at once"


def test_the_packages_are_not_imported_without_need() -> None:
    program = "import sys, interlingua.client.targets as t; t.Targets(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert not {"google.auth", "botocore"} & set(done.stdout.decode().split())


def test_nothing_is_sent_with_what_has_to_be_fetched_first() -> None:
    from interlingua.providers.credentials import authorise, credentials
    from interlingua.providers.endpoint import endpoint

    for source in ("adc", "aws", "client"):
        own = _own(source, "x")
        with pytest.raises(ProviderSetupError, match=r"fetched first|own key"):
            authorise(endpoint("x:m", provider=own), own, credentials(own, {}))
    assert provider("vertex").credentials is None
