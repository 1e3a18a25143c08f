"""OTLP as JSON: spans and log records, their attributes as plain values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from interlingua.transcripts.otel.tables import DETAILS

Attributes = dict[str, Any]
EXPORTED = ("resourceSpans", "resourceLogs", "resourceMetrics")
"""The keys of an exporter's requests; each has one of them."""
_FAILED = (2, "STATUS_CODE_ERROR")


class Event(msgspec.Struct):
    """Something that was said in a span's time: its body, if it has one, else its attributes."""

    name: str
    body: Any


class Record(msgspec.Struct, eq=False):
    """A span, or what log records tell of one that is not there."""

    where: str
    attributes: Attributes
    trace: str | None = None
    span: str | None = None
    parent: str | None = None
    start: int = 0
    end: int = 0
    failed: bool = False
    events: list[Event] = []
    service: str | None = None


class Records:
    """All spans of a file; log records join the span that they belong to."""

    def __init__(self) -> None:
        self.all: list[Record] = []
        self._by_span: dict[tuple[str, str], Record] = {}
        self._logged: list[tuple[str, Attributes]] = []

    def take(self, exported: dict[str, Any], where: str) -> bool:
        """One request of an exporter: a line of a file, or all of it; False if it is none."""
        for resource in _dicts(exported.get("resourceSpans")):
            service = _attributes(_member(resource, "resource")).get("service.name")
            for scope in _dicts(resource.get("scopeSpans")):
                for span in _dicts(scope.get("spans")):
                    self._span(span, f"{where}, span {len(self.all) + 1}", service)
        for resource in _dicts(exported.get("resourceLogs")):
            for scope in _dicts(resource.get("scopeLogs")):
                self._logged.extend((where, each) for each in _dicts(scope.get("logRecords")))
        return any(key in exported for key in EXPORTED)

    def join(self) -> list[Record]:
        """All of them, once the file is at its end: logs may come before their spans."""
        for where, log in self._logged:
            self._log(log, where)
        self._logged = []
        return self.all

    def _span(self, span: Attributes, where: str, service: Any) -> None:
        status = _member(span, "status").get("code")
        record = Record(
            where,
            _attributes(span),
            _text(span.get("traceId")),
            _text(span.get("spanId")),
            _text(span.get("parentSpanId")),
            _number(span.get("startTimeUnixNano")),
            _number(span.get("endTimeUnixNano")),
            status in _FAILED,
            service=_text(service),
        )
        for event in _dicts(span.get("events")):
            _tell(record, _text(event.get("name")), _attributes(event), None)
        self._keep(record)

    def _log(self, log: Attributes, where: str) -> None:
        attributes = _attributes(log)
        name = _text(log.get("eventName")) or _text(attributes.get("event.name"))
        if name is None or not name.startswith("gen_ai."):
            return
        trace, span = _text(log.get("traceId")), _text(log.get("spanId"))
        record = self._by_span.get((trace or "", span or ""))
        if record is None:
            time = _number(log.get("timeUnixNano")) or _number(log.get("observedTimeUnixNano"))
            record = Record(f"{where}, log of a span", {}, trace, span, None, time, time)
            self._keep(record)
        _tell(record, name, attributes, plain(log.get("body")))

    def _keep(self, record: Record) -> None:
        """Each span once, though exporters may send one again."""
        if record.trace is not None and record.span is not None:
            if (record.trace, record.span) in self._by_span:
                return
            self._by_span[record.trace, record.span] = record
        self.all.append(record)


def _tell(record: Record, name: str | None, attributes: Attributes, body: Any) -> None:
    """What an event adds to its span."""
    if name == DETAILS:
        said = body if isinstance(body, dict) else {}
        record.attributes = {**said, **attributes, **record.attributes}
    elif name is not None and name.startswith("gen_ai."):
        record.events.append(Event(name, attributes if body is None else body))


def plain(value: Any) -> Any:
    """An attribute's value as JSON has it."""
    match value:
        case {"stringValue": found} | {"boolValue": found} | {"doubleValue": found}:
            return found
        case {"intValue": count}:
            return _number(count)
        case {"arrayValue": {"values": list(values)}}:
            return [plain(each) for each in values]
        case {"kvlistValue": {"values": list(values)}}:
            return _pairs(values)
        case {"arrayValue": _}:
            return []
        case {"kvlistValue": _}:
            return {}
        case {"bytesValue": found}:
            return found
    return None


def any_value(value: Any) -> dict[str, Any]:
    """The inverse of `plain`, for what attributes may hold."""
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case list():
            return {"arrayValue": {"values": [any_value(each) for each in value]}}
    return {"stringValue": value}


def _attributes(holder: Attributes) -> Attributes:
    values = holder.get("attributes")
    return _pairs(values) if isinstance(values, list) else {}


def _pairs(values: list[Any]) -> Attributes:
    return {
        each["key"]: plain(each.get("value"))
        for each in values
        if isinstance(each, dict) and isinstance(each.get("key"), str)
    }


def _dicts(values: Any) -> Iterator[Attributes]:
    for each in values if isinstance(values, list) else ():
        if isinstance(each, dict):
            yield each


def _member(holder: Attributes, key: str) -> Attributes:
    value = holder.get(key)
    return value if isinstance(value, dict) else {}


def _number(value: Any) -> int:
    """64-bit numbers are text in OTLP's JSON."""
    try:
        return int(value)
    except (TypeError, ValueError):
        return 0


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
