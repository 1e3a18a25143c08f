"""Signatures that travel through views go back to whoever made them, and to nobody else."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il
from interlingua.model.message import Message
from interlingua.views import VIEWS, view

SIGNATURE = "c2lnbmF0dXJlLW9mLW9uZQ=="
SEALED = "c2VhbGVkLXRob3VnaHQ="
ASKED: dict[str, Any] = {"role": "user", "content": "And now?"}


def flat(**extra: Any) -> list[dict[str, Any]]:
    answer = {"role": "assistant", "content": "Eight.", "reasoning": "5 + 3", "extra": extra}
    return [{"role": "user", "content": "5 + 3?"}, answer, ASKED]


CLAUDE = flat(
    claude={
        "thinking_blocks": [
            {"type": "thinking", "thinking": "5 + 3", "signature": SIGNATURE},
            {"type": "redacted_thinking", "data": SEALED},
        ]
    }
)
GEMINI = flat(gemini={"thought_signatures": [SIGNATURE]})
PARTS: list[dict[str, Any]] = [
    {"role": "USER", "content": [{"kind": "TEXT", "text": "5 + 3?"}]},
    {
        "role": "ASSISTANT",
        "content": [
            {"kind": "THINKING", "thinking": {"text": "5 + 3", "signature": SIGNATURE}},
            {"kind": "REDACTED_THINKING", "thinking": {"text": SEALED}},
            {"kind": "TEXT", "text": "Eight."},
        ],
    },
    {"role": "USER", "content": [{"kind": "TEXT", "text": "And now?"}]},
]
OTHERS = [name for name in il.dialects() if name not in ("anthropic", "bedrock", "openrouter")]


def said(wire: Any, source: str, target: str, model: str = "claude-sonnet-4-6") -> bytes:
    written = il.convert(wire, source, target, model=model)
    return written.json()


@pytest.mark.requirement("S000-26", "S001-18")
@pytest.mark.parametrize(("wire", "source"), [(CLAUDE, "flat"), (PARTS, "parts")])
def test_claude_gets_its_own_thinking_back(wire: Any, source: str) -> None:
    to_claude = said(wire, source, "anthropic").decode()
    assert SIGNATURE in to_claude
    assert SEALED in to_claude
    assert SIGNATURE in said(wire, source, "bedrock").decode()


@pytest.mark.requirement("S000-26", "S001-18")
@pytest.mark.parametrize("target", OTHERS)
@pytest.mark.parametrize(("wire", "source"), [(CLAUDE, "flat"), (PARTS, "parts")])
def test_nobody_else_gets_claudes_thinking(wire: Any, source: str, target: str) -> None:
    result = il.retell(view(source).read(wire), target)
    written = il.dialect(target).write_request(il.Request(result.value, "m")).json().decode()
    converted = said(wire, source, target, "m").decode()
    for wire_text in (written, converted):
        assert SIGNATURE not in wire_text
        assert SEALED not in wire_text
    assert {
        loss.path for loss in result.report.entries if loss.path.startswith("$.messages[1].content")
    }


@pytest.mark.requirement("S000-20")
def test_gemini_gets_its_signature_back_and_claude_does_not() -> None:
    assert SIGNATURE in said(GEMINI, "flat", "gemini", "gemini-3-pro").decode()
    assert SIGNATURE not in said(GEMINI, "flat", "anthropic").decode()
    result = il.retell(view("flat").read(GEMINI), "anthropic")
    assert "$.messages[1].content[1].signature" in [loss.path for loss in result.report.entries]


@pytest.mark.requirement("S000-20", "S000-26")
def test_signatures_of_two_makers_in_one_message_are_distinguished() -> None:
    claude = CLAUDE[1]["extra"]["claude"]
    both = flat(claude=claude, gemini={"thought_signatures": ["Z2VtaW5p"]})
    to_claude = said(both, "flat", "anthropic").decode()
    to_gemini = said(both, "flat", "gemini", "gemini-3-pro").decode()
    assert SIGNATURE in to_claude
    assert "Z2VtaW5p" not in to_claude
    assert SIGNATURE not in to_gemini
    assert "Z2VtaW5p" in to_gemini


@pytest.mark.parametrize(("wire", "name"), [(CLAUDE, "flat"), (GEMINI, "flat"), (PARTS, "parts")])
def test_naming_the_issuer_changes_nothing_at_home(wire: Any, name: str) -> None:
    assert view(name).write(view(name).read(wire)).wire == wire


# Reasoning without a signature: `extra` names the issuer of the whole message.

CALLED = flat(gemini={"thought_signatures": [SIGNATURE]})
UNSIGNED = flat()
NOTED = flat(gemini={"avg_logprobs": -0.1})


def sent(wire: Any, target: str, model: str) -> list[str]:
    """The request by both ways: `il.convert`, and the view with an adapter."""
    adapter = il.Adapter(model, target)
    converted = il.convert(wire, "flat", target, model=model)
    return [converted.json().decode(), adapter.to_wire(view("flat").read(wire)).json().decode()]


@pytest.mark.requirement("S000-19")
@pytest.mark.parametrize("wire", [CALLED, UNSIGNED, NOTED], ids=["signed", "unknown", "noted"])
def test_gemini_gets_unsigned_reasoning_back_both_ways(wire: Any) -> None:
    for body in sent(wire, "gemini", "gemini:gemini-3-pro-preview"):
        assert '{"text":"5 + 3","thought":true}' in body


@pytest.mark.requirement("S000-19")
@pytest.mark.parametrize("target", ["anthropic", "bedrock", "openai-responses"])
def test_unsigned_reasoning_that_extra_assigns_to_gemini_goes_to_nobody_else(target: str) -> None:
    for wire in (CALLED, NOTED):
        for body in sent(wire, target, f"{target}:m"):
            assert body.count("5 + 3") == 1, "the user's question alone"


def test_keys_of_extra_that_name_no_dialect_are_no_issuer() -> None:
    assert view("flat").read(flat(trace={"id": 1}))[1].content[0].raw is None
    both = flat(gemini={"a": 1}, claude={"b": 1})
    assert view("flat").read(both)[1].content[0].raw is None


# On the way out, a view may name only the right one.

THOUGHTS: dict[str, Any] = {
    "contents": [
        {"role": "user", "parts": [{"text": "5 + 3?"}]},
        {
            "role": "model",
            "parts": [
                {"text": "5 + 3", "thought": True, "thoughtSignature": SIGNATURE},
                {"text": "Eight."},
            ],
        },
        {"role": "user", "parts": [{"text": "And now?"}]},
    ]
}


@pytest.mark.requirement("S000-20")
@pytest.mark.parametrize("name", list(VIEWS))
def test_what_gemini_signed_is_never_claudes_after_a_view(name: str) -> None:
    through = il.convert(THOUGHTS, "gemini", name)
    assert SIGNATURE not in said(through.wire, name, "anthropic").decode()
    if name not in ("parts", "openai-ui"):
        assert SIGNATURE in said(through.wire, name, "gemini", "gemini-3-pro").decode()
    else:
        assert [loss for loss in through.report.entries if loss.block_type == "thinking"]


# Camel names protocol, provider and model itself.


def camel(**known: str) -> dict[str, Any]:
    thinking = {"type": "thinking", "thinking": "5 + 3", "thinkingSignature": SIGNATURE}
    content = [thinking, {"type": "text", "text": "Eight."}]
    answer = {"role": "assistant", "content": content, "stopReason": "stop", **known}
    return {"messages": [{"role": "user", "content": "5 + 3?"}, answer, ASKED]}


@pytest.mark.requirement("S003-12")
@pytest.mark.parametrize(
    "protocol", ["anthropic", "anthropic-messages", "bedrock-converse-stream", "a word of its own"]
)
def test_another_word_for_the_protocol_keeps_signed_thinking(protocol: str) -> None:
    wire = camel(protocol=protocol, provider="anthropic", model="claude-sonnet-4-6")
    assert view("camel").write(view("camel").read(wire)).wire == wire
    assert SIGNATURE in said(wire, "camel", "anthropic").decode()
    assert SIGNATURE not in said(wire, "camel", "gemini", "gemini-3-pro").decode()


@pytest.mark.requirement("S003-12")
def test_a_provider_without_a_protocol_is_an_issuer_too() -> None:
    wire = camel(provider="google", model="gemini-3-pro")
    assert view("camel").write(view("camel").read(wire)).wire == wire
    assert SIGNATURE in said(wire, "camel", "gemini", "gemini-3-pro").decode()
    assert SIGNATURE not in said(wire, "camel", "anthropic").decode()


def test_an_edited_protocol_is_written() -> None:
    wire = camel(protocol="anthropic-messages", provider="anthropic", model="claude-sonnet-4-6")
    messages = list(view("camel").read(wire))
    edited: Message = messages[1].replace(
        metadata=messages[1].metadata.replace(protocol="openai-chat")
    )
    result = view("camel").write([messages[0], edited]).wire
    assert result["messages"][1]["protocol"] == "openai-chat"
