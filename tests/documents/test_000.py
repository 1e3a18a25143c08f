"""The flat message schema: one type for every provider, `extra` for what only one understands."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il

requirement = pytest.mark.requirement

CLAUDE, GEMINI, GPT = "claude-sonnet-4-6", "gemini-2.5-pro", "gpt-5"
CALL = {"id": "call_1", "name": "read_file", "arguments": '{"path": "README.md"}'}
SIGNED = {"type": "thinking", "thinking": "It wants the file.", "signature": "c2ln"}
SEALED = {"type": "redacted_thinking", "data": "c2VhbGVk"}


def said(messages: list[dict[str, Any]], target: str, model: str) -> Any:
    return il.convert(messages, source="flat", target=target, model=model).wire


def back(wire: Any, source: str) -> Any:
    return il.convert(wire, source=source, target="flat").wire


def history(**extra: Any) -> list[dict[str, Any]]:
    return [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Zusammenfassen — bitte: README.md"},
        {
            "role": "assistant",
            "content": "I'll read it.",
            "reasoning": "It wants the file.",
            "tool_calls": [CALL],
            **extra,
        },
        {"role": "tool", "call_id": "call_1", "content": "# Projekt Föö"},
    ]


@requirement("S000-1", "S000-14", "S000-15")
def test_openai_keeps_all_five_roles_and_answers_by_call_id() -> None:
    messages = [
        {"role": "system", "content": "a"},
        {"role": "developer", "content": "b"},
        {"role": "user", "content": "c"},
        {"role": "assistant", "content": "d", "tool_calls": [CALL]},
        {"role": "tool", "call_id": "call_1", "content": "e"},
        {"role": "assistant", "content": "", "tool_calls": [{**CALL, "id": "call_2"}]},
        {"role": "tool", "id": "call_2", "content": "f"},
    ]
    wire = said(messages, "openai-chat", GPT)["messages"]
    assert [m["role"] for m in wire] == [m["role"] for m in messages]
    assert (wire[4]["tool_call_id"], wire[6]["tool_call_id"]) == ("call_1", "call_2")


@requirement("S000-16", "S000-17", "S000-18")
def test_gemini_gets_a_system_instruction_user_and_model() -> None:
    messages = [{"role": "developer", "content": "Be kind."}, *history()]
    wire = said(messages, "gemini", GEMINI)
    texts = [part["text"] for part in wire["systemInstruction"]["parts"]]
    assert texts == ["Be kind.", "Be brief."]
    assert [turn["role"] for turn in wire["contents"]] == ["user", "model", "user"]
    answer = {"candidates": [{"content": {"role": "model", "parts": [{"text": "hi"}]}}]}
    assert il.dialect("gemini").read_response(answer).message.role is il.Role.ASSISTANT


@requirement("S000-19", "S000-20", "S000-28")
def test_geminis_thoughts_are_reasoning_and_their_signatures_come_back() -> None:
    parts = [
        {"text": "It wants the file.", "thought": True, "thoughtSignature": "c2ln"},
        {"functionCall": {"name": "read_file", "args": {"path": "README.md"}}},
    ]
    contents = [{"role": "user", "parts": [{"text": "Read it"}]}, {"role": "model", "parts": parts}]
    flat = back({"contents": contents}, "gemini")
    assert flat[1]["reasoning"] == "It wants the file."
    assert flat[1]["extra"]["gemini"]["thought_signatures"]
    home = said(flat, "gemini", GEMINI)
    thought = home["contents"][1]["parts"][0]
    assert (thought["thought"], thought["thoughtSignature"]) == (True, "c2ln")


@requirement("S000-21")
def test_geminis_tool_answers_are_function_responses_of_the_user() -> None:
    turn = said(history(), "gemini", GEMINI)["contents"][2]
    assert turn["role"] == "user"
    assert turn["parts"][0]["functionResponse"]["name"] == "read_file"


@requirement("S000-22", "S000-23", "S000-24")
def test_claude_gets_one_system_string_and_results_in_the_user_turn() -> None:
    wire = said([*history(), {"role": "user", "content": "Go on."}], "anthropic", CLAUDE)
    assert wire["system"] == "Be brief."
    assert [turn["role"] for turn in wire["messages"]] == ["user", "assistant", "user"]
    result, text = wire["messages"][2]["content"]
    assert (result["type"], result["tool_use_id"]) == ("tool_result", "call_1")
    assert text["text"] == "Go on."


@requirement("S000-22")
def test_several_instructions_are_claudes_system_in_their_order() -> None:
    messages = [{"role": "developer", "content": "Be kind."}, *history()]
    system = said(messages, "anthropic", CLAUDE)["system"]
    assert [part["text"] for part in system] == ["Be kind.", "Be brief."]


@requirement("S000-25", "S000-26")
def test_claudes_thinking_also_redacted_comes_back_to_claude_alone() -> None:
    messages = history(extra={"claude": {"thinking_blocks": [SIGNED, SEALED]}})
    wire = said(messages, "anthropic", CLAUDE)
    assert wire["messages"][1]["content"][:2] == [SIGNED, SEALED]
    flat = back(wire, "anthropic")
    assert flat[2]["reasoning"] == "It wants the file."
    assert flat[2]["extra"]["claude"]["thinking_blocks"] == [SIGNED, SEALED]
    for target, model in (("gemini", GEMINI), ("openai-responses", GPT), ("bedrock", "x.other-v1")):
        abroad = str(said(messages, target, model))
        assert target == "bedrock" or "c2ln" not in abroad
        assert target == "bedrock" or "c2VhbGVk" not in abroad


@requirement("S000-27")
def test_claudes_turns_alternate_whoever_speaks_twice() -> None:
    messages = [
        {"role": "user", "content": "a"},
        {"role": "user", "content": "b"},
        {"role": "assistant", "content": "c"},
        {"role": "assistant", "content": "d", "tool_calls": [CALL, {**CALL, "id": "call_2"}]},
        {"role": "tool", "call_id": "call_1", "content": "e"},
        {"role": "tool", "call_id": "call_2", "content": "f"},
        {"role": "user", "content": "g"},
    ]
    turns = said(messages, "anthropic", CLAUDE)["messages"]
    assert [turn["role"] for turn in turns] == ["user", "assistant", "user"]
    assert [len(turn["content"]) for turn in turns] == [2, 4, 3]


@requirement("S000-29", "S000-11", "S000-12")
def test_text_beyond_ascii_and_every_kind_of_part_survive() -> None:
    content = [
        {"type": "text", "text": "„Grüße“ — 你好"},
        {"type": "image", "url": "https://example.com/a.png", "format": "image/png"},
        {"type": "audio", "data": "aGk=", "format": "audio/wav"},
        {"type": "file", "file_id": "file_1", "name": "a.pdf"},
    ]
    canonical = il.convert([{"role": "user", "content": content}], "flat", "canonical").wire
    kinds = [block["type"] for block in canonical["messages"][0]["content"]]
    assert kinds == ["text", "image", "audio", "document"]
    again = il.convert(canonical, "canonical", "flat").wire
    assert again == [{"role": "user", "content": content}]
