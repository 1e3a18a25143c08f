"""Packages that plug something in and fail are skipped, however they fail."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlingua.plugins import contained
from interlingua.transcripts.format import Found, _found


@pytest.mark.parametrize(
    "failure", [SystemExit(3), GeneratorExit(), type("Odd", (BaseException,), {})("bad")]
)
def test_an_attempt_to_end_the_program_is_an_error_like_others(failure: BaseException) -> None:
    with pytest.raises(RuntimeError, match="it raised"), contained():
        raise failure


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), ValueError("plain")])
def test_a_user_can_still_interrupt(failure: BaseException) -> None:
    with pytest.raises(type(failure)), contained():
        raise failure


class Ending:
    """An entry point whose module calls `sys.exit`."""

    name = value = "ending"

    def load(self) -> object:
        raise SystemExit(7)


def test_a_dialect_that_exits_is_skipped_with_a_warning() -> None:
    from interlingua.dialects.registry import _load

    with pytest.warns(UserWarning, match="'ending' cannot be loaded: it raised SystemExit: 7"):
        assert _load((Ending(),)) == {}  # type: ignore[arg-type]  # as far as it is used


def test_a_transcript_format_that_exits_is_skipped_with_a_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from interlingua.transcripts import format

    monkeypatch.setattr(format, "_plugged", lambda: (Ending(),))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        names = [each.name for each in format.all_formats()]
    assert "ending" not in names
    assert any("it raised SystemExit: 7" in str(each.message) for each in caught)


@pytest.mark.parametrize("failure", [GeneratorExit, SystemExit])
def test_a_search_that_ends_by_an_exit_keeps_what_it_found(failure: type[BaseException]) -> None:
    found = Found("ending", Path("a"))

    def find(home: Path) -> Iterator[Found]:
        yield found
        raise failure

    with pytest.warns(UserWarning, match=f"it raised {failure.__name__}"):
        assert list(_found("ending", find, Path())) == [found]


def test_a_search_that_is_left_early_is_closed_in_silence() -> None:
    closed = []

    def find(home: Path) -> Iterator[Found]:
        try:
            yield Found("slow", Path("a"))
        finally:
            closed.append(home)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search = _found("slow", find, Path())
        next(search)
        del search
    assert closed == [Path()]
