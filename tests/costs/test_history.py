"""Money over many messages: repricing, and who spent what."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest

import interlingua as il
from interlingua.costs import PriceTable, bundled, cost_by, priced, reprice

SONNET = "anthropic:claude-sonnet-4-6"
NEW = PriceTable.from_dict(
    {
        "pricing_version": "new",
        "models": {SONNET: {"input_per_mtok_usd": 6, "output_per_mtok_usd": 30}},
    }
)


def answer(
    usage: il.Usage | None,
    model: str | None = SONNET,
    at: datetime | None = datetime(2026, 5, 8, 12, tzinfo=UTC),
    session: str | None = "s1",
    user: str | None = None,
    team: str | None = None,
) -> il.Message:
    metadata = il.MessageMetadata(model=model, usage=usage, user_id=user, team_id=team)
    return il.Message(
        il.Role.ASSISTANT,
        (il.TextBlock("ok"),),
        session_id=session,
        created_at=at,
        metadata=metadata,
    )


@pytest.mark.requirement("S002-110", "S002-73")
def test_a_replayed_conversation_costs_the_exact_amount() -> None:
    """Recorded answers of three turns, one of them cached, priced as a session would."""
    wires = [
        {"input_tokens": 8, "output_tokens": 42},
        {"input_tokens": 61, "output_tokens": 18, "cache_creation_input_tokens": 2000},
        {"input_tokens": 5, "output_tokens": 7, "cache_read_input_tokens": 2000},
    ]
    messages = []
    for usage in wires:
        wire = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-6",
            "content": [{"type": "text", "text": "ok"}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": usage,
        }
        read = il.dialect("anthropic").read_response(wire).message.metadata.usage
        assert read is not None
        messages.append(answer(priced(read, SONNET, bundled("2026-05-08"))))
    total = cost_by(messages, "session")["s1"]
    assert [m.metadata.usage.cost_usd for m in messages] == [  # type: ignore[union-attr]
        Decimal("0.000654"),
        Decimal("0.007953"),
        Decimal("0.00072"),
    ]
    assert total.cost_usd == Decimal("0.009327")
    assert (total.messages, total.unpriced) == (3, 0)


@pytest.mark.requirement("S002-74")
def test_repricing_tells_old_and_new_cost_and_changes_nothing() -> None:
    message = answer(priced(il.Usage(8, 42), SONNET, bundled("2026-05-08")))
    before = il.dumps(message)
    (row,) = reprice([il.Message.user("hi"), message, answer(None)], NEW)
    assert (row.old, row.new) == (Decimal("0.000654"), Decimal("0.001308"))
    assert (row.old_version, row.usage.pricing_version) == ("2026-05-08", "new")
    assert row.changed
    assert il.dumps(message) == before


@pytest.mark.requirement("S002-74")
def test_repricing_keeps_the_old_cost_where_there_is_no_new_one_and_says_why() -> None:
    paid = priced(il.Usage(8, 42), SONNET)
    rows = list(
        reprice([answer(paid, "openai:gpt-4o"), answer(il.Usage(None, 3)), answer(paid, None)], NEW)
    )
    problems = ["unknown model 'openai:gpt-4o'", "input_tokens is unknown", "names no model"]
    for row, problem in zip(rows, problems, strict=True):
        assert row.new is None
        assert problem in (row.problem or "")
        assert row.usage == row.message.metadata.usage
        assert not row.changed


def test_repricing_goes_by_the_day_of_each_message_unless_told_otherwise() -> None:
    rates = {"input_per_mtok_usd": 1, "output_per_mtok_usd": 1, "valid_from": "2026-06-01"}
    earlier = {"input_per_mtok_usd": 9, "output_per_mtok_usd": 9, "valid_until": "2026-06-01"}
    table = PriceTable.from_dict(
        {"pricing_version": "n", "models": {SONNET: {**rates, "other_periods": [earlier]}}}
    )
    message = answer(il.Usage(1_000_000, 0))
    assert [row.new for row in reprice([message], table)] == [9]
    assert [row.new for row in reprice([message], table, then=False)] == [1]


def test_repricing_takes_messages_as_they_come() -> None:
    taken = 0

    def stream() -> Iterator[il.Message]:
        nonlocal taken
        while True:
            taken += 1
            yield answer(il.Usage(1, 1))

    rows = reprice(stream(), NEW)
    next(rows)
    assert taken == 1


@pytest.mark.requirement("S002-71")
def test_costs_are_grouped_by_every_key_with_a_group_for_those_without() -> None:
    cent = il.Usage(1, 1, cost_usd=Decimal("0.01"))
    late = datetime(2026, 5, 8, 23, 30, tzinfo=timezone(timedelta(hours=-2)))
    messages = [
        answer(cent, "a:b", session="s1", user="usr_1", team="team_1"),
        answer(cent, "a:c", session="s2", user="usr_1"),
        answer(cent, None, late, None),
        answer(il.Usage(5, 6), "a:b", None),
        answer(None),
    ]
    found = {
        key: {group: (spent.cost_usd, spent.messages) for group, spent in groups.items()}
        for key in ("session", "model", "day", "user", "team")
        for groups in [cost_by(messages, key)]  # type: ignore[arg-type]
    }
    one, two, three = Decimal("0.01"), Decimal("0.02"), Decimal("0.02")
    assert found["session"] == {"s1": (one, 2), "s2": (one, 1), None: (one, 1)}
    assert found["model"] == {"a:b": (one, 2), "a:c": (one, 1), None: (one, 1)}
    assert found["day"] == {"2026-05-08": (two, 2), "2026-05-09": (one, 1), None: (0, 1)}
    assert found["user"] == {"usr_1": (two, 2), None: (one, 2)}
    assert found["team"] == {"team_1": (one, 1), None: (three, 3)}
    assert list(found["user"]) == ["usr_1", None]
    assert cost_by(messages, "model")["a:b"].unpriced == 1
    with pytest.raises(ValueError, match="session, model, day, user, team"):
        cost_by(messages, "colour")  # type: ignore[arg-type]
