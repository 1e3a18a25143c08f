"""Short names of models: `sonnet` for the newest of its line."""

from __future__ import annotations

from functools import cache

import msgspec

from interlingua.models.data_files import data_file


def aliases() -> dict[str, str]:
    """Short name to model id, as the package has them."""
    return dict(_load())


@cache
def _load() -> dict[str, str]:
    return msgspec.json.decode(data_file("aliases.json"), type=dict[str, str])
