"""The map of the package: its folders, and which of them import which.

`python -m tools.layers` prints both; `docs/ARCHITECTURE.md` has them, and `tests/test_imports.py`
checks the imports.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "interlingua"
LAYERS: dict[str, str] = {
    "errors": "",
    "config": "errors",
    "plugins": "",
    "web": "",
    "model": "errors",
    "telemetry": "errors model",
    "streams": "errors model",
    "events": "errors model",
    "store": "errors config model",
    "dialects": "errors plugins model streams",
    "profiles": "errors config model",
    "costs": "errors config model profiles",
    "providers": "errors config model dialects profiles",
    "tools": "errors model events",
    "routing": "errors model events profiles",
    "views": "errors model dialects",
    "adapt": "errors model streams dialects profiles providers views",
    "coerce": "errors model dialects tools views adapt",
    "local": "errors config model streams dialects providers adapt",
    "client": "errors model telemetry streams dialects profiles costs providers tools adapt coerce"
    " local",
    "sessions": "errors model streams events store dialects profiles costs providers tools routing"
    " adapt coerce",
    "agents": "errors config model streams events store profiles costs providers tools routing"
    " views coerce local client sessions",
    "transcripts": "errors config plugins model telemetry streams store dialects costs adapt",
    "bulk": "errors config model streams store profiles providers adapt transcripts",
    "gateway": "errors config model streams telemetry events store dialects profiles costs"
    " providers tools routing views adapt local client sessions agents transcripts",
    "cli": "errors config model streams events store dialects profiles costs providers tools"
    " routing adapt client sessions agents transcripts bulk gateway",
}
"""Each entry of the package, from the innermost, and what it imports of those before it."""
LATER = {
    ("errors.py", "model.losses"): "the type of a field",
    ("dialects/probes.py", "adapt.formats"): "pages of dialects show what a rewrite changes",
    ("dialects/record.py", "adapt.fit.answers"): "the type of an argument",
    ("profiles/capabilities.py", "costs.table"): "a capability says what a model costs",
    ("model/exchange.py", "coerce"): "dicts and functions are read when they are met",
    ("model/rules.py", "coerce"): "dicts are read when they are met",
    ("profiles/estimate/estimator.py", "coerce"): "the same",
    ("views/base.py", "coerce"): "the same",
    ("views/objects.py", "coerce"): "the type of an argument",
    ("adapt/history/retell.py", "coerce"): "dicts are read when they are met",
    ("model/message.py", "coerce"): "the same",
    ("adapt/convert.py", "costs.ahead"): "a plan says what its prompt will cost, once asked",
    ("adapt/convert.py", "coerce"): "values of other libraries are converted when they are met",
    ("adapt/presets.py", "transcripts"): "rows for training are formats of transcripts",
    ("adapt/presets.py", "transcripts.rows"): "the same",
    ("adapt/presets.py", "transcripts.ui_message.read"): "the same",
    ("coerce.py", "client.structured"): "a class as a tool's parameters",
    ("sessions/session.py", "client.client"): "a session asks its model for a summary of itself",
    ("sessions/session.py", "client.sync"): "the same",
}
"""Imports of what comes later in `LAYERS`, inside a function or for type checkers, and why."""

COLLECTIONS = {"dialects": {"kernel"}, "transcripts": {"exports", "redaction"}}
"""Packages with a folder for each format: the map shows only these of their folders."""


def summary(path: Path) -> str:
    """The first paragraph of a module's docstring."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split())


def tree() -> str:
    """A line for each folder and module at the top, and for the folders inside."""
    lines = ["src/interlingua/"]
    for name in sorted(LAYERS):
        path = PACKAGE / name
        if not path.is_dir():
            lines.append(f"  {name + '.py':20}{summary(path.with_suffix('.py'))}")
            continue
        lines.append(f"  {name + '/':20}{summary(path / '__init__.py')}")
        shown = COLLECTIONS.get(name)
        for inner in sorted(path.glob("*/__init__.py")):
            if shown is None or inner.parent.name in shown:
                lines.append(f"    {inner.parent.name + '/':18}{summary(inner)}")
        if shown is not None:
            lines.append(f"    {'<name>/':18}One folder per format.")
    return "\n".join(lines)


def table() -> str:
    """What each entry imports, from the innermost."""
    rows = [f"| `{name}` | {_named(inner)} |" for name, inner in LAYERS.items()]
    return "\n".join(["| entry | imports, of our own |", "| --- | --- |", *rows])


def _named(inner: str) -> str:
    return ", ".join(f"`{name}`" for name in inner.split()) or "nothing"


def page(text: str) -> str:
    """The page with both maps renewed, each between its two marks."""
    for name, content in {"tree": f"```text\n{tree()}\n```", "layers": table()}.items():
        text, count = re.subn(
            f"(<!-- {name} -->\n).*?(<!-- end of {name} -->)",
            lambda found, content=content: f"{found[1]}\n{content}\n\n{found[2]}",  # type: ignore[misc]
            text,
            flags=re.DOTALL,
        )
        if count != 1:
            raise ValueError(f"the page has no place for {name}")
    return text


if __name__ == "__main__":
    print(tree(), table(), sep="\n\n")
