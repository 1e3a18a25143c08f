"""The HTTP request that a turn would send, to be looked at. Nothing is sent, no secret is shown."""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from interlingua.agents.chat.setup import BOX, Setup
from interlingua.client.targets import Key, Place, Prepared, Targets
from interlingua.model.losses import Report
from interlingua.providers.errors import MissingSettingError
from interlingua.providers.provider import HIDDEN
from interlingua.sessions.session import AsyncCall, AsyncTurn

_NO_KEY = "none-yet"
_SHORTEST = 6
"""A secret of fewer characters is hidden in headers, and not looked for in text."""
_TELLING = ("auth", "cookie", "key", "password", "secret", "token")
"""Words in header names whose values are hidden."""
_ADDRESS = "http://127.0.0.1"


class DryRequest(NamedTuple):
    """A request with its secrets masked. `notes` are what will be different when it is sent."""

    method: str
    url: str
    headers: dict[str, str]
    body: str
    report: Report
    notes: list[str]

    def text(self, pretty: bool = False) -> str:
        """As it goes over the wire: the first line with the whole address."""
        body = msgspec.json.format(self.body, indent=2) if pretty else self.body
        head = [f"{self.method} {self.url}"]
        head += [f"{name}: {value}" for name, value in self.headers.items()]
        return "\n".join([*head, "", body, ""])

    def as_json(self) -> dict[str, Any]:
        return {
            "method": self.method,
            "url": self.url,
            "headers": self.headers,
            "body": msgspec.Raw(self.body.encode()),
            "losses": self.report.losses,
        }


def dry(setup: Setup, turn: AsyncTurn, call: AsyncCall) -> DryRequest:
    """What this call would send."""
    notes: list[str] = []
    places: dict[str, Place] = {}
    keys: dict[str, Key] = {}
    provider = turn.model.partition(":")[0]
    if provider == BOX and setup.provides_box():
        places[BOX], keys[BOX] = _ADDRESS, _NO_KEY
        notes.append("the bundled local model has a port and a key once it runs")
    while True:
        targets = Targets(setup.providers, environ=setup.environ, base_urls=places, keys=keys)
        target = targets.find(turn.model, call.adapter.dialect.name)
        streams = call.request.options.stream
        try:
            return _masked(targets.prepare(call.request, target, bool(streams)), notes)
        except MissingSettingError as error:
            if error.what != "key" or provider in keys:
                raise
            notes.append(str(error))
            keys[provider] = _NO_KEY


def _masked(prepared: Prepared, notes: list[str]) -> DryRequest:
    http = prepared.http
    secrets = [text for text in http.secrets if text]
    headers = {name: _header(name, value, secrets) for name, value in http.headers.items()}
    found = [text for text in secrets if len(text) >= _SHORTEST]
    found += [quote(text, safe="") for text in found]
    url, body = http.url, http.body.decode()
    for text in found:
        url, body = url.replace(text, HIDDEN), body.replace(text, HIDDEN)
    return DryRequest("POST", url, headers, body, prepared.report, notes)


def _header(name: str, value: str, secrets: list[str]) -> str:
    """The value with secrets hidden; the scheme of a key (`Bearer`) stays. A header from a user's
    file may hold a secret unknown to us, so its name counts too."""
    shown = value
    for text in sorted(secrets, key=len):
        shown = shown.replace(text, HIDDEN)
    safe = shown != value or not any(word in name.lower() for word in _TELLING)
    return shown if safe else HIDDEN
