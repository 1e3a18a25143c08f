"""Data URLs in fields that hold addresses are data: base64 and a media type."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import interlingua as il

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
PDF = "JVBERi0xLjQKJcOkw7zDtsOfCg=="


def _chat(part: Any) -> Any:
    text = {"type": "text", "text": "q"}
    return {"model": "m", "messages": [{"role": "user", "content": [text, part]}]}


def _claude(kind: str) -> Any:
    return lambda url: {
        **_chat({"type": kind, "source": {"type": "url", "url": url}}),
        "max_tokens": 9,
    }


def _part(part: Any) -> Any:
    return {"contents": [{"role": "user", "parts": [{"text": "q"}, part]}]}


def _input(part: Any) -> Any:
    text = {"type": "input_text", "text": "q"}
    return {"model": "m", "input": [{"role": "user", "content": [text, part]}]}


def _step(part: Any) -> Any:
    return {"model": "m", "input": [{"type": "text", "text": "q"}, part]}


IMAGES: dict[str, tuple[str, Any]] = {
    "chat": ("openai-chat", lambda url: _chat({"type": "image_url", "image_url": {"url": url}})),
    "chat, a string": ("openai-chat", lambda url: _chat({"type": "image_url", "image_url": url})),
    "openrouter": ("openrouter", lambda u: _chat({"type": "image_url", "image_url": {"url": u}})),
    "cohere": ("cohere", lambda url: _chat({"type": "image_url", "image_url": {"url": url}})),
    "responses": ("openai-responses", lambda u: _input({"type": "input_image", "image_url": u})),
    "anthropic": ("anthropic", _claude("image")),
    "gemini": (
        "gemini",
        lambda url: _part({"fileData": {"fileUri": url, "mimeType": "image/png"}}),
    ),
    "gemini, untyped": ("gemini", lambda url: _part({"fileData": {"fileUri": url}})),
    "gemini, snake": ("gemini", lambda url: _part({"file_data": {"file_uri": url}})),
    "interactions": ("gemini-interactions", lambda url: _step({"type": "image", "uri": url})),
    "interactions, typed": (
        "gemini-interactions",
        lambda url: _step({"type": "image", "uri": url, "mime_type": "image/png"}),
    ),
    "interactions, null": (
        "gemini-interactions",
        lambda url: _step({"type": "image", "uri": url, "mime_type": None}),
    ),
    "ollama": (
        "ollama",
        lambda url: {"model": "m", "messages": [{"role": "user", "content": "q", "images": [url]}]},
    ),
}
DOCUMENTS: dict[str, tuple[str, Any]] = {
    "chat": ("openai-chat", lambda url: _chat({"type": "file", "file": {"file_data": url}})),
    "chat, mistral": ("openai-chat", lambda u: _chat({"type": "document_url", "document_url": u})),
    "responses": ("openai-responses", lambda url: _input({"type": "input_file", "file_url": url})),
    "anthropic": ("anthropic", _claude("document")),
    "gemini": ("gemini", lambda url: _part({"fileData": {"fileUri": url}})),
    "interactions": ("gemini-interactions", lambda url: _step({"type": "document", "uri": url})),
}
CASES = [(*case, "image/png", PNG) for case in IMAGES.values()] + [
    (*case, "application/pdf", PDF) for case in DOCUMENTS.values()
]
NAMES = [*IMAGES, *[f"document, {name}" for name in DOCUMENTS]]
CAN_HOLD = {
    "image/png": il.dialects(),
    "application/pdf": ["openai-chat", "openai-responses", "anthropic", "gemini"],
}


@pytest.mark.parametrize(("dialect", "body", "media_type", "data"), CASES, ids=NAMES)
def test_a_data_url_is_read_as_data_and_goes_home_as_it_came(
    dialect: str, body: Any, media_type: str, data: str
) -> None:
    wire = body(f"data:{media_type};base64,{data}")
    request = il.dialect(dialect).read_request(wire)
    block: Any = request.messages[-1].content[-1]
    assert block.type == ("image" if media_type == "image/png" else "document")
    assert (block.source, block.media_type) == (il.Source("base64", data), media_type)
    home = il.dialect(dialect).write_request(request)
    assert (home.wire, home.report.losses) == (wire, [])
    stored = il.loads(il.dumps(request), il.Request)
    assert il.dialect(dialect).write_request(stored).wire == wire


@pytest.mark.parametrize(("dialect", "body", "media_type", "data"), CASES, ids=NAMES)
def test_a_data_url_reaches_every_dialect_that_holds_such_media(
    dialect: str, body: Any, media_type: str, data: str
) -> None:
    wire = body(f"data:{media_type};base64,{data}")
    for target in CAN_HOLD[media_type]:
        if target == dialect:
            continue
        written = il.convert(wire, dialect, target, model="m", profile=False)
        back: Any = il.dialect(target).read_request(written.wire).messages[-1].content[-1]
        assert (back.source.kind, back.source.data) == ("base64", data), target
        assert b'"url":"data:' not in written.json() or target not in ("anthropic", "gemini")


@given(case=st.sampled_from(CASES), url=st.from_regex(r"data:[a-z/;=,.]{0,30}", fullmatch=True))
def test_whatever_begins_like_one_goes_home_as_it_came(case: Any, url: str) -> None:
    dialect, body, *_ = case
    wire = body(url)
    read = il.dialect(dialect).read_request(wire)
    assert il.dialect(dialect).write_request(read).wire == wire


@pytest.mark.parametrize(("dialect", "body", "media_type", "data"), CASES, ids=NAMES)
def test_another_media_type_is_written(dialect: str, body: Any, media_type: str, data: str) -> None:
    request = il.dialect(dialect).read_request(body(f"data:{media_type};base64,{data}"))
    message = request.messages[-1]
    block: Any = message.content[-1]
    other = "image/webp" if media_type == "image/png" else "text/plain"
    edited = message.replace(content=(*message.content[:-1], block.replace(media_type=other)))
    written = il.dialect(dialect).write_request(request.replace(messages=(edited,)))
    back: Any = il.dialect(dialect).read_request(written.wire).messages[-1].content[-1]
    assert back.media_type == other or written.report.losses
