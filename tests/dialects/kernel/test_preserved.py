"""What no field holds goes home, by hand as by a table."""

from __future__ import annotations

import pytest

from interlingua.dialects.kernel.errors import ShapeError, optional
from interlingua.dialects.kernel.preserved import Preserved, fill, raw_of, restore, write_unknown
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.model.blocks import Cache, UnknownBlock
from interlingua.model.losses import Report


def test_an_empty_value_of_a_known_key_is_spelling_and_one_of_an_unknown_key_content() -> None:
    preserved = Preserved()
    preserved.add_others({"a": 1, "b": [], "c": [], "d": None}, {"a"}, ("b",))
    assert preserved.rest == {"c": []}
    assert preserved.spelling == {"spelled": {"b": [], "d": None}}


def test_what_is_kept_of_an_object_inside_completes_it() -> None:
    wire = {"file": {"data": "x", "more": 1, "name": None}}
    preserved = Preserved()
    preserved.add_inside(wire, "file", ("data",))
    assert restore({"file": {"data": "y"}}, raw_of("n", preserved.raw("n"))) == {
        "file": {"data": "y", "more": 1, "name": None}
    }


def test_a_key_is_filled_unless_the_wire_did_without_or_had_something_else() -> None:
    preserved = Preserved()
    preserved.add_others({"a": 1, "b": None}, ())
    preserved.mark_any_absent({"a": 1, "b": None}, ("a", "b", "c"))
    own = raw_of("n", preserved.raw("n"))
    fillers = {"a": 0, "b": 0, "c": 0, "d": 0, "e": 0}
    assert restore(fill({"e": 5}, own, fillers), own) == {"a": 1, "b": None, "d": 0, "e": 5}


def test_a_value_that_may_be_missing_has_its_type_or_a_place_in_an_error() -> None:
    assert optional({"a": None}, "a", str) is None
    assert optional({"a": "x"}, "a", str) == "x"
    with pytest.raises(ShapeError) as error:
        optional({"a": 1}, "a", str, ".inside")
    assert error.value.path == ".inside.a"


def test_an_unknown_block_goes_home_and_nowhere_else() -> None:
    own = {"x": 1}
    recorder = LossRecorder("toy", None, Report("toy"))
    assert write_unknown(UnknownBlock({"toy": own}), recorder) is own
    assert recorder.report.entries == []
    assert write_unknown(UnknownBlock({"other": own}), recorder) is None
    assert write_unknown(UnknownBlock({"toy": own, "other": own}, cache=Cache()), recorder) is own
    reasons = [loss.reason for loss in recorder.report.entries]
    assert reasons == [
        "conversation dropped: only the dialect that it was read from understands it",
        "x dropped: only other has it",
        "cache dropped: toy has no equivalent",
    ]
