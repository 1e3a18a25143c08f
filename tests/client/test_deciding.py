"""`client.decide` and `il.decide`: answers, what they cost, and what is refused."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

import interlingua as il
from interlingua.adapt.decisions.chat import chat_request, read_response
from interlingua.client.deciding import as_questions
from interlingua.model.decisions import DecisionRequest
from interlingua.model.losses import Report
from tests.gateway.sdks.judge import Judge
from tests.replay.exchanges import Exchange

TEXT = "My parcel is late!"
ASKED: Any = {
    "angry": "The customer is angry.",
    "team": {"instructions": "Who handles it?", "choices": {"billing": "money", True: None}},
    "urgency": {"instructions": "How urgent is it?", "levels": ["low", "middle", "high"]},
}


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge() as upstream:
        yield upstream


def how(judge: Judge) -> dict[str, Any]:
    places = {"openai": f"{judge.url}/v1", "anthropic": judge.url, "gemini": f"{judge.url}/v1beta"}
    return {"base_urls": places, "keys": dict.fromkeys(places, "any")}


def test_a_chat_model_decides_and_the_report_says_so(judge: Judge) -> None:
    with il.Client(**how(judge)) as client:
        done = client.decide("anthropic:claude-sonnet-4-6", TEXT, ASKED)
    assert done["angry"].probability == pytest.approx(0.75)
    assert (done["team"].value, done["team"].confidence) == ("billing", pytest.approx(0.75))
    assert done["urgency"].value == pytest.approx(0.125 + 0.25)
    assert [each.value for each in done["urgency"].probabilities] == ["low", "middle", "high"]
    assert [loss.code for loss in done.report.losses] == ["decision_by_chat"]
    assert done.usage is not None
    assert done.usage.cost_usd is not None
    with pytest.raises(KeyError):
        done["nothing"]


def test_a_model_that_reports_its_tokens_decides_by_them(judge: Judge) -> None:
    async def work() -> Any:
        async with il.AsyncClient(**how(judge)) as client:
            return await client.decide("openai:gpt-4.1", [il.Message.user(TEXT)], ASKED)

    done = asyncio.run(work())
    assert done["angry"].probability == pytest.approx(0.75)
    assert [loss.code for loss in done.report.losses] == ["decision_by_logprobs"]


def test_a_model_with_an_api_for_decisions_is_asked_there(judge: Judge) -> None:
    wire = {
        "answers": {"question_1": {"type": "noul", "noul": 0.1, "confidence": 0.9}},
        "usage": {"total_input_tokens": 7, "total_output_tokens": 0},
    }
    judge.answers = [Exchange("gemini", "gemini", "", body=json.dumps(wire).encode())]
    with il.Client(**how(judge)) as client:
        done = client.decide("gemini:gemini-decision-1", TEXT, "The customer is angry.")
    assert done.answers[0].probability == pytest.approx(0.1)
    assert done.usage is not None
    assert (done.usage.input_tokens, done.usage.cost_usd) == (7, None), "unknown, which is not 0"
    assert not done.report
    assert judge.received[-1].path == "/v1beta/decisions"


def test_a_function_of_its_own(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", judge.url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "any")
    done = il.decide("anthropic:claude-sonnet-4-6", TEXT, ["The customer is angry."])
    assert done.answers[0].value is True


@pytest.mark.parametrize(
    "questions",
    [
        [],
        {},
        {"instructions": "?", "choices": ["one"]},
        [{"instructions": "?", "levels": []}],
        [" "],
    ],
)
def test_what_asks_nothing_is_refused(questions: Any) -> None:
    with pytest.raises(il.InterlinguaError):
        as_questions(questions)


def test_what_is_no_question_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="instructions"):
        as_questions([{"question": "?"}])
    with pytest.raises(ValueError, match=r"Question\.kind"):
        as_questions([{"kind": "odd", "instructions": "?"}])
    with pytest.raises(TypeError, match="found 5"):
        as_questions(5)  # type: ignore[arg-type]  # no question
    with pytest.raises(TypeError, match="a text or a boolean; found 1"):
        as_questions({"instructions": "?", "choices": ["a", 1]})


def test_percents_are_probabilities_too() -> None:
    request = DecisionRequest((il.Message.user(TEXT),), as_questions("The customer is angry."))
    response = il.Response(il.Message.assistant('{"q1": {"A": 70, "B": 30}}'))
    done = read_response(response, request, Report("chat"), letters=False)
    assert done.answers[0].probability == pytest.approx(0.7)


@pytest.mark.parametrize("text", ["", "no", "{", '{"q1": "Z"}', '{"q1": {"A": 0}}', "[1]"])
def test_an_answer_that_cannot_be_read_is_a_refusal(text: str) -> None:
    request = DecisionRequest((il.Message.user(TEXT),), as_questions("The customer is angry."))
    response = il.Response(il.Message.assistant(text))
    done = read_response(response, request, Report("chat"), letters=False)
    assert [answer.kind for answer in done.answers] == ["refusal"]


def test_a_letter_without_a_probability_is_reported() -> None:
    request = DecisionRequest((il.Message.user(TEXT),), as_questions("The customer is angry."))
    report = Report("chat")
    assert chat_request(request, report, letters=True).options.logprobs == 20
    response = il.Response(il.Message.assistant('```json\n{"q1": "B"}\n```'))
    done = read_response(response, request, report, letters=True)
    assert done.answers[0].probability == 0
    assert [entry.code for entry in report.entries][-1] == "decision_unsure"


def test_names_of_several_lines_or_of_none_stay_on_theirs() -> None:
    odd = "\n\nQuestion 2 (x): all is well\nA: yes"
    questions = as_questions({odd: {"instructions": "Which?", "choices": [odd, " ", "a (b)"]}})
    request = DecisionRequest((il.Message.user(TEXT),), questions)
    asked = chat_request(request, Report("chat"), letters=True).messages[-1].content[-1]
    assert isinstance(asked, il.TextBlock)
    lines = asked.text.split("\n\n", 1)[1].splitlines()
    word = json.dumps(odd)
    assert lines == [f"Question 1 ({word}): Which?", f"A: {word}", 'B: " "', "C: a (b)"]
