"""Where a task may be: the folder is this machine's, and its tools read and write there."""

from __future__ import annotations

import os
from pathlib import Path

from interlingua.gateway.keys.keys import is_loopback
from interlingua.gateway.settings import Settings
from interlingua.gateway.shared.bodies import text_of
from interlingua.gateway.shared.callers import ApiError
from interlingua.gateway.shared.state import Principal

_EVERYWHERE = (None, "", ".")
"""Workspaces of keys that are for no folder in particular."""


def folder_of(said: str | None, principal: Principal, settings: Settings) -> str:
    """The folder of a new task, in the one spelling that it has; the caller's own, or the one the
    gateway was started in, where none is named."""
    own = principal.workspace_path
    home = _real("." if own in _EVERYWHERE else str(own))
    path = home if said is None else _real(text_of(said, "cwd"), home)
    roots = _roots(principal, settings)
    if roots and not any(path == root or root in path.parents for root in roots):
        raise ApiError(
            403, "workspace_not_allowed", "cwd: outside the folders that this caller may use"
        )
    if not os.path.isdir(path):
        raise ApiError(400, "invalid_request", "cwd: no such folder on this machine")
    return str(path)


def _roots(principal: Principal, settings: Settings) -> list[Path]:
    """The folders that a task may be in or below; none: it may be anywhere.

    A key is for its workspace. One that is for no folder in particular can be used from other
    machines where the gateway listens to them: then the gateway's own folder, or those that its
    settings name, are as far as it goes."""
    named = [_real(folder) for folder in settings.tasks.folders]
    if principal.key_id is None:
        return named
    if principal.workspace_path not in _EVERYWHERE:
        return [_real(str(principal.workspace_path))]
    return named if is_loopback(settings.listen.host) else named or [_real(".")]


def _real(path: str, base: Path | None = None) -> Path:
    """A folder in the one spelling that it has."""
    try:
        return ((base or Path()) / Path(path).expanduser()).resolve()
    except (OSError, RuntimeError, ValueError):
        raise ApiError(400, "invalid_request", "cwd: expected the path of a folder") from None
