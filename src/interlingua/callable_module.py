"""Modules that are also the function they are named after.

`il.retell` and `il.dialects` are public functions, and the names of the modules that hold them; as
soon as Python has imported such a module, the package's attribute is the module: callable, then.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _CallableModule(ModuleType):
    _function: str

    def __call__(self, *args: Any, **options: Any) -> Any:
        return getattr(self, self._function)(*args, **options)


def let_call(module: str, function: str) -> None:
    """Calling the module calls this function of it."""
    found = sys.modules[module]
    found.__class__ = _CallableModule
    found.__dict__["_function"] = function
