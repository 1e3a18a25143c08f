"""Two JSON values side by side: the first place where they differ, as a JSON pointer."""

from __future__ import annotations

from typing import Any

from interlingua.model.base import same


def difference(a: Any, b: Any, path: str = "") -> str | None:
    """The first difference: its pointer and both sides, cut short; None when they are equal."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in [*a, *(key for key in b if key not in a)]:
            place = f"{path}/{str(key).replace('~', '~0').replace('/', '~1')}"
            if key not in a or key not in b:
                return _sides(place, a.get(key, "(absent)"), b.get(key, "(absent)"))
            if found := difference(a[key], b[key], place):
                return found
        return None
    if isinstance(a, list) and isinstance(b, list):
        for index, (x, y) in enumerate(zip(a, b, strict=False)):
            if found := difference(x, y, f"{path}/{index}"):
                return found
        return None if len(a) == len(b) else f"{path or '/'}: {len(a)} items / {len(b)} items"
    return None if same(a, b) else _sides(path or "/", a, b)


def _sides(place: str, a: Any, b: Any) -> str:
    return f"{place}: {str(a)[:80]} / {str(b)[:80]}"
