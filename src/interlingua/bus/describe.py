"""The catalogue as a page: `python -m interlingua.bus.describe docs/events.md` renews its table."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from interlingua.bus.catalogue import TYPES

BEGIN, END = "<!-- catalogue -->", "<!-- end of catalogue -->"


def table() -> str:
    """One row per type, with the marks around it."""
    rows = ["| type | meaning | payload | floor | actor |", "| --- | --- | --- | --- | --- |"]
    for each in TYPES:
        fields = ", ".join(
            f"`{field.name}`{'' if field.required else '?'}"
            for field in msgspec.structs.fields(each.payload)
        )
        rows.append(f"| `{each.name}` | {each.says} | {fields} | {each.floor} | {each.actor} |")
    return "\n".join([BEGIN, *rows, END])


def renew(page: str) -> str:
    """The page with its table replaced."""
    before, _, rest = page.partition(BEGIN)
    return before + table() + rest.partition(END)[2]


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(renew(path.read_text(encoding="utf-8")), encoding="utf-8")
