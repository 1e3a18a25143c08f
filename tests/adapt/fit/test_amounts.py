"""How many images and documents a model takes and how large; and the other limits of a request."""

from __future__ import annotations

import base64
import struct

import pytest

import interlingua as il
from interlingua.adapt.fit.fit import Fitted, fit
from interlingua.model.blocks import DocumentBlock, ImageBlock, Source, TextBlock
from interlingua.profiles.overlay import profile_from
from interlingua.profiles.profile import profile_of
from tests.adapt.fit.amounts import ruled, said
from tests.adapt.fit.asking import fitted, losses, request, tool, wire
from tests.laws.fits import refusals


def png(width: int = 8, height: int = 8, size: int = 0) -> ImageBlock:
    head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height)
    return picture(base64.b64encode(head + bytes(size)).decode())


def picture(data: str, kind: str = "image/png") -> ImageBlock:
    return ImageBlock(Source("base64", data), kind)


def pdf(size: int = 9) -> DocumentBlock:
    data = base64.b64encode(b"%PDF-1.7 " + bytes(size)).decode()
    return DocumentBlock(Source("base64", data), "application/pdf", name="paper")


def kinds(done: Fitted) -> list[str]:
    return [block.type for message in done.value.messages for block in message.content]


def test_the_last_images_stay_where_there_are_too_many() -> None:
    asked = request(said(*[png(number + 1) for number in range(9)]))
    done = fitted("mistral:pixtral-large", asked)
    left = [b for b in done.value.messages[0].content if type(b) is ImageBlock]
    assert left == [png(number + 1) for number in range(1, 9)]
    assert done.value.messages[0].content[1] == TextBlock(
        "[image left out: this model takes 8 images at most]"
    )
    assert losses(done) == [("dropped", "$.messages[0].content[1]", "mistral-images")]
    assert refusals("mistral", "openai-chat", "pixtral-large", wire(done)) == []
    assert refusals(
        "mistral",
        "openai-chat",
        "pixtral-large",
        il.dialect("openai-chat").write_request(asked).wire,
    )


def test_images_and_documents_of_claude_are_counted_together_those_in_results_too() -> None:
    call = il.Message.assistant([il.ToolUseBlock("a", "look", {})])
    result = il.Message.tool_result("a", [png(7) for _ in range(60)], tool_name="look")
    asked = request(said(*[pdf() for _ in range(50)]), call, result, tools=(tool(),))
    asked = asked.replace(options=il.Options(max_output_tokens=9))
    done = fitted("anthropic:claude-sonnet-4-5", asked)
    assert [rule for _, _, rule in losses(done)] == ["claude-media-100"] * 10
    assert kinds(done).count("document") == 40
    assert refusals("anthropic", "anthropic", "claude-sonnet-4-5", wire(done)) == []
    assert losses(fitted("anthropic:claude-opus-4-8", asked)) == []


def test_converse_counts_by_turn() -> None:
    turns = [said(*[png() for _ in range(15)]), il.Message.assistant("yes")]
    done = fitted("bedrock:amazon.nova-lite-v1:0", request(*turns, turns[0]))
    assert losses(done) == []
    joined = fitted("bedrock:amazon.nova-lite-v1:0", request(turns[0], turns[0]))
    assert [rule for _, _, rule in losses(joined)] == ["bedrock-media"] * 10
    assert refusals("bedrock", "bedrock", "amazon.nova-lite-v1:0", wire(joined)) == []
    papers = fitted("bedrock:amazon.nova-lite-v1:0", request(said(*[pdf() for _ in range(6)])))
    assert [rule for _, _, rule in losses(papers)] == ["bedrock-media"]


@pytest.mark.parametrize(
    ("piece", "words"),
    [
        (png(8001), "images of at most 8000 pixels a side"),
        (png(size=5 * 1024 * 1024 + 1), "images of at most 5242880 bytes"),
        (picture("AAAA", "image/heic"), "no image/heic"),
    ],
)
def test_what_is_too_large_or_of_another_type_is_left_out(piece: ImageBlock, words: str) -> None:
    done = fitted("anthropic:claude-opus-4-8", request(said(piece), max_output_tokens=9))
    (loss,) = done.report
    assert loss.severity == "error"
    assert f"claude-opus-4-8 accepts {words} (rule " in loss.reason
    assert refusals("anthropic", "anthropic", "claude-opus-4-8", wire(done)) == []


def test_a_type_that_people_misspell_is_written_as_it_is_known() -> None:
    asked = request(said(picture("AAAA", "image/jpg")), max_output_tokens=9)
    done = fitted("anthropic:claude-opus-4-8", asked)
    assert wire(done)["messages"][0]["content"][1]["source"]["media_type"] == "image/jpeg"
    (loss,) = done.report.notes
    assert (loss.kind, loss.severity, loss.path) == (
        "approximated",
        "info",
        "$.messages[0].content[1].media_type",
    )


def test_types_that_only_the_list_of_models_has_are_no_rule() -> None:
    webp = request(said(picture("AAAA", "image/tiff")))
    done = fitted("ollama:llava", webp)
    assert losses(done) == []
    assert fitted("xai:grok-4.7", webp).report.entries[0].rule == "grok-images"


def test_media_that_does_not_go_into_a_body_is_left_out_from_the_oldest_on() -> None:
    small = ruled(limits={"request_bytes": 110})
    done = fit(request(said(png(1, size=30), png(2, size=30)), said(png(3))), small)
    left = [b for m in done.value.messages for b in m.content if type(b) is ImageBlock]
    assert left == [png(2, size=30), png(3)]
    assert {loss.rule for loss in done.report.entries} == {"profile of the call"}


def test_documents_of_text_are_no_files() -> None:
    notes = [DocumentBlock(Source("text", "a note"), "text/plain") for _ in range(7)]
    done = fitted("bedrock:us.anthropic.claude-opus-4-8", request(said(*notes)))
    assert losses(done) == []


# -- the rest -------------------------------------------------------------------------------------


def test_nothing_is_said_about_what_is_shown_where_there_is_no_switch() -> None:
    shown = il.Reasoning("high", visible=True)
    done = fitted("xai:grok-4.7", request(reasoning=shown), "openai-responses")
    assert done.value.options.reasoning == il.Reasoning("high")
    assert losses(done) == [("dropped", "$.options.reasoning.visible", "grok-4.5+")]
    assert refusals("xai", "openai-responses", "grok-4.7", wire(done)) == []
    as_it_does = ruled(reasoning={"visible": "none", "shown": True})
    assert losses(fit(request(reasoning=shown), as_it_does, dialect="openai-responses")) == []


def test_a_model_may_be_said_to_insist_on_signatures() -> None:
    call = il.Message.assistant([il.ToolUseBlock("a", "look", {})])
    body = il.dumps(request(il.Message.user("hi"), call, il.Message.tool_result("a", "x")))
    own = profile_from(
        {"tools": {"call_signature": "required"}},
        profile_of("gemini-2.5-flash", "gemini", "gemini"),
    )
    for profile, signed in ((None, False), (own, True)):
        done = il.convert(body, "canonical", "gemini", model="gemini-2.5-flash", profile=profile)
        assert ("thoughtSignature" in str(done.wire)) is signed
