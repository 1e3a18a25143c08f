"""The parts of C7: answers in memory, what is recorded, and whose a request is in the store."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import interlingua as il
from interlingua.dialects.framing import encoder
from interlingua.gateway.idempotency.replies import (
    OVERHEAD,
    Recording,
    Reply,
    ReplyCache,
    is_whole_stream,
    pack,
    unpack,
)
from interlingua.store.base import Store
from interlingua.store.idempotency import Claim
from interlingua.store.open import open_store
from tests.effort import examples
from tests.store.places import ask


@pytest.fixture
def store(address: str) -> Iterator[Store]:
    with open_store(address) as opened:
        yield opened


def reply(size: int = 10, status: int = 200) -> Reply:
    return Reply("p", "req_1", status, ((b"content-type", b"text/plain"),), b"x" * size)


# In memory

puts = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 6), st.integers(0, 4000), st.floats(0, 30)),
    max_size=80,
)


@given(puts)
@settings(max_examples=examples(200))
def test_the_cache_keeps_its_bounds_and_loses_the_oldest_first(
    script: list[tuple[str, int, int, float]],
) -> None:
    now = 0.0
    most, most_bytes, most_of_all = 4, 8000, 12_000
    cache = ReplyCache(60.0, most, most_bytes, most_of_all, lambda: now)
    model: dict[str, OrderedDict[str, tuple[float, Reply]]] = {}
    for whose, which, size, wait in script:
        now += wait
        new = reply(size)
        is_room = cache.size + new.size <= most_of_all
        cache.put(whose, str(which), new)
        own = model.setdefault(whose, OrderedDict())
        own.pop(str(which), None)
        own[str(which)] = (now + 60.0, new)
        if is_room:
            assert cache.get(whose, str(which)) is new, "the newest is there"
        held = [
            (tenant, id, stored)
            for tenant, replies in model.items()
            for id, (_, stored) in replies.items()
            if cache.get(tenant, id) is not None
        ]
        assert len(held) == len(cache)
        assert sum(stored.size for _, _, stored in held) == cache.size <= most_of_all
        for each, replies in model.items():
            mine = [id for tenant, id, _ in held if tenant == each]
            assert len(mine) <= most
            assert sum(stored.size for t, _, stored in held if t == each) <= most_bytes
            assert mine == list(replies)[len(replies) - len(mine) :], "no gaps"
            for id in mine:
                until, stored = replies[id]
                assert until > now
                assert cache.get(each, id) is stored


def test_who_keeps_much_does_not_push_out_who_keeps_little() -> None:
    replies = ReplyCache(60.0, 100, 50_000, 20_000)
    replies.put("small", "1", reply(100))
    for number in range(50):
        replies.put("large", str(number), reply(4000))
    assert replies.get("small", "1") is not None
    assert replies.get("large", "49") is not None
    assert replies.get("large", "0") is None


def test_a_reply_comes_back_from_the_store_as_it_was() -> None:
    content = Reply("p", "req_1", 200, ((b"a", b"\xff\x00"),), bytes(range(256)), is_stream=True)
    assert unpack(pack(content)) == content
    assert unpack(pack(Reply("p", "r", 200, (), None))).body is None


# Recorded


@given(st.lists(st.binary(max_size=300), max_size=20), st.integers(0, 2000))
def test_a_recording_is_what_was_sent_or_nothing(pieces: list[bytes], longest: int) -> None:
    recording = Recording(longest)
    start = {"type": "http.response.start", "status": 200, "headers": [(b"x-request-id", b"r")]}
    held = recording.take(start)
    for piece in pieces:
        held += recording.take({"type": "http.response.body", "body": piece, "more_body": True})
        assert held == recording.size <= longest
        assert not recording.is_whole
    held += recording.take({"type": "http.response.body", "body": b""})
    assert recording.is_whole
    assert recording.headers == ()
    whole = b"".join(pieces)
    assert recording.body() == (whole if len(whole) <= longest else None)
    assert held + recording.drop() == 0


@pytest.mark.parametrize(
    "dialect", ["openai-chat", "openai-responses", "anthropic", "gemini", "ollama"]
)
def test_a_stream_is_whole_only_with_its_end(dialect: str) -> None:
    metadata = il.MessageMetadata(
        response_id="r1", stop_reason=il.StopReason.END_TURN, usage=il.Usage(3, 4)
    )
    response = il.Response(il.Message.assistant("Hello, 世界", metadata))
    writer, encode = il.dialect(dialect).stream_writer(), encoder(dialect)
    frames = [frame for event in il.unfold(response) for frame in writer.feed(event)]
    parts = [encode(frame) for frame in (*frames, *writer.close())]
    assert is_whole_stream(dialect, b"".join(parts))
    assert not is_whole_stream(dialect, parts[0])
    assert not is_whole_stream(dialect, b"".join(parts)[: len(parts[0]) + 5])
    assert not is_whole_stream(dialect, b"")
    assert not is_whole_stream(dialect, b"<html>")


# In the store


def test_one_of_many_has_it(store: Store) -> None:
    claims = [Claim("id", "t", "print", f"h{number}") for number in range(16)]
    rows: list[str] = []

    def claim(each: Claim) -> None:
        rows.append(store.claim_repeat(each, 60).holder)

    threads = [threading.Thread(target=claim, args=(each,)) for each in claims]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(rows) == 16
    assert len(set(rows)) == 1


def test_only_its_holder_ends_it(store: Store) -> None:
    own, yours = Claim("id", "t", "a", "mine"), Claim("id", "t", "b", "yours")
    assert store.claim_repeat(own, 60).holder == "mine"
    assert store.claim_repeat(own, 60).holder == "mine", "asked twice, it is still mine"
    store.release_repeat(yours)
    store.finish_repeat(yours, b"{}", 60)
    row = store.claim_repeat(yours, 60)
    assert (row.holder, row.print, row.status, row.answer) == ("mine", "a", "open", None)
    store.finish_repeat(own, b'{"a": 1}', 60)
    row = store.claim_repeat(yours, 60)
    assert (row.status, row.answer) == ("done", b'{"a": 1}')
    store.release_repeat(own)  # what is done stays
    store.finish_repeat(own, None, 60)
    assert store.claim_repeat(yours, 60).answer == b'{"a": 1}'


def test_what_was_given_up_or_has_expired_is_free(store: Store) -> None:
    first, second = Claim("id", "t", "a", "h1"), Claim("id", "t", "b", "h2")
    store.claim_repeat(first, 60)
    store.release_repeat(first)
    assert store.claim_repeat(second, 0.05).holder == "h2"
    time.sleep(0.1)
    assert store.claim_repeat(first, 0.2).holder == "h1"
    store.renew_repeats([first, Claim("no", "t", "a", "such")], 60)
    time.sleep(0.3)
    assert store.claim_repeat(second, 60).holder == "h1"
    store.finish_repeat(first, b"[]", 0.05)
    time.sleep(0.1)
    row = store.claim_repeat(second, 60)
    assert (row.holder, row.status, row.print, row.answer) == ("h2", "open", "b", None)


def test_each_tenant_has_so_many_and_so_many_bytes(store: Store) -> None:
    for tenant in ("a", "b"):
        for number in range(8):
            claim = Claim(f"{tenant}{number}", tenant, "p", "h")
            store.claim_repeat(claim, 60)
            store.finish_repeat(claim, b"[%b]" % (b" " * 98), 60)
            time.sleep(0.002)
    store.claim_repeat(Claim("gone", "a", "p", "h"), -1)
    store.tidy_repeats(["a"], 5, 300)
    rows = ask(store, "SELECT id, size, answer_json IS NULL FROM repeats ORDER BY made_at")
    assert [tuple(row) for row in rows if row[0].startswith("a")] == [
        ("a3", 0, True),
        ("a4", 0, True),
        ("a5", 100, False),
        ("a6", 100, False),
        ("a7", 100, False),
    ]
    assert len([row for row in rows if row[0].startswith("b")]) == 8
    assert not [row for row in rows if row[0] == "gone"]


def test_what_expires_takes_no_room(store: Store) -> None:
    for number in range(3):
        claim = Claim(f"{number}", "t", "p", "h")
        store.claim_repeat(claim, 60)
        store.finish_repeat(claim, None, 0.01)
    time.sleep(0.05)
    store.tidy_repeats([], 100, 100)
    assert ask(store, "SELECT count(*) FROM repeats")[0][0] == 0


def test_a_reply_counts_more_than_its_body() -> None:
    assert reply(0).size == OVERHEAD
