"""The formats and what survives between them as Markdown: `docs/transcripts-matrix.md`, and
the facts on each format's own page in `docs/transcripts/`."""

from __future__ import annotations

from interlingua.dialects.describe import grid
from interlingua.transcripts.format import Format, all_formats
from interlingua.transcripts.probes import PROBES, fate, own_fate, writable

BEGIN, END = "<!-- printed by make docs -->", "<!-- end -->"
"""The facts stand between these on the page of a format."""
_MARKS = {"shown": "yes", "kept": "kept", "partly": "~", "lost": "no", "-": " "}


def matrix() -> str:
    """What survives from each format to each, found by writing it."""
    names = writable()
    own = [[probe.name, *(_MARKS[own_fate(probe, name)] for name in names)] for probe in PROBES]
    parts = [
        "# What survives between transcripts",
        "This page is printed by `make docs`, which writes a made-up session with one of each "
        "thing in every format, reads it again, and writes what that format says itself in every "
        "other. What the formats are is told in [transcripts.md](transcripts.md), which has a page "
        "for each.",
        "`yes`: the file says it in its own words. `kept`: it has no words for it; it is kept "
        "beside, where the format's tool does not look, and comes back when we read the file. "
        "`~`: some of it arrives. `no`: it does not arrive. What does not arrive is in the report, "
        "and what is kept beside, but for times, ids and reasons for the end of an answer. A "
        "session goes home in its own format byte for byte; that is not shown here.",
        "## The formats",
        grid(["format", "is", "can be", "seen"], [_row(each) for each in all_formats()]),
        "## What each can hold",
        "The session is one of the provider that the format's tool talks to: Anthropic, or OpenAI "
        "for `codex` and OpenAI's own files, Google for `gemini-cli`.",
        grid(["said", *(f"`{name}`" for name in names)], own),
        "## From each to each",
        "Things that the first format does not say itself are left out.",
    ]
    for source in names:
        parts += [f"### From `{source}`", _from(source, names)]
    return "\n\n".join(parts) + "\n"


def page(text: str, of: Format) -> str:
    """The page of a format with its facts printed anew."""
    head, _, rest = text.partition(BEGIN)
    body = rest.partition(END)[2]
    return head + "\n".join([BEGIN, _facts(of), END]) + body


def _facts(of: Format) -> str:
    facts: list[tuple[str, str | None]] = [
        ("is", of.title),
        ("can be", _row(of)[2]),
        ("seen", of.seen),
        ("newest version that a file says of itself", of.file_version),
        ("goes on with what is written here", of.newest and f"{of.title} {of.newest}"),
    ]
    told = [[name, value] for name, value in facts if value]
    if of.name not in writable():
        return grid(["", ""], told)
    held = [[probe.name, _MARKS[own_fate(probe, of.name)]] for probe in PROBES]
    about = (
        "What it can hold (`yes`: in its own words, `kept`: beside them, `~`: some of it, `no`: it "
        "does not arrive, which the report says; [from each format to each]"
        "(../transcripts-matrix.md)):"
    )
    return "\n\n".join([grid(["", ""], told), about, grid(["said", ""], held)])


def _row(each: Format) -> list[str]:
    ways = "read and written" if each.write is not None else "read"
    if each.resume is not None:
        ways += ", resumed"
    return [f"`{each.name}`", each.title, ways, each.seen]


def _from(source: str, names: list[str]) -> str:
    others = [name for name in names if name != source]
    rows = []
    for probe in PROBES:
        fates = [fate(probe, source, target) for target in others]
        if fates[0] != "-":
            rows.append([probe.name, *(_MARKS[each] for each in fates)])
    return grid(["said", *(f"`{name}`" for name in others)], rows)
