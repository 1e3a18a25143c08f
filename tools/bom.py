"""The software bill of materials: what is in the wheel and is not ours, and what it needs.

    python -m tools.bom        write docs/bom.cdx.json (CycloneDX 1.6)

Vendored parts are listed here, with the file that has them and its SHA-256. Requirements are those
of pyproject.toml, by extra. A test fails until the file is made anew."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

from interlingua.local.model import FILE, PACKAGE, PACKAGE_VERSION, SHA256

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "docs" / "bom.cdx.json"
SOURCE = ROOT / "src" / "interlingua"


def _file(name: str) -> dict[str, Any]:
    digest = hashlib.sha256((SOURCE / name).read_bytes()).hexdigest()
    return {
        "hashes": [{"alg": "SHA-256", "content": digest}],
        "properties": _property("file", name),
    }


def _property(name: str, value: str) -> list[dict[str, str]]:
    return [{"name": f"interlingua:{name}", "value": value}]


def vendored() -> list[dict[str, Any]]:
    """Parts of others in the wheel, and the weights that are fetched on request."""
    version = re.search(r"Lucide ([\d.]+)", (SOURCE / "web" / "icons.js").read_text("utf-8"))
    assert version is not None
    icons = {
        "type": "library",
        "name": "lucide",
        "version": version[1],
        "description": "Icons of the page, as path data; licence in web/icons-license.txt.",
        "licenses": [{"expression": "ISC AND MIT"}],
        **_file("web/icons.js"),
    }
    weights = {
        "type": "machine-learning-model",
        "name": FILE,
        "version": PACKAGE_VERSION,
        "description": f"Weights of the local model; fetched from {PACKAGE}, whose licence it is.",
        "licenses": [{"expression": "Apache-2.0"}],
        "hashes": [{"alg": "SHA-256", "content": SHA256}],
        "scope": "optional",
    }
    return [icons, weights]


def requirements() -> list[dict[str, Any]]:
    """The packages that the wheel asks for, by name, with the extras that need them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needed: dict[str, tuple[str, set[str]]] = {}
    for extra, lines in {"": project["dependencies"], **project["optional-dependencies"]}.items():
        for line in lines:
            name, rest = re.fullmatch(r"([\w.-]+)(?:\[[^]]*\])?(.*)", line).groups()  # type: ignore[union-attr]
            if name != "interlingua":
                needed.setdefault(name, (rest.partition(";")[0], set()))[1].add(extra)
    return [
        {
            "type": "library",
            "name": name,
            "purl": f"pkg:pypi/{name.lower().replace('_', '-')}",
            "scope": "required" if "" in extras else "optional",
            "licenses": [{"license": {"name": _licence(name)}}],
            "properties": [
                *_property("versions", versions.strip()),
                *(each for extra in sorted(extras - {""}) for each in _property("extra", extra)),
            ],
        }
        for name, (versions, extras) in sorted(needed.items())
    ]


def _licence(name: str) -> str:
    """What the installed package says of its licence."""
    try:
        found = metadata(name)
    except PackageNotFoundError:
        return "unknown"
    stated = found.get("License-Expression") or found.get("License") or ""
    if stated and "\n" not in stated and len(stated) < 60:
        return stated
    classes = [each for each in found.get_all("Classifier") or () if each.startswith("License")]
    return classes[0].rpartition(" :: ")[2] if classes else "unknown"


def bill() -> dict[str, Any]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    own = {"type": "library", "name": "interlingua", "version": project["version"]}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**own, "licenses": [{"expression": project["license"]}]}},
        "components": [*vendored(), *requirements()],
    }


def text() -> str:
    return json.dumps(bill(), indent=1) + "\n"


if __name__ == "__main__":
    PLACE.write_text(text(), "utf-8")
