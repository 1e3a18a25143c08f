"""Builds the pages as a site to look at, in `build/site`: make site.

The navigation is the page of all pages (`docs/README.md`): its headings, and the links below each.
The generator is Zensical, which the target installs (decision 0033 says why).
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).parent
BUILD = DOCS.parent / "build"
FOLDERS = {"transcripts.md": "transcripts", "decisions/README.md": "decisions"}
"""Pages that lead to a folder of pages, which follow them."""

SETTINGS = """[project]
site_name = "interlingua"
site_description = "One message format for every LLM provider"
docs_dir = "docs"
site_dir = "site"
use_directory_urls = false
nav = {nav}

[project.theme]
font = false
features = ["navigation.sections", "navigation.top", "content.code.copy", "search.highlight"]

[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"

[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"

[project.markdown_extensions.tables]
[project.markdown_extensions.attr_list]
[project.markdown_extensions.toc]
permalink = true
[project.markdown_extensions.pymdownx.highlight]
[project.markdown_extensions.pymdownx.superfences]
[[project.markdown_extensions.pymdownx.superfences.custom_fences]]
name = "mermaid"
class = "mermaid"
format = "pymdownx.superfences.fence_code_format"
"""


def navigation(page: str) -> list[dict[str, object]]:
    """Sections of the map, each with its pages in their order."""
    first, *rest = page.split("\n## ")
    found: list[dict[str, object]] = [
        {"interlingua": "index.md"},
        {"All pages": "pages.md"},
        *_links(first),
    ]
    for section in rest:
        heading, _, body = section.partition("\n")
        found.append({heading: [entry for link in _links(body) for entry in _with_folder(link)]})
    return found


def _links(text: str) -> Iterator[dict[str, object]]:
    for title, target in re.findall(r"\[([^]]+)\]\(([^)#]+\.md)\)", text):
        yield {title.replace("`", ""): target}


def _with_folder(link: dict[str, object]) -> Iterator[dict[str, object]]:
    yield link
    for target in link.values():
        if folder := FOLDERS.get(str(target)):
            pages = [p for p in sorted((DOCS / folder).glob("*.md")) if p.name != "README.md"]
            yield {folder.capitalize(): [page.relative_to(DOCS).as_posix() for page in pages]}


def _toml(value: object) -> str:
    """JSON is TOML but for tables, which have `=`."""
    if isinstance(value, dict):
        inside = ", ".join(f"{json.dumps(key)} = {_toml(each)}" for key, each in value.items())
        return f"{{ {inside} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False)


def settings() -> str:
    page = (DOCS / "README.md").read_text(encoding="utf-8")
    return SETTINGS.format(nav=_toml(navigation(page)))


def front(readme: str) -> str:
    """The README as the front page: links to pages work there, others are shown as text."""
    page = re.sub(r"\]\(docs/", "](", readme).replace("](README.md)", "](pages.md)")
    return re.sub(r"(?<!!)\[([^]]+)\]\((?:[A-Z_]+(?:\.md)?|tests/[^)]*)\)", r"\1", page)


def copy(place: Path) -> None:
    """The pages, with the README in front and the map of all pages behind it."""
    unwanted = shutil.ignore_patterns("*.py", "__pycache__")
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(DOCS, place, ignore=unwanted)
    (place / "README.md").rename(place / "pages.md")
    for page in place.glob("*.md"):
        text = page.read_text(encoding="utf-8")
        moved = text.replace("](../README.md", "](index.md").replace("](README.md", "](pages.md")
        outside = re.sub(r"\[([^]]+)\]\(\.\./[^)]*\)", r"\1", moved)
        page.write_text(outside, encoding="utf-8")
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    (place / "index.md").write_text(front(readme), encoding="utf-8")


def dead(site: Path) -> list[str]:
    """Links of the built pages that lead nowhere."""
    found = set()
    for page in site.rglob("*.html"):
        for target in re.findall(r'(?:href|src)="([^"#?]+)', page.read_text(encoding="utf-8")):
            is_ours = not re.match(r"[a-z]+:|/", target)
            if is_ours and page.name != "404.html" and not (page.parent / target).exists():
                found.add(f"{page.name}: {target}")
    return sorted(found)


def main() -> int:
    copy(BUILD / "docs")
    file = BUILD / "zensical.toml"
    file.write_text(settings(), encoding="utf-8")
    built = subprocess.run([sys.executable, "-m", "zensical", "build", "--clean", "-f", str(file)])
    if built.returncode:
        return built.returncode
    if broken := dead(BUILD / "site"):
        print(*broken, f"{len(broken)} dead links", sep="\n")
        return 1
    print(f"no dead links; open {BUILD / 'site' / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
