"""Values for tests of the model."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import HealthCheck, settings

from interlingua.model.base import Value
from interlingua.model.blocks import ImageBlock, Source, ToolUseBlock
from interlingua.model.codec import dumps
from tests.effort import examples

some = settings(max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow])

PICTURE = ImageBlock(Source("url", "https://example.com/a.png"), "image/png")

CALL = ToolUseBlock("tu_1", "read_file", {"path": "a.py", "lines": [1, 2]})


def fields(cls: type[Value]) -> list[str]:
    return list(cls.__struct_fields__)


def plain(value: Any) -> Any:
    return msgspec.json.decode(dumps(value))
