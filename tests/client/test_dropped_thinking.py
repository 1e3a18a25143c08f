"""Thinking that is bound to its conversation: blocks that no longer fit are left out by the
provider and told, where the request would have been refused."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

import interlingua as il
from interlingua.dialects.anthropic.tables import BETA_HEADER as HEADER
from interlingua.dialects.anthropic.tables import BETAS
from interlingua.dialects.anthropic.text import DROP_UNFIT
from tests.client import served
from tests.client.served import client_of, serving

BOUND, FREE = "anthropic:claude-opus-5-5", "anthropic:claude-sonnet-4-5"
DROPPED = {
    "type": "thinking_dropped",
    "path": "messages.1.content.0",
    "reason": "prefix_binding_mismatch",
}


def history(model: str) -> list[il.Message]:
    made = il.MessageMetadata(model=model, provider="anthropic", protocol="anthropic")
    items = [il.ThinkingBlock("Hm.", "c2ln"), il.TextBlock("Four.")]
    return [il.Message.user("2 + 2?"), il.Message.assistant(items, made), il.Message.user("Sure?")]


def answer(*dropped: Any) -> il.Response:
    answered = il.dialect("anthropic").write_response(served.response()).wire
    read = il.dialect("anthropic").read_response
    return read({**answered, "input_transformations": list(dropped)})


async def asked(model: str, stream: bool, options: il.Options | None = None) -> Any:
    """The report, and the request as it came in."""
    exchange = (served.streamed if stream else served.whole)("anthropic", answer(DROPPED))
    with serving(exchange) as server:
        async with client_of(server, exchange.id) as client:
            if stream:
                async with client.stream(model, history(model), options=options) as events:
                    async for _ in events:
                        pass
                    report = events.answer().report
                    assert events.report == report
            else:
                report = (await client.generate(model, history(model), options=options)).report
        received = server.received[-1]
        return report, msgspec.json.decode(received.body), received.header(HEADER)


@pytest.mark.parametrize("stream", [False, True])
def test_what_no_longer_fits_is_left_out_and_reported(stream: bool) -> None:
    report, wire, beta = asyncio.run(asked(BOUND, stream))
    assert wire["thinking"] == {"type": "adaptive", "block_binding": DROP_UNFIT}
    assert wire["messages"][1]["content"][0]["signature"] == "c2ln"
    assert beta == BETAS["binding"]
    (loss,) = [each for each in report.entries if "dropped by the provider" in each.reason]
    assert (loss.kind, loss.path, loss.block_type) == (
        "dropped",
        "$.messages[1].content[0]",
        "thinking",
    )
    assert "prefix_mismatch" in loss.reason


def test_models_that_bind_nothing_are_not_asked_for_it() -> None:
    _, wire, beta = asyncio.run(asked(FREE, False))
    assert "thinking" not in wire
    assert beta is None


def test_thinking_that_is_off_is_left_off() -> None:
    off = il.Options(reasoning=il.Reasoning(mode="off"))
    _, wire, beta = asyncio.run(asked("anthropic:claude-haiku-5-5", False, off))
    assert "block_binding" not in wire.get("thinking", {})
    assert beta is None
