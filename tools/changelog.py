"""Assemble the fragments of changelog.d into a section of CHANGELOG.md.

    python -m tools.changelog               print what the fragments would add
    python -m tools.changelog 0.2.0         move them into the section of this version, dated today

A fragment is `changelog.d/<topic>.md`: one to three bullets in users' words, under a heading such
as `### Gateway`; without one it goes under `### More`. A version that has a section already gets
the new bullets at the end of each heading, so the command can be run again until the release."""

from __future__ import annotations

import argparse
import datetime
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
FRAGMENTS = ROOT / "changelog.d"
CHANGELOG = ROOT / "CHANGELOG.md"
OTHER = "More"
ORDER = (
    *("Conversions", "Losses", "Python", "Costs and caching", "Command line", "Transcripts"),
    *("Gateway", "Page", "Store", "Many conversations", "Project"),
)
"""The headings of a section; others stand behind them, `More` last."""


def headings(text: str, default: str = OTHER) -> dict[str, str]:
    """The bullets of a text under each of its headings."""
    first, *rest = re.split(r"^### (.+)$", text, flags=re.MULTILINE)
    found = {default: first.strip()} if first.strip() else {}
    for name, bullets in zip(rest[::2], rest[1::2], strict=True):
        found[name.strip()] = "\n".join(filter(None, [found.get(name.strip()), bullets.strip()]))
    return found


def joined(sections: list[dict[str, str]]) -> str:
    """The sections as one, heading by heading, in order."""
    names = dict.fromkeys(name for section in sections for name in section)
    ranks = {**{name: rank for rank, name in enumerate(ORDER)}, OTHER: len(ORDER) + 1}
    return "\n\n".join(
        f"### {name}\n\n" + "\n".join(section[name] for section in sections if name in section)
        for name in sorted(names, key=lambda name: ranks.get(name, len(ORDER)))
    )


def read_fragment(path: Path) -> dict[str, str]:
    """A fragment by headings; ValueError where it has anything but bullets."""
    found = headings(path.read_text("utf-8"))
    for bullets in found.values():
        if any(not re.match(r"- |  \S", line) for line in bullets.splitlines()):
            raise ValueError(f"{path.name}: a line is neither a bullet (`- `) nor indented by two")
    if not found or not all(found.values()):
        raise ValueError(f"{path.name}: no bullet, or a heading without one")
    return found


def assembled(changelog: str, version: str, date: str, fragments: list[dict[str, str]]) -> str:
    """The changelog with the fragments in the section of a version, which is made if need be."""
    section = re.compile(
        rf"^## {re.escape(version)}\b.*?\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL
    )
    match = section.search(changelog)
    if match:
        before, old, after = (
            changelog[: match.start()],
            headings(match[1]),
            changelog[match.end() :],
        )
    else:
        place = re.search(r"^## ", changelog, re.MULTILINE)
        at = place.start() if place else len(changelog)
        before, old, after = changelog[:at], {}, changelog[at:]
    body = joined([old, *fragments])
    return f"{before}## {version} ({date})\n\n{body}\n\n{after}".rstrip() + "\n"


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.changelog", description=__doc__)
    parser.add_argument("version", nargs="?")
    parser.add_argument("--date", default=datetime.date.today().isoformat())
    options = parser.parse_args(words)
    paths = sorted(FRAGMENTS.glob("*.md"))
    fragments = [read_fragment(path) for path in paths]
    if options.version is None:
        print(joined(fragments))
        return
    old = CHANGELOG.read_text("utf-8")
    CHANGELOG.write_text(assembled(old, options.version, options.date, fragments), "utf-8")
    for path in paths:
        path.unlink()


if __name__ == "__main__":
    main()
