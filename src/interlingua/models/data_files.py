"""The files of data beside this one.

Asked of the loader that found this module, so an archive does as well as a folder;
`importlib.resources` would do the same, and bring a dozen modules with it (10 ms, 2026-11).
"""

from __future__ import annotations

import os
from typing import Any


def data_file(name: str) -> bytes:
    """The content of `data/<name>`."""
    loader: Any = globals()["__spec__"].loader
    content: bytes = loader.get_data(os.path.join(os.path.dirname(__file__), "data", name))
    return content
