"""What is said of a provider says where that was read, and when."""

from __future__ import annotations

import importlib
import re

import pytest

import interlingua as il
from interlingua.dialects.probes import page

READ = re.compile(r"read 20\d\d-\d\d")


@pytest.mark.parametrize("name", il.dialects())
def test_the_page_of_a_dialect_names_its_sources_with_their_dates(name: str) -> None:
    tables = importlib.import_module(f"{il.dialect(name).package}.tables")
    assert READ.search(tables.__doc__ or ""), tables.__name__
    assert READ.search(page(il.dialect(name)).partition("\n## Sources")[2])
