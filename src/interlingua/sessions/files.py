"""Files of the session's workspace, put in place of the references to them, on a copy."""

from __future__ import annotations

from collections.abc import Sequence

from interlingua.model.message import Message, Role
from interlingua.model.walk import walk_message


def with_files(messages: Sequence[Message], workspace_path: str) -> tuple[Message, ...]:
    """The messages as a wire wants them: data in place of `file_ref`. No file is opened unless one
    is referred to, and none outside the workspace.

    What the last turn refers to must be there. A file that has gone since an older turn is no
    reason to be stuck: the reference stays, and the writer reports it as lost."""
    if not any(map(_refers, messages)):
        return tuple(messages)
    from interlingua.tools.attach import attach_files
    from interlingua.tools.errors import WorkspaceError
    from interlingua.tools.workspace import Workspace

    workspace = Workspace.of(workspace_path)
    last = max((i for i, m in enumerate(messages) if m.role is Role.USER), default=0)
    out = list(messages)
    for index, message in enumerate(messages):
        if _refers(message):
            try:
                (out[index],) = attach_files([message], workspace)
            except WorkspaceError:
                if index >= last:
                    raise
    return tuple(out)


def _refers(message: Message) -> bool:
    return any(_is_reference(block) for _, _, block in walk_message(message))


def _is_reference(block: object) -> bool:
    source = getattr(block, "source", None)
    return source is not None and source.kind == "file_ref"
