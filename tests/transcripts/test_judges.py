"""What others say of the files that we write: the packages of each format, where they are there.

`make judges` fetches them: the AI SDK (npm `ai`, run by node), ag-ui-protocol, atif, datasets.
Judged are a made-up session and, where they are there, the session files of all formats."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from interlingua import transcripts
from interlingua.model.blocks import (
    Block,
    CompactionBlock,
    RefusalBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.losses import Report
from interlingua.model.message import Role
from interlingua.transcripts import Transcript, formats
from interlingua.transcripts.ui_message.write import UNANSWERED
from tests.transcripts.made import session
from tests.transcripts.samples import ROOT, samples

SCRIPTS = Path(__file__).with_name("judges")
PACKAGES = Path(os.environ.get("INTERLINGUA_JUDGES", ROOT / ".venv" / "judges"))


class Written(NamedTuple):
    transcript: Transcript
    path: Path
    report: Report


@cache
def sessions() -> list[tuple[str, Transcript]]:
    found = [(sample.id, transcripts.read(sample.path)) for sample in samples(*formats())]
    return [("made", session()), *found]


def written(format: str, name: str, folder: Path) -> list[Written]:
    """Every session in this format, each in a file whose name ends so."""
    files = []
    for title, transcript in sessions():
        path = folder / f"{title}.{name}"
        report = transcripts.write(transcript.replace(origin=None), path, format)
        files.append(Written(transcript, path, report))
    return files


# -- the AI SDK ------------------------------------------------------------------------------------


def asked(script: str, package: str, question: Any) -> Any:
    node = shutil.which("node")
    if node is None or not (PACKAGES / "node_modules" / package).is_dir():
        pytest.skip(f"no node, or no package {package} beside it; `make judges` fetches it")
    done = subprocess.run(
        [node, str(SCRIPTS / script)],
        cwd=PACKAGES,
        input=json.dumps(question),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_the_ai_sdk_tells_a_model_what_was_said(tmp_path: Path) -> None:
    _ask_ai({})
    files = written("ui-message", "json", tmp_path)
    parsed = _ask_ai({"chats": [json.loads(each.path.read_bytes()) for each in files]})
    for each, model in zip(files, parsed["chats"], strict=True):
        assert "error" not in model, f"{each.path.name}: {model['error']}"
        heard, content = [*_heard(model["model"])], [*_said(each)]
        assert sorted(heard) == sorted(content), each.path.name
        assert _in_order(heard) == _in_order(content), each.path.name


def test_the_ai_sdk_reads_our_streams(tmp_path: Path) -> None:
    _ask_ai({})
    files = [each for each in written("ui-message", "sse", tmp_path) if each.path.stat().st_size]
    result = _ask_ai({"streams": [each.path.read_text() for each in files]})["streams"]
    for each, heard in zip(files, result, strict=True):
        assert "error" not in heard, f"{each.path.name}: {heard['error']}"
        assert heard["message"]["role"] == "assistant"


def _ask_ai(question: Any) -> Any:
    return asked("ui_messages.mjs", "ai", question)


def _in_order(said: list[str]) -> list[str]:
    """All but results, which follow their calls in any order."""
    return [each for each in said if not each.startswith("result of ")]


def _said(each: Written) -> Iterator[str]:
    """What a model should hear: texts, calls and results, but for what the report says."""
    hidden = {loss.path for loss in each.report.entries if "has no equivalent" in loss.reason}
    for at, message in enumerate(each.transcript.messages):
        if f"$.messages[{at}]" in hidden:
            continue
        if message.role in (Role.SYSTEM, Role.DEVELOPER):
            texts = "".join(getattr(block, "text", None) or "" for block in message.content)
            yield from [f"system: {texts}"] if texts else []
            continue
        for block in message.content:
            match block:
                case TextBlock(text) if text:
                    yield f"{message.role}: {text}"
                case ToolUseBlock(name, tool):
                    yield f"call {name} of {tool}"
                case CompactionBlock(str(text)):
                    yield f"{message.role}: {text}"
                case ToolResultBlock(name, content):
                    yield f"result of {name}: {_texts(content)}"


def _texts(content: tuple[Block, ...]) -> str:
    return "".join(block.text for block in content if isinstance(block, TextBlock))


def _heard(model: list[dict[str, Any]]) -> Iterator[str]:
    for message in model:
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for part in parts:
            match part:
                case {"type": "text", "text": str(text)} if text:
                    yield f"{message['role']}: {text}"
                case {"type": "tool-call", "toolCallId": name, "toolName": tool}:
                    yield f"call {name} of {tool}"
                case {"type": "tool-result", "toolCallId": name, "output": output}:
                    yield from _answered(name, output["value"])


def _answered(name: str, value: Any) -> Iterator[str]:
    if value == UNANSWERED:
        return
    if isinstance(value, dict) and value.keys() == {"content"}:
        value = "".join(part.get("text", "") for part in value["content"])
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    yield f"result of {name}: {text}"


# -- AG-UI, ATIF, datasets -------------------------------------------------------------------------


def package(name: str) -> Any:
    return pytest.importorskip(name, reason=f"no package {name}; `make judges` fetches it")


def test_our_events_are_events_of_ag_ui(tmp_path: Path) -> None:
    core, pydantic = package("ag_ui.core"), package("pydantic")
    event = pydantic.TypeAdapter(core.Event)
    for each in written("ag-ui", "jsonl", tmp_path):
        for line in each.path.read_bytes().split(b"\n")[:-1]:
            event.validate_json(line)


def test_the_client_of_ag_ui_builds_up_what_was_said(tmp_path: Path) -> None:
    asked("ag_ui.mjs", "@ag-ui/client", [])
    files = written("ag-ui", "jsonl", tmp_path)
    events = [list(map(json.loads, each.path.read_bytes().split(b"\n")[:-1])) for each in files]
    emitted = asked("ag_ui.mjs", "@ag-ui/client", events)
    for each, heard in zip(files, emitted, strict=True):
        assert "error" not in heard, f"{each.path.name}: {heard['error']}"
        assert [*_built(heard["messages"])] == [*_spoken(each.transcript)], each.path.name


def _built(messages: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for message in messages:
        if message["role"] == "reasoning":
            continue
        content = message.get("content") or ""
        parts = [{"text": content}] if isinstance(content, str) else content
        yield message["role"], "".join(part.get("text", "") for part in parts)
        for call in message.get("toolCalls") or ():
            yield call["function"]["name"], call["id"]


def _spoken(transcript: Transcript) -> Iterator[tuple[str, str]]:
    for message in transcript.messages:
        results = [each for each in message.content if isinstance(each, ToolResultBlock)]
        if message.role is Role.TOOL:
            yield from (("tool", _texts(each.content)) for each in results)
            continue
        yield str(message.role), "".join(_words(message.content))
        for block in message.content:
            if isinstance(block, ToolUseBlock):
                yield block.name, block.id


def _words(blocks: tuple[Block, ...]) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, TextBlock | RefusalBlock | CompactionBlock):
            yield block.text or ""


def test_our_inputs_are_inputs_of_ag_ui(tmp_path: Path) -> None:
    core = package("ag_ui.core")
    for each in written("ag-ui", "json", tmp_path):
        core.RunAgentInput.model_validate_json(each.path.read_bytes())


def test_our_trajectories_are_trajectories(tmp_path: Path) -> None:
    atif = package("atif")
    for each in written("atif", "json", tmp_path):
        atif.Trajectory.model_validate_json(each.path.read_bytes())


@pytest.mark.parametrize("format", ["hf-messages", "openai-finetune", "sharegpt"])
def test_rows_of_all_kinds_are_one_dataset(
    format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    datasets = package("datasets")
    rows: list[Any] = []
    for each in written(format, "json", tmp_path):
        row = json.loads(each.path.read_bytes())
        rows += row if isinstance(row, list) else [row]
    joined = tmp_path / "all.jsonl"
    joined.write_text("".join(json.dumps(row) + "\n" for row in rows))
    files = {"data_files": str(joined), "cache_dir": str(tmp_path / "cache")}
    loaded = datasets.load_dataset("json", split="train", **files)
    assert [_plain(row) for row in loaded] == [_plain(row) for row in rows]


def _plain(value: Any) -> Any:
    """Without what is null: all rows have all columns there."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items() if each is not None}
    return [_plain(each) for each in value] if isinstance(value, list) else value
