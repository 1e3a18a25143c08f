"""The document of our own paths, and whether the gateway does what it says."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

from interlingua.gateway.paths.openapi import DOCS, document
from interlingua.gateway.paths.routes import ROWS, rows
from interlingua.gateway.shared.fronts import paths as front_paths
from tests.effort import THOROUGH
from tests.gateway.serving import Upstream, key, served

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")


def test_the_document_has_every_path_and_no_other() -> None:
    result = document()
    paths = {(method.upper(), path) for path, each in result["paths"].items() for method in each}
    assert paths == {(row.method, row.path.replace(":path}", "}")) for row in rows()}
    assert set(DOCS) == {(row.method, row.path) for row in ROWS}
    assert not {path for _, path in paths} & set(front_paths()), "the fronts are the providers' own"
    for row in rows():
        operation = result["paths"][row.path.replace(":path}", "}")][row.method.lower()]
        assert (operation["security"] == []) is row.open, row


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """A gateway in a thread: its address, and a token."""
    home = tmp_path_factory.mktemp("gateway")
    ready, over = threading.Event(), threading.Event()
    found: list[str] = []

    async def serve(provider: Upstream) -> None:
        provider.configure(home)
        found.append(key(home, admin=True).token)
        async with served(home) as here:
            found.append(here.base)
            ready.set()
            while not over.is_set():
                await asyncio.sleep(0.05)

    def work() -> None:
        with Upstream() as provider:
            asyncio.run(serve(provider))

    thread = threading.Thread(target=work)
    thread.start()
    assert ready.wait(20)
    yield found[1], found[0]
    over.set()
    thread.join(20)


def _schema() -> Any:
    return schemathesis.openapi.from_dict(document())


@pytest.mark.filterwarnings("ignore")
def test_every_operation_answers_as_the_document_says(gateway: tuple[str, str]) -> None:
    base, token = gateway
    checks = schemathesis.checks
    wanted = [
        checks.not_a_server_error,
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_schema_conformance,
    ]
    tried: set[str] = set()
    for result in _schema().get_all_operations():
        operation = result.ok()

        @settings(
            max_examples=15 if THOROUGH else 5,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @(_given(operation))  # type: ignore[untyped-decorator]  # Any, as all of that package
        def check(case: Any) -> None:
            headers = {"authorization": f"Bearer {token}", "accept": "application/json"}
            case.call_and_validate(base_url=base, headers=headers, checks=wanted, timeout=20)

        check()
        tried.add(f"{operation.method} {operation.path}")
    assert len(tried) == len(rows())


def _given(operation: Any) -> Any:
    from hypothesis import given

    return given(case=operation.as_strategy())


@pytest.mark.filterwarnings("ignore")
def test_no_operation_answers_without_a_key(gateway: tuple[str, str]) -> None:
    base, _ = gateway
    open = {(row.method.lower(), row.path) for row in rows() if row.open}
    for result in _schema().get_all_operations():
        operation = result.ok()
        if (operation.method, operation.path) in open:
            continue

        @settings(
            max_examples=5 if THOROUGH else 2,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @(_given(operation))  # type: ignore[untyped-decorator]  # Any, as all of that package
        def check(case: Any) -> None:
            case.headers.pop("Authorization", None)
            assert case.call(base_url=base, timeout=20).status_code in (400, 401, 404), case

        check()


def test_the_document_is_served_to_everybody(tmp_path: Path) -> None:
    async def work() -> None:
        async with served(tmp_path) as here:
            status, reply, _ = await here.ask("GET", "/openapi.json")
            assert status == 200
            assert reply == document()

    asyncio.run(work())
