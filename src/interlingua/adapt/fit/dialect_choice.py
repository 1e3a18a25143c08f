"""The dialect that a request is said in, where a model is not asked everything in its usual one."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from interlingua.adapt.history.search_options import asks_beside
from interlingua.model.exchange import Request
from interlingua.model.tools import ToolDefinition
from interlingua.profiles.profile import Profile


def dialect_for_tools(
    profile: Profile,
    tools: Iterable[ToolDefinition],
    speaks: Collection[str],
    beside: bool = False,
) -> str | None:
    """The dialect for requests with these tools, if it is a special one that its provider speaks:
    newer models of OpenAI take functions in Responses only, and all have their provider's own tools
    there."""
    rules = profile.speaks
    if rules.tools_dialect is None and rules.server_dialect is None:
        return None
    runs = {tool.executor for tool in tools}
    if beside:
        runs.add("provider")
    wanted = rules.tools_dialect if "client" in runs else None
    if wanted is None and "provider" in runs:
        wanted = rules.server_dialect
    return wanted if wanted != profile.dialect and wanted in speaks else None


def dialect_for_request(profile: Profile, request: Request, speaks: Collection[str]) -> str | None:
    """The same for a request: a search that is asked for beside the tools is one of the provider's
    own too."""
    return dialect_for_tools(profile, request.tools, speaks, asks_beside(request))
