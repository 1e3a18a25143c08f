"""The Interactions API as a gateway serves it."""

from __future__ import annotations

import re
import time
from typing import Any

import msgspec

from interlingua.dialects.front import GOOGLE_VERSIONS, Ending, Filler, Front, Stored, Wire
from interlingua.dialects.gemini_interactions.tables import (
    COMPLETE,
    CREATED,
    DONE,
    NAME,
    OBJECT,
    OLD_FRAMES,
)

_COMPLETE = (COMPLETE, OLD_FRAMES[COMPLETE])
_FILLED = (CREATED, OLD_FRAMES[CREATED], *_COMPLETE)
_FRAME = re.compile(rb'data: (\{[^\r\n]*"interaction":\{[^\r\n]*)')


class _Event(msgspec.Struct):
    event_type: str = ""


_event = msgspec.json.Decoder(_Event).decode


class LastFrame(Ending):
    marks = (OLD_FRAMES[COMPLETE].encode(), DONE.encode())
    """The older name is how the newer one begins."""
    silent = frozenset({b"data: [DONE]"})

    def _look(self, data: str, name: str | None) -> None:
        if data == DONE:
            if self.is_reached:
                self.reach()
        elif _event(data).event_type in _COMPLETE:
            self.reach(last=False)


class Repeated(msgspec.Struct):
    """The members of its request that an interaction repeats."""

    model: str | None = None
    agent: str | None = None
    previous_interaction_id: str | None = None
    service_tier: str | None = None

    def members(self) -> Wire:
        fields: Wire = {key: getattr(self, key) for key in self.__struct_fields__}
        return {key: item for key, item in fields.items() if item is not None}


_repeated = msgspec.json.Decoder(Repeated)


class Members(Filler):
    """The creation time, and the interaction that it continues."""

    def __init__(self, request: bytes) -> None:
        super().__init__(request)
        self._request = request
        self._made = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self._repeated_fields: Wire | None = None

    def _members(self) -> Wire:
        if self._repeated_fields is None:
            try:
                self._repeated_fields = _repeated.decode(self._request).members()
            except (msgspec.DecodeError, UnicodeError):
                self._repeated_fields = {}
        return self._repeated_fields

    def whole(self, wire: Wire) -> Wire:
        if "error" in wire:
            return wire
        times = {"created": self._made, "updated": self._made}
        return {**self._members(), "object": OBJECT, **times, **wire}

    def frames(self, data: bytes) -> bytes:
        return _FRAME.sub(self._filled, data) if b'"interaction":{' in data else data

    def _filled(self, found: re.Match[bytes]) -> bytes:
        frame: Any = msgspec.json.decode(found[1])
        interaction = frame["interaction"]
        if frame.get("event_type") not in _FILLED or not isinstance(interaction, dict):
            return found[0]
        frame["interaction"] = self.whole(interaction)
        return b"data: " + msgspec.json.encode(frame)


FRONT = Front(
    dialect=NAME,
    provider="gemini",
    paths={
        **{f"/{version}/interactions": "generate" for version in GOOGLE_VERSIONS},
        # For clients whose users gave a base URL without a version.
        "/interactions": "generate",
    },
    needs_id=True,
    filler=Members,
    fills_frames=True,
    ending=LastFrame,
    texts=b"text|arguments",
    unbounded={
        "agent": "an agent that runs until it is done",
        "background": "an answer in the background",
        "cached_content": "a prompt stored at the provider",
        "continuation_token": "a conversation stored at the provider",
        "environment": "an environment run by the provider",
        "previous_interaction_id": "a conversation stored at the provider",
    },
    stored=Stored(
        "previous_interaction_id",
        frozenset({"gemini"}),
        "Interaction",
        (b'"previous_interaction_id"', b'"input"'),
    ),
)
