"""A turn: from a user's message to the answer that ends it."""

from __future__ import annotations

import logging
from decimal import Decimal

import pytest

import interlingua as il
from interlingua.costs.table import PriceTable
from interlingua.events.bus import Bus
from interlingua.events.event import Event
from interlingua.events.log import Filter
from interlingua.routing.decision import NoModelError
from interlingua.routing.registry import ModelEntry, Registry
from interlingua.routing.router import Router
from interlingua.sessions import Session, TurnError
from interlingua.sessions.effects import run
from interlingua.sessions.setting import lookup
from interlingua.store.base import Store
from tests.sessions.talk import new_session, results_of, take_turn, trace, types
from tests.sessions.wires import ERRORS, MODELS, TOOLS, answer, image

SONNET = MODELS["anthropic"]

PRICES = PriceTable.from_dict(
    {
        "pricing_version": "2026-05-08",
        "models": {
            SONNET: {"input_per_mtok_usd": "3.00", "output_per_mtok_usd": "15.00"},
            "openai:gpt-5": {"input_per_mtok_usd": "1.25", "output_per_mtok_usd": "10.00"},
        },
    }
)


def hello(text: str = "Hello!") -> dict[str, object]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-6",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 8, "output_tokens": 42},
    }


@pytest.mark.requirement("S002-88", "S002-110")
def test_the_first_worked_example_to_the_last_digit(store: Store) -> None:
    session = new_session(store, prices=PRICES)
    ticks = iter([10.0, 10.82, 10.82, 10.82, 10.82])
    turn = session.begin("hi")
    call = turn.call(clock=lambda: next(ticks))
    call.complete(hello())
    asked, content = store.messages(session.id)
    assert (asked.role, asked.text) == (il.Role.USER, "hi")
    assert (content.role, content.text) == (il.Role.ASSISTANT, "Hello!")
    usage, routing = content.metadata.usage, content.metadata.routing
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens) == (8, 42)
    assert str(usage.cost_usd) == "0.000654"
    assert usage.pricing_version == "2026-05-08"
    assert usage.latency_ms == 820
    assert routing is not None
    assert (routing.mode, routing.reason) == (il.RoutingMode.DEFAULT, "workspace default")
    assert routing.chosen_model == content.metadata.model == SONNET
    assert il.validate(store.messages(session.id)) == []
    assert session.cost() == Decimal("0.000654")


@pytest.mark.requirement("S002-89", "S002-110")
def test_the_tool_round_of_the_second_example(store: Store) -> None:
    session = new_session(store, prices=PRICES)
    take_turn(session, "Read a.txt", calls=True)
    messages = store.messages(session.id)
    roles = [message.role.value for message in messages]
    assert roles == ["user", "assistant", "tool", "tool", "assistant"]
    _, called, first, second, content = messages
    ours = [call.id for call in called.tool_calls if call.executor == "client"]
    assert [first.metadata.parent_tool_use_id, second.metadata.parent_tool_use_id] == ours
    assert content.text == "It is so."
    assert session.cost() == Decimal("0.001308")
    turns = {event.turn_id for event in trace(store, session) if event.type.startswith("llm.")}
    assert len(turns) == 1, "the last two messages belong to the same turn"
    assert il.validate(messages) == []
    assert {row.status for row in store.tool_calls(session.id)} == {"succeeded"}


@pytest.mark.requirement("S002-90", "S002-91")
def test_after_a_change_of_model_the_third_turn_is_the_other_models(store: Store) -> None:
    session = new_session(store, prices=PRICES)
    take_turn(session, "One", 1)
    take_turn(session, "Two", 2, calls=True)
    seen = {row.id for row in store.tool_calls(session.id)}
    assert session.swap("openai:gpt-5") is False
    turn = session.begin("Three")
    call = turn.call()
    assert call.adapter.dialect.name == "openai-chat"
    assert all(message["role"] != "system" for message in call.wire["messages"])
    content = call.complete(answer("openai-chat", 7, calls=True))
    known = content.metadata
    assert (known.model, known.provider) == ("openai:gpt-5", "openai")
    assert known.routing is not None
    assert known.routing.mode is il.RoutingMode.MANUAL
    assert "/model" in known.routing.reason
    fresh = {made.id for made in content.tool_calls}
    assert len(fresh) == 2
    assert not fresh & seen
    turn.results(*results_of(turn))
    again = turn.call().wire["messages"]
    assert [m["tool_call_id"] for m in again if m["role"] == "tool"][-2:] == [
        "call_00000000000000000070",
        "call_00000000000000000071",
    ]


@pytest.mark.requirement("S002-109")
def test_what_is_left_out_is_logged_with_the_session_and_is_no_event(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    session = new_session(store)
    take_turn(session, "One", 1)
    thought = store.messages(session.id)[1]
    session.swap("openai:gpt-5")
    caplog.clear()
    turn = session.begin("Two")
    call = turn.call()
    assert caplog.records == [], "nothing has been left out of anything yet"
    assert call.wire
    collected = [r.__dict__ for r in caplog.records if r.getMessage() == "block_dropped"]
    kinds = sorted(record["block_type"] for record in collected)
    assert kinds == ["redacted_thinking", "thinking", "tool_result", "tool_use"]
    for record in collected:
        assert record["levelno"] == logging.WARNING
        assert record["session_id"] == session.id
        assert record["message_id"] == thought.id
        assert record["adapter"] == "openai-chat"
        assert record["reason"]
    call.complete(answer("openai-chat"))
    assert [t for t in types(store, session) if "drop" in t or "loss" in t] == []
    again = len([r for r in caplog.records if r.getMessage() == "block_dropped"])
    assert again == len(collected), "once for each request, however often the wire is looked at"


@pytest.mark.requirement("S002-55")
def test_input_that_does_not_fit_is_told_when_it_arrives(store: Store) -> None:
    pytest.importorskip("jsonschema_rs", reason="the extra `schema` is not installed")
    session = new_session(store, "openai-chat")
    wire = answer("openai-chat", 1, calls=True)
    wire["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] = '{"path":1234567}'
    turn = session.begin("Read it")
    content = turn.call().complete(wire)
    (collected,) = [e for e in trace(store, session) if e.type == "tool.input_invalid"]
    assert collected.payload["tool_name"] == "read_file"
    assert collected.payload["tool_use_id"] == content.tool_calls[0].id
    assert [each["path"] for each in collected.payload["validation_errors"]] == ["$.path"]
    assert "1234567" not in str(collected.payload)
    completed = next(e for e in trace(store, session) if e.type == "llm.call_completed")
    assert collected.parent_event_id == completed.id
    assert content.tool_calls[0].input == {"path": 1234567}, "what a model said is kept"
    assert not turn.ended


def test_events_stand_in_their_order_and_name_their_cause(store: Store) -> None:
    session = new_session(store)
    turn = session.begin("Read it")
    turn.call().complete(answer("anthropic", 1, calls=True))
    for id, name in turn.open_calls().items():
        called = {"input_hash": "0" * 64, "input_size": 1, "side_effects": "read"}
        turn.trace.emit("tool.called", {"tool_use_id": id, "name": name, **called})
        done = {"success": True, "output_size": 4, "latency_ms": 1}
        turn.trace.emit("tool.completed", {"tool_use_id": id, "name": name, **done})
    turn.results(*results_of(turn))
    turn.call().complete(answer("anthropic", 2))
    events = trace(store, session)
    assert [event.type for event in events] == [
        "session.created",
        "turn.started",
        "route.decided",
        "llm.call_started",
        "llm.call_completed",
        "tool.called",
        "tool.completed",
        "tool.called",
        "tool.completed",
        "llm.call_started",
        "llm.call_completed",
        "turn.completed",
    ]
    ids = [event.id for event in events]
    assert ids == sorted(ids)
    causes = [None if e.parent_event_id is None else ids.index(e.parent_event_id) for e in events]
    assert causes == [None, None, 1, 1, 3, 4, 5, 4, 7, 8, 9, 1]
    assert {event.turn_id for event in events[1:]} == {turn.id}
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    last = events[-1].payload
    assert (last["llm_call_count"], last["tool_call_count"]) == (2, 2)
    assert (last["input_tokens"], last["output_tokens"]) == (16, 84)
    assert last["stop_reason"] == "end_turn"


def test_nothing_that_was_said_is_in_the_events(store: Store) -> None:
    pytest.importorskip("jsonschema_rs", reason="the extra `schema` is not installed")
    session = new_session(store, system="SECRET instructions", user_id="usr_1", team_id="team_1")
    turn = session.begin([il.TextBlock("SECRET question"), image()])
    wire = answer("anthropic", 1, calls=True, text="SECRET answer")
    wire["content"][-1]["input"] = {"city": ["SECRET"]}
    turn.call().complete(wire)
    secret = [il.Message.tool_result(id, "SECRET result") for id in turn.open_calls()]
    turn.results(*secret)
    call = turn.call()
    call.fail(il.ProviderError(il.ErrorKind.INVALID_REQUEST, "odd prompt: SECRET", "bad_prompt"))
    turn.call().complete(answer("anthropic", 2, text="SECRET end"))
    session.swap("openai:gpt-5")
    session.end()
    for event in trace(store, session):
        assert "SECRET" not in str(event.payload), event.type
    (ended,) = [e for e in trace(store, session) if e.type == "turn.completed"]
    assert (ended.payload["user_id"], ended.payload["team_id"]) == ("usr_1", "team_1")
    assert {m.metadata.user_id for m in session.messages() if m.role is il.Role.ASSISTANT} == {
        "usr_1"
    }


@pytest.mark.requirement("S002-39", "S002-41")
def test_each_turn_has_one_decision_and_its_summary_is_on_every_answer(store: Store) -> None:
    session = new_session(store)
    take_turn(session, "One", 1, calls=True)
    take_turn(session, "@gemini-flash Two", 2)
    session.swap("openai:gpt-5")
    take_turn(session, "Three", 3, calls=True)
    decided = [e for e in trace(store, session) if e.type == "route.decided"]
    assert [e.payload["winner_index"] for e in decided] == [5, 0, 1]
    assert len({e.turn_id for e in decided}) == 3
    answers = [m.metadata for m in session.messages() if m.role is il.Role.ASSISTANT]
    modes = [known.routing.mode.value for known in answers if known.routing]
    assert modes == ["default", "default", "override", "manual", "manual"]
    for known in answers:
        assert known.routing is not None
        assert known.routing.chosen_model == known.model


def router(*models: str, default: str | None = None) -> Router:
    return Router(
        Registry(ModelEntry(id=model) for model in models), lookup, global_default=default
    )


def test_a_turn_without_a_model_is_decided_once_and_does_not_start(store: Store) -> None:
    session = Session.create(store, tools=TOOLS, router=router("openrouter:microsoft/phi-4"))
    with pytest.raises(NoModelError):
        session.begin("hi")
    assert types(store, session) == ["session.created", "route.decided"]
    decided = trace(store, session)[-1].payload
    assert decided["winner_index"] == -1
    assert decided.get("chosen_model") is None
    assert len(decided["chain"]) == 7
    assert session.messages() == []
    assert not session.in_turn
    assert "none" in session.show()


@pytest.mark.requirement("S002-84", "S002-82")
def test_a_turn_with_tools_falls_through_to_a_model_that_takes_them(store: Store) -> None:
    without, with_tools = "openrouter:microsoft/phi-4", "openai:gpt-4.1"
    value = router(without, with_tools, default=with_tools)
    session = Session.create(store, model=without, tools=TOOLS, router=value)
    turn = session.begin("hi")
    assert turn.model == with_tools
    rejected = turn.decision.chain[5]
    assert (rejected.candidate_model, rejected.validation_failure) == (without, "no_tool_support")


def test_a_failed_call_leaves_its_message_and_the_turn_goes_on(store: Store) -> None:
    session = new_session(store)
    turn = session.begin("hi")
    turn.call().complete(ERRORS["anthropic"])
    assert session.in_turn
    turn.call().complete(hello())
    assert turn.ended
    statuses = [m.metadata.status.value for m in session.messages()[1:]]
    assert statuses == ["error", "complete"]
    result = types(store, session)
    assert result[3:] == [
        "llm.call_started",
        "llm.call_failed",
        "llm.call_started",
        "llm.call_completed",
        "turn.completed",
    ]
    failed = next(e for e in trace(store, session) if e.type == "llm.call_failed")
    assert failed.payload["error_class"] == "rate_limit"
    assert result.count("route.decided") == 1
    turn = session.begin("again")
    items = [m["role"] for m in turn.call().wire["messages"]]
    assert items == ["user", "assistant", "user"], "failed answers are not told again"


def test_calls_of_a_failed_answer_are_never_to_be_run(store: Store) -> None:
    session = new_session(store)
    turn = session.begin("hi")
    call = turn.call()
    for piece in _halves(answer("anthropic", 1, calls=True))[0]:
        call.feed(piece)
    failed = call.fail(il.ProviderError(il.ErrorKind.NETWORK, "lost"))
    assert [c.name for c in failed.tool_calls if c.executor == "client"]
    assert turn.open_calls() == {}
    assert session.unanswered() == {}
    assert store.unanswered(session.id) == []
    call = turn.call()
    assert [m["role"] for m in call.wire["messages"]] == ["user"]
    call.complete(hello())
    assert turn.ended


def _halves(wire: dict[str, object]) -> tuple[list[bytes], list[bytes]]:
    from tests.sessions.wires import stream

    pieces = stream("anthropic", wire)
    begun = next(i for i, piece in enumerate(pieces) if b'"tool_use"' in piece)
    return pieces[: begun + 2], pieces[begun + 2 :]


def test_the_next_request_waits_for_all_results(store: Store) -> None:
    session = new_session(store)
    turn = session.begin("hi")
    turn.call().complete(answer("anthropic", 1, calls=True))
    first, second = results_of(turn)
    turn.results(first)
    with pytest.raises(TurnError, match="get_weather"):
        turn.call()
    turn.results(second)
    assert turn.call().wire


def test_there_is_one_turn_at_a_time_and_one_answer_for_a_call(store: Store) -> None:
    session = new_session(store)
    turn = session.begin("hi")
    with pytest.raises(TurnError, match="in progress"):
        session.begin("and?")
    call = turn.call()
    call.complete(hello())
    with pytest.raises(TurnError):
        call.complete(hello())
    with pytest.raises(TurnError):
        turn.call()
    assert len(session.messages()) == 2
    session.begin("and?")


def test_a_turn_begins_with_a_users_message(store: Store) -> None:
    session = new_session(store)
    with pytest.raises(TurnError, match="user"):
        session.begin(il.Message.assistant("I speak first"))
    assert session.messages() == []
    assert not session.in_turn


@pytest.mark.requirement("S002-64")
def test_ids_of_messages_are_ours_and_grow(store: Store) -> None:
    session = new_session(store)
    for number in range(3):
        take_turn(session, "Go on", number, calls=True)
    ids = [message.id for message in store.messages(session.id)]
    assert len(ids) == 15
    assert ids == sorted(set(ids), key=str)


@pytest.mark.requirement("S002-29")
def test_what_is_critical_is_said_or_nothing_is(store: Store) -> None:
    session = new_session(store)
    turn = session.begin("hi")
    made = turn.call().complete(answer("anthropic", 1))
    store.save(made.replace(metadata=made.metadata.replace(critical=True)))
    session.reload()
    assert session.plan("openai:gpt-5").critical
    session.swap("openai:gpt-5")
    call = session.begin("and?").call()
    with pytest.raises(il.LossError, match="thinking"):
        _ = call.wire
    call.fail(il.ProviderError(il.ErrorKind.INVALID_REQUEST, "cannot be said"))
    assert session.in_turn


def test_with_a_bus_the_events_go_there_in_the_same_order(store: Store) -> None:
    heard: list[str] = []

    async def listen(event: Event) -> None:
        heard.append(event.type)

    with Bus(strict=True) as bus:
        bus.subscribe(listen, name="test")
        session = new_session(store, bus=bus)
        take_turn(session, "One", 1, calls=True)
        bus.flush_sync()
    plain = new_session(store)
    take_turn(plain, "One", 1, calls=True)
    assert [type for type in heard if not type.startswith("bus.")] == types(store, plain)
    assert types(store, session) == types(store, plain), "no sink stores them, so the session does"


def test_a_bus_delivers_what_the_store_has(store: Store) -> None:
    """Events of two sessions come in the order in which they are stored, not of their ids."""
    heard: list[tuple[str, bool]] = []

    async def listen(event: Event) -> None:
        there = [row.id for row in store.events(event.session_id)]
        heard.append((event.type, event.id in there))

    with Bus(strict=True) as bus:
        early, late = new_session(store, bus=bus), new_session(store, bus=bus)
        early._core.recorder.emit("feedback.explicit", {"message_id": "m", "rating": "up"})
        late.begin("hi").cancel()
        bus.subscribe(listen, name="test", filter=Filter.of(session_ids=[early.id]))
        early.begin("hi").cancel()
        bus.flush_sync()
    names = ["feedback.explicit", "turn.started", "route.decided", "turn.cancelled"]
    assert heard == [(name, True) for name in names]


def test_events_that_arrive_while_others_are_stored_are_stored_next(store: Store) -> None:
    session = new_session(store)
    recorder = session._core.recorder
    recorder.emit("session.resumed", {"message_count": 1})
    steps = recorder.stored()
    step = next(steps)
    recorder.emit("session.resumed", {"message_count": 2})
    with pytest.raises(StopIteration):
        steps.send(step(store))
    run(store, recorder.stored())
    counts = [row.payload["message_count"] for row in store.events(session.id)[-2:]]
    assert counts == [1, 2]


def test_a_bus_that_is_full_does_not_stop_a_conversation(store: Store) -> None:
    bus = Bus(capacity=2)
    session = new_session(store, bus=bus)
    take_turn(session, "One", 1, calls=True)
    take_turn(session, "Two", 2)
    assert len(session.messages()) == 7
    assert il.validate(session.messages()) == []


def test_without_a_validator_answers_are_kept_unchecked(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object) -> None:
        raise il.MissingExtraError("schema", "checking the input of tools")

    registry = il.ToolRegistry()
    for tool in TOOLS:
        registry.register(tool)
    monkeypatch.setattr(registry, "validate_input", missing)
    session = new_session(store, tools=registry)
    take_turn(session, "One", 1, calls=True)
    assert len(session.messages()) == 5
