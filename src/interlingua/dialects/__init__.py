"""One folder per wire format, and their shared parts; called, it returns their names."""

from __future__ import annotations

import sys
from types import ModuleType


class _CallableModule(ModuleType):
    """`il.dialects` is a public function and the name of this package: once Python has imported
    the package, the attribute is the module, which therefore has to be callable."""

    def __call__(self) -> list[str]:
        from interlingua.dialects.registry import dialects

        return dialects()


sys.modules[__name__].__class__ = _CallableModule
