"""Tools that vendors define, by purpose: each vendor's word, its options, and their places. Data
alone; `tool_mapping.py` reads it.

A path leads to an option inside what a dialect keeps of the tool. Gemini keeps a tool's settings
under its word, OpenRouter has a tool's options in `parameters`, and Amazon's tools go by their
names. (SDKs `anthropic` 2.8.0, `openai` 3.49.0, `google-genai` 3.1.0, `openrouter` 1.3.84; xAI's
documentation; read 2026-11.)

Searches requested beside the tools (Chat's `web_search_options`, plugins of OpenRouter) are read as
tools that the provider runs, so that they are mapped as those are. (`openai` 3.49.0, `openrouter`
1.3.84, read 2026-11.)

Remote MCP servers are written by three vendors. None is sent to another that would let the model
do more than it was allowed: without asking for approval, or with more tools."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from interlingua.model.exchange import Request
from interlingua.model.reasons import because
from interlingua.model.tools import ToolDefinition

# -- MCP servers ----------------------------------------------------------------------------------


APPROVED = because("mcp_approval")
_BEARER = "Bearer "
_AUTHORIZATION = "authorization"


class Server(NamedTuple):
    """An MCP server; `left` has the paths of its settings elsewhere."""

    label: str
    url: str
    token: str | None = None
    headers: Mapping[str, str] = {}
    allowed: tuple[str, ...] | None = None
    left: tuple[str, ...] = ()


class UnfitError(Exception):
    """Why a server cannot be expressed for another vendor."""


# -- reading --------------------------------------------------------------------------------------


def read_openai(tool: ToolDefinition, settings: Mapping[str, Any]) -> list[Server]:
    url = settings.get("server_url")
    if type(url) is not str:
        raise UnfitError(because("mcp_connector"))
    if settings.get("require_approval") != "never":
        raise UnfitError(APPROVED)
    left = [f"raw.openai-responses.{key}" for key in settings if key not in _OPENAI]
    allowed = settings.get("allowed_tools")
    if isinstance(allowed, dict) and set(allowed) == {"tool_names"}:
        allowed = allowed["tool_names"]
    if allowed is not None and type(allowed) is not list:
        raise UnfitError(because("mcp_allowed_tools"))
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
    """`servers` are those that the request defines beside its tools."""
    found = next((each for each in servers if _is_called(each, tool.name)), None)
    if found is None or type(found.get("url")) is not str:
        raise UnfitError(because("mcp_server_unnamed"))
    configs, usual = settings.get("configs") or {}, settings.get("default_config") or {}
    on = {name: each.get("enabled", True) is not False for name, each in configs.items()}
    allowed: tuple[str, ...] | None = None
    if usual.get("enabled") is False:
        allowed = tuple([name for name in on if configs[name].get("enabled") is True])
    elif not all(on.values()):
        raise UnfitError(because("mcp_allowed_tools"))
    if "tool_configuration" in found:
        raise UnfitError(because("mcp_allowed_tools"))
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
            raise UnfitError(because("mcp_transport"))
        path = f"raw.gemini.mcpServers[{number}].streamableHttpTransport"
        left = [f"{path}.{key}" for key in how if key not in ("url", "headers")]
        label = str(each.get("name") or f"server_{number}")
        yield _server(label, how["url"], None, how.get("headers"), None, left)


def _server(
    label: str, url: str, token: Any, headers: Any, allowed: tuple[str, ...] | None, left: list[str]
) -> Server:
    """A server; a token among the headers becomes its token."""
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
        raise UnfitError(because("mcp_allowed_tools"))
    how: dict[str, Any] = {"url": server.url}
    token = {} if server.token is None else {"Authorization": f"{_BEARER}{server.token}"}
    if headers := {**server.headers, **token}:
        how["headers"] = headers
    return {"mcpServers": [{"name": server.label, "streamableHttpTransport": how}]}


# -- options of searches --------------------------------------------------------------------------


OPTIONS = "web_search_options"
CHAT, ROUTER = "openai-chat", "openrouter"
_PLUGINS = {"web": "web_search", "web-fetch": "web_fetch"}
"""Plugins that correspond to tools, and the purpose of those."""


class LiftedSearch(NamedTuple):
    """A tool made from fields beside the tools, and their path in `raw`."""

    tool: ToolDefinition
    path: str


def asks_beside(request: Request) -> bool:
    """Whether a request asks for a search without a tool."""
    raw = request.raw
    if raw is None:
        return False
    return OPTIONS in (raw.get(CHAT) or ()) or bool((raw.get(ROUTER) or {}).get("plugins"))


def lifted(request: Request, dialect: str) -> list[LiftedSearch]:
    """The searches that a request has beside its tools, in another dialect than this one."""
    if not asks_beside(request):
        return []
    return [each for each in _found(request) if each.path.split(".")[1] != dialect]


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
            path = f"plugins[{number}]"
            rest = {key: value for key, value in plugin.items() if key != "id"}
            yield _lifted(_PLUGINS[name], f"plugin:{name}", ROUTER, {path: rest}, path)


def _lifted(
    name: str, kind: str, dialect: str, settings: dict[str, Any], path: str
) -> LiftedSearch:
    tool = ToolDefinition(name, executor="provider", kind=kind, raw={dialect: settings})
    return LiftedSearch(tool, f"raw.{dialect}.{path}")


def _flat(options: dict[str, Any]) -> dict[str, Any]:
    """Chat has the place of the user one level deeper than others."""
    location = options.get("user_location")
    inner = location.get("approximate") if isinstance(location, dict) else None
    if not isinstance(location, dict) or not isinstance(inner, dict):
        return {}
    return {"user_location": {"type": location.get("type", "approximate"), **inner}}


def as_options(settings: dict[str, Any]) -> dict[str, Any]:
    """Options of a search as Chat has them."""
    location = settings.get("user_location")
    if not isinstance(location, dict):
        return settings
    inner = {key: value for key, value in location.items() if key != "type"}
    return {**settings, "user_location": {"type": "approximate", "approximate": inner}}


def without(raw: dict[str, Any], path: str) -> dict[str, Any]:
    """The raw data of a request without the value at a path that was written elsewhere."""
    _, dialect, key = path.split(".", 2)
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


_CLAUDE = re.compile(r"(claude-[a-z]+-\d+)(?:[-.](\d{1,2}))?")
_SLUG = "anthropic/"


def advisor_for(name: str, vendor: str) -> str | None:
    """The advisor model under its name at the target; None if it is unknown."""
    found = _CLAUDE.fullmatch(name.removeprefix(_SLUG))
    if found is None or name.startswith(_SLUG) is (vendor == ROUTER):
        return name if vendor == ROUTER and "/" in name else None
    head, minor = found.groups()
    mark, before = (".", _SLUG) if vendor == ROUTER else ("-", "")
    return before + (head if minor is None else f"{head}{mark}{minor}")


Path = tuple[str, ...]


class VendorSpelling(NamedTuple):
    """How a vendor spells a tool. `name` is the tool's name, if it differs from its type; `filled`
    are required members."""

    vendor: str
    words: str
    options: Mapping[str, Path] = {}
    name: str | None = None
    filled: Mapping[str, Any] = {}

    def says(self, word: str) -> bool:
        return re.fullmatch(self.words, word) is not None


DIALECTS = {
    "anthropic": "anthropic",
    "openai": "openai-responses",
    "xai": "openai-responses",
    "gemini": "gemini",
    "vertex": "gemini",
    "interactions": "gemini-interactions",
    "openrouter": "openrouter",
    "nova": "bedrock",
    "chat": "openai-chat",
}
"""The dialect that spells a vendor's tools."""
LIKE = {"xai": "openai", "vertex": "gemini"}
"""Services that spell tools as another does, unless they have an entry of their own."""


def _in(*names: str, under: str | None = None, **others: str) -> dict[str, Path]:
    """Options by their places, separated into those with the same name here and others."""
    keys = {**{name: name for name in names}, **others}
    return {option: (key,) if under is None else (under, key) for option, key in keys.items()}


_DOMAINS = ("allowed_domains", "blocked_domains")
_SHELL = r"bash_\d{8}"
_SCREEN = {"display_width": 1024, "display_height": 768}

TABLE: dict[str, tuple[VendorSpelling, ...]] = {
    "web_search": (
        VendorSpelling(
            "anthropic",
            r"web_search_\d{8}",
            _in("max_uses", "user_location", *_DOMAINS),
            "web_search",
        ),
        VendorSpelling(
            "openai",
            r"web_search(_\d{4}_\d\d_\d\d)?|web_search_preview(_\d{4}_\d\d_\d\d)?",
            _in(*_DOMAINS, under="filters")
            | _in("user_location", context_size="search_context_size"),
        ),
        VendorSpelling(
            "xai",
            "web_search",
            _in("allowed_domains", "user_location", blocked_domains="excluded_domains"),
        ),
        VendorSpelling("gemini", "googleSearch", filled={"googleSearch": {}}),
        VendorSpelling("interactions", "google_search"),
        VendorSpelling(
            "vertex",
            "googleSearch",
            _in(blocked_domains="excludeDomains", under="googleSearch"),
            filled={"googleSearch": {}},
        ),
        VendorSpelling(
            "openrouter",
            "openrouter:web_search",
            _in(
                *("max_uses", "allowed_domains", "user_location"),
                blocked_domains="excluded_domains",
                context_size="search_context_size",
                under="parameters",
            ),
        ),
        VendorSpelling("nova", "nova_grounding"),
        VendorSpelling(
            "chat", OPTIONS, _in("user_location", context_size="search_context_size", under=OPTIONS)
        ),
        VendorSpelling("openrouter", "plugin:web"),
    ),
    "web_fetch": (
        VendorSpelling(
            "anthropic",
            r"web_fetch_\d{8}",
            _in("max_uses", "max_content_tokens", "citations", *_DOMAINS),
            "web_fetch",
        ),
        VendorSpelling("gemini", "urlContext", filled={"urlContext": {}}),
        VendorSpelling("interactions", "url_context"),
        VendorSpelling(
            "openrouter",
            "openrouter:web_fetch",
            _in("max_uses", "max_content_tokens", *_DOMAINS, under="parameters"),
        ),
        VendorSpelling("openrouter", "plugin:web-fetch"),
    ),
    "code_execution": (
        VendorSpelling("anthropic", r"code_execution_\d{8}", name="code_execution"),
        VendorSpelling(
            "openai", "code_interpreter", _in("container"), filled={"container": {"type": "auto"}}
        ),
        VendorSpelling("gemini", "codeExecution", filled={"codeExecution": {}}),
        VendorSpelling("interactions", "code_execution"),
        VendorSpelling("nova", "nova_code_interpreter"),
    ),
    "programmatic": (
        VendorSpelling("openai", "programmatic_tool_calling"),
        VendorSpelling("anthropic", r"code_execution_\d{8}", name="code_execution"),
    ),
    "advisor": (
        VendorSpelling(
            "anthropic",
            r"advisor_\d{8}",
            _in("model", "max_uses", advisor_tokens="max_tokens"),
            "advisor",
        ),
        VendorSpelling(
            "openrouter",
            "openrouter:advisor",
            _in("model", advisor_tokens="max_completion_tokens", under="parameters"),
            filled={"parameters": {"forward_transcript": True}},
        ),
    ),
    "mcp": (
        VendorSpelling("anthropic", "mcp_toolset"),
        VendorSpelling("openai", "mcp"),
        VendorSpelling("gemini", "mcpServers"),
    ),
    "file_search": (
        VendorSpelling("openai", "file_search"),
        VendorSpelling("gemini", "fileSearch"),
        VendorSpelling("interactions", "file_search"),
    ),
    "image_generation": (
        VendorSpelling("openai", "image_generation", _in("model", "size", "quality", "background")),
        VendorSpelling(
            "openrouter", "openrouter:image_generation", _in("model", under="parameters")
        ),
    ),
    "computer": (
        VendorSpelling(
            "anthropic",
            r"computer_\d{8}",
            _in(display_width="display_width_px", display_height="display_height_px"),
            "computer",
            {f"{name}_px": size for name, size in _SCREEN.items()},
        ),
        VendorSpelling("anthropic", r"computer_toolset_\d{8}", name="computer"),
        VendorSpelling("openai", "computer"),
        VendorSpelling(
            "openai",
            "computer_use_preview",
            _in(*_SCREEN, "environment"),
            filled={**_SCREEN, "environment": "browser"},
        ),
        VendorSpelling(
            "gemini", "computerUse", filled={"computerUse": {"environment": "ENVIRONMENT_BROWSER"}}
        ),
        VendorSpelling("interactions", "computer_use", filled={"environment": "browser"}),
    ),
    "browser": (
        VendorSpelling("anthropic", r"browser_toolset_\d{8}"),
        VendorSpelling("openai", "computer"),
        VendorSpelling(
            "openai", "computer_use_preview", filled={**_SCREEN, "environment": "browser"}
        ),
        VendorSpelling(
            "gemini", "computerUse", filled={"computerUse": {"environment": "ENVIRONMENT_BROWSER"}}
        ),
        VendorSpelling("interactions", "computer_use", filled={"environment": "browser"}),
    ),
    "shell": (
        VendorSpelling("anthropic", _SHELL, name="bash"),
        VendorSpelling("openai", "local_shell"),
        VendorSpelling("openai", "shell", filled={"environment": {"type": "local"}}),
    ),
    "tool_search": (
        VendorSpelling(
            "anthropic", r"tool_search_tool_(bm25|regex)(_\d{8})?", name="tool_search_tool_bm25"
        ),
        VendorSpelling("openai", "tool_search"),
        VendorSpelling("openrouter", "openrouter:tool_search"),
    ),
}
"""The spellings of each purpose. Editors are missing: one vendor's `apply_patch` takes another
grammar than the other's `text_editor`."""

KEYS = {"shell": ("shell", "bash"), "browser": ("browser", "computer")}
"""The name of a concept in profiles, if it is not its own."""
INSTEAD = {("openai", "web_fetch"): "web_search", ("xai", "web_fetch"): "web_search"}
"""A vendor's tool that does another's work too: these open pages while they search."""
STORED = {"file_search": because("tool_stored", what="stores")}
"""Tools that need data stored at one provider."""
IDS = frozenset({"container"})
"""Options that name things which one provider keeps."""
SAYS_NOTHING: dict[str, tuple[Any, ...]] = {
    "container": ({"type": "auto"},),
    "external_web_access": (True,),
    "environment": ({"type": "local"},),
    "execution": ("server",),
    "forward_transcript": (True,),
}
CLIENTS = frozenset({"browser", "computer", "shell"})
"""Tools that clients run themselves."""
PROGRAMS = re.compile(r"programmatic_tool_calling|code_execution_\d{8}")
"""Tools whose code may call others."""
"""Values that equal the default."""
ONE_OF = {"anthropic": _DOMAINS, "xai": _DOMAINS}
"""Options that exclude each other at a vendor; the first one is kept."""
NEAR: dict[tuple[str, str], tuple[str, Mapping[Any, Any]]] = {
    ("anthropic", "context_size"): ("max_uses", {"low": 1, "medium": 5, "high": 10})
}
"""Options that correspond to another, and the mapped values."""
CHOSEN = {
    "anthropic": r".*",
    "openai": r"code_interpreter|image_generation|mcp|computer.*|shell",
    "openrouter": r".*",
}
"""The tools that a choice can name."""
OWN_FORMS: dict[str, dict[str, Any]] = {
    "anthropic": {"own": True},
    "gemini-interactions": {"own": True},
}
"""Dialects whose readers mark a tool that its vendor defines."""
TOLD_OF_OWN = frozenset({"gemini"})
"""Vendors that need a flag if functions are combined with their own tools."""
CHOICE_OF_FUNCTIONS = frozenset({"gemini", "vertex", "interactions"})
"""Vendors whose choice of a tool is one of functions alone."""
