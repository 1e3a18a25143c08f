"""Lessons: whose they are, how long they hold, how many there are, and what is written of them."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from interlingua.adapt.fit.lessons import Lesson
from interlingua.client.errors import InvalidRequestError
from interlingua.client.lessons import OF_A_TENANT, OVERALL, SECONDS, Lessons, read_lessons
from interlingua.client.targets import Prepared, Targets
from interlingua.model.exchange import Request

TARGETS = Targets(
    keys={"openai": "k"}, base_urls={"openai": "http://127.0.0.1:9"}, environ={}, profiles=()
)


class Time:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def lesson(*path: str, model: str = "new-1") -> Lesson:
    return Lesson("openai", model, "openai-chat", path)


def asked(model: str = "new-1", **fields: Any) -> Prepared:
    target = TARGETS.find(f"openai:{model}", "openai-chat")
    prepared = TARGETS.prepare(Request(), target, False)
    body = {"model": model, "messages": [], **fields}
    http = TARGETS.address(target, body, "request")
    return Prepared(target, http, prepared.report)


def sent(lessons: Lessons, tenant: str, **fields: Any) -> dict[str, Any]:
    done = lessons.of(tenant).applied(asked(**fields), TARGETS, False)
    return json.loads(done.http.body)


def test_a_lesson_holds_for_its_tenant_alone_until_another_learns_it_too() -> None:
    lessons = Lessons()
    lessons.of("a").learn(lesson("seed"))
    assert "seed" not in sent(lessons, "a", seed=1)
    assert "seed" in sent(lessons, "b", seed=1)
    lessons.of("a").learn(lesson("seed"))  # again, which proves nothing
    assert "seed" in sent(lessons, "b", seed=1)
    lessons.of("b").learn(lesson("seed"))
    assert "seed" not in sent(lessons, "c", seed=1)


def test_a_lesson_expires() -> None:
    clock = Time()
    lessons = Lessons(now=clock)
    for tenant in "ab":
        lessons.of(tenant).learn(lesson("seed"))
    clock.now = SECONDS - 1
    assert "seed" not in sent(lessons, "c", seed=1)
    clock.now = SECONDS
    for tenant in "abc":
        assert "seed" in sent(lessons, tenant, seed=1)
    assert len(lessons) == 0
    lessons.of("a").learn(lesson("seed"))  # an expired lesson of `b` confirms nothing
    assert "seed" in sent(lessons, "c", seed=1)


def test_one_tenant_with_many_lessons_leaves_those_of_others() -> None:
    lessons = Lessons()
    lessons.of("b").learn(lesson("seed"))
    for number in range(3 * OVERALL):
        lessons.of("a").learn(lesson("seed", model=f"m{number}"))
    assert len(lessons) == OF_A_TENANT + 1
    assert "seed" not in sent(lessons, "b", seed=1)
    assert "seed" not in sent(lessons, "a", model=f"m{3 * OVERALL - 1}", seed=1)


def test_many_tenants_share_the_room_and_learning_goes_on() -> None:
    lessons = Lessons()
    lessons.of("small").learn(lesson("seed"))
    for tenant in range(30):
        for number in range(OF_A_TENANT):
            lessons.of(f"t{tenant}").learn(lesson("seed", model=f"m{number}-{tenant}"))
    assert len(lessons) == OVERALL
    assert "seed" not in sent(lessons, "small", seed=1)
    assert "seed" not in sent(lessons, "t29", model=f"m{OF_A_TENANT - 1}-29", seed=1)


def test_the_least_recently_used_lesson_goes() -> None:
    lessons = Lessons()
    for number in range(OF_A_TENANT):
        lessons.of("a").learn(lesson("seed", model=f"m{number}"))
    sent(lessons, "a", model="m0", seed=1)
    lessons.of("a").learn(lesson("seed"))
    assert "seed" not in sent(lessons, "a", model="m0", seed=1)
    assert "seed" in sent(lessons, "a", model="m1", seed=1)


def test_a_thousand_lessons_cost_a_request_nothing() -> None:
    def seconds(lessons: Lessons) -> float:
        own, best = lessons.of("a"), 1.0
        for _ in range(20):
            begun = time.perf_counter()
            assert own.applied(request, TARGETS, False) is request
            best = min(best, time.perf_counter() - begun)
        return best

    request = asked(messages=[{"role": "user", "content": "x" * 330_000}])
    full = Lessons()
    for tenant in range(OVERALL // OF_A_TENANT):
        for number in range(OF_A_TENANT):
            full.of(f"{tenant}").learn(lesson("seed", model=f"m{number}"))
    for name in ("seed", "top_k", "min_p", "n", "logit_bias", "top_p", "temperature"):
        full.of("a").learn(lesson(name))
    assert seconds(full) < seconds(Lessons()) + 0.001


HOSTILE = "Unsupported parameter: 'seed' is not supported with this model. alice-secret@corp"


def refusal(text: str) -> InvalidRequestError:
    return InvalidRequestError(text, status=400)


def test_nothing_of_a_providers_words_is_kept(tmp_path: Path, caplog: Any) -> None:
    file = tmp_path / "learned.jsonl"
    lessons = Lessons(file)
    own = lessons.of("a")
    for text in (HOSTILE, "Unsupported parameter: 'seed'", "Unknown parameter: 'alice-secret'"):
        for body in ({"seed": 1}, {"alice-secret": 1}):
            repair = own.repair(asked(**body), refusal(text), None, TARGETS, False)
            if repair is not None and repair.lesson is not None:
                own.learn(repair.lesson)
    assert read_lessons(file) == [lesson("seed")]
    done = own.applied(asked(seed=1), TARGETS, False)
    (loss,) = done.report.entries
    assert (loss.path, loss.rule) == ("$.options.seed", "learned")
    remaining = [file.read_text(), loss.reason, *[str(vars(each)) for each in caplog.records]]
    assert not any("alice" in text for text in remaining)


def test_the_same_lesson_is_listed_once_and_the_file_stays_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interlingua.client.lessons._FILE_BYTES", 2000)
    file = tmp_path / "more" / "learned.jsonl"
    lessons = Lessons(file)
    for number in range(100):
        for tenant in "abc":
            lessons.of(tenant).learn(lesson("seed", model=f"m{number}"))
        assert file.stat().st_size <= 2000
    listed = read_lessons(file)
    assert 10 < len(listed) < 30
    assert listed[-1].model == "m99"


def test_lines_of_older_versions_are_removed_with_a_word_in_the_log(
    tmp_path: Path, caplog: Any
) -> None:
    file = tmp_path / "learned.jsonl"
    old = {"provider": "openai", "model": "m", "dialect": "openai-chat", "path": ["store"]}
    new = {**old, "path": ["seed"]}
    lines = [json.dumps({**old, "said": "you sent alice"}), json.dumps(new), "{broken", "\xff"]
    file.write_text("\n".join(lines), "latin-1")
    assert read_lessons(file) == [lesson("seed", model="m")]
    Lessons(file)
    assert "alice" not in file.read_text()
    assert read_lessons(file) == [lesson("seed", model="m")]
    (record,) = caplog.records
    assert (record.message, record.removed, record.kept) == ("learned_lines_removed", 3, 1)
    Lessons(file)
    assert len(caplog.records) == 1


def test_a_file_that_cannot_be_read_or_written_stops_nothing(tmp_path: Path, caplog: Any) -> None:
    Lessons(tmp_path).of("a").learn(lesson("seed"))
    names = [record.message for record in caplog.records]
    assert names == ["learned_lines_not_removed", "parameter_refused", "learned_rule_not_listed"]
