"""Canonical types inside pydantic models and FastAPI apps, and their JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any

import jsonschema_rs
import pytest
from fastapi import Body, FastAPI
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from pydantic import BaseModel, TypeAdapter, ValidationError

from interlingua.model import interop
from interlingua.model.blocks import Block, TextBlock, ToolUseBlock
from interlingua.model.codec import dumps
from interlingua.model.exchange import Request, Response
from interlingua.model.message import Message
from interlingua.model.metadata import Usage
from tests.effort import examples
from tests.laws import strategies as il

requirement = pytest.mark.requirement
some = settings(max_examples=examples(30), suppress_health_check=[HealthCheck.too_slow])


class Chat(BaseModel):
    title: str
    first: Message
    rest: list[Message] = []
    last: Message | None = None
    usage: Usage | None = None


HI = Message.user("hi")
PLAIN = json.loads(dumps(HI))
BAD = [
    pytest.param({"role": "robot"}, "$.role", id="role"),
    pytest.param({"role": "user", "content": "hi"}, "$.content", id="content"),
    pytest.param({"role": "user", "content": [{"type": "hologram"}]}, "$.content[0]", id="block"),
    pytest.param({"role": "user", "content": [{"type": "text"}]}, "$.content[0]", id="missing"),
    pytest.param({"role": "user", "x_new": 1}, "$", id="field"),
    pytest.param({}, "$", id="empty"),
    pytest.param(12, "$", id="number"),
    pytest.param("hi", "$", id="text"),
]


# pydantic


@requirement("S002-4")
def test_a_message_is_a_field_of_a_pydantic_model() -> None:
    chat = Chat(title="t", first=PLAIN, rest=[HI, PLAIN], usage={"input_tokens": 1})  # type: ignore[arg-type]
    assert chat.first == HI
    assert chat.rest == [HI, HI]
    assert chat.last is None
    assert chat.usage == Usage(1)
    assert Chat(title="t", first=HI).first is HI


def test_a_model_is_dumped_as_canonical_json() -> None:
    chat = Chat(title="t", first=HI, last=HI)
    assert chat.model_dump()["first"] == PLAIN
    assert json.loads(chat.model_dump_json())["last"] == PLAIN
    assert Chat.model_validate_json(chat.model_dump_json()) == chat
    assert Chat.model_validate(chat.model_dump()) == chat


@given(il.conversations(with_raw=True))
@some
@requirement("S002-4")
def test_conversations_pass_through_pydantic_unchanged(messages: tuple[Message, ...]) -> None:
    adapter = TypeAdapter(list[Message])
    again = adapter.validate_json(dumps(messages))
    assert dumps(again) == dumps(messages)
    assert dumps(adapter.validate_json(adapter.dump_json(again))) == dumps(messages)
    assert dumps(adapter.validate_python(adapter.dump_python(again))) == dumps(messages)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Request, Request((HI,), "m")),
        (Response, Response(Message.assistant("hi"))),
        (TextBlock, TextBlock("x")),
        (Usage, Usage(1, 2)),
    ],
)
def test_other_canonical_types_are_fields_too(kind: Any, value: Any) -> None:
    assert TypeAdapter(kind).validate_json(dumps(value)) == value


def test_blocks_are_distinguished_in_a_union() -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(list[Block])
    blocks = [TextBlock("x"), ToolUseBlock("a", "b", {"c": 1})]
    assert adapter.validate_json(dumps(blocks)) == blocks


@pytest.mark.parametrize(("value", "path"), BAD)
def test_a_bad_message_is_a_validation_error_with_its_place(value: Any, path: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Chat(title="t", first=value)
    (error,) = caught.value.errors()
    assert error["loc"] == ("first",)
    assert error["ctx"]["path"].startswith(path)
    path = error["ctx"]["path"]
    assert path == "$" or path in error["msg"]


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        ("\ud800", "lone surrogate"),
        (10**5000, "4300 digits"),
        (b"bytes", "JSON cannot represent"),
        ({1: 2}, "key"),
    ],
    ids=["nan", "infinity", "surrogate", "digits", "bytes", "key"],
)
def test_what_json_cannot_hold_is_refused_by_its_place(odd: Any, words: str) -> None:
    value = {"role": "user", "metadata": {"provider_raw": {"gemini": {"x": odd}}}}
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(Message).validate_python(value)
    (error,) = caught.value.errors()
    assert error["ctx"]["path"].startswith("$.metadata.provider_raw.gemini.x")
    assert words in error["msg"]


def test_deep_nesting_is_refused() -> None:
    deep: Any = []
    for _ in range(10_000):
        deep = [deep]
    with pytest.raises(ValidationError, match="128 levels"):
        TypeAdapter(Message).validate_python({"role": "user", "metadata": {"extra": {"x": deep}}})


# JSON Schema


@pytest.mark.parametrize("mode", ["validation", "serialization"])
def test_a_model_with_messages_has_a_json_schema(mode: Any) -> None:
    schema = Chat.model_json_schema(mode=mode)
    check = jsonschema_rs.validator_for(schema)
    assert check.is_valid({"title": "t", "first": PLAIN, "rest": [PLAIN]})
    for bad in BAD:
        assert not check.is_valid({"title": "t", "first": bad.values[0]}), bad.id
    assert "$ref" not in json.dumps(schema)


@pytest.mark.parametrize("kind", [Message, Request, Response])
def test_the_schema_stands_on_its_own(kind: Any) -> None:
    schema = interop.json_schema(kind)
    jsonschema_rs.validator_for(schema)
    assert schema["$ref"].removeprefix("#/$defs/") in schema["$defs"]


MESSAGE_SCHEMAS = [interop.json_schema(Message), TypeAdapter(Message).json_schema()]


@given(il.messages(stored=True, with_raw=True))
@some
def test_every_message_fits_the_schema(message: Message) -> None:
    for schema in MESSAGE_SCHEMAS:
        jsonschema_rs.validator_for(schema).validate(json.loads(dumps(message)))


# FastAPI


def make_app() -> FastAPI:
    app = FastAPI()

    @app.post("/one")
    def one(message: Annotated[Message, Body()]) -> Message:
        return message.replace(name="seen")

    @app.post("/many")
    def many(messages: list[Message]) -> list[Message]:
        return messages[::-1]

    @app.post("/chat")
    def chat(chat: Chat) -> Chat:
        return chat

    return app


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with TestClient(make_app(), headers={"content-type": "application/json"}) as client:
        yield client


def test_a_message_is_a_body(client: TestClient) -> None:
    answer = client.post("/one", content=dumps(HI))
    assert answer.status_code == 200
    assert answer.content == dumps(HI.replace(name="seen"))


def test_a_list_of_messages_is_a_body(client: TestClient) -> None:
    messages = [Message.system("s"), HI, Message.tool_result("a", "\u4e16\u754c")]
    answer = client.post("/many", content=dumps(messages))
    assert answer.status_code == 200
    assert answer.content == dumps(messages[::-1])


def test_a_model_with_messages_is_a_body(client: TestClient) -> None:
    answer = client.post("/chat", content=Chat(title="t", first=HI).model_dump_json())
    assert answer.status_code == 200
    assert answer.json()["first"] == PLAIN


@pytest.mark.parametrize(("value", "path"), BAD)
def test_a_bad_body_is_answered_with_422_and_the_place(
    client: TestClient, value: Any, path: str
) -> None:
    for url, body, place in [
        ("/one", value, ["body"]),
        ("/many", [PLAIN, value], ["body", 1]),
        ("/chat", {"title": "t", "first": value}, ["body", "first"]),
    ]:
        answer = client.post(url, json=body)
        assert answer.status_code == 422
        (error,) = answer.json()["detail"]
        assert error["loc"] == place
        assert error["ctx"]["path"].startswith(path)


@pytest.mark.parametrize("body", [b"", b"{", b"null", b"[]", b"[" * 10_000, b"\xff"])
def test_a_body_that_is_no_message_is_the_callers_fault(client: TestClient, body: bytes) -> None:
    assert 400 <= client.post("/one", content=body).status_code < 500


def test_a_body_nested_too_deep_is_refused(client: TestClient) -> None:
    deep = b"[" * 150 + b"]" * 150
    body = b'{"role":"user","metadata":{"extra":{"x":' + deep + b"}}}"
    answer = client.post("/one", content=body)
    assert answer.status_code == 422
    assert "128 levels" in answer.text


def test_an_app_describes_its_bodies(client: TestClient) -> None:
    answer = client.get("/openapi.json")
    assert answer.status_code == 200
    body = answer.json()["paths"]["/one"]["post"]["requestBody"]["content"]["application/json"]
    assert {"role", "content", "metadata"} <= body["schema"]["properties"].keys()
