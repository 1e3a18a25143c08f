"""`make compare`: what this package and others make of the same bodies, feature by feature.

    python -m tests.compared [--write] [--details FILE] [--only NAME,…] [FILE or FOLDER …]

Peers are installed from the registries into environments of their own; what cannot be installed is
named and left out. `--write` prints into `docs/compared.md`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from tests.compared import page
from tests.compared.bodies import DIALECTS, Body, files, made, model_for
from tests.compared.judge import verdict
from tests.compared.page import Column, Judged
from tests.compared.peers import PEERS, Place, install, missing, run
from tests.compared.speed import timings

PAGE = Path(__file__).parents[2] / "docs" / "compared.md"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.compared")
    parser.add_argument("files", nargs="*", type=Path, help="requests of yours, or folders of them")
    parser.add_argument("--write", action="store_true", help="write docs/compared.md")
    parser.add_argument("--details", type=Path, help="every verdict with its reason, as JSON")
    parser.add_argument("--only", default="", help="names of peers, with commas between")
    chosen = parser.parse_args(argv)
    bodies = [*made(), *files(chosen.files)]
    pairs = [(body, target) for body in bodies for target in DIALECTS]
    columns, absent = _columns(pairs, set(filter(None, chosen.only.lower().split(","))))
    text = page.page(columns, {**absent, **missing()}, len(chosen.files))
    if chosen.details:
        chosen.details.write_text(json.dumps(page.details(columns), indent=1), encoding="utf-8")
    if chosen.write:
        PAGE.write_text(text, encoding="utf-8")
    print(text)
    return 0


def _columns(pairs: list[tuple[Body, str]], only: set[str]) -> tuple[list[Column], dict[str, str]]:
    columns, absent = [], {}
    for peer in PEERS:
        if only and peer.name.lower() not in only:
            continue
        print(f"{peer.name} ...", file=sys.stderr, flush=True)
        place = install(peer)
        done: list[dict[str, Any]] | str = (
            run(peer, place, [_job(*pair) for pair in pairs]) if isinstance(place, Place) else place
        )
        if isinstance(place, str) or isinstance(done, str):
            absent[peer.name] = str(done)
            continue
        judged = [
            Judged(body, target, verdict(body, target, _model(body, target), each, peer.is_history))
            for (body, target), each in zip(pairs, done, strict=True)
        ]
        times = timings(peer, place)
        columns.append(Column(peer.name, place.version, judged, times, peer.is_history))
    return columns, absent


def _model(body: Body, target: str) -> str:
    return model_for(target, body.feature)


def _job(body: Body, target: str) -> dict[str, Any]:
    names = target if body.kind == "request" else body.source
    model = model_for(names, body.feature)
    return {
        "source": body.source,
        "target": target,
        "kind": body.kind,
        "model": model,
        "body": body.wire,
    }


if __name__ == "__main__":
    sys.exit(main())
