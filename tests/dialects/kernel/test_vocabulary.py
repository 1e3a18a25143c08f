"""Misspelled settings are told from settings that one vendor alone has."""

from __future__ import annotations

import pytest

import interlingua as il
from interlingua.dialects.kernel.recorder import private_reason

HELLO = [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize(
    ("dialect", "key", "code", "text"),
    [
        ("openai-chat", "temprature", "field_misspelled", "did you mean 'temperature'?"),
        ("anthropic", "max_token", "field_misspelled", "did you mean 'max_tokens'?"),
        ("openai-chat", "zebra", "field_unknown", "OpenAI Chat documents no such field"),
        ("openai-chat", "web_search_options", "vendor_setting", "only OpenAI Chat has it"),
        ("openai-chat", "safe_prompt", "vendor_setting_known", "the safety prompt"),
        ("a-plug-in", "temprature", "vendor_setting", "only a-plug-in has it"),
    ],
)
def test_a_setting_is_misspelled_unknown_or_private(
    dialect: str, key: str, code: str, text: str
) -> None:
    reason = private_reason(dialect, key, True)
    assert reason.code == code
    assert text in reason


def test_an_unknown_key_beside_content_stays_a_note() -> None:
    assert private_reason("openai-chat", "zebra", False).code == "vendor_field"


def test_the_report_asks_what_was_meant() -> None:
    body = {"model": "gpt-5", "temprature": 1, "messages": HELLO}
    report = il.convert(body, to="gemini", model="gemini-2.5-pro").report
    assert str(report.losses[0]) == (
        "warning: $.temprature: temprature dropped: unknown field; did you mean 'temperature'?"
    )
