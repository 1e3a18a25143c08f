"""Fronts of hosts: Bedrock, Vertex and both versions of Cohere, with their keys, counts, errors."""

from __future__ import annotations

import asyncio
import base64
import http.client
import json
import time
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

import anthropic
import cohere
import groq
import openai
import openrouter
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, EventStreamError
from botocore.session import Session

import interlingua as il
from interlingua.costs.table import bundled
from interlingua.gateway.keys.key_admin import Terms, issue
from interlingua.gateway.server.drain import last_words
from interlingua.gateway.shared.fronts import match, token_of
from tests.gateway.sdks.provider import ANSWER, CITIES, THOUGHT, Upstream, settings, targets
from tests.gateway.sdks.standing import standing
from tests.replay import faults
from tests.replay.exchanges import Exchange

VERSION = "bedrock-2023-05-31"
CLAUDE = {"max_tokens": 50, "messages": [{"role": "user", "content": "Hello"}]}


class Place(NamedTuple):
    url: str
    upstream: Upstream
    token: str

    def aws(self, **credentials: str) -> Any:
        usual = {"aws_access_key_id": self.token, "aws_secret_access_key": "none"}
        return Session().create_client(
            "bedrock-runtime",
            region_name="us-east-1",
            endpoint_url=self.url,
            config=Config(retries={"max_attempts": 0}),
            **{**usual, **credentials},
        )

    def post(self, path: str, body: Any, key: str | None = None) -> tuple[int, Any, bytes]:
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=20)
        headers = {"authorization": f"Bearer {key or self.token}"}
        connection.request("POST", path, json.dumps(body), headers)
        reply = connection.getresponse()
        collected = (reply.status, reply.headers, reply.read())
        connection.close()
        return collected

    def losses(self, headers: Any) -> list[str]:
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=20)
        authorization = {"authorization": f"Bearer {self.token}"}
        connection.request("GET", f"/losses/{headers['x-request-id']}", headers=authorization)
        report = json.loads(connection.getresponse().read())
        connection.close()
        return [each["code"] for each in report["losses"]]

    def cost(self, headers: Any) -> Decimal | None:
        """Of a request, as the log has it."""
        for _ in range(200):
            connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=20)
            authorization = {"authorization": f"Bearer {self.token}"}
            connection.request("GET", "/requests", headers=authorization)
            rows = json.loads(connection.getresponse().read())["requests"]
            connection.close()
            for row in rows:
                if row["id"] == headers["x-request-id"]:
                    cost = (row["usage"] or {}).get("cost_usd")
                    return None if cost is None else Decimal(cost)
            time.sleep(0.02)
        raise AssertionError("the request is not in the log")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    address = str(tmp_path_factory.mktemp("wrapped") / "gateway.db")
    with il.open_store(address) as store:
        token = issue(store, "test", ".", Terms()).token
    with (
        Upstream() as upstream,
        standing(settings(store=address), targets(upstream.url)) as here,
    ):
        yield Place(here.url, upstream, token)


@pytest.fixture(autouse=True)
def _fresh(place: Place) -> None:
    place.upstream.clear()
    place.upstream.asked.clear()


# -- keys -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "credentials",
    [
        {},
        {"aws_access_key_id": "AKIDEXAMPLE", "aws_session_token": "{token}"},
        {"aws_session_token": "left over from another account"},
    ],
    ids=["access key", "session token", "both"],
)
def test_the_key_of_a_signed_request(place: Place, credentials: dict[str, str]) -> None:
    filled = {name: text.format(token=place.token) for name, text in credentials.items()}
    client = place.aws(**filled)
    result = client.converse(modelId="back-gemini", messages=[_said("Hello")])
    assert result["output"]["message"]["content"][0]["text"] == ANSWER
    received = place.upstream.received[0]
    assert not any(place.token in value for _, value in received.headers)


def test_a_signature_without_a_key_opens_nothing(place: Place) -> None:
    with pytest.raises(ClientError) as raised:
        place.aws(aws_access_key_id="AKIDEXAMPLE").converse(
            modelId="back-gemini", messages=[_said("Hello")]
        )
    assert raised.value.response["Error"]["Code"] == "UnrecognizedClientException"
    assert not place.upstream.received


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({b"authorization": b"AWS4-HMAC-SHA256 Credential=gw_a/2026/x, Signature=1"}, "gw_a"),
        ({b"authorization": b"AWS4-HMAC-SHA256 Signature=1"}, None),
        ({b"authorization": b"AWS4-HMAC-SHA256 "}, None),
        (
            {
                b"authorization": b"AWS4-HMAC-SHA256 Credential=AK/1",
                b"x-amz-security-token": b" gw_b ",
            },
            "gw_b",
        ),
    ],
)
def test_what_is_taken_from_a_signature(headers: dict[bytes, bytes], expected: str | None) -> None:
    assert token_of(headers, b"") == expected


# -- Bedrock --------------------------------------------------------------------------------------


def test_converse_streams_pass_through_byte_for_byte(place: Place) -> None:
    stream = place.aws().converse_stream(modelId="back-bedrock", messages=[_said("Hello")])
    events = list(stream["stream"])
    text = "".join(
        event["contentBlockDelta"]["delta"]["text"]
        for event in events
        if "contentBlockDelta" in event
    )
    assert text == ANSWER
    assert events[-1]["metadata"]["usage"]["inputTokens"] == 21
    path = "/model/back-bedrock/converse-stream"
    body = {"messages": [_said("Hello")]}
    status, headers, reply = place.post(path, body)
    assert (status, headers["content-type"]) == (200, "application/vnd.amazon.eventstream")
    direct = http.client.HTTPConnection(urlsplit(place.upstream.url).netloc, timeout=20)
    direct.request("POST", path.replace("back-bedrock", "m"), json.dumps(body))
    assert direct.getresponse().read() == reply
    direct.close()


def test_an_exception_inside_a_stream(place: Place) -> None:
    for model in ("back-bedrock", "back-openai-chat"):
        place.upstream.stage(faults.error_event(3))
        stream = place.aws().converse_stream(modelId=model, messages=[_said("Hello")])["stream"]
        with pytest.raises(EventStreamError) as raised:
            list(stream)
        stream.close()
        assert raised.value.response["Error"]["Code"].endswith("Exception")


def test_errors_have_their_type_in_a_header(place: Place) -> None:
    for path in ("/model/nobody:nothing/converse", "/model/nobody:nothing/invoke"):
        body: Any = {"messages": [_said("Hello")]} if "converse" in path else CLAUDE
        status, headers, reply = place.post(path, body)
        assert (status, headers["x-amzn-errortype"]) == (404, "ResourceNotFoundException")
        assert headers["x-amzn-requestid"]
        assert json.loads(reply)["__type"] == "ResourceNotFoundException"
        assert "nobody" in json.loads(reply)["message"]


def test_the_type_of_the_provider_s_own_error_is_reported(place: Place) -> None:
    body = json.dumps({"message": "come back later"}).encode()
    own = (
        ("content-type", "application/json"),
        ("x-amzn-errortype", "ModelNotReadyException:http://internal.amazon.com/"),
    )
    made = Exchange("not-ready", "bedrock", "", status=429, body=body, headers=own)
    place.upstream.answers = [made]
    status, headers, reply = place.post(
        "/model/back-bedrock/converse", {"messages": [_said("Hello")]}
    )
    assert (status, json.loads(reply)["message"]) == (429, "come back later")
    assert headers["x-amzn-errortype"].startswith("ModelNotReadyException")


def test_invoke_takes_bodies_for_claude_alone(place: Place) -> None:
    with pytest.raises(ClientError, match="Messages API") as raised:
        place.aws().invoke_model(modelId="back-gemini", body=json.dumps({"inputText": "Hi"}))
    assert raised.value.response["Error"]["Code"] == "ValidationException"


def test_invoke_says_betas_as_a_header(place: Place) -> None:
    body = {**CLAUDE, "anthropic_version": VERSION, "anthropic_beta": ["one", "two"]}
    result = place.aws().invoke_model(modelId="back-anthropic", body=json.dumps(body))
    assert json.loads(result["body"].read())["content"][0]["text"] == ANSWER
    received = place.upstream.received[0]
    assert json.loads(received.body) == {
        **CLAUDE,
        "model": "claude-sonnet-4-6",
        "stream": False,
    }
    assert dict(received.headers)["anthropic-beta"] == "one,two"


def test_tokens_are_counted_in_both_shapes(place: Place) -> None:
    client = place.aws()
    converse = {"converse": {"messages": [_said("Hello there, how are you?")]}}
    body = json.dumps({"anthropic_version": VERSION, **CLAUDE})
    counts = [
        client.count_tokens(modelId="back-openai-chat", input=each)["inputTokens"]
        for each in (converse, {"invokeModel": {"body": body}})
    ]
    assert counts[0] > counts[1] > 0


@pytest.mark.parametrize(
    "body",
    [{}, {"input": {}}, {"input": {"invokeModel": {"body": "*"}}}, {"input": {"converse": 1}}, []],
)
def test_a_count_of_nothing_is_refused(place: Place, body: Any) -> None:
    status, headers, _ = place.post("/model/back-gemini/count-tokens", body)
    assert (status, headers["x-amzn-errortype"]) == (400, "ValidationException")


def _said(text: str) -> Any:
    return {"role": "user", "content": [{"text": text}]}


# -- Vertex ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["", "/v1", "/v1beta1"])
def test_vertex_paths_have_a_version_or_none(place: Place, version: str) -> None:
    base = f"{version}/projects/p/locations/l/publishers"
    gemini = {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}
    status, _, reply = place.post(f"{base}/google/models/back-cohere:generateContent", gemini)
    assert (status, json.loads(reply)["candidates"][0]["finishReason"]) == (200, "STOP")
    status, _, reply = place.post(f"{base}/anthropic/models/back-cohere:rawPredict", CLAUDE)
    assert (status, json.loads(reply)["content"][0]["text"]) == (200, ANSWER)


def test_vertex_counts_tokens(place: Place) -> None:
    client = anthropic.AnthropicVertex(
        base_url=f"{place.url}/v1", access_token=place.token, project_id="p", region="global"
    )
    count = client.messages.count_tokens(
        model="back-gemini", messages=[{"role": "user", "content": "Hello"}]
    )
    client.close()
    assert count.input_tokens > 0


@pytest.mark.parametrize(
    "path",
    [
        "/model//converse",
        "/model/x/converse/",
        "/model/x/invoke-async",
        "/projects/p/locations/l/publishers/anthropic/models/x:predict",
        "/v3/chat",
    ],
)
def test_other_paths_are_no_fronts(path: str) -> None:
    assert match(path) is None


# -- OpenAI's API elsewhere ------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [False, True])
def test_the_sdks_of_azure_groq_and_openrouter_find_their_own_paths(
    place: Place, stream: bool
) -> None:
    items: Any = [{"role": "user", "content": "Hello"}]
    asked: Any = {"model": "back-gemini", "messages": items, "stream": stream}
    url, key = place.url, place.token
    with (
        openai.AzureOpenAI(azure_endpoint=url, api_key=key, api_version="v1") as azure,
        openai.OpenAI(base_url=f"{url}/openai/v1", api_key=key) as newer,
        groq.Groq(base_url=url, api_key=key) as fast,
        openrouter.OpenRouter(server_url=f"{url}/api/v1", api_key=key) as router,
    ):
        for ask in (azure.chat.completions.create, newer.chat.completions.create):
            assert _chat_text(ask(**asked), stream) == ANSWER
        assert _chat_text(fast.chat.completions.create(**asked), stream) == ANSWER
        assert _chat_text(router.chat.send(**asked), stream) == ANSWER
        for client in (azure, newer):
            result = client.responses.create(model="back-gemini", input="Hello")
            assert result.output_text == ANSWER


def _chat_text(told: Any, stream: bool) -> str:
    if not stream:
        return str(told.choices[0].message.content)
    return "".join(each.choices[0].delta.content or "" for each in told if each.choices)


def test_a_deployment_in_a_path_is_the_model_of_a_body_without_one(place: Place) -> None:
    body = {"messages": [{"role": "user", "content": "Hello"}]}
    path = "/openai/deployments/back-gemini/chat/completions?api-version=v1"
    status, _, data = place.post(path, body)
    assert (status, json.loads(data)["choices"][0]["message"]["content"]) == (200, ANSWER)


# -- what a router chose --------------------------------------------------------------------------

ROUTER = "bedrock:arn:aws:bedrock:us-east-1:123456789012:prompt-router/abc"
CHOSEN = "us.anthropic.claude-sonnet-4-6"
ROUTED: Any = {
    "output": {"message": {"role": "assistant", "content": [{"text": "Hi"}]}},
    "stopReason": "end_turn",
    "usage": {"inputTokens": 1_000_000, "outputTokens": 0, "totalTokens": 1_000_000},
    "metrics": {"latencyMs": 1},
    "trace": {
        "promptRouter": {"invokedModelId": f"arn:aws:bedrock:us-east-1::inference-profile/{CHOSEN}"}
    },
}


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/model/{}/converse"])
@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_of_a_prompt_router_costs_what_the_model_it_chose_does(
    place: Place, path: str, stream: bool
) -> None:
    place.upstream.answers = [_routed(stream)]
    body: Any = {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}]}
    if "{}" in path:
        body = {"messages": [_said("Hello")]}
        path = path.format(quote(ROUTER, safe="")) + "-stream" * stream
    else:
        body |= {"model": ROUTER, "stream": stream}
    status, headers, data = place.post(path, body)
    assert status == 200, data
    usual = bundled().cost(f"bedrock:{CHOSEN}", input_tokens=1_000_000, output_tokens=0)
    assert place.cost(headers) == usual.total


def _routed(stream: bool) -> Exchange:
    if not stream:
        return Exchange("routed", "bedrock", "", body=json.dumps(ROUTED).encode())
    response = il.dialect("bedrock").read_response(ROUTED)
    writer = il.dialect("bedrock").stream_writer()
    frames = [frame for event in il.unfold(response) for frame in writer.feed(event)]
    return Exchange("routed", "bedrock", "", frames=(*frames, *writer.close()))


# -- Cohere v1 ------------------------------------------------------------------------------------

V1_TOOLS: Any = [
    {
        "name": "get_weather",
        "description": "Tells the weather.",
        "parameter_definitions": {"city": {"type": "str", "required": True}},
    }
]
V1_HISTORY: Any = [{"role": "USER", "message": "Hi"}, {"role": "CHATBOT", "message": "Hello"}]


@pytest.fixture
def v1(place: Place) -> Iterator[cohere.Client]:
    with cohere.Client(api_key=place.token, base_url=place.url) as client:
        yield client


@pytest.mark.parametrize("back", ["anthropic", "openai-responses", "cohere"])
def test_older_clients_of_cohere_get_answers_of_v1(v1: cohere.Client, back: str) -> None:
    asked: Any = {"model": f"back-{back}", "message": "Hello", "chat_history": V1_HISTORY}
    result = v1.chat(**asked)
    events = list(v1.chat_stream(**asked))
    assert (result.text, result.finish_reason) == (ANSWER, "COMPLETE")
    assert result.meta is not None
    assert result.meta.tokens is not None
    assert result.meta.tokens.input_tokens == 21
    assert "".join(each.text for each in events if each.event_type == "text-generation") == ANSWER
    last: Any = events[-1]
    assert (last.event_type, last.response.text) == ("stream-end", ANSWER)


@pytest.mark.parametrize("stream", [False, True])
def test_older_clients_of_cohere_run_tools(place: Place, v1: cohere.Client, stream: bool) -> None:
    asked: Any = {"model": "back-openai-chat", "message": "What weather?", "tools": V1_TOOLS}
    calls = _v1_answer(v1, stream, asked).tool_calls
    assert [call.parameters for call in calls] == [{"city": city} for city in CITIES]
    results = [{"call": call, "outputs": [{"sky": "clear"}]} for call in calls]
    result = _v1_answer(v1, stream, {**asked, "tool_results": results})
    assert "clear" in result.text
    assert place.upstream.asked[-1].messages[-1].role is il.Role.TOOL


@pytest.mark.parametrize("back", ["anthropic", "gemini", "openai-responses", "ollama"])
@pytest.mark.parametrize("stream", [False, True])
def test_older_clients_of_cohere_send_back_the_history_of_an_answer(
    v1: cohere.Client, back: str, stream: bool
) -> None:
    """Or none of it; models that sign their calls get them signed."""
    asked: Any = {"model": f"back-{back}", "message": "What weather?", "tools": V1_TOOLS}
    first = _v1_answer(v1, stream, asked)
    assert [turn.role for turn in first.chat_history] == ["USER", "CHATBOT"]
    results = [{"call": call, "outputs": [{"sky": "clear"}]} for call in first.tool_calls]
    alone = _v1_answer(v1, stream, {**asked, "tool_results": results})
    more = {**asked, "message": "", "chat_history": first.chat_history, "tool_results": results}
    result = _v1_answer(v1, stream, more)
    assert "clear" in alone.text
    assert "clear" in result.text
    roles = ["USER", "CHATBOT", "TOOL", "CHATBOT"]
    assert [turn.role for turn in result.chat_history] == roles
    assert result.chat_history[-1].message == result.text


def _v1_answer(client: cohere.Client, stream: bool, asked: Any) -> Any:
    if not stream:
        return client.chat(**asked)
    last: Any = list(client.chat_stream(**asked))[-1]
    return last.response


def test_a_request_of_v1_goes_home_as_it_is(place: Place, v1: cohere.Client) -> None:
    answer = {"text": "Hi", "generation_id": "g", "finish_reason": "COMPLETE", "meta": {}}
    made = Exchange("v1", "cohere", "", body=json.dumps(answer).encode())
    place.upstream.answers = [made]
    asked: Any = {"message": "Hello", "chat_history": V1_HISTORY, "preamble": "Be brief."}
    body = {"model": "back-cohere", **asked, "stream": False}
    status, _, reply = place.post("/v1/chat", body)
    assert (status, json.loads(reply)) == (200, answer)
    received = place.upstream.received[0]
    assert received.path == "/v1/chat"
    assert json.loads(received.body) == {**body, "model": "command-a-plus-05-2026"}


V1_ANSWER: Any = {
    "response_id": "r",
    "text": "Hi you",
    "generation_id": "g",
    "chat_history": [
        {"role": "USER", "message": "Hello"},
        {"role": "CHATBOT", "message": "Hi you"},
    ],
    "finish_reason": "COMPLETE",
    "citations": [{"start": 0, "end": 2, "text": "Hi", "document_ids": ["doc_0"]}],
    "documents": [{"id": "doc_0", "title": "T", "url": "https://example.com/a"}],
    "meta": {"tokens": {"input_tokens": 5, "output_tokens": 2}},
}
V1_STREAM: Any = [
    {"event_type": "stream-start", "generation_id": "g"},
    {"event_type": "search-results", "documents": V1_ANSWER["documents"], "search_results": []},
    {"event_type": "text-generation", "text": "Hi "},
    {"event_type": "text-generation", "text": "you"},
    {"event_type": "citation-generation", "citations": V1_ANSWER["citations"]},
    {"event_type": "stream-end", "finish_reason": "COMPLETE", "response": V1_ANSWER},
]


def test_a_stream_of_v1_comes_home_as_it_is(place: Place) -> None:
    *lines, last = V1_STREAM
    wires = [*[{**line, "is_finished": False} for line in lines], {**last, "is_finished": True}]
    data = b"".join([json.dumps(wire).encode() + b"\n" for wire in wires])
    place.upstream.answers = [Exchange("v1", "cohere", "", body=data)]
    body = {"model": "back-cohere", "message": "Hello", "stream": True}
    status, headers, reply = place.post("/v1/chat", body)
    assert (status, headers["content-type"]) == (200, "application/stream+json")
    assert [json.loads(line) for line in reply.splitlines()] == wires
    assert json.loads(place.upstream.received[0].body)["message"] == "Hello"
    assert headers["x-interlingua-losses"] == "0"


@pytest.mark.parametrize("stream", [False, True])
def test_thinking_that_v1_cannot_show_is_a_loss(place: Place, stream: bool) -> None:
    body = {"model": "back-anthropic", "message": "Please think.", "stream": stream}
    status, headers, reply = place.post("/v1/chat", body)
    assert status == 200
    assert THOUGHT.encode() not in reply
    assert place.losses(headers)


def test_a_stream_of_v1_that_fails_says_so(place: Place) -> None:
    place.upstream.stage(faults.error_event(3))
    body = {"model": "back-openai-chat", "message": "Hello", "stream": True}
    _, headers, reply = place.post("/v1/chat", body)
    assert headers["content-type"] == "application/stream+json"
    last = json.loads(reply.splitlines()[-1])
    assert (last["event_type"], last["finish_reason"], last["is_finished"]) == (
        "stream-end",
        "ERROR",
        True,
    )


def test_base64_is_what_a_chunk_holds(place: Place) -> None:
    status, headers, reply = place.post(
        "/model/back-gemini/invoke-with-response-stream", {**CLAUDE, "anthropic_version": VERSION}
    )
    assert (status, headers["content-type"]) == (200, "application/vnd.amazon.eventstream")
    assert base64.b64encode(b'{"type":"message_stop"}') in reply


# -- the end of a gateway -------------------------------------------------------------------------


class Cycle:
    """One request as the server has it."""

    def __init__(self, path: str, is_started: bool) -> None:
        self.scope = {"path": path, "method": "POST"}
        self.response_started = is_started
        self.chunked_encoding = True
        self.disconnected = False
        self.sent: list[Any] = []

    async def send(self, message: Any) -> None:
        self.sent.append(message)


@pytest.mark.parametrize(
    "path", ["/model/m/converse-stream", "/model/m/invoke-with-response-stream"]
)
def test_a_stream_that_is_cut_ends_with_an_exception(path: str) -> None:
    cycle = Cycle(path, is_started=True)
    asyncio.run(last_words(cycle))
    (frame,) = il.aws.Decoder().feed(cycle.sent[0]["body"])
    assert str(frame.event).endswith("Exception")
    assert "shutting down" in frame.data


def test_a_stream_of_v1_that_is_cut_ends_with_a_line() -> None:
    cycle = Cycle("/v1/chat", is_started=True)
    asyncio.run(last_words(cycle))
    last = json.loads(cycle.sent[0]["body"].splitlines()[-1])
    assert (last["event_type"], last["finish_reason"]) == ("stream-end", "ERROR")


def test_a_request_that_waits_is_reported_in_amazons_format() -> None:
    cycle = Cycle("/model/m/invoke", is_started=False)
    asyncio.run(last_words(cycle))
    assert dict(cycle.sent[0]["headers"])[b"x-amzn-errortype"] == b"ServiceUnavailableException"
    assert json.loads(cycle.sent[1]["body"])["message"]


# -- names ----------------------------------------------------------------------------------------

NAMES = {
    "anthropic.claude-sonnet-4-5-20250929-v1:0": "bedrock",
    "us.anthropic.claude-sonnet-4-5-20250929-v1:0": "bedrock",
    "arn:aws:bedrock:us-east-1:1:application-inference-profile/abc": "bedrock",
    "amazon.nova-lite-v1:0": "bedrock",
    "openai:gpt-5-mini": "openai",
}


@pytest.mark.parametrize("name", NAMES)
def test_names_of_bedrock_are_its_own(place: Place, name: str) -> None:
    client = place.aws()
    client.converse(modelId=name, messages=[_said("Hello")])
    expected = "/model/" if NAMES[name] == "bedrock" else "/v1/"
    assert place.upstream.received[0].path.startswith(expected)


def test_a_name_means_the_model_of_its_host(place: Place) -> None:
    """The same name at two fronts of one dialect."""
    status, _, _ = place.post("/v1/messages", {"model": "claude-sonnet-4-6", **CLAUDE})
    assert status == 200
    path = "/v1/projects/p/locations/l/publishers/anthropic/models/claude-sonnet-4-6:rawPredict"
    status, headers, reply = place.post(path, CLAUDE)
    assert "vertex" in (headers["x-interlingua-model"] or "") + reply.decode()
