"""How probable each token was, between the wires that say so."""

from __future__ import annotations

import json
from typing import Any

import pytest

import interlingua as il
from interlingua.model.exchange import Response
from interlingua.model.message import Message
from interlingua.model.metadata import MessageMetadata
from tests.laws import laws

Json = dict[str, Any]


def token(text: str, logprob: float, *others: Json) -> Json:
    return {
        "token": text,
        "logprob": logprob,
        "bytes": list(text.encode()),
        "top_logprobs": list(others),
    }


OTHER = {"token": "Ho", "logprob": -2.5, "bytes": [72, 111]}
TOKENS = [token("Hi", -0.1, OTHER), token("!", -0.5)]
PART = {"type": "output_text", "text": "Hi!", "annotations": [], "logprobs": TOKENS}
ITEM = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
ANSWERS: dict[str, Json] = {
    "openai-chat": {
        "id": "c_1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Hi!"},
                "finish_reason": "stop",
                "logprobs": {"content": TOKENS, "refusal": None},
            }
        ],
    },
    "openai-responses": {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "m",
        "output": [{**ITEM, "content": [PART]}],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    },
    "ollama": {
        "model": "m",
        "created_at": "2026-11-01T00:00:00Z",
        "message": {"role": "assistant", "content": "Hi!"},
        "done": True,
        "done_reason": "stop",
        "logprobs": TOKENS,
    },
}
ANSWERS["openrouter"] = {**ANSWERS["openai-chat"], "provider": "X"}


def tokens_in(name: str, wire: Any) -> Any:
    if name == "ollama":
        return wire["logprobs"]
    if name == "openai-responses":
        return wire["output"][0]["content"][0]["logprobs"]
    return wire["choices"][0]["logprobs"]["content"]


@pytest.mark.parametrize("name", ANSWERS)
def test_tokens_are_read_and_go_home(name: str) -> None:
    dialect = il.dialect(name)
    assert laws.home(dialect, "response", ANSWERS[name]) == []
    message = dialect.read_response(ANSWERS[name]).message
    assert message.metadata.logprobs == tuple(TOKENS)
    edited = message.replace(metadata=message.metadata.replace(logprobs=(TOKENS[1],)))
    assert tokens_in(name, dialect.write_response(Response(edited)).wire) == [TOKENS[1]]


@pytest.mark.parametrize("source", ANSWERS)
@pytest.mark.parametrize("target", ANSWERS)
def test_tokens_cross_between_those_who_have_them(source: str, target: str) -> None:
    done = il.convert(ANSWERS[source], source, target, "response")
    assert tokens_in(target, done.wire) == TOKENS
    assert not [loss for loss in done.report.entries if "logprobs" in loss.path]


@pytest.mark.parametrize("target", ["anthropic", "bedrock", "cohere", "gemini-interactions"])
def test_tokens_are_reported_where_they_have_no_place(target: str) -> None:
    report = il.convert(ANSWERS["openai-chat"], "openai-chat", target, "response").report
    assert "$.message.metadata.logprobs" in [loss.path for loss in report.entries]


@pytest.mark.parametrize("name", ["openai-chat", "openai-responses"])
def test_what_a_server_leaves_out_of_a_token_is_filled_in_for_others(name: str) -> None:
    metadata = MessageMetadata(protocol="ollama", logprobs=({"token": "é", "logprob": -0.1},))
    wire = il.dialect(name).write_response(Response(Message.assistant("é", metadata))).wire
    assert tokens_in(name, wire) == [
        {"token": "é", "logprob": -0.1, "bytes": [195, 169], "top_logprobs": []}
    ]


def test_each_text_of_a_response_keeps_its_own_tokens() -> None:
    parts = [{**PART, "logprobs": [each]} for each in TOKENS]
    bare = {"type": "output_text", "text": "none", "annotations": [], "logprobs": []}
    wire = {
        **ANSWERS["openai-responses"],
        "output": [{**ITEM, "content": [parts[0], bare, parts[1]]}],
    }
    assert laws.home(il.dialect("openai-responses"), "response", wire) == []
    response = il.dialect("openai-responses").read_response(wire)
    assert response.message.metadata.logprobs == tuple(TOKENS)


def test_tokens_without_a_text_are_reported() -> None:
    metadata = MessageMetadata(logprobs=tuple(TOKENS))
    answer = Response(Message.assistant(il.ToolUseBlock("c_1", "f", {}), metadata))
    report = il.dialect("openai-responses").write_response(answer).report
    assert "$.message.metadata.logprobs" in [loss.path for loss in report.entries]


def test_tokens_of_a_stream_are_those_of_the_whole_answer() -> None:
    head = {"id": "c_1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    chunks = [
        {"index": 0, "delta": {"content": each["token"]}, "logprobs": {"content": [each]}}
        for each in TOKENS
    ]
    chunks.append({"index": 0, "delta": {}, "finish_reason": "stop"})
    lines = [f"data: {json.dumps({**head, 'choices': [each]})}\n\n" for each in chunks]
    raw = [*[line.encode() for line in lines], b"data: [DONE]\n\n"]
    for target in ("ollama", "openai-responses", "openrouter"):
        out = il.stream_convert(raw, "openai-chat", target)
        frames = [*(decoder := _decoder(target)).feed(b"".join(out)), *decoder.close()]
        reader = il.dialect(target).stream_reader()
        events = [event for each in frames for event in reader.feed(each)] + reader.close()
        assert il.fold(events).message.metadata.logprobs == tuple(TOKENS)
        assert not [loss for loss in out.report.entries if "logprobs" in loss.path]


def steps(*tokens: tuple[str, float | None, int], tops: bool = True) -> Json:
    """What Google says of tokens; it omits a probability of 0."""
    chosen = [
        {"token": text, "tokenId": id} | ({} if number is None else {"logProbability": number})
        for text, number, id in tokens
    ]
    others = {"topCandidates": [{"candidates": [each]} for each in chosen]} if tops else {}
    return {"chosenCandidates": chosen, **others}


def google(result: Any, text: str = "Hi!", **more: Any) -> Json:
    content = {"role": "model", "parts": [{"text": text}]}
    candidate = {"index": 0, "content": content, "finishReason": "STOP", "logprobsResult": result}
    return {"candidates": [{**candidate, **more}], "modelVersion": "m", "responseId": "r"}


STEPS = steps(("Hi", -0.1, 7), ("!", None, 8))


def cohere(*pieces: Json) -> Json:
    message = {"role": "assistant", "content": [{"type": "text", "text": "Hi!"}]}
    return {"id": "c", "message": message, "finish_reason": "COMPLETE", "logprobs": list(pieces)}


def piece(text: str, *pairs: tuple[int, float]) -> Json:
    return {"text": text, "token_ids": [id for id, _ in pairs], "logprobs": [n for _, n in pairs]}


@pytest.mark.parametrize(
    ("name", "wire", "count"),
    [
        ("gemini", google(STEPS), 2),
        ("gemini", google({**STEPS, "logProbabilitySum": -0.1}, avgLogprobs=-0.05), 2),
        ("gemini", google(steps(("Hi", -0.1, 7), tops=False)), 1),
        ("gemini", google({**STEPS, "topCandidates": []}), 0),
        ("gemini", google({**STEPS, "topCandidates": [{}, {"candidates": [], "x": 1}]}), 2),
        ("gemini", google({"chosenCandidates": [{"token": "Hi", "x": 1}], "y": 2}), 1),
        ("gemini", google({"chosenCandidates": [{"token": "Hi", "logprob": 1}]}), 0),
        ("gemini", google({"chosenCandidates": []}), 0),
        ("gemini", google({"chosenCandidates": [1]}), 0),
        ("gemini", google({}), 0),
        ("gemini", google(None), 0),
        ("cohere", cohere(piece("Hi", (7, -0.1)), piece("!", (8, 0))), 2),
        ("cohere", cohere({**piece("Hi", (7, -0.1)), "x": 1}), 1),
        ("cohere", cohere(piece("Hi!", (7, -0.1), (8, -0.2))), 0),
        ("cohere", cohere({"token_ids": [7]}), 0),
        ("cohere", cohere(), 0),
    ],
)
def test_other_spellings_are_read_and_go_home(name: str, wire: Json, count: int) -> None:
    dialect = il.dialect(name)
    assert laws.home(dialect, "response", wire) == []
    response = dialect.read_response(wire)
    assert len(response.message.metadata.logprobs) == count
    if count:
        metadata = response.message.metadata.replace(logprobs=())
        bare = response.replace(message=response.message.replace(metadata=metadata))
        written = dialect.write_response(bare).wire
        assert "chosenCandidates" not in json.dumps(written)
        assert "token_ids" not in json.dumps(written)


@pytest.mark.parametrize("target", ANSWERS)
@pytest.mark.parametrize("source", ["gemini", "cohere"])
def test_numbered_tokens_cross_without_their_numbers(source: str, target: str) -> None:
    wire = (
        google(STEPS) if source == "gemini" else cohere(piece("Hi", (7, -0.1)), piece("!", (8, 0)))
    )
    done = il.convert(wire, source, target, "response")
    found = tokens_in(target, done.wire)
    assert [(each["token"], each["logprob"], each["bytes"]) for each in found] == [
        ("Hi", -0.1, [72, 105]),
        ("!", 0, [33]),
    ]
    assert [each["token"] for each in found[1]["top_logprobs"]] == ["!"] * (source == "gemini")
    codes = [loss.code for loss in done.report.entries if "logprobs" in loss.path]
    assert codes == ["token_ids"]


@pytest.mark.parametrize("source", ANSWERS)
def test_tokens_are_written_to_google(source: str) -> None:
    done = il.convert(ANSWERS[source], source, "gemini", "response")
    (candidate,) = done.wire["candidates"]
    assert candidate["logprobsResult"] == {
        "chosenCandidates": [
            {"token": "Hi", "logProbability": -0.1},
            {"token": "!", "logProbability": -0.5},
        ],
        "topCandidates": [{"candidates": [{"token": "Ho", "logProbability": -2.5}]}, {}],
    }
    assert not [loss for loss in done.report.entries if "logprobs" in loss.path]
    again = il.convert(done.wire, "gemini", source, "response")
    assert tokens_in(source, again.wire) == TOKENS


def test_bytes_that_are_no_text_are_reported() -> None:
    tokens = ({**TOKENS[0], "bytes": [240, 159]},)
    metadata = MessageMetadata(protocol="openai-chat", logprobs=tokens)
    report = il.dialect("gemini").write_response(Response(Message.assistant("a", metadata))).report
    assert [loss.code for loss in report.entries if "logprobs" in loss.path] == ["token_bytes"]


def test_the_sum_follows_the_tokens() -> None:
    dialect = il.dialect("gemini")
    response = dialect.read_response(google({**STEPS, "logProbabilitySum": -0.1}))
    metadata = response.message.metadata
    first = {**metadata.logprobs[0], "logprob": -3.0}
    changed = metadata.replace(logprobs=(first, *metadata.logprobs[1:]))
    edited = response.replace(message=response.message.replace(metadata=changed))
    (candidate,) = dialect.write_response(edited).wire["candidates"]
    assert candidate["logprobsResult"]["logProbabilitySum"] == -3.0


def test_tokens_of_googles_and_coheres_streams_are_those_of_the_whole_answer() -> None:
    pairs = [("Hi", -0.1, 7), ("!", -0.5, 8)]
    gemini = [google(steps(each), each[0]) for each in pairs]
    del gemini[0]["candidates"][0]["finishReason"]
    content = {"type": "text", "text": ""}
    start = {"type": "content-start", "index": 0, "delta": {"message": {"content": content}}}
    pieces = [
        {
            "type": "content-delta",
            "index": 0,
            "delta": {"message": {"content": {"text": text}}},
            "logprobs": piece(text, (id, number)),
        }
        for text, number, id in pairs
    ]
    ending = {"type": "message-end", "delta": {"finish_reason": "COMPLETE"}}
    streams = {
        "gemini": gemini,
        "cohere": [start, *pieces, {"type": "content-end", "index": 0}, ending],
    }
    targets = ("openai-chat", "openai-responses", "ollama", "openrouter", "gemini")
    for source, frames in streams.items():
        raw = [f"data: {json.dumps(each)}\n\n".encode() for each in frames]
        for target in targets:
            out = il.stream_convert(raw, source, target)
            decoder = _decoder(target)
            back = [*decoder.feed(b"".join(out)), *decoder.close()]
            reader = il.dialect(target).stream_reader()
            events = [event for each in back for event in reader.feed(each)] + reader.close()
            found = il.fold(events).message.metadata.logprobs
            assert [(each["token"], each["logprob"]) for each in found] == [p[:2] for p in pairs]


def _decoder(name: str) -> Any:
    from interlingua.dialects.framing import decoder

    return decoder(name)


def test_lines_of_ollama_with_tokens_go_home() -> None:
    head = {"model": "m", "created_at": "2026-11-01T00:00:00Z"}
    lines = [
        {**head, "message": {"role": "assistant", "content": each["token"]}, "done": False}
        | {"logprobs": [each]}
        for each in TOKENS
    ]
    lines.append({**head, "message": {"role": "assistant", "content": ""}, "done": True})
    reader, writer = il.dialect("ollama").stream_reader(), il.dialect("ollama").stream_writer()
    events = [e for line in lines for e in reader.feed(il.Frame(None, json.dumps(line)))]
    written = [frame for event in [*events, *reader.close()] for frame in writer.feed(event)]
    assert [json.loads(frame.data) for frame in [*written, *writer.close()]] == lines
    assert il.fold(events).message.metadata.logprobs == tuple(TOKENS)


@pytest.mark.parametrize("given", ["SGVsbG8=", "no base64"])
def test_bytes_as_text_become_numbers_abroad(given: str) -> None:
    token = {"token": "Hello", "logprob": -0.1, "bytes": given}
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": "Hello"},
        "logprobs": {"content": [{**token, "top_logprobs": [token]}]},
    }
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    wire = il.convert(body, "openai-chat", "openai-responses", kind="response").wire
    (result,) = wire["output"][0]["content"][0]["logprobs"]
    assert result["bytes"] == result["top_logprobs"][0]["bytes"] == list(b"Hello")
    home = il.dialect("openai-chat")
    assert home.write_response(home.read_response(body)).wire == body
