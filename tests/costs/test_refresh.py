"""Prices from packages that collect them."""

from __future__ import annotations

import json
import zipfile
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from interlingua.costs import PriceTable
from interlingua.costs.refresh import read_collection, refreshed
from interlingua.errors import ReadError

TODAY = date(2026, 11, 18)
LITELLM: dict[str, Any] = {
    "mill-1": {
        "litellm_provider": "anthropic",
        "mode": "chat",
        "input_cost_per_token": 3e-06,
        "output_cost_per_token": 1.5e-05,
        "cache_read_input_token_cost": 3e-07,
        "cache_creation_input_token_cost": 3.75e-06,
        "cache_creation_input_token_cost_above_1hr": 6e-06,
        "input_cost_per_token_batches": 1.5e-06,
        "output_cost_per_token_batches": 7.5e-06,
        "input_cost_per_token_priority": 6e-06,
        "output_cost_per_token_priority": 1.6e-05,
        "input_cost_per_token_above_200k_tokens": 6e-06,
        "output_cost_per_token_above_200k_tokens": 2.25e-05,
        "search_context_cost_per_query": {"low": 0.01, "high": 0.01},
        "provider_specific_entry": {"us": 1.1, "fast": 2, "other": 3},
    },
    "gemini/sail": {
        "litellm_provider": "gemini",
        "mode": "chat",
        "input_cost_per_token": 1e-07,
        "output_cost_per_token": 4e-07,
    },
    "embedder": {"litellm_provider": "openai", "mode": "embedding", "input_cost_per_token": 1e-08},
}
GENAI = """
import os
os.environ["INTERLINGUA_RAN"] = "yes"
providers: list[Provider] = [
    Provider(id='anthropic', models=[
        ModelInfo(id='mill-1', prices=[
            ConditionalPrice(prices=ModelPrice(input_mtok=Decimal('9'), output_mtok=Decimal('9'))),
            ConditionalPrice(
                constraint=StartDateConstraint(start_date=datetime.date(2026, 3, 13)),
                prices=ModelPrice(
                    input_mtok=TieredPrices(
                        base=Decimal('3'), tiers=[Tier(start=200000, price=Decimal('6'))]
                    ),
                    output_mtok=Decimal('15'), cache_read_mtok=Decimal('0.3'),
                ),
            ),
        ]),
        ModelInfo(id='mill-2', prices=ModelPrice(
            input_mtok=Decimal('1'), output_mtok=Decimal('2'), web_searches_kcount=Decimal('10'),
        ), price_variants=[PriceVariant(when={'processing': 'batch'}, prices=ModelPrice(
            input_mtok=Decimal('0.5'), output_mtok=Decimal('1')))]),
    ]),
    Provider(id='google', models=[
        ModelInfo(id='sail', prices=ModelPrice(input_mtok=Decimal('7'), output_mtok=Decimal('7'))),
    ]),
]
"""


def wheel(folder: Path, name: str, member: str, content: str) -> Path:
    path = folder / name
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(member, content)
    return path


def wheels(folder: Path) -> list[Path]:
    prices = "litellm/model_prices_and_context_window_backup.json"
    return [
        wheel(folder, "litellm-1.2.3-py3-none-any.whl", prices, json.dumps(LITELLM)),
        wheel(folder, "genai_prices-0.9-py3-none-any.whl", "genai_prices/data.py", GENAI),
    ]


def current() -> PriceTable:
    sail = {"input_per_mtok_usd": "0.2", "output_per_mtok_usd": "0.8", "also": ["boat"]}
    return PriceTable.from_dict({"pricing_version": "old", "models": {"gemini:sail": sail}})


def test_figures_are_read_and_no_code_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("INTERLINGUA_RAN", raising=False)
    collections = [read_collection(path, TODAY) for path in wheels(tmp_path)]
    assert [each.package for each in collections] == ["litellm 1.2.3", "genai-prices 0.9"]
    assert sorted(collections[0].models) == ["anthropic:mill-1", "gemini:sail"]
    import os

    assert "INTERLINGUA_RAN" not in os.environ


def test_what_agrees_is_taken_and_the_rest_named(tmp_path: Path) -> None:
    collections = [read_collection(path, TODAY) for path in wheels(tmp_path)]
    found = refreshed(current(), collections, TODAY)
    assert found.new == ["anthropic:mill-1", "anthropic:mill-2"]
    assert found.differ == ["gemini:sail"]
    mill = found.table["anthropic:mill-1"]
    assert (mill.input, mill.cache_write_1h) == (Decimal(3), Decimal(6))
    # priority has two factors, and stands for none
    assert mill.modes == {"batch": Decimal("0.5"), "fast": 2, "us": Decimal("1.1")}
    assert mill.uses == {"web_search": Decimal(10)}
    assert [(tier.above_prompt_tokens, tier.input) for tier in mill.tiers] == [
        (200_000, Decimal(6))
    ]
    assert found.table.sources[mill.source or ""].endswith("which agree; read 2026-11-18")
    assert found.table["anthropic:mill-2"].modes == {"batch": Decimal("0.5")}
    assert found.table["gemini:boat"].input == Decimal("0.2")  # as before
    assert found.table.version == "2026-11-18.litellm-1.2.3.genai-prices-0.9"


def test_one_package_alone_changes_prices(tmp_path: Path) -> None:
    found = refreshed(current(), [read_collection(wheels(tmp_path)[0], TODAY)], TODAY)
    assert found.changed == ["gemini:sail"]
    assert found.table["gemini:boat"].input == Decimal("0.1")


def test_models_that_make_vectors_stay_where_they_are(tmp_path: Path) -> None:
    data = current().to_dict()
    data["embeddings"] = {"anthropic:mill-2": {"input_per_mtok_usd": 1, "output_per_mtok_usd": 0}}
    table = PriceTable.from_dict(data)
    found = refreshed(table, [read_collection(wheels(tmp_path)[1], TODAY)], TODAY)
    assert found.new == ["anthropic:mill-1"]
    assert found.table.embeddings == table.embeddings


def test_other_files_are_refused(tmp_path: Path) -> None:
    for name, content in (("a.whl", b"no archive"), ("b.whl", b"")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ReadError):
            read_collection(tmp_path / name, TODAY)
    other = wheel(tmp_path, "c-1-py3.whl", "c/data.py", "")
    with pytest.raises(ReadError, match="litellm or genai-prices"):
        read_collection(other, TODAY)
    broken = wheel(tmp_path, "genai_prices-1-py3.whl", "genai_prices/data.py", "providers: x = (")
    with pytest.raises(ReadError):
        read_collection(broken, TODAY)
