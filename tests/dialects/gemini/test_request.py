"""Requests: turns, instructions, and how a body may be spelled."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.dialects.gemini import DIALECT
from interlingua.errors import ReadError
from interlingua.model.exchange import Continues, Request
from tests.dialects.gemini.wires import (
    body,
    call,
    losses,
    read,
    text,
    user,
)


def test_a_body_may_be_in_snake_case_or_in_both_styles() -> None:
    wire = {
        "contents": [user({"inline_data": {"mime_type": "image/png", "data": "AA=="}})],
        "system_instruction": {"parts": [text("Be brief.")]},
        "generation_config": {"max_output_tokens": 5, "topK": 3},
        "tool_config": {"function_calling_config": {"mode": "ANY"}},
        "safety_settings": [],
    }
    request = read(wire)
    assert request.options.max_output_tokens == 5
    assert request.options.top_k == 3
    assert request.messages[1].content[0].media_type == "image/png"  # type: ignore[union-attr]
    both = {"mimeType": "image/png", "mime_type": "image/gif", "data": "AA=="}
    assert read(body(user({"inlineData": both}))).messages[0].content[0].media_type == "image/png"  # type: ignore[union-attr]


def test_model_and_stream_are_the_urls() -> None:
    request = DIALECT.read_request(body(), "gemini-2.5-pro", True)
    assert (request.model, request.options.stream) == ("gemini-2.5-pro", True)
    written = DIALECT.write_request(request)
    assert written.wire == body()
    assert (written.model, written.stream) == ("gemini-2.5-pro", True)


@pytest.mark.parametrize("url", [None, "gemini-2.5-pro", "another"])
def test_a_model_in_the_body_goes_home(url: str | None) -> None:
    request = read(body(model="gemini-2.5-pro"), url)
    assert request.model == (url or "gemini-2.5-pro")
    if url != "another":
        renamed = DIALECT.write_request(request.replace(model="new"))
        assert renamed.wire["model"] == "new"


def test_what_only_gemini_knows_is_kept() -> None:
    request = read(body(safetySettings=[{"category": 1}], cachedContent="c/1", toolConfig=None))
    assert request.raw is not None
    assert request.raw["gemini"]["cachedContent"] == "c/1"


def test_a_continuation_token_goes_on_from_an_answer() -> None:
    assert read(body(continuationToken="dG9r")).continues == Continues(token="dG9r")
    written = DIALECT.write_request(Request(continues=Continues("r_1", token="dG9r")))
    assert written.wire["continuationToken"] == "dG9r"
    assert ("approximated", "$.continues") in losses(written.report)


@pytest.mark.parametrize(
    ("wire", "path"),
    [
        ([], "$"),
        ({"contents": 12}, "$.contents"),
        ({"contents": [1]}, "$.contents[0]"),
        (body({"role": 1, "parts": []}), "$.contents[0].role"),
        (body(user({"text": 1})), "$.contents[0].parts[0].text"),
        (body(user(call(name=1))), "$.contents[0].parts[0].functionCall.name"),  # type: ignore[arg-type]
        (body(tools=[{"googleSearch": 1}]), "$.tools[0].googleSearch"),
        (body(labels=[1]), "$.labels"),
        (
            body(toolConfig={"functionCallingConfig": {"allowedFunctionNames": ["f", 1]}}),
            "$.toolConfig.functionCallingConfig.allowedFunctionNames[1]",
        ),
        (
            body(generationConfig={"thinkingConfig": {"thinkingBudget": "1"}}),
            "$.generationConfig.thinkingConfig.thinkingBudget",
        ),
    ],
)
def test_a_wrong_shape_is_an_error_with_its_place(wire: Any, path: str) -> None:
    with pytest.raises(ReadError) as caught:
        DIALECT.read_request(wire)
    assert caught.value.path == path
    assert caught.value.what == "gemini request"


@pytest.mark.parametrize(
    "entry", [{"codeExecution": None, "newer": 1}, {"newer": 1, "newest": False}, {"newer": "x"}]
)
def test_an_entry_of_unknown_words_alone_goes_home(entry: dict[str, Any]) -> None:
    wire = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}], "tools": [entry]}
    assert DIALECT.write_request(DIALECT.read_request(wire)).wire == wire
