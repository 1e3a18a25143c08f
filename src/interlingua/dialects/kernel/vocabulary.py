"""The names that a wire format documents, to tell settings of one vendor from misspelled ones."""

from __future__ import annotations

from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path

from interlingua.model.reasons import CONTENT, NOTED, PRIVATE, TITLES, Reason, because, private

_WORDS = Path(__file__).parents[2] / "profiles" / "data" / "wire"
_ALIKE = 0.82
"""How much a misspelled name has in common with the one that was meant."""


@lru_cache(1024)
def private_reason(dialect: str, key: str, is_setting: bool) -> Reason:
    """Why a key of `raw` stays behind: one vendor alone has it, or it is none of its keys."""
    fields = _fields(dialect)
    if not fields or key in fields or key in PRIVATE or key in NOTED or key in CONTENT:
        return private(dialect, key, is_setting)
    if near := get_close_matches(key, fields, 1, _ALIKE):
        return because("field_misspelled", near=near[0])
    if not is_setting:
        return private(dialect, key, is_setting)
    return because("field_unknown", dialect=TITLES.get(dialect, dialect))


@lru_cache(32)
def _fields(dialect: str) -> frozenset[str]:
    """The documented names of fields; none for dialects of plug-ins."""
    rows: list[str] = []
    for name in (dialect, *_HOSTS.get(dialect, ())):
        try:
            rows += (_WORDS / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
        except OSError:
            return frozenset()
    return frozenset(row.split("\t")[1] for row in rows if row.startswith("field\t"))


_HOSTS = {"openai-chat": ("mistral", "groq", "openrouter")}
"""Hosts of a dialect whose own fields are documented, too."""
