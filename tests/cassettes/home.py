"""The way home: wire bytes to canonical values, and those to the bytes again."""

from __future__ import annotations

from collections.abc import Iterable

import interlingua as il
from interlingua.model.events import Event


def request(dialect: str, body: bytes, model: str | None, is_stream: bool) -> bytes:
    return write_request(dialect, read_request(dialect, body, model, is_stream))


def read_request(dialect: str, body: bytes, model: str | None, is_stream: bool) -> il.Request:
    """`model` and `is_stream` as the path says them, for dialects whose bodies do not."""
    if dialect not in ("gemini", "bedrock"):
        return il.dialect(dialect).read_request(body)
    return il.dialect(dialect).read_request(body, model=model, stream=is_stream)


def write_request(dialect: str, value: il.Request) -> bytes:
    return il.dialect(dialect).write_request(value).json()


def response(dialect: str, body: bytes) -> bytes:
    return write_response(dialect, il.dialect(dialect).read_response(body))


def write_response(dialect: str, value: il.Response) -> bytes:
    return il.dialect(dialect).write_response(value).json()


def frames(dialect: str, said: Iterable[il.Frame]) -> list[il.Frame]:
    return write_frames(dialect, read_frames(dialect, said))


def read_frames(dialect: str, said: Iterable[il.Frame]) -> list[Event]:
    reader = il.dialect(dialect).stream_reader()
    events = [event for frame in said for event in reader.feed(frame)]
    return [*events, *reader.close()]


def write_frames(dialect: str, events: Iterable[Event]) -> list[il.Frame]:
    writer = il.dialect(dialect).stream_writer()
    emitted = [frame for event in events for frame in writer.feed(event)]
    return [*emitted, *writer.close()]
