"""Batches of both APIs in a gateway that is killed at random moments: they end with the results of
an undisturbed run, none twice, and nothing that has a result is asked again.

    python -m tests.gateway.batches.kills --kills 10 [--count 300] [--seed 1] [--postgres]
    python -m tests.gateway.batches.kills --kills 2 --cap 0.5   # room for two or three at a time
    python -m tests.gateway.batches.kills --at-provider     # handed over, and begun once each
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, TypeVar

import anthropic
import openai

from interlingua.gateway.keys.key_admin import Terms, issue
from interlingua.store.open import open_store
from tests.gateway.batches.running import anthropic_client, begun, lines_of, openai_client, rows_of
from tests.gateway.batches.test_forms import GEMINI, MISTRAL, ScriptedBatches
from tests.gateway.batches.test_native import Provider
from tests.gateway.endpoints.vendors import Vendors
from tests.gateway.endurance.outside import require
from tests.gateway.serving import ANTHROPIC, OPENAI, Upstream
from tests.gateway.tasks.kills import Gateway
from tests.store.conftest import Server

LOST = (openai.APIConnectionError, anthropic.APIConnectionError, openai.InternalServerError)
AT_A_TIME = 8
PAUSE = 0.02
PATIENCE = 300.0
T = TypeVar("T")


class Slow(Upstream):
    """Takes a moment for each answer, so that there is something to interrupt."""

    def answer(self, handler: BaseHTTPRequestHandler, dialect: str, wire: dict[str, Any]) -> None:
        time.sleep(PAUSE)
        super().answer(handler, dialect, wire)


def again(work: Callable[[], T]) -> T:
    """What a client gets that tries again until somebody is there."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        with suppress(*LOST):
            return work()
        time.sleep(0.1)
    raise AssertionError("the gateway does not answer")


def requests_of(texts: list[str]) -> Any:
    """The requests of a batch of messages."""
    return [
        {
            "custom_id": f"id-{number}",
            "params": {
                "model": OPENAI,
                "max_tokens": 20,
                "messages": [{"role": "user", "content": text}],
            },
        }
        for number, text in enumerate(texts)
    ]


def disturbed(gateway: Gateway, provider: Slow, kills: int, chance: random.Random) -> int:
    """Kills the gateway while the batches run; how often it did."""
    done = 0
    while done < kills:
        before, until = len(provider.requests), time.monotonic() + 30
        while len(provider.requests) < before + chance.randint(1, 25):
            if time.monotonic() > until:
                return done
            time.sleep(0.005)
        gateway.kill()
        done += 1
        gateway.start()
    return done


def run(
    home: Path, store: str, kills: int, count: int, chance: random.Random, cap: Decimal | None
) -> None:
    chats = [f"json chat {number}" for number in range(count)]
    messages = [f"json message {number}" for number in range(count)]
    with Slow() as provider:
        provider.configure(home)
        gateway = Gateway(home, store)
        terms = Terms(keep_content=True, daily_cap_usd=cap)
        with open_store(store) as opened:
            token = issue(opened, "batches", str(home), terms).token if cap else "any"
        gateway.start()
        lines = lines_of(chats, ANTHROPIC)
        if cap:  # each may cost fifteen cents, and costs a fraction of one
            lines = lines.replace(b'"max_tokens": 20', b'"max_tokens": 10000')
        with openai_client(gateway.base, token) as client:
            chat_batch = begun(client, lines)
        with anthropic_client(gateway.base, token) as client_of_messages:
            made = client_of_messages.messages.batches.create(requests=requests_of(messages))
        done = disturbed(gateway, provider, kills, chance)
        require(done == kills, f"{kills} kills while the batches run, found {done}")
        try:
            _judge(gateway, provider, token, chat_batch, made.id, chats, messages, kills)
        finally:
            gateway.kill()


def _judge(
    gateway: Gateway,
    provider: Slow,
    token: str,
    chat_batch: str,
    message_batch: str,
    chats: list[str],
    messages: list[str],
    kills: int,
) -> None:
    with openai_client(gateway.base, token) as client:
        while (batch := again(lambda: client.batches.retrieve(chat_batch))).status in (
            *("validating", "in_progress", "finalizing"),
        ):
            time.sleep(0.2)
        require(batch.status == "completed", f"the batch completes, found {batch.status}")
        rows = rows_of(client, batch.output_file_id)
        found = {
            id: row["response"]["body"]["choices"][0]["message"]["content"]
            for id, row in rows.items()
        }
    expected = {f"id-{n}": text.removeprefix("json ") for n, text in enumerate(chats)}
    require(found == expected, "the results of the chats are those of an undisturbed run")
    with anthropic_client(gateway.base, token) as other:
        while again(lambda: other.messages.batches.retrieve(message_batch)).ended_at is None:
            time.sleep(0.2)
        results = list(other.messages.batches.results(message_batch))
    fields = {each.custom_id: each.result.message.content[0].text for each in results}  # type: ignore[union-attr]  # all succeed
    require(len(fields) == len(results), "no result is there twice")
    expected = {f"id-{n}": text.removeprefix("json ") for n, text in enumerate(messages)}
    require(fields == expected, "the results of the messages are those of an undisturbed run")
    asked = Counter(json.dumps(wire["messages"]) for wire in provider.requests)
    twice = sum(asked.values()) - len(asked)
    require(twice <= kills * AT_A_TIME * 2, f"only what was under way is asked again: {twice}")
    print(f"{kills} kills, {len(asked)} requests, {twice} asked again, each with one result")


def run_at_provider(home: Path, kills: int, count: int, chance: random.Random) -> None:
    """A batch of each vendor that has them, handed over by a gateway that is killed meanwhile."""
    for model in (OPENAI, MISTRAL, GEMINI):
        here = home / model.partition(":")[0]
        provider = ScriptedBatches() if model != OPENAI else Provider()
        provider.looks = -20 * kills
        with Vendors(provider) as vendors:
            vendors.configure(here)
            gateway = Gateway(here, str(here / "gateway.db"))
            with (here / "gateway.toml").open("a") as file:
                file.write("[batches]\nat_provider = true\n")
            gateway.start()
            with openai_client(gateway.base) as client:
                id = begun(client, lines_of([f"text {n}" for n in range(count)], model))
            for _ in range(kills):
                time.sleep(chance.random() * 1.5)
                gateway.kill()
                gateway.start()
            provider.looks = 3
            try:
                _judge_handed(gateway, provider, id, count, model)
            finally:
                gateway.kill()


def _judge_handed(gateway: Gateway, provider: Any, id: str, count: int, model: str) -> None:
    with openai_client(gateway.base) as client:
        until = time.monotonic() + PATIENCE
        while (batch := again(lambda: client.batches.retrieve(id))).status != "completed":
            require(time.monotonic() < until, f"the batch completes, found {batch.status}")
            time.sleep(0.5)
        rows = rows_of(client, batch.output_file_id)
    found = {
        id: row["response"]["body"]["choices"][0]["message"]["content"] for id, row in rows.items()
    }
    expected = {f"id-{n}": f"said text {n}" for n in range(count)}
    require(found == expected, "the results are those of an undisturbed run")
    require(len(provider.batches) == 1, f"it was begun once, found {len(provider.batches)}")
    require(provider.single == 0, "nothing was asked one by one")
    print(f"{model}: {count} requests in one batch of the provider, each with one result")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cap", type=Decimal)
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--at-provider", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        if arguments.at_provider:
            run_at_provider(home, arguments.kills, arguments.count, random.Random(arguments.seed))
            return
        if not arguments.postgres:
            store = str(home / "gateway.db")
            run(
                home,
                store,
                arguments.kills,
                arguments.count,
                random.Random(arguments.seed),
                arguments.cap,
            )
            return
        server = Server()
        try:
            run(
                home,
                server.address,
                arguments.kills,
                arguments.count,
                random.Random(arguments.seed),
                arguments.cap,
            )
        finally:
            server.close()


if __name__ == "__main__":
    main()
