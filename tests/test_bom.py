"""The bill of materials is that of the tree."""

from __future__ import annotations

import json
from typing import Any

from tools import bom


def without_licences(bill: dict[str, Any]) -> dict[str, Any]:
    """Licences are what installed versions say, which may say it otherwise in the next one."""
    parts = [{**each, "licenses": None} for each in bill["components"]]
    return {**bill, "components": parts}


def test_the_file_lists_what_is_vendored_and_needed_now() -> None:
    written = json.loads(bom.PLACE.read_text("utf-8"))
    assert without_licences(written) == without_licences(bom.bill()), "run python -m tools.bom"


def test_every_part_has_a_licence() -> None:
    for bill in (json.loads(bom.PLACE.read_text("utf-8")), bom.bill()):
        for part in bill["components"]:
            (licence,) = part["licenses"]
            assert (licence.get("expression") or licence["license"]["name"]) != "unknown", part


def test_nothing_else_in_the_package_has_a_licence_of_its_own() -> None:
    found = {
        path.relative_to(bom.SOURCE).as_posix()
        for path in bom.SOURCE.rglob("*")
        if path.suffix in (".js", ".css", ".txt", ".svg", ".woff2", ".ttf", ".gguf", ".md")
        if path.suffix in (".woff2", ".ttf", ".gguf")
        or "copyright" in path.read_text("utf-8").lower()
    }
    assert found == {"web/icons-license.txt"}
