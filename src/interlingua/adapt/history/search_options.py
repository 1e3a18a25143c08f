"""Searches that are asked for beside the tools: Chat's `web_search_options`, plugins of OpenRouter.

They are read as tools that the provider runs, so that they cross as those do. (`openai` 3.49.0,
`openrouter` 1.3.84, read 2026-11.)"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from interlingua.model.exchange import Request
from interlingua.model.tools import ToolDefinition

OPTIONS = "web_search_options"
CHAT, ROUTER = "openai-chat", "openrouter"
_PLUGINS = {"web": "web_search", "web-fetch": "web_fetch"}
"""Plugins that are tools elsewhere, and what those are for."""


class LiftedSearch(NamedTuple):
    """A tool that stands for what was said beside the tools, and where that is in `raw`."""

    tool: ToolDefinition
    place: str


def asks_beside(request: Request) -> bool:
    """Whether a request asks for a search without a tool."""
    raw = request.raw
    if raw is None:
        return False
    return OPTIONS in (raw.get(CHAT) or ()) or bool((raw.get(ROUTER) or {}).get("plugins"))


def lifted(request: Request, dialect: str) -> list[LiftedSearch]:
    """What a request asks for beside its tools in another dialect than this one."""
    if not asks_beside(request):
        return []
    return [each for each in _found(request) if each.place.split(".")[1] != dialect]


def _found(request: Request) -> Iterator[LiftedSearch]:
    raw = request.raw or {}
    options = (raw.get(CHAT) or {}).get(OPTIONS)
    if isinstance(options, dict):
        settings = {OPTIONS: {**options, **_flat(options)}}
        yield _lifted("web_search", OPTIONS, CHAT, settings, OPTIONS)
    plugins = (raw.get(ROUTER) or {}).get("plugins")
    for number, plugin in enumerate(plugins if isinstance(plugins, list) else ()):
        name = plugin.get("id") if isinstance(plugin, dict) else None
        if name in _PLUGINS:
            place = f"plugins[{number}]"
            rest = {key: value for key, value in plugin.items() if key != "id"}
            yield _lifted(_PLUGINS[name], f"plugin:{name}", ROUTER, {place: rest}, place)


def _lifted(
    name: str, kind: str, dialect: str, settings: dict[str, Any], place: str
) -> LiftedSearch:
    tool = ToolDefinition(name, executor="provider", kind=kind, raw={dialect: settings})
    return LiftedSearch(tool, f"raw.{dialect}.{place}")


def _flat(options: dict[str, Any]) -> dict[str, Any]:
    """Chat has the place of the user one level deeper than others."""
    place = options.get("user_location")
    inner = place.get("approximate") if isinstance(place, dict) else None
    if not isinstance(place, dict) or not isinstance(inner, dict):
        return {}
    return {"user_location": {"type": place.get("type", "approximate"), **inner}}


def as_options(settings: dict[str, Any]) -> dict[str, Any]:
    """Options of a search as Chat has them."""
    place = settings.get("user_location")
    if not isinstance(place, dict):
        return settings
    inner = {key: value for key, value in place.items() if key != "type"}
    return {**settings, "user_location": {"type": "approximate", "approximate": inner}}


def without(raw: dict[str, Any], place: str) -> dict[str, Any]:
    """What is kept of a request, without what stands at a place now told."""
    _, dialect, key = place.split(".", 2)
    own_raw = dict(raw[dialect])
    if key == OPTIONS:
        del own_raw[OPTIONS]
    else:
        number = int(key.removeprefix("plugins[").removesuffix("]"))
        left = list(own_raw["plugins"])
        left[number] = None
        own_raw["plugins"] = left
        if not any(left):
            del own_raw["plugins"]
    return {**raw, dialect: own_raw}
