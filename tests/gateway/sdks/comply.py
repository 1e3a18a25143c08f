"""An outside judge: the conformance tester `llm-comply`, run against the gateway.

    python -m tests.gateway.sdks.comply [--format anthropic] [--back gemini] [--back local]

A scripted provider speaks each dialect behind the gateway; `local` is the bundled local model,
which is asked for text alone. Prints every check with its verdict; ends with status 1 if any
failed."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from interlingua.gateway.settings import RouteSettings
from tests.gateway.sdks.provider import BACKS, ROUTES, Upstream, settings, targets
from tests.gateway.sdks.standing import standing

FORMATS = ("openai-chat", "open-responses", "anthropic", "google-genai")
"""The tester's formats that a front of ours speaks. It also knows Google's Interactions API, which
is no dialect here."""
LOCAL = "local:smollm2-135m-instruct"
_NAME = "gpt-5-claude-sonnet-4-"
"""The tester skips what it believes that a model cannot do, and it goes by the name."""
_TEXT = ("basic", "system", "multi-turn", "streaming", "error", "phase", "compact")
"""Words in the names of checks that ask for no tool, picture or thought."""


class Verdict(NamedTuple):
    format: str
    back: str
    check: str
    status: str
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def __str__(self) -> str:
        collected = [*self.errors, *[f"(warning) {each}" for each in self.warnings]]
        head = f"{self.status:8}{self.format:16}{self.back:18}{self.check:30}"
        return head + "; ".join(collected)[:300]


def verdicts(formats: Sequence[str], backs: Sequence[str]) -> Iterator[Verdict]:
    """Every check of these formats, with each of these behind the gateway."""
    routes = {_NAME + name: RouteSettings(model, dialect=name) for name, model in BACKS.items()}
    with tempfile.TemporaryDirectory() as folder, Upstream() as upstream:
        result = settings(routes={**ROUTES, **routes}, store=str(Path(folder) / "gateway.db"))
        with standing(result, targets(upstream.url)) as here:
            for back in backs:
                for format in formats:
                    yield from judged(here.url, format, back)


def judged(url: str, format: str, back: str) -> Iterator[Verdict]:
    command = [sys.executable, "-m", "llm_comply.cli", "--json", "--format", format]
    command += ["--base-url", url if format == "google-genai" else f"{url}/v1"]
    command += ["--api-key", "any", "--timeout", "120"]
    command += ["--model", LOCAL if back == "local" else _NAME + back]
    if back == "local":
        command += ["--filter", ",".join(text_checks(format))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    for each in _results(done.stdout):
        errors, warnings = each.get("errors", ()), each.get("warnings", ())
        yield Verdict(format, back, each["id"], each["status"], tuple(errors), tuple(warnings))


def text_checks(format: str) -> list[str]:
    command = [sys.executable, "-m", "llm_comply.cli", "--list", "--format", format]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    lines = [line for line in result.splitlines() if line.startswith("  ") and line[2:3].strip()]
    names = [line.split()[0] for line in lines]
    return [name for name in names if any(word in name for word in _TEXT)]


def _results(told: str) -> list[dict[str, Any]]:
    """The tester's report is the one JSON value in what it says."""
    start = told.index("{")
    report = json.JSONDecoder().raw_decode(told, start)[0]
    found: list[dict[str, Any]] = report["results"]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--format", action="append", choices=FORMATS)
    parser.add_argument("--back", action="append", choices=[*BACKS, "local"])
    asked = parser.parse_args()
    failed = 0
    for verdict in verdicts(asked.format or FORMATS, asked.back or [*BACKS, "local"]):
        failed += verdict.status == "failed"
        print(verdict, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
