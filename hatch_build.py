"""The description on a package index is the README, with links that work there.

Links to files of the repository are made absolute with the one `Repository` address of
`[project.urls]`. Without that address they stay as they are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^]]*)\]\((?P<target>(?![a-z]+:|#)[^)\s]+)\)")


class CustomMetadataHook(MetadataHookInterface):
    """Called by the build backend for every wheel and source distribution."""

    def update(self, metadata: dict[str, Any]) -> None:
        readme = Path(self.root, "README.md").read_text(encoding="utf-8")
        repository = metadata.get("urls", {}).get("Repository")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": absolute(readme, repository),
        }


def absolute(page: str, repository: str | None) -> str:
    """The page with its relative links below the repository's address, pictures as files."""
    if not repository:
        return page
    base = repository.rstrip("/")

    def replaced(link: re.Match[str]) -> str:
        folder = "raw" if link["image"] else "blob"
        return f"{link['image']}[{link['text']}]({base}/{folder}/HEAD/{link['target']})"

    return _LINK.sub(replaced, page)
