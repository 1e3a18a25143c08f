"""Price tables: their form, their overlays, and what is in those of the package."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua.costs import PriceTable, bundled, versions
from interlingua.profiles.names import model_name

ENTRY = {"input_per_mtok_usd": 3, "output_per_mtok_usd": 15}

TOML = """
pricing_version = "acme-7"

[models."acme:large"]
input_per_mtok_usd = 0.1
output_per_mtok_usd = 0.3
cached_read_per_mtok_usd = 0.01

[models."anthropic:claude-sonnet-4-6"]
input_per_mtok_usd = 2.5
output_per_mtok_usd = 12.5
"""


def made(**models: Any) -> PriceTable:
    return PriceTable.from_dict({"pricing_version": "t", "models": models})


@pytest.mark.requirement("S002-72")
def test_a_table_has_a_version_and_models_with_two_prices_and_optional_ones() -> None:
    data = {
        "pricing_version": "2026-05-08",
        "models": {
            "a:b": {**ENTRY, "cached_read_per_mtok_usd": 0.3, "cache_write_per_mtok_usd": 3.75},
            "a:free": {"input_per_mtok_usd": 0, "output_per_mtok_usd": 0},
        },
    }
    table = PriceTable.from_dict(data)
    assert table.version == "2026-05-08"
    assert table["a:b"].cached_read == Decimal("0.3")
    assert table["a:b"].cache_write == Decimal("3.75")
    assert table["a:free"].cached_read is None


def test_a_float_counts_as_the_decimal_it_prints_as() -> None:
    table = made(**{"a:b": {"input_per_mtok_usd": 0.1, "output_per_mtok_usd": "0.30"}})
    cost = table.cost("a:b", input_tokens=3, output_tokens=1)
    assert cost.total == Decimal("0.0000006")


@pytest.mark.requirement("S002-72")
def test_an_overlay_adds_and_overrides_models_and_its_version_names_both(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(TOML)
    table = bundled().overlay(PriceTable.load(file))
    assert table.version == f"{bundled().version}+acme-7"
    assert table.cost("acme:large", input_tokens=1, output_tokens=1).total == Decimal("0.0000004")
    sonnet = table.cost("anthropic:claude-sonnet-4-6", input_tokens=8, output_tokens=42)
    assert sonnet.total == Decimal("0.000545")
    assert sonnet.pricing_version == table.version
    assert table["openai:gpt-4o"] == bundled()["openai:gpt-4o"]
    assert "acme:large" not in bundled()


def test_the_same_table_can_be_written_as_json(tmp_path: Path) -> None:
    toml, plain = tmp_path / "a.toml", tmp_path / "a.json"
    toml.write_text(TOML)
    plain.write_text(
        json.dumps(
            {
                "pricing_version": "acme-7",
                "models": {
                    "acme:large": {
                        "input_per_mtok_usd": 0.1,
                        "output_per_mtok_usd": 0.3,
                        "cached_read_per_mtok_usd": 0.01,
                    },
                    "anthropic:claude-sonnet-4-6": {
                        "input_per_mtok_usd": 2.5,
                        "output_per_mtok_usd": 12.5,
                    },
                },
            }
        )
    )
    assert PriceTable.load(toml).models == PriceTable.load(plain).models


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"input_per_mtok_usd": 3}, "output_per_mtok_usd"),
        ({**ENTRY, "cached_per_mtok": 1}, "unknown field"),
        ({**ENTRY, "input_per_mtok_usd": -1}, "is not a valid price: -1"),
        ({**ENTRY, "input_per_mtok_usd": "NaN"}, "is not a valid price: NaN"),
        ({**ENTRY, "input_per_mtok_usd": "1e-19"}, "more than 18 decimal places"),
        (
            {**ENTRY, "tiers": [{"above_prompt_tokens": 1, **ENTRY, "output_per_mtok_usd": -2}]},
            "-2",
        ),
        ({**ENTRY, "valid_from": "yesterday"}, "date"),
    ],
)
def test_a_wrong_entry_is_refused_with_its_place(entry: dict[str, Any], problem: str) -> None:
    with pytest.raises(il.ReadError, match=problem) as refused:
        made(**{"good:one": ENTRY, "bad:one": entry})
    assert "bad:one" in refused.value.path


def test_files_that_are_no_table_are_refused(tmp_path: Path) -> None:
    for name, text in (("a.json", "{"), ("a.toml", "= 1"), ("b.toml", "x = 1"), ("c.json", "[]")):
        file = tmp_path / name
        file.write_text(text)
        with pytest.raises(il.ReadError, match=name):
            PriceTable.load(file)
    with pytest.raises(il.ReadError, match="No such file"):
        PriceTable.load(tmp_path / "none.toml")
    with pytest.raises(il.ReadError, match="<provider>:<name>"):
        made(plain=ENTRY)


def test_an_unknown_version_names_those_there_are() -> None:
    with pytest.raises(il.ReadError, match="2026-05-08"):
        bundled("1999-01-01")
    assert versions() == sorted(versions())
    assert bundled().version == versions()[-1]


def test_editions_and_other_names_find_their_model() -> None:
    table = bundled()
    for name, id in {
        "anthropic:claude-haiku-4-5-20251001": "anthropic:claude-haiku-4-5",
        "openai:gpt-4o-2024-08-06": "openai:gpt-4o",
        "vertex:claude-opus-4-5@20251101": "vertex:claude-opus-4-5",
        "bedrock:eu.anthropic.claude-sonnet-4-6": "bedrock:us.anthropic.claude-sonnet-4-6",
    }.items():
        assert table.find(name) == id
    # An edition with prices of its own is not taken for its model.
    assert table["openai:gpt-4o-2024-05-13"].input == 5
    assert table["openai:gpt-4o"].input == Decimal("2.5")


@pytest.mark.requirement("S002-69", "S002-72")
@pytest.mark.parametrize(
    ("model", "answered_by", "expected"),
    [
        ("openai:gpt-4o", "gpt-4o-mini", "openai:gpt-4o"),
        ("openrouter:openrouter/auto", "openai/gpt-4o", "openrouter:openai/gpt-4o"),
        ("openrouter:openrouter/auto", "no-such-model", "openrouter:openrouter/auto"),
        ("openrouter:openrouter/auto", None, "openrouter:openrouter/auto"),
    ],
)
def test_a_router_is_priced_as_the_model_that_it_chose(
    model: str, answered_by: str | None, expected: str
) -> None:
    assert bundled().priced_as(model, answered_by) == expected


@pytest.mark.parametrize("version", versions())
def test_the_tables_of_the_package_are_sound(version: str) -> None:
    table = bundled(version)
    assert table.version == version
    for id, entry in table.models.items():
        provider, name = model_name(id)
        assert str(model_name(id)) == f"{provider}:{name}" == id
        assert entry.source in table.sources, id
        local = provider in ("ollama", "local") or name.endswith(":free")
        assert (entry.input == entry.output == 0) is local, id
        assert entry.cached_read is None or entry.cached_read <= entry.input, id
        assert [t.above_prompt_tokens for t in entry.tiers] == sorted(
            {t.above_prompt_tokens for t in entry.tiers}
        ), id
        for period in entry.other_periods:
            assert period.valid_from or period.valid_until, id


def test_the_newest_table_has_models_of_every_provider_people_use() -> None:
    found = {model_name(id).provider for id in bundled()}
    assert found >= {"anthropic", "openai", "gemini", "mistral", "groq", "deepseek", "xai"}
    assert found >= {"bedrock", "openrouter", "vertex", "ollama", "local"}
