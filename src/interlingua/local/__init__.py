"""The bundled local model: its weights, its server, fixes for its answers."""

from interlingua.local.model import MODEL as MODEL
from interlingua.local.model import NAME as NAME
from interlingua.local.model import LocalModelError as LocalModelError
from interlingua.local.model import Show as Show
from interlingua.local.model import Silent as Silent
from interlingua.local.model import StartError as StartError
from interlingua.local.model import Terminal as Terminal
from interlingua.local.model import WeightsError as WeightsError
from interlingua.local.model import local_folder as local_folder
from interlingua.local.model import present as present
from interlingua.local.model import weights_path as weights_path
from interlingua.local.server import LocalServer as LocalServer
from interlingua.local.server import shared as shared
from interlingua.local.server import start as start
