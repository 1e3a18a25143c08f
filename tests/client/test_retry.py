"""When to try again and how long to wait: laws over whatever a server may say."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import interlingua as il
from interlingua.client import (
    CallError,
    CallTimeoutError,
    NetworkError,
    RateLimitError,
    RetryPolicy,
    ServerError,
)
from interlingua.client.errors import CLASSES
from interlingua.client.retry import is_retryable, requested_delay, retry_after
from tests.effort import examples

NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
chances = st.floats(0, 1)
values = st.one_of(
    st.text(max_size=40),
    st.floats().map(str),
    st.integers().map(str),
    st.integers(-(10**6), 10**6).map(lambda s: format_datetime(NOW + timedelta(seconds=s))),
    st.datetimes().map(str),
    st.sampled_from(["", "-1", "nan", "inf", "1e309", "0x10", "1_000", "٣", "9" * 5000, "1,5"]),
)


@given(values, values, st.integers(0, 5), chances)
@settings(max_examples=examples(2000))
def test_no_wait_is_negative_or_longer_than_we_are_patient(
    header: str, millis: str, retries: int, chance: float
) -> None:
    asked = retry_after({"retry-after": header, "retry-after-ms": millis}, NOW)
    assert asked is None or 0 <= asked < float("inf")
    policy = RetryPolicy()
    wait = policy.wait(RateLimitError("slow down", retry_after=asked), retries, chance)
    if retries >= policy.max_retries or (asked is not None and asked > policy.patience):
        assert wait is None
    else:
        assert wait is not None
        assert 0 <= wait <= 60
        assert asked is None or wait >= min(asked, 60)


@given(st.integers(0, 200), chances)
def test_waits_double_from_a_second_to_half_a_minute_give_or_take_a_quarter(
    retries: int, chance: float
) -> None:
    wait = RetryPolicy(max_retries=1000).wait(ServerError("down"), retries, chance)
    assert wait is not None
    usual = 2.0**retries
    assert min(0.75 * usual, 30) <= wait <= min(1.25 * usual, 30)


def test_the_spellings_of_a_wait() -> None:
    assert retry_after({"retry-after": "2"}) == 2
    assert retry_after({"retry-after": " 2.5 "}) == 2.5
    assert retry_after({"retry-after": "30", "retry-after-ms": "1500"}) == 1.5
    then = format_datetime(NOW + timedelta(seconds=90), usegmt=True)
    assert retry_after({"retry-after": then}, NOW) == 90
    assert retry_after({"retry-after": format_datetime(NOW - timedelta(1))}, NOW) == 0
    assert retry_after({}) is None
    details = [{"@type": "…ErrorInfo"}, {"@type": "…RetryInfo", "retryDelay": "34.5s"}]
    assert requested_delay({"error": {"details": details}}) == 34.5
    assert requested_delay({"error": {"details": ["odd", {"retryDelay": 5}]}}) is None
    assert requested_delay(["odd"]) is None


@pytest.mark.parametrize("kind", list(il.ErrorKind))
def test_only_three_kinds_are_tried_again(kind: il.ErrorKind) -> None:
    expected = kind in (il.ErrorKind.RATE_LIMIT, il.ErrorKind.SERVER_ERROR, il.ErrorKind.NETWORK)
    assert is_retryable(CLASSES[kind]("odd")) is expected
    assert CLASSES[kind].kind is kind


def test_what_may_have_been_done_already_is_not_tried_again() -> None:
    def timed(phase: str, sent: bool) -> CallError:
        error = CallTimeoutError("late")
        error.phase, error.sent = phase, sent
        return error

    assert is_retryable(timed("connect", sent=False))
    assert not is_retryable(timed("total", sent=True))
    assert not is_retryable(timed("deadline", sent=False))
    begun = NetworkError("broke off")
    begun.begun = True
    assert not is_retryable(begun)
    tls = NetworkError("not trusted")
    tls.phase = "tls"
    assert not is_retryable(tls)
    partial = il.Response(il.Message.assistant("Half"))
    assert not is_retryable(ServerError("down", partial=partial))
    assert not is_retryable(RateLimitError("pay first", code="insufficient_quota"))


def test_a_kind_of_failure_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="nonsense"):
        il.Client(fallback_on=["nonsense"])  # type: ignore[list-item]  # what is refused
