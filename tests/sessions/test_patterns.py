"""Sessions learn which model does best on which kind of turn, and store no text for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

import interlingua as il
from interlingua.routing.router import PolicyFile, Router
from interlingua.sessions import Session
from interlingua.sessions.effects import SessionError
from interlingua.sessions.setting import default_router
from interlingua.store import usages as stored_patterns
from interlingua.store.base import Store
from interlingua.store.usages import PatternRow
from tests.sessions.talk import new_session, take_turn, trace, types
from tests.sessions.wires import MODELS
from tests.store.places import ask

ON = "schema_version = 1\n[pattern]\nenabled = true\nmin_sample_size = 3\n"
FIRST, OTHER = MODELS["anthropic"], MODELS["openai-chat"]


@pytest.fixture
def router(tmp_path: Path) -> Router:
    rules = tmp_path / "rules.toml"
    rules.write_text(ON)
    known = default_router()
    return Router(known.registry, known.capabilities, rules=PolicyFile(rules))


@pytest.fixture
def session(store: Store, router: Router, request: pytest.FixtureRequest) -> Session:
    """Of a user of its own, since all tests share one store."""
    return new_session(store, router=router, user_id=f"user of {request.node.name}")


def payloads(store: Store, session: Session, type: str) -> list[dict[str, object]]:
    return [event.payload for event in trace(store, session) if event.type == type]


def outcomes(store: Store, session: Session) -> list[tuple[str, int, float]]:
    sql = "SELECT model, failed_tools, success FROM pattern_turns WHERE session_id = ?"
    return sorted(ask(store, f"{sql} ORDER BY recorded_at", [session.id]))


def test_nothing_is_recorded_unless_it_is_enabled(store: Store) -> None:
    session = new_session(store)
    take_turn(session)
    assert outcomes(store, session) == []
    assert not any(type.startswith(("pattern.", "feedback.")) for type in types(store, session))


def test_the_outcome_of_a_turn_is_recorded_without_its_text(store: Store, session: Session) -> None:
    take_turn(session, "What is a SECRETWORD?", calls=True, failing=True)
    assert [row[:2] for row in outcomes(store, session)] == [(FIRST, 1)]
    (recorded,) = payloads(store, session, "pattern.recorded")
    assert recorded["model"] == FIRST
    assert 0 < float(str(recorded["success"])) < 1
    assert types(store, session).index("pattern.recorded") < types(store, session).index(
        "turn.completed"
    )
    rows = ask(store, "SELECT * FROM pattern_turns WHERE session_id = ?", [session.id])
    assert "SECRETWORD" not in repr(rows)


def test_the_model_that_did_best_serves_the_next_turn_of_that_kind(
    store: Store, session: Session
) -> None:
    for number in range(3):
        take_turn(session, f"@{OTHER} question {number}")
        session.rate("up")
    turn = session.begin("question 9")
    assert turn.model == OTHER
    assert turn.decision.record().mode is il.RoutingMode.PATTERN
    assert turn.decision.record().confidence == 1.0
    (matched,) = payloads(store, session, "pattern.matched")[-1:]
    assert (matched["model"], matched["sample_size"]) == (OTHER, 3)
    turn.cancel()


def test_a_choice_by_hand_against_the_recommendation_is_not_learned_from(
    store: Store, session: Session
) -> None:
    for number in range(4):
        take_turn(session, f"question {number}")
    before = len(outcomes(store, session))
    take_turn(session, f"@{OTHER} question 5")
    (dismissed,) = payloads(store, session, "pattern.override_dismissed")
    assert dismissed["model"] == OTHER
    assert len(outcomes(store, session)) == before


def test_what_the_user_does_next_says_how_good_the_answer_was(
    store: Store, session: Session
) -> None:
    take_turn(session, "a question")
    take_turn(session, "a question")
    take_turn(session, "something else")
    take_turn(session, f"@{OTHER} and now?")
    session.begin("one more").cancel()
    signals = [event["signal"] for event in payloads(store, session, "feedback.implicit")]
    assert signals == ["retried", "accepted", "overridden", "accepted"]
    sql = "SELECT success FROM pattern_turns WHERE session_id = ? AND signal = 'retried'"
    assert ask(store, sql, [session.id]) == [(0.0,)]


def test_a_fork_that_leaves_out_an_answer_counts_against_it(store: Store, session: Session) -> None:
    take_turn(session, "a question")
    session.fork(session.messages()[0].id)
    assert [e["signal"] for e in payloads(store, session, "feedback.implicit")] == ["edited"]


def test_a_rating_stands_against_what_the_user_does_later(store: Store, session: Session) -> None:
    take_turn(session, "a question")
    session.rate("up")
    take_turn(session, "a question")
    sql = "SELECT success, weight, rating FROM pattern_turns WHERE session_id = ?"
    assert ask(store, f"{sql} ORDER BY recorded_at", [session.id])[0] == (1.0, 3.0, "up")
    (rated,) = payloads(store, session, "feedback.explicit")
    assert rated["rating"] == "up"


def test_only_an_answer_can_be_rated(session: Session) -> None:
    with pytest.raises(SessionError, match="no answer to rate"):
        session.rate("up")
    take_turn(session)
    question = session.messages()[0].id
    with pytest.raises(SessionError, match=f"message {question}"):
        session.rate("up", question)
    with pytest.raises(ValueError, match="'up' or 'down'"):
        session.rate("great")  # type: ignore[arg-type]


def test_one_owner_never_learns_from_another(store: Store, router: Router) -> None:
    own = new_session(store, router=router, user_id="usr_a")
    for number in range(4):
        take_turn(own, f"question {number}")
    other = new_session(store, router=router, user_id="usr_b")
    take_turn(other, "question 9")
    assert payloads(store, other, "pattern.matched") == []
    assert payloads(store, own, "pattern.matched") != []


def test_old_and_surplus_turns_go(store: Store, session: Session) -> None:
    scope = "evictions"
    row = PatternRow(
        session_id=session.id, turn_id="", scope=scope, fingerprint="a", model="m", success=1.0
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stored_patterns, "MAX_TURNS", 3)
        for number in range(5):
            kind = "first" if number == 0 else "later"
            made = store.record_pattern(_replaced(row, f"t{number}", kind))
            expected = [("first", "capacity")] if number == 3 else []
            assert [tuple(old) for old in made] == expected
    sql = "UPDATE pattern_turns SET recorded_at = 1 WHERE scope = ?"
    ask(store, sql, [scope])
    assert store.record_pattern(_replaced(row, "t9", "new")) == [("later", "age")]
    assert store.pattern_kinds(scope) == [("new", "m", 1, 1.0)]
    assert store.reset_patterns(scope) == [("new", "reset")]
    assert store.pattern_kinds(scope) == []


def _replaced(row: PatternRow, turn_id: str, kind: str) -> PatternRow:
    return replace(row, turn_id=turn_id, fingerprint=kind)
