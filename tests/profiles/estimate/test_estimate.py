"""Token estimates: how far off they are on recorded prompts, and that they stay sensible."""

from __future__ import annotations

import base64
import socket
import struct

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import interlingua as il
from interlingua.profiles import known_models
from interlingua.profiles.estimate import estimate_input_tokens
from interlingua.profiles.estimate.estimator import family_of, load, plain_name
from interlingua.profiles.estimate.features import Pieces, count
from interlingua.profiles.estimate.media import image_size, image_tokens
from tests.laws.corpus import corpus_or_skip
from tests.profiles.estimate import fit
from tests.profiles.estimate.recorded import LARGE, Sample, is_for_learning, samples

SONNET = "anthropic:claude-sonnet-4-6"
GOAL = 0.10
ENOUGH = 10
"""Recorded prompts that a provider needs for its median to mean anything."""

# Services that run open models with templates of their own; nothing is promised for them.
OTHERS = {"doubleword", "venice", "llamacpp", "vercel-gateway"}


@pytest.fixture(scope="module")
def recorded() -> list[Sample]:
    corpus_or_skip()
    return list(samples())


@pytest.mark.requirement("S002-80")
def test_estimates_are_near_what_providers_counted_in_recordings_not_learned_from(
    recorded: list[Sample],
) -> None:
    measured = [s for s in recorded if not is_for_learning(s.source) and s.tokens >= LARGE]
    errors = fit.errors_by_provider(measured)
    judged = {p: e for p, e in errors.items() if len(e) >= ENOUGH and p not in OTHERS}
    assert judged.keys() >= {"anthropic", "openai", "gemini", "bedrock", "openrouter", "deepseek"}
    assert judged.keys() >= {"groq", "mistral", "azure", "ollama", "xai"}
    medians = {provider: fit.quantile(found, 0.5) for provider, found in judged.items()}
    assert not {p: m for p, m in medians.items() if m > GOAL}


def test_the_coefficients_of_the_package_are_those_learned_from_one_half(
    recorded: list[Sample],
) -> None:
    learned = fit.learn([s for s in recorded if is_for_learning(s.source)])
    kept = msgspec.json.decode(fit.TARGET.read_bytes())
    assert kept.keys() == learned.keys()
    for key, value in kept.items():
        assert value == msgspec.json.decode(msgspec.json.encode(learned[key])), key


def test_no_project_is_on_both_sides(recorded: list[Sample]) -> None:
    sides = [
        {s.source for s in recorded if is_for_learning(s.source) is side} for side in (True, False)
    ]
    assert not sides[0] & sides[1]
    assert min(map(len, sides)) >= 0.4 * len(sides[0] | sides[1])


@pytest.mark.requirement("S002-80")
def test_an_estimate_is_a_whole_number_made_without_a_network(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("an estimate asked the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    messages = [il.Message.system("Be brief."), il.Message.user("What is the capital of Japan?")]
    told = estimate_input_tokens(messages, (), "openai:gpt-4o")
    assert isinstance(told, int)
    assert 15 <= told <= 30


def test_tools_results_and_an_output_schema_add_tokens() -> None:
    messages = [il.Message.user("Weather in Paris?")]
    schema = {"type": "object", "properties": {"city": {"type": "string", "description": "Where"}}}
    tool = il.ToolDefinition("get_weather", "Tells the weather of a city", schema)
    plain = estimate_input_tokens(messages, (), "openai:gpt-4o")
    with_tool = estimate_input_tokens(messages, (tool,), "openai:gpt-4o")
    assert plain < with_tool
    call = il.ToolUseBlock("call_1", "get_weather", {"city": "Paris"})
    longer = [*messages, il.Message.assistant(call), il.Message.tool_result("call_1", "Rain " * 50)]
    assert with_tool + 50 < estimate_input_tokens(longer, (tool,), "openai:gpt-4o")
    options = il.Options(response_format=il.ResponseFormat("json_schema", "w", schema))
    assert plain < estimate_input_tokens(messages, (), "openai:gpt-4o", options)


def test_nothing_is_no_tokens_and_an_unknown_model_gets_the_average() -> None:
    assert estimate_input_tokens([]) <= 20
    told = estimate_input_tokens([il.Message.user("word " * 1000)], (), "nobody:nothing")
    assert 800 <= told <= 1300
    assert family_of("nobody:nothing").name == family_of("").name == "other"


@given(st.text(max_size=300), st.text(max_size=300))
def test_more_text_is_never_fewer_tokens(one: str, two: str) -> None:
    def told(*texts: str) -> int:
        blocks = [il.TextBlock(text) for text in texts]
        return estimate_input_tokens([il.Message.user(blocks)], (), SONNET)

    assert 1 <= told(one) <= told(one, two)


@given(st.text(max_size=500))
def test_every_character_is_a_part_of_some_piece(text: str) -> None:
    pieces = Pieces()
    pieces.add(text)
    weights = dict.fromkeys(load().weights, 1.0)
    visible = [c for c in text if not c.isspace()]
    assert not visible or pieces.weigh(weights) >= 1


def test_scripts_weigh_differently() -> None:
    def told(text: str) -> int:
        return estimate_input_tokens([il.Message.user(text)], (), "openai:gpt-4o")

    assert told("東京都" * 100) > 150
    assert told("the cat sat " * 25) < told("東京都港区六本木" * 40)
    assert told("1234567890" * 30) > 90


def test_what_a_property_is_called_is_not_taken_for_a_keyword() -> None:
    schema = {"type": "object", "properties": {"description": {"type": "string"}, "enum": {}}}
    counted = count([], [il.ToolDefinition("t", None, schema)])
    assert counted.properties == 2
    assert counted.described.words == 3


def test_every_known_model_has_a_family_of_its_makers() -> None:
    for id in known_models():
        name = family_of(id).name
        for maker in ("claude", "gemini", "nova", "deepseek", "grok", "mistral"):
            if maker in id.partition(":")[2]:
                assert name.startswith(maker) or "distill" in id, (id, name)
    assert plain_name("bedrock:us.anthropic.claude-haiku-4-5-20251001-v1:0") == "claude-haiku-4-5"
    assert plain_name("openrouter:openai/gpt-4.1-2025-04-14") == "gpt-4.1"


def png(width: int, height: int) -> str:
    head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height)
    return base64.b64encode(head + b"\0" * 20).decode()


def jpeg(width: int, height: int) -> str:
    preview = b"\xff\xe0" + struct.pack(">H", 16) + b"JFIF" + b"\0" * 10
    frame = b"\xff\xc0" + struct.pack(">HBHH", 17, 8, height, width) + b"\0" * 12
    return base64.b64encode(b"\xff\xd8" + preview + frame).decode()


def gif(width: int, height: int) -> str:
    return base64.b64encode(b"GIF89a" + struct.pack("<HH", width, height) + b"\0" * 8).decode()


def webp(width: int, height: int) -> str:
    sides = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return base64.b64encode(b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0" + sides).decode()


@pytest.mark.parametrize("make", [png, jpeg, gif, webp])
def test_the_size_of_an_inline_image_is_read_from_its_first_bytes(make: object) -> None:
    assert callable(make)
    assert image_size(make(640, 480)) == (640, 480)


@pytest.mark.parametrize("data", ["", "not base64!", "AAAA", png(1, 1)[:20], "/9j/4AAQ"])
def test_an_image_whose_size_cannot_be_told_has_none(data: str) -> None:
    assert image_size(data) is None


@given(st.binary(max_size=60))
def test_no_bytes_break_the_reading_of_sizes(raw: bytes) -> None:
    for start in (b"", b"\xff\xd8", b"GIF89a", b"\x89PNG\r\n\x1a\n", b"RIFF\0\0\0\0WEBP"):
        size = image_size(base64.b64encode(start + raw).decode())
        assert size is None or len(size) == 2


@pytest.mark.parametrize(
    ("family", "size", "detail", "tokens"),
    [
        ("claude", (200, 200), None, 54),
        ("claude", (1000, 1000), None, 1334),
        ("claude", (4000, 4000), None, 1600),
        ("gpt", (1024, 1024), None, 765),
        ("gpt", (2048, 4096), None, 1105),
        ("gpt", (4096, 8192), "low", 85),
        ("gpt-5", (512, 512), None, 210),
        ("gemini", (300, 384), None, 258),
        ("gemini", (960, 540), None, 516),
    ],
)
def test_images_cost_what_the_providers_rules_say(
    family: str, size: tuple[int, int], detail: str | None, tokens: int
) -> None:
    assert image_tokens(size, load().media[family], detail) == tokens


def test_media_is_counted_wherever_it_stands() -> None:
    image = il.ImageBlock(il.Source("base64", png(1000, 1000)), "image/png")
    text = [il.Message.user("Look.")]
    inside = il.Message.tool_result("c", [image])
    plain = estimate_input_tokens(text, (), SONNET)
    assert estimate_input_tokens([*text, il.Message.user([image])], (), SONNET) > plain + 1300
    assert estimate_input_tokens([*text, inside], (), SONNET) > plain + 1300
    for block in (
        il.DocumentBlock(il.Source("file_id", "f")),
        il.AudioBlock(il.Source("url", "https://example.org/a.mp3")),
        il.VideoBlock(il.Source("url", "https://example.org/a.mp4")),
    ):
        assert estimate_input_tokens([*text, il.Message.user([block])], (), SONNET) > plain + 100
