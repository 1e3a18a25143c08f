"""The bundled local model: small and real, on the user's own machine, with no key or network."""

from interlingua.local.errors import LocalModelError, StartError, WeightsError
from interlingua.local.model import MODEL, NAME
from interlingua.local.server import LocalServer, shared, start
from interlingua.local.show import Show, Silent, Terminal
from interlingua.local.weights import local_folder, present, weights_path

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
