"""What of a message can be searched."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlingua.model.blocks import TextBlock
from interlingua.model.message import Message
from interlingua.store import search_text
from interlingua.store.base import Store
from tests.effort import examples
from tests.store.places import TU_1, ask
from tests.store.stored import call, new_session

requirement = pytest.mark.requirement


@requirement("S002-100")
def test_messages_are_found_by_their_words_newest_first(store: Store) -> None:
    session, other = new_session(store), new_session(store)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    texts = ["The quick brown fox", "A brown bear, quick-witted", "Über die Brücke", "fox_trot"]
    for number, text in enumerate(texts):
        time = start + timedelta(minutes=number)
        store.append(session, [Message.user(text).replace(created_at=time)])
    result = Message.tool_result(TU_1, "src/quick/brown.py: 3 lines")
    store.append(other, [Message.assistant(call(TU_1)), result])

    def found(words: str, **more: Any) -> list[int]:
        return [hit.seq for hit in store.search(words, **more)]

    assert found("quick brown", session_id=session) == [2, 1]
    assert found("BROWN", session_id=session) == [2, 1]
    assert found("fox", session_id=session) == [4, 1]
    assert found("über") == [3]
    assert found("brü*") == [3]
    assert found("brü") == []
    assert found("quick-witted") == [2]
    assert found("quick fox bear") == []
    assert found("brown", limit=1, session_id=session) == [2]
    assert [hit.session_id for hit in store.search("quick py")] == [other]
    hit = store.search("bear")[0]
    assert hit.snippet == "A brown bear, quick-witted"
    assert (hit.role, hit.created_at) == ("user", start + timedelta(minutes=1))


@pytest.mark.parametrize("words", ["", " ", '"', "*", "a OR", "NEAR(", "') --", "&|!:", "\0", "-x"])
def test_any_question_is_words_and_never_a_language(store: Store, words: str) -> None:
    session = new_session(store)
    store.append(session, [Message.user("a or near x")])
    assert len(store.search(words)) <= 1


@requirement("S002-100")
def test_a_saved_message_is_found_by_its_new_words_alone(store: Store) -> None:
    session = new_session(store)
    (added,) = store.append(session, [Message.user("apple")]).messages
    assert len(store.search("apple")) == 1
    store.save(added.replace(content=(TextBlock("pear"),)))
    assert store.search("apple") == []
    assert len(store.search("pear")) == 1


def test_a_huge_message_is_searched_in_its_first_part(store: Store) -> None:
    session = new_session(store)
    text = "start " + " ".join(f"word{number}" for number in range(200_000)) + " finish"
    store.append(session, [Message.user(text)])
    (hit,) = store.search("start")
    assert len(hit.snippet) < 200
    assert store.search("finish") == []
    assert store.messages(session)[0].text == text


TEXTS = {
    "zh": "我昨天去了北京大学图书馆借书。",
    "ja": "東京タワーへ行きました、とても楽しかったです。",
    "ko": "학교에서 친구를 만났습니다",
    "th": "ฉันรักภาษาไทยและอาหารไทย",
    "mixed": "用Python3写一个REST接口，v2版本",
    "rare": "𠮷野家で食べる",
}


@pytest.fixture
def filled(store: Store) -> Store:
    session = store.create_session("/w").id
    sent = [Message.user(text).replace(id=id) for id, text in TEXTS.items()]
    store.append(session, sent, check=False)
    return store


QUESTIONS = [
    ("北京", ["zh"]),
    ("北京大学", ["zh"]),
    ("京大", ["zh"]),
    ("书", ["zh"]),
    ("图书馆 北京", ["zh"]),
    ("北京图书馆", []),  # both are there, but not side by side
    ("京北", []),
    ("北大", []),
    ("東京", ["ja"]),
    ("タワー", ["ja"]),
    ("楽しかった", ["ja"]),
    ("でした", []),
    ("학교", ["ko"]),
    ("친구", ["ko"]),
    ("교학", []),
    ("ภาษาไทย", ["th"]),
    ("อาหาร", ["th"]),
    ("ภาษาจีน", []),
    ("python3", ["mixed"]),
    ("Python3写", ["mixed"]),
    ("接口 rest", ["mixed"]),
    ("版本*", ["mixed"]),
    ("一个re*", ["mixed"]),
    ("𠮷野", ["rare"]),
    ("的", []),
    ("。", []),
]


@requirement("S002-100")
def test_any_piece_of_a_line_is_found_and_nothing_else(filled: Store) -> None:
    for words, expected in QUESTIONS:
        assert [hit.message_id for hit in filled.search(words)] == expected, words


def test_a_snippet_is_the_text_as_it_was_written(filled: Store) -> None:
    (hit,) = filled.search("北京")
    assert hit.snippet == TEXTS["zh"]


def test_a_common_letter_late_in_a_long_text_is_found(store: Store) -> None:
    """PostgreSQL keeps 256 places of one word, and none beyond the 16,383rd."""
    session = store.create_session("/w").id
    text = "的一是了" * 10_000 + "结尾处的火车"
    store.append(session, [Message.user(text)])
    assert len(store.search("的火车")) == 1
    assert store.search("火车的") == []


def test_a_text_of_ever_new_letters_has_room_in_the_index(store: Store) -> None:
    session = store.create_session("/w").id
    letters = "".join(chr(0x20000 + (number * 7919) % 42_000) for number in range(150_000))
    store.append(session, [Message.user(letters)])
    assert len(store.search(letters[:5])) == 1
    assert store.messages(session)[0].text == letters


def test_a_saved_message_is_found_by_its_new_letters_alone(filled: Store) -> None:
    assert len(filled.search("北京")) == 1
    (session,) = filled.sessions()
    message = filled.message(session.id, "zh")
    filled.save(message.replace(content=(TextBlock("我在上海"),)), check=False)
    assert filled.search("北京") == []
    assert [hit.message_id for hit in filled.search("上海")] == ["zh"]


def test_the_question_is_answered_from_the_index(filled: Store) -> None:
    filled.search("北京")
    if filled.where.startswith("postgresql"):
        sql = "SELECT words::text FROM message_texts WHERE message_id = 'zh'"
        assert "'北京'" in ask(filled, sql)[0][0]
        return
    sql = "SELECT rowid FROM message_search WHERE message_search MATCH ?"
    assert len(ask(filled, sql, ['"北 京"'])) == 1


LETTERS = st.text("日本語中文北京ไทยабв ab1_-.\n", max_size=30)


@given(text=LETTERS, start=st.integers(0, 29), size=st.integers(1, 6))
@settings(max_examples=examples(200))
def test_every_piece_of_a_run_is_asked_for_as_it_stands(text: str, start: int, size: int) -> None:
    """What is indexed of a text holds what is asked for, for every piece of every run of it."""
    piece = text[start : start + size]
    if (
        not piece
        or not search_text.is_run(piece)
        or any(not search_text.is_run(letter) for letter in piece)
    ):
        return
    _, contained = search_text.for_sqlite(piece)
    assert all(run in search_text.spaced(text) for run in contained)
    words, pairs, runs = search_text.for_postgres(piece)
    assert words == ""
    assert runs == [piece]
    assert {pair.strip("'") for pair in pairs.split(" & ")} <= set(search_text.pairs_of(text))


@given(text=LETTERS)
def test_the_invisible_spaces_can_be_taken_out_again(text: str) -> None:
    assert search_text.unspaced(search_text.spaced(text)) == text
