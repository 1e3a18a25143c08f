"""Objects that a gateway stores for its clients, and secrets of the store, on both engines."""

from __future__ import annotations

import interlingua as il
from interlingua.store.idempotency import ObjectList, ObjectRow

PLACE = ObjectList("tenant", "item", "parent")
ROWS = [ObjectRow(f"id{number}", number, b'{"n": %d}' % number) for number in range(5)]


def test_objects_are_listed_in_their_order(store: il.Store) -> None:
    store.put_objects(PLACE, ROWS, 60)
    assert [row.id for row in store.objects(PLACE)] == [row.id for row in ROWS]
    assert [row.seq for row in store.objects(PLACE, after=2)] == [3, 4]
    back = store.objects(PLACE, after=3, limit=2, newest_first=True)
    assert [row.seq for row in back] == [2, 1]
    found = store.object(PLACE, "id3")
    assert found is not None
    assert b"3" in found.body
    assert store.object(ObjectList("other", "item", "parent"), "id3") is None
    assert store.object(ObjectList("tenant", "item", "other"), "id3") is None


def test_an_object_is_replaced_and_removed(store: il.Store) -> None:
    store.put_objects(PLACE, ROWS, 60)
    store.put_objects(PLACE, [ObjectRow("id1", 1, b'{"n": 100}')], 60)
    found = store.object(PLACE, "id1")
    assert found is not None
    assert b"100" in found.body
    assert store.remove_object(PLACE, "id1")
    assert not store.remove_object(PLACE, "id1")
    assert [place for place, _ in store.objects_of_kind("item", 10)] == [PLACE] * 4
    store.remove_objects(PLACE)
    assert store.objects(PLACE) == []


def test_objects_expire_and_the_oldest_make_room(store: il.Store) -> None:
    store.put_objects(PLACE, ROWS[:2], -1)
    assert store.objects(PLACE) == []
    store.put_objects(PLACE, ROWS[2:], 60)
    store.forget_objects(sum(len(row.body) for row in ROWS[3:]))
    assert [row.seq for row in store.objects(PLACE)] == [3, 4]


def test_a_secret_is_made_once(store: il.Store) -> None:
    first = store.store_secret("one")
    assert len(first) == 32
    assert store.store_secret("one") == first
    assert store.store_secret("two") != first
