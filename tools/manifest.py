"""A manifest of what the package writes for all recorded data, to prove that nothing changed.

    python -m tools.manifest write FILE [--tree DIR] [--jobs N]
    python -m tools.manifest compare OTHER_TREE [--jobs N]
    python -m tools.manifest diff FILE FILE

For every recorded request, response and stream and every target, and for every recorded transcript
and every format, a manifest has one line: a key, the SHA-256 of what is written, and those of the
losses and of the notes (kind, path, severity). `compare` makes one for this tree and one for
another checkout, and names each record that differs. It uses public names only, so that both trees
can be asked by the same program.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared"
MODELS: dict[str, str | None] = {
    "anthropic": "claude-sonnet-4-6",
    "bedrock": "anthropic.claude-sonnet-4-5-20250929-v1:0",
    "cohere": "command-a-03-2025",
    "gemini": "gemini-2.5-pro",
    "gemini-interactions": "gemini-3-pro-preview",
    "ollama": "qwen3",
    "openai-chat": "gpt-5",
    "openai-responses": "gpt-5",
    "openrouter": "anthropic/claude-sonnet-4.6",
}
"""Targets, each with a model, so that the rules of models take part."""
VIEWS = ("flat", "parts", "camel", "openai-ui")
FRAMINGS = {"aws-eventstream": "aws", "json-array": "jsonarray", "ndjson": "ndjson"}
WIRES = {
    "anthropic-messages": "anthropic",
    "bedrock-converse": "bedrock",
    "mistral": "openai-chat",
    "ollama-chat": "ollama",
    "other-openai-compatible": "openai-chat",
}
"""The corpus's names of dialects, where they differ from ours."""
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
MOST_SHOWN = 40

Line = tuple[str, str, str, str]


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def losses_of(report: Any) -> tuple[str, str]:
    """The digests of the losses and of the notes; a tree without notes has `info` losses."""
    entries: dict[bool, list[str]] = {False: [], True: []}
    for each in getattr(report, "entries", report):
        is_note = getattr(each, "is_note", each.severity == "info")
        entries[is_note].append(f"{each.kind} {each.path} {each.severity}")
    return digest("\n".join(entries[False]).encode()), digest("\n".join(entries[True]).encode())


def line_for(key: str, make: Any) -> Line:
    """One line; an error of the package is a result like any other."""
    import interlingua as il

    try:
        data, report = make()
    except il.InterlinguaError as error:
        return key, type(error).__name__, digest(str(error).encode()), ""
    return key, digest(data), *losses_of(report)


def of_record(record: dict[str, Any]) -> Iterator[Line]:
    """A recorded exchange, to every target."""
    source = WIRES.get(record["dialect"], record["dialect"])
    if record["provider"] == "openrouter" and source == "openai-chat":
        source = "openrouter"
    for kind in ("request", "response"):
        if record.get(kind) is not None:
            yield from _whole(record, source, kind)
    if record.get("stream"):
        yield from _stream(record, source)


def _whole(record: dict[str, Any], source: str, kind: str) -> Iterator[Line]:
    import interlingua as il

    body = record[kind]
    for target in (*MODELS, *VIEWS):
        model = MODELS.get(target) if target != source else None

        def make(target: str = target, model: str | None = model) -> tuple[bytes, Any]:
            written = il.convert(body, source=source, target=target, kind=kind, model=model)
            return written.json(), written.report

        yield line_for(f"{record['id']} {kind} {source}>{target}", make)


def _stream(record: dict[str, Any], source: str) -> Iterator[Line]:
    import interlingua as il

    codec = getattr(il, FRAMINGS.get(record["framing"], "sse"))
    frames = [
        il.Frame(f.get("event"), d if isinstance(d := f.get("data"), str) else json.dumps(d))
        for f in record["stream"]
    ]
    for target in MODELS:

        def make(target: str = target) -> tuple[bytes, Any]:
            converted = il.stream_convert(map(codec.encode, frames), source, target)
            return b"".join(converted), converted.report

        yield line_for(f"{record['id']} stream {source}>{target}", make)


def of_transcript(entry: dict[str, Any], folder: Path) -> Iterator[Line]:
    """A recorded transcript, to every format that can be written."""
    import interlingua as il
    from interlingua import transcripts
    from interlingua.transcripts.format import format_of, formats

    key = f"{entry['format']}/{entry['name']} transcript"
    try:
        transcript = transcripts.read(folder / entry["file"], entry["format"])
    except il.InterlinguaError as error:
        yield key, type(error).__name__, digest(str(error).encode()), ""
        return
    yield key, digest(il.dumps(list(transcript.messages))), *losses_of(())
    transcript = _dated(transcript)
    for name in formats():
        if format_of(name).write is None:
            continue

        def make(name: str = name) -> tuple[bytes, Any]:
            with tempfile.TemporaryDirectory() as place:
                path = Path(place) / "out.jsonl"
                report = transcripts.write(transcript, path, name)
                files = sorted(p for p in Path(place).rglob("*") if p.is_file())
                return b"\0".join(p.read_bytes() for p in files), report

        yield line_for(f"{key} {entry['format']}>{name}", make)


def _dated(transcript: Any) -> Any:
    """With a fixed time where there is none: writers would take the present one."""
    from msgspec.structs import replace

    helpers = tuple(
        replace(each, transcript=_dated(each.transcript)) for each in transcript.subagents
    )
    if transcript.created_at is None:
        transcript = transcript.replace(created_at=EPOCH, updated_at=EPOCH)
    return transcript.replace(subagents=helpers)


def _lines(part: tuple[str, Path]) -> list[Line]:
    """All lines of one file of recorded data."""
    logging.disable(logging.CRITICAL)
    kind, path = part
    if kind == "corpus":
        with gzip.open(path, "rb") as rows:
            return [line for row in rows for line in of_record(json.loads(row))]
    entries = [json.loads(row) for row in path.read_bytes().splitlines()]
    return [line for entry in entries for line in of_transcript(entry, path.parent)]


def make(jobs: int) -> list[Line]:
    """The manifest of the package that is imported here."""
    parts = [("corpus", path) for path in sorted((SHARED / "corpus").glob("*.jsonl.gz"))]
    parts.append(("transcripts", SHARED / "transcripts" / "index.jsonl"))
    there = [part for part in parts if part[1].exists()]
    if not there:
        sys.exit("no recorded data: there is no folder shared/corpus beside the repository")
    there.sort(key=lambda part: -part[1].stat().st_size)
    with ProcessPoolExecutor(jobs) as pool:
        return sorted(line for lines in pool.map(_lines, there) for line in lines)


def write(path: Path, tree: Path, jobs: int) -> None:
    """Make the manifest of a tree in a process of its own, with that tree's package."""
    command = [
        sys.executable,
        str(Path(__file__).resolve()),
        "here",
        str(path),
        "--jobs",
        str(jobs),
    ]
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    subprocess.run(command, env=environment, check=True)


def load(path: Path) -> dict[str, tuple[str, str, str]]:
    rows = (line.rsplit("\t", 3) for line in path.read_text().splitlines())
    return {key: (wire, losses, notes) for key, wire, losses, notes in rows}


def differences(before: Path, after: Path) -> list[str]:
    """One sentence for each record that differs."""
    old, new = load(before), load(after)
    out = [f"{key}: only {'before' if key in old else 'after'}" for key in sorted(old.keys() ^ new)]
    for key in sorted(old.keys() & new):
        parts = [
            name
            for name, was, now in zip(("wire", "losses", "notes"), old[key], new[key], strict=True)
            if was != now
        ]
        if parts:
            out.append(f"{key}: {' and '.join(parts)}")
    return out


def show(found: list[str], count: int) -> int:
    for text in found[:MOST_SHOWN]:
        print(text)
    if len(found) > MOST_SHOWN:
        print(f"… and {len(found) - MOST_SHOWN} more")
    print(f"{len(found)} of {count} lines differ")
    return 1 if found else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("action", choices=("write", "compare", "diff", "here"))
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--tree", type=Path, default=ROOT)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    first = asked.paths[0]
    if asked.action == "here":
        first.write_text("".join("\t".join(line) + "\n" for line in make(asked.jobs)))
        return 0
    if asked.action == "write":
        write(first, asked.tree.resolve(), asked.jobs)
        return 0
    if asked.action == "diff":
        return show(differences(first, asked.paths[1]), len(load(first)))
    with tempfile.TemporaryDirectory() as place:
        before, after = Path(place) / "before", Path(place) / "after"
        write(before, first.resolve(), asked.jobs)
        write(after, ROOT, asked.jobs)
        return show(differences(before, after), len(load(before)))


if __name__ == "__main__":
    sys.exit(main())
