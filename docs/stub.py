"""The stub of the package, for type checkers and editors: made of the one list of public names."""

from __future__ import annotations

from pathlib import Path

import interlingua as il

PLACE = Path(il.__file__).with_name("__init__.pyi")


def stub() -> str:
    """What a type checker is told of the package, and nothing else: a name that is not there is an
    error."""
    imports = [
        f"from interlingua.{module} import {name} as {name}" for name, module in il._WHERE.items()
    ]
    for name, place in il._MODULES.items():
        package = ".".join(["interlingua", *place.split(".")[:-1]])
        imports.append(f"from {package} import {name} as {name}")
    names = [f'    "{name}",' for name in il.__all__]
    parts = [
        "# Printed by docs/generate.py from the list of names in __init__.py.",
        *sorted(imports, key=lambda line: line.split()[1]),
        "",
        "__version__: str",
        "__all__ = [",
        *names,
        "]",
    ]
    return "\n".join(parts) + "\n"
