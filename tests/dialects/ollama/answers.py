"""Answers of Ollama, for tests."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.ollama import DIALECT
from interlingua.model.exchange import Response
from interlingua.model.message import Message
from interlingua.model.metadata import MessageMetadata
from tests.dialects.ollama import judge
from tests.dialects.ollama.wires import losses


def written(response: Response) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    content = DIALECT.write_response(response)
    if response.error is None:
        assert judge.response_problems(content.wire) == []
    return content.wire, losses(content.report)


def made(content: Any = "Hello", **metadata: Any) -> Response:
    return Response(Message.assistant(content, MessageMetadata(**metadata)))
