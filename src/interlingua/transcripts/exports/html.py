"""A session as one HTML file that shows the page's transcript without a server.

It holds the page's own modules, put together, its style, and the messages as JSON. The policy in it
lets nothing else run and nothing be fetched; all text is put there as text."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from interlingua.model.codec import dumps
from interlingua.model.message import Message

BEGIN = "offline.js"
_IMPORT = re.compile(r'^import \{ ([^}]*) \} from "\./([\w.]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.MULTILINE)
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main id="main" tabindex="-1"></main>
<noscript>This page shows a conversation with JavaScript; the file has it as JSON, too.</noscript>
<script type="application/json" id="conversation">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def page(row: Mapping[str, Any], messages: Iterable[Message], summary: Mapping[str, Any]) -> bytes:
    """`row` is a session's row and `summary` its counts, as plain values."""
    script, style = bundle(), _text("style.css")
    return _PAGE.format(
        policy=_policy(script, style),
        title=html.escape(str(row.get("name") or row.get("workspace_path") or "A conversation")),
        style=style,
        data=_data(row, messages, summary),
        script=script,
    ).encode()


def _policy(script: str, style: str) -> str:
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src '{_hash(script)}'",
            f"style-src '{_hash(style)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ]
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _data(row: Mapping[str, Any], messages: Iterable[Message], summary: Mapping[str, Any]) -> str:
    """JSON in which nothing can end the element that it is in."""
    encoded = [dumps(message).decode() for message in messages]
    head = msgspec.json.encode({"row": row, "summary": summary}).decode()
    return f'{head[:-1]},"messages":[{",".join(encoded)}]}}'.replace("<", "\\u003c")


@cache
def bundle() -> str:
    """The modules that the file needs, as one script: each in a function of its own."""
    made: dict[str, str] = {}
    _collect(BEGIN, made)
    body = "\n".join(made.values())
    return f'"use strict";\nconst MODULES = {{}};\n{body}\n'


def _collect(name: str, made: dict[str, str]) -> None:
    text = _text(name)
    for _, other in _IMPORT.findall(text):
        if other not in made:
            _collect(other, made)
    names = ", ".join(_EXPORT.findall(text))
    body = _EXPORT.sub("", _IMPORT.sub(_imported, text))
    made[name] = f'MODULES["{name}"] = (() => {{\n{body}\nreturn {{ {names} }};\n}})();'


def _imported(match: re.Match[str]) -> str:
    return f'const {{ {match[1].replace(" as ", ": ")} }} = MODULES["{match[2]}"];\n'


def _text(name: str) -> str:
    return files("interlingua.web").joinpath(name).read_text(encoding="utf-8")
