"""Ollama's own endpoint as a gateway serves it."""

from __future__ import annotations

import msgspec

from interlingua.dialects.front import Ending, Front, code_beside
from interlingua.dialects.ollama.tables import NAME


class _Line(msgspec.Struct):
    done: bool = False


_line = msgspec.json.Decoder(_Line).decode


class ChatEnding(Ending):
    marks = (b'"done":true', b'"done": true')

    def _look(self, data: str, name: str | None) -> None:
        if _line(data).done:
            self.reach()


FRONT = Front(
    dialect=NAME,
    provider="ollama",
    paths={"/api/chat": "generate"},
    stream_type="application/x-ndjson",
    streams_by_default=True,
    keep_alive=None,
    tagged_names=True,
    error_details=code_beside,
    ending=ChatEnding,
    marks=(b"_count", b'"error"'),
    texts=b"content|thinking",
)
