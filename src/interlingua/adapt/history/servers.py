"""Remote MCP servers, as three vendors say them. None is told to another that would let the model
do more than it was allowed: without asking for approval, or with more tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from interlingua.model.tools import ToolDefinition

APPROVED = "its calls need approval, which is asked for nowhere else"
_BEARER = "Bearer "
_AUTHORIZATION = "authorization"


class Server(NamedTuple):
    """`left` are the paths of what is said of it beside this."""

    label: str
    url: str
    token: str | None = None
    headers: Mapping[str, str] = {}
    allowed: tuple[str, ...] | None = None
    left: tuple[str, ...] = ()


class UnfitError(Exception):
    """Why a server cannot be told to another vendor."""


# -- reading --------------------------------------------------------------------------------------


def read_openai(tool: ToolDefinition, settings: Mapping[str, Any]) -> list[Server]:
    url = settings.get("server_url")
    if type(url) is not str:
        raise UnfitError("its connector is known to its own provider alone")
    if settings.get("require_approval") != "never":
        raise UnfitError(APPROVED)
    left = [f"raw.openai-responses.{key}" for key in settings if key not in _OPENAI]
    allowed = settings.get("allowed_tools")
    if isinstance(allowed, dict) and set(allowed) == {"tool_names"}:
        allowed = allowed["tool_names"]
    if allowed is not None and type(allowed) is not list:
        raise UnfitError("which of its tools are allowed can be said there alone")
    names = None if allowed is None else tuple(map(str, allowed))
    return [
        _server(tool.name, url, settings.get("authorization"), settings.get("headers"), names, left)
    ]


_OPENAI = frozenset(
    {"server_url", "authorization", "headers", "allowed_tools", "require_approval", "$form"}
)


def read_anthropic(
    tool: ToolDefinition, settings: Mapping[str, Any], servers: list[Any]
) -> list[Server]:
    """`servers` are those that the request names beside its tools."""
    found = next((each for each in servers if _is_called(each, tool.name)), None)
    if found is None or type(found.get("url")) is not str:
        raise UnfitError("its server is not named in the request")
    configs, usual = settings.get("configs") or {}, settings.get("default_config") or {}
    on = {name: each.get("enabled", True) is not False for name, each in configs.items()}
    allowed: tuple[str, ...] | None = None
    if usual.get("enabled") is False:
        allowed = tuple([name for name in on if configs[name].get("enabled") is True])
    elif not all(on.values()):
        raise UnfitError("which of its tools are not allowed can be said there alone")
    if "tool_configuration" in found:
        raise UnfitError("which of its tools are allowed can be said there alone")
    left = [f"raw.anthropic.{key}" for key in settings if key not in _ANTHROPIC]
    left += ["raw.anthropic.default_config.defer_loading"] if "defer_loading" in usual else []
    token = found.get("authorization_token")
    return [_server(tool.name, found["url"], token, None, allowed, left)]


_ANTHROPIC = frozenset({"configs", "default_config", "$form"})


def _is_called(server: Any, name: str) -> bool:
    return isinstance(server, dict) and server.get("name") == name


def read_gemini(tool: ToolDefinition, settings: Mapping[str, Any]) -> list[Server]:
    listed = settings.get("mcpServers")
    return list(_of_gemini(listed if isinstance(listed, list) else []))


def _of_gemini(listed: list[Any]) -> Iterator[Server]:
    for number, each in enumerate(listed):
        how = each.get("streamableHttpTransport") if isinstance(each, dict) else None
        if not isinstance(how, dict) or type(how.get("url")) is not str:
            raise UnfitError("its transport is known to its own provider alone")
        place = f"raw.gemini.mcpServers[{number}].streamableHttpTransport"
        left = [f"{place}.{key}" for key in how if key not in ("url", "headers")]
        label = str(each.get("name") or f"server_{number}")
        yield _server(label, how["url"], None, how.get("headers"), None, left)


def _server(
    label: str,
    url: str,
    token: Any,
    headers: Any,
    allowed: tuple[str, ...] | None,
    left: list[str],
) -> Server:
    """A token that stands among the headers is one."""
    rest = dict(headers) if isinstance(headers, dict) else {}
    for key in [key for key in rest if key.lower() == _AUTHORIZATION]:
        if token is None and str(rest[key]).startswith(_BEARER):
            token = str(rest.pop(key)).removeprefix(_BEARER)
    return Server(label, url, token, rest, allowed, tuple(left))


# -- writing --------------------------------------------------------------------------------------


def for_openai(server: Server, vendor: str) -> dict[str, Any]:
    settings: dict[str, Any] = {"server_url": server.url}
    if server.token is not None:
        settings["authorization"] = server.token
    if server.headers:
        settings["headers"] = dict(server.headers)
    if server.allowed is not None:
        settings["allowed_tools"] = list(server.allowed)
    if vendor == "openai":  # xAI has no such word
        settings["require_approval"] = "never"
    return settings


def for_anthropic(server: Server) -> tuple[dict[str, Any], dict[str, Any]]:
    """The tool, and the server beside the tools."""
    settings: dict[str, Any] = {"$form": {"own": True}}
    if server.allowed is not None:
        settings["default_config"] = {"enabled": False}
        settings["configs"] = {name: {"enabled": True} for name in server.allowed}
    beside = {"type": "url", "name": server.label, "url": server.url}
    return settings, beside | ({"authorization_token": server.token} if server.token else {})


def for_gemini(server: Server) -> dict[str, Any]:
    if server.allowed is not None:
        raise UnfitError("which of its tools are allowed cannot be said here")
    how: dict[str, Any] = {"url": server.url}
    token = {} if server.token is None else {"Authorization": f"{_BEARER}{server.token}"}
    if headers := {**server.headers, **token}:
        how["headers"] = headers
    return {"mcpServers": [{"name": server.label, "streamableHttpTransport": how}]}
