"""Pictures, sound, films and documents, as far as a model takes them."""

from __future__ import annotations

import pytest

from interlingua.model.blocks import (
    AudioBlock,
    DocumentBlock,
    ImageBlock,
    Source,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.message import Message, Role
from tests.adapt.fit.asking import USER, fitted, losses, request, tool

PICTURE = ImageBlock(Source("base64", "aGk="), "image/png")


def test_media_that_a_model_does_not_take_leave_a_word_behind() -> None:
    sound = AudioBlock(Source("base64", "aGk="), "audio/wav")
    paper = DocumentBlock(Source("text", "so be it"), "text/plain", title="will")
    content = Message.user([PICTURE, PICTURE, sound, paper])
    done = fitted("deepseek:deepseek-v4-pro", request(content))
    assert [block.text for block in done.value.messages[0].content] == [  # type: ignore[union-attr]  # text
        "[image left out: this model takes no image]",
        "[audio left out: this model takes no audio]",
        "[will]\nso be it",
    ]
    assert [(kind, path[-2]) for kind, path, _ in losses(done)] == [
        ("dropped", "0"),
        ("dropped", "1"),
        ("dropped", "2"),
        ("downgraded", "3"),
    ]


def test_a_picture_that_a_result_cannot_hold_follows_the_results() -> None:
    call = Message.assistant([ToolUseBlock("c1", "look", {})])
    result = Message.tool_result("c1", [PICTURE])
    done = fitted("gemini:gemini-2.5-flash", request(USER, call, result))
    outcome, behind = done.value.messages[2:]
    assert isinstance(outcome.content[0], ToolResultBlock)
    assert outcome.content[0].content == (TextBlock("[image of c1 follows]"),)
    assert behind == Message.user([PICTURE])
    assert [kind for kind, _, _ in losses(done)] == ["moved"]
    assert not fitted("gemini:gemini-3.1-pro", request(USER, call, result)).report


BY_URL = ImageBlock(Source("url", "https://example.com/a.png"), "image/png")

NOT_BY_URL = [
    ("bedrock:amazon.nova-pro-v1:0", "bedrock", "bedrock-converse"),
    ("bedrock:anthropic.claude-opus-4-6-v1", "anthropic", "claude-bedrock-url"),
    ("ollama:llava", "ollama", "ollama-url"),
    ("ollama:llava", "openai-chat", "ollama-url"),
]


@pytest.mark.parametrize(("model", "dialect", "rule"), NOT_BY_URL)
def test_media_by_url_is_told_with_the_rule_and_how_to_have_it_fetched(
    model: str, dialect: str, rule: str
) -> None:
    asked = request(Message(Role.USER, (TextBlock("what?"), BY_URL)), max_output_tokens=9)
    done = fitted(model, asked, dialect)
    (loss,) = [each for each in done.report.entries if each.path == "$.messages[0].content[1]"]
    assert (loss.kind, loss.severity, loss.rule) == ("dropped", "error", rule)
    assert "accepts no media by URL" in loss.reason
    assert "fetch_media=True" in loss.reason
    assert done.value.messages[0].content[1] == TextBlock(
        "[image left out: this model takes no media by URL]"
    )


def test_media_by_url_inside_a_result_is_told_too() -> None:
    call = Message(Role.ASSISTANT, (ToolUseBlock("c1", "look", {}),))
    result = Message(Role.TOOL, (ToolResultBlock("c1", (BY_URL,)),))
    done = fitted("bedrock:amazon.nova-pro-v1:0", request(USER, call, result, tools=(tool(),)))
    reported = [loss.path for loss in done.report.entries if loss.rule == "bedrock-converse"]
    assert "$.messages[2].content[0].content[0]" in reported


@pytest.mark.parametrize(
    "block",
    [PICTURE, ImageBlock(Source("url", "s3://bucket/a.png"), "image/png")],
)
def test_media_with_its_data_and_media_in_s3_stay(block: ImageBlock) -> None:
    done = fitted("bedrock:amazon.nova-pro-v1:0", request(Message(Role.USER, (block,))))
    assert done.value.messages[0].content == (block,)


def test_media_by_url_stays_where_no_rule_speaks_of_it() -> None:
    asked = request(Message(Role.USER, (BY_URL,)), max_output_tokens=9)
    assert fitted("anthropic:claude-opus-4-8", asked).value.messages == asked.messages


@pytest.mark.parametrize("dialect", ["gemini", "gemini-interactions"])
@pytest.mark.parametrize(
    ("model", "rule"),
    [
        ("gemini-2.5-flash", "gemini-resolution"),
        ("gemma-4-26b-a4b-it", "gemma-resolution"),
        ("gemini-3.1-pro", None),
        ("gemini-4-argon", None),
    ],
)
def test_a_detail_is_dropped_where_the_model_takes_one_for_all_images(
    model: str, rule: str | None, dialect: str
) -> None:
    seen, whole = PICTURE.replace(detail="low"), PICTURE.replace(detail="auto")
    done = fitted(f"gemini:{model}", request(Message.user([seen, whole])), dialect)
    stored = PICTURE if rule else seen
    assert done.value.messages[0].content == (stored, whole)
    paths = [path for _, path, _ in losses(done)]
    assert paths == (["$.messages[0].content[0].detail"] if rule else [])
    assert [loss.rule for loss in done.report.losses] == ([rule] if rule else [])
