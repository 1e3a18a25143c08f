"""What prompt caching is worth: recorded agent sessions through the gateway, to a vendor that
implements Anthropic's published cache rules (`interlingua/costs/data/caching.toml`).

    python -m tests.costs.cache_worth                 the table of docs/caching.md
    python -m tests.costs.cache_worth --litellm PYTHON   with LiteLLM (and `mcp`) of that Python
    python -m tests.costs.cache_worth --turns 100     fewer turns

Each session is sent by a client that speaks OpenAI's chat API, which has no word for a breakpoint:
through the gateway with `auto` and with `pass`, and by LiteLLM with its injected breakpoints (the
instructions and the last message, as its documentation shows). `direct` is the vendor's own API
with its automatic caching (`cache_control` beside the messages). Turns are twenty seconds apart.
The vendor is scripted: nobody's real cache is asked. Dollars are those of the prompts alone."""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import tempfile
from collections.abc import Iterator
from decimal import Decimal
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, NamedTuple

import interlingua as il
from interlingua.costs.ahead import prompt_of
from interlingua.costs.caching import CacheSimulator
from interlingua.costs.table import bundled
from interlingua.profiles.estimate.estimator import Estimator
from interlingua.transcripts.prices import requests_of
from interlingua.transcripts.sessions import at, opened
from tests.costs.cache_replay import conversations
from tests.gateway.serving import Upstream, served, settings_in
from tests.laws.acceptable import problems
from tests.loopback import reply
from tests.transcripts.samples import samples

MODEL = "anthropic:claude-sonnet-4-6"
SECONDS = 20.0
LONGEST = 400_000
"""Bytes of a body; longer ones are left out, with what follows."""
MOST_OF_SESSION = 80
MARK = '"cache_control"'


class Row(NamedTuple):
    """What all sessions used with one way of caching."""

    name: str
    turns: int
    fresh: int
    written: int
    read: int
    invalid: int
    """Bodies that the official types refuse, or with more than four breakpoints."""

    @property
    def dollars(self) -> Decimal:
        return (
            bundled()
            .cost(
                MODEL,
                input_tokens=self.fresh,
                output_tokens=0,
                cached_input_tokens=self.read,
                cache_creation_input_tokens=self.written,
            )
            .total
        )

    @property
    def share(self) -> float:
        return self.read / max(1, self.read + self.written + self.fresh)


class Vendor(Upstream):
    """Scripted: answers with the tokens that the rules give."""

    def __init__(self) -> None:
        super().__init__(0.0)
        self.begin()

    def begin(self) -> None:
        """An empty cache, and nothing counted yet."""
        self.simulator, self.estimator = CacheSimulator(MODEL), Estimator(MODEL)
        self.counts = [0, 0, 0, 0, 0]
        self.now = 0.0

    def row(self, name: str) -> Row:
        return Row(name, *self.counts)

    def answer(self, handler: BaseHTTPRequestHandler, dialect: str, wire: dict[str, Any]) -> None:
        used = self.use(wire)
        metadata = il.MessageMetadata(
            response_id="msg_1", response_model="m", usage=used, stop_reason=il.StopReason.END_TURN
        )
        message = il.Message(il.Role.ASSISTANT, (il.TextBlock("Yes."),), metadata=metadata)
        reply(handler, il.dialect(dialect).write_response(il.Response(message)).json())

    def use(self, wire: dict[str, Any]) -> il.Usage:
        request = il.dialect("anthropic").read_request(wire)
        found = self.simulator.send(prompt_of(request, self.estimator), self.now)
        wrong = json.dumps(wire).count(MARK) > 4 or bool(problems("anthropic", "request", wire))
        more = (1, found.fresh, found.written, found.cached, int(wrong))
        self.counts = [old + new for old, new in zip(self.counts, more, strict=True)]
        self.now += SECONDS
        return il.Usage(found.fresh, 1, found.cached, found.written)


def sessions() -> Iterator[list[il.Request]]:
    """The requests of each recorded session, as they were sent."""
    for sample in samples():
        try:
            asked = list(requests_of(opened(at(sample.path, sample.format))))
        except il.InterlinguaError:
            continue
        for branch in asked:
            history: tuple[il.Message, ...] = ()
            requests = []
            for each in branch:
                history = (() if each.restart else history) + each.added
                requests.append(il.Request(history, "m"))
                history += (each.answer,)
            yield requests
    for group in conversations():
        found = [
            il.dialect(record.dialect or "").read_request(record.request, record.model)
            for record in group
        ]
        yield [request for request in found if request.continues is None]


def bodies(turns: int) -> list[dict[str, Any]]:
    """Requests in OpenAI's chat format without any word of caching: of the longest sessions."""
    found: list[dict[str, Any]] = []
    for session in sorted(sessions(), key=len, reverse=True):
        wires = []
        for request in session[:MOST_OF_SESSION]:
            try:
                retold = il.retell(request, "openai-chat").value
                wire = il.convert(retold, to="openai-chat", model="m", caching="off").wire
                il.convert(wire, "openai-chat", "anthropic", model=MODEL)
            except il.InterlinguaError:
                break
            wire = {key: wire[key] for key in ("messages", "tools") if key in wire}
            if len(json.dumps(wire)) > LONGEST or not wire.get("messages"):
                break
            if wire["messages"][-1]["role"] != "assistant":
                wires.append({**wire, "model": MODEL, "max_tokens": 50})
        if len(wires) > 1:
            found += wires
        if len(found) >= turns:
            break
    return found[:turns]


async def relayed(vendor: Vendor, found: list[dict[str, Any]], home: Path) -> list[Row]:
    """Through the gateway, in both modes."""
    vendor.configure(home)
    rows = []
    async with served(home, settings_in(home)) as gateway:
        for mode in ("auto", "pass"):
            vendor.begin()
            for body in found:
                headers = {"x-interlingua-caching": mode}
                status, answer, _ = await gateway.ask(
                    "POST", "/v1/chat/completions", body, headers=headers
                )
                assert status == 200, answer
            rows.append(vendor.row(f"gateway, {mode}"))
    return rows


LITELLM = """
import json, sys
import litellm
points = [{"location": "message", "role": "system"}, {"location": "message", "index": -1}]
for line in open(sys.argv[2]):
    body = json.loads(line)
    try:
        litellm.completion(
            model="anthropic/claude-sonnet-4-6", messages=body["messages"],
            tools=body.get("tools"), max_tokens=50, api_base=sys.argv[1], api_key="k",
            cache_control_injection_points=points, num_retries=0)
    except Exception as error:
        print(type(error).__name__, str(error)[:200])
"""


def by_litellm(vendor: Vendor, found: list[dict[str, Any]], home: Path, python: str) -> Row:
    file, script = home / "bodies.jsonl", home / "ask.py"
    file.write_text("\n".join(json.dumps(body) for body in found))
    script.write_text(LITELLM)
    vendor.begin()
    done = subprocess.run(
        [python, str(script), vendor.url, str(file)], capture_output=True, text=True, check=False
    )
    failed = [line for line in done.stdout.splitlines() if "Error" in line or "Exception" in line]
    if failed or done.returncode:
        print(f"LiteLLM refused {len(failed)}:", *failed[:3], done.stderr[-300:], sep="\n")
    return vendor.row("LiteLLM, injected breakpoints")


def direct(vendor: Vendor, found: list[dict[str, Any]]) -> Row:
    vendor.begin()
    for body in found:
        wire = il.convert(body, "openai-chat", "anthropic", model=MODEL).wire
        vendor.use({**wire, "cache_control": {"type": "ephemeral"}})
    return vendor.row("direct, Anthropic's automatic caching")


def table(rows: list[Row]) -> list[str]:
    lines = [
        "| way | turns | prompt tokens | read from cache | share | prompts cost |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        total = row.fresh + row.written + row.read
        lines.append(
            f"| {row.name} | {row.turns:,} | {total:,} | {row.read:,} | {row.share:.1%}"
            f" | ${row.dollars:.2f} |"
        )
    return lines


def main(turns: int, python: str | None) -> list[Row]:
    found = bodies(turns)
    with tempfile.TemporaryDirectory() as folder, Vendor() as vendor:
        rows = asyncio.run(relayed(vendor, found, Path(folder)))
        if python is not None:
            rows.append(by_litellm(vendor, found, Path(folder), python))
        rows.append(direct(vendor, found))
    print(*table(rows), sep="\n")
    for row in rows:
        if row.invalid:
            print(f"{row.name}: {row.invalid} bodies are not valid")
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=700)
    parser.add_argument("--litellm", metavar="PYTHON")
    options = parser.parse_args()
    main(options.turns, options.litellm)
