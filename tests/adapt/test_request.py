"""A request as it goes out to one provider: in its words, and with every change in the report."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il
from interlingua.client.targets import Target, Targets
from interlingua.providers import Provider, Switches, compatible, provider
from tests.adapt.writing import written_for

CHAT = "openai-chat"
ACME = compatible("acme", "http://127.0.0.1:1/v1")
ASKED = il.Request(
    (il.Message.developer("short"), il.Message.user("hi")),
    options=il.Options(max_output_tokens=5, seed=7, user="u-1"),
)


def target(model: str, dialect: str = CHAT, own: Provider | None = None) -> Target:
    known = own or provider(model.partition(":")[0])
    return Targets([known], environ={}).find(model, dialect)


def places(written: Any) -> dict[str, str]:
    return {loss.path: loss.kind for loss in written.report.entries}


@pytest.mark.parametrize(
    ("model", "own"), [("acme:m", ACME), ("local:smollm2-135m-instruct", None), ("ollama:x", None)]
)
def test_a_server_without_the_role_developer_is_told_system_and_the_report_says_so(
    model: str, own: Provider | None
) -> None:
    written = written_for(ASKED, target(model, own=own), stream=False)
    assert [each["role"] for each in written.wire["messages"]] == ["system", "user"]
    assert places(written)["$.messages[0].role"] == "downgraded"


def test_each_host_has_its_own_words_for_the_same_numbers() -> None:
    words = {
        "openai:gpt-4o": {"max_completion_tokens": 5, "seed": 7, "safety_identifier": "u-1"},
        "azure:gpt-4o": {"max_completion_tokens": 5, "seed": 7, "user": "u-1"},
        "mistral:mistral-small-latest": {"max_tokens": 5, "random_seed": 7},
        "deepseek:deepseek-chat": {"max_tokens": 5},
        "ollama:x": {"max_tokens": 5, "seed": 7},
    }
    for model, content in words.items():
        written = written_for(ASKED, target(model), stream=False)
        wire = written.wire
        rest = {key: wire[key] for key in wire.keys() - {"model", "messages", "stream"}}
        assert rest == content, model
        assert ("$.options.user" in places(written)) is ("u-1" not in content.values()), model
        assert ("$.options.seed" in places(written)) is (7 not in content.values()), model


def test_a_remembered_word_gives_way_to_the_one_that_a_host_insists_on() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    for content in ({"max_completion_tokens": 9}, {"max_tokens": 9, "max_completion_tokens": 9}):
        read = il.dialect(CHAT).read_request({**body, **content})
        written = written_for(read, target("acme:m", own=ACME), stream=False)
        assert written.wire["max_tokens"] == 9
        assert "max_completion_tokens" not in written.wire
        assert not written.report.entries, str(written.report)


def test_a_second_limit_that_says_another_number_is_left_out_and_reported() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    read = il.dialect(CHAT).read_request({**body, "max_tokens": 8, "max_completion_tokens": 9})
    written = written_for(read, target("acme:m", own=ACME), stream=False)
    assert len({"max_tokens", "max_completion_tokens"} & written.wire.keys()) == 1
    assert len(written.report.entries) == 1, str(written.report)


def test_counts_are_asked_for_where_a_host_tells_them_only_then() -> None:
    asked = {"openai:gpt-4o": True, "mistral:mistral-small-latest": False, "groq:x": True}
    for model, is_asked in asked.items():
        for stream in (True, False):
            wire = written_for(ASKED, target(model), stream).wire
            assert ("stream_options" in wire) is (is_asked and stream), model
    own = il.dialect(CHAT).read_request(
        {"messages": [], "stream": True, "stream_options": {"include_usage": False}}
    )
    wire = written_for(own, target("openai:gpt-4o"), stream=True).wire
    assert wire["stream_options"] == {"include_usage": False}, "what was said is said"


def test_what_the_address_says_is_not_said_again_in_the_body() -> None:
    claude = target("vertex:claude-sonnet-4-5", "anthropic")
    wire = written_for(ASKED, claude, stream=False).wire
    assert "model" not in wire
    assert wire["anthropic_version"] == "vertex-2023-10-16"
    assert (
        "model" not in written_for(ASKED, target("gemini:gemini-2.5-flash", "gemini"), False).wire
    )


def test_the_value_that_was_given_stays_as_it_was() -> None:
    before = il.dumps(ASKED)
    own = Provider(
        key="own",
        auth=(),
        dialect=CHAT,
        dialects=ACME.dialects,
        switches=Switches(host="deepseek", max_tokens="max_completion_tokens", developer=False),
    )
    wire = written_for(ASKED, target("own:m", own=own), stream=None).wire
    assert wire["max_completion_tokens"] == 5, "a switch comes before the words of its host"
    assert il.dumps(ASKED) == before
