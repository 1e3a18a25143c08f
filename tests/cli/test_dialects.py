"""The list of formats."""

from __future__ import annotations

from interlingua.adapt.formats import names
from interlingua.adapt.presets import PRESETS
from tests.cli.samples import run


def test_the_formats_are_listed_without_anything_else() -> None:
    done = run("convert", "--list-formats")
    assert done.exit_code == 0
    listed = [line.split()[0] for line in done.stdout.splitlines()]
    assert listed == [*names(), *PRESETS]
