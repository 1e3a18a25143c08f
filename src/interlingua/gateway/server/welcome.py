"""What a gateway says when it is ready: where it is, and what to try next, ready to be copied.

The same facts are there as text for people and as one JSON object for programs."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

from interlingua.gateway.settings import Settings

ANY = "any"
"""The key for a gateway that asks for none."""
KEY = "$INTERLINGUA_KEY"
"""The key for one that asks: the reader's own."""
WORDS = "Say hello."


class Try(NamedTuple):
    """One request that can be sent as it is."""

    front: str
    url: str
    body: dict[str, Any]
    streams: bool = False

    def command(self, keyed: bool) -> str:
        """The request as a line for a shell."""
        parts = ["curl", *(["-N"] if self.streams else []), shlex.quote(self.url)]
        if keyed:  # not quoted as a whole, so that the shell puts the key in
            parts += ["-H", f'"authorization: Bearer {KEY}"']
        body = shlex.quote(json.dumps(self.body, ensure_ascii=False))
        return " ".join([*parts, "-H", "'content-type: application/json'", "-d", body])


class Welcome:
    """`keyed`: whether this gateway asks for keys; if not, `keys_elsewhere` is another known store
    that has keys."""

    def __init__(
        self,
        place: str,
        settings: Settings,
        keyed: bool,
        store: str,
        keys_elsewhere: str | None = None,
    ) -> None:
        self.place = place
        self.model = settings.default_model or "local"
        self.keyed = keyed
        self.store = store
        self.keys_elsewhere = keys_elsewhere
        self.file = settings.path

    def tries(self) -> list[Try]:
        """One request for each front, and one stream."""
        place, model = self.place, self.model
        body = {"model": model, "messages": [{"role": "user", "content": WORDS}]}
        path = f"/v1beta/models/{quote(model, safe=':/@')}:generateContent"
        return [
            Try("openai-chat", f"{place}/v1/chat/completions", body),
            Try("openai-responses", f"{place}/v1/responses", {"model": model, "input": WORDS}),
            Try("anthropic", f"{place}/v1/messages", {**body, "max_tokens": 100}),
            Try("gemini", place + path, {"contents": [{"parts": [{"text": WORDS}]}]}),
            Try("ollama", f"{place}/api/chat", {**body, "stream": False}),
            Try("openai-chat", f"{place}/v1/chat/completions", {**body, "stream": True}, True),
        ]

    def sdks(self) -> dict[str, dict[str, str]]:
        """What each official SDK reads from its environment."""
        key = KEY if self.keyed else ANY
        environment = {
            "openai": {"OPENAI_BASE_URL": f"{self.place}/v1", "OPENAI_API_KEY": key},
            "anthropic": {"ANTHROPIC_BASE_URL": self.place, "ANTHROPIC_API_KEY": key},
            "google-genai": {"GOOGLE_GEMINI_BASE_URL": self.place, "GEMINI_API_KEY": key},
            "ollama": {"OLLAMA_HOST": self.place},
        }
        if self.keyed:
            environment["ollama"]["OLLAMA_API_KEY"] = key
        return environment

    def agents(self) -> dict[str, dict[str, str]]:
        """The same for coding agents that need no file."""
        key, model = KEY if self.keyed else ANY, self.model
        return {
            "claude": {
                "ANTHROPIC_BASE_URL": self.place,
                "ANTHROPIC_AUTH_TOKEN": key,
                "ANTHROPIC_MODEL": model,
            },
            "copilot": {
                "COPILOT_PROVIDER_BASE_URL": f"{self.place}/v1",
                "COPILOT_PROVIDER_API_KEY": key,
                "COPILOT_MODEL": model,
                "COPILOT_OFFLINE": "true",
            },
            "qwen --auth-type openai": {
                "OPENAI_BASE_URL": f"{self.place}/v1",
                "OPENAI_API_KEY": key,
                "OPENAI_MODEL": model,
            },
            f"aider --model openai/{model}": {
                "OPENAI_API_BASE": f"{self.place}/v1",
                "OPENAI_API_KEY": key,
            },
        }

    def paths(self) -> dict[str, str]:
        names = {
            "page": "/",
            "models": "/v1/models",
            "health": "/health/ready",
            "metrics": "/metrics",
            "api": "/openapi.json",
        }
        return {name: self.place + path for name, path in names.items()}

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "url": self.place,
            "pid": os.getpid(),
            "model": self.model,
            "needs_key": self.keyed,
            "store": self.store,
            "keys_elsewhere": self.keys_elsewhere,
            "config": None if self.file is None else str(self.file),
            "try": [each._asdict() for each in self.tries()],
            "sdks": self.sdks(),
            "agents": self.agents(),
            "paths": self.paths(),
        }

    def text(self) -> str:
        """For people."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"interlingua gateway on {self.place}  (Ctrl-C stops it)"
        yield f"  answers with {self.model} where a request names no model; keeps its books in"
        yield f"  {self.store}"
        if self.keys_elsewhere:
            yield ""
            yield "Warning: this store has no keys, so every program on this machine may use the"
            yield f"  gateway; {self.keys_elsewhere} has keys. Name that store in gateway.toml"
            yield "  (store = …), or issue keys here: interlingua keys issue NAME"
        yield ""
        yield "Try, in another terminal:"
        if self.keyed:
            yield "  # it asks for a key: interlingua keys issue NAME, then"
            yield "  export INTERLINGUA_KEY=gw_…"
        elif self.model == "local":
            yield "  # the first answer takes longer: the model is fetched once (98 MB) and loaded"
        for each in self.tries():
            yield f"  # {each.front}{', as a stream' if each.streams else ''}"
            yield f"  {each.command(self.keyed)}"
        yield ""
        yield "SDKs, unchanged:"
        for name, variables in self.sdks().items():
            yield f"  {name:<13} {_assigned(variables)}"
        yield ""
        yield "Coding agents, which want a larger model than local (more in docs/gateway.md):"
        for command, variables in self.agents().items():
            yield f"  {_assigned(variables)} {command}"
        yield ""
        for name, url in self.paths().items():
            yield f"{name.upper() if name == 'api' else name.capitalize():<8} {url}"
        yield f"Stop     Ctrl-C here, or kill {os.getpid()}"
        yield ""


def _assigned(variables: dict[str, str]) -> str:
    """Variables before a command; a key of the reader's own is left to the shell."""
    return " ".join(
        f'{name}="{value}"' if value == KEY else f"{name}={shlex.quote(value)}"
        for name, value in variables.items()
    )
