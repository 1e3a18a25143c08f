"""Answers of Converse, for tests."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.bedrock import DIALECT
from interlingua.model.exchange import Response
from interlingua.model.message import Message
from interlingua.model.metadata import MessageMetadata
from tests.dialects.bedrock.wires import losses
from tests.laws import acceptable


def written(response: Response) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    content = DIALECT.write_response(response)
    assert acceptable.RESPONSES["bedrock"](content.wire) == []
    return content.wire, losses(content.report)


def made(content: Any = "Hello", **metadata: Any) -> Response:
    return Response(Message.assistant(content, MessageMetadata(**metadata)))
