"""Compaction by vendors themselves: `/responses/compact` of a provider that has it, and Anthropic's
edits that clear a context, `clear_tool_uses` and `clear_thinking`, for models of other vendors: the
same request is always cleared in the same way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from interlingua.client.errors import CallError
from interlingua.client.retry import Clock
from interlingua.errors import ReadError
from interlingua.gateway.compaction.forms import Wire
from interlingua.gateway.gateway import Gateway
from interlingua.gateway.relay.headers import answer_headers
from interlingua.gateway.relay.inbound import JSON, HttpAnswer, Inbound, reserve, with_history
from interlingua.gateway.relay.sending import send, try_targets, untouched
from interlingua.gateway.relay.whole import error_answer
from interlingua.gateway.shared.fronts import RESPONSES, codec_of
from interlingua.gateway.shared.state import Exchange
from interlingua.model.losses import Report
from interlingua.model.reasons import because

TOOL_USES, THINKING = "clear_tool_uses_20250919", "clear_thinking_20251015"
CLEARED = "[cleared to save context]"
"""The placeholder of a cleared result."""
TRIGGER, KEEP = 100_000, 3
"""Defaults for an edit without a trigger, or without a number of uses to keep."""
_THOUGHTS = frozenset({"thinking", "redacted_thinking"})
BYTES_PER_TOKEN = 4


def cleared(
    entries: Sequence[Wire], edits: Sequence[Wire], tokens: int
) -> tuple[list[Wire], list[Wire]]:
    """The conversation of about so many tokens with all edits applied, and the effect of each edit,
    in Anthropic's format."""
    out, applied = list(entries), []
    for edit in edits:
        if edit.get("type") == TOOL_USES:
            out, done = _without_results(out, edit, tokens)
        elif edit.get("type") == THINKING:
            out, done = _without_thinking(out, edit)
        else:
            continue
        if done is not None:
            tokens -= done["cleared_input_tokens"]
            applied.append(done)
    return out, applied


def note_edits(report: Report, edits: Sequence[Wire], applied: Sequence[Wire]) -> None:
    """Reports the cleared results, and edits of unknown types."""
    for index, edit in enumerate(edits):
        if edit.get("type") not in (TOOL_USES, THINKING):
            path = f"$.context_management.edits[{index}]"
            report.add("dropped", path, because("context_edit_unknown"))
    for done in applied:
        is_tools = done["type"] == TOOL_USES
        count = done["cleared_tool_uses" if is_tools else "cleared_thinking_turns"]
        what = "uses of tools" if is_tools else "turns of thinking"
        reason = because("context_cleared", count=count, what=what)
        report.add("approximated", "$.messages", reason)


def _without_results(
    entries: list[Wire], edit: Wire, tokens: int
) -> tuple[list[Wire], Wire | None]:
    uses = [
        block
        for entry in entries
        for block in _blocks(entry)
        if block.get("type") == "tool_use" and block.get("name") not in _names(edit)
    ]
    trigger = edit.get("trigger") or {}
    reached = len(uses) if trigger.get("type") == "tool_uses" else tokens
    if reached <= _number(trigger.get("value"), TRIGGER):
        return entries, None
    keep = _number((edit.get("keep") or {}).get("value"), KEEP)
    chosen = {use.get("id") for use in (uses[:-keep] if keep else uses)}
    inputs = edit.get("clear_tool_inputs")
    cleared_ids: set[Any] = set()
    saved = 0
    out: list[Wire] = []
    for entry in entries:
        blocks: list[Wire] = []
        for block in _blocks(entry):
            new = _cleared(block, chosen, inputs)
            if new is not block:
                saved += max(0, _size(block) - _size(new))
                cleared_ids.add(block.get("tool_use_id") or block.get("id"))
            blocks.append(new)
        out.append({**entry, "content": blocks} if blocks else entry)
    saved //= BYTES_PER_TOKEN
    least = _number((edit.get("clear_at_least") or {}).get("value"), 0)
    if not cleared_ids or saved < least:
        return entries, None
    done = {"cleared_tool_uses": len(cleared_ids), "cleared_input_tokens": saved}
    return out, {"type": TOOL_USES, **done}


def _cleared(block: Wire, chosen: set[Any], inputs: Any) -> Wire:
    if block.get("type") == "tool_result" and block.get("tool_use_id") in chosen:
        done = block.get("content") == CLEARED
        return block if done else {**block, "content": CLEARED}
    clears = inputs is True or (isinstance(inputs, list) and block.get("name") in inputs)
    if block.get("type") == "tool_use" and block.get("id") in chosen and clears:
        return {**block, "input": {}} if block.get("input") else block
    return block


def _without_thinking(entries: list[Wire], edit: Wire) -> tuple[list[Wire], Wire | None]:
    keep = edit.get("keep")
    if keep == "all" or (isinstance(keep, dict) and keep.get("type") == "all"):
        return entries, None
    left = max(_number((keep or {}).get("value") if isinstance(keep, dict) else None, 1), 1)
    out: list[Wire] = []
    turns = saved = 0
    for entry in reversed(entries):
        thoughts = [block for block in _blocks(entry) if block.get("type") in _THOUGHTS]
        if entry.get("role") != "assistant" or not thoughts:
            out.append(entry)
        elif left:
            left -= 1
            out.append(entry)
        else:
            rest = [block for block in _blocks(entry) if block.get("type") not in _THOUGHTS]
            turns, saved = turns + 1, saved + sum(map(_size, thoughts))
            out += [{**entry, "content": rest}] if rest else []
    if not turns:
        return entries, None
    done = {"cleared_thinking_turns": turns, "cleared_input_tokens": saved // BYTES_PER_TOKEN}
    return out[::-1], {"type": THINKING, **done}


def _blocks(entry: Wire) -> list[Wire]:
    content = entry.get("content")
    return [each for each in content if isinstance(each, dict)] if type(content) is list else []


def _names(edit: Wire) -> Sequence[Any]:
    names = edit.get("exclude_tools")
    return names if isinstance(names, list) else ()


def _number(value: Any, usual: int) -> int:
    return value if type(value) is int and value >= 0 else usual


def _size(block: Wire) -> int:
    return len(msgspec.json.encode(block))


async def relay_compaction(gateway: Gateway, exchange: Exchange, inbound: Inbound) -> HttpAnswer:
    """The provider's own compaction."""
    assert RESPONSES.stored is not None
    exchange.arrival = replace(exchange.arrival, stream=False)
    inbound = await with_history(gateway, exchange.arrival, inbound, RESPONSES.stored)
    if exchange.arrival.principal.capped:
        inbound = await reserve(gateway, exchange, inbound, may_shorten=False)
    raw: list[HttpAnswer] = []

    async def once(model: str, clock: Clock) -> HttpAnswer:
        raw.clear()
        prepared = untouched(gateway, exchange.arrival, inbound, inbound.route.target(model))
        path, mark, query = prepared.http.url.partition("?")
        http = replace(prepared.http, url=f"{path.rstrip('/')}/compact{mark}{query}")
        prepared = replace(prepared, http=http)
        opened = await send(gateway, exchange, inbound, prepared, clock, False, raw)
        body = await opened.body(gateway.settings.limits.answer)
        exchange.outcome.upstream_id = opened.request_id
        headers = answer_headers(exchange, opened.reply.headers, inbound.front, RESPONSES.dialect)
        return HttpAnswer(200, [JSON, *headers], body)

    try:
        answer = await try_targets(gateway, exchange, inbound, once)
    except CallError as error:
        return error_answer(exchange, inbound, error, raw)
    exchange.outcome.status = 200
    _note_usage(gateway, exchange, inbound, answer.body)
    if exchange.arrival.principal.capped:
        await gateway.caps.settle(exchange)
    return answer


def _note_usage(gateway: Gateway, exchange: Exchange, inbound: Inbound, body: bytes) -> None:
    try:
        wire = {"status": "completed", **msgspec.json.decode(body), "object": "response"}
        response = codec_of(RESPONSES.dialect).read_response(wire)
    except (ReadError, msgspec.DecodeError):
        return
    usage = exchange.outcome.usage = response.message.metadata.usage
    if gateway.pricer is not None and usage is not None:
        model, at = inbound.route.targets[0].model, exchange.arrival.at
        exchange.outcome.cost = gateway.pricer.cost(usage, model, at)
