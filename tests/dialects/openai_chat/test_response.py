"""Responses: choices, stop reasons, citations and usage."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from interlingua.dialects.openai_chat import DIALECT
from interlingua.errors import ReadError
from interlingua.model.blocks import (
    AudioBlock,
    Citation,
    RefusalBlock,
    Source,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.exchange import Request, Response
from interlingua.model.metadata import MessageStatus, StopReason, Usage
from tests.dialects.openai_chat.wires import (
    CALL,
    answer,
    assistant,
    losses,
    made,
    read_answer,
    result,
    text,
    write_answer,
)

END = StopReason.END_TURN


def usage(**counts: Any) -> Usage:
    found = read_answer(answer(usage=counts)).message.metadata.usage
    assert found is not None
    return found


def counted(prompt: int = 10, completion: int = 3, **more: Any) -> dict[str, Any]:
    total = {"total_tokens": prompt + completion}
    return {"prompt_tokens": prompt, "completion_tokens": completion, **total, **more}


# Choices


def test_content_that_is_an_object_is_read_as_its_json() -> None:
    wire = answer(assistant({"city": "Oslo", "degrees": 12}))
    response = read_answer(wire)
    assert response.message.content == (TextBlock('{"city":"Oslo","degrees":12}'),)
    for words, written in (('{"city":"Bergen"}', {"city": "Bergen"}), ("[1]", "[1]"), ("no", "no")):
        content = response.replace(message=response.message.replace(content=(TextBlock(words),)))
        message = DIALECT.write_response(content).wire["choices"][0]["message"]
        assert message["content"] == written


def test_an_object_of_an_answer_goes_back_as_text() -> None:
    message = read_answer(answer(assistant({"city": "Oslo"}))).message
    wire = DIALECT.write_request(Request((message,), "gpt-5")).wire
    assert wire["messages"][0]["content"] == '{"city":"Oslo"}'


def test_a_plain_answer() -> None:
    metadata = read_answer(
        answer(service_tier="default", system_fingerprint="fp_1")
    ).message.metadata
    assert (metadata.response_id, metadata.response_model) == ("chatcmpl-1", "gpt-5")
    assert (metadata.protocol, metadata.stop_reason) == ("openai-chat", END)
    assert metadata.raw_stop_reason == "stop"


def test_the_first_choice_is_the_message_and_the_others_are_alternatives() -> None:
    wire = answer()
    more = {"index": 1, "message": assistant("Hey"), "finish_reason": "length", "logprobs": None}
    wire["choices"].append(more)
    response = read_answer(wire)
    assert [m.text for m in (response.message, *response.alternatives)] == ["Hello", "Hey"]
    assert response.alternatives[0].metadata.stop_reason is StopReason.MAX_TOKENS
    assert response.alternatives[0].metadata.usage is None


def test_logprobs_are_kept_with_their_choice() -> None:
    wire = answer()
    wire["choices"][0]["logprobs"] = {"content": [], "refusal": None}
    raw = read_answer(wire).message.metadata.provider_raw
    assert raw == {"openai-chat": {"choice": {"logprobs": {"content": [], "refusal": None}}}}


@pytest.mark.parametrize(
    "odd",
    [
        {"id": "", "model": ""},
        {"id": None, "usage": None, "object": None},
        {"created": 1.5, "object": "other"},
        {"choices": []},
        {"error": None, "x_groq": {"id": "req_1"}},
    ],
)
def test_odd_envelopes_go_home(odd: dict[str, Any]) -> None:
    read_answer(answer(**odd))


@pytest.mark.parametrize("key", ["id", "object", "created", "model", "usage"])
def test_missing_keys_go_home_missing(key: str) -> None:
    wire = answer()
    del wire[key]
    read_answer(wire)


def test_no_choices_at_all_is_a_blocked_prompt() -> None:
    message = read_answer(answer(choices=[])).message
    assert (message.content, message.metadata.stop_reason) == ((), StopReason.CONTENT_FILTER)


def test_zero_values_for_what_is_not_there_are_nothing() -> None:
    message = assistant(
        "4",
        refusal="",
        annotations=None,
        tool_calls=None,
        audio={"id": "", "data": "", "transcript": "", "expires_at": 0},
        function_call={"name": "", "arguments": ""},
    )
    assert read_answer(answer(message)).message.content == (TextBlock("4"),)


def test_an_answer_from_elsewhere_has_the_keys_that_the_wire_demands() -> None:
    wire, report = write_answer(made("Hi", stop_reason=END))
    assert (wire["object"], wire["created"], wire["model"]) == ("chat.completion", 0, "")
    assert wire["id"].startswith("chatcmpl-")
    assert wire["choices"] == [{"index": 0, "message": assistant("Hi"), "finish_reason": "stop"}]
    assert not report.entries


def test_the_content_of_an_answer_is_one_string() -> None:
    wire, report = write_answer(made("a", "b", stop_reason=END))
    assert wire["choices"][0]["message"]["content"] == "ab"
    assert losses(report) == [("approximated", "$.message.content[1]")]


def test_usage_of_an_alternative_has_no_place() -> None:
    other = made("b", stop_reason=END, usage=Usage(1, 1))
    _, report = write_answer(made("a", stop_reason=END), alternatives=(other,))
    assert losses(report) == [("dropped", "$.alternatives[0].metadata.usage")]


def test_a_status_other_than_complete_is_reported() -> None:
    _, report = write_answer(made("a", stop_reason=END, status=MessageStatus.PARTIAL))
    assert losses(report) == [("dropped", "$.message.metadata.status")]


def test_mistral_may_answer_in_several_messages() -> None:
    run = [
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
        {**result(), "name": "get_weather"},
        {"role": "assistant", "content": [text("12 degrees.")], "index": 2},
    ]
    wire = answer()
    wire["choices"] = [{"index": 0, "messages": run, "finish_reason": "stop"}]
    call, found, content = read_answer(wire).message.content
    assert isinstance(call, ToolUseBlock)
    assert call.executor == "provider"
    assert isinstance(found, ToolResultBlock)
    assert content == TextBlock("12 degrees.")


# Why it ended


# What else a message says


def test_a_refusal() -> None:
    message = read_answer(answer(assistant(None, refusal="No."))).message
    assert message.content == (RefusalBlock("No."),)
    wire, report = write_answer(made(RefusalBlock("No."), stop_reason=StopReason.REFUSAL))
    assert wire["choices"][0]["message"] == assistant(None, refusal="No.")
    assert not report.entries


def test_speech() -> None:
    audio = {"id": "audio_1", "data": "AA==", "expires_at": 17, "transcript": "Hi"}
    (block,) = read_answer(answer(assistant(None, audio=audio))).message.content
    assert block == AudioBlock(Source("base64", "AA=="), transcript="Hi")
    assert block.raw == {"openai-chat": {"id": "audio_1", "expires_at": 17}}
    by_id = {"id": "audio_1", "data": "", "expires_at": 17, "transcript": "Hi"}
    (block,) = read_answer(answer(assistant(None, audio=by_id))).message.content
    assert block == AudioBlock(Source("file_id", "audio_1", provider="openai"), transcript="Hi")


def test_speech_that_was_answered_is_sent_back_by_its_id() -> None:
    audio = {"id": "audio_1", "data": "AA==", "expires_at": 17, "transcript": "Hi"}
    message = DIALECT.read_response(answer(assistant(None, audio=audio))).message
    from interlingua.model.exchange import Request

    written = DIALECT.write_request(Request((message,)))
    assert written.wire["messages"][0]["audio"] == {"id": "audio_1"}
    assert losses(written.report) == [
        ("approximated", "$.messages[0].content[0].source"),
        ("dropped", "$.messages[0].content[0].transcript"),
    ]


def cited(**keys: Any) -> dict[str, Any]:
    inner = {"start_index": 0, "end_index": 5, "title": "T", "url": "https://example.com", **keys}
    return {"type": "url_citation", "url_citation": inner}


@pytest.mark.requirement("P41")
def test_annotations_are_citations_on_the_text() -> None:
    message = read_answer(answer(assistant("Hello", annotations=[cited(), cited()]))).message
    citation = Citation(url="https://example.com", title="T", start=0, end=5)
    assert message.content == (TextBlock("Hello", citations=(citation, citation)),)
    wire, report = write_answer(made(*message.content, stop_reason=END))
    assert wire["choices"][0]["message"]["annotations"] == [cited(), cited()]
    assert not report.entries


@pytest.mark.parametrize(
    "item",
    [
        cited(start_index=0, end_index=0, title=""),
        cited(content="A source."),
        {"type": "url_citation", "url_citation": {"url": "https://example.com"}},
        {
            "type": "document_citation",
            "document_citation": {"document_id": "d", "start_index": 0, "end_index": 5},
        },
        {"type": "file", "file": {"hash": "a", "content": [text("a")]}},
        {"type": "mystery"},
    ],
)
def test_annotations_of_every_shape_go_home(item: dict[str, Any]) -> None:
    (block,) = read_answer(answer(assistant("Hello", annotations=[item]))).message.content
    assert isinstance(block, TextBlock)
    assert len(block.citations) == 1


def test_annotations_without_text_go_home() -> None:
    read_answer(answer(assistant(None, annotations=[cited()], tool_calls=[CALL])))


def test_offsets_count_from_each_blocks_own_beginning() -> None:
    annotations = [cited(), cited(start_index=6, end_index=7)]
    message = read_answer(
        answer(assistant([text("Hello"), text("you")], annotations=annotations))
    ).message
    assert [c.start for block in message.content for c in block.citations] == [0, 1]  # type: ignore[union-attr]


def test_citations_that_have_no_place_are_reported() -> None:
    block = TextBlock(
        "Hello", citations=(Citation("x", document_index=1), Citation("y", "https://example.com"))
    )
    _, report = write_answer(made(block, stop_reason=END))
    assert losses(report) == [
        ("dropped", "$.message.content[0].citations[0]"),
        ("dropped", "$.message.content[0].citations[1].cited_text"),
    ]


# Usage


@pytest.mark.requirement("P36", "P37")
def test_the_prompt_includes_what_was_cached_and_the_completion_the_reasoning() -> None:
    wire = counted(
        100,
        50,
        prompt_tokens_details={"cached_tokens": 60, "cache_write_tokens": 30, "audio_tokens": 0},
        completion_tokens_details={"reasoning_tokens": 20},
    )
    expected = Usage(10, 50, 60, 30, 20)
    assert usage(**wire) == expected
    assert (expected.prompt_tokens, expected.total_tokens) == (100, 150)
    written, report = write_answer(made("a", stop_reason=END, usage=expected))
    del wire["prompt_tokens_details"]["audio_tokens"]
    assert written["usage"] == wire
    assert not report.entries


def test_unknown_counts_are_none() -> None:
    assert usage(**counted()) == Usage(10, 3)
    assert usage() == Usage()
    assert "usage" not in write_answer(made("a", stop_reason=END, usage=Usage()))[0]


@pytest.mark.parametrize(
    "keys",
    [
        {"prompt_cache_hit_tokens": 4, "prompt_cache_miss_tokens": 6},
        {"cached_tokens": 4},
        {"num_cached_tokens": 4},
        {"prompt_cache_hit_tokens": 4, "prompt_tokens_details": {"cached_tokens": 4}},
    ],
)
def test_hosts_have_other_names_for_what_was_cached(keys: dict[str, Any]) -> None:
    assert usage(**counted(**keys)) == Usage(6, 3, 4)


def test_an_edit_changes_a_count_wherever_it_is_repeated() -> None:
    details: dict[str, Any] = {
        "prompt_tokens_details": {"cached_tokens": 4},
        "prompt_cache_hit_tokens": 4,
    }
    response = read_answer(answer(usage=counted(**details)))
    counts = response.message.metadata.usage
    assert counts is not None
    metadata = response.message.metadata.replace(usage=counts.replace(cached_input_tokens=5))
    changed = response.replace(message=response.message.replace(metadata=metadata))
    assert DIALECT.write_response(changed).wire["usage"] == counted(
        11, prompt_tokens_details={"cached_tokens": 5}, prompt_cache_hit_tokens=5
    )


def test_reasoning_beside_the_completion_is_told_by_the_total() -> None:
    details = {"completion_tokens_details": {"reasoning_tokens": 320}}
    assert usage(**{**counted(468, 82, **details), "total_tokens": 870}) == Usage(
        468, 402, reasoning_tokens=320
    )
    assert usage(**{**counted(35, 12), "total_tokens": 109}) == Usage(35, 74, reasoning_tokens=62)


@pytest.mark.parametrize(
    "odd",
    [
        counted(10, 5, prompt_tokens_details={"cached_tokens": 161}),
        counted(10, 5, completion_tokens_details={"reasoning_tokens": 19}),
        counted(-1, 5),
        {"prompt_tokens_details": {"cached_tokens": 5}},
    ],
)
def test_numbers_that_contradict_are_clamped_and_reported(odd: dict[str, Any]) -> None:
    metadata = read_answer(answer(usage=odd)).message.metadata
    assert [each.type for each in metadata.diagnostics] == ["usage_contradicts"]
    counts = metadata.usage
    assert counts is not None
    assert (counts.input_tokens or 0) >= 0
    assert (counts.reasoning_tokens or 0) <= (counts.output_tokens or 0)


@pytest.mark.parametrize(
    "odd",
    [
        counted(prompt_tokens_details=None, completion_tokens_details={}),
        counted(prompt_tokens_details={"cached_tokens": None, "audio_tokens": None}),
        {"prompt_tokens": "ten", "completion_tokens": 3},
        {"total_tokens": 13},
        {**counted(), "total_tokens": 12},
        counted(cost=0.5, queue_time=0.1),
    ],
)
def test_odd_usage_goes_home(odd: dict[str, Any]) -> None:
    usage(**odd)


def test_money_has_no_place() -> None:
    priced = Usage(1, 1, cost_usd=Decimal("0.5"), latency_ms=3)
    _, report = write_answer(made("a", stop_reason=END, usage=priced))
    assert losses(report) == [
        ("dropped", "$.message.metadata.usage.cost_usd"),
        ("dropped", "$.message.metadata.usage.latency_ms"),
    ]


# Errors in place of shapes


@pytest.mark.parametrize(
    ("wire", "path"),
    [
        ([], "$"),
        ({}, "$.choices"),
        (answer(choices=None), "$.choices"),
        (answer(choices=[5]), "$.choices[0]"),
        (answer(choices=[{}]), "$.choices[0].message"),
        (answer(assistant(5)), "$.choices[0].message.content"),
        (answer(usage=5), "$.usage"),
        (answer(id=5), "$.id"),
    ],
)
def test_an_error_names_the_place(wire: Any, path: str) -> None:
    with pytest.raises(ReadError) as caught:
        DIALECT.read_response(wire)
    assert (caught.value.path, caught.value.what) == (path, "openai-chat response")


def test_a_response_of_many_messages_is_pure() -> None:
    response = Response(made("a", stop_reason=END), (made("b", stop_reason=END),))
    assert DIALECT.write_response(response).wire == DIALECT.write_response(response).wire
