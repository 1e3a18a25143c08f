"""What is written for the five agents, read as plain JSON by nobody's reader: ids, parents, times
and usage are as the tools' own files have them (seen 2026-11-16)."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from pathlib import Path
from typing import Any

from interlingua import transcripts
from tests.transcripts.resume.sessions import made

FOLDER = "/home/user/bakery"
ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
ANSWERS = 6
"""Answers of the compacted session; each used 10 fresh tokens, 100 cached ones and made 5."""


def lines(agent: str, folder: Path) -> list[dict[str, Any]]:
    session = made(compacted=True).replace(folder=FOLDER)
    path = folder / f"{session.id}.jsonl"
    transcripts.write(session, path, agent)
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


def ascending(times: list[str]) -> bool:
    return all(ISO.fullmatch(time) for time in times) and times == sorted(times)


def test_lines_of_claude_code_are_a_tree_of_their_session(tmp_path: Path) -> None:
    found = lines("claude-code", tmp_path)
    names = [line["uuid"] for line in found]
    assert len(set(names)) == len(names)
    for at, line in enumerate(found):
        above = line["parentUuid"] or line.get("logicalParentUuid")
        assert above in names[:at] if at else above is None
        assert (line["sessionId"], line["cwd"], line["isSidechain"]) == (made().id, FOLDER, False)
    assert [line["parentUuid"] for line in found].count(None) == 2  # the first, and the boundary
    assert ascending([line["timestamp"] for line in found])


def test_an_answer_of_claude_code_is_one_block_a_line_under_one_id(tmp_path: Path) -> None:
    answers: dict[str, list[dict[str, Any]]] = {}
    for line in lines("claude-code", tmp_path):
        if line["type"] == "assistant":
            answers.setdefault(line["message"]["id"], []).append(line["message"])
    assert [len(each) for each in answers.values()] == [4, 1, 1, 1, 2, 1]
    for message in (message for each in answers.values() for message in each):
        assert len(message["content"]) == 1
        assert message["model"] == "claude-sonnet-4-6"
        usage = message["usage"]
        counts = (usage["input_tokens"], usage["cache_read_input_tokens"], usage["output_tokens"])
        assert counts == (10, 100, 5)


def test_a_rollout_of_codex_begins_with_its_session_and_counts_each_answer_once(
    tmp_path: Path,
) -> None:
    first, *found = lines("codex", tmp_path)
    assert first["type"] == "session_meta"
    assert {"id", "timestamp", "cwd", "originator", "cli_version"} <= set(first["payload"])
    assert (first["payload"]["id"], first["payload"]["cwd"]) == (made().id, FOLDER)
    assert [line["ordinal"] for line in (first, *found)] == list(range(len(found) + 1))
    assert ascending([line["timestamp"] for line in (first, *found)])
    used = [line["payload"]["usage"] for line in found if line["type"] == "token_usage_record"]
    assert len(used) == ANSWERS
    assert {(each["input_tokens"], each["cached_input_tokens"]) for each in used} == {(110, 100)}


def test_calls_of_codex_have_their_outputs_behind_them(tmp_path: Path) -> None:
    items = [line["payload"] for line in lines("codex", tmp_path)]
    called: list[str] = []
    for item in items:
        if item.get("type") == "function_call":
            called.append(item["call_id"])
            assert isinstance(json.loads(item["arguments"]), dict)
        elif item.get("type") == "function_call_output":
            called.remove(item["call_id"])
    assert called == []


def test_entries_of_pi_are_a_chain_with_usage_on_every_answer(tmp_path: Path) -> None:
    header, *found = lines("pi", tmp_path)
    assert (header["type"], header["version"], header["cwd"]) == ("session", 3, FOLDER)
    above = None
    for entry in found:
        assert re.fullmatch("[0-9a-f]{8}", entry["id"])
        assert entry["parentId"] == above
        above = entry["id"]
    assert len({entry["id"] for entry in found}) == len(found)
    assert ascending([entry["timestamp"] for entry in (header, *found)])
    items = [entry["message"] for entry in found if entry["type"] == "message"]
    answers = [message for message in items if message["role"] == "assistant"]
    assert len(answers) == ANSWERS
    for usage in (answer["usage"] for answer in answers):
        assert (usage["input"], usage["cacheRead"], usage["output"]) == (10, 100, 5)
        assert usage["totalTokens"] == 115
        assert set(usage["cost"]) == {"input", "output", "cacheRead", "cacheWrite", "total"}


def test_records_of_gemini_cli_name_their_project_and_hold_their_results(tmp_path: Path) -> None:
    about, *found = lines("gemini-cli", tmp_path)
    assert about["sessionId"] == made().id
    assert about["projectHash"] == sha256(FOLDER.encode()).hexdigest()
    records = [record for record in found if "id" in record]
    times = {record["id"]: record["timestamp"] for record in records}
    assert ascending(list(times.values()))
    answers = {record["id"]: record for record in records if record["type"] == "gemini"}
    assert len(answers) == ANSWERS
    for answer in answers.values():
        tokens = answer["tokens"]
        counts = (tokens["input"], tokens["cached"], tokens["output"], tokens["total"])
        assert counts == (110, 100, 5, 115)
        for call in answer.get("toolCalls", ()):
            assert call["id"].startswith(f"{call['name']}__")
            assert call["result"][0]["functionResponse"]["id"] == call["id"]
    states = [call["status"] for each in answers.values() for call in each.get("toolCalls", ())]
    assert sorted(states) == ["error", "success", "success", "success"]


def test_ids_of_opencode_ascend_and_parts_name_their_message(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    transcripts.write(made(compacted=True).replace(folder=FOLDER), path, "opencode")
    export = json.loads(path.read_bytes())
    session = export["info"]["id"]
    assert re.fullmatch(r"ses_[0-9a-f]{12}[0-9A-Za-z]{14}", session)
    names = [each["info"]["id"] for each in export["messages"]]
    parts = [part for each in export["messages"] for part in each["parts"]]
    assert names == sorted(set(names))
    assert [part["id"] for part in parts] == sorted({part["id"] for part in parts})
    asked = ""
    for each in export["messages"]:
        info = each["info"]
        assert {part["messageID"] for part in each["parts"]} == {info["id"]}
        assert {part["sessionID"] for part in each["parts"]} == {info["sessionID"]} == {session}
        if info["role"] == "user":
            asked = info["id"]
        elif not info.get("summary"):
            assert info["parentID"] == asked
            cache = info["tokens"]["cache"]
            counts = (info["tokens"]["input"], cache["read"], info["tokens"]["output"])
            assert counts == (10, 100, 5)
