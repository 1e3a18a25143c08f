"""Lines that people type at the library without having read about it: each works, or is a
TypeError or ValueError that says what is accepted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import interlingua as il
from interlingua.views.parts import ContentKind, ContentPart

OWN = {"model": "my-model", "messages": [{"role": "user", "content": "hi"}]}
HI = il.Message.user("hi")


class SdkMessage:
    """A stand-in for a message of an SDK: what pydantic's models have."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def model_dump(self, **_: Any) -> dict[str, Any]:
        return self.fields


ANSWER = SdkMessage(
    id="msg_1",
    type="message",
    role="assistant",
    model="claude-sonnet-4-6",
    content=[{"type": "text", "text": "ho"}],
    stop_reason="end_turn",
    usage={"input_tokens": 1, "output_tokens": 1},
)


def test_the_smallest_body_with_a_model_of_ones_own_is_recognised() -> None:
    assert il.detect(OWN).dialect == "openai-chat"
    assert il.convert(OWN, to="anthropic").wire["model"] == "my-model"


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_an_sdk_message_is_validated(role: str) -> None:
    assert il.validate(SdkMessage(role=role, content="hi")) == []  # type: ignore[arg-type]


def test_an_answer_of_an_sdk_is_its_message() -> None:
    for answer in (ANSWER, ANSWER.model_dump(), [HI, ANSWER]):
        report = il.plan(answer, "sonnet")  # type: ignore[arg-type]
        assert report.entries == []


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("claude-sonet-4-6", "near: anthropic:claude-sonnet-4-6"),
        ("openai-caht", "did you mean 'openai-chat'"),
        ("antropic", "did you mean 'anthropic'"),
    ],
)
def test_a_misspelled_target_of_a_plan_suggests_the_nearest(target: str, text: str) -> None:
    with pytest.raises((il.UnknownModelError, il.DetectError), match=text):
        il.plan("hi", target)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: il.Options(temperature="hot"), r"Options\.temperature: expected `float"),  # type: ignore[arg-type]
        (lambda: il.Options(n=True, seed=1.5), r"Options\.n: expected `int"),  # type: ignore[arg-type]
        (lambda: il.Options(temprature=1), "did you mean 'temperature'"),  # type: ignore[call-arg]
        (lambda: il.Options(max_tokens=1, max_output_tokens=2), "is passed twice"),
        (lambda: il.ToolDefinition(7), r"ToolDefinition\.name: expected `str`"),  # type: ignore[arg-type]
        (lambda: il.ToolDefinition("f", shema={}), "has no field 'shema'"),  # type: ignore[call-arg]
        (lambda: il.Request(3), "messages are text"),  # type: ignore[arg-type]
        (lambda: il.Request(OWN), "found a whole request"),
        (lambda: il.ImageBlock("cat.png"), "is il.Source, a URL, or bytes"),
        (lambda: il.ImageBlock(3), "is il.Source, a URL, or bytes"),  # type: ignore[arg-type]
        (lambda: il.ToolResultBlock("id", 3), "content is text, a block or several"),  # type: ignore[arg-type]
        (lambda: il.Chat(3), "il.Chat takes an il.Session, or a model"),  # type: ignore[arg-type]
        (lambda: il.Chat("sonnet", "gpt-5"), "il.Chat takes an il.Session, or a model"),  # type: ignore[arg-type]
        (lambda: il.AsyncChat(3), "il.AsyncChat takes an il.AsyncSession, or a model"),  # type: ignore[arg-type]
    ],
)
def test_what_is_not_taken_says_what_is(make: Callable[[], object], text: str) -> None:
    with pytest.raises(TypeError, match=text):
        make()


def test_items_of_responses_and_answers_are_messages() -> None:
    call = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "a", "output": "x"}
    picture = {"type": "input_image", "image_url": "https://x.org/a.png", "detail": "low"}
    user = {"role": "user", "content": [{"type": "input_text", "text": "hi"}, picture]}
    messages = il.Request([user, call, result]).messages
    assert [each.role.value for each in messages] == ["user", "assistant", "tool"]
    assert messages[0].text == "hi"
    assert il.plan([user], "anthropic").losses[0].at == ("$[0].content[1].detail",)
    answer = il.dialect("anthropic").read_response(ANSWER.fields)
    assert il.Request([HI, answer, HI]).messages[1] == answer.message  # type: ignore[list-item]
    with pytest.raises(TypeError, match="found one with type, content"):
        il.validate([{"type": "human", "content": "hi"}])


def test_options_have_the_words_of_the_client() -> None:
    options = il.Options(max_tokens=3, stop="END", reasoning_effort="high", tool_choice="required")
    assert (options.max_output_tokens, options.stop) == (3, ("END",))
    assert options.reasoning == il.Reasoning("high")
    assert options.tool_choice == il.ToolChoice("any")
    assert options.replace(tool_choice="none").tool_choice == il.ToolChoice("none")
    assert il.Options(reasoning=True).reasoning == il.Reasoning()


def test_a_tool_has_parameters_as_openai_calls_them() -> None:
    schema = {"type": "object"}
    assert il.ToolDefinition("f", parameters=schema) == il.ToolDefinition("f", None, schema)


def test_a_request_takes_what_the_client_takes() -> None:
    def look(word: str) -> str:
        """Looks it up."""
        return word

    request = il.Request([{"role": "user", "content": "hi"}], "m", [look], {"max_tokens": 3})
    assert request.messages == (HI,)
    assert (request.tools[0].name, request.options.max_output_tokens) == ("look", 3)
    assert il.Request("hi").messages == il.Request(HI).messages == il.Request([HI]).messages


def test_blocks_take_urls_bytes_and_text() -> None:
    url = il.ImageBlock("https://example.com/a.png")
    assert url.source == il.Source("url", "https://example.com/a.png")
    inline = il.ImageBlock("data:image/png;base64,AAAA")
    assert (inline.source, inline.media_type) == (il.Source("base64", "AAAA"), "image/png")
    assert il.AudioBlock(b"abc").source == il.Source.from_bytes(b"abc")
    assert il.ToolResultBlock("id", "text").content == (il.TextBlock("text"),)
    assert il.ToolChoice("any", ["f"]).names == ("f",)


def test_a_frame_needs_no_name() -> None:
    assert il.Frame(data="{}") == il.Frame(None, "{}")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (HI, "Message(role=<Role.USER: 'user'>, content=(TextBlock(text='hi'),))"),
        (
            ContentPart(kind=ContentKind.TEXT, text="hi"),
            "ContentPart(kind=<ContentKind.TEXT: 'TEXT'>, text='hi')",
        ),
        (
            il.Loss("dropped", "$.seed", "seed dropped"),
            "Loss(kind='dropped', path='$.seed', reason='seed dropped', severity='warning')",
        ),
    ],
)
def test_a_repr_has_no_defaults(value: object, shown: str) -> None:
    assert repr(value) == shown


def test_no_public_value_shows_its_defaults() -> None:
    values = [getattr(il, name) for name in il.__all__]
    structs = [
        each for each in values if isinstance(each, type) and hasattr(each, "__struct_config__")
    ]
    shown = [each for each in structs if not each.__struct_config__.repr_omit_defaults]
    assert [each for each in shown if each.__repr__ is msgspec.Struct.__repr__] == []


def test_a_chat_starts_with_a_model_in_either_order() -> None:
    with il.Client() as client:
        for chat in (il.Chat("sonnet", client), il.Chat(client, "sonnet")):  # type: ignore[arg-type]
            assert chat.client is client
            assert repr(chat) == f"<Chat of {chat.session!r}>"
        chat = il.Chat("sonnet", client, tools=[len_of], system="Be brief.")
        assert chat.session.tools is not None
        with pytest.raises(TypeError, match="settings are for a new session"):
            il.Chat(chat.session, client, tools=[len_of])


def test_an_async_chat_starts_with_a_model_too() -> None:
    async def main() -> None:
        async with il.AsyncClient() as client:
            for chat in (il.AsyncChat("sonnet", client), il.AsyncChat(client, "sonnet")):  # type: ignore[arg-type]
                assert chat.client is client
            chat = il.AsyncChat("sonnet", client, tools=[len_of], system="Be brief.")
            assert chat.dispatcher is not None
            with pytest.raises(TypeError, match="tools: settings are for a new session"):
                il.AsyncChat(chat.session, client, tools=[len_of])

    asyncio.run(main())


def len_of(text: str) -> int:
    """How long a text is."""
    return len(text)


def test_a_store_in_memory_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with il.open_store(":memory:") as store:
        session = il.Session.create(store, model="sonnet")
        session.append(HI)
        assert len(session.messages()) == 1
    with il.open_store(":memory:") as store:
        assert store.sessions() == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("completion", r"use il\.Client\(\)\.generate"),
        ("OpenAI", r"use il\.Client\(\)"),
        ("HumanMessage", r"use il\.UserMessage"),
        ("translate", r"use il\.convert"),
        ("token_counter", r"use il\.estimate_input_tokens"),
    ],
)
def test_names_of_other_libraries_say_what_there_is(name: str, text: str) -> None:
    with pytest.raises(AttributeError, match=text):
        getattr(il, name)


@pytest.mark.parametrize("name", ["chat", "messages", "responses", "create", "invoke"])
def test_methods_of_other_clients_say_what_there_is(name: str) -> None:
    with il.Client() as client, pytest.raises(AttributeError, match=r"use client\.generate"):
        getattr(client, name)
    assert not hasattr(client, "nothing_of_the_kind")


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ({"stream": True}, r"client\.stream\(model, messages\) streams"),
        ({"system": "Be brief."}, r"il\.Message\.system"),
        ({"response_model": dict}, r"client\.parse\(model, messages, schema\)"),
    ],
)
def test_words_of_other_clients_say_what_there_is(word: dict[str, Any], text: str) -> None:
    with il.Client(environ={}) as client, pytest.raises(TypeError, match=text):
        client.generate("gpt-5", "hi", **word)


@pytest.mark.parametrize("word", ["api_key", "base_url", "model"])
def test_a_client_says_what_it_takes(word: str) -> None:
    with pytest.raises(TypeError, match=f"il.Client has no {word}; "):
        il.Client(**{word: "x"})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="providers are"):
        il.Client("gpt-5")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "dialect"),
    [
        ("Anthropic", "anthropic"),
        ("openai_chat", "openai-chat"),
        ("chat-completions", "openai-chat"),
        ("anthropic-messages", "anthropic"),
    ],
)
def test_a_format_may_be_spelled_otherwise(name: str, dialect: str) -> None:
    assert il.convert(OWN, to=name).wire == il.convert(OWN, to=dialect).wire


def test_a_model_is_a_target_too() -> None:
    written = il.convert(OWN, to="claude-sonnet-4-6")
    assert written.wire == il.convert(OWN, to="anthropic", model="claude-sonnet-4-6").wire
    with pytest.raises(il.UnknownModelError, match="near: anthropic:claude-sonnet-4-6"):
        il.convert(OWN, to="claude-sonet-4-6")


def test_parts_of_providers_are_blocks() -> None:
    part = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    image = il.ImageBlock("https://example.com/a.png")
    assert il.Message("user", ["Look.", part]).content == (il.TextBlock("Look."), image)
    with pytest.raises(il.ReadError, match="Invalid value 'image_ulr'"):
        il.Message("user", [{"type": "image_ulr"}])


def test_a_call_takes_the_text_of_its_arguments() -> None:
    call = il.ToolUseBlock("a", "b", '{"x": 1}')  # type: ignore[arg-type]
    assert (call.input, call.raw_arguments) == ({"x": 1}, None)
    with pytest.raises(TypeError, match="the input of a call is a dict; found an int"):
        il.ToolUseBlock("a", "b", 3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: il.Session("x"), r"with il\.Session\.create"),  # type: ignore[arg-type]
        (lambda: il.Session.create("x.db", model="sonnet"), r"a store, as il\.open_store"),  # type: ignore[arg-type]
        (lambda: il.Agent("sonnet"), r"with il\.Agent\.create"),  # type: ignore[arg-type]
        (lambda: il.fit(OWN, "gpt-5"), r"il\.fit takes il\.Request"),  # type: ignore[arg-type]
        (lambda: il.priced({}, "gpt-5"), r"usage is il\.Usage"),  # type: ignore[arg-type]
        (lambda: il.tool(len), "a tool is a Python function"),
    ],
)
def test_other_values_say_what_they_are_made_of(make: Callable[[], object], text: str) -> None:
    with pytest.raises(TypeError, match=text):
        make()


def test_a_misspelled_role_names_the_roles() -> None:
    with pytest.raises(ValueError, match=r"Message\.role is one of system, developer, user"):
        il.Message("human", "hi")  # type: ignore[arg-type]


def test_a_choice_of_a_tool_is_taken_as_vendors_write_it() -> None:
    choice = {"type": "function", "function": {"name": "look"}}
    assert il.Options(tool_choice=choice).tool_choice == il.ToolChoice("any", ("look",))
    with pytest.raises(TypeError, match=r"tool_choice is il.ToolChoice, 'auto'"):
        il.Options(tool_choice=3)  # type: ignore[arg-type]


def test_a_chat_closes_the_client_that_it_made() -> None:
    with il.Chat("anthropic:claude-sonnet-4-6") as chat:
        assert "claude-sonnet-4-6" in repr(chat)
    with pytest.raises(il.InterlinguaError, match="closed"):
        chat.ask("Hello")
    with il.Client() as client:
        with il.Chat("anthropic:claude-sonnet-4-6", client):
            pass
        assert client.cancel() is False


def test_a_misspelled_alias_has_its_neighbour_for_capabilities_too() -> None:
    with pytest.raises(il.UnknownModelError, match="near: sonnet"):
        il.capabilities("sonet")


def test_an_adapter_takes_what_the_client_takes() -> None:
    adapter = il.Adapter("claude-sonnet-4-6")
    expected = adapter.to_wire([il.Message.user("Hi")], options=il.Options(max_output_tokens=5))
    assert adapter.to_wire("Hi", options={"max_tokens": 5}).wire == expected.wire
    hi = [{"role": "user", "content": "Hi"}]
    assert adapter.to_wire(hi, options={"max_tokens": 5}).wire == expected.wire
    some = (il.Message.user("Hi") for _ in range(1))
    assert adapter.to_wire(some, options={"max_tokens": 5}).wire == expected.wire
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
    assert adapter.to_wire(hi, [tool]).wire["tools"][0]["name"] == "look"


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: il.dialect("anthropic").write_request({}), "takes il.Request; found a dict"),  # type: ignore[arg-type]
        (lambda: il.dialect("anthropic").write_response({}), "takes il.Response; found a dict"),  # type: ignore[arg-type]
        (lambda: il.fold([{"choices": []}]), "takes events; found a dict"),  # type: ignore[list-item]
        (lambda: il.unfold({}), "takes il.Response; found a dict"),  # type: ignore[arg-type]
        (lambda: il.Adapter("sonnet").to_wire(5), "found an int"),  # type: ignore[arg-type]
    ],
)
def test_writers_say_which_values_they_take(make: Callable[[], object], text: str) -> None:
    with pytest.raises(TypeError, match=text):
        make()
