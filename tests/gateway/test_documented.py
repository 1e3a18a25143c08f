"""The configuration of the pages about the service, pasted: every block starts a gateway."""

from __future__ import annotations

import asyncio
import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from interlingua.client.targets import Targets
from interlingua.gateway.config import check, read
from interlingua.gateway.settings import Listen
from interlingua.providers.read import providers
from tests.gateway.serving import served

DOCS = Path(__file__).parents[2] / "docs"
PAGES = (
    *("caching", "compaction", "configuration", "deciding", "endpoints", "gateway"),
    *("gateway-keys", "operating", "providers", "redaction", "routing", "tasks"),
)
_BLOCK = re.compile(
    r"^```toml\n(.*?)^```|^cat >>? \S*gateway\.toml <<'EOF'\n(.*?)^EOF", re.MULTILINE | re.DOTALL
)
PROVIDER_FIELDS = {"base_url", "auth", "key", "dialect", "switches", "timeouts", "variables"}


def blocks() -> list[tuple[str, str]]:
    """Every block of a page that is a gateway's file or a file of providers, and where it is."""
    found = []
    for page in PAGES:
        text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
        for block in _BLOCK.finditer(text):
            body = block[1] or block[2]
            if "schema_version" in body or "[[" in body or "model_provider" in body:
                continue  # rules, rules of models and Codex have files of their own
            if body.startswith("[providers.acme.switches]"):  # it goes on from a block before
                body = '[providers.acme]\nbase_url = "http://127.0.0.1:8000/v1"\n' + body
            line = text.count("\n", 0, block.start()) + 1
            found.append((f"{page}.md:{line}", body))
    return found


def _is_of_providers(body: str) -> bool:
    entries = tomllib.loads(body).get("providers", {}).values()
    return any(PROVIDER_FIELDS & set(entry) for entry in entries)


@pytest.mark.parametrize(("place", "body"), [pytest.param(*each, id=each[0]) for each in blocks()])
def test_a_block_starts_a_gateway(
    place: str, body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERLINGUA_STORE", str(tmp_path / "gateway.db"))
    file = tmp_path / "gateway.toml"
    if _is_of_providers(body):
        own = tmp_path / "providers.toml"
        own.write_text(body, encoding="utf-8")
        assert Targets(providers(own)).providers.keys() >= tomllib.loads(body)["providers"].keys()
        body = 'providers_file = "providers.toml"\n'
    file.write_text(body, encoding="utf-8")
    settings = read(file.read_bytes(), file)
    assert check(settings) == []

    async def run() -> None:
        listen = Listen(port=0, notice_seconds=0.0, drain_seconds=1.0)
        async with served(tmp_path, replace(settings, listen=listen)) as gateway:
            status, _, _ = await gateway.ask("GET", "/health/live")
            assert status == 200

    asyncio.run(run())


def test_the_pages_have_such_blocks() -> None:
    places = {place.partition(":")[0] for place, _ in blocks()}
    assert {"gateway.md", "operating.md", "configuration.md", "providers.md"} <= places
    text = "".join(body for _, body in blocks())
    for table in ("[alerts]", "[batches]", "[retention]", "[limits]", "credentials ="):
        assert table in text, table
