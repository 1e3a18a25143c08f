"""Formats by the names that people use for them."""

import pytest

import interlingua as il
from interlingua.adapt.formats import Format, dialect_named, format_named

BODY = {
    "model": "gpt-5",
    "seed": 7,
    "max_completion_tokens": 9,
    "messages": [{"role": "user", "content": "Hello."}],
}


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("anthropic", Format("anthropic")),
        ("claude", Format("anthropic")),
        ("google", Format("gemini")),
        ("openai", Format("openai-chat", "openai")),
        ("responses", Format("openai-responses")),
        ("mistral", Format("openai-chat", "mistral")),
        ("flat", Format("flat")),
        ("nothing", Format("nothing")),
    ],
)
def test_a_name_means_a_format(name: str, meant: Format) -> None:
    assert format_named(name) == meant


OPEN_HOSTS = ("together", "fireworks", "cerebras", "perplexity")


def test_a_host_of_chat_has_its_own_keys() -> None:
    wire = il.convert(BODY, to="mistral").wire
    assert (wire["random_seed"], wire["max_tokens"]) == (7, 9)
    assert il.convert(wire, "mistral", "mistral").wire == wire


@pytest.mark.parametrize(
    "host", ["azure", "groq", "deepseek", "xai", "local", "vertex", *OPEN_HOSTS]
)
def test_every_host_is_a_target(host: str) -> None:
    assert il.convert(BODY, to=host).wire


def test_hosts_of_open_models_have_their_own_rules() -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    body = {**BODY, "logit_bias": {"1": 1}, "presence_penalty": 1, "tools": [tool]}
    cerebras = il.convert(body, to="cerebras", model="gpt-oss-120b")
    assert not {"logit_bias", "presence_penalty"} & cerebras.wire.keys()
    assert cerebras.report.losses
    result = il.convert({**body, "min_tokens": 3}, "cerebras", "cerebras", model="gpt-oss-120b")
    assert result.wire["min_tokens"] == 3
    assert il.convert(body, to="together").wire["max_tokens"] == 9
    assert "tools" not in il.convert(body, to="perplexity", model="sonar").wire
    result = [{"role": "developer", "content": "Be brief."}, *BODY["messages"]]
    wire = il.convert({**BODY, "messages": result}, to="fireworks").wire
    assert wire["messages"][0]["role"] == "system"


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(il.DetectError, match="unknown format 'antropic'; did you mean 'anthropic'"):
        il.convert(BODY, to="antropic")
    with pytest.raises(il.DetectError, match="did you mean 'claude'"):
        il.dialect("clade")
    with pytest.raises(il.DetectError, match="unknown format 'flat'"):
        dialect_named("flat")
    assert il.dialect("claude") is il.dialect("anthropic")


def test_a_format_that_is_no_name_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="a format is a name such as 'anthropic'; found an int"):
        format_named(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("host", ["mistral", "groq", "deepseek", "xai", "cerebras", "openrouter"])
def test_a_tool_for_free_text_is_a_function_where_the_host_has_no_others(host: str) -> None:
    call = {"id": "c", "type": "custom", "custom": {"name": "write", "input": "free"}}
    body = {
        "model": "gpt-5",
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "ok"},
        ],
        "tools": [{"type": "custom", "custom": {"name": "write"}}],
    }
    written = il.convert(body, "openai-chat", host)
    (tool,) = written.wire["tools"]
    assert (tool["type"], tool["function"]["parameters"]["required"]) == ("function", ["input"])
    (made,) = written.wire["messages"][1]["tool_calls"]
    assert made["function"] == {"name": "write", "arguments": '{"input":"free"}'}
    title = {"xai": "xAI", "deepseek": "DeepSeek", "openrouter": "OpenRouter"}
    text = f"{title.get(host, host.title())} has no custom tools"
    reasons = [loss.reason for loss in written.report.losses if "custom" in loss.code]
    assert len(reasons) == 2
    assert all(reason.endswith(text) for reason in reasons)
    assert il.convert(body, "openai-chat", "azure").wire["tools"] == body["tools"]
