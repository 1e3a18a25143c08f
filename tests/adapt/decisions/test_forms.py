"""Decisions in five forms: home unchanged, abroad with every difference in the report."""

from __future__ import annotations

import math
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlingua.adapt.decisions.form import Form
from interlingua.adapt.decisions.forms import (
    FORMS,
    form_of,
    read_decisions,
    read_request,
    write_decisions,
    write_request,
)
from interlingua.errors import ReadError, WriteError
from interlingua.model.blocks import (
    DocumentBlock,
    ImageBlock,
    Source,
    TextBlock,
    ToolUseBlock,
)
from interlingua.model.decisions import (
    DecisionAnswer,
    DecisionRequest,
    Decisions,
    Question,
    QuestionOption,
    answer_of,
    likelihoods,
)
from interlingua.model.losses import Report
from interlingua.model.message import Message
from interlingua.model.metadata import Usage
from tests.effort import examples

PIXEL = "aGVsbG8="
REQUESTS: dict[str, Any] = {
    "openai": {
        "model": "gpt-6-luna",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "Where is my parcel?"}]},
            {"type": "function_call", "call_id": "c1", "name": "track", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "lost"},
            {"role": "user", "content": [{"type": "input_json", "data": {"b": 1, "a": [None]}}]},
        ],
        "questions": [
            {"type": "predicate", "instructions": "The customer is angry.", "name": "angry"},
            {
                "type": "choice",
                "instructions": [
                    {"type": "input_text", "text": "Which?"},
                    {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"},
                ],
                "choices": [{"value": True}, {"value": "true", "description": "a text"}],
            },
            {
                "type": "score",
                "instructions": "How urgent?",
                "levels": [{"label": "low"}, {"label": "high", "description": "today"}],
            },
        ],
        "prompt_cache_key": "k",
        "safety_identifier": "u",
        "prompt_cache_options": {"mode": "explicit"},
    },
    "gemini": {
        "model": "models/gemini-decision-1",
        "input": [
            {"type": "text", "text": "Look"},
            {"type": "image", "data": PIXEL, "mime_type": "image/png"},
        ],
        "questions": {
            "real": {
                "type": "noul",
                "instructions": [{"type": "text", "text": "It is real."}],
                "criteria": {"true_description": "a photo", "false_description": "a drawing"},
            },
            "kind": {
                "type": "choice",
                "instructions": "?",
                "criteria": {"cat": "meows", "dog": ""},
            },
            "quality": {"type": "score", "instructions": "?", "criteria": ["bad", "good"]},
        },
    },
    "systemone": {
        "model": "jev-1",
        "state": {"ticket": {"text": "late", "tags": ["a"]}},
        "questions": {
            "angry": {"type": "noul", "instructions": {"ask": "angry?"}},
            "team": {"type": "choice", "instructions": "?", "criteria": {"a": None, "b": "x"}},
            "grade": {"type": "score", "instructions": "?", "criteria": ["0", "1", "2"]},
        },
    },
    "openrouter": {
        "model": "typesafe/jev-1",
        "state": "late",
        "user": "u",
        "session_id": "s",
        "questions": {
            "angry": {
                "type": "noul",
                "instructions": "?",
                "criteria": {"true": "shouts", "false": "calm"},
            },
            "where": {"type": "box", "instructions": "the cat"},
        },
    },
    "vercel": {
        "stateParts": [
            {"type": "text", "text": "late"},
            {
                "type": "file",
                "mediaType": "image/png",
                "data": {"type": "data", "data": PIXEL},
            },
        ],
        "questions": {
            "angry": {"type": "boolean", "instructions": "?"},
            "team": {"type": "choice", "instructions": "?", "criteria": {"a": "x", "b": "y"}},
        },
    },
}
ANSWERS: dict[str, Any] = {
    "openai": {
        "answers": [
            {"type": "predicate", "name": "angry", "probability": 0.75},
            {
                "type": "choice",
                "name": None,
                "choice": True,
                "confidence": 0.6,
                "probabilities": [
                    {"value": "true", "probability": 0.4},
                    {"value": True, "probability": 0.6},
                ],
            },
            {"type": "refusal", "name": None},
        ],
        "model": "gpt-6-luna",
        "usage": {
            "input_tokens": 9,
            "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 0},
            "output_tokens": 0,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 9,
        },
    },
    "gemini": {
        "answers": {
            "real": {"type": "noul", "noul": 0.25, "confidence": 0.75},
            "kind": {
                "type": "choice",
                "choice": "cat",
                "confidence": 0.9,
                "probabilities": {"cat": 0.9, "dog": 0.1},
            },
            "quality": {
                "type": "score",
                "score": 0.8,
                "confidence": 0.8,
                "legend": {"0": "bad", "1": "good"},
                "probabilities": {"0": 0.2, "1": 0.8},
            },
        },
        "usage": {"total_input_tokens": 5, "total_output_tokens": 0, "total_tokens": 5},
    },
    "openrouter": {
        "answers": {
            "angry": {"type": "noul", "noul": 0.5},
            "where": {"type": "box", "box": {"top": 0, "left": 0, "right": 1, "bottom": 1}},
        },
        "model": "typesafe/jev-1",
        "id": "gen-1",
        "provider": "TypeSafe",
        "usage": {"input_tokens": 5, "output_tokens": 0, "cost": 0.1},
    },
    "vercel": {
        "answers": {
            "angry": {"type": "boolean", "probability": 1},
            "team": {"type": "refusal"},
        },
        "warnings": [],
        "usage": {"inputTokens": 3, "outputTokens": 0},
    },
}


@pytest.mark.parametrize("name", FORMS)
def test_a_request_goes_home_unchanged(name: str) -> None:
    form, report = FORMS[name], Report(name)
    wire = REQUESTS[name]
    request = read_request(form, wire)
    again = write_request(form, request, report)
    model = wire.get("model", "").removeprefix("models/")
    assert again == ({**wire, "model": model} if model else wire)
    assert not report.entries


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_go_home_unchanged(name: str) -> None:
    form = FORMS[name]
    request = read_request(form, REQUESTS[name])
    decisions = read_decisions(form, ANSWERS[name], request)
    assert write_decisions(form, decisions, request) == ANSWERS[name]
    for answer in decisions.answers:
        if answer.probabilities:
            assert math.isclose(sum(each.probability for each in answer.probabilities), 1)


def test_a_text_and_a_boolean_with_the_same_text_differ() -> None:
    form = FORMS["openai"]
    request = read_request(form, REQUESTS["openai"])
    answer = read_decisions(form, ANSWERS["openai"], request).answers[1]
    assert answer.value is True
    assert [(each.value, each.probability) for each in answer.probabilities] == [
        (True, 0.6),
        ("true", 0.4),
    ]
    report = Report("gemini")
    abroad = write_request(FORMS["gemini"], request, report)
    assert list(abroad["questions"]["question_2"]["criteria"]) == ["boolean true", "true"]
    codes = {entry.code for entry in report.entries}
    assert codes >= {"decision_booleans", "decision_transcript", "decision_media", "vendor_setting"}


def test_probabilities_add_up_whatever_a_provider_says() -> None:
    form = FORMS["vercel"]
    request = read_request(form, REQUESTS["vercel"])
    wire = {
        "answers": {
            "angry": {"type": "boolean", "probability": 7},
            "team": {"type": "choice", "choice": "b", "probabilities": {"a": 0.3, "b": 0.3}},
        }
    }
    first, second = read_decisions(form, wire, request).answers
    assert first.probability == 1
    assert [each.probability for each in second.probabilities] == [0.5, 0.5]
    assert second.value == "b"


@pytest.mark.parametrize(
    "wire",
    [
        {"prompt_feedback": {"block_reason": "safety"}},
        {"answers": {"real": {"type": "noul"}, "kind": "?", "quality": None}},
    ],
)
def test_a_question_without_an_answer_was_refused(wire: Any) -> None:
    form = FORMS["gemini"]
    request = read_request(form, REQUESTS["gemini"])
    answers = read_decisions(form, wire, request).answers
    assert [answer.kind for answer in answers] == ["refusal"] * 3
    openai = write_decisions(FORMS["openai"], Decisions(answers, "m"), request)
    assert openai["answers"][0] == {"type": "refusal", "name": "real"}
    bare = tuple(answer.replace(raw=None) for answer in answers)
    assert write_decisions(form, Decisions(bare), request)["prompt_feedback"]


def test_a_kind_of_one_vendor_s_own_goes_nowhere_else() -> None:
    request = read_request(FORMS["openrouter"], REQUESTS["openrouter"])
    with pytest.raises(WriteError, match="only openrouter may know the type"):
        write_request(FORMS["openai"], request, Report("openai"))


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("openai", {"questions": {}}),
        ("openai", {"questions": []}),
        ("openai", {"questions": [{"type": "choice", "instructions": "?", "choices": []}]}),
        ("openai", {"questions": [{"type": "predicate"}]}),
        ("openai", {"questions": ["?"]}),
        ("openai", {"input": []}),
        ("gemini", {"questions": {"a": {"type": "score", "instructions": "?", "criteria": ["x"]}}}),
        ("systemone", {"state": None}),
    ],
)
def test_a_body_that_asks_nothing_is_refused(name: str, changes: Any) -> None:
    with pytest.raises(ReadError):
        read_request(FORMS[name], {**REQUESTS[name], **changes})


def test_bodies_that_share_a_path_are_distinguished() -> None:
    for name in ("openai", "gemini", "systemone"):
        assert form_of(REQUESTS[name], "openai").name == name
    assert form_of(REQUESTS["openrouter"], "openrouter").name == "openrouter"


def test_media_that_a_form_cannot_take_is_a_loss() -> None:
    page = DocumentBlock(Source("base64", PIXEL), "application/pdf")
    picture = ImageBlock(Source("base64", PIXEL), "image/png")
    request = DecisionRequest(
        (Message.user(("Look", picture, page)),), (Question("predicate", "It is real."),)
    )
    report = Report("systemone")
    assert write_request(FORMS["systemone"], request, report)["state"] == "Look"
    assert [entry.code for entry in report.losses] == ["decision_block"] * 2
    report = Report("gemini")
    kinds = [each["type"] for each in write_request(FORMS["gemini"], request, report)["input"]]
    assert kinds == ["text", "image", "document"]
    assert not report.entries


# -- laws -----------------------------------------------------------------------------------------

_WORDS = st.text("abcdé 世", min_size=1, max_size=6).filter(lambda text: text.strip() == text)


@st.composite
def questions(draw: st.DrawFn) -> Question:
    kind = draw(st.sampled_from(["predicate", "choice", "score"]))
    values: list[Any] = draw(st.lists(_WORDS, min_size=2, max_size=4, unique=True))
    if kind == "choice" and draw(st.booleans()):
        values = [True, False, *values]
    options = [QuestionOption(value, draw(st.none() | _WORDS)) for value in values]
    if kind == "predicate":
        options = [QuestionOption(True, draw(_WORDS)), QuestionOption(False, draw(_WORDS))]
        options = options if draw(st.booleans()) else []
    return Question(kind, draw(_WORDS), tuple(options), draw(_WORDS))  # type: ignore[arg-type]


ASKED = st.lists(questions(), min_size=1, max_size=4, unique_by=lambda each: each.name)


PAIRS = st.sampled_from(list(permutations(FORMS, 2)))


@settings(max_examples=examples(300))
@given(pair=PAIRS, asked=ASKED)
def test_what_is_not_reported_is_the_same_abroad(
    pair: tuple[str, str], asked: list[Question]
) -> None:
    one, other = pair
    request = DecisionRequest((Message.user("late"),), tuple(asked), "m")
    first = read_request(FORMS[one], write_request(FORMS[one], request, Report(one)), "m")
    report = Report(other)
    again = read_request(FORMS[other], write_request(FORMS[other], first, report), "m")
    assert [each.kind for each in again.questions] == [each.kind for each in first.questions]
    assert [len(each.values) for each in again.questions] == [len(q.values) for q in asked]
    reported = {entry.path.partition(".options")[0] for entry in report.entries}
    for number, (before, after) in enumerate(zip(first.questions, again.questions, strict=True)):
        if f"$.questions[{number}]" not in reported:
            plain = [(o.value, o.description or None) for o in before.options]
            assert [(o.value, o.description or None) for o in after.options] == plain
            assert (after.name, after.instructions) == (before.name, before.instructions)


@settings(max_examples=examples(300))
@given(pair=PAIRS, asked=ASKED, data=st.data())
def test_answers_mean_the_same_in_every_form(
    pair: tuple[str, str], asked: list[Question], data: st.DataObject
) -> None:
    request = DecisionRequest((Message.user("late"),), tuple(asked), "m")
    numbers = st.floats(0.01, 1)
    made = tuple(
        answer_of(question, [data.draw(numbers) for _ in question.values]) for question in asked
    )
    decisions: Decisions = Decisions(made, "m", Usage(3, 0))
    for name in pair:
        decisions = read_decisions(
            FORMS[name], write_decisions(FORMS[name], decisions, request), request
        )
    for before, after in zip(made, decisions.answers, strict=True):
        assert (after.kind, after.name) == (before.kind, before.name)
        assert (
            after.value == pytest.approx(before.value)
            if isinstance(before.value, float)
            else (type(after.value) is type(before.value) and after.value == before.value)
        )
        parts = [each.probability for each in after.probabilities]
        assert parts == pytest.approx([each.probability for each in before.probabilities])
        assert sum(parts) == pytest.approx(1)
    assert decisions.usage is not None
    assert (decisions.usage.prompt_tokens, decisions.usage.output_tokens) == (3, 0)


@given(st.lists(st.floats(-1, 2), min_size=1, max_size=9))
def test_likelihoods_add_up(numbers: list[float]) -> None:
    parts = likelihoods([str(n) for n in range(len(numbers))], numbers)
    assert sum(each.probability for each in parts) == pytest.approx(1)


def test_a_refusal_has_no_probabilities() -> None:
    assert DecisionAnswer("refusal").probability is None


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_options_that_are_called_the_same_have_probabilities_of_their_own(form: Form) -> None:
    values = ("true", True, "boolean true", "a", "a")
    options = tuple([QuestionOption(value) for value in values])
    request = DecisionRequest((Message.user("?"),), (Question("choice", "Which?", options),))
    asked = write_request(form, request, Report(form.name))
    read = read_request(form, asked)
    assert len(read.questions[0].options) == 5
    answer = answer_of(request.questions[0], (0.1, 0.4, 0.2, 0.25, 0.05))
    written = write_decisions(form, Decisions((answer,)), request)
    (result,) = read_decisions(form, written, request).answers
    assert [each.probability for each in result.probabilities] == pytest.approx(
        [0.1, 0.4, 0.2, 0.25, 0.05]
    )
    assert result.value is True


@pytest.mark.parametrize(("form", "stays"), [("gemini", True), ("systemone", False)])
def test_an_image_in_a_result_is_beside_the_text_or_reported(form: str, stays: bool) -> None:
    image = ImageBlock(Source("base64", PIXEL), "image/png")
    result = Message.tool_result("c1", [TextBlock("seen"), image])
    call = Message.assistant([ToolUseBlock("c1", "look", {})])
    request = DecisionRequest((Message.user("Look"), call, result), (Question("predicate", "?"),))
    report = Report(form)
    wire = write_request(FORMS[form], request, report)
    assert ("image/png" in str(wire)) is stays
    dropped = [entry.path for entry in report.entries if entry.code == "decision_block"]
    assert dropped == ([] if stays else ["$.messages[2].content[0].content[1]"])
