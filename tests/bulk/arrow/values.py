"""Values for tests of tables."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa

import interlingua as il
from interlingua.bulk import arrow

CALL = il.ToolUseBlock("call_1", "look", {"where": None, "deep": {"a": [1, 2.5]}})

OTHER = il.ToolUseBlock("call_2", "look", {"how": "well"}, '{"how":  "well"}', "c2ln")

RESULT = il.Message.tool_result("call_1", "It is blue.", is_error=True)

PICTURE = il.ImageBlock(il.Source("base64", "aGk="), "image/png")

TOOL = il.ToolDefinition("look", "Looks.", {"type": "object", "properties": {"where": {}}})


def conversation() -> il.Request:
    return il.Request(
        (
            il.Message.user(["Look.", PICTURE]),
            il.Message.assistant([il.ThinkingBlock("Hm.", "c2ln"), CALL, OTHER]),
            RESULT,
            il.Message.tool_result("call_2", ["Two parts: ", "of text.", PICTURE]),
        ),
        "some-model",
        (TOOL,),
        il.Options(temperature=1),
    )


def answer() -> il.Response:
    usage = il.Usage(10, 5, cost_usd=Decimal("0.0000125"))
    metadata = il.MessageMetadata(
        "acme:m-1", "acme", response_id="r1", usage=usage, stop_reason=il.StopReason.END_TURN
    )
    return il.Response(il.Message.assistant("Blue.", metadata))


def table(*values: Any, **options: Any) -> pa.Table:
    return pa.Table.from_batches(arrow.to_batches(values, **options))


def same(found: list[Any], *wanted: Any) -> bool:
    return [il.dumps(value) for value in found] == [il.dumps(value) for value in wanted]
