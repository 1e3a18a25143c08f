"""Responses and errors of OpenRouter, where they differ from those of Chat Completions."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.dialects.openrouter import DIALECT
from interlingua.model.blocks import Citation, ImageBlock, Source, TextBlock, ThinkingBlock
from interlingua.model.exchange import ErrorKind, ProviderError, Response
from interlingua.model.metadata import StopReason, Usage
from tests.dialects.openai_chat.wires import PNG, answer, assistant, image, losses, made
from tests.dialects.openrouter.wires import TEXT, read_answer, write_answer

END = StopReason.END_TURN


def test_a_routed_answer() -> None:
    wire = answer(
        assistant("Hi", refusal=None, reasoning="Hm.", reasoning_details=[TEXT]),
        provider="Anthropic",
        system_fingerprint=None,
    )
    wire["choices"][0].update(native_finish_reason="end_turn", logprobs=None)
    message = read_answer(wire).message
    assert message.content == (ThinkingBlock("Hm.", "EqQB"), TextBlock("Hi"))
    assert message.metadata.provider_raw["openrouter"]["choice"] == {  # type: ignore[index]
        "native_finish_reason": "end_turn"
    }


@pytest.mark.parametrize("keys", [{}, {"reasoning": None}, {"reasoning": "Hm."}])
def test_answers_with_less_thinking_go_home(keys: dict[str, Any]) -> None:
    read_answer(answer(assistant("Hi", **keys)))


def test_thinking_is_written_as_a_string_and_as_details() -> None:
    message = made(ThinkingBlock("Hm.", "EqQB"), "Hi", stop_reason=END, protocol="anthropic")
    wire, report = write_answer(message)
    content = wire["choices"][0]["message"]
    assert (content["reasoning"], content["reasoning_details"]) == ("Hm.", [TEXT])
    assert not report.entries


def test_an_answer_without_a_reason_to_end_and_one_that_failed() -> None:
    assert read_answer(answer(finish_reason=None)).message.metadata.stop_reason is None
    assert (
        read_answer(answer(finish_reason="error")).message.metadata.stop_reason is StopReason.ERROR
    )
    for reason, word in ((None, None), (StopReason.ERROR, "error")):
        wire, report = write_answer(made("a", stop_reason=reason))
        assert wire["choices"][0]["finish_reason"] == word
        assert not report.entries


def test_pictures_in_answers() -> None:
    picture = ImageBlock(Source("base64", PNG), "image/png")
    assert read_answer(answer(assistant("", images=[image()]))).message.content == (picture,)
    wire, report = write_answer(made(picture, stop_reason=END))
    assert wire["choices"][0]["message"]["images"] == [image()]
    assert not report.entries


@pytest.mark.requirement("P41")
def test_citations_carry_what_was_cited() -> None:
    inner = {
        "url": "https://example.com",
        "title": "T",
        "content": "Once.",
        "start_index": 0,
        "end_index": 2,
    }
    parsed = {"type": "file", "file": {"hash": "a", "content": [{"type": "text", "text": "a"}]}}
    annotations = [{"type": "url_citation", "url_citation": inner}, parsed]
    (block,) = read_answer(answer(assistant("Hi", annotations=annotations))).message.content
    assert isinstance(block, TextBlock)
    assert block.citations[0] == Citation("Once.", "https://example.com", "T", start=0, end=2)
    wire, report = write_answer(
        made(TextBlock("Hi", citations=block.citations[:1]), stop_reason=END)
    )
    assert wire["choices"][0]["message"]["annotations"] == annotations[:1]
    assert not report.entries


def test_what_it_costs_is_kept_but_is_not_our_price() -> None:
    counts = {
        "prompt_tokens": 10,
        "completion_tokens": 3,
        "total_tokens": 13,
        "cost": 0.5,
        "cost_details": {"upstream_inference_cost": None},
        "is_byok": False,
        "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2, "video_tokens": 0},
    }
    usage = read_answer(answer(usage=counts)).message.metadata.usage
    assert usage == Usage(4, 3, 4, 2)
    assert usage.raw is not None
    assert usage.raw["openrouter"]["cost"] == 0.5


@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [
        ({"code": 400, "message": "No."}, ErrorKind.INVALID_REQUEST, None),
        ({"code": 401, "message": "No."}, ErrorKind.AUTH, None),
        (
            {"code": 429, "message": "No.", "metadata": {"provider_name": "x"}},
            ErrorKind.RATE_LIMIT,
            None,
        ),
        (
            {
                "code": 400,
                "message": "No.",
                "metadata": {"error_type": "context_length_exceeded", "a": 1},
            },
            ErrorKind.CONTEXT_OVERFLOW,
            "context_length_exceeded",
        ),
        ({"code": 529, "message": "No."}, ErrorKind.SERVER_ERROR, None),
        ({"code": "invalid_api_key", "message": "No."}, ErrorKind.AUTH, "invalid_api_key"),
        ({"message": "No."}, ErrorKind.OTHER, None),
    ],
)
def test_the_code_of_an_error_is_its_status(error: Any, kind: ErrorKind, code: str | None) -> None:
    found = read_answer({"error": error, "user_id": "u"}).error
    assert found is not None
    assert (found.kind, found.code) == (kind, code)
    assert found.status == (error.get("code") if isinstance(error.get("code"), int) else None)


def test_every_kind_of_error_is_written_with_a_status_that_means_it() -> None:
    for kind in ErrorKind:
        written = DIALECT.write_response(Response(made(), error=ProviderError(kind, "No.", "odd")))
        again = DIALECT.read_response(written.wire).error
        assert again is not None
        assert (again.kind, again.code, again.message) == (kind, "odd", "No.")
        assert not written.report.entries


def test_a_kind_that_its_status_contradicts_is_approximated() -> None:
    odd = ProviderError(ErrorKind.INVALID_REQUEST, "No.", status=401)
    written = DIALECT.write_response(Response(made(), error=odd))
    assert losses(written.report) == [("approximated", "$.error.kind")]
