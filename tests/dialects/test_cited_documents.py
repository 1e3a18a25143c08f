"""Documents that answers are to cite, between the two wires that can ask for it."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il

CLAUDE: dict[str, Any] = {
    "type": "document",
    "source": {"type": "text", "media_type": "text/plain", "data": "A text."},
    "title": "T",
}
FOUND: dict[str, Any] = {
    "type": "search_result",
    "source": "https://example.com",
    "title": "T",
    "content": [{"type": "text", "text": "A text."}],
}
ASKED: dict[str, Any] = {"model": "claude-sonnet-4-6", "max_tokens": 9}


def body(part: dict[str, Any], citations: Any) -> dict[str, Any]:
    content = [{**part, "citations": citations}, {"type": "text", "text": "Why?"}]
    return {**ASKED, "messages": [{"role": "user", "content": content}]}


@pytest.mark.parametrize("part", [CLAUDE, FOUND])
@pytest.mark.parametrize("enabled", [True, False])
def test_both_wires_of_claude_ask_for_citations(part: dict[str, Any], enabled: bool) -> None:
    wire = body(part, {"enabled": enabled})
    there = il.convert(wire, "anthropic", "bedrock", model="anthropic.claude-sonnet-4-6")
    (block,) = there.wire["messages"][0]["content"][0].values()
    assert block["citations"] == {"enabled": enabled}
    assert not [loss for loss in there.report.entries if "cit" in loss.path]
    back = il.convert(there.wire, "bedrock", "anthropic", model="claude-sonnet-4-6").wire
    assert back["messages"][0]["content"][0]["citations"] == {"enabled": enabled}


@pytest.mark.parametrize("citations", [{"enabled": True, "more": 1}, {}, None, {"enabled": None}])
def test_every_spelling_goes_home(citations: Any) -> None:
    wire = body(CLAUDE, citations)
    dialect = il.dialect("anthropic")
    assert dialect.write_request(dialect.read_request(wire)).wire == wire


@pytest.mark.parametrize("target", ["openai-responses", "gemini", "cohere"])
def test_others_report_it_if_it_was_on(target: str) -> None:
    for enabled in (True, False):
        report = il.convert(body(CLAUDE, {"enabled": enabled}), "anthropic", target).report
        found = [loss.severity for loss in report.entries if loss.path.endswith(".cited")]
        assert found == ["warning"] * enabled


@pytest.mark.parametrize("target", ["openai-chat", "ollama"])
def test_a_document_that_is_sent_as_text_is_one_loss(target: str) -> None:
    report = il.convert(body(CLAUDE, {"enabled": True}), "anthropic", target).report
    paths = [loss.path for loss in report.losses if "content[0]" in loss.path]
    assert paths == ["$.messages[0].content[0]"]
