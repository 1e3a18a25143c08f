"""`interlingua schema`."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest

from interlingua.cli.demo import TYPES
from tests.cli.test_main import run


@pytest.mark.parametrize("name", [*TYPES, "message"])
def test_the_schema_of_a_type(name: str) -> None:
    done = run("schema", name)
    assert done.returncode == 0, done.stderr.decode()
    assert "$defs" in json.loads(done.stdout)


def test_the_schema_is_that_of_a_message_unless_said_otherwise() -> None:
    assert run("schema").stdout == run("schema", "Message").stdout
    assert run("schema", "Sandwich").returncode == 2


def test_the_example_fits_the_schema() -> None:
    jsonschema_rs = pytest.importorskip("jsonschema_rs")
    schema = json.loads(run("schema", "Message").stdout)
    validator = jsonschema_rs.validator_for(schema)
    data = files("interlingua.cli").joinpath("examples/conversation.json").read_bytes()
    for message in json.loads(data):
        validator.validate(message)
