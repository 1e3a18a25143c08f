"""The bundled local model: its weights, its server, fixes for its answers."""

from interlingua.local.model import (
    MODEL,
    NAME,
    LocalModelError,
    Show,
    Silent,
    StartError,
    Terminal,
    WeightsError,
    local_folder,
    present,
    weights_path,
)
from interlingua.local.server import LocalServer, shared, start

__all__ = [
    "MODEL",
    "NAME",
    "LocalModelError",
    "LocalServer",
    "Show",
    "Silent",
    "StartError",
    "Terminal",
    "WeightsError",
    "local_folder",
    "present",
    "shared",
    "start",
    "weights_path",
]
