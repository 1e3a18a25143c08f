"""The dialect that a request is said in, where a model is not asked everything in its usual one."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from interlingua.model.tools import ToolDefinition
from interlingua.models.profile import Profile


def dialect_for_tools(
    profile: Profile, tools: Iterable[ToolDefinition], speaks: Collection[str]
) -> str | None:
    """The dialect for requests with these tools, if it is a special one that its provider speaks:
    newer models of OpenAI take functions in Responses only."""
    wanted = profile.speaks.tools_dialect
    if wanted is None or wanted == profile.dialect or wanted not in speaks:
        return None
    return wanted if any(tool.executor == "client" for tool in tools) else None
