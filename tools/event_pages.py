"""The catalogue of events as a table of `docs/events.md`."""

from __future__ import annotations

import msgspec

from interlingua.events.catalogue import TYPES

BEGIN, END = "<!-- catalogue -->", "<!-- end of catalogue -->"


def table() -> str:
    """The catalogue for `docs/events.md`: one row per type, with the marks around it."""
    rows = ["| type | meaning | payload | floor | actor |", "| --- | --- | --- | --- | --- |"]
    for each in TYPES:
        fields = ", ".join(
            f"`{field.name}`{'' if field.required else '?'}"
            for field in msgspec.structs.fields(each.payload)
        )
        rows.append(f"| `{each.name}` | {each.says} | {fields} | {each.floor} | {each.actor} |")
    return "\n".join([BEGIN, *rows, END])


def page(text: str) -> str:
    """The page with its table replaced."""
    before, _, rest = text.partition(BEGIN)
    return before + table() + rest.partition(END)[2]
