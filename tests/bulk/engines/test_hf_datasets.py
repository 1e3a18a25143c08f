"""`datasets`, the real one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.bulk.engines.jobs import TO_ANTHROPIC, requests, require_converted, require_same

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture
def datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return pytest.importorskip("datasets", reason="make engines installs datasets")


def test_datasets_maps_it_with_several_processes(datasets: Any, parquet: Path) -> None:
    from interlingua.bulk.engines import hf_datasets

    value = datasets.Dataset.from_parquet(str(parquet), cache_dir=str(parquet.parent / "cache"))
    made = hf_datasets.mapped(value, TO_ANTHROPIC, num_proc=2, batch_size=8)
    require_converted(list(made))


def test_datasets_has_json_where_conversations_are_open(datasets: Any) -> None:
    from interlingua.bulk.engines import hf_datasets

    made = hf_datasets.dataset(requests())
    assert made.features == hf_datasets.features()
    call = made[3]["messages"][2]["content"][0]
    assert call["input"] == {"where": 3}
    require_same(list(hf_datasets.conversations(made)))
