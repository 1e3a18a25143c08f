"""When a model or a provider is passed over, and when no longer. The clock is the test's own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.events import Bus
from interlingua.events.payloads import ProviderRecovered, ProviderUnavailable
from interlingua.model.exchange import ErrorKind
from interlingua.routing import availability as rules
from interlingua.routing.availability import EVENT_TYPES, Availability

SERVER = ErrorKind.SERVER_ERROR


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def account(clock: Clock) -> Availability:
    return Availability(clock)


def test_five_failures_in_a_row_mark_the_model_and_not_its_provider(account: Availability) -> None:
    for _ in range(4):
        assert account.failed("p:a", SERVER) == []
        assert account.why_not("p:a") is None
    (change,) = account.failed("p:a", SERVER)
    assert isinstance(change, ProviderUnavailable)
    assert (change.provider, change.model) == ("p", "p:a")
    assert account.why_not("p:a") == "p:a is marked unavailable: 5 calls failed in a row"
    assert account.why_not("p:b") is None
    assert account.failed("p:a", SERVER) == []


def test_failures_that_lie_too_far_apart_do_not_add_up(account: Availability, clock: Clock) -> None:
    for _ in range(20):
        account.failed("p:a", SERVER)
        clock.now += 31
    assert account.why_not("p:a") is None


def test_exactly_two_minutes_are_still_within_two_minutes(
    account: Availability, clock: Clock
) -> None:
    for _ in range(5):
        account.failed("p:a", SERVER)
        clock.now += 30
    assert account.why_not("p:a") is not None


def test_a_success_in_between_starts_the_count_anew(account: Availability) -> None:
    for _ in range(3):
        for _ in range(4):
            account.failed("p:a", SERVER)
        assert account.succeeded("p:a") == []
    assert account.why_not("p:a") is None


def test_three_marked_models_mark_the_provider(account: Availability) -> None:
    for model in ("p:a", "p:b", "p:c"):
        assert account.why_not("p:d") is None
        for _ in range(5):
            changes = account.failed(model, SERVER)
    assert [change.model for change in changes] == ["p:c", None]
    assert account.why_not("p:d") == "p is marked unavailable: 3 of its models fail"
    assert account.why_not("q:a") is None


def test_models_that_were_marked_long_ago_do_not_mark_the_provider(
    account: Availability, clock: Clock
) -> None:
    for model in ("p:a", "p:b", "p:c"):
        for _ in range(5):
            account.failed(model, SERVER)
        clock.now += 61
    assert account.why_not("p:d") is None


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_marks_the_provider_at_once(account: Availability, status: int) -> None:
    (change,) = account.failed("p:a", ErrorKind.OTHER, status)
    assert (change.provider, change.model) == ("p", None)
    assert account.why_not("p:b") == "p is marked unavailable: it rejects the API key"
    assert Availability().failed("p:a", ErrorKind.AUTH)


def test_two_network_errors_of_any_of_its_models_mark_the_provider(
    account: Availability, clock: Clock
) -> None:
    account.failed("p:a", ErrorKind.NETWORK)
    clock.now += 31
    account.failed("p:a", ErrorKind.NETWORK)
    assert account.why_not("p:a") is None
    clock.now += 30
    account.failed("p:b", ErrorKind.NETWORK)
    assert account.why_not("p:c") == "p is marked unavailable: it cannot be reached"


@pytest.mark.parametrize(
    "kind", [ErrorKind.INVALID_REQUEST, ErrorKind.CONTEXT_OVERFLOW, ErrorKind.CANCELLED]
)
def test_the_callers_own_faults_do_not_count(account: Availability, kind: ErrorKind) -> None:
    for _ in range(50):
        assert account.failed("p:a", kind) == []
    assert account.why_not("p:a") is None


def test_a_success_takes_the_marks_off_model_and_provider(account: Availability) -> None:
    for _ in range(5):
        account.failed("p:a", SERVER)
    account.failed("p:b", ErrorKind.AUTH)
    changes = account.succeeded("p:a")
    assert all(isinstance(change, ProviderRecovered) for change in changes)
    assert [change.model for change in changes] == ["p:a", None]
    assert account.why_not("p:a") is account.why_not("p:b") is None


def test_five_quiet_minutes_take_a_mark_off(account: Availability, clock: Clock) -> None:
    account.failed("p:a", ErrorKind.AUTH)
    clock.now += 200
    account.failed("p:a", ErrorKind.AUTH)  # an attempt: the minutes begin anew
    clock.now += 299
    assert account.expire() == []
    assert account.why_not("p:a") is not None
    clock.now += 1
    assert account.why_not("p:a") is None
    (change,) = account.expire()
    assert isinstance(change, ProviderRecovered)
    assert account.expire() == []


def test_a_mark_for_a_time_goes_when_the_time_is_over(account: Availability, clock: Clock) -> None:
    (change,) = account.mark("p:a", "asked to wait", 400)
    assert isinstance(change, ProviderUnavailable)
    assert change.for_seconds == 400
    clock.now += 399
    assert account.why_not("p:a") == "p:a is marked unavailable: asked to wait"
    clock.now += 1
    assert account.why_not("p:a") is None


def test_changes_are_events_of_the_catalogue(account: Availability) -> None:
    bus = Bus(strict=True)
    for change in [*account.failed("p:a", ErrorKind.AUTH), *account.succeeded("p:a")]:
        assert bus.emit(EVENT_TYPES[type(change)], change) is not None


def test_accounts_do_not_grow_without_end(
    account: Availability, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules, "MOST_MODELS", 10)
    for number in range(100):
        account.failed(f"p:{number}", SERVER)
    assert len(account._accounts) <= 10


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["p:a", "p:b", "q:a"]),
            st.sampled_from([*ErrorKind, None]),
            st.floats(0, 200),
        ),
        max_size=60,
    )
)
def test_every_removed_mark_is_reported(
    calls: list[tuple[str, ErrorKind | None, float]],
) -> None:
    clock = Clock()
    account = Availability(clock)
    marked: set[tuple[str, str | None]] = set()
    for model, kind, wait in calls:
        changes = account.succeeded(model) if kind is None else account.failed(model, kind)
        for change in changes:
            key = (change.provider, change.model)
            if isinstance(change, ProviderUnavailable):
                marked.add(key)
            else:
                assert key in marked
                marked.remove(key)
        for name in ("p:a", "p:b", "q:a"):
            is_marked = (name, name) in {(m, m) for _, m in marked} or (name[0], None) in marked
            assert (account.why_not(name) is not None) == is_marked
        clock.now += wait
        for change in account.expire():
            marked.remove((change.provider, change.model))
    clock.now += 1000
    account.expire()
    assert account.why_not("p:a") is None
