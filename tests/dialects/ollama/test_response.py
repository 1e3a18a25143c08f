"""Responses: the answer, how it ended, what it cost; and errors."""

from __future__ import annotations

from typing import Any

import ollama
import pytest

from interlingua.dialects.ollama import DIALECT
from interlingua.dialects.ollama.tables import DEFAULT_TIME
from interlingua.errors import ReadError
from interlingua.model.blocks import (
    ImageBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)
from interlingua.model.exchange import ErrorKind, ProviderError
from interlingua.model.message import Message
from interlingua.model.metadata import MessageStatus, StopReason, Usage
from tests.dialects.ollama.answers import made, written
from tests.dialects.ollama.wires import CALL, PNG, answer, read_answer


@pytest.mark.requirement("P46")
def test_an_answer_is_a_message_with_metadata() -> None:
    response = read_answer(answer("Hello", message={"thinking": "Hm."}))
    assert response.message.content == (ThinkingBlock("Hm."), TextBlock("Hello"))
    metadata = response.message.metadata
    assert (metadata.protocol, metadata.response_model) == ("ollama", "qwen3:8b")
    assert (metadata.stop_reason, metadata.raw_stop_reason) == (StopReason.END_TURN, "stop")
    assert metadata.usage == Usage(10, 3)
    assert response.raw == {"ollama": {"created_at": "2026-11-15T12:00:00.5Z", "total_duration": 5}}


def test_images_of_an_answer_go_home_and_no_others_go_out() -> None:
    image = ImageBlock(Source("base64", PNG), "image/png")
    response = read_answer(answer("Here.", message={"images": [PNG]}))
    assert response.message.content == (TextBlock("Here."), image)
    wire, lost = written(made((TextBlock("Here."), image)))
    assert wire["message"] == {"role": "assistant", "content": "Here."}
    assert lost == [("dropped", "$.message.content[1]")]
    ollama.ChatResponse.model_validate(wire)


@pytest.mark.requirement("P32")
@pytest.mark.parametrize(
    ("word", "calls", "reason"),
    [
        ("stop", [], StopReason.END_TURN),
        ("stop", [CALL], StopReason.TOOL_USE),
        ("length", [CALL], StopReason.MAX_TOKENS),
        ("load", [], StopReason.OTHER),
        ("tomorrow", [], StopReason.OTHER),
    ],
)
def test_calls_decide_the_ending_but_not_over_a_limit(word: str, calls: Any, reason: Any) -> None:
    wire = answer("", message={"tool_calls": calls}, done_reason=word)
    metadata = read_answer(wire).message.metadata
    assert (metadata.stop_reason, metadata.raw_stop_reason) == (reason, word)


def test_calls_without_ids_differ_from_answer_to_answer() -> None:
    bare = {"function": {"name": "f", "arguments": {}}}
    first = read_answer(answer("", message={"tool_calls": [bare, bare]})).message.content
    later = read_answer(answer("", message={"tool_calls": [bare]}, created_at="z")).message.content
    ids = [block.id for block in (*first, *later) if isinstance(block, ToolUseBlock)]
    assert len(set(ids)) == 3


@pytest.mark.requirement("P37")
def test_the_prompt_is_one_number_here() -> None:
    usage = Usage(5, 3, cached_input_tokens=10, reasoning_tokens=2)
    wire, lost = written(made(usage=usage))
    assert (wire["prompt_eval_count"], wire["eval_count"]) == (15, 3)
    place = "$.message.metadata.usage"
    assert lost == [
        ("dropped", f"{place}.cached_input_tokens"),
        ("approximated", f"{place}.input_tokens"),
        ("dropped", f"{place}.reasoning_tokens"),
    ]


def test_what_the_wire_demands_is_filled_in() -> None:
    wire, lost = written(made())
    message = {"role": "assistant", "content": "Hello"}
    assert wire == {
        "model": "unknown",
        "created_at": DEFAULT_TIME,
        "message": message,
        "done": True,
    }
    assert lost == []


@pytest.mark.parametrize(
    "more",
    [
        {"done": False, "done_reason": None, "remote_host": "a.b", "logprobs": [{"token": "a"}]},
        {"prompt_eval_count": -1},
        {"prompt_eval_count": None, "eval_count": 0, "model": None},
        {"message": {"role": "model", "content": None, "images": ["AAAA"], "more": 1}},
        {"message": {"tool_calls": [{"future": 1}]}},
    ],
)
def test_whatever_the_body_says_besides_goes_home(more: dict[str, Any]) -> None:
    read_answer(answer(**more))
    read_answer({"message": {"content": "Hi"}, **more})
    read_answer({"done": True, "done_reason": "unload"})


def test_an_answer_that_is_not_done_is_partial() -> None:
    metadata = read_answer(answer(done=False)).message.metadata
    assert metadata.status is MessageStatus.PARTIAL


def test_counts_that_contradict_are_clamped_and_reported() -> None:
    metadata = read_answer(answer(prompt_eval_count=-1)).message.metadata
    assert metadata.usage == Usage(0, 3)
    assert [each.type for each in metadata.diagnostics] == ["usage_contradicts"]


# -- errors ---------------------------------------------------------------------------------------


def test_an_error_of_others_is_its_text() -> None:
    error = ProviderError(ErrorKind.RATE_LIMIT, "Wait.", "rate_limit_error", 429)
    wire, lost = written(made((), stop_reason=StopReason.ERROR).replace(error=error))
    assert wire == {"error": "Wait."}
    assert lost == [
        ("dropped", "$.error.code"),
        ("dropped", "$.error.status"),
        ("approximated", "$.error.kind"),
    ]


def test_other_answers_are_reported() -> None:
    response = made().replace(alternatives=(Message.assistant("Hi"),))
    assert written(response)[1] == [("dropped", "$.alternatives[0]")]


@pytest.mark.parametrize(
    ("wire", "path"),
    [
        ([], "$"),
        ({}, "$"),
        ({"error": 5}, "$.error"),
        ({"message": 5}, "$.message"),
        ({"message": {"content": 5}}, "$.message.content"),
        (answer(done="yes"), "$.done"),
        (answer(done_reason=[]), "$.done_reason"),
        (answer(eval_count="3"), "$.eval_count"),
    ],
)
def test_a_wrong_shape_is_an_error_that_names_the_place(wire: Any, path: str) -> None:
    with pytest.raises(ReadError) as caught:
        DIALECT.read_response(wire)
    assert caught.value.path == path
