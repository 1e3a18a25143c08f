"""Gemini CLI: common turns are read quickly, and as the dialect reads them."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il
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
