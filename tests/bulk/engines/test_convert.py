"""The function of all engines, with nothing but Arrow."""

from __future__ import annotations

import pickle

import pyarrow as pa

import interlingua as il
from interlingua.bulk import arrow
from interlingua.bulk.engines import Convert
from tests.bulk.engines.jobs import (
    BAD,
    COUNT,
    TO_ANTHROPIC,
    bodies,
    conversations,
    require_converted,
)


def test_rows_stay_rows_with_losses_and_errors_beside_them() -> None:
    made = TO_ANTHROPIC(bodies())
    assert made.schema.names == ["number", "wire", "model", "losses", "error"]
    assert made.schema.equals(TO_ANTHROPIC.schema(bodies().schema))
    require_converted(made.to_pylist())


def test_it_can_be_sent_to_another_process() -> None:
    sent = pickle.loads(pickle.dumps(TO_ANTHROPIC))
    require_converted(sent(bodies()).to_pylist())


def test_bodies_become_conversations_and_conversations_bodies() -> None:
    made = Convert("canonical", "openai-chat", column="body")(bodies())
    assert made.column("error").to_pylist()[BAD] is not None
    good = made.filter(pa.compute.is_null(made.column("error")))
    assert len(list(arrow.from_batches(good))) == COUNT - 1
    content = Convert("anthropic")(conversations())
    assert content.num_rows == COUNT
    assert content.column("error").null_count == COUNT


def test_batches_go_one_after_the_other() -> None:
    batches = bodies().to_batches(max_chunksize=7)
    made = pa.Table.from_batches(TO_ANTHROPIC.batches(batches))
    require_converted(made.to_pylist())


def test_a_body_that_is_null_is_an_error_and_no_crash() -> None:
    made = TO_ANTHROPIC.texts(pa.array([None, "{}"], pa.string())).to_pylist()
    assert [row["wire"] for row in made] == [None, None]
    assert all(row["error"] for row in made)
    assert il.__version__
