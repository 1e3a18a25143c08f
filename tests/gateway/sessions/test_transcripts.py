"""Sessions of coding agents over HTTP: for the machine's own user, and for nobody with a key."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest

from interlingua import transcripts
from interlingua.model.message import Message, MessageMetadata
from interlingua.model.metadata import Usage
from interlingua.transcripts import Transcript
from tests.gateway.serving import Upstream, key, served, settings_in
from tests.gateway.sessions.test_api import run

ID = "0c6a1f3e-5b7d-4c8e-9a51-3f1d2b4c6e80"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with one session of Claude Code."""
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    used = MessageMetadata(model="anthropic:claude-sonnet-4-6", usage=Usage(900, 10))
    messages = (Message.user("Why?"), Message.assistant("Because.", used))
    folder = tmp_path / ".claude" / "projects" / "-work"
    folder.mkdir(parents=True)
    made = Transcript.of("claude-code", messages, id=ID, folder="/work")
    transcripts.write(made, folder / f"{ID}.jsonl", "claude-code")
    return tmp_path


def test_they_are_listed_and_read_without_a_path(home: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(home)
        async with served(home) as gateway:
            _, page, _ = await gateway.ask("GET", "/transcripts")
            (row,) = page["transcripts"]
            assert (row["source"], row["id"], row["name"]) == ("claude-code", ID, "Why?")
            assert row["cost_usd"] == "0.00285"
            assert "chat" in page["tools"]
            assert str(home) not in str(page), "where files are is not told"
            _, whole, _ = await gateway.ask("GET", f"/transcripts/claude-code/{ID}")
            assert [each["role"] for each in whole["messages"]] == ["user", "assistant"]
            assert whole["summary"]["total"]["output_tokens"] == 10
            file = quote(str(home / ".claude/projects/-work" / f"{ID}.jsonl"), safe="")
            for id in (file, "latest", ID[:8], "nothing"):
                assert (await gateway.ask("GET", f"/transcripts/claude-code/{id}"))[0] == 404, id
            assert (await gateway.ask("GET", f"/transcripts/nothing/{ID}"))[0] == 404

    run(work)


def test_a_key_sees_none(home: Path) -> None:
    token = key(home).token

    async def work(provider: Upstream) -> None:
        provider.configure(home)
        async with served(home) as gateway:
            _, page, _ = await gateway.ask("GET", "/transcripts", token=token)
            assert page["transcripts"] == []
            path = f"/transcripts/claude-code/{ID}"
            assert (await gateway.ask("GET", path, token=token))[0] == 404
            assert (await gateway.ask("GET", path))[0] == 401

    run(work)


def test_nobody_sees_them_where_the_settings_say_so(home: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(home)
        async with served(home, settings_in(home, transcripts=False)) as gateway:
            _, page, _ = await gateway.ask("GET", "/transcripts")
            assert page["transcripts"] == []
            assert (await gateway.ask("GET", f"/transcripts/claude-code/{ID}"))[0] == 404

    run(work)
