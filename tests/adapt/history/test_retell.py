"""Retelling: what is repaired or left out on the way to another dialect or model, and how it is
reported. The dialects here are made up of traits alone; nothing is written."""

from __future__ import annotations

import logging
from typing import Any

import pytest

import interlingua as il
from interlingua.adapt.history.calls import NO_RESULT
from interlingua.adapt.history.retell import retell
from interlingua.dialects.kernel.words import EARLIER, PLACEHOLDER, SYSTEM_MARK
from interlingua.dialects.record import Dialect, Traits
from interlingua.model.ids import IdGrammar

GRAMMAR = IdGrammar("[a-zA-Z0-9_-]", 1, 64)
TEN_CHARACTERS = IdGrammar("[a-zA-Z0-9]", 10, 10)


def target(name: str = "anthropic", **traits: Any) -> Dialect:
    given = {"family": "anthropic", "ids": GRAMMAR, **traits}
    return Dialect(name, name, Traits(**given), folder="nowhere")  # retelling writes nothing


def call(id: str = "call_1", name: str = "look", **fields: Any) -> il.ToolUseBlock:
    return il.ToolUseBlock(id, name, {}, **fields)


def assistant(*blocks: Any, **metadata: Any) -> il.Message:
    return il.Message.assistant(blocks, il.MessageMetadata(**metadata))


def result(id: str = "call_1", *content: Any) -> il.Message:
    return il.Message.tool_result(id, content or "done")


def told(messages: list[il.Message], to: Dialect, **options: Any) -> Any:
    before = [message.digest() for message in messages]
    told = retell(messages, to, **options)
    assert [message.digest() for message in messages] == before  # history is never touched
    return told


def losses(told: Any) -> list[tuple[str, str]]:
    return [(loss.kind, loss.path) for loss in told.report]


USER = il.Message.user("go on")
SIGNED = il.ThinkingBlock("hm", "c2ln")


@pytest.mark.requirement("P1", "P2", "P6")
def test_own_thinking_goes_back_unchanged_and_in_place() -> None:
    empty = il.ThinkingBlock("", "c2lnMg")
    message = assistant(SIGNED, empty, il.TextBlock("yes"), call(), protocol="anthropic")
    out = told([USER, message, result()], target())
    assert out.value == (USER, message, result())
    assert out.report.losses == []


@pytest.mark.requirement("P5")
def test_the_signing_family_may_read_it_and_strictness_narrows_that() -> None:
    message = assistant(SIGNED, il.TextBlock("yes"), protocol="bedrock")
    assert told([USER, message], target()).value[1] == message
    strict = told([USER, message], target(), strict_issuer=True)
    assert losses(strict) == [("dropped", "$.messages[1].content[0]")]


@pytest.mark.requirement("P4", "P43", "S002-86")
def test_foreign_thinking_is_left_out_and_never_becomes_text() -> None:
    message = assistant(SIGNED, il.TextBlock("yes"), protocol="openai-responses")
    out = told([USER, message], target())
    assert out.value[1].content == (il.TextBlock("yes"),)
    assert losses(out) == [("dropped", "$.messages[1].content[0]")]


@pytest.mark.requirement("S002-28", "S002-109", "S002-85")
def test_a_dropped_block_gives_one_warning_with_five_fields(
    caplog: pytest.LogCaptureFixture,
) -> None:
    message = assistant(SIGNED, il.TextBlock("yes"), protocol="gemini")
    message = message.replace(id="01J", session_id="01S")
    with caplog.at_level(logging.DEBUG, logger="interlingua"):
        told([USER, message], target())
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.message == "block_dropped"
    fields = ("session_id", "message_id", "block_type", "adapter")
    assert [getattr(record, field) for field in fields] == ["01S", "01J", "thinking", "anthropic"]
    assert "issuer" in record.__dict__["reason"]
    assert "hm" not in str(record.__dict__)


def test_another_model_of_the_same_family_cannot_read_it() -> None:
    message = assistant(SIGNED, il.TextBlock("yes"), protocol="anthropic", model="anthropic:opus")
    assert told([USER, message], target(), model="opus").report.losses == []
    out = told([USER, message], target(), model="sonnet")
    assert losses(out) == [("dropped", "$.messages[1].content[0]")]


@pytest.mark.requirement("P7", "S003-12")
def test_foreign_signatures_on_text_and_calls_go_and_the_rest_stays() -> None:
    message = assistant(il.TextBlock("yes", "s1"), call(signature="s2"), protocol="gemini")
    out = told([USER, message, result()], target())
    assert out.value[1].content == (il.TextBlock("yes"), call())
    assert losses(out) == [
        ("dropped", "$.messages[1].content[0].signature"),
        ("dropped", "$.messages[1].content[1].signature"),
    ]


@pytest.mark.requirement("P8")
def test_an_aggregator_gets_back_what_it_was_given_and_so_does_the_issuer_it_names() -> None:
    detail = {"openrouter": {"format": "anthropic-claude-v1"}}
    message = assistant(SIGNED.replace(raw=detail), call(), protocol="openrouter")
    history = [USER, message, result()]
    assert told(history, target("openrouter", family="openrouter")).value[1] == message
    assert told(history, target()).value[1] == message
    assert losses(told(history, target("gemini", family="google"))) == [
        ("dropped", "$.messages[1].content[0]")
    ]


@pytest.mark.requirement("S002-86")
def test_redacted_thinking_stays_with_its_issuer() -> None:
    message = assistant(il.RedactedThinkingBlock("xx"), il.TextBlock("a"), protocol="anthropic")
    assert told([USER, message], target()).report.losses == []
    out = told([USER, message], target("gemini", family="google"))
    assert losses(out) == [("dropped", "$.messages[1].content[0]")]


def test_a_message_of_which_nothing_is_left_gets_a_placeholder() -> None:
    out = told([USER, assistant(SIGNED, protocol="gemini"), USER], target())
    assert out.value[1].content == (il.TextBlock(PLACEHOLDER),)
    assert ("approximated", "$.messages[1].content") in losses(out)


@pytest.mark.requirement("P9", "P10")
def test_a_provider_that_insists_on_signatures_gets_the_stand_in() -> None:
    gemini = target("gemini", family="google", call_signature=lambda model: "skip")
    message = assistant(call("a"), call("b"), protocol="openai-chat")
    out = told([USER, message, result("a"), result("b")], gemini)
    assert [block.signature for block in out.value[1].content] == ["skip", None]
    assert losses(out) == [("approximated", "$.messages[1].content[0].signature")]


def test_failed_and_cancelled_turns_are_left_out_with_their_results() -> None:
    failed = assistant(call(), status=il.MessageStatus.CANCELLED)
    out = told([USER, failed, result(), USER], target())
    assert out.value == (USER, USER)
    assert losses(out) == [("dropped", "$.messages[1]"), ("dropped", "$.messages[2]")]


@pytest.mark.parametrize(
    ("status", "severity"),
    [(il.MessageStatus.CANCELLED, "info"), (il.MessageStatus.ERROR, "error")],
)
def test_who_stopped_a_turn_does_not_miss_it(status: il.MessageStatus, severity: str) -> None:
    out = told([USER, assistant(call(), status=status), result(), USER], target())
    assert [loss.severity for loss in out.report] == [severity, severity]


@pytest.mark.requirement("P24", "P25")
def test_an_orphaned_call_gets_a_neutral_error_result() -> None:
    out = told([USER, assistant(call()), USER], target())
    (answer,) = out.value[2].content
    assert out.value[2].role is il.Role.TOOL
    assert (answer.tool_use_id, answer.is_error, answer.content[0].text) == (
        "call_1",
        True,
        NO_RESULT,
    )
    assert "user" not in NO_RESULT.lower()
    assert losses(out) == [("approximated", "$.messages[1].content[0]")]


def test_a_result_without_a_call_becomes_user_text() -> None:
    out = told([USER, result("lost")], target())
    assert [message.role for message in out.value] == [il.Role.USER, il.Role.USER]
    assert out.value[1].content[-1].text == "done"
    assert losses(out) == [("downgraded", "$.messages[1]")]


def test_history_that_the_provider_keeps_may_hold_the_call() -> None:
    request = il.Request((result("lost"),), continues=il.Continues(response_id="r1"))
    out = retell(request, target(), source="anthropic")
    assert out.value.messages == request.messages
    abroad = retell(request, target(), source="openai-responses")
    assert [(loss.path, loss.severity) for loss in abroad.report] == [
        ("$.messages[0]", "error"),
        ("$.continues", "error"),
    ]
    assert abroad.value.continues is None
    assert abroad.value.messages[0].role is il.Role.USER


@pytest.mark.requirement("P21", "P22")
def test_results_are_paired_by_id_and_put_in_call_order_where_that_is_demanded() -> None:
    message = assistant(call("a"), call("b"))
    history = [USER, message, result("b"), result("a")]
    assert told(history, target()).value == tuple(history)
    out = told(history, target(ordered_results=True))
    answered = [m.content[0].tool_use_id for m in out.value[2:]]
    assert answered == ["a", "b"]
    assert {kind for kind, _ in losses(out)} == {"moved"}


@pytest.mark.requirement("P23")
def test_results_come_before_what_the_user_said_meanwhile() -> None:
    out = told([USER, assistant(call()), il.Message.user("wait"), result()], target())
    assert [m.role.value for m in out.value] == ["user", "assistant", "tool", "user"]
    assert losses(out) == [("moved", "$.messages[3]")]


@pytest.mark.requirement("P13", "P15", "P27")
@pytest.mark.parametrize("id", ["functions.Bash:0", "fc_1|call_2", "x" * 449, "", "ünï"])
def test_illegal_ids_are_mapped_alike_in_call_and_result(id: str) -> None:
    out = told([USER, assistant(call(id)), result(id)], target())
    new = out.value[1].content[0].id
    assert GRAMMAR.legal(new)
    assert out.value[2].content[0].tool_use_id == new == out.value[2].metadata.parent_tool_use_id
    assert out.report.losses == []  # ids are no content


@pytest.mark.requirement("P16", "P12")
def test_the_mapping_depends_on_the_destination_and_legal_ids_pass() -> None:
    history = [USER, assistant(call("toolu_01")), result("toolu_01")]
    assert told(history, target()).value[1].content[0].id == "toolu_01"
    short = told(history, target(ids=TEN_CHARACTERS)).value[1].content[0].id
    assert TEN_CHARACTERS.legal(short)


@pytest.mark.requirement("P17")
def test_an_id_that_is_used_again_becomes_another_one() -> None:
    round_trip = [assistant(call("call_0")), result("call_0")]
    out = told([USER, *round_trip, USER, *round_trip], target())
    first, second = out.value[1].content[0].id, out.value[4].content[0].id
    assert first == "call_0" != second
    assert out.value[5].content[0].tool_use_id == second


@pytest.mark.requirement("P14")
def test_a_response_leaves_with_ids_that_its_client_can_store() -> None:
    response = il.Response(assistant(call("functions.Bash:0")))
    out = retell(response, target())
    assert GRAMMAR.legal(out.value.message.content[0].id)


@pytest.mark.requirement("P34")
def test_images_inside_results_follow_the_whole_batch() -> None:
    image = il.ImageBlock(il.Source("base64", "aGk="), "image/png")
    history = [USER, assistant(call("a"), call("b")), result("a", image), result("b")]
    out = told(history, target(result_media=frozenset()))
    assert [m.role.value for m in out.value] == ["user", "assistant", "tool", "tool", "user"]
    assert out.value[4].content == (image,)
    assert out.value[2].content[0].content[0].text == "[image of a follows]"
    assert losses(out) == [("moved", "$.messages[2].content[0].content[0]")]
    allowed = told(history, target(result_media=frozenset({"image"})))
    assert allowed.value == tuple(history)


@pytest.mark.requirement("P39")
def test_instructions_in_mid_conversation_keep_their_place() -> None:
    history = [il.Message.system("a"), USER, il.Message.system("b"), USER]
    assert told(history, target()).value == tuple(history)
    out = told(history, target(system_anywhere=False))
    assert out.value[0] == history[0]
    assert (out.value[2].role, out.value[2].text) == (il.Role.USER, SYSTEM_MARK + "b")
    assert losses(out) == [("downgraded", "$.messages[2].role")]


@pytest.mark.requirement("P40")
def test_tools_that_a_provider_runs_do_not_cross_vendors() -> None:
    search = call("srv", "web_search", executor="provider", raw={"anthropic": {"x": 1}})
    found = il.ToolResultBlock("srv", raw={"anthropic": {"y": 1}})
    message = assistant(search, found, il.TextBlock("here"), protocol="anthropic")
    assert told([USER, message], target()).value[1] == message
    out = told([USER, message], target("gemini", family="google"))
    assert out.value[1].content == (il.TextBlock("here"),)
    assert [path for _, path in losses(out)] == [f"$.messages[1].content[{n}]" for n in (0, 1)]


@pytest.mark.requirement("P45")
def test_schemas_lose_keywords_only_and_never_properties_of_that_name() -> None:
    schema = {
        "type": "object",
        "additionalProperties": False,
        "properties": {"additionalProperties": {"type": "string", "pattern": "a"}},
    }
    tool = il.ToolDefinition("look", "looks", schema)
    keywords = frozenset({"type", "properties"})
    out = retell(il.Request((USER,), tools=(tool,)), target(schema_keywords=keywords))
    assert out.value.tools[0].input_schema == {
        "type": "object",
        "properties": {"additionalProperties": {"type": "string"}},
    }
    assert [loss.path for loss in out.report] == [
        "$.tools[0].input_schema.additionalProperties",
        "$.tools[0].input_schema.properties.additionalProperties.pattern",
    ]
    assert tool.input_schema == schema


def test_a_vendors_own_tool_is_left_out_abroad() -> None:
    tool = il.ToolDefinition("web_search", kind="web_search_20250305", executor="provider")
    out = retell(il.Request((USER,), tools=(tool,)), target())
    assert out.value.tools == ()
    assert [(loss.path, loss.severity) for loss in out.report] == [("$.tools[0]", "error")]


def test_thinking_in_an_answer_is_shown_without_its_signature() -> None:
    response = il.Response(assistant(SIGNED, il.TextBlock("yes"), protocol="anthropic"))
    out = retell(response, target("ollama", family=None))
    assert out.value.message.content[0] == il.ThinkingBlock("hm")
    assert losses(out) == [("dropped", "$.message.content[0].signature")]


# -- who said it -----------------------------------------------------------------------------------

UNSIGNED = il.ThinkingBlock("hm")


def by_host(*blocks: Any, provider: str = "deepseek", model: str = "thinker") -> il.Message:
    """As a session keeps what a host said that signs nothing."""
    made = f"{provider}:{model}"
    return assistant(*blocks, model=made, provider=provider, protocol="openai-chat")


def test_a_host_that_signs_nothing_gets_its_own_thinking_back() -> None:
    chat = target("openai-chat", family=None)
    history = [USER, by_host(UNSIGNED, call()), result()]
    own = told(history, chat, model="thinker", provider="deepseek")
    assert own.value == tuple(history)
    assert own.report.losses == []
    for other in ({"model": "other", "provider": "deepseek"}, {"provider": "groq"}):
        assert losses(told(history, chat, **other)) == [("dropped", "$.messages[1].content[0]")]


def test_sealed_thinking_goes_back_by_whoever_handed_it_on() -> None:
    chat = target("openai-chat", family=None)
    sealed = il.RedactedThinkingBlock("xx", raw={"openai-chat": {"format": "openai-responses-v1"}})
    message = by_host(sealed, il.TextBlock("a"), provider="vercel")
    assert told([USER, message], chat, provider="vercel").report.losses == []
    openai = target("openai-responses", family="openai")
    assert told([USER, message], openai).report.losses == []
    assert losses(told([USER, message], target())) == [("dropped", "$.messages[1].content[0]")]


@pytest.mark.parametrize(
    "named",
    [
        "claude-sonnet-4-5",
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "claude-sonnet-4-5@20250929",
    ],
)
def test_a_model_is_itself_under_all_of_its_names(named: str) -> None:
    said = assistant(SIGNED, protocol="bedrock", model="bedrock:anthropic.claude-sonnet-4-5-v1:0")
    assert told([USER, said], target(), model=named).report.losses == []


def test_a_tag_of_ollama_is_no_provider() -> None:
    said = assistant(UNSIGNED, protocol="ollama", model="ollama:qwen3:8b", provider="ollama")
    ollama = target("ollama", family=None)
    assert told([USER, said], ollama, model="qwen3:8b", provider="ollama").report.losses == []
    assert losses(told([USER, said], ollama, model="llama3:8b", provider="ollama")) != []


def test_the_model_that_a_request_asks_is_the_one_that_is_told() -> None:
    said = assistant(
        SIGNED, il.TextBlock("yes"), protocol="anthropic", model="anthropic:claude-opus-4-1"
    )
    request = il.Request((USER, said), "claude-sonnet-4-5")
    assert losses(retell(request, target())) == [("dropped", "$.messages[1].content[0]")]
    read = assistant(SIGNED, il.TextBlock("yes"), protocol="anthropic")
    other = retell(il.Request((USER, read), "claude-opus-4-1"), target(), "claude-sonnet-4-5")
    assert losses(other) == [("dropped", "$.messages[1].content[0]")]


def test_from_claude_5_on_thinking_is_bound_to_the_account() -> None:
    new, old = "claude-opus-5", "claude-opus-4-1"
    for model, paths in ((new, ["$.messages[1].content[0]"]), (old, [])):
        said = assistant(
            SIGNED,
            il.TextBlock("yes"),
            protocol="bedrock",
            provider="bedrock",
            model=f"bedrock:{model}",
        )
        abroad = told([USER, said], target(), model=model, provider="anthropic")
        assert [path for _, path in losses(abroad)] == paths
        vertex = assistant(
            SIGNED,
            il.TextBlock("yes"),
            protocol="anthropic",
            provider="vertex",
            model=f"vertex:{model}",
        )
        other = told([USER, vertex], target(), model=model, provider="anthropic")
        assert [path for _, path in losses(other)] == paths
        own = told([USER, vertex], target(), model=model, provider="vertex")
        assert own.report.losses == []


def test_a_host_gets_its_own_ids_back_and_others_fitted_ones() -> None:
    chat = target("openai-chat", family=None, ids=TEN_CHARACTERS)
    long = "chatcmpl-tool-0123456789"
    history = [USER, by_host(call(long)), result(long)]
    assert told(history, chat, provider="deepseek").value == tuple(history)
    assert TEN_CHARACTERS.legal(told(history, chat, provider="groq").value[1].content[0].id)


def test_what_the_provider_keeps_is_known_by_the_value_itself() -> None:
    keeps = target("openai-responses", family="openai", continues=frozenset({"response_id"}))
    request = il.Request((result("x" * 70),), continues=il.Continues(response_id="r1"))
    assert retell(request, keeps).value == request
    assert retell(request.replace(raw={"openai-responses": {}}), keeps).report.losses == []
    other = retell(request.replace(raw={"anthropic": {}}), keeps)
    assert [loss.path for loss in other.report] == ["$.messages[0]", "$.continues"]
    token = retell(il.Request((USER,), continues=il.Continues(token="t")), keeps)
    assert [(loss.path, loss.severity) for loss in token.report] == [("$.continues", "error")]


# -- what is refused for its form ------------------------------------------------------------------


def test_a_history_that_begins_with_the_model_is_opened_where_that_is_refused() -> None:
    gemini = target("gemini", family="google", begins_with_model=False)
    system = il.Message.system("be kind")
    history = [system, assistant(il.TextBlock("I look.")), assistant(call()), result()]
    out = told(history, gemini)
    assert [m.role.value for m in out.value] == ["system", "user", "assistant", "assistant", "tool"]
    assert out.value[1].text == EARLIER
    assert losses(out) == [("approximated", "$.messages[1]")]
    assert told(history, target()).value == tuple(history)
    assert told(history[:2], gemini).value == out.value[:3], "and so it stays when it grows"
    spoken = [USER, *history[1:]]
    assert told(spoken, gemini).value == tuple(spoken)


def test_texts_that_say_nothing_are_left_out_or_stood_in_for() -> None:
    blank = il.Message.user([il.TextBlock(" \n"), il.TextBlock("and?")])
    nothing = il.Message.user(" ")
    strict = target(allowed_text="visible")
    out = told([blank, assistant(il.TextBlock("")), nothing], strict)
    assert [m.text for m in out.value] == ["and?", PLACEHOLDER, PLACEHOLDER]
    assert losses(out) == [
        ("dropped", "$.messages[0].content[0]"),
        ("approximated", "$.messages[1].content"),
        ("approximated", "$.messages[2].content"),
    ]
    assert {loss.severity for loss in out.report} == {"info"}
    assert told([nothing], target()).value == (nothing,)


def test_only_a_models_text_must_say_something_to_some() -> None:
    gemini = target("gemini", family="google", allowed_text="answers")
    empty = il.Message.user([il.TextBlock("")])
    said = assistant(il.TextBlock(""), call())
    out = told([empty, said, result()], gemini)
    assert out.value == (empty, assistant(call()), result())
    assert losses(out) == [("dropped", "$.messages[1].content[0]")]


def test_blank_instructions_and_blanks_inside_results_are_left_out() -> None:
    strict = target(allowed_text="visible")
    blank = il.Message.system(" ")
    inside = result("call_1", il.TextBlock("\n"), il.TextBlock("yes"))
    out = told([blank, USER, assistant(call()), inside], strict)
    assert [m.role.value for m in out.value] == ["user", "assistant", "tool"]
    assert out.value[2].content[0].content == (il.TextBlock("yes"),)
    assert losses(out) == [
        ("dropped", "$.messages[0].content"),
        ("dropped", "$.messages[3].content[0].content[0]"),
    ]


def test_what_a_model_said_itself_stays_as_it_said_it() -> None:
    strict = target(allowed_text="visible", text_behind_calls=False)
    message = assistant(call(), il.TextBlock("\n\n"), protocol="anthropic")
    assert told([USER, message, result()], strict).value[1] == message


def test_text_behind_the_last_call_comes_before_the_calls_where_that_is_asked_for() -> None:
    text, more = il.TextBlock("first"), il.TextBlock("later")
    message = assistant(text, call("a"), call("b"), more, protocol="gemini")
    history = [USER, message, result("a"), result("b")]
    out = told(history, target(text_behind_calls=False))
    assert out.value[1].content == (text, more, call("a"), call("b"))
    assert losses(out) == [("moved", "$.messages[1].content[3]")]
    assert told(history, target()).value == tuple(history)


def test_a_line_to_one_service_is_not_shown_to_another() -> None:
    line = il.TextBlock("x-anthropic-billing-header: cc_version=2.1; cch=1a2b3;")
    both = il.Message.system([line, il.TextBlock("be kind")])
    chat = target("openai-chat", family=None)
    out = told([both, USER], chat)
    assert out.value == (il.Message.system([il.TextBlock("be kind")]), USER)
    assert [(loss.path, loss.severity) for loss in out.report] == [
        ("$.messages[0].content[0]", "info")
    ]
    assert told([il.Message.system([line]), USER], chat).value == (USER,)
    assert told([both, USER], target()).value == (both, USER)
