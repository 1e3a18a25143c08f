"""The page of errors has every code that the gateway can answer with."""

from __future__ import annotations

import re

from tests.docs.samples import ROOT

_MADE = re.compile(r'(?:ApiError|Refused|CodedRefusal)\((?:[^()"]|"[^"]*")*?"([a-z]+(?:_[a-z]+)+)"')


def test_every_code_of_the_gateway_is_on_the_page_of_errors() -> None:
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    sources = (ROOT / "src" / "interlingua" / "gateway").rglob("*.py")
    codes = {code for path in sources for code in _MADE.findall(path.read_text(encoding="utf-8"))}
    assert len(codes) > 30
    assert {code for code in codes if f"`{code}`" not in page} == set()
