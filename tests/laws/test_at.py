"""L17: `loss.at` is the place in the source body, as its author wrote it."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

import interlingua as il
from tests.laws.at import judged, recorded, without
from tools.manifest import MODELS

TEXT = {"type": "text", "text": "hi"}
MARK = {"type": "ephemeral"}
FUNCTION = {"name": "f", "strict": True, "parameters": {"type": "object", "properties": {}}}
ANSWER = {"role": "assistant", "content": [{"type": "thinking", "thinking": "t", "signature": "s"}]}
CASES: dict[str, tuple[str, str, dict[str, Any], dict[str, tuple[str, ...]]]] = {
    "options and tools of Chat": (
        "openai-chat",
        "ollama",
        {
            "model": "gpt-5",
            "service_tier": "priority",
            "logit_bias": {"5": 1},
            "messages": [{"role": "user", "name": "bob", "content": "hi"}],
            "tools": [{"type": "function", "function": FUNCTION}],
        },
        {
            "logit_bias_unsupported": ("$.logit_bias",),
            "name_unsupported": ("$.messages[0].name",),
            "strict_unsupported": ("$.tools[0].function.strict",),
        },
    ),
    "messages of Anthropic": (
        "anthropic",
        "gemini",
        {
            "model": "claude-sonnet-4-6",
            "max_tokens": 9,
            "system": "Be brief.",
            "messages": [
                {"role": "user", "content": [TEXT, {**TEXT, "cache_control": MARK}]},
                ANSWER,
                {"role": "user", "content": "go"},
            ],
        },
        {
            "cache_unsupported": ("$.messages[0].content[1].cache_control",),
            "thinking_foreign": ("$.messages[1].content[0]",),
        },
    ),
    "the configuration of Gemini": (
        "gemini",
        "anthropic",
        {
            "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
            "generationConfig": {"candidateCount": 3, "maxOutputTokens": 9},
            "safetySettings": [{"category": "X", "threshold": "Y"}],
        },
        {
            "n_unsupported": ("$.generationConfig.candidateCount",),
            "vendor_setting_known": ("$.safetySettings",),
        },
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("as_bytes", [False, True])
def test_places_are_those_of_the_body(name: str, as_bytes: bool) -> None:
    source, target, body, wanted = CASES[name]
    data: Any = json.dumps(body).encode() if as_bytes else body
    report = il.convert(data, source, target, "request").report
    found = {entry.code: entry.at for entry in (*report.losses, *report.notes)}
    assert {code: found.get(code) for code in wanted} == wanted


def test_the_place_of_a_field_of_a_response() -> None:
    body = {
        "id": "r",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": "hi", "refusal": None},
            }
        ],
        "system_fingerprint": "fp",
    }
    report = il.convert(body, "openai-chat", "anthropic", "response").report
    assert ("$.system_fingerprint",) in [note.at for note in report.notes]


CHOICE = {"role": "assistant", "content": "hi you", "refusal": None}
CITED = {"type": "url_citation", "url_citation": {"url": "u", "start_index": 0, "end_index": 2}}
TOKEN = {"token": "hi", "logprob": -1, "bytes": None, "top_logprobs": []}
ANSWERS = {
    "id": "r",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "logprobs": {"content": [TOKEN]},
            "message": {**CHOICE, "annotations": [CITED]},
        },
        {"index": 1, "finish_reason": "stop", "message": CHOICE},
    ],
}


@pytest.mark.parametrize(
    ("target", "code", "at"),
    [
        ("anthropic", "one_choice", "$.choices[1]"),
        ("anthropic", "logprobs_unsupported", "$.choices[0].logprobs.content"),
        (
            "bedrock",
            "end_unsupported",
            "$.choices[0].message.annotations[0].url_citation.end_index",
        ),
        ("ollama", "citations_unsupported", "$.choices[0].message.annotations"),
    ],
)
def test_places_in_the_answers_of_a_response(target: str, code: str, at: str) -> None:
    report = il.convert(ANSWERS, "openai-chat", target, "response").report
    assert {entry.code: entry.at for entry in report.located()}[code] == (at,)


HELLO = [{"role": "user", "content": "hi"}]
FOUND = {"type": "search_result", "source": "u", "title": "T", "content": [TEXT]}
GEMINI = [{"role": "user", "parts": [{"text": "hi"}]}]
KEYS: list[tuple[dict[str, Any], str, str, list[tuple[str, tuple[str, ...]]]]] = [
    (
        {"model": "m", "messages": HELLO, "options": {"mirostat": 1, "num_ctx": 9}},
        "ollama",
        "anthropic",
        [("mirostat", ("$.options.mirostat",)), ("num_ctx", ("$.options.num_ctx",))],
    ),
    (
        {
            "contents": GEMINI,
            "generationConfig": {
                "maxOutputTokens": 9,
                "responseMimeType": "application/json",
                "responseSchema": {"type": "OBJECT", "properties": {}},
            },
        },
        "gemini",
        "anthropic",
        [
            (
                "schema",
                ("$.generationConfig.responseMimeType", "$.generationConfig.responseSchema"),
            )
        ],
    ),
    (
        {"model": "c", "max_tokens": 9, "messages": [{"role": "user", "content": [FOUND, TEXT]}]},
        "anthropic",
        "gemini",
        [("title", ("$.messages[0].content[0].title",))],
    ),
]


@pytest.mark.parametrize(("body", "source", "target", "wanted"), KEYS)
def test_a_place_is_a_key_and_not_what_holds_it(
    body: Any, source: str, target: str, wanted: list[tuple[str, tuple[str, ...]]]
) -> None:
    report = il.convert(body, source, target, model=MODELS[target]).report
    found = {entry.path.rpartition(".")[2]: entry.at for entry in report.located()}
    assert {name: found.get(name) for name, _ in wanted} == dict(wanted)


@pytest.mark.parametrize(
    ("body", "target", "sentence"),
    [
        (
            {"contents": GEMINI, "generationConfig": {"candidateCount": 3}},
            "anthropic",
            "candidateCount dropped",
        ),
        (
            {"model": "m", "messages": HELLO, "prompt_cache_key": "k"},
            "ollama",
            "prompt_cache_key dropped",
        ),
        (
            {"model": "m", "input": "hi", "previous_response_id": "r"},
            "anthropic",
            "previous_response_id dropped",
        ),
    ],
)
def test_a_sentence_has_the_name_that_the_body_has(body: Any, target: str, sentence: str) -> None:
    report = il.convert(body, to=target, model=MODELS[target]).report
    assert any(entry.reason.startswith(sentence) for entry in report.located()), str(report)


@pytest.mark.parametrize(
    ("given", "at"),
    [
        (HELLO[0] | {"name": "bob"}, "$.name"),
        ([*HELLO, HELLO[0] | {"name": "bob"}], "$[1].name"),
        (
            {"model": "m", "max_tokens": 9, "messages": [HELLO[0] | {"name": "bob"}]},
            "$.messages[0].name",
        ),
    ],
)
def test_dicts_that_were_passed_have_places(given: Any, at: str) -> None:
    (loss,) = il.plan(given, "anthropic", "claude-sonnet-4-6").losses
    assert loss.at == (at,)


def test_a_limit_that_was_filled_in_has_no_path() -> None:
    report = il.convert({"model": "m", "messages": HELLO}, to="anthropic").report
    assert "  warning: max_tokens set to 4096: " in str(report)
    assert "$.options" not in str(report)


def test_a_place_is_found_when_it_is_asked_for_and_only_then() -> None:
    source, target, body, _ = CASES["the configuration of Gemini"]
    report = il.convert(body, source, target, "request").report
    assert report.source is not None
    assert bool(report)
    assert report.source is not None
    assert report.losses[0].at
    assert report.source is None


def test_without_takes_an_only_item_with_its_container() -> None:
    body = {"a": [{"b": [1]}], "c": 2}
    assert without(body, ("$.a[0].b[0]",)) == {"c": 2}
    assert without({"a": [1, 2, 3]}, ("$.a[0]", "$.a[2]")) == {"a": [2]}


def test_removing_what_stands_there_removes_the_loss() -> None:
    """A part of the recorded requests; `python -m tests.laws.at` takes all of them."""
    verdicts: Counter[str] = Counter()
    for name, source, body in recorded(every=80):
        for target in MODELS:
            if target != source:
                verdicts.update(each.verdict for each in judged(name, source, body, target))
    if not verdicts:
        pytest.skip("no recorded requests: there is no folder shared/corpus beside the repository")
    total = verdicts.total() - verdicts["filled in"]
    placed = total - verdicts["no place"]
    assert placed / total >= 0.97
    assert verdicts["held"] / placed >= 0.99
