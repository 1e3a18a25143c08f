"""The log of a gateway: one JSON object per line for machines, text for people. Only names, counts,
sizes and times are ever in it; what looks like a secret is taken out all the same."""

from __future__ import annotations

import logging
import re
import sys
from typing import Any, TextIO

import msgspec

from interlingua.gateway.settings import Telemetry

_USUAL = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}
_SECRET = re.compile(
    r"\b(gw_[A-Za-z0-9_-]{8,}|sk-[A-Za-z0-9_-]{8,}|AIza[A-Za-z0-9_-]{8,}|gsk_[A-Za-z0-9]{8,}"
    r"|xai-[A-Za-z0-9]{8,}|AKIA[A-Z0-9]{12,})|(?i:bearer\s+)[A-Za-z0-9._~+/=-]{8,}"
    r"|(?<=[?&]key=)[^&\s\"']+"
)
HIDDEN = "[hidden]"
_MOST = 2000
"""Characters of one value."""


def hidden(text: str) -> str:
    """The text without anything that looks like a key."""
    return _SECRET.sub(HIDDEN, text[:_MOST])


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """What a record says beside its name."""
    return {name: _plain(value) for name, value in vars(record).items() if name not in _USUAL}


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return hidden(str(value))


class JsonLines(logging.Formatter):
    """One object per line. Tracebacks name places in the code, and no values."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "at": round(record.created, 3),
            "level": record.levelname.lower(),
            "event": hidden(record.getMessage()),
            "logger": record.name,
            **fields_of(record),
        }
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = record.exc_info[0].__name__
            line["where"] = _place(record.exc_info[2])
        return msgspec.json.encode(line).decode()


class Lines(logging.Formatter):
    """Text for people."""

    def format(self, record: logging.LogRecord) -> str:
        at = self.formatTime(record, "%H:%M:%S")
        more = " ".join(f"{name}={value}" for name, value in fields_of(record).items())
        text = hidden(record.getMessage()).replace("\n", " ")
        if record.exc_info and record.exc_info[0] is not None:
            place = _place(record.exc_info[2])
            more = f"{more} exception={record.exc_info[0].__name__} where={place}"
        return f"{at} {record.levelname.lower():7} {text} {more}".rstrip()


def _place(trace: Any) -> str:
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f"{trace.tb_frame.f_code.co_name}:{trace.tb_lineno}"


def set_up(telemetry: Telemetry, out: TextIO | None = None) -> logging.Handler:
    """Send the log to standard error, in the form that was asked for."""
    stream = out or sys.stderr
    json = telemetry.log == "json" or (telemetry.log == "auto" and not stream.isatty())
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines() if json else Lines())
    level = telemetry.log_level.upper()
    for name in ("interlingua", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False
        logger.setLevel(level)
    logging.getLogger("uvicorn.error").setLevel(max(logging.WARNING, getattr(logging, level)))
    logging.getLogger("uvicorn.error").propagate = True
    return handler
