"""Secrets are replaced before a request leaves, on every way out, and put back where asked."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua.client.targets import Targets
from interlingua.client.transport import HttpRequest, Limits
from interlingua.dialects.framing import decoder, encoder
from interlingua.gateway.config import ConfigError, load
from interlingua.gateway.gateway import Gateway
from interlingua.gateway.relay.app import App
from interlingua.gateway.relay.deciding import _restored
from interlingua.gateway.settings import REDACTIONS, Redaction, RouteSettings, Settings
from interlingua.gateway.shared.redaction import RestoringAdapter, redacted_now
from interlingua.model.decisions import DecisionAnswer, Decisions, Likelihood
from interlingua.model.events import TextDelta, ToolUseInputDelta
from tests.gateway.endpoints.vendors import Vendors
from tests.gateway.faults.cuts import BACKS, FRONTS, Noted, body_of
from tests.gateway.loops import post
from tests.gateway.responses.running import asynchronous
from tests.gateway.serving import Served, Upstream, asked, key, served, settings_in

SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz012345"
QUOTED = "AGE-SECRET-KEY-1" + "Q" * 58
MAIL = "ada@example.org"
WORDS = f"My key is {SECRET}, mail {MAIL}."
PLACEHOLDERS = ("[redacted:openai-key:1]", "[redacted:email:1]")
SCHEMA = {"type": "object", "properties": {"key": {"type": "string"}}}


def answer_of(request: il.Request) -> il.Response:
    """What a model says that repeats what it was told, in text and in a call."""
    result = request.messages[-1].text
    blocks = (
        il.ThinkingBlock(f"They say: {result}", signature="c2ln"),
        il.TextBlock(f"You said: {result} [not one"),
        il.ToolUseBlock("call_1", "use", {"key": result, "[list]": [result]}),
    )
    metadata = il.MessageMetadata(
        response_id="r1",
        response_model="m",
        usage=il.Usage(21, 13),
        stop_reason=il.StopReason.TOOL_USE,
    )
    return il.Response(il.Message.assistant(blocks, metadata))


class Reply:
    status = 200

    def __init__(self, data: bytes) -> None:
        self.headers = {"content-type": "application/json"}
        self._left = [data[at : at + 61] for at in range(0, len(data), 61)]

    async def chunk(self) -> bytes:
        return self._left.pop(0) if self._left else b""

    async def body(self, limit: int) -> bytes:
        return b"".join(self._left)

    def close(self) -> None:
        return None


class ScriptedProvider:
    """Repeats what it hears, in pieces of some letters."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self.streams = False

    async def send(self, request: HttpRequest, limits: Limits) -> Reply:
        self.heard.append(request.body)
        if "countTokens" in request.url or "count_tokens" in request.url:
            return Reply(b'{"input_tokens": 7, "totalTokens": 7}')
        paths = {"/chat/completions": "openai-chat", "/responses": "openai-responses"}
        paths |= {"/messages": "anthropic", "enerateContent": "gemini", "/api/chat": "ollama"}
        name = next(name for path, name in paths.items() if path in request.url)
        answer = answer_of(il.dialect(name).read_request(request.body))
        if not self.streams:
            return Reply(il.dialect(name).write_response(answer).json())
        return Reply(in_pieces(name, answer))


def in_pieces(dialect: str, response: il.Response) -> bytes:
    writer, encode, frames = il.dialect(dialect).stream_writer(), encoder(dialect), []
    for event in il.unfold(response):
        pieces: list[Any] = [event]
        if isinstance(event, TextDelta | ToolUseInputDelta):
            text = event.text
            pieces = [event.replace(text=text[n : n + 5]) for n in range(0, len(text), 5)]
        frames += [frame for piece in pieces for frame in writer.feed(piece)]
    return b"".join([encode(frame) for frame in (*frames, *writer.close())])


def app_of(provider: ScriptedProvider, redaction: Redaction) -> App:
    keys = dict.fromkeys(("openai", "anthropic", "gemini", "ollama"), "k")
    urls = dict.fromkeys(keys, "http://127.0.0.1:9")
    routes = {f"back-{name}": RouteSettings(m, dialect=name) for name, m in BACKS.items()}
    return App(
        Gateway(
            Settings(routes=routes, raises=True, redaction=redaction),
            targets=Targets(keys=keys, base_urls=urls, environ={}),
            transport=provider,
            trace=Noted(),
        )
    )


def request_to(front: str, back: str, stream: bool) -> tuple[str, dict[str, Any]]:
    body: dict[str, Any] = json.loads(
        json.dumps(body_of(front, back)).replace('"hi"', f'"{WORDS}"')
    )
    if front != "gemini":
        body["stream"] = stream
    path = FRONTS[front].replace("back-gemini", f"back-{back}")
    return (path if stream else path.replace("streamGenerate", "generate")), body


def read(front: str, told: bytes, stream: bool) -> il.Message:
    codec = il.dialect(front)
    if not stream:
        return codec.read_response(told).message
    frames, reader = decoder(front), codec.stream_reader()
    events = [e for f in (*frames.feed(told), *frames.close()) for e in reader.feed(f)]
    return il.fold([*events, *reader.close()]).message


@pytest.mark.parametrize("redaction", ["replace", "restore"])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("back", BACKS)
@pytest.mark.parametrize("front", FRONTS)
def test_no_secret_leaves_and_answers_have_them_where_asked(
    front: str, back: str, stream: bool, redaction: Redaction
) -> None:
    provider = ScriptedProvider()
    provider.streams = stream
    app = app_of(provider, redaction)
    status, result = asyncio.run(post(app, *request_to(front, back, stream)))
    assert status == 200, result
    sent = b"".join(provider.heard).decode()
    assert SECRET not in sent
    assert MAIL not in sent
    assert all(each in sent for each in PLACEHOLDERS)
    expected = WORDS
    if redaction == "replace":
        expected = WORDS.replace(SECRET, PLACEHOLDERS[0]).replace(MAIL, PLACEHOLDERS[1])
    message = read(front, result, stream)
    assert message.text == f"You said: {expected} [not one"
    (call,) = [block for block in message.content if isinstance(block, il.ToolUseBlock)]
    assert call.input == {"key": expected, "[list]": [expected]}
    for block in message.content:
        assert not (isinstance(block, il.ThinkingBlock) and SECRET in block.text)
    trace = app.gateway.trace
    assert isinstance(trace, Noted)
    assert trace.last is not None
    assert trace.last.decision.report is not None
    assert "redacted" in [each.code for each in trace.last.decision.report.entries]


@pytest.mark.parametrize("front", FRONTS)
def test_without_secrets_nothing_changes(front: str) -> None:
    plain, clean = ScriptedProvider(), ScriptedProvider()
    path, body = request_to(front, front, False)
    body = json.loads(json.dumps(body).replace(WORDS, "Nothing to hide."))
    answers = [
        asyncio.run(post(app_of(provider, redaction), path, body))
        for provider, redaction in ((plain, "off"), (clean, "restore"))
    ]
    assert answers[0] == answers[1]
    assert json.loads(plain.heard[0]) == json.loads(clean.heard[0])


def test_counting_is_redacted() -> None:
    provider = ScriptedProvider()
    app = app_of(provider, "replace")
    body = {"model": "back-anthropic", "messages": [{"role": "user", "content": WORDS}]}
    status, result = asyncio.run(post(app, "/v1/messages/count_tokens", body))
    assert (status, json.loads(result)["input_tokens"]) == (200, 7)
    assert SECRET.encode() not in provider.heard[0]


def test_the_next_turn_is_told_the_same() -> None:
    """Placeholders keep their numbers as a conversation grows, and calls their signatures."""
    first = il.Request((il.Message.user(WORDS),), model="m")
    call = il.ToolUseBlock("c1", "use", {"key": SECRET}, signature="sig")
    thinking = il.ThinkingBlock(f"It is {PLACEHOLDERS[0]}.", signature="own")
    later = first.replace(
        messages=(
            *first.messages,
            il.Message.assistant((thinking, call)),
            il.Message.user(f"And {QUOTED}?"),
        )
    )
    one, two = redacted_now(first), redacted_now(later)
    assert one.value.messages[0] == two.value.messages[0]
    kept_thinking, clean_call = two.value.messages[1].content
    assert kept_thinking == thinking
    assert (clean_call.input, clean_call.signature) == ({"key": PLACEHOLDERS[0]}, "sig")
    assert two.secrets == {**one.secrets, "[redacted:age-key:1]": QUOTED}


def test_a_secret_is_spelled_as_json_wants_it() -> None:
    adapter = RestoringAdapter(secrets={"[redacted:x:1]": 'a"\\b\n'})
    assert json.loads(adapter.spelled('{"k": "[redacted:x:1]"}')) == {"k": 'a"\\b\n'}
    block = il.ToolUseBlock("c", "f", {"k": "[redacted:x:1]"}, '{"k":"[redacted:x:1]"}')
    back = adapter.block(block)
    assert isinstance(back, il.ToolUseBlock)
    assert json.loads(back.raw_arguments or "") == back.input == {"k": 'a"\\b\n'}


def test_citations_follow_the_text_that_is_put_back() -> None:
    adapter = RestoringAdapter(secrets={"[redacted:x:1]": "long" * 9})
    cited = il.Citation(url="https://a", start=15, end=18)
    block = adapter.block(il.TextBlock("[redacted:x:1] abc", citations=(cited,)))
    assert isinstance(block, il.TextBlock)
    (moved,) = block.citations
    assert block.text[moved.start : moved.end] == "abc"


async def turn(here: Served, token: str, words: str) -> str:
    """What a session stores as the answer to some words."""
    _, made, _ = await here.ask("POST", "/sessions", {"workspace_path": "."}, token)
    path = f"/sessions/{made['id']}"
    await here.ask("POST", f"{path}/turns", {"content": words}, token)
    async with asyncio.timeout(20):
        while True:
            _, reply, _ = await here.ask("GET", f"{path}/messages", None, token)
            if len(reply["messages"]) > 1:
                return str(reply["messages"][-1]["content"][0]["text"])
            await asyncio.sleep(0.02)


@asynchronous
async def test_a_key_has_its_own_redaction_everywhere(tmp_path: Path) -> None:
    keys = {mode: key(tmp_path, mode, redaction=mode) for mode in REDACTIONS}
    clean = WORDS.replace(SECRET, PLACEHOLDERS[0]).replace(MAIL, PLACEHOLDERS[1])
    expected = {"off": (WORDS, WORDS), "replace": (clean, clean), "restore": (clean, WORDS)}
    with Upstream() as upstream:
        upstream.configure(tmp_path)
        async with served(tmp_path, settings_in(tmp_path)) as here:
            for mode, made in keys.items():
                upstream.requests.clear()
                wire = asked(f"json {WORDS}")
                _, reply, _ = await here.ask("POST", "/v1/chat/completions", wire, made.token)
                texts = [reply["choices"][0]["message"]["content"]]
                texts.append(await turn(here, made.token, f"json {WORDS}"))
                sent, answered = expected[mode]
                assert texts == [answered, answered]
                for each in upstream.requests:
                    assert sent in json.dumps(each)
                    assert (SECRET in json.dumps(each)) is (mode == "off")


@asynchronous
async def test_what_is_passed_on_as_it_is_is_refused(tmp_path: Path) -> None:
    made = key(tmp_path, redaction="restore")
    async with served(tmp_path, settings_in(tmp_path)) as here:
        status, reply, _ = await here.ask("POST", "/v1/moderations", {"input": "x"}, made.token)
        assert (status, reply["error"]["code"]) == (403, "redaction_unsupported")
        headers = {"anthropic-version": "2023-06-01"}
        status, reply, _ = await here.ask("POST", "/v1/sessions", {}, made.token, headers=headers)
        assert (status, reply["error"]["code"]) == (403, "redaction_unsupported")


@asynchronous
async def test_embeddings_are_redacted(tmp_path: Path) -> None:
    made = key(tmp_path, redaction="replace")
    with Vendors() as vendors:
        vendors.configure(tmp_path)
        async with served(tmp_path, settings_in(tmp_path)) as here:
            for model in ("openai:text-embedding-3-small", "cohere:embed-v4.0"):
                wire = {"model": model, "input": [WORDS]}
                status, reply, _ = await here.ask("POST", "/v1/embeddings", wire, made.token)
                assert (status, len(reply["data"])) == (200, 1)
        heard = json.dumps([each.wire for each in vendors.seen])
    assert SECRET not in heard
    assert heard.count(PLACEHOLDERS[0]) == 2


def test_decisions_name_the_options_of_the_client() -> None:
    answer = DecisionAnswer("choice", "who", PLACEHOLDERS[1], (Likelihood(PLACEHOLDERS[1], 1.0),))
    (back,) = _restored(Decisions((answer,)), {PLACEHOLDERS[1]: MAIL}).answers
    assert (back.value, back.probabilities[0].value) == (MAIL, MAIL)


def test_the_setting_is_one_of_three_words(tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text('redaction = "restore"\n')
    assert load(file).redaction == "restore"
    file.write_text('redaction = "maybe"\n')
    with pytest.raises(ConfigError, match="expected one of off, replace, restore"):
        load(file)
