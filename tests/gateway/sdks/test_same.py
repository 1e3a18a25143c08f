"""The same dialect on both sides: the client's bytes go up, the provider's come down."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

import interlingua as il
from interlingua.client.targets import Targets
from interlingua.gateway.gateway import Gateway
from interlingua.gateway.relay.inbound import parse_inbound
from interlingua.gateway.relay.passthrough import Passthrough
from interlingua.gateway.relay.sending import untouched
from interlingua.gateway.shared.fronts import match
from interlingua.gateway.shared.state import Arrival, Exchange
from tests.gateway.sdks.clients import CLIENTS
from tests.gateway.sdks.provider import ANSWER, BACKS, Upstream, settings, targets
from tests.gateway.sdks.standing import standing
from tests.replay import faults
from tests.replay.answers import Answer
from tests.replay.fault import Fault

PATHS = {
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/{model}:generateContent",
    "ollama": "/api/chat",
}
# Odd spellings that any reading and writing again would change.
ODD = b'"temperature" : 1.0e0 ,\n "x-new-option": {"b":1,"a":[1.50, 1E2, null], "\\u00e9":"\\/"}'
BODIES = {
    "openai-chat": b'{"messages":[{"content":"H\\u00e9llo","role":"user"}],"model":"%b",' + ODD,
    "openai-responses": b'{ "input":"H\\u00e9llo", "model":"%b", ' + ODD,
    "anthropic": b'{"max_tokens": 10,"messages":[{"role":"user","content":"Hi"}],"model":"%b",'
    + ODD,
    "gemini": b'{"contents": [{"parts":[{"text":"Hi"}],"role":"user"}],' + ODD,
    "ollama": b'{"messages":[{"role":"user","content":"Hi"}], "model":"%b",' + ODD,
}


class Place(NamedTuple):
    url: str
    upstream: Upstream


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    store = str(tmp_path_factory.mktemp("same") / "gateway.db")
    with (
        Upstream() as upstream,
        standing(settings(store=store), targets(upstream.url)) as here,
    ):
        yield Place(here.url, upstream)


def body_of(front: str, model: str, stream: bool) -> bytes:
    body = BODIES[front]
    if front != "gemini":
        body = body.replace(b"%b", model.encode())
        body += b',"stream":%b' % (b"true" if stream else b"false")
    if front == "openai-chat" and stream:
        body += b', "stream_options": {"include_usage": true}'
    return body + b"}"


def post(url: str, front: str, model: str, body: bytes, stream: bool) -> tuple[int, Any, bytes]:
    path = PATHS[front].format(model=model)
    if stream and front == "gemini":
        path = path.replace("generateContent", "streamGenerateContent") + "?alt=sse"
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=10)
    try:
        headers = {"content-type": "application/json", "authorization": "Bearer any"}
        connection.request("POST", path, body, {**headers, "anthropic-beta": "some-beta"})
        reply = connection.getresponse()
        return reply.status, reply.headers, reply.read()
    finally:
        connection.close()


def keeping(kept: list[bytes]) -> Fault:
    """No fault at all, but a look at what is said."""

    def play(answer: Answer) -> Any:
        kept.append(b"".join(piece.data for piece in answer.pieces))
        return answer.steps()

    return Fault("kept", play)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("front", PATHS)
def test_bytes_go_through_untouched(place: Place, front: str, stream: bool) -> None:
    place.upstream.clear()
    items: list[bytes] = []
    place.upstream.stage(keeping(items))
    # The bare name is one of the front's own provider, so that not even the model is changed.
    model = BACKS[front].partition(":")[2]
    body = body_of(front, model, stream)
    status, headers, answer = post(place.url, front, model, body, stream)
    assert status == 200
    received = place.upstream.received[0]
    assert received.body == body
    assert answer == items[0]
    assert headers["x-interlingua-losses"] == "0"
    assert received.header("anthropic-beta") == ("some-beta" if front == "anthropic" else None)
    assert "any" not in (received.header("authorization") or "")


@pytest.mark.parametrize("front", [front for front in PATHS if front != "gemini"])
def test_only_the_model_is_changed_for_a_route(place: Place, front: str) -> None:
    place.upstream.clear()
    items: list[bytes] = []
    place.upstream.stage(keeping(items))
    status, _, answer = post(place.url, front, "", body_of(front, f"back-{front}", False), False)
    assert status == 200
    up = place.upstream.received[0].body
    target = BACKS[front].partition(":")[2]
    wanted = body_of(front, target, False)
    raw = _members(wanted)
    assert _members(up) == raw
    assert list(_members(up)) == list(raw)
    assert json.loads(answer) == {**json.loads(items[0]), "model": f"back-{front}"}


def _members(body: bytes) -> dict[str, bytes]:
    """The members of an object, each as it is spelled."""
    import msgspec

    found = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    return {name: bytes(value) for name, value in found.items()}


def test_usage_that_the_client_did_not_ask_for_is_taken_out_again(place: Place) -> None:
    place.upstream.clear()
    items: list[bytes] = []
    place.upstream.stage(keeping(items))
    body = json.dumps(
        {"model": "gpt-5-mini", "messages": [{"role": "user", "content": "Hi"}], "stream": True}
    ).encode()
    status, _, answer = post(place.url, "openai-chat", "", body, True)
    assert status == 200
    asked = json.loads(place.upstream.received[0].body)
    assert asked.pop("stream_options") == {"include_usage": True}
    assert asked == json.loads(body)
    frames = items[0].split(b"\n\n")
    extra = [frame for frame in frames if b'"usage"' in frame and b'"choices":[]' in frame]
    assert len(extra) == 1
    assert answer == items[0].replace(extra[0] + b"\n\n", b"")


def test_an_sdk_that_does_not_ask_for_usage_gets_none(place: Place) -> None:
    client = openai.OpenAI(base_url=f"{place.url}/v1", api_key="any", max_retries=0)
    for back in BACKS:
        chunks = client.chat.completions.create(
            model=f"back-{back}", messages=[{"role": "user", "content": "Hi"}], stream=True
        )
        result = list(chunks)
        assert all(len(chunk.choices) == 1 for chunk in result), back
        assert all(chunk.usage is None for chunk in result), back
        assert "".join(chunk.choices[0].delta.content or "" for chunk in result) == ANSWER
    client.close()


@pytest.mark.parametrize("end", ["crlf", "cr"])
@pytest.mark.parametrize("front", ["openai-chat", "anthropic", "gemini"])
def test_other_line_ends_do_not_hold_a_stream_up(place: Place, front: str, end: Any) -> None:
    place.upstream.clear()
    place.upstream.stage(faults.line_ends(end))
    client = CLIENTS[front](place.url, f"back-{front}")
    client.say("Hello")
    assert client.hear(stream=True).text == ANSWER
    client.close()


def frames_of(front: str, ends: bytes) -> bytes:
    codec = il.dialect(front)
    metadata = il.MessageMetadata(
        response_id="r",
        response_model="m",
        usage=il.Usage(1, 2),
        stop_reason=il.StopReason.END_TURN,
    )
    response = il.Response(il.Message.assistant((il.TextBlock(ANSWER),), metadata))
    writer = codec.stream_writer()
    frames = [frame for event in il.unfold(response) for frame in writer.feed(event)]
    data = b"".join(il.sse.encode(frame) for frame in (*frames, *writer.close()))
    return data.replace(b"\n", ends)


@given(
    front=st.sampled_from(["openai-chat", "openai-responses", "anthropic", "gemini"]),
    ends=st.sampled_from([b"\n", b"\r\n", b"\r"]),
    cuts=st.lists(st.integers(1, 60), min_size=1, max_size=9),
)
def test_a_stream_may_be_cut_anywhere_on_its_way(front: str, ends: bytes, cuts: list[int]) -> None:
    data = frames_of(front, ends)
    passing, out, at, number = Passthrough(il.dialect(front)), b"", 0, 0
    while at < len(data):
        size = cuts[number % len(cuts)]
        out += passing.feed(data[at : at + size])
        at, number = at + size, number + 1
        assert len(data[:at]) - len(out) <= 2000  # what is held back is one frame
    assert out + passing.close() == data
    assert passing.usage is not None
    assert passing.usage.output_tokens == 2


def test_a_host_that_wants_the_model_elsewhere_gets_the_rest_untouched() -> None:
    """Anthropic's models at Google: the name is in the address, and the version in the body."""
    environ = {
        "GOOGLE_OAUTH_ACCESS_TOKEN": "token-of-a-test",
        "GOOGLE_CLOUD_PROJECT": "p",
        "GOOGLE_CLOUD_LOCATION": "europe-west4",
    }
    gateway = Gateway(targets=Targets(environ=environ))
    front = match("/v1/messages")
    assert front is not None
    body = body_of("anthropic", "vertex:claude-sonnet-4-6", stream=False)
    exchange = Exchange(Arrival("req_1", "anthropic"))
    asked = parse_inbound(gateway, exchange, front, body, {})
    http_ = untouched(gateway, exchange.arrival, asked, asked.route.targets[0]).http
    assert "/publishers/anthropic/models/claude-sonnet-4-6:rawPredict" in http_.url
    content, sent = json.loads(body), json.loads(http_.body)
    assert sent == {
        **{name: value for name, value in content.items() if name != "model"},
        "anthropic_version": "vertex-2023-10-16",
    }
    assert b'{"b":1,"a":[1.50, 1E2, null], "\\u00e9":"\\/"}' in http_.body
