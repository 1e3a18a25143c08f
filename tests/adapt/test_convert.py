"""The one-call path: read, retell, write; what is lost is told, and may be forbidden."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

import interlingua as il

CHAT = {
    "model": "gpt-5",
    "seed": 7,
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What is the weather?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "Cold."},
    ],
    "tools": [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}],
}


@pytest.mark.requirement("S002-1")
def test_a_request_crosses_with_all_that_can_be_said() -> None:
    result = il.convert(CHAT, source="openai-chat", target="anthropic")
    assert result.model == "gpt-5"
    assert [turn["role"] for turn in result.wire["messages"]] == ["user", "assistant", "user"]
    assert result.wire["messages"][1]["content"][0]["name"] == "look"
    assert result.wire["messages"][2]["content"][0]["tool_use_id"] == "c1"
    lost = [loss.path for loss in result.report.entries]
    assert lost == ["$.model", "$.options.seed", "$.options.max_output_tokens"]


@pytest.mark.parametrize("target", il.dialects())
@pytest.mark.requirement("S002-5")
def test_every_dialect_can_be_reached_from_every_other_without_knowing_it(target: str) -> None:
    first = il.convert(CHAT, source="openai-chat", target=target, model="m")
    for other in il.dialects():
        second = il.convert(first.wire, source=target, target=other, model="m")
        reader = il.dialect(other)
        request = reader.read_request(second.wire, second.model)
        text = " ".join(message.text for message in request.messages)
        assert "What is the weather?" in text
        names = [call.name for message in request.messages for call in message.tool_calls]
        assert names == ["look"]


def test_bytes_text_and_parsed_json_are_the_same_input() -> None:
    data = il.convert(CHAT, "openai-chat", "openai-chat").json()
    for value in (data, data.decode(), CHAT):
        assert il.convert(value, "openai-chat", "gemini", model="gemini-2.5-flash").wire == (
            il.convert(CHAT, "openai-chat", "gemini", model="gemini-2.5-flash").wire
        )


def test_losses_can_be_forbidden() -> None:
    result = il.convert(CHAT, source="openai-chat", target="anthropic")
    with pytest.raises(il.LossError, match="seed") as caught:
        result.report.require_lossless()
    assert caught.value.path == "$.seed"
    il.convert(
        CHAT, source="openai-chat", target="gemini", model="gemini-2.5-flash"
    ).report.require_lossless()


@pytest.mark.requirement("S002-29")
def test_a_critical_block_fails_the_request_instead_of_going_missing() -> None:
    image = il.AudioBlock(il.Source("base64", "UklGRg=="), "audio/wav")
    heard = il.Message.user([il.TextBlock("Listen."), image])
    assert len(il.plan([heard], "anthropic").losses) == 1
    for critical in (True, (1,)):
        marked = heard.replace(metadata=il.MessageMetadata(critical=critical))
        with pytest.raises(il.LossError, match="audio dropped"):
            il.plan([marked], "anthropic")
    harmless = heard.replace(metadata=il.MessageMetadata(critical=(0,)))
    assert len(il.plan([harmless], "anthropic").losses) == 1


def test_a_plan_tells_what_a_swap_would_drop_without_doing_it() -> None:
    message = il.Message.assistant(
        [il.ThinkingBlock("Hm.", "c2ln"), il.TextBlock("Yes.")],
        il.MessageMetadata(protocol="anthropic"),
    )
    history = [il.Message.user("Well?"), message, il.Message.user("Sure?")]
    before = [each.digest() for each in history]
    assert il.plan(history, "anthropic").losses == []
    (loss,) = il.plan(history, "openai-responses").losses
    assert (loss.kind, loss.block_type, loss.path) == (
        "dropped",
        "thinking",
        "$.messages[1].content[0]",
    )
    assert [each.digest() for each in history] == before


@pytest.mark.requirement("S002-8", "S002-75")
def test_what_only_one_provider_knows_goes_home_and_is_a_loss_elsewhere() -> None:
    wire: Any = {**CHAT, "prediction": {"k": 1}, "a_new_field": {"x": 1}}
    home = il.convert(wire, "openai-chat", "openai-chat")
    assert home.wire == wire
    assert home.report.entries == []
    abroad = il.convert(wire, "openai-chat", "gemini", model="gemini-2.5-flash")
    assert {loss.path for loss in abroad.report.entries} == {
        "$.raw.openai-chat.prediction",
        "$.raw.openai-chat.a_new_field",
    }
    assert [loss.path for loss in abroad.report.notes] == ["$.raw.openai-chat.prediction"]


@pytest.mark.requirement("S001-18")
def test_signed_thinking_stays_in_history_untouched() -> None:
    turn = {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
            {"type": "thinking", "thinking": "", "signature": "c2lnMg"},
            {"type": "redacted_thinking", "data": "eHg="},
            {"type": "text", "text": "Yes."},
        ],
    }
    wire = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "a"}, turn]}
    request = il.dialect("anthropic").read_request(wire)
    stored = il.loads(il.dumps(request), il.Request)
    assert il.dialect("anthropic").write_request(stored).wire == wire
    assert il.convert(wire, "anthropic", "bedrock").report.entries == []


def test_an_answer_crosses_with_its_usage_and_its_ending() -> None:
    answer = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [{"type": "text", "text": "Hi"}],
        "stop_reason": "max_tokens",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 3},
    }
    chat = il.convert(answer, "anthropic", "openai-chat", kind="response").wire
    assert chat["choices"][0]["finish_reason"] == "length"
    assert chat["usage"]["prompt_tokens"] == 15
    assert chat["usage"]["prompt_tokens_details"] == {"cached_tokens": 5}
    assert chat["usage"]["total_tokens"] == 18


@pytest.mark.parametrize("data", [b"{", "[1", b"\xff", {"messages": 3}, {"messages": [{}]}, "12"])
def test_what_cannot_be_read_is_an_error_with_a_path(data: Any) -> None:
    with pytest.raises(il.ReadError) as caught:
        il.convert(data, "openai-chat", "anthropic")
    assert caught.value.path.startswith("$")


def test_a_number_that_json_cannot_hold_is_refused_before_it_changes() -> None:
    with pytest.raises(il.ReadError, match="nan"):
        il.convert({**CHAT, "temperature": float("nan")}, "openai-chat", "anthropic")


def test_an_unknown_dialect_is_named_with_those_there_are() -> None:
    with pytest.raises(il.DetectError, match="anthropic"):
        il.convert(CHAT, "nonsense", "anthropic")


def test_a_block_that_stands_in_two_places_is_told_of_at_both() -> None:
    sound = il.AudioBlock(il.Source("base64", "UklGRg=="), "audio/wav")
    heard = il.Message.user([sound, il.TextBlock("and"), sound])
    assert [loss.path for loss in il.plan([heard, heard], "anthropic")] == [
        "$.messages[0].content[0]",
        "$.messages[0].content[2]",
        "$.messages[1].content[0]",
        "$.messages[1].content[2]",
    ]


def chat(*messages: Any) -> Any:
    return {"model": "m", "messages": list(messages)}


def calling(arguments: str = "{}", **keys: Any) -> Any:
    function = {"name": "look", "arguments": arguments}
    made = [{"id": "c1", "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": made, **keys}


RESULT = {"role": "tool", "tool_call_id": "c1", "content": "Cold."}


def test_gemini_hears_somebody_before_the_first_call() -> None:
    done = il.convert(chat(calling(), RESULT), "openai-chat", "gemini")
    assert [turn["role"] for turn in done.wire["contents"]] == ["user", "model", "user"]
    assert ("approximated", "$.messages[0]") in [(x.kind, x.path) for x in done.report.entries]


def test_an_answer_that_says_nothing_is_a_placeholder_where_it_would_be_refused() -> None:
    empty = {"role": "assistant", "content": [{"type": "text", "text": ""}]}
    user = {"role": "user", "content": "Well?"}
    for target in ("gemini", "anthropic", "bedrock"):
        done = il.convert(chat(user, empty, user), "openai-chat", target, model="m")
        assert "nothing that can be shown" in done.json().decode()
        assert ("approximated", "$.messages[1].content") in [
            (x.kind, x.path) for x in done.report.entries
        ]


@pytest.mark.parametrize("target", ["anthropic", "bedrock"])
def test_blanks_are_a_placeholder_where_they_would_be_refused(target: str) -> None:
    done = il.convert(chat({"role": "user", "content": " \n"}), "openai-chat", target, model="m")
    (turn,) = done.wire["messages"]
    assert turn["content"][0]["text"].strip()
    assert [loss.path for loss in done.report.entries if "content" in loss.path] == [
        "$.messages[0].content"
    ]


@pytest.mark.parametrize("target", ["anthropic", "bedrock", "gemini", "ollama"])
def test_a_call_whose_arguments_are_no_json_says_something_else(target: str) -> None:
    user = {"role": "user", "content": "Well?"}
    for arguments, severity in (("just words", "error"), ('{"n": 1', "warning")):
        wire = chat(user, calling(arguments), RESULT)
        done = il.convert(wire, "openai-chat", target, model="m")
        (loss,) = [each for each in done.report.entries if each.path.endswith(".raw_arguments")]
        assert loss.severity == severity


@pytest.mark.parametrize(
    ("dialect", "model"),
    [
        ("anthropic", "anthropic:claude-sonnet-4-6"),
        ("gemini", "gemini:gemini-2.5-flash"),
        ("openai-responses", "openai:gpt-5"),
        ("openai-chat", "mistral:mistral-medium-3-5"),
        ("openai-chat", "nobody:gpt-5"),
        ("bedrock", "bedrock:us.amazon.nova-2-lite-v1:0"),
    ],
)
@pytest.mark.parametrize("source", ["ollama", "canonical"])
def test_a_model_may_be_named_with_its_provider(source: str, dialect: str, model: str) -> None:
    wire = {"model": "m", "messages": [{"role": "user", "content": "Hello"}], "stream": False}
    value = il.dumps(il.dialect("ollama").read_request(wire)) if source == "canonical" else wire
    written = il.convert(value, source, dialect, model=model)
    assert written.model == model.removeprefix(f"{model.partition(':')[0]}:") or "nobody" in model


@pytest.mark.parametrize("source", ["openai-chat", "flat", "canonical"])
def test_an_unknown_kind_is_an_error_and_not_a_response(source: str) -> None:
    with pytest.raises(il.DetectError, match="unknown kind 'foo'; choose one of request, resp"):
        il.convert({}, source, "anthropic", kind="foo")  # type: ignore[arg-type]
    with pytest.raises(il.DetectError, match=r"il\.stream_convert"):
        il.convert(b"", source, "anthropic", kind="stream")  # type: ignore[arg-type]


@pytest.mark.parametrize("target", ["openai-chat", "gemini", "flat"])
def test_a_place_for_instructions_that_does_not_exist_is_refused(target: str) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    word: Any = "nonsense"
    with pytest.raises(ValueError, match="nonsense"):
        il.convert(body, "openai-chat", target, instructions=word)


# -- what is detected, and what is taken ----------------------------------------------------------

ASKED = {"model": "gpt-5", "seed": 7, "messages": [{"role": "user", "content": "Hello."}]}
ANSWERED = {
    "id": "x",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-5",
    "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hey."}}
    ],
}


def test_source_and_kind_are_detected() -> None:
    whole = il.convert(ASKED, "openai-chat", "anthropic", "request")
    assert il.convert(ASKED, to="anthropic").wire == whole.wire
    answer = il.convert(ANSWERED, "openai-chat", "anthropic", "response").wire
    for data in (ANSWERED, msgspec.json.encode(ANSWERED)):
        assert il.convert(data, to="anthropic").wire == answer
        assert il.convert(data, "openai-chat", to="anthropic").wire == answer
        assert il.convert(data, "openai", "claude").wire == answer
    assert il.convert(ASKED, source="auto", target="anthropic").wire == whole.wire


def test_an_alias_names_the_model() -> None:
    assert il.convert(ASKED, to="claude", model="sonnet").wire["model"].startswith("claude-sonnet")


def test_objects_of_an_sdk_are_taken() -> None:
    from openai.types.chat import ChatCompletion

    answer = ChatCompletion.model_validate(ANSWERED)
    assert il.convert(answer, to="gemini").wire == il.convert(ANSWERED, to="gemini").wire
    history = [*ASKED["messages"], answer.choices[0].message]  # type: ignore[misc]
    wire = il.convert({"model": "gpt-5", "messages": history}, to="anthropic").wire
    assert wire["messages"][1]["content"] == [{"type": "text", "text": "Hey."}]


def test_canonical_values_are_taken() -> None:
    request = il.dialect("openai").read_request(ASKED)
    wire = il.convert(ASKED, to="gemini").wire
    assert il.convert(request, to="gemini").wire == wire
    assert il.convert(request.messages, to="gemini").wire["contents"] == wire["contents"]
    assert il.convert(request.messages[0], to="gemini").wire["contents"] == wire["contents"]
    response = il.dialect("openai").read_response(ANSWERED)
    assert il.convert(response, to="anthropic").wire == il.convert(ANSWERED, to="anthropic").wire


@pytest.mark.parametrize("data", [42, None, object()])
def test_another_type_is_an_error_that_says_what_is_taken(data: object) -> None:
    with pytest.raises(TypeError, match=r"il\.convert takes parsed JSON, bytes, text"):
        il.convert(data, to="anthropic")


def test_a_target_is_needed_and_only_one() -> None:
    with pytest.raises(TypeError, match="needs a target: to='anthropic'"):
        il.convert(ASKED)
    with pytest.raises(TypeError, match="mean the same"):
        il.convert(ASKED, target="gemini", to="anthropic")


def test_dicts_are_taken_where_messages_are() -> None:
    from openai.types.chat import ChatCompletion

    answer = ChatCompletion.model_validate(ANSWERED)
    messages = ASKED["messages"]
    assert il.validate(ASKED) == il.validate(messages) == il.validate([*messages, answer]) == []  # type: ignore[arg-type, misc]
    assert [v.path for v in il.validate([{"role": "user", "content": ""}])]
    tokens = il.estimate_input_tokens([il.Message.user("Hello.")])
    assert il.estimate_input_tokens("Hello.") == il.estimate_input_tokens(messages) == tokens  # type: ignore[arg-type]
    assert il.estimate_input_tokens(ASKED) >= tokens
    assert il.plan("Hello.", "claude-sonnet-4-6").target == "anthropic"
    assert il.plan(ASKED, "sonnet").target == "anthropic"
    assert il.plan(ASKED, "mistral").target == "openai-chat"
    with pytest.raises(il.DetectError, match="unknown format 'antropic'"):
        il.plan(ASKED, "antropic")
    for call in (il.validate, il.estimate_input_tokens):
        with pytest.raises(TypeError, match=r"messages are text, il\.Message, a dict"):
            call(4)  # type: ignore[operator]


LONG = [il.Message.system("Be careful. " * 2000), il.Message.user("Hello.")]


@pytest.mark.parametrize(
    ("target", "model"),
    [
        *[("sonnet", None), ("anthropic", "anthropic:claude-sonnet-4-6")],
        *[("openai-chat", "gpt-5"), ("openai-responses", "gpt-5")],
    ],
)
def test_a_plan_for_a_model_says_what_its_prompt_will_cost(target: str, model: str | None) -> None:
    plan = il.plan(LONG, target, model)
    assert plan.ahead is not None
    assert plan.ahead.cost_usd
    assert plan.model is not None
    assert f"the prompt for {plan.model}: $" in str(plan)


def test_a_plan_knows_what_the_model_has_read_before() -> None:
    model = "anthropic:claude-sonnet-4-6"
    usage = il.Usage(10, 5, 0, 4000)
    metadata = il.MessageMetadata(model=model, usage=usage)
    answer = il.Message.assistant("Hi!").replace(metadata=metadata, created_at=datetime.now(UTC))
    plan = il.plan([*LONG, answer, il.Message.user("More.")], "anthropic", model)
    assert plan.ahead is not None
    assert plan.ahead.cached > 3000
    assert "from the cache" in str(plan)


@pytest.mark.parametrize(("target", "model"), [("anthropic", None), ("anthropic", "gpt-5")])
def test_a_plan_without_a_model_of_the_target_predicts_nothing(
    target: str, model: str | None
) -> None:
    plan = il.plan(LONG, target, model)
    assert plan.ahead is None
    assert "the prompt" not in str(plan)
