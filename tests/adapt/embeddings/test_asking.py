"""Every form into every other: what arrives, and what the report says of the rest."""

from __future__ import annotations

import json
from typing import Any

import pytest

from interlingua.adapt.embeddings.asking import (
    FORMS,
    estimated,
    joined,
    place_of,
    read_request,
    write_requests,
)
from interlingua.adapt.embeddings.form import Answer
from interlingua.client.targets import Targets
from interlingua.errors import ReadError, WriteError
from interlingua.model.blocks import ImageBlock, Source, TextBlock
from interlingua.model.decisions import Embeddings, EmbedRequest
from interlingua.model.losses import Report
from interlingua.model.metadata import Usage
from interlingua.providers.provider import ProviderSetupError

FRONTS = ("openai", "gemini", "vertex", "cohere", "ollama")
OPTIONS: dict[str, Any] = {
    "dimensions": 256,
    "input_type": "query",
    "truncate": "end",
    "title": "A title",
    "user": "u",
}
KNOWN: dict[str, set[str]] = {
    "openai": {"dimensions", "user"},
    "mistral": {"dimensions"},
    "gemini": {"dimensions", "input_type", "title"},
    "vertex": {"dimensions", "input_type", "title", "truncate"},
    "vertex-content": {"dimensions", "input_type", "title", "truncate"},
    "cohere": {"dimensions", "input_type", "truncate"},
    "bedrock-cohere": {"dimensions", "input_type", "truncate"},
    "ollama": {"dimensions", "truncate"},
    "titan": {"dimensions"},
    "titan-v1": set(),
}
"""What each vendor's API documents, written down apart from the tables."""


@pytest.mark.parametrize("name", FORMS)
def test_each_option_arrives_or_is_in_the_report(name: str) -> None:
    for option, value in OPTIONS.items():
        report = Report(name)
        plain = write_requests(FORMS[name], EmbedRequest(("a",), "m"), Report(name))
        bodies = write_requests(FORMS[name], EmbedRequest(("a",), "m", **{option: value}), report)
        reported = {entry.path for entry in report.entries}
        if option in KNOWN[name]:
            assert f"$.{option}" not in reported
            assert bodies != plain
        else:
            assert f"$.{option}" in reported
            assert bodies == plain


@pytest.mark.parametrize("name", FRONTS)
def test_a_form_reads_back_what_it_writes(name: str) -> None:
    options = {option: OPTIONS[option] for option in KNOWN[name]}
    request = EmbedRequest(("a", "b"), "m", **options)
    report = Report(name)
    (wire,) = write_requests(FORMS[name], request, report)
    again = read_request(FORMS[name], json.dumps(wire).encode(), "m")
    assert again.replace(encodings=()) == request.replace(input_type=again.input_type)
    if "input_type" in KNOWN[name]:
        assert again.input_type == "query"


@pytest.mark.parametrize("name", FRONTS)
@pytest.mark.parametrize("body", [b"", b"[]", b"5", b"{}", b'{"input": [[]]}', b"\xff", b"[" * 900])
def test_a_body_that_cannot_be_read_is_an_error_with_a_place(name: str, body: bytes) -> None:
    with pytest.raises(ReadError, match="embeddings request, at"):
        read_request(FORMS[name], body, None)


def test_members_of_one_vendor_alone_are_lost_elsewhere_and_go_home() -> None:
    body = b'{"model": "m", "input": "x", "keep_alive": "5m"}'
    request = read_request(FORMS["ollama"], body, "m")
    report = Report("openai")
    assert write_requests(FORMS["openai"], request, report) == [{"model": "m", "input": ["x"]}]
    assert [(loss.path, loss.code) for loss in report.losses] == [
        ("$.keep_alive", "vendor_setting")
    ]
    assert write_requests(FORMS["ollama"], request, Report("ollama"))[0]["keep_alive"] == "5m"


def test_a_purpose_without_a_word_becomes_the_nearest_or_the_usual_one() -> None:
    for purpose, word, codes in (
        ("question", "search_query", ["embedding_near"]),
        ("similarity", "search_document", ["value_unsupported", "embedding_type"]),
        ("document", "search_document", []),
    ):
        report = Report("cohere")
        request = EmbedRequest(("a",), "m", input_type=purpose)  # type: ignore[arg-type]  # a word
        (wire,) = write_requests(FORMS["cohere"], request, report)
        assert wire["input_type"] == word
        assert [loss.code for loss in report.losses] == codes


def test_media_goes_where_it_is_taken_and_is_refused_elsewhere() -> None:
    picture = (TextBlock("a"), ImageBlock(Source("base64", "AAAA"), "image/png"))
    for name in FORMS:
        request = EmbedRequest((picture,), "m")
        if name in ("gemini", "vertex-content", "cohere"):
            (wire,) = write_requests(FORMS[name], request, Report(name))
            again = read_request(FORMS[name], json.dumps(wire).encode(), "m")
            assert again.inputs == (picture,)
        else:
            with pytest.raises(WriteError, match=r"at \$.inputs\[0\]: the input is media"):
                write_requests(FORMS[name], request, Report(name))


def test_parts_of_text_are_joined_and_reported_under_their_own_number() -> None:
    inputs = [f"text {number}" for number in range(120)]
    request = EmbedRequest((*inputs, (TextBlock("a"), TextBlock("b"))), "m", title="t")
    report = Report("bedrock-cohere")
    bodies = write_requests(FORMS["bedrock-cohere"], request, report)
    assert [len(body["texts"]) for body in bodies] == [96, 25]
    assert bodies[1]["texts"][-1] == "a\nb"
    reported = [(entry.path, entry.code) for entry in report.entries]
    assert ("$.inputs[120]", "embedding_joined") in reported
    assert [code for _, code in reported].count("title_unsupported") == 1


def test_answers_are_joined_and_missing_counts_are_estimated() -> None:
    request = EmbedRequest(("one two", "three"), "openai:text-embedding-3-small")
    one, other = Embeddings(((1.0,),), usage=Usage(5, 0)), Embeddings(((2.0,),))
    report = Report("gemini")
    whole = joined([one, other], request, report)
    assert whole.vectors == ((1.0,), (2.0,))
    assert whole.usage is not None
    assert whole.usage.estimated
    assert whole.usage.input_tokens == estimated(request) > 0
    assert [note.code for note in report.notes] == ["usage_estimated"]
    with pytest.raises(ReadError, match="expected 2 vectors, found 1"):
        joined([one], request, report)


def test_a_model_of_vertex_that_takes_one_content_is_asked_for_each() -> None:
    form, request = FORMS["vertex-content"], EmbedRequest(("a", "b"), "m", dimensions=2, title="t")
    bodies = write_requests(form, request, Report(form.name))
    config = {"outputDimensionality": 2, "title": "t"}
    texts = [{"content": {"parts": [{"text": text}]}} for text in "ab"]
    assert bodies == [{**each, "embedContentConfig": config} for each in texts]
    answer = {"embedding": {"values": [1.0, 2.0]}, "usageMetadata": {"promptTokenCount": 3}}
    read = form.read_answer(Answer(answer, {}))
    assert (read.vectors, read.usage) == (((1.0, 2.0),), Usage(3, 0))


def test_a_place_is_found_for_every_provider_that_makes_embeddings() -> None:
    environ = {"AWS_REGION": "eu-west-1", "GOOGLE_CLOUD_PROJECT": "p"}
    targets = Targets(environ=environ)
    for model, form in (
        ("openai:text-embedding-3-small", "openai"),
        ("azure:deployment", "openai"),
        ("vertex:gemini-embedding-001", "vertex"),
        ("vertex:text-embedding-005", "vertex"),
        ("vertex:gemini-embedding-2", "vertex-content"),
        ("bedrock:eu.cohere.embed-v4:0", "bedrock-cohere"),
        ("bedrock:amazon.titan-embed-text-v1", "titan-v1"),
        ("bedrock:amazon.titan-embed-text-v2:0", "titan"),
    ):
        assert place_of(targets.find(model)).form.name == form
    for model in ("anthropic:claude-sonnet-4-6", "bedrock:anthropic.claude-3-haiku"):
        with pytest.raises(ProviderSetupError, match="has no embeddings API"):
            place_of(targets.find(model))
