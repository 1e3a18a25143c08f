"""A word for the end of an answer, said in one dialect and heard in another: the word that is
written is one of the target's own and means the same, or the report says that it does not."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import interlingua as il
from interlingua.model.events import MessageComplete, StreamError
from interlingua.model.losses import Report
from tests.dialects.stop_words import (
    CHAT,
    STREAM,
    WHOLE,
    WORDS,
    meaning,
    vocabulary,
    word_in,
    word_streamed,
)

PAIRS = [(source, target) for source in WORDS for target in WORDS if source != target]

UNHEARD = "wandered_off"
"""A word that nobody has; it is `other` wherever it is said, and stays there."""


def judge(source: str, word: str, calls: bool, target: str, said: Any, report: Report) -> str:
    """What is wrong with the word that was written, if anything."""
    if said not in vocabulary(target):
        return f"{word} of {source} became {said!r}, which is no word of {target}"
    meant = "other" if word == UNHEARD else meaning(source, word, calls, spoken=True)
    if meant == meaning(target, said, calls):
        return ""
    if any(loss.path.endswith("metadata.stop_reason") for loss in report.entries):
        return ""
    return f"{word} of {source} became {said!r} of {target}, unreported"


def problems(source: str, target: str, streamed: bool) -> list[str]:
    found = []
    for word in (*WORDS[source], UNHEARD):
        for calls in (False, True):
            if streamed:
                done = il.stream_convert(STREAM[source](word, calls), source, target)
                content, report = word_streamed(target, b"".join(done)), done.report
            else:
                whole = il.convert(WHOLE[source](word, calls), source, target, "response")
                content, report = word_in(target, whole.wire), whole.report
            found.append(judge(source, word, calls, target, content, report))
    return [each for each in found if each]


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_word_is_written_in_the_targets_own_and_means_the_same(source: str, target: str) -> None:
    assert problems(source, target, streamed=False) == []


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_streamed_word_is_written_in_the_targets_own(source: str, target: str) -> None:
    assert problems(source, target, streamed=True) == []


@pytest.mark.parametrize("word", [*CHAT, UNHEARD])
@pytest.mark.parametrize(
    "format", ["anthropic-claude-v1", "google-gemini-v1", "openai-responses-v1"]
)
def test_a_word_of_chat_is_chats_whoever_signed_the_thinking(word: str, format: str) -> None:
    wire = WHOLE["openai-chat"](word, True)
    detail = {"type": "reasoning.text", "text": "hm", "signature": "c2ln", "format": format}
    wire["choices"][0]["message"]["reasoning_details"] = [{**detail, "index": 0}]
    chat = il.dialect("openai-chat")
    assert chat.write_response(chat.read_response(wire)).wire == wire
    for target in WORDS:
        done = il.convert(wire, "openai-chat", target, "response")
        content = word_in(target, done.wire)
        if target != "openai-chat":
            assert not judge("openai-chat", word, True, target, content, done.report)


COHERE_V1 = {
    "COMPLETE": "end",
    "STOP_SEQUENCE": "sequence",
    "MAX_TOKENS": "cut",
    "ERROR_LIMIT": "cut",
    "ERROR_TOXIC": "filtered",
    "USER_CANCEL": "cancelled",
    "ERROR": "failed",
    "TIMEOUT": "failed",
    UNHEARD: "other",
}


@pytest.mark.parametrize("target", [name for name in WORDS if name != "cohere"])
@pytest.mark.parametrize("word", COHERE_V1)
def test_a_word_of_coheres_first_chat_means_the_same_or_is_reported(word: str, target: str) -> None:
    answer = {"generation_id": "g", "text": "Hi", "finish_reason": word}
    end = {"event_type": "stream-end", "finish_reason": word, "response": answer}
    lines = [
        {"event_type": "stream-start", "generation_id": "g", "is_finished": False},
        {"event_type": "text-generation", "text": "Hi", "is_finished": False},
        {**end, "is_finished": True},
    ]
    whole = il.convert(answer, "cohere", target, "response")
    chunks = [json.dumps(line).encode() + b"\n" for line in lines]
    streamed = il.stream_convert(chunks, "cohere", target)
    found = [(word_in(target, whole.wire), whole.report)]
    found.append((word_streamed(target, b"".join(streamed)), streamed.report))
    for content, report in found:
        assert content in vocabulary(target)
        is_reported = any(loss.path.endswith("metadata.stop_reason") for loss in report.entries)
        assert is_reported == (meaning(target, content, calls=False) != COHERE_V1[word])


NO_ANSWER = {
    **dict.fromkeys((il.StopReason.REFUSAL, il.StopReason.CONTENT_FILTER), "complete"),
    il.StopReason.ERROR: "error",
    il.StopReason.CANCELLED: "cancelled",
    il.StopReason.PAUSE: "complete",
}


@pytest.mark.parametrize("thinks", [False, True])
@pytest.mark.parametrize("target", list(WORDS))
@pytest.mark.parametrize("reason", list(NO_ANSWER))
def test_an_answer_without_content_never_looks_like_a_full_one(
    reason: il.StopReason, target: str, thinks: bool
) -> None:
    """Whole and streamed: the word says that there is no answer, or the loss is an error."""
    status = il.MessageStatus(NO_ANSWER[reason])
    metadata = il.MessageMetadata(
        response_id="r", response_model="m", stop_reason=reason, status=status
    )
    content = (il.ThinkingBlock("Hm."),) if thinks else ()
    response = il.Response(il.Message(il.Role.ASSISTANT, content, metadata=metadata))
    codec = il.dialect(target)
    whole = codec.write_response(response)
    ended = codec.read_response(whole.wire).message.metadata.stop_reason
    writer, reader = codec.stream_writer(), codec.stream_reader()
    frames = [frame for event in il.unfold(response) for frame in writer.feed(event)]
    events = [event for frame in [*frames, *writer.close()] for event in reader.feed(frame)]
    ends = [
        each.response.message.metadata.stop_reason if isinstance(each, MessageComplete) else None
        for each in [*events, *reader.close()]
        if isinstance(each, MessageComplete | StreamError)
    ]
    assert len(ends) == 1
    for heard, report in ((ended, whole.report), (ends[0], writer.report)):
        losses = [each for each in report if each.path.endswith("metadata.stop_reason")]
        if heard is il.StopReason.END_TURN:
            assert [each.severity for each in losses] == ["error"]
        elif heard not in (reason, None):
            assert [each.severity for each in losses] == ["warning"]


def test_a_refusal_without_text_is_a_filtered_answer_of_responses() -> None:
    wire = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
    result = il.convert({**wire, "stop_reason": "refusal", "usage": {}}, to="openai-responses")
    written = json.loads(result.json())
    assert (written["status"], written["incomplete_details"]) == (
        "incomplete",
        {"reason": "content_filter"},
    )
    (loss,) = [each for each in result.report.losses if "stop_reason" in each.path]
    assert loss.severity == "warning"


def test_a_word_that_two_vendors_of_claude_share_is_kept() -> None:
    word = "model_context_window_exceeded"
    for source, target in (("anthropic", "bedrock"), ("bedrock", "anthropic")):
        done = il.convert(WHOLE[source](word, False), source, target, "response")
        assert word_in(target, done.wire) == word


def test_the_words_are_those_of_the_official_clients() -> None:
    """So that a word which a new version of a client knows is not forgotten here."""
    for dialect, words in official().items():
        assert set(WORDS[dialect]) == set(words), dialect


def official() -> dict[str, tuple[str, ...]]:
    botocore = pytest.importorskip("botocore.session")
    from anthropic.types.beta import BetaStopReason
    from google.genai import types as google
    from google.genai.interactions import Interaction
    from openai.types.chat.chat_completion import Choice
    from openai.types.responses.response import IncompleteDetails
    from openrouter.components import ChatFinishReasonEnum

    runtime = botocore.get_session().get_service_model("bedrock-runtime")
    reasons = get_args(get_args(IncompleteDetails.model_fields["reason"].annotation)[0])
    return {
        "openai-chat": get_args(Choice.model_fields["finish_reason"].annotation),
        "openrouter": get_args(get_args(ChatFinishReasonEnum)[0]),
        "openai-responses": ("completed", *reasons),
        "anthropic": get_args(BetaStopReason),
        "bedrock": tuple(runtime.shape_for("StopReason").enum),
        "gemini": tuple(each.value for each in google.FinishReason),
        "gemini-interactions": get_args(get_args(Interaction.model_fields["status"].annotation)[0]),
    }


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
    assert (home.wire, home.report.entries) == (wire, [])
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
    assert back.media_type == other or written.report.entries
