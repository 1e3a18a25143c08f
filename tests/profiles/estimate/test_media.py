"""Tokens of images and other media."""

from __future__ import annotations

import base64
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

import interlingua as il
from interlingua.profiles.estimate import estimate_input_tokens
from interlingua.profiles.estimate.estimator import load
from interlingua.profiles.estimate.features import image_size, image_tokens
from tests.profiles.estimate.requests import SONNET


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
