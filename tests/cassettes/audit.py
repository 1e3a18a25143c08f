"""What is wrong with committed cassettes: secrets, headers that may not stay, old golden files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from tests.cassettes import cassette, golden, scrub
from tests.cassettes.cassette import Cassette, Taped

_SCRUBBER = scrub.Scrubber()


def problems(folder: Path = cassette.FOLDER, golden_folder: Path = golden.FOLDER) -> list[str]:
    found: list[str] = []
    for tape in cassette.committed(folder):
        found += secrets(tape)
        path = golden_folder / tape.place
        if not path.is_file():
            found.append(f"{tape.place}: no golden file; run python -m tests.cassettes golden")
            continue
        reviewed = path.read_bytes()
        found += [f"golden {tape.place}: {kind}" for kind in _SCRUBBER.leaks(reviewed.decode())]
        if difference := golden.first_difference(reviewed, golden.to_bytes(tape)):
            found.append(f"golden {tape.place}: {difference}")
    return found


def secrets(tape: Cassette) -> list[str]:
    """The secrets on one cassette: the place and the kind, never the secret."""
    whole = _SCRUBBER.leaks(cassette.to_bytes(tape).decode())
    inside = [
        f"{taped.name}, {problem}" for taped in tape.exchanges for problem in _taped_secrets(taped)
    ]
    return [f"{tape.place}: {problem}" for problem in dict.fromkeys([*whole, *inside])]


def _taped_secrets(taped: Taped) -> Iterator[str]:
    for name, value in taped.request_headers.items():
        if name not in scrub.REQUEST_HEADERS | scrub.AUTH_HEADERS:
            yield f"request header {name} may not stay"
        if name in scrub.AUTH_HEADERS and value != scrub.MASK:
            yield f"request header {name} is not scrubbed"
    for name in taped.headers:
        if not scrub.may_stay(name):
            yield f"response header {name} may not stay"
    for name, value in parse_qsl(urlsplit(taped.path).query, keep_blank_values=True):
        if name not in scrub.QUERY and value != scrub.MASK:
            yield f"query parameter {name} is not scrubbed"
    for what, body in (("request", taped.asked), ("response", taped.answered)):
        for kind in _SCRUBBER.leaks(body.decode("utf-8", "replace")):
            yield f"{what}: {kind}"
