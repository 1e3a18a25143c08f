"""The bundled local model: its weights, its server, fixes for its answers."""

from interlingua.local.model import MODEL, NAME, LocalModelError, StartError, WeightsError
from interlingua.local.server import LocalServer, shared, start
from interlingua.local.weights import Show, Silent, Terminal, local_folder, present, weights_path

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
