"""Refreshing prices from the command line."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from interlingua import config
from interlingua.costs.table import bundled, own_table
from tests.cli.running import ok, run, told
from tests.costs.test_refresh import wheels


def refresh(folder: Path, *options: str) -> list[str | Path]:
    return [
        "prices",
        "refresh",
        *(x for each in wheels(folder) for x in ("--wheel", each)),
        *options,
    ]


def test_prices_are_refreshed_and_used(tmp_path: Path) -> None:
    tried = told(*refresh(tmp_path, "--dry-run"))
    assert "anthropic:mill-1" in tried["new"]
    assert not config.refreshed_prices_path().exists()
    assert own_table() is bundled()
    assert "mill-1" in ok(*refresh(tmp_path))
    table = own_table()
    assert table["anthropic:mill-1"].input == Decimal(3)
    assert table["openai:gpt-5"].input == bundled()["openai:gpt-5"].input
    own = config.prices_path()
    own.write_text(
        'pricing_version = "mine"\n[models."anthropic:mill-1"]\n'
        "input_per_mtok_usd = 1\noutput_per_mtok_usd = 1\n".replace("\\\n", "\n")
    )
    assert own_table()["anthropic:mill-1"].input == Decimal(1)


def test_pip_brings_the_wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real pip, with a folder in place of an index."""
    wheels(tmp_path)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "nowhere"))
    failed = run("prices", "refresh", "--from", "genai-prices")
    assert failed.exit_code == 1
    assert "genai-prices could not be downloaded" in failed.stderr
    assert "--wheel" in failed.stderr
