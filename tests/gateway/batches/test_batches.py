"""Batches of both APIs in front of models of any dialect, by the official SDKs."""

from __future__ import annotations

import asyncio
import io
import json
import threading
import time
from collections.abc import Callable
from decimal import Decimal
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import openai
import pytest

from interlingua.gateway.batches import batches as batches_module
from interlingua.gateway.batches import run as run_module
from interlingua.gateway.keys.key_admin import change
from interlingua.store.errors import StoreError
from interlingua.store.open import open_store
from tests.gateway.batches.running import (
    anthropic_client,
    begun,
    ended,
    lines_of,
    messages_ended,
    openai_client,
    rows_of,
)
from tests.gateway.serving import ANTHROPIC, OPENAI, Served, Upstream, key, served

TEXTS = [f"number {number}" for number in range(12)]


def run(home: Path, work: Callable[[Upstream, Served], Any]) -> None:
    async def serve(provider: Upstream) -> None:
        provider.configure(home)
        async with served(home) as gateway:
            await work(provider, gateway)

    with Upstream() as provider:
        asyncio.run(serve(provider))


def test_a_batch_of_openais_is_run_by_models_of_any_dialect(tmp_path: Path) -> None:
    def client_side(url: str) -> None:
        with openai_client(url) as client:
            for model in (ANTHROPIC, OPENAI):
                id = begun(client, lines_of([*TEXTS, "fail"], model))
                batch = ended(client, id)
                assert batch.status == "completed", batch
                counts = batch.request_counts
                assert (counts.total, counts.completed, counts.failed) == (13, 12, 1)
                assert batch.metadata == {"who": "test"}
                assert batch.usage.input_tokens > 0
                rows = rows_of(client, batch.output_file_id)
                assert set(rows) == {f"id-{number}" for number in range(12)}
                for number, text in enumerate(TEXTS):
                    response = rows[f"id-{number}"]["response"]
                    assert response["status_code"] == 200
                    assert response["request_id"].startswith("req_")
                    assert text in response["body"]["choices"][0]["message"]["content"]
                failed = rows_of(client, batch.error_file_id)["id-12"]["response"]
                assert failed["status_code"] >= 400
                assert "error" in failed["body"]
            listed = client.batches.list(limit=1)
            assert [each.id for each in listed.data] == [id]
            assert len(list(client.batches.list(limit=1))) == 2
            purposes = {file.purpose for file in client.files.list()}
            assert purposes == {"batch", "batch_output"}
            assert client.files.delete(batch.output_file_id).deleted
            with pytest.raises(openai.NotFoundError):
                client.files.retrieve(batch.output_file_id)

    async def work(provider: Upstream, gateway: Served) -> None:
        await asyncio.to_thread(client_side, gateway.base)
        await gateway.stored()
        _, listed, _ = await gateway.ask("GET", "/requests?limit=100")
        assert len([row for row in listed["requests"] if row["status"] == 200]) == 24

    run(tmp_path, work)


def test_results_are_whole_answers_whatever_the_requests_ask_for(tmp_path: Path) -> None:
    def client_side(url: str) -> None:
        with openai_client(url) as client:
            for path, more, shown in (
                ("/v1/chat/completions", b'"messages":[{"role":"user","content":"hi"}]', "choices"),
                ("/v1/responses", b'"input":"hi"', "output"),
            ):
                members = (b'"stream":true', b'"str\\u0065am":true', b'"background":true')
                lines = [
                    b'{"custom_id":"%d","method":"POST","url":"%s","body":{"model":"%s",%s,%s}}\n'
                    % (number, path.encode(), OPENAI.encode(), more, member)
                    for number, member in enumerate(members)
                ]
                batch = ended(client, begun(client, b"".join(lines), path))
                rows = rows_of(client, batch.output_file_id)
                assert len(rows) == len(members)
                assert all("Answer" in str(row["response"]["body"][shown]) for row in rows.values())

    async def work(provider: Upstream, gateway: Served) -> None:
        await asyncio.to_thread(client_side, gateway.base)

    run(tmp_path, work)


def test_a_batch_that_is_shown_is_run_wherever_a_process_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process ends before each of the two writes that make a batch."""

    def client_side(url: str) -> None:
        with openai_client(url) as client:
            for name in ("_mark", "save"):
                with monkeypatch.context() as patch:
                    patch.setattr(batches_module.Batches, name, dies)
                    with pytest.raises(openai.InternalServerError):
                        begun(client, lines_of(TEXTS[:2], OPENAI))
                assert client.batches.list().data == [], name
            assert ended(client, begun(client, lines_of(TEXTS[:2], OPENAI))).status == "completed"

    async def dies(*given: Any) -> None:
        raise StoreError("here", "gone", "unreachable")

    async def work(provider: Upstream, gateway: Served) -> None:
        await asyncio.to_thread(client_side, gateway.base)

    run(tmp_path, work)


def test_a_batch_of_anthropics_is_run_by_models_of_any_dialect(tmp_path: Path) -> None:
    def client_side(url: str) -> None:
        with anthropic_client(url) as client:
            for model in (ANTHROPIC, OPENAI):
                requests: Any = [
                    {
                        "custom_id": f"id-{number}",
                        "params": {
                            "model": model,
                            "max_tokens": 20,
                            "messages": [{"role": "user", "content": text}],
                        },
                    }
                    for number, text in enumerate([*TEXTS, "fail"])
                ]
                made = client.messages.batches.create(requests=requests)
                assert made.processing_status in ("in_progress", "ended")
                batch = messages_ended(client, made.id)
                counts = batch.request_counts
                assert (counts.succeeded, counts.errored, counts.processing) == (12, 1, 0)
                found = {each.custom_id: each for each in client.messages.batches.results(made.id)}
                assert len(found) == 13
                for number, text in enumerate(TEXTS):
                    result = found[f"id-{number}"].result
                    assert result.type == "succeeded"
                    assert text in result.message.content[0].text  # type: ignore[union-attr]  # a text
                assert found["id-12"].result.type == "errored"
            assert [each.id for each in client.messages.batches.list(limit=1).data] == [made.id]
            assert client.messages.batches.delete(made.id).id == made.id
            assert len(list(client.messages.batches.list())) == 1

    async def work(provider: Upstream, gateway: Served) -> None:
        await asyncio.to_thread(client_side, gateway.base)

    run(tmp_path, work)


@pytest.mark.parametrize(
    ("data", "code", "line"),
    [
        (b"", "empty_file", None),
        (b"not json\n", "invalid_json_line", 1),
        (lines_of(["a"], OPENAI) * 2, "duplicate_custom_id", 2),
        (lines_of(["a"], OPENAI, "/v1/responses"), "mismatched_endpoint", 1),
        (b'{"custom_id": 5}\n', "missing_required_parameter", 1),
        (lines_of(["a"], OPENAI).replace(b'"body"', b'"bodies"'), "missing_required_parameter", 1),
    ],
)
def test_a_file_that_cannot_be_run_fails_with_the_line(
    tmp_path: Path, data: bytes, code: str, line: int | None
) -> None:
    def client_side(url: str) -> None:
        with openai_client(url) as client:
            batch = ended(client, begun(client, data))
            assert batch.status == "failed"
            assert [(each.code, each.line) for each in batch.errors.data] == [(code, line)]

    async def work(provider: Upstream, gateway: Served) -> None:
        await asyncio.to_thread(client_side, gateway.base)
        assert provider.requests == []

    run(tmp_path, work)


def test_a_cancelled_batch_keeps_what_it_has_and_says_what_was_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "AT_A_TIME", 1)

    def client_side(url: str) -> None:
        with openai_client(url) as client:
            id = begun(client, lines_of(TEXTS * 10, OPENAI))
            while client.batches.retrieve(id).status != "in_progress":
                pass
            assert client.batches.cancel(id).status in ("cancelling", "cancelled")
            batch = ended(client, id)
            assert batch.status == "cancelled"
            done = rows_of(client, batch.output_file_id)
            rest = rows_of(client, batch.error_file_id)
            assert len(done) + len(rest) == 120
            assert {row["error"]["code"] for row in rest.values()} == {"batch_cancelled"}
            assert client.batches.cancel(id).status == "cancelled"

    async def work(provider: Upstream, gateway: Served) -> None:
        await asyncio.to_thread(client_side, gateway.base)
        assert len(provider.requests) < 120

    run(tmp_path, work)


def test_a_batch_that_has_expired_says_so_for_each_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches_module, "DAY", 0)

    def client_side(url: str) -> None:
        with openai_client(url) as client:
            batch = ended(client, begun(client, lines_of(TEXTS, OPENAI)))
            assert (batch.status, batch.output_file_id) == ("expired", None)
            rest = rows_of(client, batch.error_file_id)
            assert {row["error"]["code"] for row in rest.values()} == {"batch_expired"}
            assert batch.request_counts.failed == len(TEXTS)

    async def work(provider: Upstream, gateway: Served) -> None:
        await asyncio.to_thread(client_side, gateway.base)
        assert provider.requests == []

    run(tmp_path, work)


def test_what_a_process_left_open_is_finished_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The claim of the first is released as by a shutdown; kills are in `kills.py`."""
    monkeypatch.setattr(run_module, "AT_A_TIME", 1)
    texts = TEXTS * 5

    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            with openai_client(gateway.base) as client:
                id = await asyncio.to_thread(begun, client, lines_of(texts, OPENAI))
                while not provider.requests:
                    await asyncio.sleep(0.01)
        first = len(provider.requests)
        assert first < len(texts)
        async with served(tmp_path) as gateway:
            with openai_client(gateway.base) as client:
                batch = await asyncio.to_thread(ended, client, id)
                assert batch.request_counts.completed == len(texts)
                rows = await asyncio.to_thread(rows_of, client, batch.output_file_id)
                assert len(rows) == len(texts)
        assert len(provider.requests) <= len(texts) + 1, "what has a result is not asked again"

    with Upstream() as provider:
        asyncio.run(work(provider))


class Crowded(Upstream):
    """Takes a moment for each answer, and counts how many it makes at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.at_a_time, self.most = 0, 0
        self._counting = threading.Lock()

    def answer(self, handler: BaseHTTPRequestHandler, dialect: str, wire: dict[str, Any]) -> None:
        with self._counting:
            self.at_a_time += 1
            self.most = max(self.most, self.at_a_time)
        time.sleep(0.05)
        with self._counting:
            self.at_a_time -= 1
        super().answer(handler, dialect, wire)


def long_lines(texts: list[str], most: int) -> bytes:
    return lines_of(texts, OPENAI).replace(b'"max_tokens": 20', b'"max_tokens": %d' % most)


@pytest.mark.parametrize(
    ("terms", "most"),
    [
        ({"daily_cap_usd": Decimal("0.10")}, 1),
        ({"daily_cap_usd": Decimal("0.28")}, 3),
        ({"monthly_cap_usd": Decimal("5.00")}, 8),
        ({"concurrent": 2}, 2),
    ],
)
def test_a_batch_waits_for_its_own_reservations(
    tmp_path: Path, terms: dict[str, Any], most: int
) -> None:
    """Each may cost eight cents and costs a fraction of one."""
    texts = [f"number {number}" for number in range(30)]

    def client_side(url: str, token: str) -> Any:
        with openai_client(url, token) as client:
            batch = ended(client, begun(client, long_lines(texts, 10_000)))
            failed = rows_of(client, batch.error_file_id)
            assert (batch.status, failed) == ("completed", {})
            assert batch.request_counts.completed == len(texts)

    async def work(provider: Crowded) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            token = key(tmp_path, "capped", keep_content=True, **terms).token
            await asyncio.to_thread(client_side, gateway.base, token)
            await gateway.stored()
            _, listed, _ = await gateway.ask("GET", "/requests?limit=200", token=token)
        assert provider.most <= most
        refused = [row for row in listed["requests"] if row["status"] == 429]
        assert len(refused) <= 8 + len(texts) // 4, "it does not ask again and again"
        asked = [json.loads(wire)["max_tokens"] for wire in map(json.dumps, provider.requests)]
        assert set(asked) == {10_000}, "no answer is shortened because of the others"

    with Crowded() as provider:
        asyncio.run(work(provider))


@pytest.mark.parametrize(
    ("terms", "max_tokens"),
    [
        ({"daily_cap_usd": Decimal("0.01")}, 10_000),
        ({"monthly_cap_usd": Decimal("0.001")}, 500),
        ({"tokens_per_minute": 500}, 10_000),
    ],
)
def test_what_a_cap_can_never_afford_fails_at_once(
    tmp_path: Path, terms: dict[str, Any], max_tokens: int
) -> None:
    def client_side(url: str, token: str) -> Any:
        with openai_client(url, token) as client:
            batch = ended(client, begun(client, long_lines(TEXTS, max_tokens)))
            assert batch.status == "completed"
            return rows_of(client, batch.error_file_id)

    async def work(provider: Upstream, gateway: Served) -> None:
        token = key(tmp_path, "poor", keep_content=True, **terms).token
        failed = await asyncio.to_thread(client_side, gateway.base, token)
        assert len(failed) == len(TEXTS)
        assert {row["response"]["status_code"] for row in failed.values()} == {429}
        assert provider.requests == []

    run(tmp_path, work)


@pytest.mark.parametrize(("days", "status"), [(40, "in_progress"), (0.001, "completed")])
def test_a_spent_cap_is_waited_for_if_it_is_renewed_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, days: float, status: str
) -> None:
    monkeypatch.setattr(batches_module, "DAY", days * 86400)
    monkeypatch.setattr(run_module, "LONGEST_FOR_CAP", 0.2)

    def client_side(url: str, token: str, more: Callable[[], None]) -> None:
        with openai_client(url, token) as client:
            id = begun(client, long_lines(["a", "b", "c"], 10_000))
            time.sleep(0.5)
            if status == "in_progress":
                batch = client.batches.retrieve(id)
                assert (batch.status, batch.output_file_id) == ("in_progress", None)
                more()  # somebody raises the cap
                assert ended(client, id).request_counts.completed == 3
            else:
                failed = rows_of(client, ended(client, id).error_file_id)
                codes = {row["response"]["body"]["error"]["code"] for row in failed.values()}
                assert codes == {"quota_exceeded"}

    async def work(provider: Upstream, gateway: Served) -> None:
        made = key(tmp_path, "spent", keep_content=True, monthly_cap_usd=Decimal("0.0802"))
        request = {"max_tokens": 20, "model": OPENAI}
        request |= {"messages": [{"role": "user", "content": "spend"}]}
        reply = await gateway.ask("POST", "/v1/chat/completions", request, made.token)
        assert reply[0] == 200, reply

        def more() -> None:
            with open_store(str(tmp_path / "gateway.db")) as store:
                change(store, made.key.id, monthly_cap_usd=Decimal(5))

        await asyncio.to_thread(client_side, gateway.base, made.token, more)

    run(tmp_path, work)


def test_caps_and_rights_of_the_key_hold_for_each_request(tmp_path: Path) -> None:
    def client_side(url: str, token: str) -> Any:
        with openai_client(url, token) as client:
            data = lines_of(["a"], OPENAI) + lines_of(["b"], ANTHROPIC).replace(b"id-0", b"id-1")
            batch = ended(client, begun(client, data))
            return rows_of(client, batch.output_file_id), rows_of(client, batch.error_file_id)

    async def work(provider: Upstream, gateway: Served) -> None:
        only = key(tmp_path, "only", allowed_models=[OPENAI], keep_content=True).token
        done, failed = await asyncio.to_thread(client_side, gateway.base, only)
        assert set(done) == {"id-0"}
        assert failed["id-1"]["response"]["status_code"] == 403
        plain = key(tmp_path, "plain").token
        with pytest.raises(openai.BadRequestError, match="keep-content"):
            await asyncio.to_thread(client_side, gateway.base, plain)

    run(tmp_path, work)


ROUTES = [
    ("GET", "/v1/files/{file}"),
    ("GET", "/v1/files/{file}/content"),
    ("DELETE", "/v1/files/{file}"),
    ("GET", "/v1/files/{output}"),
    ("GET", "/v1/files/{output}/content"),
    ("GET", "/v1/batches/{batch}"),
    ("POST", "/v1/batches/{batch}/cancel"),
    ("GET", "/v1/messages/batches/{messages}"),
    ("GET", "/v1/messages/batches/{messages}/results"),
    ("POST", "/v1/messages/batches/{messages}/cancel"),
    ("DELETE", "/v1/messages/batches/{messages}"),
    ("GET", "/v1/messages/batches/{batch}"),
    ("GET", "/v1/batches/{messages}"),
]


def test_nothing_of_one_tenant_is_there_for_another(tmp_path: Path) -> None:
    def own_things(url: str, token: str) -> dict[str, str]:
        with openai_client(url, token) as client:
            batch = ended(client, begun(client, lines_of(["a"], OPENAI)))
            ids = {"file": batch.input_file_id, "output": batch.output_file_id, "batch": batch.id}
        with anthropic_client(url, token) as client:
            params: Any = {"model": OPENAI, "max_tokens": 9, "messages": []}
            params["messages"] = [{"role": "user", "content": "a"}]
            made = client.messages.batches.create(requests=[{"custom_id": "x", "params": params}])
            messages_ended(client, made.id)
            return {**ids, "messages": made.id}

    async def work(provider: Upstream, gateway: Served) -> None:
        owner = key(tmp_path, "owner", keep_content=True).token
        other = key(tmp_path, "other", keep_content=True).token
        ids = await asyncio.to_thread(own_things, gateway.base, owner)
        for method, path in ROUTES:
            where = path.format(**ids)
            for token, expected in ((other, 404), ("wrong", 401), (None, 401)):
                status, reply, _ = await gateway.ask(method, where, token=token)
                assert status == expected, (method, path, reply)
                shown = json.dumps(reply)
                assert "choices" not in shown
                assert owner not in shown
        for path in ("/v1/files", "/v1/batches", "/v1/messages/batches"):
            _, listed, _ = await gateway.ask("GET", path, token=other)
            assert listed["data"] == []
        body = {"input_file_id": ids["file"], "endpoint": "/v1/chat/completions"}
        status, _, _ = await gateway.ask("POST", "/v1/batches", body, other)
        assert status == 400
        for method, path in ROUTES[:11]:  # and its owner has all of it
            if method == "GET":
                status, _, _ = await gateway.ask(method, path.format(**ids), token=owner)
                assert status == 200, path

    run(tmp_path, work)


def test_uploads_are_bounded_and_forms_are_checked(tmp_path: Path) -> None:
    async def work(provider: Upstream, gateway: Served) -> None:
        gateway.service.gateway.settings.limits.__dict__["upload"] = 100_000
        with openai_client(gateway.base) as client:
            with pytest.raises(openai.APIStatusError) as error:
                await asyncio.to_thread(
                    lambda: client.files.create(file=io.BytesIO(b"x" * 200_000), purpose="batch")
                )
            assert error.value.status_code == 413
        kind = {"content-type": "multipart/form-data; boundary=b"}
        for data in (b"", b"--b--", b"--b\r\n\r\n", b"x" * 5000, b"--b\r\na: " + b"y" * 9000):
            async with gateway.http.post(
                f"{gateway.base}/v1/files", data=data, headers=kind
            ) as reply:
                assert reply.status == 400, (data[:20], await reply.text())
        _, listed, _ = await gateway.ask("GET", "/v1/files")
        assert listed["data"] == []

    run(tmp_path, work)
