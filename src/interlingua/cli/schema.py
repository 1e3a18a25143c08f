"""`interlingua schema`: the JSON Schema of a canonical type."""

from __future__ import annotations

import sys
from typing import Any

import click
import msgspec

from interlingua.model.events import Event
from interlingua.model.exchange import Request, Response
from interlingua.model.interop import json_schema
from interlingua.model.message import Message
from interlingua.model.tools import ToolDefinition

TYPES: dict[str, Any] = {
    "Message": Message,
    "Request": Request,
    "Response": Response,
    "ToolDefinition": ToolDefinition,
    "Event": Event,
}


@click.command("schema", help="Print the JSON Schema of the canonical types.")
@click.argument("type", type=click.Choice(list(TYPES), case_sensitive=False), default="Message")
def command(type: str) -> None:
    data = msgspec.json.encode(json_schema(TYPES[type]))
    sys.stdout.buffer.write(msgspec.json.format(data, indent=2) + b"\n")
