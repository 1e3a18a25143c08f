"""Shapes of answers, for tests."""

from __future__ import annotations

from interlingua.model.exchange import ResponseFormat
from interlingua.model.message import Message
from tests.adapt.fit.asking import SCHEMA, USER

FORMAT = ResponseFormat("json_schema", "answer", SCHEMA)

AT = "$.options.response_format"

LATER = (USER, Message.assistant("ho"), Message.system("be brief"), Message.user("and now?"))
