"""Why a prompt cache was missed, in the words of both vendors that say so, each way."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il

ANTHROPIC, RESPONSES = il.dialect("anthropic"), il.dialect("openai-responses")
DIAGNOSIS = "$.message.metadata.cache_diagnosis"


def missed(reason: str, tokens: int = 7) -> dict[str, Any]:
    return {"type": "cache_miss", "reason": reason, "cache_missed_tokens": tokens}


def claude(reason: Any) -> dict[str, Any]:
    return {"cache_miss_reason": reason}


def changed(reason: str, tokens: int = 7) -> dict[str, Any]:
    return claude({"type": reason, "cache_missed_input_tokens": tokens})


def answer(dialect: il.Dialect, key: str, said: Any) -> il.Response:
    """An answer of a vendor that says this under its key."""
    message = il.Message.assistant("Yes.", il.MessageMetadata(usage=il.Usage(9, 1)))
    wire = dialect.write_response(il.Response(message)).wire
    return dialect.read_response({**wire, key: said})


def carried(source: str, said: Any) -> tuple[Any, list[str]]:
    """What the other vendor's client reads, and the codes of what was lost."""
    if source == "anthropic":
        response, writer, key = answer(ANTHROPIC, "diagnostics", said), RESPONSES, OPENAI_KEY
    else:
        response, writer, key = answer(RESPONSES, OPENAI_KEY, said), ANTHROPIC, "diagnostics"
    assert response.message.metadata.cache_diagnosis is not None
    written = writer.write_response(response)
    codes = [loss.code for loss in written.report.entries if loss.path.startswith(DIAGNOSIS)]
    return written.wire.get(key), codes


OPENAI_KEY = "prompt_cache_diagnostics"


@pytest.mark.parametrize(
    ("said", "read", "codes"),
    [
        (changed("model_changed"), missed("model_changed"), []),
        (changed("tools_changed"), missed("tools_changed"), []),
        (changed("messages_changed"), missed("input_changed"), []),
        (changed("system_changed"), missed("input_changed"), ["cache_reason"]),
        (claude({"type": "unavailable"}), {"type": "unavailable"}, []),
        (claude(None), {"type": "unavailable"}, ["cache_reason"]),
        (
            claude({"type": "previous_message_not_found"}),
            {"type": "comparison_response_not_found"},
            [],
        ),
    ],
)
def test_anthropics_reasons_are_openais(said: Any, read: Any, codes: list[str]) -> None:
    assert carried("anthropic", said) == (read, codes)


@pytest.mark.parametrize(
    ("said", "read", "codes"),
    [
        (missed("model_changed"), changed("model_changed"), []),
        (missed("tools_changed"), changed("tools_changed"), []),
        (missed("input_changed"), changed("messages_changed"), []),
        *[
            (missed(reason), claude({"type": "unavailable"}), ["cache_reason"])
            for reason in (
                *("prompt_cache_key_changed", "text_format_changed"),
                *("reasoning_effort_changed", "verbosity_changed", "context_compacted"),
                "service_tier_changed",
            )
        ],
        ({"type": "unavailable"}, claude({"type": "unavailable"}), []),
        (
            {"type": "comparison_response_not_found"},
            claude({"type": "previous_message_not_found"}),
            [],
        ),
        ({"type": "cache_hit"}, None, ["cache_hit_unstated"]),
    ],
)
def test_openais_reasons_are_anthropics(said: Any, read: Any, codes: list[str]) -> None:
    assert carried("openai-responses", said) == (read, codes)


@pytest.mark.parametrize(
    ("dialect", "key", "said"),
    [
        (ANTHROPIC, "diagnostics", claude(None)),
        (ANTHROPIC, "diagnostics", claude({"type": "previous_message_not_found"})),
        (ANTHROPIC, "diagnostics", changed("system_changed")),
        (RESPONSES, OPENAI_KEY, missed("verbosity_changed")),
        (RESPONSES, OPENAI_KEY, {"type": "cache_hit"}),
        (RESPONSES, OPENAI_KEY, missed("a_new_reason")),
    ],
)
def test_what_a_vendor_says_goes_home(dialect: il.Dialect, key: str, said: Any) -> None:
    assert dialect.write_response(answer(dialect, key, said)).wire[key] == said


def test_pending_is_no_hit() -> None:
    found = answer(ANTHROPIC, "diagnostics", claude(None)).message.metadata.cache_diagnosis
    assert found is not None
    assert found.outcome == "pending"


def test_the_answer_to_compare_with_is_named_both_ways() -> None:
    asked = {
        "model": "gpt-5",
        "input": "hi",
        "prompt_cache_options": {"comparison_response_id": "msg_1"},
    }
    wire = il.convert(asked, "openai-responses", "anthropic", model="claude-sonnet-4-6").wire
    assert wire["diagnostics"] == {"previous_message_id": "msg_1"}
    back = il.convert(wire, "anthropic", "openai-responses", model="gpt-5").wire
    assert back["prompt_cache_options"] == {"comparison_response_id": "msg_1"}
