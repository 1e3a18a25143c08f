"""MCP servers, as a file describes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from interlingua.errors import InterlinguaError, ReadError
from interlingua.tools.handlers import McpError
from interlingua.tools.mcp_link import McpServer, read_servers


def test_servers_are_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    servers = {
        "files": {"command": "files-server", "args": ["--root", "."], "env": {"A": "b"}},
        "web": {"type": "http", "url": "https://example.com/mcp", "headers": {"X": "y"}},
        "off": {"command": "x", "disabled": True},
    }
    file.write_text(json.dumps({"mcpServers": servers}))
    files, web = read_servers(file)
    assert (files.name, files.command, files.args) == ("files", "files-server", ("--root", "."))
    assert (web.url, dict(web.headers)) == ("https://example.com/mcp", {"X": "y"})


@pytest.mark.parametrize(
    ("data", "place"),
    [
        ("[]", r"\$\.mcpServers"),
        ("{", r"\$\.mcpServers"),
        ('{"mcpServers": {"a": 1}}', r"\$\.mcpServers\.a"),
        ('{"mcpServers": {"a": {"command": 1}}}', r"\$\.mcpServers\.a\.command"),
        ('{"mcpServers": {"a": {"command": "x", "args": [1]}}}', r"a\.args"),
        ('{"mcpServers": {"a": {"command": "x", "shell": true}}}', r"a\.shell"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error_with_its_place(
    tmp_path: Path, data: str, place: str
) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(data)
    with pytest.raises(ReadError, match=place):
        read_servers(file)


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "A", "command": "x"},
        {"name": "a__b", "command": "x"},
        {"name": "a"},
        {"name": "a", "command": "x", "url": "https://example.com"},
        {"name": "a", "url": "file:///etc/passwd"},
    ],
)
def test_servers_that_cannot_be_meant_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(McpError):
        McpServer(**fields)
    assert issubclass(McpError, InterlinguaError)


def test_a_server_is_shown_without_its_secrets() -> None:
    server = McpServer(name="a", command="x", args=("--token", "canary"), env={"TOKEN": "canary"})
    remote = McpServer(
        name="a", url="https://u:canary@example.com", headers={"Authorization": "canary"}
    )
    assert "canary" not in f"{server!r} {remote!r}"
