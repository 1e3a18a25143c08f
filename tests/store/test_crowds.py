"""Threads and processes that append to the same sessions: no gap, no repetition, one order."""

from __future__ import annotations

import threading

import pytest

from interlingua.model.ids import Ulids, now_ms
from interlingua.model.message import Message
from interlingua.store.base import Store
from interlingua.store.open import open_store
from tests.store.crowds import Told, append_often, check, finish, in_threads, start_processes
from tests.store.kills import WrongError

requirement = pytest.mark.requirement


@requirement("S002-64")
def test_sixty_four_threads_append_in_one_order(store: Store) -> None:
    one = [store.create_session("/w").id]
    several = [store.create_session("/w").id for _ in range(5)]
    assert check(store, in_threads(store, one, 64, 4)) == 256
    assert check(store, in_threads(store, several, 64, 4)) == 256


@requirement("S002-64")
def test_eight_processes_append_in_one_order(store: Store, address: str) -> None:
    one, *several = [store.create_session("/w").id for _ in range(4)]
    children = start_processes(address, [one, *several, one, one], 8, 24)
    assert check(store, finish(children)) == 192


def test_ids_grow_though_the_clocks_of_two_programs_differ(store: Store, address: str) -> None:
    """While both wait for the same session, neither sees at first what the other wrote."""
    session = store.create_session("/w").id
    with open_store(address) as ahead:
        ahead._do.ulids = Ulids(clock=lambda: now_ms() + 3_600_000)
        collected: list[Told] = []
        callers = [
            threading.Thread(
                target=lambda place=place, name=name: collected.extend(  # type: ignore[misc]  # ditto
                    append_often(place, [session], name, 30)
                )
            )
            for place, name in ((store, "a"), (ahead, "b"), (store, "c"), (ahead, "d"))
        ]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
    assert check(store, collected) == 120


def test_threads_and_processes_append_in_one_order(store: Store, address: str) -> None:
    one = [store.create_session("/w").id]
    children = start_processes(address, one, 3, 20)
    result = in_threads(store, one, 16, 20)
    assert check(store, result + finish(children)) == 380


def test_the_check_notices_what_is_out_of_order(store: Store) -> None:
    session = store.create_session("/w").id
    store.append(session, [Message.user("a 0"), Message.user("b 0")])
    first, second = Told(session, "a 0", 1, 1.0, 4.0), Told(session, "b 0", 2, 2.0, 3.0)
    assert check(store, [first, second]) == 2
    with pytest.raises(WrongError, match="a gap"):
        check(store, [first])
    with pytest.raises(WrongError, match="not where it was said"):
        check(store, [first._replace(seq=2), second._replace(seq=1)])
    with pytest.raises(WrongError, match="smaller number"):
        check(store, [first._replace(began=3.5), second])
