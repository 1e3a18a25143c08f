"""Gemini CLI: common turns are read quickly, and as the dialect reads them; the results that are
read are those that the client sends when it goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua import transcripts
from interlingua.transcripts.gemini_cli.read import common_turn

RESULT = {"id": "c1", "name": "run", "response": {"output": "a\nb"}}


@pytest.mark.parametrize(
    "parts",
    [
        [{"text": "Hi"}],
        [{"text": "Hi"}, {"text": ""}, {"text": "there"}],
        [{"functionResponse": RESULT}],
        [{"functionResponse": {**RESULT, "response": {"output": "[error] no"}}}],
    ],
)
def test_a_common_turn_is_read_as_the_dialect_reads_it(parts: list[Any]) -> None:
    read = common_turn(parts)
    assert read is not None
    wire = {"contents": [{"role": "user", "parts": parts}]}
    by_the_dialect = il.dialect("gemini").read_request(wire).messages
    assert [il.dumps(read)] == [il.dumps(each) for each in by_the_dialect]


@pytest.mark.parametrize(
    "parts",
    [
        [{"text": "Hi", "thought": True}],
        [{"text": None}],
        ["Hi"],
        [{"text": "Hi"}, {"inlineData": {"mimeType": "image/png", "data": ""}}],
        [{"functionResponse": {**RESULT, "response": {"error": "no"}}}],
        [{"functionResponse": {**RESULT, "response": {"output": ""}}}],
        [{"functionResponse": {**RESULT, "response": {"output": {"a": 1}}}}],
        [{"functionResponse": {**RESULT, "parts": []}}],
        [{"functionResponse": RESULT, "thoughtSignature": "c2ln"}],
        [{"functionResponse": RESULT}, {"functionResponse": RESULT}],
    ],
)
def test_anything_else_is_left_to_the_dialect(parts: list[Any]) -> None:
    assert common_turn(parts) is None


PICTURE = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
SOUND = {"inlineData": {"mimeType": "audio/wav", "data": "aG8="}}


def response(output: str, id: str = "run__c1") -> dict[str, Any]:
    about = {"id": id, "name": "run", "response": {"output": output}}
    return {"functionResponse": about}


def results_in(
    path: Path, result: Any, *records: Any, calls: tuple[str, ...] = ("run__c1",)
) -> list[list[str]]:
    """Of each result, its call and what it has, for calls with this result and user's records."""
    about = {"sessionId": "s", "projectHash": "h", "startTime": "2026-03-01T12:00:00Z"}
    collected = [
        {"id": each, "name": "run", "args": {}, "result": result, "resultDisplay": "As shown."}
        for each in calls
    ]
    lines: list[Any] = [about, {"id": "a", "type": "gemini", "content": "", "toolCalls": collected}]
    for number, record in enumerate(records):
        lines.append(record if "$set" in record else {"id": f"u{number}", "type": "user", **record})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    read = transcripts.read(path, "gemini-cli")
    home = b"".join(transcripts.draft(read, "gemini-cli", path.name).files[path.name])
    assert home == path.read_bytes()
    blocks = [block for message in read.messages for block in message.content]
    return [
        [block.tool_use_id, *(getattr(each, "text", each.type) for each in block.content)]
        for block in blocks
        if isinstance(block, il.ToolResultBlock)
    ]


@pytest.mark.parametrize(
    ("result", "read"),
    [
        ("whole", [["c1", "whole"]]),
        (response("whole"), [["c1", "whole"]]),
        ([response("one"), response("two")], [["c1", "one"], ["c1", "two"]]),
        ([response("one"), PICTURE, SOUND], [["c1", "one", "image", "audio"]]),
        ([{"text": "alone"}], [["c1", "alone"]]),
        (["alone"], [["c1", "alone"]]),
        ([PICTURE], [["c1", "image"]]),
        (None, []),
        ("", []),
    ],
)
def test_a_result_is_read_in_each_form_that_the_client_sends(
    result: Any, read: list[list[str]], tmp_path: Path
) -> None:
    assert results_in(tmp_path / "s.jsonl", result) == read


@pytest.mark.parametrize(
    ("repeated", "read"),
    [
        ([response("one")], []),
        ([response("one", "c1")], []),
        ([response("one"), PICTURE], []),
        ([response("other")], [["c1", "other"]]),
        ([response("one"), response("two", "run__c2")], [["c2", "two"]]),
    ],
)
def test_a_record_of_results_adds_those_that_are_new(
    repeated: list[Any], read: list[list[str]], tmp_path: Path
) -> None:
    found = results_in(tmp_path / "s.jsonl", [response("one"), PICTURE], {"content": repeated})
    assert found == [["c1", "one", "image"], *read]


def test_media_that_only_a_later_record_has_are_read(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    results_in(path, [response("one")], {"content": [response("one"), PICTURE]})
    last = transcripts.read(path, "gemini-cli").messages[-1]
    assert [block.type for block in last.content] == ["image"]


def test_a_list_that_replaces_all_is_read_where_it_differs(tmp_path: Path) -> None:
    again = {"id": "u0", "type": "user", "content": [response("shorter")]}
    answer = {"id": "a", "type": "gemini", "content": []}
    replaced = {"$set": {"messages": [answer, again]}}
    path = tmp_path / "s.jsonl"
    found = results_in(path, [response("whole")], {"content": [response("whole")]}, replaced)
    assert found == [["c1", "whole"], ["c1", "shorter"]]
