"""What a session holds keeps every rule, whatever way a message came in, or it was refused."""

from __future__ import annotations

import asyncio
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings

import interlingua as il
from interlingua.model.message import APPENDED
from interlingua.model.metadata import MessageStatus
from interlingua.sessions.effects import SessionError
from interlingua.store.base import Store
from interlingua.store.errors import InvalidError, StoreError
from interlingua.store.open import open_async_store
from tests.effort import examples
from tests.laws import strategies
from tests.sessions.talk import new_session, opened, take_turn
from tests.store.places import TU_1, TU_2, ask

requirement = pytest.mark.requirement
some = settings(max_examples=examples(25), suppress_health_check=list(HealthCheck), deadline=None)

CALL = il.ToolUseBlock("toolu_1", "read_file", {"path": "README.md"})
TRANSCRIPT = (
    il.Message.system("Be brief."),
    il.Message.user("Summarize README.md"),
    il.Message.assistant(["I'll read it.", CALL]),
    il.Message.tool_result("toolu_1", "# Project Foo"),
    il.Message.assistant("It describes Project Foo."),
)


@requirement("S002-56", "S002-57", "S002-58")
def test_a_transcript_is_held_with_what_is_known_of_its_answers(store: Store) -> None:
    session = new_session(store)
    session.append(*TRANSCRIPT)
    answers = [m.metadata for m in session.messages() if m.role is il.Role.ASSISTANT]
    assert il.validate(session.messages()) == []
    assert [m.model for m in answers] == ["unknown:unknown"] * 2
    assert [m.provider for m in answers] == ["unknown"] * 2
    assert {m.routing.reason for m in answers if m.routing} == {APPENDED}
    assert [m.usage for m in answers] == [il.Usage()] * 2


@pytest.mark.parametrize(
    ("given_metadata", "model", "provider"),
    [
        ({"model": "openai:gpt-5"}, "openai:gpt-5", "openai"),
        ({"model": "gpt-5", "provider": "openai"}, "openai:gpt-5", "openai"),
        ({"provider": "openai"}, "openai:unknown", "openai"),
        ({"response_model": "gpt-5-2025", "provider": "openai"}, "openai:gpt-5-2025", "openai"),
        ({"model": "llama3:8b", "provider": "ollama"}, "ollama:llama3:8b", "ollama"),
        ({"response_model": "gpt-5"}, "unknown:gpt-5", "unknown"),
    ],
)
def test_what_is_known_of_model_and_provider_is_kept(
    store: Store, given_metadata: dict[str, str], model: str, provider: str
) -> None:
    session = new_session(store)
    answer = il.Message.assistant("hi", il.MessageMetadata(**given_metadata))  # type: ignore[arg-type]
    session.append(il.Message.user("hi"), answer)
    metadata = session.messages()[1].metadata
    assert (metadata.model, metadata.provider) == (model, provider)
    assert il.validate(session.messages()) == []


def test_what_was_not_counted_here_costs_nothing_here(store: Store) -> None:
    session = new_session(store)
    session.append(*TRANSCRIPT)
    assert session.cost() == Decimal(0)
    assert list(store.usages(session_id=session.id)) == []


def test_an_answer_of_unknown_origin_is_told_again_as_before(store: Store) -> None:
    """Its thinking goes to the provider that can read it, as it does without a session."""
    session = new_session(store)
    signed = il.ThinkingBlock("hm", "c2lnbmVk")
    session.append(il.Message.user("hi"), il.Message.assistant([signed, il.TextBlock("hello")]))
    result = il.retell(il.Request(tuple(session.messages())), "anthropic", "claude-sonnet-4-6")
    assert isinstance(result.value, il.Request)
    assert result.value.messages[1].content[0] == signed


@requirement("S002-56", "S002-57", "S002-58")
def test_the_store_alone_holds_answers_the_same_way(store: Store) -> None:
    session = store.create_session("/w").id
    store.append(session, [il.Message.user("hi"), il.Message.assistant("hello")])
    partial = il.MessageMetadata(status=MessageStatus.PARTIAL)
    (begun,) = store.append(session, [il.Message.assistant("so", partial)]).messages
    store.save(begun.replace(metadata=il.MessageMetadata(stop_reason=il.StopReason.END_TURN)))
    assert il.validate(store.messages(session)) == []


@pytest.mark.parametrize(
    ("sent", "rule"),
    [
        ([il.Message.tool_result(TU_1, "x")], "result_answers_an_earlier_call"),
        ([il.Message(il.Role.USER)], "not_empty"),
        ([il.Message(il.Role.USER, (il.ThinkingBlock("hm"),))], "placement"),
        ([il.Message.user("a").replace(id="01HZ001")], "id_is_a_ulid"),
        ([il.Message.assistant(CALL)], "tool_ids_are_ours"),
        ([il.Message.assistant("a", il.MessageMetadata(model="a b"))], "model_id_has_its_form"),
        (
            [
                il.Message.assistant(CALL.replace(id=TU_2)),
                il.Message.tool_result(TU_2, "x"),
                il.Message.tool_result(TU_2, "y"),
            ],
            "call_is_answered_once",
        ),
    ],
)
def test_the_store_refuses_what_no_session_may_hold(
    store: Store, sent: list[il.Message], rule: str
) -> None:
    session = store.create_session("/w").id
    with pytest.raises(InvalidError) as refused:
        store.append(session, sent)
    assert (refused.value.violation.rule, refused.value.reason) == (rule, "invalid")
    assert store.messages(session) == []
    assert store.tool_calls(session) == []
    assert store.session(session).message_count == 0


def test_a_saved_message_keeps_the_rules_too(store: Store) -> None:
    session = store.create_session("/w").id
    (message,) = store.append(session, [il.Message.user("hi")]).messages
    with pytest.raises(InvalidError):
        store.save(message.replace(content=()))
    assert store.messages(session) == [message]


def test_a_result_may_come_later_and_once(store: Store) -> None:
    session = store.create_session("/w").id
    store.append(session, [il.Message.assistant(CALL.replace(id=TU_1))])
    store.append(session, [il.Message.tool_result(TU_1, "x")])
    with pytest.raises(InvalidError, match="call_is_answered_once"):
        store.append(session, [il.Message.tool_result(TU_1, "y")])
    assert il.validate(store.messages(session)) == []


def test_rows_that_older_versions_left_without_provenance_are_held_with_it(store: Store) -> None:
    session = new_session(store)
    session.append(il.Message.user("hi"), il.Message.assistant("hello"))
    empty = "{}" if not store.where.startswith("postgresql") else b"{}"
    ask(store, "UPDATE messages SET metadata_json = ? WHERE session_id = ?", [empty, session.id])
    reopened = opened(store, session.id)
    assert il.validate(reopened.messages()) == []
    take_turn(reopened, "go on", 1)


@given(messages=strategies.conversations())
@some
def test_any_conversation_is_held_or_refused(
    store: Store, messages: tuple[il.Message, ...]
) -> None:
    session = new_session(store)
    try:
        session.append(*messages)
    except (SessionError, StoreError):
        assert session.messages() == []
    assert il.validate(session.messages()) == []
    assert il.validate(store.messages(session.id)) == []


def test_event_loops_are_told_the_same(address: str) -> None:
    async def work() -> None:
        async with await open_async_store(address) as store:
            session = (await store.create_session("/w")).id
            with pytest.raises(InvalidError):
                await store.append(session, [il.Message.tool_result(TU_1, "x")])
            (message,) = (await store.append(session, [il.Message.user("a")])).messages
            with pytest.raises(InvalidError):
                await store.save(message.replace(content=()))

    asyncio.run(work())


def test_a_models_answer_without_a_word_is_held_as_it_is(store: Store) -> None:
    """As when a filter left nothing of it: it says why it stopped."""
    filtered = il.MessageMetadata(stop_reason=il.StopReason.CONTENT_FILTER)
    session = new_session(store)
    session.append(il.Message.user("hi"), il.Message(il.Role.ASSISTANT, metadata=filtered))
    assert il.validate(session.messages()) == []
