"""Requests of coding agents are written down and judged: here by an agent of a few lines."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.laws.fits import agents, capture

AGENT = """#!{python}
import json, os, urllib.request

def ask(messages):
    schema = {{"type": "object", "properties": {{"command": {{"type": "string"}}}},
              "required": ["command"]}}
    tool = {{"name": "Bash", "input_schema": schema}}
    body = {{"model": "claude-sonnet-4-6", "max_tokens": 9, "messages": messages, "tools": [tool],
            "temperature": 0.5, "stream": False}}
    url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
    request = urllib.request.Request(url, json.dumps(body).encode(), method="POST")
    return json.load(urllib.request.urlopen(request))["content"]

asked = [{{"role": "user", "content": "ls"}}]
(call,) = ask(asked)
result = {{"type": "tool_result", "tool_use_id": call["id"], "content": call["input"]["command"]}}
ask([*asked, {{"role": "assistant", "content": [call]}}, {{"role": "user", "content": [result]}}])
"""


def test_what_an_agent_sends_is_written_down_with_its_second_turn_and_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    binary = tmp_path / "claude"
    binary.write_text(AGENT.format(python=sys.executable), encoding="utf-8")
    binary.chmod(0o755)
    assert capture.main([str(tmp_path), str(tmp_path / "seen"), "--only", "claude"]) == 0
    first, second = sorted((tmp_path / "seen").glob("*.json"))
    assert json.loads(first.read_text())["dialect"] == "anthropic"
    assert len(json.loads(second.read_text())["body"]["messages"]) == 3
    assert agents.main([str(tmp_path / "seen")]) == 0
    assert "36 said, 0 refused" in capsys.readouterr().out
