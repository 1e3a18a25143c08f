"""Each invariant: what breaks it breaks nothing else, and what keeps it is left in peace."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from interlingua.model.blocks import (
    BLOCK_TYPES,
    AudioBlock,
    Block,
    CompactionBlock,
    DocumentBlock,
    ImageBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
    VideoBlock,
)
from interlingua.model.exchange import Continues, Request, Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import (
    MessageMetadata,
    MessageStatus,
    RoutingMode,
    RoutingRecord,
    StopReason,
    Usage,
)
from interlingua.model.rules import RULES, Violation, validate
from tests.effort import examples
from tests.laws import strategies as il

SESSION = "01K9ZJ3B4V0000000000000000"
MODEL = "anthropic:claude-sonnet-4-6"
NOW = datetime(2026, 5, 8, 12, 0, tzinfo=UTC)
ROUTING = RoutingRecord(RoutingMode.DEFAULT, MODEL, "workspace default")
ANSWERED = MessageMetadata(
    model=MODEL,
    provider="anthropic",
    routing=ROUTING,
    usage=Usage(8, 42, cost_usd=Decimal("0.000654")),
    stop_reason=StopReason.END_TURN,
)
PICTURE = Source("url", "https://example.com/a.png")

some = settings(max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow])
requirement = pytest.mark.requirement


def ulid(number: int) -> str:
    return f"01K9ZJ3B4V{number:016d}"


def tool_id(number: int) -> str:
    return f"tu_{ulid(number)}"


def held(message: Message, number: int = 1, session: str = SESSION) -> Message:
    """The message as a session holds it."""
    return message.replace(id=ulid(number), session_id=session, created_at=NOW)


def answer(content: Any = "hello", number: int = 1, **changes: Any) -> Message:
    """An assistant message as a session holds it, with some of its metadata changed."""
    return held(Message.assistant(content, ANSWERED.replace(**changes)), number)


def call(id: str = "a", **fields: Any) -> Message:
    return Message.assistant(ToolUseBlock(id, "read_file", {}, **fields))


def reply(id: str = "a") -> Message:
    return Message.tool_result(id, "done")


def routed(**fields: Any) -> Message:
    return answer(routing=ROUTING.replace(**fields))


def metadata_of(message: Message, **fields: Any) -> Message:
    return message.replace(metadata=message.metadata.replace(**fields))


class Case(NamedTuple):
    """`broken` breaks the rule, once and at `path`; `fixed` is the nearest thing that does not."""

    rule: str
    requirements: tuple[str, ...]
    broken: Any
    fixed: Any
    path: str
    block: int | None = None


TWO_RESULTS = Message(
    Role.TOOL,
    (ToolResultBlock("a"), ToolResultBlock("a")),
    metadata=MessageMetadata(parent_tool_use_id="a"),
)
HOSTED = ToolUseBlock("a", "web_search", {}, executor="provider")

CASES = [
    Case(
        "not_empty",
        ("S002-47", "S002-16"),
        Message.user(""),
        Message.user("hi"),
        "$.content",
    ),
    Case(
        "placement",
        ("S002-49",),
        Message.user([TextBlock("hi"), ThinkingBlock("hm")]),
        Message.assistant([TextBlock("hi"), ThinkingBlock("hm")]),
        "$.content[1]",
        1,
    ),
    Case("one_tool_result", ("S002-49", "S002-10"), TWO_RESULTS, reply(), "$.content"),
    Case(
        "answered_call_is_named",
        ("S002-59", "S002-34"),
        metadata_of(reply(), parent_tool_use_id=None),
        reply(),
        "$.metadata.parent_tool_use_id",
    ),
    Case(
        "answered_call_is_the_results",
        ("S002-59", "S002-34"),
        metadata_of(reply(), parent_tool_use_id="b"),
        reply(),
        "$.metadata.parent_tool_use_id",
        0,
    ),
    Case(
        "tool_result_content",
        ("S002-22",),
        Message.of_result(ToolResultBlock("a", (TextBlock("x"), RefusalBlock("no")))),  # type: ignore[arg-type]  # that is the point
        Message.of_result(ToolResultBlock("a", (TextBlock("x"), ImageBlock(PICTURE)))),
        "$.content[0].content[1]",
        0,
    ),
    Case(
        "compaction_stands_for_messages",
        ("S002-115",),
        Message.user(CompactionBlock("x", replaces=0)),
        Message.user(CompactionBlock("x", replaces=1)),
        "$.content[0].replaces",
        0,
    ),
    Case(
        "source_fits_its_kind",
        ("S002-24",),
        Message.user(ImageBlock(Source("url"))),
        Message.user(ImageBlock(PICTURE)),
        "$.content[0].source",
        0,
    ),
    Case(
        "tool_ids_are_not_repeated",
        ("S002-54",),
        [call(), reply(), call(), reply()],
        [call(), reply(), call("b"), reply("b")],
        "$[2].content[0].id",
        0,
    ),
    Case(
        "result_answers_an_earlier_call",
        ("S002-53",),
        [call(), reply("b")],
        [call("b"), reply("b")],
        "$[1].content[0].tool_use_id",
        0,
    ),
    Case(
        "call_is_answered_once",
        ("S002-54",),
        [call(), reply(), reply()],
        [call(), call("b"), reply(), reply("b")],
        "$[2].content[0].tool_use_id",
        0,
    ),
    Case(
        "assistant_results_are_the_providers",
        ("S002-49",),
        Message.assistant([HOSTED.replace(executor="client"), ToolResultBlock("a")]),
        Message.assistant([HOSTED, ToolResultBlock("a")]),
        "$.content[1]",
        1,
    ),
    Case(
        "stop_reason_fits_status",
        ("S002-38",),
        Message.assistant("hi", MessageMetadata(stop_reason=StopReason.CANCELLED)),
        Message.assistant(
            "hi",
            MessageMetadata(stop_reason=StopReason.CANCELLED, status=MessageStatus.CANCELLED),
        ),
        "$.metadata.stop_reason",
    ),
    Case(
        "one_session",
        ("S002-53", "S002-14"),
        [held(Message.user("a")), held(Message.user("b"), 2, "01K9ZJ3B4V0000000000000009")],
        [held(Message.user("a")), held(Message.user("b"), 2)],
        "$[1].session_id",
    ),
    Case(
        "id_is_a_ulid",
        ("S002-13",),
        held(Message.user("hi")).replace(id="msg_1"),
        held(Message.user("hi")),
        "$.id",
    ),
    Case(
        "ids_increase",
        ("S002-13",),
        [held(Message.user("a"), 2), held(Message.user("b"), 2)],
        [held(Message.user("a"), 2), held(Message.user("b"), 3)],
        "$[1].id",
    ),
    Case(
        "tool_ids_are_ours",
        ("S002-52",),
        answer(ToolUseBlock("toolu_1", "read_file", {})),
        answer(ToolUseBlock(tool_id(7), "read_file", {})),
        "$.content[0].id",
        0,
    ),
    Case("model_is_named", ("S002-56",), answer(model=None), answer(), "$.metadata.model"),
    Case("provider_is_named", ("S002-56",), answer(provider=None), answer(), "$.metadata.provider"),
    Case(
        "model_id_has_its_form",
        ("S002-69",),
        answer(model="sonnet", routing=ROUTING.replace(chosen_model="sonnet")),
        answer(),
        "$.metadata.model",
    ),
    Case("routing_is_recorded", ("S002-57",), answer(routing=None), answer(), "$.metadata.routing"),
    Case(
        "chosen_model_is_the_model",
        ("S002-39",),
        routed(chosen_model="openai:gpt-5"),
        routed(),
        "$.metadata.routing.chosen_model",
    ),
    Case(
        "rule_name_is_for_rules",
        ("S002-39",),
        routed(rule_name="long"),
        routed(mode=RoutingMode.RULE, rule_name="long"),
        "$.metadata.routing.rule_name",
    ),
    Case(
        "confidence_is_for_patterns",
        ("S002-39",),
        routed(confidence=0.5),
        routed(mode=RoutingMode.PATTERN, confidence=0.5),
        "$.metadata.routing.confidence",
    ),
    Case(
        "confidence_is_a_share",
        ("S002-39",),
        routed(mode=RoutingMode.PATTERN, confidence=1.5),
        routed(mode=RoutingMode.PATTERN, confidence=1.0),
        "$.metadata.routing.confidence",
    ),
    Case("usage_is_reported", ("S002-58",), answer(usage=None), answer(), "$.metadata.usage"),
    Case(
        "counts_are_not_negative",
        ("S002-42",),
        answer(usage=Usage(-1, 42)),
        answer(usage=Usage(0, 42)),
        "$.metadata.usage.input_tokens",
    ),
    Case(
        "reasoning_is_part_of_output",
        ("S002-43",),
        answer(usage=Usage(8, 42, reasoning_tokens=43)),
        answer(usage=Usage(8, 42, reasoning_tokens=42)),
        "$.metadata.usage.reasoning_tokens",
    ),
]
BY_RULE = [
    pytest.param(case, marks=requirement(*case.requirements), id=case.rule) for case in CASES
]


@pytest.mark.parametrize("case", BY_RULE)
def test_what_breaks_a_rule_breaks_it_once_and_no_other(case: Case) -> None:
    (violation,) = validate(case.broken)
    assert (violation.rule, violation.path, violation.block) == (case.rule, case.path, case.block)
    assert violation.problem


@pytest.mark.parametrize("case", BY_RULE)
def test_what_keeps_a_rule_is_left_in_peace(case: Case) -> None:
    assert validate(case.fixed) == []


def test_every_rule_has_a_case_and_names_its_requirements() -> None:
    assert [case.rule for case in CASES] == list(RULES)
    for case in CASES:
        assert set(case.requirements) <= set(RULES[case.rule].requirements)


# Placement and emptiness

SAMPLES: dict[str, Block] = {
    "text": TextBlock("x"),
    "thinking": ThinkingBlock("x"),
    "redacted_thinking": RedactedThinkingBlock("x"),
    "tool_use": HOSTED,
    "tool_result": ToolResultBlock("a"),
    "image": ImageBlock(PICTURE),
    "audio": AudioBlock(PICTURE),
    "video": VideoBlock(PICTURE),
    "document": DocumentBlock(PICTURE),
    "refusal": RefusalBlock("x"),
    "compaction": CompactionBlock("x"),
    "unknown": UnknownBlock({"anthropic": {"type": "new"}}),
}
MEDIA = {"image", "audio", "video", "document"}
MAY_HOLD = {
    Role.SYSTEM: {"text", "compaction"},
    Role.DEVELOPER: {"text", "compaction"},
    Role.USER: {"text", "compaction"} | MEDIA,
    Role.ASSISTANT: set(BLOCK_TYPES) - {"unknown"},
    Role.TOOL: {"tool_result"},
}


@requirement("S002-49", "S002-27", "S002-113")
@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("kind", sorted(BLOCK_TYPES))
def test_each_role_holds_its_own_blocks_and_unknown_ones(role: Role, kind: str) -> None:
    message = Message(role, (SAMPLES[kind],), metadata=MessageMetadata(parent_tool_use_id="a"))
    broken = [violation for violation in validate(message) if violation.rule == "placement"]
    assert bool(broken) == (kind not in MAY_HOLD[role] | {"unknown"})


@requirement("S002-49")
def test_a_thing_that_is_no_block_has_no_place() -> None:
    (violation,) = validate(Message(Role.USER, ({"type": "text"},)))  # type: ignore[arg-type]  # as a caller might
    assert (violation.rule, violation.block) == ("placement", 0)
    assert "dict" in violation.problem


@requirement("S002-47", "S002-48")
@pytest.mark.parametrize("role", list(Role))
def test_only_instructions_may_be_empty(role: Role) -> None:
    message = Message(role, metadata=MessageMetadata(parent_tool_use_id="a"))
    expected = [] if role in (Role.SYSTEM, Role.DEVELOPER) else ["not_empty"]
    assert [violation.rule for violation in validate(message)] == expected


@requirement("S002-49")
def test_a_tool_message_without_any_result_is_named() -> None:
    unknown = Message.tool_result("a").replace(content=(SAMPLES["unknown"],))
    (violation,) = validate(unknown)
    assert violation.rule == "one_tool_result"
    assert "found 0" in violation.problem


# Sources

GOOD_SOURCES = [
    Source("base64", "aGk="),
    Source("url", "https://example.com"),
    Source("file_ref", "docs/a.pdf"),
    Source("file_id", "file_1", provider="openai"),
    Source("text", "plain"),
    Source("blocks", content=(TextBlock("x"),)),
]
BAD_SOURCES = [
    *[source.replace(data=None) for source in GOOD_SOURCES[:5]],
    *[source.replace(content=(TextBlock("x"),)) for source in GOOD_SOURCES[:5]],
    Source("blocks"),
    Source("blocks", "x", content=(TextBlock("x"),)),
]


@requirement("S002-24")
@pytest.mark.parametrize("source", GOOD_SOURCES, ids=lambda source: source.kind)
def test_a_source_with_what_its_kind_needs_is_right(source: Source) -> None:
    assert validate(Message.user(DocumentBlock(source, "application/pdf"))) == []


@requirement("S002-24")
@pytest.mark.parametrize("source", BAD_SOURCES, ids=repr)
def test_a_source_has_data_or_content_never_both(source: Source) -> None:
    (violation,) = validate(Message.user(DocumentBlock(source)))
    assert violation.rule == "source_fits_its_kind"
    assert source.kind in violation.problem


@requirement("S002-24", "S002-22")
def test_sources_are_checked_inside_results_and_inside_other_sources() -> None:
    inner = DocumentBlock(Source("blocks", content=(TextBlock("x"), ImageBlock(Source("url")))))
    result = Message.of_result(ToolResultBlock("a", (TextBlock("x"), inner)))
    (violation,) = validate(result)
    assert violation.path == "$.content[0].content[1].source.content[1].source"
    assert violation.block == 0


def test_a_source_nested_ten_thousand_times_is_no_trouble() -> None:
    block = ImageBlock(Source("url"))
    for _ in range(10_000):
        block = DocumentBlock(Source("blocks", content=(block,)))  # type: ignore[assignment]
    (violation,) = validate(Message.user(block))
    assert violation.path.endswith(".source.content[0].source")


# Calls and results


@requirement("S002-53")
def test_a_result_before_its_call_answers_nothing() -> None:
    assert [v.rule for v in validate([reply(), call()])] == ["result_answers_an_earlier_call"]
    backwards = [Message.assistant([ToolResultBlock("a"), HOSTED])]
    assert [v.rule for v in validate(backwards)] == ["result_answers_an_earlier_call"]


@requirement("S002-53")
def test_an_id_of_another_session_is_no_call_of_this_one() -> None:
    other = "01K9ZJ3B4V0000000000000009"
    id = tool_id(7)
    history = [
        answer(ToolUseBlock(id, "read_file", {})),
        held(reply(id), 2, other),
    ]
    rules = [violation.rule for violation in validate(history)]
    assert rules == ["result_answers_an_earlier_call", "one_session"]


@requirement("S002-53")
def test_a_message_that_no_session_holds_yet_goes_on_from_the_session() -> None:
    id = tool_id(7)
    history = [held(Message.user("hi")), answer(ToolUseBlock(id, "read_file", {}), 2), reply(id)]
    assert validate(history) == []


@requirement("S002-53")
def test_one_message_alone_may_answer_a_call_out_of_sight() -> None:
    assert validate(reply()) == []
    assert [v.rule for v in validate([reply()])] == ["result_answers_an_earlier_call"]


@requirement("S002-53")
def test_a_response_may_answer_a_providers_call_of_an_earlier_one() -> None:
    paused = Message.assistant([ToolResultBlock("a"), TextBlock("so")])
    assert validate(Response(paused, (paused,))) == []


@requirement("S002-53")
def test_a_request_that_continues_server_history_may_answer_a_call_out_of_sight() -> None:
    request = Request((reply(),))
    assert [v.rule for v in validate(request)] == ["result_answers_an_earlier_call"]
    assert validate(request.replace(continues=Continues(response_id="resp_1"))) == []


@requirement("S002-54")
def test_calls_that_share_an_id_are_each_answered_once() -> None:
    history = [
        Message.assistant([ToolUseBlock("a", "x", {}), ToolUseBlock("a", "x", {})]),
        reply(),
        reply(),
    ]
    assert [v.rule for v in validate(history)] == ["tool_ids_are_not_repeated"]
    assert [v.rule for v in validate([*history, reply()])][1:] == ["call_is_answered_once"]


@requirement("S002-54", "S002-51")
@pytest.mark.parametrize("status", [MessageStatus.PARTIAL, MessageStatus.CANCELLED])
def test_an_unfinished_result_is_no_answer_and_an_unfinished_call_is_a_call(
    status: MessageStatus,
) -> None:
    assert validate([call(), metadata_of(reply(), status=status), reply()]) == []
    unfinished = metadata_of(call(), status=MessageStatus.PARTIAL)
    assert validate([unfinished, reply()]) == []


@requirement("S002-49")
def test_the_result_of_a_providers_call_may_come_in_a_later_answer() -> None:
    later = [Message.assistant(HOSTED), Message.assistant([ToolResultBlock("a"), TextBlock("so")])]
    assert validate(later) == []
    assert validate(later[1]) == []
    assert validate(metadata_of(later[1], parent_tool_use_id="of the whole answer")) == []


@given(il.conversations(), st.data())
@some
@requirement("S002-53", "S002-54")
def test_taking_a_call_away_orphans_its_result(
    messages: tuple[Message, ...], data: st.DataObject
) -> None:
    places = [
        (number, index, block.id)
        for number, message in enumerate(messages)
        for index, block in enumerate(message.content)
        if isinstance(block, ToolUseBlock)
    ]
    assume(places)
    number, index, id = data.draw(st.sampled_from(places))
    content = list(messages[number].content)
    content[index] = TextBlock("gone")
    changed = [*messages]
    changed[number] = changed[number].replace(content=tuple(content))
    (violation,) = validate(changed)
    assert violation.rule == "result_answers_an_earlier_call"
    at = re.fullmatch(r"\$\[(\d+)\]\.content\[(\d+)\]\.tool_use_id", violation.path)
    assert at is not None
    result = changed[int(at[1])].content[int(at[2])]
    assert isinstance(result, ToolResultBlock)
    assert result.tool_use_id == id


# States


@requirement("S002-51")
@pytest.mark.parametrize("case", [pytest.param(case, id=case.rule) for case in CASES])
def test_an_unfinished_message_may_break_any_rule(case: Case) -> None:
    messages = case.broken if isinstance(case.broken, list) else [case.broken]
    assert validate([metadata_of(m, status=MessageStatus.PARTIAL) for m in messages]) == []


@given(il.messages(stored=True), st.data())
@some
@requirement("S002-51")
def test_no_generated_message_is_judged_before_it_is_complete(
    message: Message, data: st.DataObject
) -> None:
    content = data.draw(st.lists(il.blocks(), max_size=3))
    stop = data.draw(st.sampled_from(StopReason))
    metadata = MessageMetadata(status=MessageStatus.PARTIAL, stop_reason=stop)
    assert validate(message.replace(content=tuple(content), metadata=metadata)) == []


@requirement("S002-38")
@pytest.mark.parametrize("status", [s for s in MessageStatus if s != MessageStatus.PARTIAL])
@pytest.mark.parametrize("stop", list(StopReason))
def test_failure_and_cancellation_show_in_status_and_stop_reason_alike(
    status: MessageStatus, stop: StopReason
) -> None:
    failed = {MessageStatus.CANCELLED, MessageStatus.ERROR}
    agree = str(status) == str(stop) if {status, stop} & failed else True
    message = Message.assistant("x", MessageMetadata(status=status, stop_reason=stop))
    assert [v.rule for v in validate(message)] == ([] if agree else ["stop_reason_fits_status"])


@requirement("S002-38")
def test_a_failed_answer_says_why_it_stopped_and_a_users_message_need_not() -> None:
    failed = MessageMetadata(status=MessageStatus.ERROR)
    assert [v.rule for v in validate(Message.assistant("x", failed))] == ["stop_reason_fits_status"]
    assert validate(Message.user("x").replace(metadata=failed)) == []


@requirement("S002-56", "S002-57", "S002-58")
@pytest.mark.parametrize("status", [MessageStatus.ERROR, MessageStatus.CANCELLED])
def test_a_failed_answer_in_a_session_needs_an_id_and_nothing_else(status: MessageStatus) -> None:
    metadata = MessageMetadata(status=status, stop_reason=StopReason(status.value))
    message = held(Message(Role.ASSISTANT, metadata=metadata))
    assert validate(message) == []
    assert [v.rule for v in validate(message.replace(id="x"))] == ["id_is_a_ulid"]
    assert [v.rule for v in validate([message, message])] == ["ids_increase"]
    stray = message.replace(id=ulid(2), session_id="01K9ZJ3B4V0000000000000009")
    assert [v.rule for v in validate([message, stray])] == ["one_session"]


# Provenance


@requirement("S002-56", "S002-57", "S002-58")
def test_a_bare_answer_in_a_session_lacks_all_four_facts() -> None:
    rules = {violation.rule for violation in validate(held(Message.assistant("hi")))}
    assert rules == {
        "model_is_named",
        "provider_is_named",
        "routing_is_recorded",
        "usage_is_reported",
    }


@requirement("S002-56", "S002-57", "S002-58")
def test_no_provenance_is_asked_of_messages_outside_a_session() -> None:
    odd = answer(
        ToolUseBlock("call_1", "x", {}),
        model="gpt",
        provider=None,
        routing=None,
        usage=Usage(-1, 1, reasoning_tokens=5),
    )
    assert validate(odd.replace(session_id=None, id="msg_1")) == []
    assert len(validate(odd)) == 6


@requirement("S002-39", "S002-13")
def test_outside_a_session_neither_routing_nor_the_order_of_ids_is_judged() -> None:
    routing = ROUTING.replace(chosen_model="x:y", rule_name="long", confidence=5.0)
    odd = [answer(routing=routing, number=2), answer(routing=routing, number=1)]
    assert validate([message.replace(session_id=None) for message in odd]) == []
    assert [v.rule for v in validate(odd)] == [
        "chosen_model_is_the_model",
        "rule_name_is_for_rules",
        "confidence_is_for_patterns",
        "confidence_is_a_share",
        "ids_increase",
        "chosen_model_is_the_model",
        "rule_name_is_for_rules",
        "confidence_is_for_patterns",
        "confidence_is_a_share",
    ]


@requirement("S002-69")
@pytest.mark.parametrize(
    ("model", "good"),
    [
        ("anthropic:claude-sonnet-4-6", True),
        ("openai:gpt-5", True),
        ("openrouter:deepseek/deepseek-v3", True),
        ("gemini:gemini-2.5-pro", True),
        ("ollama:qwen3:8b", True),
        ("bedrock:arn:aws:bedrock:eu-west-1::foundation-model/x.y-v1:0", True),
        ("gpt-5", False),
        (":gpt-5", False),
        ("openai:", False),
        ("openai: gpt", False),
        ("deepseek/deepseek-v3:free", False),
        ("", False),
    ],
)
def test_a_model_id_is_a_provider_and_a_name(model: str, good: bool) -> None:
    message = answer(model=model, routing=ROUTING.replace(chosen_model=model))
    assert [v.rule for v in validate(message)] == ([] if good else ["model_id_has_its_form"])


@requirement("S002-39")
@given(st.floats(allow_nan=True, allow_infinity=True))
def test_confidence_lies_between_nothing_and_certainty(confidence: float) -> None:
    message = routed(mode=RoutingMode.PATTERN, confidence=confidence)
    fits = confidence >= 0 and confidence <= 1
    assert [v.rule for v in validate(message)] == ([] if fits else ["confidence_is_a_share"])


@requirement("S002-39")
@pytest.mark.parametrize("mode", list(RoutingMode))
def test_a_rule_has_a_name_and_a_pattern_a_confidence(mode: RoutingMode) -> None:
    named = validate(routed(mode=mode, rule_name="long"))
    sure = validate(routed(mode=mode, confidence=0.5))
    assert bool(named) == (mode is not RoutingMode.RULE)
    assert bool(sure) == (mode is not RoutingMode.PATTERN)
    assert validate(routed(mode=mode)) == []


COUNTS = ["input_tokens", "output_tokens", "cached_input_tokens", "cache_creation_input_tokens"]


@requirement("S002-42", "S002-43")
@pytest.mark.parametrize("name", [*COUNTS, "reasoning_tokens"])
def test_no_count_of_tokens_is_negative(name: str) -> None:
    (violation,) = validate(answer(usage=Usage().replace(**{name: -1})))
    assert violation.path == f"$.metadata.usage.{name}"


@requirement("S002-43")
def test_unknown_counts_contradict_nothing() -> None:
    assert validate(answer(usage=Usage())) == []
    assert validate(answer(usage=Usage(reasoning_tokens=5))) == []


@requirement("S002-13")
def test_ids_rise_past_every_earlier_one_not_just_the_last() -> None:
    numbers = [1, 5, 3, 4, 6]
    messages = [held(Message.user("x"), number) for number in numbers]
    assert [v.path for v in validate(messages)] == ["$[2].id", "$[3].id"]
    partial = metadata_of(messages[1], status=MessageStatus.PARTIAL)
    assert validate([messages[0], partial, messages[2]]) == []


@requirement("S002-13")
@pytest.mark.parametrize(
    "id",
    [None, "", "msg_1", "01k9zj3b4v0000000000000000", "8" * 26, SESSION[:-1], SESSION[:-1] + "U"],
)
def test_only_canonical_ulids_are_ids_of_stored_messages(id: str | None) -> None:
    messages = [held(Message.user("x")).replace(id=id), held(Message.user("x"), 2)]
    assert [v.rule for v in validate(messages)] == ["id_is_a_ulid"]


# What a violation says, and about what


@requirement("S002-47")
def test_paths_lead_from_the_value_that_was_given() -> None:
    empty = Message.user("")
    full = Message.user("hi")
    assert validate(empty)[0].path == "$.content"
    assert validate([full, empty])[0].path == "$[1].content"
    assert validate((full, empty))[0].path == "$[1].content"
    assert validate(Request((full, empty)))[0].path == "$.messages[1].content"
    response = Response(Message.assistant(""), (Message.assistant("hi"), Message.assistant("")))
    paths = [violation.path for violation in validate(response)]
    assert paths == ["$.message.content", "$.alternatives[1].content"]


def test_a_violation_names_rule_message_and_block() -> None:
    message = answer([TextBlock("x"), ToolUseBlock("call_1", "x", {})], 3)
    (violation,) = validate([message])
    expected = Violation("tool_ids_are_ours", "$[0].content[1].id", ulid(3), 1, violation.problem)
    assert violation == expected
    text = str(violation)
    assert "tool_ids_are_ours" in text
    assert "$[0].content[1].id" in text
    assert ulid(3) in text
    assert violation.problem in text
    assert "message" not in str(validate(Message.user(""))[0]).split(":")[0]


def test_a_violation_is_a_value_that_json_can_hold() -> None:
    (violation,) = validate(Message.user(""))
    assert msgspec.json.decode(msgspec.json.encode(violation), type=Violation) == violation
    with pytest.raises(AttributeError):
        violation.rule = "other"  # type: ignore[misc]


@pytest.mark.parametrize("value", [None, 12, "text", [{"content": ""}], [3], {}])
def test_what_is_no_message_is_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        validate(value)


def test_nothing_is_wrong_with_nothing() -> None:
    assert validate([]) == []
    assert validate(Request()) == []


@given(il.conversations(stored=True, with_raw=True))
@some
@requirement("S002-47", "S002-49", "S002-59")
def test_what_a_session_holds_is_valid(messages: tuple[Message, ...]) -> None:
    assert validate(messages) == []
    assert [violation for message in messages for violation in validate(message)] == []


@given(il.requests(with_raw=True, failures=True), il.responses(with_raw=True))
@some
@requirement("S002-47", "S002-49", "S002-59")
def test_generated_exchanges_are_valid(sent: Request, received: Response) -> None:
    assert validate(sent) == []
    assert validate(received) == []


@given(il.conversations(stored=True))
@some
def test_validating_changes_nothing_and_says_the_same_again(messages: tuple[Message, ...]) -> None:
    messages = (*messages[1:], *messages[:1], Message.user(""))
    before = msgspec.json.encode(messages)
    assert validate(messages) == validate(messages) != []
    assert msgspec.json.encode(messages) == before
