"""Answers and errors of Cohere's v2 chat."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il
from interlingua.dialects.cohere import DIALECT
from tests.dialects.cohere.wires import ANSWER, CALLING, CITATION, answer, answer_home, blocks

THOUGHT_OF = {**CITATION, "type": "THINKING_CONTENT", "content_index": 0}
OF_PLAN = {"start": 0, "end": 1, "text": "I", "sources": [], "type": "PLAN"}
PLAIN = {"type": "text", "text": "Cold and wet."}
ODD: list[dict[str, Any]] = [
    ANSWER,
    CALLING,
    answer(content=[{"type": "text", "text": "a"}], citations=[]),
    answer(content=[PLAIN], citations=[{"start": 9, "end": 12}, {"start": 0, "end": 4}]),
    answer(content=[PLAIN], citations=[{"start": 0, "end": 4, "text": "elsewhere"}]),
    answer(content=[PLAIN, PLAIN], citations=[{**CITATION}, {"start": 0, "end": 4}]),
    answer(content=ANSWER["message"]["content"], citations=[THOUGHT_OF, CITATION]),
    answer(tool_plan="I look.", citations=[OF_PLAN], tool_calls=CALLING["message"]["tool_calls"]),
    answer(content=[{"type": "future", "x": 1}], tool_calls=[{"type": "function"}]),
    answer(),
    {"message": {}, "finish_reason": None, "usage": None},
    {"id": "", "message": {"role": "assistant", "content": None}, "logprobs": [{"text": "a"}]},
    {**ANSWER, "usage": {"tokens": {"input_tokens": 3}, "cached_tokens": 9}},
    {**ANSWER, "usage": {"billed_units": {"search_units": 1}, "cached_tokens": 4}},
    {"id": "e1", "message": "too many tokens", "error_type": "TOO_MANY_TOKENS"},
    {"message": "nothing else"},
]


@pytest.mark.parametrize("wire", ODD)
def test_an_answer_goes_home_as_it_came(wire: dict[str, Any]) -> None:
    assert answer_home(wire) == wire


def test_a_citation_belongs_to_the_text_it_is_of() -> None:
    thought, text = blocks(ANSWER)
    assert thought == il.ThinkingBlock("Hm.")
    assert isinstance(text, il.TextBlock)
    (cited,) = text.citations
    assert (cited.start, cited.end) == (0, 4)
    assert (cited.title, cited.cited_text) == ("Oslo", "Oslo is cold.")


def test_a_citation_that_is_changed_changes_nothing_else() -> None:
    response = DIALECT.read_response(ANSWER)
    thought, text = response.message.content
    assert isinstance(text, il.TextBlock)
    cited = text.citations[0].replace(title="Bergen")
    content = (thought, text.replace(citations=(cited,)))
    wire = DIALECT.write_response(
        response.replace(message=response.message.replace(content=content))
    ).wire
    document = wire["message"]["citations"][0]["sources"][0]["document"]
    assert document.pop("title") == "Bergen"
    document["title"] = "Oslo"
    assert wire == ANSWER


def test_what_was_cached_is_a_part_of_the_prompt() -> None:
    usage = DIALECT.read_response(ANSWER).message.metadata.usage
    assert usage is not None
    counts = (usage.input_tokens, usage.cached_input_tokens, usage.output_tokens)
    assert counts == (18, 32, 9)
    assert usage.reasoning_tokens == 2


@pytest.mark.parametrize(
    ("text", "code", "kind"),
    [
        ("too many tokens: size limit", None, il.ErrorKind.CONTEXT_OVERFLOW),
        ("of some size", "TOO_MANY_TOKENS", il.ErrorKind.CONTEXT_OVERFLOW),
        ("Incorrect API key provided", None, il.ErrorKind.AUTH),
        ("You are limited to 20 calls per minute", None, il.ErrorKind.RATE_LIMIT),
        ("model 'x' not found", None, il.ErrorKind.INVALID_REQUEST),
        ("internal server error", None, il.ErrorKind.SERVER_ERROR),
        ("hm", None, il.ErrorKind.OTHER),
    ],
)
def test_an_error_is_told_by_its_words(text: str, code: str | None, kind: il.ErrorKind) -> None:
    wire = {"id": "e", "message": text} | ({} if code is None else {"error_type": code})
    error = DIALECT.read_response(wire).error
    assert error is not None
    assert (error.kind, error.code) == (kind, code)
