"""Files of the session's workspace, put in place of the references to them, on a copy."""

from __future__ import annotations

from collections.abc import Sequence

from interlingua.model.message import Message
from interlingua.model.walk import walk


def with_files(messages: Sequence[Message], workspace_path: str) -> tuple[Message, ...]:
    """The messages as a wire wants them: data in place of `file_ref`. No file is opened unless one
    is referred to, and none outside the workspace."""
    if not any(_refers(block) for _, _, block in walk(messages)):
        return tuple(messages)
    from interlingua.tools.attach import attach_files
    from interlingua.tools.workspace import Workspace

    return tuple(attach_files(messages, Workspace.of(workspace_path)))


def _refers(block: object) -> bool:
    source = getattr(block, "source", None)
    return source is not None and source.kind == "file_ref"
